#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same kernels in separate processes: how far the medians of the clock "device" lie apart. Prints Markdown.

    process_spread.py TIMING_TRUTH [PROCESSES]
"""
import statistics
import subprocess
import sys


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 64
    processes = int(sys.argv[2]) if len(sys.argv) == 3 else 10
    medians = {}
    for _ in range(processes):
        run = subprocess.run([sys.argv[1], "--device"], capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stderr, end="", file=sys.stderr)
            return run.returncode
        for line in run.stdout.splitlines():
            blocks, kernels, microseconds, device = line.split(",")
            medians.setdefault((int(blocks), int(kernels), float(microseconds)), []).append(float(device))
    print(f"Kernels that spin for a known time, in {processes} processes; times in us\n")
    print("| blocks | kernels | each spins | median of medians | lowest | highest | farthest from the median |")
    print("|---|---|---|---|---|---|---|")
    for (blocks, kernels, microseconds), values in medians.items():
        middle = statistics.median(values)
        farthest = max(abs(value - middle) for value in values) / middle
        print(f"| {blocks} | {kernels} | {microseconds:g} | {middle:.3f} | {min(values):.3f} | {max(values):.3f} "
              f"| {100 * farthest:.2f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
