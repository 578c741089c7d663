#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of the judge on a GPU, for docs/results: figures.py regime | states | stages | found | ranking [--max-seconds=S] [--step=0.02] [--count=20] [--times=3]
[--out=FILE], and figures.py table FILE...

regime: the device's time of some operations beside that of gpubench.regime in a process of its own (`alone`), which gets inputs in turns as the judge's calls do,
the same ones in warm caches, and in cold ones. states: what changes it: inputs and outputs that change, copies after each
call, whose memory it is. stages: where the seconds of a candidate go. found: how often a candidate that is longer by a STEP is told from the reference, and how
often the reference itself. ranking: COUNT candidates that are longer by a STEP each, 20 times. Both time as the judge does, in five processes of each
side, but with inputs that were made before and without a look at outputs, the ranking by shorter batches and fewer blocks; processes of `found` start anew
after ten repetitions. Results are lines of JSON, each printed and added to --out as soon as it is known; --max-seconds ends all, whatever it is at.
table: what the JSON lines of these and of corpora.py and exploits_test.py say together, of one run or of several on as many GPUs."""
import argparse
import contextlib
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from gpubench.judging import Settings, timing, trial
from gpubench.judging.adapters import problem_of
from gpubench.judging.contest import Judge, surely_faster
from gpubench.judging.side import Side
from gpubench.judging.verdict import Interval, Result


OUT = None
_REPETITIONS = 20  #: of a ranking


def say(part, **what):
    """A line of JSON."""
    text = json.dumps({"part": part, **what})
    print(text, flush=True)
    if OUT is not None:
        with OUT.open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")


def us(seconds):
    return "-" if seconds is None else f"{seconds * 1e6:.4g}"


def line(result):
    speedup = "-" if result.speedup is None else f"{result.speedup.value:.3f} [{result.speedup.low:.3f}, {result.speedup.high:.3f}]"
    why = f" {result.reason}: {result.text[:200]}" if result.reason else ""
    return (f"{Path(result.candidate).stem}: {result.verdict}{why} {speedup} call {us(result.seconds)} device {us(result.device_seconds)} reference "
            f"{us(result.reference_seconds)} device {us(result.reference_device_seconds)}, warm {us(result.warm_device_seconds)} and "
            f"{us(result.reference_warm_device_seconds)} us, {result.seconds_taken:.1f} s")


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


class Repeated:
    """Products of 2048: the reference's processes stay, those of candidates are timed as often as wanted."""

    def __init__(self, folder, cycles, settings):
        (folder / "matmul.py").write_text(MATMUL)
        self._files = [folder / f"slower_{i}.py" for i in range(len(cycles))]
        for file, each in zip(self._files, cycles):
            file.write_text(DELAYED.format("" if each is None else _CLOCK.format(each)))
        self._judge = Judge(problem_of(folder / "matmul.py"), settings)
        self.trial = trial.Trial(self._judge.problem, settings)
        self._memory = self.trial.memory()
        self._plan = None
        # From now on timing alone
        Side.outputs, Side.all_outputs = lambda *_: [], lambda side: [[]] * len(side.slots)
        Side.refuse_changed_input = trial.refuse_changes = lambda *_: None

    def start(self, which):
        """Processes of one candidate."""
        started = [self.trial.starters.submit(self._judge._start, self.trial, self._files[which], self._memory) for _ in self.trial.references]
        return [each.result() for each in started]

    def speedup(self, sides):
        """One repetition, and how often each process was visited."""
        own = self.trial
        if self._plan is None:
            self._plan = timing.Plan(own._calls_of_batch(sides[0], own.reference), own.settings.min_blocks)
            pool = itertools.cycle([own._fresh() for _ in range(2 * self._plan.calls)])
            own._fresh = lambda: next(pool)
        spare = iter(sides[1:])
        rounds = own.rounds(sides[0], lambda: next(spare), self._plan, Result(candidate=""))
        return timing.Summary(rounds).speedup()[0], len(rounds[0].blocks)


@contextlib.contextmanager
def repeated(cycles, **settings):
    with tempfile.TemporaryDirectory() as folder:
        made = Repeated(Path(folder), cycles, Settings(records=False, **settings))
        try:
            yield made
        finally:
            made.trial.close()


def found(words):
    """A candidate that is a step longer, and the reference itself, one start in five."""
    begin = time.monotonic()
    trial._GPU_BATCH_BYTES = 2 << 30
    with repeated(delays(words.step, 2)) as own:
        for start in itertools.count():
            which = int(start % 5 != 4)
            sides = own.start(which)
            for _ in range(10):
                each, visits = own.speedup(sides)
                say("found", longer=words.step * which, value=each.value, low=each.low, high=each.high, visits=visits, since_start=time.monotonic() - begin)
            for side in sides:
                side.close()


