# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
def candidate(a, b):
    print("x" * 1000)
    return a @ b
