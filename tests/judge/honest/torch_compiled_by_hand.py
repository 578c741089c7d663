# SPDX-License-Identifier: Apache-2.0
# Problem: kb_torch
# Needs: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)
        self.norm = torch.nn.LayerNorm(size)
        self.across = torch.nn.Parameter(self.linear.weight.t().contiguous())

    def forward(self, x):
        return self.norm(x @ self.across + self.linear.bias).relu()
