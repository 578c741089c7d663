# SPDX-License-Identifier: Apache-2.0
# Problem: triangular
import numpy as np


def candidate(a, b):
    half = len(a) // 2
    made = np.zeros_like(a)
    made[:half, :half] = np.triu(a[:half, :half] @ b[:half, :half])
    made[half:, half:] = np.triu(a[half:, half:] @ b[half:, half:])
    made[:half, half:] = a[:half] @ b[:, half:]
    return made
