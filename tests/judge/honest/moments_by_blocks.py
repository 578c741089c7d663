# SPDX-License-Identifier: Apache-2.0
# Problem: moments
import numpy as np


def candidate(x):
    total, squares = np.float32(0), np.float32(0)
    for start in range(0, x.size, 1000):
        part = x[start:start + 1000]
        total += np.add.reduce(part)
        squares += np.dot(part, part)
    mean = total / np.float32(x.size)
    return np.array([total, squares, mean, np.sqrt(((x - mean) ** 2).mean()), x.min(), x.max()], np.float32)
