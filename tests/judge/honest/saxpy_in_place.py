# SPDX-License-Identifier: Apache-2.0
# Problem: saxpy
import numpy as np


def candidate(a, x, y):
    result = x * np.float32(a)
    result += y
    return result
