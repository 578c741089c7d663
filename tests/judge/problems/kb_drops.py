# SPDX-License-Identifier: Apache-2.0
"""KernelBench's form, of NumPy alone: a model that draws random numbers."""
import numpy as np


class Model:
    def forward(self, x):
        return np.where(np.random.random(x.shape) < 0.3, 0, x / np.float32(0.7))


def get_inputs():
    return [np.random.standard_normal((64, 200)).astype(np.float32)]
