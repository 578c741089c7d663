# SPDX-License-Identifier: Apache-2.0
# Problem: kb_cuda
# Needs: torch and a GPU
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
