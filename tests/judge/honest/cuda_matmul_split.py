# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_matmul
# Needs: torch and a GPU
import torch


def candidate(a, b):
    half = a.shape[1] // 2
    return torch.matmul(a[:, :half], b[:half]) + torch.matmul(a[:, half:], b[half:])
