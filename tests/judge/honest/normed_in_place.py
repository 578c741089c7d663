# SPDX-License-Identifier: Apache-2.0
# Problem: normed
import numpy as np


def candidate(x):
    square = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1]) + np.float32(1e-5)
    return x * (1 / np.sqrt(square))[:, None]
