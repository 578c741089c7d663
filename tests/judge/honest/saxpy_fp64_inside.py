# SPDX-License-Identifier: Apache-2.0
# Problem: saxpy
import numpy as np


def candidate(a, x, y):
    return (a * x.astype(np.float64) + y).astype(np.float32)
