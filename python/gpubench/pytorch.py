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
import html
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

from . import _core
from .runs import PathLike, Timeline

_MB = 1e6


def _pytorch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("this needs PyTorch: pip install torch, or gpubench[torch]") from error
    return torch


def _synchronize(torch: Any) -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _as_json(thing: Any) -> Any:
    """What a dataclass holds, for a file."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {each.name: _as_json(getattr(thing, each.name)) for each in dataclasses.fields(thing)}
    if isinstance(thing, (list, tuple)):
        return [_as_json(each) for each in thing]
    if isinstance(thing, Mapping):
        return {str(key): _as_json(value) for key, value in thing.items()}
    if isinstance(thing, Path):
        return str(thing)
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing


def _write(file: PathLike, text: str) -> Path:
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _core.WriteError(f"{path} cannot be written: {error.strerror}.") from error
    return path


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
    cuda_time_ms: float = math.nan  #: in which some GPU worked: a union, so that nothing counts twice
    cpu_time_ms: float = math.nan  #: in which some thread was in an operator or in a call of CUDA that is no wait
    peak_memory_mb: float = math.nan
    allocated_memory_mb: float = math.nan
    reserved_memory_mb: float = math.nan
    kernels: list[KernelInfo] = field(default_factory=list)
    bottlenecks: list[str] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    trace_path: Path | None = None
    flame_graph_data: dict[str, Any] | None = field(default=None, repr=False)
    samples_ms: list[float] = field(default_factory=list)  #: of a function: each call
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(_as_json(self))


def _split_finding(text: str) -> tuple[str, str]:
    """The engine's findings say what is, and then what to do."""
    parts = text.split(". ")
    return (text, text) if len(parts) < 2 else (". ".join(parts[:-1]) + ".", parts[-1])


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
        torch = _pytorch()
        session = ProfileSession(name=name)
        on_gpu = torch.cuda.is_available()
        if on_gpu and self.enable_memory:
            torch.cuda.reset_peak_memory_stats()
        activities = [torch.profiler.ProfilerActivity.CPU]
        if on_gpu:
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        _synchronize(torch)
        profiler = torch.profiler.profile(activities=activities)
        profiler.start()
        start = time.perf_counter()
        try:
            yield session
        finally:
            _synchronize(torch)
            session.total_time_ms = (time.perf_counter() - start) * 1e3
            profiler.stop()
            self._fill(session, profiler, torch)

    def _fill(self, session: ProfileSession, profiler: Any, torch: Any) -> None:
        if self.enable_memory:
            self._memory(session, torch)
        kept = self.enable_trace
        if kept:
            self.output_dir.mkdir(parents=True, exist_ok=True)
            file = self.output_dir / f"{_file_name(session.name)}.trace.json"
        else:
            handle, place = tempfile.mkstemp(suffix=".trace.json")
            os.close(handle)
            file = Path(place)
        try:
            profiler.export_chrome_trace(str(file))
            timeline = Timeline(file)
            self._times(session, timeline, torch)
        finally:
            if kept:
                session.trace_path = file
            else:
                file.unlink()

    def _memory(self, session: ProfileSession, torch: Any) -> None:
        if not torch.cuda.is_available():
            session.notes.append("No GPU memory is known: PyTorch has no GPU here.")
            return
        session.peak_memory_mb = torch.cuda.max_memory_allocated() / _MB
        session.allocated_memory_mb = torch.cuda.memory_allocated() / _MB
        session.reserved_memory_mb = torch.cuda.memory_reserved() / _MB

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
        for text in timeline.findings:
            what, remedy = _split_finding(text)
            session.bottlenecks.append(what)
            session.recommendations.append(remedy)
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
        torch = _pytorch()
        for _ in range(warmup):
            function(*arguments, **keywords)
        samples = _times_of(lambda: function(*arguments, **keywords), iterations, torch)
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
        interval = _ratio_interval(baseline.samples_ms, optimized.samples_ms)
        return {
            "speedup": baseline.total_time_ms / optimized.total_time_ms,
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


def _times_of(call: Callable[[], Any], iterations: int, torch: Any) -> list[float]:
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


def _ratio_interval(base: Sequence[float], new: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the ratio of two means of logarithms (normal); None below five samples a side."""
    if min(len(base), len(new)) < 5 or min(*base, *new) <= 0.0:
        return None
    logs = [[math.log(each) for each in side] for side in (base, new)]
    middle = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    half = 1.96 * math.sqrt(sum(statistics.variance(side) / len(side) for side in logs))
    return math.exp(middle - half), math.exp(middle + half)


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
        torch = _pytorch()
        self.name = name
        self._points = []
        on_gpu = torch.cuda.is_available()
        history = on_gpu and self._record_history and hasattr(torch.cuda.memory, "_record_memory_history")
        self.source = "allocator history" if history else "samples" if on_gpu else "samples of the process"
        _synchronize(torch)
        with (self._history(torch) if history else self._samples(torch, on_gpu)):
            try:
                yield self
            finally:
                _synchronize(torch)

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
        self._points.append(MemorySnapshot(0.0, allocated / _MB, reserved / _MB))
        for event in events:
            sign = kinds.get(event["action"])
            if sign is None or event["time_us"] * 1000 < start_ns - 1_000_000:
                continue
            allocated += sign[0] * event["size"]
            reserved += sign[1] * event["size"]
            at = max(0.0, (event["time_us"] * 1000 - start_ns) / 1e6)
            self._points.append(MemorySnapshot(at, allocated / _MB, reserved / _MB))
        self._points.append(MemorySnapshot(max(self._points[-1].time_ms, (end_ns - start_ns) / 1e6), allocated / _MB,
                                           reserved / _MB))

    @contextmanager
    def _samples(self, torch: Any, on_gpu: bool) -> Iterator[None]:
        start = time.perf_counter()
        over = threading.Event()

        def sample() -> None:
            allocated = torch.cuda.memory_allocated() if on_gpu else _resident_bytes()
            reserved = torch.cuda.memory_reserved() if on_gpu else allocated
            self._points.append(MemorySnapshot((time.perf_counter() - start) * 1e3, allocated / _MB, reserved / _MB))

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
        return _write(file, json.dumps({"name": self.name, "source": self.source, "timeline": self.get_timeline(),
                                        "peak": self.get_peak_analysis()}))


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _trace_file(source: Any) -> Iterator[str]:
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


class FlameGraphGenerator:
    """Flame graphs: time by stack, where a kernel lies below what launched it."""

    def __init__(self, min_duration_us: float = 0.0, max_depth: int = 512, group_small_kernels: bool = True):
        self.min_duration_us = min_duration_us
        self.max_depth = max_depth
        self.group_small_kernels = group_small_kernels

    def from_profiler(self, profiler: Any, weight: str = "") -> dict[str, Any]:
        """Of a torch.profiler.profile that has stopped."""
        with _trace_file(profiler) as file:
            return self.from_chrome_trace(file, weight)

    def from_chrome_trace(self, file: PathLike, weight: str = "") -> dict[str, Any]:
        """Of a trace file: nested {"name", "value", "self", "count", "kind", "children"}, in microseconds. weight: "gpu"
        (the default where a GPU worked) or "host"."""
        return Timeline(file).flame(self.min_duration_us, self.max_depth, self.group_small_kernels, weight)

    def export(self, flame_data: Mapping[str, Any], file: PathLike, format: str | None = None) -> Path:  # noqa: A002
        """Writes it as "html" (one page that needs no network), "json", or "folded" stacks."""
        kind = format or Path(file).suffix.lstrip(".") or "html"
        if kind == "json":
            return _write(file, json.dumps(flame_data))
        if kind == "folded":
            return _write(file, "".join(f"{stack} {round(value * 1000)}\n" for stack, value in _stacks(flame_data)))
        if kind == "html":
            return _write(file, _FLAME_PAGE.replace("DATA", _for_script(flame_data)))
        raise _core.UsageError(f"A flame graph is written as html, json or folded, not as {kind}.")


def _stacks(node: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    name = above + (";" if above else "") + str(node["name"]).replace(";", " ")
    if node.get("self"):
        yield name, float(node["self"])
    for child in node.get("children", ()):
        yield from _stacks(child, name)


def _for_script(data: Any) -> str:
    """JSON that may stand in a page's script."""
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


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

    def from_profiler(self, profiler: Any) -> TimelineData:
        """Of a torch.profiler.profile that has stopped."""
        with _trace_file(profiler) as file:
            return self.from_chrome_trace(file)

    def from_chrome_trace(self, file: PathLike) -> TimelineData:
        """Of a trace file."""
        timeline = Timeline(file)
        activity = timeline.activity
        return TimelineData(activity["total_us"], activity["host_us"], activity["gpu_us"], activity["both_us"],
                            timeline.breakdown, timeline)

    def export_chrome_trace(self, timeline: TimelineData, file: PathLike) -> Path:
        """Writes it as Chrome's JSON, or as .perfetto-trace; without events shorter than min_duration_us, and without
        Python's frames unless they are wanted."""
        name = os.fspath(file)
        timeline.timeline.write(name)
        if not name.endswith(".perfetto-trace") and (self.min_duration_us > 0.0 or not self.include_python_events):
            data = json.loads(Path(name).read_text(encoding="utf-8"))
            data["traceEvents"] = [each for each in data["traceEvents"] if self._shows(each)]
            _write(name, json.dumps(data))
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
            trace = self.export_chrome_trace(timeline, os.path.join(folder, "trace.json"))
            events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        names = {(each.get("pid"), each.get("tid")): each["args"]["name"] for each in events
                 if each.get("ph") == "M" and each.get("name") == "thread_name"}
        shown = sorted((each for each in events if each.get("ph") == "X"), key=lambda each: -float(each.get("dur", 0)))
        left_out = max(0, len(shown) - _MAX_SHOWN)
        rows = [[str(names.get((each["pid"], each["tid"]), each["tid"])), str(each["name"]), float(each["ts"]),
                 float(each.get("dur", 0.0))] for each in shown[:_MAX_SHOWN]]
        facts = (f"total {timeline.total_time_us / 1e3:.3f} ms, CPU {timeline.cpu_active_time_us / 1e3:.3f} ms, "
                 f"GPU {timeline.gpu_active_time_us / 1e3:.3f} ms, both {timeline.overlap_time_us / 1e3:.3f} ms"
                 + (f"; the {left_out} shortest events are left out" if left_out else ""))
        return _write(file, _TIMELINE_PAGE.replace("FACTS", html.escape(facts)).replace("DATA", _for_script(rows)))


_MAX_SHOWN = 50_000


@dataclass
class HTAReport:
    """What the GPUs of a trace did, by the definitions of Meta's Holistic Trace Analysis."""

    gpu_idle_time_pct: float  #: of a trace without a GPU these are not a number
    compute_time_pct: float
    communication_time_pct: float
    top_kernels: list[dict[str, Any]]
    recommendations: list[str]
    bottlenecks: list[str]
    memory_time_pct: float = math.nan
    notes: list[str] = field(default_factory=list)


class HTAAnalyzer:
    """Breaks a trace down by what the GPUs did. Nothing but the engine is needed for it."""

    def __init__(self, output_dir: PathLike = "./hta_output"):
        self.output_dir = Path(output_dir)

    def analyze_trace(self, trace: Any) -> HTAReport:
        """Of a trace file, or a torch.profiler.profile that has stopped. Percentages are of the time from the first to the
        last work of each GPU, all GPUs together."""
        with _trace_file(trace) as file:
            timeline = Timeline(file)
            parts = timeline.breakdown
            span = sum(each["span_us"] for each in parts)

            def percent(key: str) -> float:
                return 100.0 * sum(float(each[key]) for each in parts) / span if span else math.nan

            findings = [_split_finding(text) for text in timeline.findings]
            notes = list(timeline.warnings) + ([] if span else ["No GPU worked in this trace, so there are no percentages."])
            kernels = [{"name": each["name"], "time_us": each["time_us"], "count": each["count"],
                        "mean_us": each["mean_us"], "kind": each["kind"]} for each in timeline.kernels]
            return HTAReport(percent("idle_us"), percent("compute_us"), percent("exposed_communication_us"), kernels,
                             [remedy for _, remedy in findings], [what for what, _ in findings],
                             percent("memory_us"), notes)

    def export_report(self, report: HTAReport, file: PathLike, format: str | None = None) -> Path:  # noqa: A002
        """Writes it as "html" or "json"; a name without a folder lies in output_dir."""
        path = Path(file)
        return _export(report, path if path.parent != Path(".") or path.is_absolute() else self.output_dir / path, format,
                       "What the GPUs did")


def _export(report: Any, path: Path, kind: str | None, title: str) -> Path:
    kind = kind or path.suffix.lstrip(".") or "html"
    data = _as_json(report)
    if kind == "json":
        return _write(path, json.dumps(data))
    if kind != "html":
        raise _core.UsageError(f"A report is written as html or json, not as {kind}.")
    return _write(path, _PAGE.replace("TITLE", html.escape(title)).replace("BODY", _table(data)))


def _table(data: Any) -> str:
    if isinstance(data, Mapping):
        rows = "".join(f"<tr><th>{html.escape(str(key).replace('_', ' '))}</th><td>{_table(value)}</td></tr>"
                       for key, value in data.items())
        return f"<table>{rows}</table>"
    if isinstance(data, list):
        if data and all(isinstance(each, Mapping) for each in data):
            keys = list(data[0])
            head = "".join(f"<th>{html.escape(str(key))}</th>" for key in keys)
            body = "".join("<tr>" + "".join(f"<td>{_table(each.get(key))}</td>" for key in keys) + "</tr>"
                           for each in data[:200])
            return f"<table><tr>{head}</tr>{body}</table>"
        return "<ul>" + "".join(f"<li>{_table(each)}</li>" for each in data) + "</ul>" if data else "-"
    if isinstance(data, float):
        return f"{data:.4g}"
    return html.escape("not known" if data is None else str(data))


def __getattr__(name: str) -> Any:
    if name in ("TorchCompileAnalyzer", "CompileReport", "CompileBreak"):
        from . import _compile
        return getattr(_compile, name)
    raise AttributeError(f"module 'gpubench.torch' has no attribute '{name}'")


_STYLE = """<style>body{font:14px system-ui,sans-serif;margin:1.5em;color:#222;background:#fff}table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.2em .7em;border-bottom:1px solid #ddd}#tip{position:fixed;pointer-events:none;
background:#222;color:#fff;padding:.2em .5em;border-radius:3px;display:none}canvas{width:100%;display:block}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1e24}th,td{border-color:#444}}</style>"""
_PAGE = f"<!doctype html><meta charset=utf-8><title>TITLE</title>{_STYLE}<h1>TITLE</h1>BODY\n"
_FLAME_PAGE = f"""<!doctype html><meta charset=utf-8><title>Flame graph</title>{_STYLE}
<p>Click a frame to see it whole; click the lowest to go back.</p><canvas id=c></canvas><div id=tip></div>
<script>
const root = DATA, c = document.getElementById('c'), tip = document.getElementById('tip'), H = 18;
let shown = root, boxes = [];
const depth = n => 1 + Math.max(0, ...(n.children || []).map(depth));
function draw() {{
  const W = c.clientWidth, r = devicePixelRatio, h = depth(root) * H;
  c.width = W * r; c.height = h * r; c.style.height = h + 'px';
  const g = c.getContext('2d'); g.scale(r, r); g.font = '12px system-ui'; g.textBaseline = 'middle'; boxes = [];
  (function put(n, x, y, w) {{
    if (w < .5) return;
    let hue = 0; for (const k of n.name) hue = (hue * 31 + k.charCodeAt(0)) % 60;
    g.fillStyle = `hsl(${{n.kind === 'kernel' ? 200 + hue / 2 : hue}} 75% 65%)`; g.fillRect(x, y, w - .5, H - 1);
    if (w > 40) {{ g.save(); g.beginPath(); g.rect(x, y, w - 3, H); g.clip(); g.fillStyle = '#111';
      g.fillText(n.name, x + 3, y + H / 2); g.restore(); }}
    boxes.push([x, y, w, n]);
    for (const k of n.children || []) {{ const v = w * k.value / n.value; put(k, x, y + H, v); x += v; }}
  }})(shown, 0, 0, W);
}}
const at = e => boxes.find(([x, y, w]) => e.offsetX >= x && e.offsetX < x + w && e.offsetY >= y && e.offsetY < y + H);
c.onmousemove = e => {{ const b = at(e); tip.style.display = b ? 'block' : 'none'; if (!b) return;
  tip.textContent = `${{b[3].name}}: ${{b[3].value.toFixed(1)}} us, ${{(100 * b[3].value / root.value).toFixed(1)}} %, ${{b[3].count}} x`;
  tip.style.left = e.clientX + 12 + 'px'; tip.style.top = e.clientY + 12 + 'px'; }};
c.onclick = e => {{ const b = at(e); if (b) {{ shown = b[3] === shown ? root : b[3]; draw(); }} }};
addEventListener('resize', draw); draw();
</script>
"""
_TIMELINE_PAGE = f"""<!doctype html><meta charset=utf-8><title>Timeline</title>{_STYLE}<p>FACTS</p>
<p>Turn the wheel to zoom, drag to move.</p><canvas id=c></canvas><div id=tip></div>
<script>
const rows = DATA, c = document.getElementById('c'), tip = document.getElementById('tip'), H = 16;
const tracks = new Map(); rows.sort((a, b) => a[2] - b[2] || b[3] - a[3]);
let lines = 0; const placed = [];
for (const name of [...new Set(rows.map(r => r[0]))]) {{
  const ends = [], first = lines + 1;
  for (const r of rows) if (r[0] === name) {{
    while (ends.length && ends[ends.length - 1] <= r[2]) ends.pop();
    ends.push(r[2] + r[3]); placed.push([first + ends.length - 1, r]); lines = Math.max(lines, first + ends.length - 1);
  }}
  tracks.set(name, first - 1); lines++;
}}
const t0 = Math.min(...rows.map(r => r[2])), t1 = Math.max(...rows.map(r => r[2] + r[3]));
let from = t0, to = t1, boxes = [];
function draw() {{
  const W = c.clientWidth, r = devicePixelRatio; c.width = W * r; c.height = (lines + 1) * H * r; c.style.height = (lines + 1) * H + 'px';
  const g = c.getContext('2d'); g.scale(r, r); g.font = '11px system-ui'; g.textBaseline = 'middle'; boxes = [];
  for (const [y, [, name, s, d]] of placed) {{
    const x = (s - from) / (to - from) * W, w = Math.max(.5, d / (to - from) * W); if (x + w < 0 || x > W) continue;
    let hue = 0; for (const k of name) hue = (hue * 31 + k.charCodeAt(0)) % 360;
    g.fillStyle = `hsl(${{hue}} 60% 65%)`; g.fillRect(x, y * H, w, H - 1); boxes.push([x, y * H, w, name, s, d]);
    if (w > 40) {{ g.save(); g.beginPath(); g.rect(x, y * H, w - 2, H); g.clip(); g.fillStyle = '#111'; g.fillText(name, Math.max(x, 0) + 2, y * H + H / 2); g.restore(); }}
  }}
  g.fillStyle = getComputedStyle(document.body).color; for (const [name, y] of tracks) g.fillText(name, 2, y * H + H / 2);
}}
c.onwheel = e => {{ e.preventDefault(); const m = from + e.offsetX / c.clientWidth * (to - from), f = e.deltaY > 0 ? 1.25 : .8;
  from = Math.max(t0, m - (m - from) * f); to = Math.min(t1, m + (to - m) * f); draw(); }};
c.onmousemove = e => {{ if (e.buttons) {{ let d = -e.movementX / c.clientWidth * (to - from); d = Math.min(Math.max(d, t0 - from), t1 - to); from += d; to += d; draw(); }}
  const b = boxes.filter(b => e.offsetX >= b[0] && e.offsetX < b[0] + b[2] && e.offsetY >= b[1] && e.offsetY < b[1] + H).pop();
  tip.style.display = b ? 'block' : 'none'; if (b) {{ tip.textContent = `${{b[3]}}: ${{b[5].toFixed(2)}} us at ${{((b[4] - t0) / 1e3).toFixed(3)}} ms`;
  tip.style.left = e.clientX + 12 + 'px'; tip.style.top = e.clientY + 12 + 'px'; }} }};
addEventListener('resize', draw); draw();
</script>
"""
