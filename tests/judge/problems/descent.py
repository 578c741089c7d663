# SPDX-License-Identifier: Apache-2.0
"""A step of gradient descent."""
import numpy as np


def reference(p, g):
    return p - np.float32(1e-5) * g


def inputs(random, n=50000):
    return random.standard_normal(n, dtype=np.float32), random.standard_normal(n, dtype=np.float32)
