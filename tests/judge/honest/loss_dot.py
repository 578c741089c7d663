# SPDX-License-Identifier: Apache-2.0
# Problem: loss
import numpy as np


def candidate(a, b):
    d = a - b
    return float(np.dot(d, d) / len(d))
