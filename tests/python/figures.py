#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what docs/results/h200/python.md shows: device times of Python's operations beside those of other ways."""
import statistics
import sys
import time

import torch

import gpubench

BUDGET = {"device": "cuda:0", "time_budget": 0.05, "drift_check": False, "progress": False}


def events(function, repeats=50):
    """Seconds of one call by CUDA events, the median."""
    times = []
    for _ in range(repeats + 5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return statistics.median(times[5:])


def operations():
    """Name, function, bytes."""
    for n in (2**12, 2**16, 2**20, 2**24, 2**28):
        a, b, out = (torch.ones(n, device="cuda") for _ in range(3))
        yield f"torch.add 2^{n.bit_length() - 1}", (lambda a=a, b=b, out=out: torch.add(a, b, out=out)), 12 * n
    for rows in (256, 65536):
        x = torch.randn(rows, 2048, device="cuda")
        yield f"softmax {rows} x 2048", (lambda x=x: torch.softmax(x, -1)), 8 * x.numel()
    for n in (256, 1024, 4096):
        m = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
        yield f"matmul bf16 {n}", (lambda m=m: m @ m), 6 * n * n
    from triton_kernels import add
    for n in (2**16, 2**24):
        x, y, out = (torch.ones(n, device="cuda") for _ in range(3))
        yield f"Triton add 2^{n.bit_length() - 1}", (lambda x=x, y=y, out=out: add(x, y, out)), 12 * n


def beside():
    """Every way to time beside the others."""
    from torch.utils.benchmark import Timer
    from triton.testing import do_bench, do_bench_cudagraph
    listed = list(operations())
    by_name = {name: (function, size) for name, function, size in listed}

    @gpubench.benchmark(case=list(by_name))
    def timed(state, case):
        function, size = by_name[case]
        state.reads(size)
        state.measure(function)

    start = time.perf_counter()
    run = gpubench.run(timed, check="activity", **BUDGET)
    print(f"{len(run)} points in {time.perf_counter() - start:.1f} s, the activity check included")
    print("| operation | device | its method | stream | records | do_bench | do_bench graph | torch Timer | events |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|")
    for (name, function, _), point in zip(listed, run):
        activity = (point.data["measurement"].get("activity") or {}).get("seconds") or {}
        cells = [point.seconds("device"), None, point.seconds("stream"), activity.get("value"),
                 do_bench(function) * 1e-3, do_bench_cudagraph(function) * 1e-3,
                 Timer("f()", globals={"f": function}).blocked_autorange(min_run_time=0.1).median, events(function)]
        method = "graph" if "graph" in point.method("device") else "held" if "held" in point.method("device") else "none"
        print(f"| {name} | " + " | ".join(method if i == 1 else f"{c * 1e6:.2f}" if c else "-"
                                          for i, c in enumerate(cells)) + " |")
        if point.failure:
            print(point.failure)
    print(run)
    print(run.warnings)


def same_kernel(cpp_json):
    """The example saxpy of C++ and the same kernel from CuPy."""
    import cupy
    kernel = cupy.RawKernel(r'''extern "C" __global__ void saxpy_kernel(long long n, float a, const float* x, float* y) {
      const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i];
    }''', "saxpy_kernel")
    cpp = gpubench.load(cpp_json)
    by_n = {point.arguments["n"]: point for point in cpp if "n" in point.arguments}

    @gpubench.benchmark(n=[n for n in by_n])
    def saxpy(state, n):
        x, y = cupy.ones(n, dtype="f"), cupy.ones(n, dtype="f")
        state.reads(x, y)
        state.writes(y)
        state.measure(lambda: kernel(((n + 255) // 256,), (256,), (cupy.int64(n), cupy.float32(2), x, y)))

    run = gpubench.run(saxpy, **BUDGET)
    print("| n | C++ device | CuPy device | difference |")
    print("|--:|--:|--:|--:|")
    for point in run:
        one, other = by_n[point.arguments["n"]].seconds("device"), point.seconds("device")
        if one and other:
            print(f"| {point.arguments['n']} | {one * 1e6:.3f} us | {other * 1e6:.3f} us | {(other - one) * 1e9:+.0f} ns |")


def sweep():
    """100 points of PyTorch's operators."""
    names = ["add", "mul", "exp", "relu", "sigmoid", "sum", "softmax", "sqrt", "cos", "clone"]

    @gpubench.benchmark(op=names, n=gpubench.sizes(2**10, 2**28, step=4))
    def swept(state, op, n):
        x = torch.ones(n, device=state.device)
        state.reads(x)
        state.writes(x)
        function = getattr(torch, op)
        state.measure((lambda: function(x, 0)) if op == "softmax" else (lambda: function(x, x)) if op in ("add", "mul")
                      else lambda: function(x))

    start = time.perf_counter()
    run = gpubench.run(swept, device="cuda:0", progress=False)
    print(f"sweep: {len(run)} points in {time.perf_counter() - start:.1f} s, {len(run.failures)} failed")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["beside"]:
        what, _, argument = name.partition("=")
        globals()[what](*([argument] if argument else []))
