# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_matmul
# Needs: torch and a GPU
import torch


def candidate(a, b):
    return torch.addmm(torch.zeros((), device="cuda"), a, b)
