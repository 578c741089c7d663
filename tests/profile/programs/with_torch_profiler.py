# SPDX-License-Identifier: Apache-2.0
"""A program that profiles a part of itself: 30 steps, 10 steps under torch.profiler, 3 s of steps, 10 more under torch.profiler, 30 steps. Prints how
many kernels its own traces have. Needs a GPU and PyTorch."""
import time

import torch
from torch.profiler import ProfilerActivity, profile

x = torch.randn(256, 256, device="cuda")


def steps(count):
    for _ in range(count):
        torch.relu(x @ x)
    torch.cuda.synchronize()


def traced():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        steps(10)
    return sum(1 for each in recorded.events() if each.device_type == torch.autograd.DeviceType.CUDA and "Memcpy" not in each.name)


steps(30)
first = traced()
start = time.monotonic()
while time.monotonic() - start < 3.0:
    steps(10)
    time.sleep(0.1)
print("kernels in the program's own traces:", first, traced(), flush=True)
steps(30)
