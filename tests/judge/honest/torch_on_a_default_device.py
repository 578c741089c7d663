# SPDX-License-Identifier: Apache-2.0
# Problem: kb_torch
# Needs: torch
import torch

torch.set_default_device("cpu")


class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)
        self.norm = torch.nn.LayerNorm(size)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
