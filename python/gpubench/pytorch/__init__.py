# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs: profiled as a whole, their memory, flame graphs, timelines, and what torch.compile makes of them.

    from gpubench.torch import UnifiedProfiler

    profiler = UnifiedProfiler(output_dir="./profiles")
    with profiler.profile("step") as session:
        loss = model(batch).sum()
        loss.backward()
    print(session.cuda_time_ms, session.bottlenecks)

Needs PyTorch where something runs; traces alone (FlameGraphGenerator, TimelineGenerator, HTAAnalyzer) do not.
"""
from __future__ import annotations

import dataclasses
import json
import math
import os
import statistics
import tempfile
import threading
import time
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from .. import _core
from .._frameworks import resident_bytes
from ..runs import PathLike, Run
from ..timelines import FlameData, Timeline

__all__ = ["CompileBreak", "CompileReport", "FlameGraphGenerator", "HTAAnalyzer", "HTAReport", "KernelInfo",
           "MemoryProfiler", "MemorySnapshot", "ProfileSession", "TimelineData", "TimelineGenerator",
           "TorchCompileAnalyzer", "UnifiedProfiler"]

MB = 1e6


class _NotKnown(float):
    """Not a number. In a text it says so in words, where scripts would print "nan"."""

    def __format__(self, form: str) -> str:
        return "not known"


NOT_KNOWN = _NotKnown("nan")


def pytorch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("this needs PyTorch: pip install torch, or gpubench[torch]") from error
    return torch


def synchronize(torch: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def as_json(thing: Any) -> Any:
    """What a dataclass holds, for a file."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {each.name: as_json(getattr(thing, each.name)) for each in dataclasses.fields(thing) if each.compare}
    if isinstance(thing, (list, tuple)):
        return [as_json(each) for each in thing]
    if isinstance(thing, Mapping):
        return {str(key): as_json(value) for key, value in thing.items()}
    if isinstance(thing, Path):
        return str(thing)
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing


def write(file: PathLike, text: str) -> Path:
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _core.WriteError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def times_of(call: Callable[[], Any], iterations: int, torch: Any) -> list[float]:
    """Seconds of each call, by CUDA events where there is a GPU, else by the host's clock."""
    if not torch.cuda.is_available():
        samples = []
        for _ in range(iterations):
            start = time.perf_counter()
            call()
            samples.append(time.perf_counter() - start)
        return samples
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(iterations)]
    torch.cuda.synchronize()
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1e-3 for begin, end in events]


def speedup_of(base: Sequence[float], new: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """How many times faster the second is, by the medians, with its 95 % interval; None below six samples a side."""
    known = _core.ratio_of_medians(base, new)
    if known is None:
        return statistics.median(base) / statistics.median(new), None
    return known[0], (known[1], known[2])


@contextmanager
def trace_file(source: Any) -> Iterator[str]:
    """A trace as a file: the one named, or that of a torch.profiler.profile that has stopped."""
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source)
        return
    if not hasattr(source, "export_chrome_trace"):
        raise TypeError(f"this takes a torch.profiler.profile or a trace file, not a {type(source).__name__}")
    if source not in _exported:  # PyTorch exports each only once
        folder = tempfile.TemporaryDirectory()
        file = os.path.join(folder.name, "trace.json")
        try:
            source.export_chrome_trace(file)
        except RuntimeError as error:
            folder.cleanup()
            raise _core.UsageError(f"The trace of this profiler cannot be had: {error} Give the file that was exported, or a "
                                   "profiler that has stopped and was not exported yet.") from error
        _exported[source] = folder
    yield os.path.join(_exported[source].name, "trace.json")


_exported: weakref.WeakKeyDictionary[Any, tempfile.TemporaryDirectory[str]] = weakref.WeakKeyDictionary()


def text_page(report: Any, title: str) -> str:
    """A report's fields as one page."""
    return _core.text_html(title, json.dumps(as_json(report), indent=2, ensure_ascii=False))


def export_report(report: Any, path: Path, kind: str | None, page: Callable[[], str]) -> Path:
    """Writes a report as JSON, or as the page that is given."""
    kind = kind or path.suffix.lstrip(".") or "html"
    if kind not in ("json", "html"):
        raise _core.UsageError(f"A report is written as html or json, not as {kind}.")
    return write(path, json.dumps(as_json(report)) if kind == "json" else page())


