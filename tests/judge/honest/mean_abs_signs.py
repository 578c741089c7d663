# SPDX-License-Identifier: Apache-2.0
# Problem: mean_abs
import numpy as np


def candidate(x):
    return np.einsum('ij,ij->i', x, np.sign(x)) / np.float32(x.shape[1])
