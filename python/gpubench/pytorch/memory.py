# SPDX-License-Identifier: Apache-2.0
"""GPU memory over time."""
from __future__ import annotations

import dataclasses
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from .. import _core
from .._frameworks import resident_bytes
from ..runs import PathLike
from ._common import MB, pytorch, synchronize, write


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
