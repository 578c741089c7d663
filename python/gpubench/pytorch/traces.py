# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler: flame graphs, timelines, and what the GPUs did. Needs no PyTorch."""
from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from .. import _core
from ..runs import PathLike, Run
from ..timelines import FlameData, Timeline
from ._common import NOT_KNOWN, export_report, text_page, trace_file, write


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
