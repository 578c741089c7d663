# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
import numpy as np


def candidate(a, b):
    result = np.empty((a.shape[0], b.shape[1]), np.float32)
    np.matmul(a, b, out=result)
    return result