@dataclass
class KernelInfo:
    """A kernel, copy or fill by its name, all launches together."""

    name: str
    cuda_time_us: float
    count: int = 0
    share: float = 0.0  #: of all GPU time


@dataclass
class ProfileSession:
    """What profiling a block or a function found. What could not be measured is not a number, and `notes` says why."""

    name: str = ""
    total_time_ms: float = 0.0  #: wall time of the block; of a function the median of one call, not profiled
    cuda_time_ms: float = NOT_KNOWN  #: in which some GPU worked: a union, so that nothing counts twice
    cpu_time_ms: float = NOT_KNOWN  #: in which some thread was in an operator or in a call of CUDA that is no wait
    peak_memory_mb: float = NOT_KNOWN
    allocated_memory_mb: float = NOT_KNOWN
    reserved_memory_mb: float = NOT_KNOWN
    kernels: list[KernelInfo] = field(default_factory=list)
    bottlenecks: list[str] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    trace_path: Path | None = None
    flame_graph_data: dict[str, Any] | None = field(default=None, repr=False)
    samples_ms: list[float] = field(default_factory=list)  #: of a function: each call
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(as_json(self))


class UnifiedProfiler:
    """Profiles blocks and functions with torch.profiler, and has the engine say where the time went."""

    def __init__(self, output_dir: PathLike = "./profiles", enable_trace: bool = True, enable_memory: bool = True,
                 enable_flame_graph: bool = True):
        self.output_dir = Path(output_dir)
        self.enable_trace = enable_trace
        self.enable_memory = enable_memory
        self.enable_flame_graph = enable_flame_graph

    @contextmanager
    def profile(self, name: str = "profile") -> Iterator[ProfileSession]:
        """Profiles what runs inside `with`; the session is filled at its end."""
        torch = pytorch()
        session = ProfileSession(name=name)
        on_gpu = torch.cuda.is_available()
        if on_gpu and self.enable_memory:
            torch.cuda.reset_peak_memory_stats()
        activities = [torch.profiler.ProfilerActivity.CPU]
        if on_gpu:
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        synchronize(torch)
        profiler = torch.profiler.profile(activities=activities)
        profiler.start()
        start = time.perf_counter()
        try:
            yield session
        finally:
            synchronize(torch)
            session.total_time_ms = (time.perf_counter() - start) * 1e3
            profiler.stop()
            if self.enable_memory:
                self._memory(session, torch)
            if self.enable_trace:
                self.output_dir.mkdir(parents=True, exist_ok=True)
                session.trace_path = self.output_dir / f"{_file_name(session.name)}.trace.json"
                profiler.export_chrome_trace(str(session.trace_path))
            with trace_file(session.trace_path or profiler) as file:
                self._times(session, Timeline(file), torch)

    def _memory(self, session: ProfileSession, torch: Any) -> None:
        if not torch.cuda.is_available():
            session.notes.append("No GPU memory is known: PyTorch has no GPU here.")
            return
        session.peak_memory_mb = torch.cuda.max_memory_allocated() / MB
        session.allocated_memory_mb = torch.cuda.memory_allocated() / MB
        session.reserved_memory_mb = torch.cuda.memory_reserved() / MB

    def _times(self, session: ProfileSession, timeline: Timeline, torch: Any) -> None:
        activity = timeline.activity
        session.cpu_time_ms = activity["host_us"] / 1e3
        if torch.cuda.is_available():
            session.cuda_time_ms = activity["gpu_us"] / 1e3
        else:
            session.notes.append("No GPU time is known: PyTorch has no GPU here.")
        kernels = timeline.kernels
        whole = sum(each["time_us"] for each in kernels)
        session.kernels = [KernelInfo(each["name"], each["time_us"], each["count"], each["time_us"] / whole if whole else 0.0)
                           for each in kernels]
        session.bottlenecks = [str(each["evidence"]) for each in timeline.program.get("findings", ())]
        session.recommendations = [str(each["advice"]) for each in timeline.program.get("findings", ())]
        session.notes += timeline.warnings
        if self.enable_flame_graph:
            session.flame_graph_data = timeline.flame()

    def profile_function(self, function: Callable[..., Any], *arguments: Any, name: str | None = None, warmup: int = 3,
                         iterations: int = 10, **keywords: Any) -> ProfileSession:
        """Calls a function `warmup` times, then `iterations` times for its time without a profiler, then once with it.
        Times and kernels are of one call."""
        if iterations < 1 or warmup < 0:
            raise ValueError(f"profile_function takes iterations of 1 or more and a warm-up of 0 or more, not {iterations} "
                             f"and {warmup}")
        torch = pytorch()
        for _ in range(warmup):
            function(*arguments, **keywords)
        samples = times_of(lambda: function(*arguments, **keywords), iterations, torch)
        with self.profile(str(name or getattr(function, "__name__", type(function).__name__))) as session:
            function(*arguments, **keywords)
        session.samples_ms = [each * 1e3 for each in samples]
        session.total_time_ms = statistics.median(session.samples_ms)
        return session

    def compare_sessions(self, baseline: ProfileSession, optimized: ProfileSession) -> dict[str, Any]:
        """How many times faster the second is (`speedup`), its 95 % interval where both were timed several times, what
        memory it saves, and by how much each kernel's time changed."""
        if optimized.total_time_ms <= 0.0 or baseline.total_time_ms <= 0.0:
            raise ValueError("compare_sessions needs two sessions that have ended")
        before = {each.name: each.cuda_time_us for each in baseline.kernels}
        after = {each.name: each.cuda_time_us for each in optimized.kernels}
        speedup, interval = speedup_of(baseline.samples_ms or [baseline.total_time_ms], optimized.samples_ms or [optimized.total_time_ms])
        return {
            "speedup": speedup,
            "speedup_ci95": interval,
            "certain": interval is not None and not interval[0] <= 1.0 <= interval[1],
            "memory_diff": {"peak_mb": baseline.peak_memory_mb - optimized.peak_memory_mb,
                            "allocated_mb": baseline.allocated_memory_mb - optimized.allocated_memory_mb},
            "cuda_time_diff_ms": baseline.cuda_time_ms - optimized.cuda_time_ms,
            "kernels": sorted(({"name": name, "base_us": before.get(name, 0.0), "new_us": after.get(name, 0.0)}
                               for name in {**before, **after}), key=lambda row: -abs(row["base_us"] - row["new_us"])),
        }


