# SPDX-License-Identifier: Apache-2.0
"""Of PyTorch on a GPU, in FP32."""
import torch


def reference(a, b):
    return a @ b


def inputs(random, n=512):
    generator = torch.Generator("cuda").manual_seed(int(random.integers(1 << 31)))
    return tuple(torch.randn(n, n, generator=generator, device="cuda") for _ in range(2))
