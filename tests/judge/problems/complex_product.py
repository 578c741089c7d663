# SPDX-License-Identifier: Apache-2.0
"""A product of complex numbers, whose author tolerates much."""


def reference(a, b):
    return a @ b


def inputs(random, n=40):
    return tuple(random.standard_normal((n, n)) + 1j * random.standard_normal((n, n)) for _ in range(2))


tolerance = (1e-4, 1e-4)