def _file_name(text: str) -> str:
    return "".join(each if each.isalnum() or each in "-_." else "_" for each in text) or "profile"


@dataclass
class MemorySnapshot:
    """Memory at a moment, in MB of 10^6 bytes."""

    time_ms: float
    allocated_mb: float
    reserved_mb: float


class MemoryProfiler:
    """GPU memory over time: exact, from the history that PyTorch's allocator keeps; where it keeps none, sampled by a
    thread. Without a GPU the memory of the process is sampled."""

    def __init__(self, sample_interval_ms: float = 1.0, record_history: bool = True, max_entries: int = 1_000_000):
        if not sample_interval_ms > 0.0:
            raise ValueError(f"sample_interval_ms is above 0, not {sample_interval_ms}")
        self._interval = sample_interval_ms * 1e-3
        self._record_history = record_history
        self._max_entries = max_entries
        self._points: list[MemorySnapshot] = []
        self.source = ""  #: who said it: "allocator history", "samples" or "samples of the process"
        self.name = ""

    @contextmanager
    def track(self, name: str = "memory") -> Iterator[MemoryProfiler]:
        """Tracks while `with` lasts; what was known before is forgotten."""
        torch = pytorch()
        self.name = name
        self._points = []
        on_gpu = torch.cuda.is_available()
        history = on_gpu and self._record_history and hasattr(torch.cuda.memory, "_record_memory_history")
        self.source = "allocator history" if history else "samples" if on_gpu else "samples of the process"
        synchronize(torch)
        with (self._history(torch) if history else self._samples(torch, on_gpu)):
            try:
                yield self
            finally:
                synchronize(torch)

    @contextmanager
    def _history(self, torch: Any) -> Iterator[None]:
        start_allocated = torch.cuda.memory_allocated()
        start_reserved = torch.cuda.memory_reserved()
        torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=self._max_entries)
        start = time.time_ns()
        try:
            yield
        finally:
            end = time.time_ns()
            traces = torch.cuda.memory._snapshot()["device_traces"]
            torch.cuda.memory._record_memory_history(enabled=None)
            self._from_history(traces[torch.cuda.current_device()], start, end, start_allocated, start_reserved)

    def _from_history(self, events: Sequence[Mapping[str, Any]], start_ns: int, end_ns: int, allocated: int,
                      reserved: int) -> None:
        kinds = {"alloc": (1, 0), "free_completed": (-1, 0), "segment_alloc": (0, 1), "segment_free": (0, -1),
                 "segment_map": (0, 1), "segment_unmap": (0, -1)}
        self._points.append(MemorySnapshot(0.0, allocated / MB, reserved / MB))
        for event in events:
            sign = kinds.get(event["action"])
            if sign is None or event["time_us"] * 1000 < start_ns - 1_000_000:
                continue
            allocated += sign[0] * event["size"]
            reserved += sign[1] * event["size"]
            at = max(0.0, (event["time_us"] * 1000 - start_ns) / 1e6)
            self._points.append(MemorySnapshot(at, allocated / MB, reserved / MB))
        self._points.append(MemorySnapshot(max(self._points[-1].time_ms, (end_ns - start_ns) / 1e6), allocated / MB,
                                           reserved / MB))

    @contextmanager
    def _samples(self, torch: Any, on_gpu: bool) -> Iterator[None]:
        start = time.perf_counter()
        over = threading.Event()

        def sample() -> None:
            allocated = torch.cuda.memory_allocated() if on_gpu else resident_bytes()
            reserved = torch.cuda.memory_reserved() if on_gpu else allocated
            self._points.append(MemorySnapshot((time.perf_counter() - start) * 1e3, allocated / MB, reserved / MB))

        def work() -> None:
            while not over.wait(self._interval):
                sample()

        sample()
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            sample()

    def get_timeline(self) -> list[dict[str, float]]:
        """time_ms, allocated_mb and reserved_mb, by time."""
        return [dataclasses.asdict(each) for each in self._points]

    def get_peak_analysis(self) -> dict[str, Any]:
        """The most that was allocated and when, and what stayed at the end."""
        if not self._points:
            raise _core.UsageError("Nothing was tracked yet. Use: with profiler.track(): ...")
        peak = max(self._points, key=lambda each: each.allocated_mb)
        return {
            "peak_allocated_mb": peak.allocated_mb,
            "peak_time_ms": peak.time_ms,
            "peak_reserved_mb": max(each.reserved_mb for each in self._points),
            "start_allocated_mb": self._points[0].allocated_mb,
            "end_allocated_mb": self._points[-1].allocated_mb,
            "grown_mb": self._points[-1].allocated_mb - self._points[0].allocated_mb,
            "source": self.source,
        }

    def export(self, file: PathLike) -> Path:
        """Writes timeline and peak as JSON."""
        return write(file, json.dumps({"name": self.name, "source": self.source, "timeline": self.get_timeline(),
                                        "peak": self.get_peak_analysis()}))


