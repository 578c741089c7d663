# SPDX-License-Identifier: Apache-2.0
"""The regime of single operations, judged by ceilings that were measured on this device.

    from gpubench.regime import GPUProfiler

    profiler = GPUProfiler()
    result, profile = profiler.profile_with_result(torch.matmul, a, b)
    print(profile["regime"], profile["flops_utilization"])
"""
from __future__ import annotations

import functools
import os
import sys
import tempfile
import time
from contextlib import nullcontext
from typing import Any, Callable, Iterator, Mapping, cast

from . import _core
from ._arguments import Parser
from ._arrays import bytes_of, distinct, is_array
from ._frameworks import current_stream
from ._work import Work, prepare, watch
from .harness import Benchmark, empty_call_of, refuse_what_runs_nothing, run, settled
from .runs import (Calibration, OperationFailed, Point, Run, WrongDevice, calibrate, calibration, devices, program,
                   refuse_a_fork)

REGIMES = {"overhead": "OVERHEAD_BOUND", "latency": "LATENCY_BOUND", "memory": "MEMORY_BOUND",
           "compute": "COMPUTE_BOUND", "unknown": "UNDECIDED", "": "UNDECIDED"}
_SHOWN_PIPES = ("tensor-bf16", "fp32", "tensor-fp16", "fp64")  #: the first two that a device has
_SURE = 0.95
_LEFT_OVER = ("latency", "unknown")  #: for want of another limit
_SHORT = 0.005  #: seconds of one call, as it was watched
_LONG = 2.0
_CACHE_OVER_MEMORY = 30.0  #: as much more than memory's bandwidth a cache may have
_DECLARE = "declare what it moves and calculates, as state.reads(), writes() and flops() of gpubench.benchmark do"


def _arrays(things: Any) -> Iterator[Any]:
    """Arrays and tensors in arguments or results."""
    if isinstance(things, Mapping):
        things = things.values()
    elif not isinstance(things, (tuple, list, set)):
        things = [things]
    for each in things:
        if is_array(each):
            yield each
        elif isinstance(each, (tuple, list, Mapping)):
            yield from _arrays(each)


