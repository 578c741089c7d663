# SPDX-License-Identifier: Apache-2.0
"""KernelBench's form, of PyTorch on the CPU."""
import torch
import torch.nn as nn

device = "cpu"  # also where there is a GPU
batch_size = 64
dim = 128


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
