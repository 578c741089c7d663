# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_scale
# Needs: torch and a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + place, tl.load(x + place, mask=place < n) * 3, mask=place < n)


def launch(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), block=1024)
    return y
