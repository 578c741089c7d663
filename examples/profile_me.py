# SPDX-License-Identifier: Apache-2.0
"""What PyTorch programs do, each part in an NVTX range: gpubench profile -- python3 profile_me.py [ROUNDS]"""
import sys

import torch
from torch import nn
from torch.cuda import nvtx


def main(rounds):
    device = "cuda"
    a = torch.randn(2048, 2048, device=device)
    b = torch.randn(2048, 2048, device=device)
    images = torch.randn(32, 3, 128, 128, device=device)
    network = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).to(device)
    convolution = nn.Conv2d(3, 64, 3, padding=1).to(device)
    with torch.no_grad():
        for _ in range(rounds):
            with nvtx.range("gemm"):
                product = a @ b
            with nvtx.range("elementwise"):
                torch.tanh(product) * 2.0 + a
            with nvtx.range("allocation"):
                torch.empty(5000, 5000, device=device).fill_(1.0)
            with nvtx.range("network"):
                network(a)
            with nvtx.range("convolution and pooling"):
                torch.max_pool2d(convolution(images), 2)
            with nvtx.range("reduction"):
                product.sum(), product.max(), product.softmax(dim=1)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