class FlameGraphGenerator:
    """Flame graphs: time by stack, where a kernel lies below what launched it."""

    def __init__(self, min_duration_us: float = 0.0, max_depth: int = 512, group_small_kernels: bool = True):
        self.min_duration_us = min_duration_us
        self.max_depth = max_depth
        self.group_small_kernels = group_small_kernels

    def from_chrome_trace(self, trace: Any, weight: str = "") -> FlameData:
        """Of a trace file, or a torch.profiler.profile that has stopped: nested {"name", "value", "self", "count", "kind", "children"},
        in microseconds. weight: "gpu" (the default where a GPU worked) or "host"."""
        with trace_file(trace) as file:
            return Timeline(file).flame(self.min_duration_us, self.max_depth, self.group_small_kernels, weight)

    from_profiler = from_chrome_trace

    def export(self, flame_data: Mapping[str, Any], file: PathLike, format: str | None = None) -> Path:  # noqa: A002
        """Writes it as "html" (one page that needs no network), "json", or "folded" stacks."""
        kind = format or Path(file).suffix.lstrip(".") or "html"
        if kind == "json":
            return write(file, json.dumps(flame_data))
        if kind not in ("html", "folded"):
            raise _core.UsageError(f"A flame graph is written as html, json or folded, not as {kind}.")
        if not isinstance(flame_data, FlameData):
            raise _core.UsageError("A flame graph is drawn from what from_chrome_trace or from_profiler returned, not from a copy.")
        return write(file, flame_data.html() if kind == "html" else flame_data.folded())


@dataclass
class TimelineData:
    """Where the time of a trace went, in microseconds; unions of intervals, so that nothing counts twice."""

    total_time_us: float
    cpu_active_time_us: float
    gpu_active_time_us: float
    overlap_time_us: float
    breakdown: list[dict[str, Any]]
    timeline: Any = None  #: gpubench.Timeline


