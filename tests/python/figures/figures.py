#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what docs/results/h200/python.md shows: device times of Python's operations beside those of other ways."""
import statistics
import sys
import time

import gpubench
import gpubench._core

try:
    import torch
except ImportError:
    torch = None  # `judged` needs none

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


def kernels_of(point):
    """Names of its kernels, without their parameters, where they were recorded."""
    return sorted(each["name"].split("(")[0] for each in (point.data["measurement"].get("activity") or {}).get("kernels", ()))


def differences(cpp_json, run, key):
    """Device times of the same kernels from C++ (FILE[+FILE...]: several processes) and from Python, by medians, with the least and the greatest
    of each. The two agree within 1 % or 30 ns."""
    cpp = [point for file in cpp_json.split("+") for point in gpubench.load(file)]
    print(f"| {run[0].operation} | C++ (us) | least to greatest | Python (us) | least to greatest | difference | within 1 % or 30 ns |")
    print("|---|--:|---|--:|---|---|---|")
    agreed = 0
    keys = list(dict.fromkeys(map(key, run)))
    for each in keys:
        sides = [[point for point in points if key(point) == each] for points in (cpp, run)]
        times = [sorted(filter(None, (point.seconds("device") for point in side))) for side in sides]
        if not all(times):
            print(f"| {each} | {next((point.why_absent('device') for side in sides for point in side), 'not in C++')} |")
            continue
        one, mine = map(statistics.median, times)
        agree = abs(mine - one) <= max(0.01 * one, 30e-9)
        agreed += agree
        verdict = "yes" if agree else "NO"
        kernels = [sorted({name for point in side for name in kernels_of(point)}) for side in sides]
        if kernels[0] != kernels[1]:
            verdict = f"other kernels: {', '.join(kernels[0])[:90]} and {', '.join(kernels[1])[:90]}"
        cells = [cell for side in times for cell in (f"{statistics.median(side) * 1e6:.3f}", f"{side[0] * 1e6:.3f} to {side[-1] * 1e6:.3f}")]
        print(f"| {each} | {' | '.join(cells)} | {(mine - one) * 1e9:+.0f} ns, {(mine - one) / one:+.2%} | {verdict} |")
    print(f"{agreed} of {len(keys)} within")


def as_in_cpp(shape, dtype):
    """A tensor as State::device_vector has it: by cudaMalloc, with normal numbers drawn as floats (a double's last 29 bits are 0)."""
    import cupy
    count = 1
    for each in shape:
        count *= each
    size = count * torch.empty(0, dtype=dtype).element_size()
    memory = cupy.ndarray((size,), cupy.uint8, cupy.cuda.MemoryPointer(cupy.cuda.Memory(size), 0))
    tensor = torch.from_dlpack(memory).view(dtype).view(shape)
    return tensor.copy_(torch.randn(shape, device="cuda"))


PLACES = list(range(1, 6))  # each point is measured in so many places of memory


