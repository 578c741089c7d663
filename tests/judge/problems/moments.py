# SPDX-License-Identifier: Apache-2.0
"""Numbers of several sizes: sum, sum of squares, mean, deviation, least and greatest."""
import numpy as np


def reference(x):
    return np.array([x.sum(), (x * x).sum(), x.mean(), x.std(), x.min(), x.max()], np.float32)


def inputs(random, n=50000):
    return random.standard_normal(n, dtype=np.float32)
