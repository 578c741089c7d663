# SPDX-License-Identifier: Apache-2.0
"""Of PyTorch on a GPU."""
import torch


def reference(x):
    return x * 3


def inputs(random, n=1 << 22):
    return torch.randn(n, generator=torch.Generator("cuda").manual_seed(int(random.integers(1 << 31))), device="cuda")
