# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_matmul
# Needs: torch and a GPU
def candidate(a, b):
    return a @ b
