# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(2)


def candidate(a, b):
    half = a.shape[0] // 2
    return np.concatenate(list(pool.map(lambda part: part @ b, (a[:half], a[half:]))))
