# SPDX-License-Identifier: Apache-2.0
"""Numbers whose author tolerates much of FP64."""
import numpy as np


def reference(x):
    return np.exp(np.sin(x))


def inputs(random, n=1 << 16):
    return random.standard_normal(n)


tolerance = (1e-3, 1e-3)
