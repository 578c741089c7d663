# SPDX-License-Identifier: Apache-2.0
# Problem: moments
import numpy as np


def candidate(x):
    total, squares = x.sum(dtype=np.float64), np.dot(x.astype(np.float64), x)
    mean = total / x.size
    return np.array([total, squares, mean, np.sqrt(max(squares / x.size - mean * mean, 0.0)), x.min(), x.max()], np.float32)