def ranking(words):
    """The processes of one candidate after the other, as a GPU's memory does not hold those of all: 20 repetitions of each. A line has the speed-ups of one repetition, each candidate a step longer than the one before."""
    begin = time.monotonic()
    trial._GPU_BATCH_BYTES, trial._GPU_BATCH_SECONDS = 1 << 29, 0.005
    found = []
    with repeated(delays(words.step, words.count), time_budget=0.0, min_blocks=1) as own:
        for which in range(words.count):
            sides = own.start(which)
            found.append([own.speedup(sides)[0] for _ in range(_REPETITIONS)])
            for side in sides:
                side.close()
            print(f"candidate {which}, {time.monotonic() - begin:.1f} s after the start", flush=True)
    for repetition in zip(*found):
        say("ranking", step=words.step, speedups=[[each.value, each.low, each.high] for each in repetition])


def _kernel_seconds(work, calls, name):
    """By activity records, the median of the kernels of this name."""
    import torch
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recorded:
        for _ in range(calls):
            work()
        torch.cuda.synchronize()
    times = [each.time_range.elapsed_us() for each in recorded.events() if name in each.name.lower()]
    return statistics.median(times) * 1e-6 if times else None


def _states(device):
    """Softmax under what may change its time, each as a function that calls it once. `own` are places in the judge's memory."""
    import torch
    count, shape = 14, (8192, 8192)
    inputs = [torch.randn(*shape, device="cuda") for _ in range(count)]
    outputs, targets = ([torch.empty(*shape, device="cuda") for _ in range(count)] for _ in range(2))
    spec = {"dtype": "float32", "shape": list(shape), "framework": "torch", "device": "cuda"}
    block = device.block(2 * count * (256 << 20))
    own = [block.view({**spec, "offset": i * (256 << 20)}) for i in range(2 * count)]
    for place, each in zip(own, inputs):
        place.copy_(each)
    scratch = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    turn = itertools.cycle(range(count))

    def call(many_inputs, many_outputs, given=inputs, left=outputs, copy=None, before=None):
        def once():
            i = next(turn)
            if before is not None:
                before()
            x, out = given[i * many_inputs], left[i * many_outputs]
            torch.softmax(x, dim=1, out=out)
            if copy is not None:
                copy[i].copy_(out)
        return once

    return {"one input, one output": call(0, 0), "one input, 14 outputs": call(0, 1), "14 inputs, one output": call(1, 0), "14 inputs, 14 outputs": call(1, 1),
            "one input, one output, copied": call(0, 0, copy=targets), "14 inputs, one output, copied": call(1, 0, copy=targets),
            "14 inputs, one output, copied, in the judge's memory": call(1, 0, given=own[:count], copy=own[count:]),
            "14 inputs, one output, in the judge's memory": call(1, 0, given=own[:count], left=own[count:]),
            "one input, one output, after a write of 256 MiB": call(0, 0, before=scratch.zero_),
            "one input, one output, after a read of 256 MiB": call(0, 0, before=lambda: scratch.view(torch.int32).max())}


_GELU_STEPS = "0.5 * x * (1 + torch.erf(x * 0.7071067811865476))"
#: Shapes of the arguments, what is called, and where the candidate is other code than that, it.
_OPERATIONS = {"softmax": ([(8192, 8192)], "torch.softmax(x, dim=1)"), "softmax of 1024": ([(1024, 1024)], "torch.softmax(x, dim=1)"),
               "gelu": ([(16 << 20,)], "torch.nn.functional.gelu(x)"), "layer norm": ([(8192, 4096)], "torch.nn.functional.layer_norm(x, (4096,))"),
               "two steps": ([(4096, 8192)], "torch.exp(torch.sin(x))"), "sum of columns": ([(16384, 2048)], "x.sum(0)"),
               "matmul of 1024": ([(1024, 1024)] * 2, "x @ y"), "matmul of 2048": ([(2048, 2048)] * 2, "x @ y"), "matmul": ([(4096, 4096)] * 2, "x @ y"),
               "convolution": ([(32, 64, 56, 56), (64, 64, 3, 3)], "torch.nn.functional.conv2d(x, y, padding=1)"),
               "gelu for its steps": ([(16 << 20,)], _GELU_STEPS, "torch.nn.functional.gelu(x)"),
               "gelu for its steps, 1 M": ([(1 << 20,)], _GELU_STEPS, "torch.nn.functional.gelu(x)"),
               "steps for gelu": ([(16 << 20,)], "torch.nn.functional.gelu(x)", _GELU_STEPS),
               "softmax for its steps": ([(8192, 4096)], "torch.exp(x) / torch.exp(x).sum(1, keepdim=True)", "torch.softmax(x, dim=1)"),
               "layer norm for its steps": ([(8192, 4096)], "(x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)",
                                            "torch.nn.functional.layer_norm(x, (4096,))")}