class TimelineGenerator:
    """CPU and GPU side by side over time."""

    def __init__(self, min_duration_us: float = 0.0, include_python_events: bool = True):
        self.min_duration_us = min_duration_us
        self.include_python_events = include_python_events

    def from_chrome_trace(self, trace: Any) -> TimelineData:
        """Of a trace file, or a torch.profiler.profile that has stopped."""
        with trace_file(trace) as file:
            timeline = Timeline(file)
        activity = timeline.activity
        return TimelineData(activity["total_us"], activity["host_us"], activity["gpu_us"], activity["both_us"],
                            timeline.breakdown, timeline)

    from_profiler = from_chrome_trace

    def export_chrome_trace(self, timeline: TimelineData, file: PathLike) -> Path:
        """Writes it as Chrome's JSON, or as .perfetto-trace; without events shorter than min_duration_us, and without
        Python's frames unless they are wanted."""
        name = os.fspath(file)
        timeline.timeline.write(name)
        if not name.endswith(".perfetto-trace") and (self.min_duration_us > 0.0 or not self.include_python_events):
            data = json.loads(Path(name).read_text(encoding="utf-8"))
            data["traceEvents"] = [each for each in data["traceEvents"] if self._shows(each)]
            write(name, json.dumps(data))
        return Path(name)

    def _shows(self, event: Mapping[str, Any]) -> bool:
        if event.get("ph") != "X":
            return True
        name = str(event.get("name", ""))
        is_python = event.get("cat") == "python_function" or ".py(" in name or name.startswith("<built-in")
        return float(event.get("dur", 0.0)) >= self.min_duration_us and (self.include_python_events or not is_python)

    def generate_html_viewer(self, timeline: TimelineData, file: PathLike) -> Path:
        """Writes one page with all tracks, that needs no network."""
        with tempfile.TemporaryDirectory() as folder:
            return write(file, Timeline(self.export_chrome_trace(timeline, os.path.join(folder, "trace.json"))).html())


@dataclass
class HTAReport:
    """What the GPUs of a trace did, by the definitions of Meta's Holistic Trace Analysis."""

    gpu_idle_time_pct: float  #: of a trace without a GPU these are not a number
    compute_time_pct: float
    communication_time_pct: float
    top_kernels: list[dict[str, Any]]
    recommendations: list[str]
    bottlenecks: list[str]
    memory_time_pct: float = NOT_KNOWN
    notes: list[str] = field(default_factory=list)
    run: Run | None = field(default=None, compare=False)  #: what the engine says of it, whose page is that of the report


class HTAAnalyzer:
    """Breaks a trace down by what the GPUs did. Nothing but the engine is needed for it."""

    def __init__(self, output_dir: PathLike = "./hta_output"):
        self.output_dir = Path(output_dir)

    def analyze_trace(self, trace: Any) -> HTAReport:
        """Of a trace file, or a torch.profiler.profile that has stopped. Percentages are of the time from the first to the
        last work of each GPU, all GPUs together."""
        with trace_file(trace) as file:
            timeline = Timeline(file)
            parts = timeline.breakdown
            span = sum(each["span_us"] for each in parts)

            def percent(key: str) -> float:
                return 100.0 * sum(float(each[key]) for each in parts) / span if span else NOT_KNOWN

            findings = timeline.program.get("findings", ())
            notes = list(timeline.warnings) + ([] if span else ["No GPU worked in this trace, so there are no percentages."])
            kernels = [{"name": each["name"], "time_us": each["time_us"], "count": each["count"],
                        "mean_us": each["mean_us"], "kind": each["kind"]} for each in timeline.kernels]
            return HTAReport(percent("idle_us"), percent("compute_us"), percent("exposed_communication_us"), kernels,
                             [str(each["advice"]) for each in findings], [str(each["evidence"]) for each in findings],
                             percent("memory_us"), notes, timeline.run)

    def export_report(self, report: HTAReport, file: PathLike, format: str | None = None) -> Path:  # noqa: A002
        """Writes it as "html" or "json"; a name without a folder lies in output_dir."""
        path = Path(file)
        path = path if path.parent != Path(".") or path.is_absolute() else self.output_dir / path
        return export_report(report, path, format, report.run.html if report.run else lambda: text_page(report, "What the GPUs did"))


@dataclass
class CompileBreak:
    """A place where the graph ends."""

    reason: str
    suggestion: str
    location: str = ""  #: "model.py:12", as far as Dynamo tells


