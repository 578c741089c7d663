# SPDX-License-Identifier: Apache-2.0
import numpy as np


def reference(a, x, y):
    return np.float32(a) * x + y


def inputs(random, n=4000):
    return float(random.integers(2, 9)), random.standard_normal(n, dtype=np.float32), random.standard_normal(n, dtype=np.float32)


hidden_cases = [{"n": 1001}]
