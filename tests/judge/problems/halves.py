# SPDX-License-Identifier: Apache-2.0
"""A product in FP16."""
import numpy as np


def reference(a, b):
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)


def inputs(random, m=64, k=256, n=64):
    return random.standard_normal((m, k)).astype(np.float16), random.standard_normal((k, n)).astype(np.float16)
