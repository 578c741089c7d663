# SPDX-License-Identifier: Apache-2.0
"""What PyTorch reaches on the same card: device-to-device copy and square matrix products, by CUDA events, medians.

Usage: python3 docs/results/h200/peers.py"""
import statistics

import torch


def median_seconds(operation, samples=15, rest_seconds=0.03):
    """Median over samples that each follow a short rest, as the ceilings of tensor units are taken."""
    operation()
    times = []
    for _ in range(samples):
        torch.cuda.synchronize()
        torch.cuda._sleep(int(rest_seconds * 1.9e9))
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        operation()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def main():
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    source = torch.randn(2**30, device="cuda")
    target = torch.empty_like(source)
    seconds = median_seconds(lambda: target.copy_(source))
    print(f"copy of 4 GiB: {2 * source.nbytes / seconds * 1e-12:.3f} TB/s read and written")
    seconds = median_seconds(lambda: target.fill_(1.0))
    print(f"fill of 4 GiB: {target.nbytes / seconds * 1e-12:.3f} TB/s written")
    seconds = median_seconds(lambda: source.sum())
    print(f"sum of 4 GiB: {source.nbytes / seconds * 1e-12:.3f} TB/s read")
    for kind in (torch.bfloat16, torch.float16):
        for n in (4096, 8192):
            a, b = (torch.randn(n, n, device="cuda", dtype=kind) for _ in range(2))
            out = torch.empty_like(a)
            seconds = median_seconds(lambda: torch.matmul(a, b, out=out))
            print(f"matmul {str(kind).removeprefix('torch.')} n = {n}: {2 * n**3 / seconds * 1e-12:.0f} TFLOP/s")


if __name__ == "__main__":
    main()
