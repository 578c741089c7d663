#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of the judge on a GPU, for docs/results: figures.py models [SECONDS] | repeats [COUNT] | regime | stages | places

stages: where the seconds of a candidate go. places: whether the side whose memory was made first is faster.
models: problems in KernelBench's form, each with its own model, that under torch.compile, and where it convolves channels-last: none may be refused or wrong.
repeats: the reference as its own candidate, and one that is 2 % slower, so often.
regime: the device's time beside that of gpubench.regime."""
import sys
import tempfile
import time
from pathlib import Path

from gpubench.judging import Settings
from gpubench.judging.adapters import problem_of
from gpubench.judging.contest import Judge

#: What forward returns, what the constructor makes, what comes in.
MODELS = {
    "matmul": ("x @ y", "", "torch.rand(2048, 2048), torch.rand(2048, 2048)"),
    "batched_matmul": ("torch.bmm(x, y)", "", "torch.rand(64, 256, 512), torch.rand(64, 512, 256)"),
    "matrix_vector": ("x @ y", "", "torch.rand(4096, 16384), torch.rand(16384, 1)"),
    "relu": ("torch.relu(x)", "", "torch.randn(4096, 16384)"),
    "gelu": ("nn.functional.gelu(x)", "", "torch.randn(4096, 16384)"),
    "softmax": ("torch.softmax(x, dim=1)", "", "torch.randn(4096, 16384)"),
    "log_softmax": ("torch.log_softmax(x, dim=1)", "", "torch.randn(4096, 16384)"),
    "layer_norm": ("self.norm(x)", "nn.LayerNorm(8192)", "torch.randn(4096, 8192)"),
    "rms_norm": ("x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-5)", "", "torch.randn(64, 64, 128, 128)"),
    "batch_norm": ("self.norm(x)", "nn.BatchNorm2d(64).eval()", "torch.randn(32, 64, 128, 128)"),
    "group_norm": ("self.norm(x)", "nn.GroupNorm(8, 64)", "torch.randn(32, 64, 128, 128)"),
    "max_pool": ("self.norm(x)", "nn.MaxPool2d(3, 2, 1)", "torch.randn(32, 64, 128, 128)"),
    "mean": ("x.mean(dim=1)", "", "torch.randn(128, 4096, 256)"),
    "argmax": ("x.argmax(dim=1)", "", "torch.randn(128, 4096, 256)"),
    "cumsum": ("torch.cumsum(x, dim=1)", "", "torch.rand(4096, 8192)"),
    "conv2d": ("self.norm(x)", "nn.Conv2d(64, 128, 3, padding=1)", "torch.randn(16, 64, 128, 128)"),
    "conv_relu_bias": ("torch.relu(self.norm(x)) + 0.5", "nn.Conv2d(32, 64, 3)", "torch.randn(32, 32, 128, 128)"),
    "linear_gelu": ("nn.functional.gelu(self.norm(x))", "nn.Linear(4096, 4096)", "torch.randn(2048, 4096)"),
    "mse": ("((x - y) ** 2).mean()", "", "torch.rand(8192, 4096), torch.rand(8192, 4096)"),
    "attention": ("nn.functional.scaled_dot_product_attention(x, x, x)", "", "torch.randn(16, 8, 512, 64)"),
}


def model(name, kind, form):
    result, made, inputs = MODELS[name]
    parameters = "x, y" if "y" in result.split("self")[0] and ", torch.rand(" in inputs else "x"
    wrapped = {"": f"return {result}", "compiled": f"return run(self, {parameters})", "channels_last": f"x = x.to(memory_format=torch.channels_last)\n        return {result}"}[kind]
    head = f"import torch\nimport torch.nn as nn\n\n" + (f"@torch.compile\ndef run(self, {parameters}):\n    return {result}\n\n" if kind == "compiled" else "")
    text = f"{head}class {form}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.norm = {made or None}\n\n    def forward(self, {parameters}):\n        {wrapped}\n"
    return text + (f"\n\ndef get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n" if form == "Model" else "")


