# SPDX-License-Identifier: Apache-2.0
"""Blocks and functions profiled as a whole."""
from __future__ import annotations

import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

from .. import _core
from ..runs import PathLike
from ..timelines import Timeline
from ._common import MB, NOT_KNOWN, as_json, pytorch, speedup_of, synchronize, times_of, trace_file


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
        if torch.autograd._profiler_enabled():
            raise _core.UsageError("PyTorch's profiler is at work, and ends the program where a second one is begun: end the first.")
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