class _Lightweight(Mapping[str, Any]):
    """runtime_ms and regime of one call. Reading them waits for the GPU; nothing else does."""

    def __init__(self, seconds: Callable[[], float], launch_seconds: float | None):
        self._seconds = seconds
        self._launch = launch_seconds

    @functools.cached_property
    def _values(self) -> dict[str, Any]:
        seconds = self._seconds()
        # Below a few launches, launching is most of what such a call can take.
        overhead = self._launch is not None and seconds < 4.0 * self._launch
        return {"runtime_ms": seconds * 1e3, "regime": "OVERHEAD_BOUND" if overhead else "UNDECIDED", "lightweight": True}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class GPUProfiler:
    """Says of operations what limits them. The device is calibrated on first use, and the result kept."""

    def __init__(self, device: str | None = None, verbose: bool = True, time_budget: float = 0.05,
                 metrics: str | None = "auto", check: str | None = None, cache: str = "warm"):
        """metrics: hardware counters to read ("core,units"; None for none). "auto" reads them where the verdict without them is not sure, and they
        may be read. cache: what a call finds in the caches: "warm" its data, left there by the call before; "cold" none of it, as between
        the layers of a model. check: as gpubench.run takes it."""
        if cache not in ("warm", "cold"):
            raise _core.UsageError(f"cache takes 'warm' or 'cold', not {cache!r}.")
        here = devices()
        self.device = str(here[0]["id"] if device is None else device)
        if self.device == "cuda":  # as PyTorch has it
            self.device = "cuda:0"
        self._time_budget = time_budget
        self._metrics = metrics
        self._check = check
        self._cache = cache
        self.last_run: Run | None = None  #: of the operation profiled last
        known = calibration(self.device)
        name = next((each["name"] for each in here if each["id"] == self.device), None)
        if name is None:
            raise _core.UsageError(f"A GPUProfiler is for one device, such as {here[0]['id']}, not for {device!r}.")
        if verbose:
            print(f"gpubench Auto-Calibration\nDevice: {name}\n"
                  + ("The ceilings of this device are known." if known else "Measuring the ceilings of this device..."))
        self.calibration: Calibration = known or calibrate(self.device)
        self._launch = self.calibration.ceilings.get("launch")
        if verbose:
            self._show_ceilings()

    def _show_ceilings(self) -> None:
        print("\nCeilings, as measured on this device:")
        if self._launch is not None:
            print(f"   Launch: {self._launch * 1e6:.2f} us")
        print(f"   Max Memory Bandwidth: {self.peak_bandwidth / 1e9:.0f} GB/s")
        peaks = self.peak_flops
        for pipe in [each for each in _SHOWN_PIPES if each in peaks][:2]:
            print(f"   Max Compute {pipe}: {peaks[pipe] / 1e12:.2f} TFLOP/s")
        print(f"   All {len(self.calibration.ceilings)}: profiler.calibration.ceilings (docs/reference/ceilings.md)")

    @property
    def peak_bandwidth(self) -> float:
        """Of the device's memory, in bytes/s: the best of reading, writing and copying."""
        return max(value for name, value in self.calibration.ceilings.items()
                   if name in ("dram-read", "dram-write", "dram-copy", "dram-triad"))

    @property
    def peak_flops(self) -> dict[str, float]:
        """By pipe, in FLOP/s."""
        return {each["resource"]: each["value"] for each in self.calibration.data["ceilings"]
                if each["unit"] in ("FLOP/s", "OP/s") and not each["resource"].startswith("gemm")}

    def profile_operation(self, operation: Callable[..., Any], *arguments: Any, **options: Any) -> Mapping[str, Any]:
        """As profile_with_result, without the result."""
        return self.profile_with_result(operation, *arguments, **options)[1]

    def profile_with_result(self, operation: Callable[..., Any], *arguments: Any, lightweight: bool = False,
                            repeatable: bool | None = None, **keywords: Any) -> tuple[Any, Mapping[str, Any]]:
        """Calls the operation once for its result, and says what limits it.

        It is called again, for times, only where that changes nothing: where PyTorch's operators in it change nothing that was there
        before, or with `repeatable=True`. Else one call has to do. PyTorch's random numbers go on as if there had been one call.
        lightweight: times that one call alone, and waits for nothing until the profile is read."""
        if not callable(operation):
            raise TypeError(f"profile_with_result takes a callable and its arguments, not a {type(operation).__name__}")
        refuse_what_runs_nothing(operation, "profile_with_result")
        if not lightweight:
            self._refuse_tensors_of_others((arguments, keywords))

        call = settled(functools.partial(operation, *arguments, **keywords), self._on_gpu())
        if lightweight:
            return self._lightly(call)
        seconds, result, work = self._once(call, (arguments, keywords))
        self._empty_call = self._empty_call_of(work, (arguments, keywords))
        why_once = work.why_not_repeatable if work.known else "it is not known what a second call would change"
        if repeatable is None:
            repeatable = not why_once
        elif not repeatable:
            why_once = why_once or "repeatable=False says so"
        if repeatable and seconds > _LONG:  # with what is loaded and set up once; the next one is without
            seconds = self._timed(call)[1]()
            if seconds > _LONG:
                repeatable, why_once = False, f"it takes {seconds:.3g} s, and to measure it takes dozens of calls"

        def judged() -> Point:
            return self._surest(call, work, seconds) if repeatable else self._judged(seconds, work, operation)

        point = judged()
        if not work.known and work.bytes_read + work.bytes_written > _CACHE_OVER_MEMORY * self.peak_bandwidth * (point.seconds() or seconds):
            work.bytes_read = work.bytes_written = 0  # it does not go through all of its arguments and results
            point = judged()
        if point.failure:
            raise OperationFailed(f"The operation ran once, and failed when it was called again, for its time (repeatable=False does not): {point.failure}")
        return result, self._profile(point, work, "" if repeatable else why_once)

    def _refuse_tensors_of_others(self, arguments: Any) -> None:
        """Where all tensors lie elsewhere, this device has nothing to do; for a mixture the operation speaks for itself."""
        refuse_a_fork()
        places = {str(each.device) for each in _arrays(arguments) if hasattr(each, "device") and hasattr(each, "data_ptr")}
        if places and all(place.split(":")[0] != self.device.split(":")[0] for place in places):
            where = "the CPU" if places == {"cpu"} else ", ".join(sorted(places))
            known = next((place for place in sorted(places) if place.split(":")[0] in ("cpu", "cuda")), None)
            raise WrongDevice(f"The tensors are on {where}, and this profiler is for {self.device}. Move them there"
                              + (f", or make a GPUProfiler({known!r})." if known else "."))

    def _on_gpu(self) -> bool:
        return self.device != "cpu"

    def _timed(self, call: Callable[[], Any]) -> tuple[Any, Callable[[], float]]:
        """The result of a call, and what gives its seconds when it is asked."""
        if not self._on_gpu():
            start = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - start
            return result, lambda: seconds
        torch = sys.modules.get("torch")
        if torch is not None:  # sooner than a timer of its own for each call
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            result = call()
            end.record()

            def elapsed() -> float:
                end.synchronize()
                return float(begin.elapsed_time(end)) * 1e-3

            return result, elapsed
        timer = _core.profile.KernelTimer()
        timer.start("call", current_stream())
        result = call()
        timer.stop("call")
        return result, lambda: float((timer.get_timing("call") or {})["total"]) * 1e-3

    def _lightly(self, call: Callable[[], Any]) -> tuple[Any, Mapping[str, Any]]:
        result, seconds = self._timed(call)
        return result, _Lightweight(seconds, self._launch)

    def _once(self, call: Callable[[], Any], arguments: Any) -> tuple[float, Any, Work]:
        """One call: its time, its result and its work."""
        if hasattr(sys.modules.get("torch"), "Tensor"):
            prepare()
            (result, work), seconds = self._timed(lambda: watch(call))
            if work.known:
                return seconds(), result, work
        else:
            result, seconds = self._timed(call)
            work = Work()
        given, named = arguments
        read = _arrays((given, {key: value for key, value in named.items() if key != "out"}))
        work.bytes_read = sum(map(bytes_of, distinct(read)))
        work.bytes_written = sum(map(bytes_of, _arrays(result)))
        return seconds(), result, work

    def _empty_call_of(self, work: Work, arguments: Any) -> Callable[[], Any]:
        """What calls as much and does nothing: of PyTorch an addition of no elements for each operator."""
        if self._on_gpu():  # of which the launch is the overhead
            return empty_call_of(())
        if not work.known:
            return empty_call_of(_arrays(arguments))
        torch: Any = sys.modules["torch"]
        none = torch.empty(0, device="cpu")

        def empty_calls() -> None:
            for _ in work.operators:
                torch.add(none, none)

        return empty_calls

    def _surest(self, call: Callable[[], Any], work: Work, seconds: float) -> Point:
        """By samples as few as the time needs to be known, where calls are short: more would not make the verdict surer, counters may.
        `seconds`: of one call."""
        if self._metrics not in ("auto", None):
            return self._measured(call, work, self._metrics, False)
        point = self._measured(call, work, None, seconds < _SHORT)
        sure = (point.confidence or 0.0) >= _SURE and (work.knows_flops or point.regime not in _LEFT_OVER)
        if not self._on_gpu() or self._metrics is None or point.failure or sure:
            return point
        first = self.last_run
        counted = self._measured(call, work, "core,units", False)
        if not counted.failure and any(name.endswith("_busy") for name in counted.counters):
            return counted
        self._metrics = None  # they cannot be read here
        self.last_run = first
        return point

    def _measured(self, call: Callable[[], Any], work: Work, metrics: str | None, brief: bool) -> Point:
        def operation(state: Any) -> None:
            work.declare(state)
            state.empty_call = self._empty_call
            state.measure(call)

        torch: Any = sys.modules.get("torch")
        with torch.random.fork_rng(devices=[torch.device(self.device).index or 0] if self._on_gpu() else []) if work.draws_random else nullcontext():
            measured = run(Benchmark(operation, "operation", {}, None), device=self.device, time_budget=self._time_budget, brief=brief,
                           drift_check=False, progress=False, metrics=metrics, check=self._check, cache=self._cache)
        self.last_run = measured
        point: Point = measured[0]
        return point

    def _judged(self, seconds: float, work: Work, operation: Callable[..., Any]) -> Point:
        """One call, judged by the engine as far as one time goes."""
        how = "one call" + (", watched while it ran: the host took longer for it than else" if work.known else "")
        declared: dict[str, Any] = {"bytes_read": float(work.bytes_read), "bytes_written": float(work.bytes_written),
                                    "flops": {pipe: float(count) for pipe, count in work.flops.items()}}
        if work.footprint:
            declared["footprint_bytes"] = float(work.footprint)
        self.last_run = self.calibration.judged(getattr(operation, "__name__", "operation"), [seconds], declared, how)
        return self.last_run[0]

    def _lacking(self, work: Work) -> list[str]:
        """What a quick calibration leaves out of this work."""
        known = self.calibration.ceilings
        lacking = [pipe for pipe in work.flops if pipe not in known]
        if self._on_gpu() and (work.random_reads or work.random_updates) and "dram-random-read" not in known:
            lacking.append("accesses at random places")
        if not lacking or self.calibration.data.get("mode") != "quick":
            return []
        return [f"measure the ceilings of {', '.join(lacking)}, which a quick calibration leaves out, once: "
                f"gpubench.calibrate({self.device!r}, mode='full')"]

    def _profile(self, point: Point, work: Work, why_once: str) -> dict[str, Any]:
        main = "call" if point.seconds("call") else None
        seconds, device_seconds, graph_seconds = point.seconds(main) or 0.0, point.seconds("device"), point.seconds("graph")
        moved = work.bytes_read + work.bytes_written
        flops = sum(work.flops.values())
        peaks = self.peak_flops
        busy = sum(count / peaks[pipe] for pipe, count in work.flops.items() if pipe in peaks)
        bandwidth = moved / seconds if seconds and moved else None
        # What was not counted may be what it does all the time.
        decided = work.knows_flops or point.regime not in _LEFT_OVER or bool(point.counters)
        at_limit = point.achieved if point.regime == "memory" else None
        return {
            "runtime_ms": seconds * 1e3,
            "runtime_ms_interval": tuple(each * 1e3 for each in point.interval(main) or ()),
            "device_ms": None if device_seconds is None else device_seconds * 1e3,
            "graph_ms": None if graph_seconds is None else graph_seconds * 1e3,
            "regime": REGIMES[point.regime] if decided else "UNDECIDED",
            "limiter": point.limiter if decided else "",
            "confidence": point.confidence if decided and not why_once else None,  # one time says little of how sure it is
            "flops_utilization": busy / seconds if seconds and work.knows_flops and peaks.keys() >= work.flops.keys() else None,
            "bandwidth_utilization": at_limit if at_limit is not None else bandwidth / self.peak_bandwidth if bandwidth else None,
            "achieved_flops": flops / seconds if seconds and work.knows_flops else None,
            "achieved_bandwidth": bandwidth,
            "compute_intensity": flops / moved if moved and work.knows_flops else None,
            "peak_flops": peaks,
            "peak_bandwidth": self.peak_bandwidth,
            "evidence": point.evidence + ("" if decided else f"; {f'the FLOP of {work.untold}' if work.untold else 'its FLOP'} are not known, and may be what limits it"),
            "advice": [*(each["action"] for each in point.advice), *self._lacking(work)] if decided and (moved or flops) else [_DECLARE],
            "operators": list(work.operators),
            "method": point.method(main),
            "called_once_because": why_once,
            "lightweight": False,
        }