def models(limit=200.0):
    begin, counts = time.monotonic(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            if time.monotonic() - begin > limit:
                print(f"ended before {name}, after {limit:g} s")
                break
            problem = Path(folder) / f"{name}.py"
            problem.write_text(model(name, "", "Model"))
            files = []
            for kind in ("", "compiled", *(["channels_last"] if "Conv2d" in MODELS[name][1] else [])):
                files.append(Path(folder) / f"{name}_{kind or 'same'}.py")
                files[-1].write_text(model(name, kind, "ModelNew"))
            try:
                for result in Judge(problem_of(problem), Settings(time_budget=0.5, rounds=1)).results(files):
                    counts[result.verdict] = counts.get(result.verdict, 0) + 1
                    print(line(result), flush=True)
            except Exception as error:  # noqa: BLE001: of one problem
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
    print(counts, f"in {time.monotonic() - begin:.0f} s")


def us(seconds):
    return "-" if seconds is None else f"{seconds * 1e6:.1f}"


def line(result):
    speedup = "-" if result.speedup is None else f"{result.speedup.value:.3f} [{result.speedup.low:.3f}, {result.speedup.high:.3f}]"
    why = f" {result.reason}: {result.text[:200]}" if result.reason else ""
    return (f"{Path(result.candidate).stem}: {result.verdict}{why} {speedup} call {us(result.seconds)} device {us(result.device_seconds)} reference "
            f"{us(result.reference_seconds)} device {us(result.reference_device_seconds)} us, {result.seconds_taken:.1f} s")


SOFTMAX = """import torch

def reference(x):
    return torch.softmax(x, dim=1)

def inputs(random, rows=8192, columns=8192):
    return torch.randn(rows, columns, generator=torch.Generator("cuda").manual_seed(int(random.integers(1 << 31))), device="cuda")
"""
SLOWER = "import torch\n\ndef candidate(x):\n    {}return torch.softmax(x, dim=1)\n"


def repeats(count=3.0):
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "softmax.py"
        problem.write_text(SOFTMAX)
        files = []
        for name, more in (("same", ""), ("slower", "torch.softmax(x[:x.shape[0] // 50], dim=1)\n    ")):
            files += [Path(folder) / f"{name}_{i}.py" for i in range(int(count))]
            for file in files[-int(count):]:
                file.write_text(SLOWER.format(more))
        results = list(Judge(problem_of(problem), Settings(time_budget=1.5)).results(files))
        for result in results:
            print(line(result), flush=True)
        for name, holds in (("same", lambda s: s.low <= 1.0 <= s.high), ("slower", lambda s: s.high < 1.0)):
            some = [each.speedup for each in results if each.speedup is not None and name in Path(each.candidate).stem]
            print(f"{name}: {sum(map(holds, some))} of {len(some)}")


def device_seconds(operation, arguments, cache):
    """By gpubench's own harness, and what launching an empty kernel of the same shape is of it."""
    from gpubench.harness import Benchmark, run

    def measured(state):
        state.measure(lambda: operation(*arguments))

    point = run(Benchmark(measured, "operation", {}, None), device="cuda:0", time="device,stream", cache=cache, time_budget=0.5, drift_check=False, progress=False)[0]
    timing = point.timing("device") or {}
    return f"{us(point.seconds('device'))} us, fixed {us((timing.get('kernel_overhead_seconds') or {}).get('value'))} us, by {timing.get('method', point.why_absent('device'))[:60]}"


def regime(_=0.0):
    import torch
    from gpubench.regime import GPUProfiler
    profiler = GPUProfiler(verbose=False)
    problems = {"softmax": (SOFTMAX, SLOWER.format(""), lambda: (torch.randn(8192, 8192, device="cuda"),), lambda x: torch.softmax(x, dim=1)),
                "matmul": (SOFTMAX.replace("(x)", "(x, y)").replace("torch.softmax(x, dim=1)", "x @ y").replace("8192", "4096").replace(
                    "    return torch.randn", "    make = lambda: torch.randn").rstrip() + "\n    return make(), make()\n",
                    "def candidate(x, y):\n    return x @ y\n", lambda: tuple(torch.randn(4096, 4096, device="cuda") for _ in range(2)), torch.matmul)}
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, candidate, arguments, operation) in problems.items():
            (Path(folder) / f"{name}.py").write_text(text)
            (Path(folder) / "same.py").write_text(candidate)
            result, = Judge(problem_of(Path(folder) / f"{name}.py"), Settings(time_budget=1.5)).results([Path(folder) / "same.py"])
            print(f"{name}: {line(result)}", flush=True)
            given = arguments()
            found = profiler.profile_operation(operation, *given)
            print(f"    regime: device {found['device_ms'] and found['device_ms'] * 1e3} run {found['runtime_ms'] * 1e3:.1f} us by {found['method'][:80]}")
            for cache in ("warm", "cold"):
                print(f"    device, {cache}: {device_seconds(operation, given, cache)}", flush=True)