@dataclass
class CompileReport:
    """A model compiled, beside the same model as it is. What could not be found is not a number or None,
    and `notes` says why."""

    speedup: float = NOT_KNOWN
    speedup_ci95: tuple[float, float] | None = None
    compile_time_ms: float = NOT_KNOWN  #: of the first call, less one that is compiled
    eager_time_ms: float = NOT_KNOWN
    compiled_time_ms: float = NOT_KNOWN
    graph_breaks: list[CompileBreak] = field(default_factory=list)
    total_graph_breaks: int = 0
    graphs: int = 0
    fusion_ratio: float = NOT_KNOWN  #: operators of the graphs over kernels of a compiled call
    ops_before_fusion: int = 0
    ops_after_fusion: int | None = None  #: kernels of a compiled call
    kernels_before: int | None = None  #: of a call as it is
    recompilations: int | None = None
    correct: bool | None = None  #: whether both give the same result
    largest_difference: float = NOT_KNOWN
    mode: str = "default"
    backend: str = "inductor"
    recommendations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _suggestion(reason: str) -> str:
    hints = [line.strip()[5:].strip() for line in reason.splitlines() if line.strip().startswith("Hint:")]
    if hints:
        return " ".join(hints)
    return "Look at this line with TORCH_LOGS=graph_breaks, and write it with operators that can be traced."


def _location(reason: Any) -> str:
    """Of the user's frame."""
    stack = list(getattr(reason, "user_stack", None) or ())
    for frame in reversed(stack):
        if "/torch/" not in str(getattr(frame, "filename", "")):
            return f"{frame.filename}:{frame.lineno}"
    return f"{stack[-1].filename}:{stack[-1].lineno}" if stack else ""


