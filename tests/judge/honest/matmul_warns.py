# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
import warnings


def candidate(a, b):
    warnings.warn("slow")
    return a @ b
