# SPDX-License-Identifier: Apache-2.0
# Problem: softmax
import numpy as np


def candidate(x):
    result = np.empty_like(x)
    for i, row in enumerate(x):
        e = np.exp(row - row.max())
        result[i] = e / e.sum()
    return result