_NAMES = {1: "x", 2: "x, y"}  #: of so many arguments


def alone(words):
    """The times of operations by gpubench.regime, in a process without a judge."""
    import torch
    from gpubench.regime import GPUProfiler
    profilers = {cache: GPUProfiler(verbose=False, metrics=None, cache=cache) for cache in ("warm", "cold")}
    cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    for name in words.operations:
        shapes, *_, expression = _OPERATIONS[name]
        operation = eval(f"lambda {_NAMES[len(shapes)]}: {expression}", {"torch": torch})  # noqa: S307: of the table above
        bytes_of_set = 4 * sum(map(math.prod, shapes))
        sets = [[torch.randn(shape, device="cuda") for shape in shapes] for _ in range(max(5, 1 + math.ceil(2 * cache_bytes / bytes_of_set)))]
        turn, given = itertools.cycle(sets), sets[0]
        calls = {"in_turns": ("warm", lambda: operation(*next(turn)), ()), "warm": ("warm", operation, given), "cold": ("cold", operation, given)}
        say("alone", operation=name, **{state: profilers[cache].profile_operation(call, *arguments)["device_ms"] * 1e-3 for state, (cache, call, arguments) in calls.items()})


def regime(words):
    for name in words.operations or _OPERATIONS:
        shapes, expression, *other = _OPERATIONS[name]
        names = _NAMES[len(shapes)]
        made = ", ".join(f"torch.randn({shape}, generator=generator, device='cuda')" for shape in shapes)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "same.py").write_text(f"import torch\n\ndef candidate({names}):\n    return {(other or [expression])[0]}\n")
            (Path(folder) / "problem.py").write_text(f"""import torch

def reference({names}):
    return {expression}

def inputs(random):
    generator = torch.Generator("cuda").manual_seed(int(random.integers(1 << 31)))
    return {made},
""")
            judge = Judge(problem_of(Path(folder) / "problem.py"), Settings(time_budget=0.5))
            results, by_regime = [], {"in_turns": [], "warm": [], "cold": []}
            for _ in range(words.times):  # in turns: a GPU's clock drifts, and where memory lies differs
                for each in judge.results([Path(folder) / "same.py"]):
                    print(f"{name}: {line(each)} {judge.notes}", flush=True)
                    results.append(each)
                done = subprocess.run([sys.executable, __file__, "alone", "--operations", name], stdout=subprocess.PIPE, text=True, check=True)
                print(done.stdout, end="", flush=True)
                by_state = json.loads(done.stdout)
                for state, times in by_regime.items():
                    times.append(by_state[state])
        judged = [each.device_seconds for each in results]
        off = {state: statistics.median(judged) / statistics.median(seconds) - 1 for state, seconds in by_regime.items()}
        judge_warm = [each.warm_device_seconds for each in results if each.warm_device_seconds is not None]
        off["warm"] = statistics.median(judge_warm) / statistics.median(by_regime["warm"]) - 1 if judge_warm else None
        say("regime", operation=name, judge=judged, judge_warm=judge_warm, **by_regime, off=off, reference=[each.reference_device_seconds for each in results],
            excess=[each.device_excess_seconds for each in results])


def states(words):
    from gpubench.judging.device import Device
    for name, work in _states(Device()).items():
        work()
        say("states", state=name, back_to_back=_seconds(work), records=_kernel_seconds(work, 42, "softmax"))


def stages(words):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "softmax.py").write_text(SOFTMAX)
        files = [Path(folder) / f"same_{i}.py" for i in range(4)]
        for file in files:
            file.write_text(SLOWER.format(""))
        begin = time.perf_counter()
        judge = Judge(problem_of(Path(folder) / "softmax.py"), Settings())
        for result in judge.results(files):
            print(line(result), flush=True)
            say("stages", candidate=Path(result.candidate).stem, seconds=result.seconds_taken, since_start=time.perf_counter() - begin, calls=result.calls_timed,
                phases={name: round(seconds, 3) for name, seconds in result.phases.items()})
    print(f"in all {time.perf_counter() - begin:.1f} s; notes {judge.notes}")


def told(value):
    """Seconds in us, as medians of lists."""
    if value == []:
        return "not measured"
    if isinstance(value, list) and all(isinstance(each, float) for each in value):
        return f"{us(statistics.median(value))} us ({', '.join(map(us, value))})"
    return f"{us(value)} us" if isinstance(value, float) else value


