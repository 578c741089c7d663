# SPDX-License-Identifier: Apache-2.0
# Problem: saxpy
import numpy as np


def candidate(a, x, y):
    result = np.empty_like(x)
    for i in range(0, x.size, 1024):
        result[i:i + 1024] = np.float32(a) * x[i:i + 1024] + y[i:i + 1024]
    return result