def _watched(taken):
    """Sums up what the parts of a judge take, by name."""
    import threading
    from gpubench.judging import checking, contest, probes, process, side, trial
    lock = threading.Lock()
    for owner, name in ((trial.Trial, "__init__"), (trial.Trial, "close"), (trial.Trial, "memory"), (probes.ProbeMaker, "make"), (contest.Judge, "_start_all"),
                        (process.CellProcess, "start"), (process.CellProcess, "map"), (side.Side, "load"), (side.Side, "close"), (checking.Checker, "check"),
                        (trial.Trial, "_plan"), (trial.Trial, "_round"), (trial.Trial, "_hold_against_records"), (trial.Trial, "_fresh"), (side.Side, "run"), (side.Side, "fill"),
                        (checking.Checker, "compare"), (side.Side, "changes"), (side.Side, "outputs"), (trial.Trial, "_sum_up")):
        def wrapped(*words, _of=getattr(owner, name), _name=f"{owner.__name__}.{name}", **more):
            start = time.perf_counter()
            try:
                return _of(*words, **more)
            finally:
                with lock:
                    count, seconds = taken.get(_name, (0, 0.0))
                    taken[_name] = (count + 1, seconds + time.perf_counter() - start)
        setattr(owner, name, wrapped)


def stages(_=0.0):
    taken = {}
    _watched(taken)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "softmax.py").write_text(SOFTMAX)
        files = [Path(folder) / f"same_{i}.py" for i in range(3)]
        for file in files:
            file.write_text(SLOWER.format(""))
        begin = time.perf_counter()
        judge = Judge(problem_of(Path(folder) / "softmax.py"), Settings(time_budget=1.5))
        for result in judge.results(files):
            print(f"{line(result)}; since the start {time.perf_counter() - begin:.1f} s, {result.calls_timed} calls", flush=True)
            for name, (count, seconds) in sorted(taken.items(), key=lambda each: -each[1][1]):
                print(f"    {name}: {count} times, {seconds:.2f} s", flush=True)
            taken.clear()
    print(f"in all {time.perf_counter() - begin:.1f} s, with the end {taken.get('Trial.close')}; notes {judge.notes}")


def places(count=3.0):
    from gpubench.judging.trial import Trial
    usual = Trial.memory

    def swapped(self, for_batches=True):
        if not self._memories:
            self.spare = usual(self)
            return usual(self)
        spare, self.spare = self.spare, None
        return spare or usual(self, for_batches)

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "softmax.py").write_text(SOFTMAX)
        file = Path(folder) / "same.py"
        file.write_text(SLOWER.format(""))
        for _ in range(int(count)):
            for name, way in (("usual", usual), ("swapped", swapped)):
                Trial.memory = way
                result, = Judge(problem_of(Path(folder) / "softmax.py"), Settings(time_budget=1.5)).results([file])
                print(f"{name}: {line(result)}", flush=True)


if __name__ == "__main__":
    {"models": models, "repeats": repeats, "regime": regime, "stages": stages, "places": places}[sys.argv[1]](*map(float, sys.argv[2:]))