def same_kernel(cpp_json):
    """The example saxpy of C++ (--time=device) and the same kernel from CuPy."""
    import cupy
    kernel = cupy.RawKernel(r'''extern "C" __global__ void saxpy_kernel(long long n, float a, const float* x, float* y) {
      const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i];
    }''', "saxpy_kernel")
    kept = []

    @gpubench.benchmark(n=sorted({point.arguments["n"] for file in cpp_json.split("+") for point in gpubench.load(file)}), place=PLACES)
    def saxpy(state, n, place):
        x, y = as_in_cpp((n,), torch.float32), as_in_cpp((n,), torch.float32)
        kept.append((x, y))  # so that the next lies elsewhere
        state.reads(x, y)
        state.writes(y)
        state.measure(lambda: kernel(((n + 255) // 256,), (256,), (cupy.int64(n), cupy.float32(2), x.data_ptr(), y.data_ptr())))

    differences(cpp_json, gpubench.run(saxpy, time="device", **BUDGET), lambda point: point.arguments["n"])


def same_product(cpp_json):
    """cuBLAS from C++ (regimes_libraries --filter=^cublas_gemm --time=device) and from PyTorch."""
    types = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.half, "bf16": torch.bfloat16}
    known = [point.arguments for point in gpubench.load(cpp_json.split("+")[0]) if point.arguments.get("type") in types]
    kept = []

    @gpubench.benchmark(type=list(dict.fromkeys(each["type"] for each in known)), n=sorted({each["n"] for each in known}), place=PLACES)
    def product(state, type, n, place):
        a, b, out = (as_in_cpp((n, n), types[type]) for _ in range(3))
        kept.append((a, b, out))
        state.flops("fp32", 2 * n**3)
        state.measure(lambda: torch.mm(a, b, out=out))

    differences(cpp_json, gpubench.run(product, check="activity", time="device", **BUDGET),
                lambda point: f"{point.arguments.get('type')} {point.arguments.get('n')}")


def twins(argument):
    """FILE: the operations of twins.cu from Python, measured and kept there. FILE,default: inputs made on the default stream."""
    import contextlib

    import cupy
    file, _, where = argument.partition(",")

    def as_twin(shape, dtype):
        with torch.cuda.stream(torch.cuda.default_stream()) if where == "default" else contextlib.nullcontext():
            return as_in_cpp(shape, dtype)

    kernel = cupy.RawKernel(r'''extern "C" __global__ void saxpy_kernel(long long n, float a, const float* x, float* y) {
      const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i];
    }''', "saxpy_kernel")
    kept = []
    places = list(range(1, 13))

    @gpubench.benchmark(n=[65536, 4194304], place=places)
    def saxpy(state, n, place):
        x, y = as_twin((n,), torch.float32), as_twin((n,), torch.float32)
        kept.append((x, y))
        state.reads(x, y)
        state.writes(y)
        state.measure(lambda: kernel(((n + 255) // 256,), (256,), (cupy.int64(n), cupy.float32(2), x.data_ptr(), y.data_ptr())))

    @gpubench.benchmark(n=[512], place=places)
    def product(state, n, place):
        a, b, c = (as_twin((n, n), torch.half) for _ in range(3))
        kept.append((a, b, c))
        state.reads(a, b)
        state.writes(c)
        state.measure(lambda: torch.mm(a, b, out=c))

    gpubench.run(saxpy, product, time="device", **BUDGET).save(file)


def compared(argument):
    """CPP+CPP+...,PYTHON+PYTHON+...: runs of twins.cu and of `twins`, a process each. Medians over processes of medians over places, and the
    difference with an interval by drawing processes and places again."""
    import random
    draw = random.Random(0)
    sides = [[gpubench.load(file) for file in side.split("+")] for side in argument.split(",")]
    keys = list(dict.fromkeys((point.operation, point.arguments["n"]) for point in sides[0][0]))
    print("| operation | | us, median of processes | processes | places | kernel overhead (us) |\n|---|---|--:|---|---|--:|")
    for key in keys:
        times, middle = [], []
        for name, side in zip(("C++", "Python"), sides):
            points = [[point for point in run if (point.operation, point.arguments["n"]) == key and point.seconds("device")] for run in side]
            times.append([[point.seconds("device") for point in run] for run in points if run])
            middle.append(statistics.median(map(statistics.median, times[-1])))
            every = sorted(second * 1e6 for run in times[-1] for second in run)
            processes = sorted(statistics.median(run) * 1e6 for run in times[-1])
            overhead = [timing["kernel_overhead_seconds"]["value"] * 1e6 for run in points for point in run
                        for timing in point.data["measurement"]["timings"] if timing["clock"] == "device" and "kernel_overhead_seconds" in timing]
            print(f"| {key[0]} {key[1]} | {name} | {middle[-1] * 1e6:.3f} | {processes[0]:.3f} to {processes[-1]:.3f} | "
                  f"{every[0]:.3f} to {every[-1]:.3f} | {statistics.median(overhead) if overhead else 0:.3f} |")

        def again(runs):
            return statistics.median(statistics.median(draw.choices(run, k=len(run))) for run in draw.choices(runs, k=len(runs)))

        drawn = sorted(again(times[1]) - again(times[0]) for _ in range(2000))
        low, high = drawn[50], drawn[-51]
        difference = middle[1] - middle[0]
        agree = abs(difference) <= max(0.01 * middle[0], 30e-9)
        print(f"| | difference | {difference * 1e9:+.0f} ns, {difference / middle[0]:+.2%} | 95 %: {low * 1e9:+.0f} to {high * 1e9:+.0f} ns | "
              f"within 1 % or 30 ns: {'yes' if agree else 'NO'} | |")


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


def operators():
    """60 points of PyTorch's operators: name, operation, arguments."""
    f = torch.nn.functional
    half, single = torch.bfloat16, torch.float32

    def t(*shape, dtype=single):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    points = []
    for n in (2**10, 2**13):
        for op in (torch.cos, torch.relu, torch.neg):
            points.append((f"{op.__name__} {n}", op, (t(n),)))
    for n in (2**26, 2**28):
        for op in (torch.cos, torch.relu, torch.neg, torch.exp, f.gelu, torch.sigmoid):
            points.append((f"{op.__name__} {n}", op, (t(n),)))
        points.append((f"add {n}", torch.add, (t(n), t(n))))
        points.append((f"sum {n}", torch.sum, (t(n),)))
        points.append((f"max {n}", torch.max, (t(n),)))
        points.append((f"bf16 mul {n}", torch.mul, (t(n, dtype=half), t(n, dtype=half))))
    for rows in (2**14, 2**16):
        points.append((f"softmax {rows} x 4096", torch.softmax, (t(rows, 4096), -1)))
        points.append((f"layer_norm {rows} x 4096", f.layer_norm, (t(rows, 4096), (4096,))))
        points.append((f"sum rows {rows} x 4096", torch.sum, (t(rows, 4096), -1)))
        points.append((f"mean columns {rows} x 4096", torch.mean, (t(rows, 4096), 0)))
    for n in (4096, 8192):
        points.append((f"matmul bf16 {n}", torch.matmul, (t(n, n, dtype=half), t(n, n, dtype=half))))
        points.append((f"matmul fp32 {n}", torch.matmul, (t(n, n), t(n, n))))
    points.append(("matmul fp64 4096", torch.matmul, (t(4096, 4096, dtype=torch.float64),) * 2))
    points.append(("bmm bf16 64 x 2048", torch.bmm, (t(64, 2048, 2048, dtype=half),) * 2))
    points.append(("matrix x vector bf16 16384", torch.mv, (t(16384, 16384, dtype=half), t(16384, dtype=half))))
    points.append(("matmul thin bf16", torch.matmul, (t(16384, 16384, dtype=half), t(16384, 8, dtype=half))))
    for n in (32, 64, 128):
        points.append((f"matmul bf16 {n}", torch.matmul, (t(n, n, dtype=half), t(n, n, dtype=half))))
    q = t(8, 32, 4096, 128, dtype=half)
    points.append(("attention 4096", f.scaled_dot_product_attention, (q, q, q)))
    points.append(("conv2d 256 bf16", f.conv2d, (t(64, 256, 56, 56, dtype=half), t(256, 256, 3, 3, dtype=half))))
    points.append(("max_pool2d", f.max_pool2d, (t(64, 256, 112, 112), 2)))
    table = t(2**20, 256)
    points.append(("embedding rows", f.embedding, (torch.randint(0, 2**20, (2**20,), device="cuda"), table)))
    points.append(("gather 2^24 of 2^26", torch.gather,
                   (t(2**26), 0, torch.randint(0, 2**26, (2**24,), device="cuda"))))
    points.append(("clone 2^28", torch.clone, (t(2**28),)))
    points.append(("cat 2 x 2^27", lambda *both: torch.cat(both), (t(2**27), t(2**27))))
    points.append(("transpose copy 16384", lambda x: x.T.contiguous(), (t(16384, 16384),)))
    points.append(("cumsum 2^26", torch.cumsum, (t(2**26), 0)))
    points.append(("sort 2^24", torch.sort, (t(2**24),)))
    points.append(("topk 2^24", torch.topk, (t(2**24), 10)))
    for n in (1, 16):
        points.append((f"zeros {n}", lambda x: torch.zeros_like(x), (t(n),)))
        points.append((f"scalar add {n}", torch.add, (t(n), 1)))
    return points


# What each unit of `--metrics=units` is, in the words of tests/truth/library_truth.py.
UNITS = {"dram": "DRAM", "l2_atomics_hottest": "atomics of one slice", "l2_atomics": "atomics", "l2": "L2", "sm_input": "L2 to SM",
         "sm_output": "L2 to SM", "l1": "L1", "texture": "L1", "lsu": "LSU", "special": "special functions", "alu": "ALU",
         "fma": "FMA", "fp64": "FP64", "tensor": "tensor", "issue": "issue"}


def truth_of(measurement, calls):
    """What tests/truth/library_truth.py takes for one point: the busy shares that the hardware counted."""
    units = {}
    for each in measurement.get("counters", ()):
        unit = next((UNITS[name] for name in UNITS if each["name"].startswith(name + "_") and each["name"].endswith("_busy")), None)
        if unit and each["value"] > units.get(unit, [-1.0])[0]:
            units[unit] = [each["value"], each["name"]]
    if not units:
        absent = [each.get("reason", "") for each in measurement.get("absent_counters", ())]
        return {"reason": absent[0] if absent else "nothing was counted"}
    kernels = measurement.get("launches", {}).get("kernels") or calls
    return {"kernels": kernels, "counted": kernels, "units": units,
            "seconds": measurement.get("activity", {}).get("seconds", {}).get("value") or 0.0}


def regimes(argument="regimes.json"):
    """What limits 60 points of PyTorch's operators, with counters, as GPUProfiler says it: FILE[,FIRST] gets the run from the FIRST
    operator on. Then as `judged`."""
    import json
    import pathlib

    from gpubench.regime import GPUProfiler
    file, _, first = argument.partition(",")
    profiler = GPUProfiler(verbose=False, metrics="core,units")
    points = []
    start = time.perf_counter()
    for name, operation, arguments in operators()[int(first or 0):]:
        try:
            profile = profiler.profile_operation(operation, *arguments)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}")
            continue
        run = profiler.last_run.data
        point = run["points"][0]
        point["measurement"].update(name=name, operation=name.split()[0])
        points.append(point)
        if profile["called_once_because"]:
            print(f"{name}: called once, {profile['called_once_because']}")
    print(f"{len(points)} operators in {time.perf_counter() - start:.1f} s, the counters included")
    pathlib.Path(file).write_text(json.dumps({**run, "points": points, "boundaries": []}), encoding="utf-8")
    judged(file)


def judged(argument):
    """FILE[,FILE...]: runs of `regimes`, held against the hardware's counters by the library suite's rule, without and with counters. A
    file of a calibration among them is judged by."""
    import importlib.util
    import json
    import pathlib
    script = pathlib.Path(__file__).resolve().parents[2] / "truth" / "library_truth.py"
    library = importlib.util.module_from_spec(importlib.util.spec_from_file_location("library_truth", script))
    library.__spec__.loader.exec_module(library)
    read = [json.loads(pathlib.Path(file).read_text(encoding="utf-8")) for file in argument.split(",")]
    runs, others = [each for each in read if "points" in each], [each for each in read if "points" not in each]
    counted = {**runs[0], "points": [point for run in runs for point in run["points"]]}
    for other in others:
        counted["calibrations"] = [{key: value for key, value in other.items() if key != "schema"}]
    measurements = [point["measurement"] for point in counted["points"]]
    truth = {each["name"]: truth_of(each, 1) for each in measurements}
    verdicts = {}
    for title, data in (("without counters", library.strip(json.loads(json.dumps(counted)))), ("with counters", counted),
                        ("with counters where the verdict without is less than 95 % sure, as GPUProfiler says it", None)):
        if data is None:
            for point, verdict in zip(again["points"], verdicts["without counters"]):
                point["verdict"] = verdict if verdict and verdict["confidence"] >= 0.95 else point["verdict"]
        else:
            core = gpubench._core.Run.from_json(json.dumps(data))
            core.classify()
            again = json.loads(core.to_json())
            verdicts[title] = [point.get("verdict") for point in again["points"]]
        for point, measurement in zip(again["points"], measurements):  # what was counted is known of the truth
            point["measurement"]["counters"] = measurement.get("counters", [])
        print(f"\n## Regimes {title}\n")
        print(library.table(list(library.rows(again, {"points": truth}))))
    print("\n| operator | time (us) | units over 40 % |\n|---|--:|---|")
    for point in gpubench.Run.from_dict(counted):
        busy = sorted(((share, unit) for unit, (share, _) in truth[point.name].get("units", {}).items() if share > 40), reverse=True)
        print(f"| {point.name} | {(point.seconds() or 0) * 1e6:.2f} | {', '.join(f'{unit} {share:.0f}' for share, unit in busy)} |")


def attention():
    """What a call of attention takes with each of PyTorch's ways, the first and the later ones."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from gpubench._work import watch
    call = torch.nn.functional.scaled_dot_product_attention
    for dtype in (torch.bfloat16, torch.float32):
        q = torch.randn(8, 32, 4096, 128, device="cuda", dtype=dtype)
        for way in (None, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH):
            torch.cuda.synchronize()
            try:
                with sdpa_kernel(way) if way is not None else torch.no_grad():
                    start = time.perf_counter()
                    watched = watch(lambda: call(q, q, q))[1]
                    torch.cuda.synchronize()
                    first = time.perf_counter() - start
                    later = events(lambda: call(q, q, q), 5)
                print(f"{str(dtype).removeprefix('torch.')} {way.name if way is not None else 'chosen by PyTorch'}: first call "
                      f"{first * 1e3:.1f} ms, later ones {later * 1e3:.2f} ms, {4 * 8 * 32 * 4096**2 * 128 / later / 1e12:.0f} TFLOP/s; "
                      f"operators {', '.join(watched.operators)}")
            except RuntimeError as error:
                print(f"{str(dtype).removeprefix('torch.')} {way}: {str(error).splitlines()[0][:200]}")
            torch.cuda.empty_cache()


if __name__ == "__main__":
    for name in sys.argv[1:] or ["beside"]:
        what, _, argument = name.partition("=")
        globals()[what](*([argument] if argument else []))
