# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
import numpy as np


def product(a, b):
    n = a.shape[0]
    if n <= 32:
        return a @ b
    h = n // 2
    a11, a12, a21, a22 = a[:h, :h], a[:h, h:], a[h:, :h], a[h:, h:]
    b11, b12, b21, b22 = b[:h, :h], b[:h, h:], b[h:, :h], b[h:, h:]
    m1, m2, m3, m4 = product(a11 + a22, b11 + b22), product(a21 + a22, b11), product(a11, b12 - b22), product(a22, b21 - b11)
    m5, m6, m7 = product(a11 + a12, b22), product(a21 - a11, b11 + b12), product(a12 - a22, b21 + b22)
    return np.block([[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]])


def candidate(a, b):
    n = 1 << (max(*a.shape, *b.shape) - 1).bit_length()
    whole = [np.pad(each, ((0, n - each.shape[0]), (0, n - each.shape[1]))) for each in (a, b)]
    return product(*whole)[:a.shape[0], :b.shape[1]]
