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


def host_nanoseconds(function, repeats=2000):
    """Nanoseconds of the host for one call, the median of rounds."""
    rounds = []
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(repeats // 9):
            function()
        rounds.append((time.perf_counter_ns() - start) / (repeats // 9))
    torch.cuda.synchronize()
    return statistics.median(rounds)


def costs():
    """What the calls themselves cost the host."""
    from gpubench import profile
    from gpubench.regime import GPUProfiler
    a = torch.ones(1024, device="cuda")
    plain = host_nanoseconds(lambda: torch.cos(a))
    judge = GPUProfiler(verbose=False)
    light = host_nanoseconds(lambda: judge.profile_with_result(torch.cos, a, lightweight=True))
    print(f"torch.cos {plain / 1e3:.2f} us; lightweight {light / 1e3:.2f} us, so {(light - plain) / 1e3:+.2f} us")
    profiler = profile.create_profiler()

    def ranged():
        with profiler.profile_range("range"):
            pass

    print(f"profile_range, off {host_nanoseconds(ranged):.0f} ns")
    print(profiler.init())
    print(f"profile_range, on {host_nanoseconds(ranged):.0f} ns")
    profiler.disable()
    timer = profile.KernelTimer()
    stream = torch.cuda.current_stream()

    def timed():
        timer.start("kernel", stream)
        timer.stop("kernel", stream)

    print(f"KernelTimer start and stop {host_nanoseconds(timed):.0f} ns")


def regimes():
    """60 points of PyTorch's operators: what limits each, beside what is expected of it."""
    from gpubench.regime import GPUProfiler
    f = torch.nn.functional
    half, single = torch.bfloat16, torch.float32

    def t(*shape, dtype=single):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    points = []  # name, what may be said of it, operation, arguments
    for n in (2**10, 2**13):
        for op in (torch.cos, torch.relu, torch.neg):
            points.append((f"{op.__name__} {n}", "OVERHEAD LATENCY", op, (t(n),)))
    for n in (2**26, 2**28):
        for op in (torch.cos, torch.relu, torch.neg, torch.exp, f.gelu, torch.sigmoid):
            points.append((f"{op.__name__} {n}", "MEMORY", op, (t(n),)))
        points.append((f"add {n}", "MEMORY", torch.add, (t(n), t(n))))
        points.append((f"sum {n}", "MEMORY", torch.sum, (t(n),)))
        points.append((f"max {n}", "MEMORY", torch.max, (t(n),)))
        points.append((f"bf16 mul {n}", "MEMORY", torch.mul, (t(n, dtype=half), t(n, dtype=half))))
    for rows in (2**14, 2**16):
        points.append((f"softmax {rows} x 4096", "MEMORY", torch.softmax, (t(rows, 4096), -1)))
        points.append((f"layer_norm {rows} x 4096", "MEMORY", f.layer_norm, (t(rows, 4096), (4096,))))
        points.append((f"sum rows {rows} x 4096", "MEMORY", torch.sum, (t(rows, 4096), -1)))
        points.append((f"mean columns {rows} x 4096", "MEMORY", torch.mean, (t(rows, 4096), 0)))
    for n in (4096, 8192):
        points.append((f"matmul bf16 {n}", "COMPUTE", torch.matmul, (t(n, n, dtype=half), t(n, n, dtype=half))))
        points.append((f"matmul fp32 {n}", "COMPUTE", torch.matmul, (t(n, n), t(n, n))))
    points.append(("matmul fp64 4096", "COMPUTE", torch.matmul, (t(4096, 4096, dtype=torch.float64),) * 2))
    points.append(("bmm bf16 64 x 2048", "COMPUTE", torch.bmm, (t(64, 2048, 2048, dtype=half),) * 2))
    points.append(("matrix x vector bf16 16384", "MEMORY", torch.mv, (t(16384, 16384, dtype=half), t(16384, dtype=half))))
    points.append(("matmul thin bf16", "MEMORY", torch.matmul, (t(16384, 16384, dtype=half), t(16384, 8, dtype=half))))
    for n in (32, 64, 128):
        points.append((f"matmul bf16 {n}", "OVERHEAD LATENCY", torch.matmul, (t(n, n, dtype=half), t(n, n, dtype=half))))
    q = t(8, 32, 4096, 128, dtype=half)
    points.append(("attention 4096", "COMPUTE LATENCY", f.scaled_dot_product_attention, (q, q, q)))
    points.append(("conv2d 256 bf16", "COMPUTE LATENCY", f.conv2d, (t(64, 256, 56, 56, dtype=half), t(256, 256, 3, 3, dtype=half))))
    points.append(("max_pool2d", "MEMORY LATENCY", f.max_pool2d, (t(64, 256, 112, 112), 2)))
    table = t(2**20, 256)
    points.append(("embedding rows", "MEMORY", f.embedding, (torch.randint(0, 2**20, (2**20,), device="cuda"), table)))
    points.append(("gather 2^24 of 2^26", "MEMORY", torch.gather,
                   (t(2**26), 0, torch.randint(0, 2**26, (2**24,), device="cuda"))))
    points.append(("clone 2^28", "MEMORY", torch.clone, (t(2**28),)))
    points.append(("cat 2 x 2^27", "MEMORY", lambda *both: torch.cat(both), (t(2**27), t(2**27))))
    points.append(("transpose copy 16384", "MEMORY LATENCY", lambda x: x.T.contiguous(), (t(16384, 16384),)))
    points.append(("cumsum 2^26", "MEMORY LATENCY", torch.cumsum, (t(2**26), 0)))
    points.append(("sort 2^24", "MEMORY LATENCY COMPUTE", torch.sort, (t(2**24),)))
    points.append(("topk 2^24", "MEMORY LATENCY", torch.topk, (t(2**24), 10)))
    for n in (1, 16):
        points.append((f"zeros {n}", "OVERHEAD LATENCY", lambda x: torch.zeros_like(x), (t(n),)))
        points.append((f"scalar add {n}", "OVERHEAD LATENCY", torch.add, (t(n), 1)))
    profiler = GPUProfiler(verbose=False)
    right = 0
    start = time.perf_counter()
    print("| operator | time (us) | regime | limiter | of FLOP peak | of bandwidth | confidence | expected |")
    print("|---|--:|---|---|--:|--:|--:|---|")
    for name, expected, operation, arguments in points:
        try:
            profile = profiler.profile_operation(operation, *arguments)
        except Exception as error:
            print(f"| {name} | {type(error).__name__}: {str(error)[:150]} |")
            continue
        good = profile["regime"].removesuffix("_BOUND") in expected.split()
        right += good
        print(f"| {name} | {profile['runtime_ms'] * 1e3:.2f} | {profile['regime']} | {profile['limiter']} | "
              f"{profile['flops_utilization']:.0%} | {profile['bandwidth_utilization']:.0%} | {profile['confidence'] or 0:.2f} | "
              f"{'' if good else 'NOT '}{expected.lower()} |")
    print(f"{right} of {len(points)} as expected, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["beside"]:
        what, _, argument = name.partition("=")
        globals()[what](*([argument] if argument else []))
