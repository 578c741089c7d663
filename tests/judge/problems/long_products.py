# SPDX-License-Identifier: Apache-2.0
"""A product of matrices that are long where they are summed, of positive numbers."""
import numpy as np


def reference(a, b):
    return a @ b


def inputs(random, m=16, n=16, k=65543):
    return random.random((m, k), dtype=np.float32), random.random((k, n), dtype=np.float32)
