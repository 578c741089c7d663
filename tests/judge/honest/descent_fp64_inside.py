# SPDX-License-Identifier: Apache-2.0
# Problem: descent
import numpy as np


def candidate(p, g):
    return (p.astype(np.float64) - 1e-5 * g).astype(np.float32)
