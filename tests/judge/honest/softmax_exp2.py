# SPDX-License-Identifier: Apache-2.0
# Problem: softmax
import numpy as np


def candidate(x):
    z = (x - x.max(axis=1, keepdims=True)) * np.float32(1 / np.log(2))
    e = np.exp2(z)
    return e * (1 / e.sum(axis=1, keepdims=True))
