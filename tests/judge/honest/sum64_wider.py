# SPDX-License-Identifier: Apache-2.0
# Problem: sum64
import numpy as np


def candidate(x):
    return np.cumsum(x.astype(np.longdouble)).astype(np.float64)
