# SPDX-License-Identifier: Apache-2.0
# Problem: softmax
import numpy as np


def candidate(x):
    z = x - x.max(axis=1, keepdims=True)
    return np.exp(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))
