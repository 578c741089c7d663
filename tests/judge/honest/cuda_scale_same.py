# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_scale
# Needs: torch and a GPU
def candidate(x):
    return x * 3
