# SPDX-License-Identifier: Apache-2.0
import numpy as np


def reference(a, b):
    return a @ b


def inputs(random, m=96, n=80, k=112):
    return random.standard_normal((m, k), dtype=np.float32), random.standard_normal((k, n), dtype=np.float32)


hidden_cases = [{"m": 33, "n": 17, "k": 65}]


def work(a, b):
    return {"fp32": 2.0 * a.shape[0] * a.shape[1] * b.shape[1]}