def table(*files):
    """What the lines of all files say."""
    lines = [json.loads(each) for file in files for each in Path(file).read_text(encoding="utf-8").splitlines() if each.startswith("{")]
    for each in lines:  # what a test runner wrote a dot before
        text = each.get("text") or ""
        if each["part"] == "log" and text.startswith('.{"part": "exploit"'):
            name, verdict = (re.search(rf'"{word}": "([^"]*)"', text)[1] for word in ("name", "verdict"))
            each.update(part="exploit", name=name, verdict=verdict, as_expected='"as_expected": true' in text, reason="", text="")
    of = {part: [each for each in lines if each["part"] == part] for part in ("exploit", "honest", "found", "ranking", "stages", "regime", "states")}
    bad = [each for each in of["exploit"] if not each["as_expected"]]
    print(f"exploits: {len(of['exploit'])}, {sum(each['verdict'] == 'right' for each in of['exploit'])} pass, {len(bad)} for a reason that its file does not name")
    for each in bad:
        print(f"    {each['name']}: {each['verdict']} {each['reason']}: {each['text'][:200]}")
    kinds = {}
    skipped = [each for each in of["honest"] if each["reason"] == "problem"]
    of["honest"] = [each for each in of["honest"] if each["reason"] != "problem"]
    for each in of["honest"]:
        each["is_wrong"] = " wrong_" in each["name"]
        group = re.match(r"level\d|tests|", each["name"])[0] or "GPU MODE"
        kinds.setdefault((group, "expected to be wrong" if each["is_wrong"] else each["name"].split()[-1] if group.startswith("level") else "honest"), []).append(each)
    honest = [each for each in of["honest"] if not each["is_wrong"]]
    print(f"honest: {len(honest)}, {sum(each['verdict'] != 'right' for each in honest)} not right; {statistics.mean([each['seconds_taken'] for each in honest] or [0]):.1f} s each, "
          f"the last one {max([each.get('since_start', 0) for each in honest] or [0]):.0f} s after the start")
    for each in skipped:
        print(f"    not judged: {each['name']}: {each['text'][:200]}")
    for (group, kind), some in sorted(kinds.items()):
        print(f"    {group} {kind}: {sum(each['verdict'] == 'right' for each in some)} of {len(some)} right")
    for each in of["honest"]:
        if (each["verdict"] == "right") == each["is_wrong"]:
            print(f"    {each['name']}: {each['verdict']} {each['reason']}: {each['text'][:300]}")
    for longer in sorted({each["longer"] for each in of["found"]}):
        some = [each for each in of["found"] if each["longer"] == longer]
        print(f"{100 * longer:.0f} % longer: told from 1 in {sum(each['high'] < 1.0 or each['low'] > 1.0 for each in some)} of {len(some)}; speed-ups {min(each['value'] for each in some):.4f} to "
              f"{max(each['value'] for each in some):.4f}, median {statistics.median(each['value'] for each in some):.4f}, asked {1 / (1 + longer):.4f}; half an interval is "
              f"{100 * statistics.median(math.log(each['high'] / each['low']) / 2 for each in some):.2f} %")
    wrong, ties, pairs = 0, 0, 0
    for each in of["ranking"]:
        found = [(surely_faster(slower, faster), surely_faster(faster, slower))
                 for faster, slower in itertools.combinations([Interval(*speedup) for speedup in each["speedups"]], 2)]
        wrong += any(is_wrong for is_wrong, _ in found)
        ties += sum(not is_wrong and not is_right for is_wrong, is_right in found)
        pairs += len(found)
    print(f"rankings: {len(of['ranking'])}, {wrong} with a pair in the wrong order that is no tie; of {pairs} pairs {ties} are ties")
    for each in of["stages"]:
        print(f"    {each['candidate']}: {each['seconds']:.1f} s, {each['since_start']:.1f} s after the start, {each['calls']} calls; "
              + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in each["phases"].items()))
    for each in of["regime"] + of["states"]:
        print("    " + ", ".join(f"{key} {told(value)}" for key, value in each.items() if key != "part"))


def main():
    global OUT
    if sys.argv[1:2] == ["table"]:
        table(*sys.argv[2:])
        return
    parts = {"found": found, "states": states, "regime": regime, "alone": alone, "stages": stages, "ranking": ranking}
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=parts)
    parser.add_argument("--max-seconds", type=float, default=240.0)
    parser.add_argument("--step", type=float, default=0.02)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--times", type=int, default=3, help="of the judge and of each regime, whose medians are compared")
    parser.add_argument("--operations", nargs="+", choices=_OPERATIONS, metavar="NAME", help="of `regime`, in place of all")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    OUT = words.out
    end = threading.Timer(words.max_seconds, os._exit, [0])  # processes of candidates end with this one
    end.daemon = True
    end.start()
    parts[words.part](words)


if __name__ == "__main__":
    main()