def create_performance_plots(file: str | os.PathLike[str] = "gpu_performance_analysis.png", device: str | None = None,
                             time_budget: float = 0.02) -> Run:
    """Measures built-in operations over sizes, and draws what limits them at each: a .png, .svg or .pdf, and beside it a
    page (.html) of the same run with its times and rates. Where nothing can draw, the page alone."""
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "run.json")
        program("--filter=^(cos|copy|softmax|gemm_(bf16|fp32))/", f"--time-budget={time_budget}", "--drift-check=off", "--quiet",
                f"--out={kept}", *([f"--device={device}"] if device else []))
        measured = Run.load(kept)
    name = os.fspath(file)
    page = os.path.splitext(name)[0] + ".html"
    measured.report(page)
    print(f"wrote {page}")
    try:
        measured.report(name, "overview")
    except _core.ChartError as error:
        print(f"There is no {name}: {error}")
    else:
        print(f"wrote {name}")
    return measured


def main(words: list[str] | None = None) -> int:
    """The command gpu-profile."""
    parser = Parser("gpu-profile", description="Says what limits operations of PyTorch on this device.")
    parser.add_argument("--visualize", action="store_true", help="draw gpu_performance_analysis.png")
    parser.add_argument("--profile", choices=("cos", "matmul"), help="profile one operation")
    parser.add_argument("--size", type=int, default=1_000_000, help="elements (default: 1000000)")
    parser.add_argument("--device", help="cuda:0, cpu (default: the first GPU, else the CPU)")
    try:
        chosen = parser.parse_args(words)
        if not chosen.visualize and not chosen.profile:
            parser.print_help()
            return 64
        if chosen.size < 1:
            parser.error("--size takes a positive number")
        if chosen.profile:
            _show(chosen.profile, chosen.size, chosen.device)
        if chosen.visualize:
            create_performance_plots(device=chosen.device)
    except ImportError:
        print("gpu-profile needs PyTorch: pip install torch", file=sys.stderr)
        return 2
    except _core.Error as error:
        print(f"gpu-profile: {error}", file=sys.stderr)
        return 64 if isinstance(error, _core.UsageError) else 2
    return 0


def _show(name: str, size: int, device: str | None) -> None:
    import torch
    profiler = GPUProfiler(device)
    side = max(1, int(size**0.5))
    x = torch.randn(size if name == "cos" else (side, side), device=profiler.device)
    profile = profiler.profile_operation(*((torch.cos, x) if name == "cos" else (torch.matmul, x, x)))
    print(f"Runtime: {profile['runtime_ms']:.4f} ms\nRegime: {profile['regime']}\n"
          f"FLOPS utilization: {profile['flops_utilization'] * 100:.1f} %\n"
          f"Bandwidth utilization: {profile['bandwidth_utilization'] * 100:.1f} %\n{profile['evidence']}")


if __name__ == "__main__":
    sys.exit(main())
