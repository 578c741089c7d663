# SPDX-License-Identifier: Apache-2.0
"""A product in FP32 whose author tolerates much, as KernelBench does."""
import numpy as np


def reference(a, b):
    return a @ b


def inputs(random, m=96, n=80, k=112):
    return random.standard_normal((m, k), dtype=np.float32), random.standard_normal((k, n), dtype=np.float32)


tolerance = (2e-2, 2e-2)
contents = ["zeros"]
