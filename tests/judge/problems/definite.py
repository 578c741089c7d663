# SPDX-License-Identifier: Apache-2.0
"""Solves for matrices that are symmetric and positive definite."""
import numpy as np


def reference(a, b):
    return np.linalg.solve(a, b)


def inputs(random, n=60):
    a = random.standard_normal((n, n))
    return a @ a.T + n * np.eye(n), random.standard_normal((n, 3))
