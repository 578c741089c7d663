#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of the judge on a GPU, for docs/results: figures.py regime [FIRST] | stages | ranking [SECONDS COUNT STEP]

regime: the device's time beside that of gpubench.regime, with inputs that stay and inputs that change. stages: where the seconds of a candidate go.
ranking: COUNT candidates that are longer by a STEP each, again and again. Honest candidates are corpora.py's."""
import sys
import tempfile
import time
from pathlib import Path

from gpubench.judging import Settings
from gpubench.judging.adapters import problem_of
from gpubench.judging.contest import Judge


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

MATMUL = """import torch

def reference(x, y):
    return x @ y

def inputs(random, n=2048):
    generator = torch.Generator("cuda").manual_seed(int(random.integers(1 << 31)))
    return tuple(torch.randn(n, n, generator=generator, device="cuda") for _ in range(2))
"""
DELAYED = """import torch

def candidate(x, y):
    result = x @ y
    {}
    return result
"""
_CLOCK = "torch.cuda._sleep({})"


def _seconds(work):
    """Of one piece of work on the GPU, of many."""
    import torch
    times = []
    for _ in range(5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        work()
        begin.record()
        for _ in range(50):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / 50)
    return sorted(times)[2]


def delays(step, count):
    """Cycles of torch.cuda._sleep that make a product longer by so many steps, as this GPU counts them."""
    import torch
    x, y = (torch.randn(2048, 2048, device="cuda") for _ in range(2))

    def with_sleep(cycles):
        torch.matmul(x, y)
        torch.cuda._sleep(cycles)

    base = _seconds(lambda: torch.matmul(x, y))
    small, large = (_seconds(lambda: with_sleep(cycles)) for cycles in (2000, 102000))
    cycle = (large - small) / 100000
    fixed = small - base - 2000 * cycle
    found = [max(1, round((base * step * i - fixed) / cycle)) for i in range(1, count)]
    print(f"a product takes {base * 1e6:.1f} us, a sleep {fixed * 1e6:.2f} us and {cycle * 1e9:.4f} ns a cycle: {found}", flush=True)
    return [None, *found]


def ranking(seconds=60.0, count=4.0, step=0.02):
    """Candidates that differ by a step each, again and again: whether a step is found, and whether their order stays."""
    import json
    import os

    from gpubench.judging import rank, timing
    kept = []
    usual = timing.take_turns
    from gpubench.judging import trial

    def keeping(*words, **more):
        times = usual(*words, **more)
        kept[-1]["rounds"].append([[*each.reference, *each.candidate, *each.nothing, *each.empty] for each in times.blocks])
        return times

    trial.timing.take_turns = keeping
    begin, orders = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "matmul.py"
        problem.write_text(MATMUL)
        found = delays(step, int(count))
        files = []
        for repetition in range(200):
            (Path(folder) / str(repetition)).mkdir()
            for i, cycles in enumerate(found):
                files.append(Path(folder) / str(repetition) / f"slower_{i}.py")
                files[-1].write_text(DELAYED.format("" if cycles is None else _CLOCK.format(cycles)))
        judge = Judge(problem_of(problem), Settings(time_budget=1.0, records=False))
        results = []
        kept.append({"rounds": []})
        for result in judge.results(files):
            kept[-1].update(candidate=Path(result.candidate).stem, speedup=result.speedup and [result.speedup.value, result.speedup.low, result.speedup.high], verdict=result.verdict)
            kept.append({"rounds": []})
            results.append(result)
            print(line(result), flush=True)
            if len(results) % len(found) == 0:
                last = results[-len(found):]
                orders.append([(Path(each.candidate).stem[-1], each.rank) for each in rank(last)])
                print(f"    order and ranks {orders[-1]}", flush=True)
                if time.monotonic() - begin > seconds:
                    break
    for i in range(len(found)):
        some = [each.speedup for each in results if each.speedup and Path(each.candidate).stem == f"slower_{i}"]
        print(f"{100 * step * i:.0f} % longer: excluded 1 in {sum(each.high < 1.0 or each.low > 1.0 for each in some)} of {len(some)}; "
              f"speed-ups {min(each.value for each in some):.4f} to {max(each.value for each in some):.4f}, asked {1 / (1 + step * i):.4f}")
    wanted = [str(i) for i in range(len(found))]
    print(f"the order by speed-up is that of the delays in {sum([name for name, _ in each] == wanted for each in orders)} of {len(orders)}; in {time.monotonic() - begin:.0f} s")
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "judge-ranking.json").write_text(json.dumps(kept[:-1]))


def device_seconds(operation, arguments, cache):
    """By gpubench's own harness, and what launching an empty kernel of the same shape is of it."""
    from gpubench.harness import Benchmark, run

    def measured(state):
        state.measure(lambda: operation(*arguments))

    point = run(Benchmark(measured, "operation", {}, None), device="cuda:0", time="device,stream", cache=cache, time_budget=0.5, drift_check=False, progress=False)[0]
    timing = point.timing("device") or {}
    return f"{us(point.seconds('device'))} us, fixed {us((timing.get('kernel_overhead_seconds') or {}).get('value'))} us, by {timing.get('method', point.why_absent('device'))[:60]}"


def regime(only=0.0):
    import torch
    from gpubench.regime import GPUProfiler
    profiler = GPUProfiler(verbose=False)
    problems = {"softmax": (SOFTMAX, SLOWER.format(""), lambda: (torch.randn(8192, 8192, device="cuda"),), lambda x: torch.softmax(x, dim=1)),
                "matmul": (SOFTMAX.replace("(x)", "(x, y)").replace("torch.softmax(x, dim=1)", "x @ y").replace("8192", "4096").replace(
                    "    return torch.randn", "    make = lambda: torch.randn").rstrip() + "\n    return make(), make()\n",
                    "def candidate(x, y):\n    return x @ y\n", lambda: tuple(torch.randn(4096, 4096, device="cuda") for _ in range(2)), torch.matmul)}
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, candidate, arguments, operation) in list(problems.items())[:int(only) or None]:
            (Path(folder) / f"{name}.py").write_text(text)
            (Path(folder) / "same.py").write_text(candidate)
            result, = Judge(problem_of(Path(folder) / f"{name}.py"), Settings(time_budget=1.5)).results([Path(folder) / "same.py"])
            print(f"{name}: {line(result)}", flush=True)
            given = arguments()
            found = profiler.profile_operation(operation, *given)
            print(f"    regime: device {found['device_ms'] and found['device_ms'] * 1e3} run {found['runtime_ms'] * 1e3:.1f} us by {found['method'][:80]}")
            sets = [given, *(arguments() for _ in range(14))]
            for name_of, some in (("one input", sets[:1] * 15), ("15 inputs by turns", sets)):
                places = iter(some * 1000)
                print(f"    back to back, {name_of}: {_seconds(lambda: operation(*next(places))) * 1e6:.1f} us", flush=True)
            del sets, places
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


if __name__ == "__main__":
    {"regime": regime, "stages": stages, "ranking": ranking}[sys.argv[1]](*map(float, sys.argv[2:]))
