# SPDX-License-Identifier: Apache-2.0
"""A long filter."""
import numpy as np


def reference(x, h):
    return np.convolve(x, h)


def inputs(random, n=32768, m=257):
    return random.standard_normal(n, dtype=np.float32), random.standard_normal(m, dtype=np.float32)