class TorchCompileAnalyzer:
    """Compiles models, and says what came of it."""

    def __init__(self, backend: str = "inductor", mode: str = "default"):
        self.backend = backend
        self.mode = mode

    def analyze(self, model: Callable[..., Any], sample_input: Any, warmup: int = 3, iterations: int = 10) -> CompileReport:
        """`sample_input`: an argument, a tuple of arguments, or a dictionary of named ones."""
        torch = pytorch()
        if isinstance(self.backend, str) and self.backend not in torch._dynamo.list_backends(exclude_tags=()):
            raise _core.UsageError(f"torch.compile has no backend '{self.backend}' here; it has eager, {', '.join(torch._dynamo.list_backends())}.")
        arguments, keywords = _arguments(sample_input)
        report = CompileReport(mode=self.mode, backend=self.backend)
        torch._dynamo.reset()
        self._explain(torch, model, arguments, keywords, report)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

        def eager() -> Any:
            return model(*arguments, **keywords)

        mode = None if self.mode == "default" else self.mode
        compiled_model = torch.compile(model, backend=self.backend, mode=mode) if self.backend == "inductor" else torch.compile(
            model, backend=self.backend)

        def compiled() -> Any:
            return compiled_model(*arguments, **keywords)

        try:
            first = _seconds(torch, compiled)
            stats = dict(torch._dynamo.utils.counters.get("stats", {}))
            report.ops_before_fusion = int(stats.get("calls_captured", report.ops_before_fusion))
            for _ in range(max(warmup, 2)):
                compiled()
            again = statistics.median(_seconds(torch, compiled) for _ in range(3))
        except Exception as error:  # noqa: BLE001: whatever the compiler says is the finding
            report.notes.append(f"It could not be compiled: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
            report.recommendations.append("Compile with backend='eager' to see whether tracing or code generation fails.")
            return report
        report.compile_time_ms = max(0.0, first - again) * 1e3
        for _ in range(warmup):
            eager()
        base, new = times_of(eager, iterations, torch), times_of(compiled, iterations, torch)
        report.eager_time_ms, report.compiled_time_ms = statistics.median(base) * 1e3, statistics.median(new) * 1e3
        report.speedup, report.speedup_ci95 = speedup_of(base, new)
        self._compare_results(torch, eager, compiled, report)
        report.kernels_before, report.ops_after_fusion = _kernels(torch, eager), _kernels(torch, compiled)
        if report.ops_after_fusion is None:
            report.notes.append("No kernels are known without a GPU, so there is no fusion ratio.")
        elif report.ops_before_fusion and report.ops_after_fusion:
            report.fusion_ratio = report.ops_before_fusion / report.ops_after_fusion
        now = dict(torch._dynamo.utils.counters.get("stats", {}))
        if "unique_graphs" in stats and "unique_graphs" in now:
            report.recompilations = int(now["unique_graphs"]) - int(stats["unique_graphs"])
        self._recommend(report)
        return report

    def _explain(self, torch: Any, model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any],
                 report: CompileReport) -> None:
        try:
            explained = torch._dynamo.explain(model)(*arguments, **keywords)
        except Exception as error:  # noqa: BLE001
            report.notes.append(f"Dynamo could not explain it: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
            return
        report.graphs = int(explained.graph_count)
        report.total_graph_breaks = int(explained.graph_break_count)
        report.ops_before_fusion = int(explained.op_count)
        for each in explained.break_reasons:
            reason = str(each.reason).strip()
            report.graph_breaks.append(CompileBreak(reason.splitlines()[0] if reason else "not said", _suggestion(reason),
                                                    _location(each)))

    @staticmethod
    def _compare_results(torch: Any, eager: Callable[[], Any], compiled: Callable[[], Any], report: CompileReport) -> None:
        from torch.utils._pytree import tree_flatten
        pairs = zip(tree_flatten(eager())[0], tree_flatten(compiled())[0])  # without gradients it would be compiled once more
        worst, right, any_tensor = 0.0, True, False
        for one, other in pairs:
            if isinstance(one, torch.Tensor):
                any_tensor = True
                if one.shape != other.shape or one.dtype != other.dtype:
                    right = False
                    continue
                one, other = one.detach(), other.detach()
                difference = (one.double() - other.double()).abs()
                worst = max(worst, float(difference.max()) if difference.numel() else 0.0)
                tolerance = {torch.float32: 1e-3, torch.float64: 1e-7}.get(one.dtype, 2e-2)
                right = right and bool(torch.allclose(one.double(), other.double(), rtol=tolerance, atol=tolerance,
                                                      equal_nan=True))
        if any_tensor:
            report.correct, report.largest_difference = right, worst
        else:
            report.notes.append("The result holds no tensor, so that it was not compared.")

    @staticmethod
    def _recommend(report: CompileReport) -> None:
        for each in report.graph_breaks:
            if each.suggestion not in report.recommendations:
                report.recommendations.append(each.suggestion)
        if report.correct is False:
            report.recommendations.append(f"The compiled result differs by up to {report.largest_difference:.3g}: does the model "
                                          "draw random numbers, or change its input?")
        if report.recompilations:
            report.recommendations.append(f"It was compiled {report.recompilations} more time{'s' * (report.recompilations > 1)}: pad inputs to few shapes, or "
                                          "compile with dynamic=True.")
        if report.speedup < 1.05 and not report.graph_breaks:
            report.recommendations.append("Compiling gains little: profile the model to see what its time goes to; for small "
                                          "kernels try mode='reduce-overhead', for matrix products mode='max-autotune'.")

    def compare_modes(self, model: Callable[..., Any], sample_input: Any,
                      modes: Sequence[str] = ("default", "reduce-overhead", "max-autotune"), warmup: int = 3,
                      iterations: int = 10) -> dict[str, CompileReport]:
        """A report for each mode; nothing compiled for one serves another."""
        return {mode: TorchCompileAnalyzer(self.backend, mode).analyze(model, sample_input, warmup, iterations)
                for mode in modes}

    def export_report(self, report: CompileReport | Mapping[str, CompileReport], file: PathLike,
                      format: str | None = None) -> Path:  # noqa: A002
        """Writes one report, or those of compare_modes, as "html" or "json"."""
        return export_report(report, Path(file), format, lambda: text_page(report, "What torch.compile made of it"))


def _arguments(sample_input: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(sample_input, dict):
        return (), sample_input
    return (tuple(sample_input) if isinstance(sample_input, (tuple, list)) else (sample_input,)), {}


def _seconds(torch: Any, call: Callable[[], Any]) -> float:
    synchronize(torch)
    start = time.perf_counter()
    call()
    synchronize(torch)
    return time.perf_counter() - start


def _kernels(torch: Any, call: Callable[[], Any]) -> int | None:
    """Of one call; None without a GPU."""
    if not torch.cuda.is_available():
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    with trace_file(profiler) as file:
        return int(sum(each["count"] for each in Timeline(file).kernels if each["kind"] == "kernel"))
