# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
import gc


def candidate(a, b):
    gc.collect(0)
    return a @ b
