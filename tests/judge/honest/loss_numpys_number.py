# SPDX-License-Identifier: Apache-2.0
# Problem: loss
import numpy as np


def candidate(a, b):
    return np.mean((a - b) ** 2)
