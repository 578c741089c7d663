# SPDX-License-Identifier: Apache-2.0
"""Timelines of programs: read from traces, shown and written."""
from __future__ import annotations

import functools
import os
from typing import Any, Mapping, cast

from . import _core
from .runs import PathLike, Run, _console_options, _page


def _in_us(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same with what is in seconds in microseconds."""
    return {key[:-7] + "us" if key.endswith("_seconds") else key: round(value * 1e6, 6) if key.endswith("_seconds") and value is not None else value
            for key, value in row.items()}


class FlameData(dict[str, Any]):
    """Time by stack as nested dictionaries, which knows its page and its folded stacks."""

    def __init__(self, graph: _core.FlameGraph, weight: str = ""):
        frames: list[dict[str, Any]] = []
        for row in cast("list[dict[str, Any]]", graph.table(weight)):
            frames.append({"name": row["name"], "value": row["total_seconds"] * 1e6, "self": row["self_seconds"] * 1e6,
                           "count": row["count"], "kind": row["kind"], "children": []})
            if row["parent"] is not None:
                frames[row["parent"]]["children"].append(frames[-1])
        super().__init__(frames[0])
        self._graph = graph
        self._weight = weight

    def html(self) -> str:
        """As one page, which needs no network."""
        return self._graph.html(self._weight)

    def folded(self) -> str:
        """As folded stacks, in nanoseconds."""
        return self._graph.folded(self._weight)


class Timeline:
    """A trace of a program: of torch.profiler, Chrome's JSON, Perfetto, Nsight Systems (SQLite) or a kept recording, packed or
    not. Several files, and folders of them, are the ranks of one program."""

    def __init__(self, *files: PathLike):
        if not files or not all(isinstance(each, (str, os.PathLike)) for each in files):
            raise TypeError("Timeline() takes a trace, or several of one program, one a rank; Timeline(*files) takes a list")
        self.file = ", ".join(os.fspath(each) for each in files)
        self._core = _core.Timeline.read([os.fspath(each) for each in files])
        self._tables: dict[tuple[str, str], Any] = {}

    @property
    def program(self) -> Mapping[str, Any]:
        """Where time and memory went: GPUs, gaps, kernels, ranges, findings (docs/reference/json-schema.md)."""
        return cast("Mapping[str, Any]", self.run.data["program"])

    @functools.cached_property
    def run(self) -> Run:
        """The same as a run, with its page and its tables."""
        return Run(self._core.analyze())

    @property
    def findings(self) -> list[str]:
        """What is, why, and what to do, by falling gain."""
        return [str(each["text"]) for each in self.table("summary")]

    @property
    def warnings(self) -> list[str]:
        """What is missing or was left out."""
        return list(self._core.warnings)

    @property
    def activity(self) -> dict[str, float]:
        """Microseconds: total_us, and unions of the time in which the host (host_us), a GPU (gpu_us) or both worked."""
        return _in_us(self.tables("summary")[""][0])

    @property
    def breakdown(self) -> list[dict[str, Any]]:
        """Of each GPU span, busy, idle, compute, communication and memory time, in microseconds."""
        return [_in_us(row) for row in self.tables("summary")["gpus"]]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """Kernels, copies and fills by name, by falling time, in microseconds."""
        return [{**_in_us(row), "time_us": round(row["total_seconds"] * 1e6, 6)} for row in self.table("kernels")]

    def tables(self, analysis: str, by: str = "") -> dict[str, list[dict[str, Any]]]:
        """All that an analysis says: the rows of each table, as `gpubench trace ... --json` has them
        (docs/reference/trace-json.md). The facts that stand beside the tables are the row of ""."""
        key = (analysis, by)
        if key not in self._tables:
            self._tables[key] = self._core.tables(analysis, by)
        return cast("dict[str, list[dict[str, Any]]]", self._tables[key])

    def table(self, analysis: str, by: str = "") -> list[dict[str, Any]]:
        """The rows of the first table of an analysis."""
        return next(iter(self.tables(analysis, by).values()))

    @staticmethod
    def analyses() -> dict[str, str]:
        """The analyses that `table` takes, and what each lists."""
        return cast("dict[str, str]", _core.Timeline.analyses())

    def flame(self, min_duration_us: float = 0.0, max_depth: int = 512, group_small_kernels: bool = True,
              weight: str = "") -> FlameData:
        """Time by stack: nested {"name", "value", "self", "count", "kind", "children"}, in microseconds. weight: "gpu" (the
        default where a GPU worked) or "host"."""
        return FlameData(self._core.flame(min_duration_us, max_depth, group_small_kernels), weight)

    def folded(self, weight: str = "") -> str:
        """The same as folded stacks, in nanoseconds."""
        return self._core.flame().folded(weight)

    def write(self, file: PathLike) -> None:
        """Writes it for a viewer: .perfetto-trace, or Chrome's .json."""
        name = os.fspath(file)
        if not name.endswith((".perfetto-trace", ".json")):
            raise _core.WriteError(f"{name}: cannot be written: a timeline is written as .perfetto-trace or .json")
        self._core.write(name)

    def html(self) -> str:
        """The timeline as one page, which needs no network."""
        return self._core.html(os.path.basename(self.file))

    def __str__(self) -> str:
        return self._core.console(**_console_options())

    def __repr__(self) -> str:
        return f"<gpubench.Timeline of {self.file}: {len(self._core)} slices>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": self._core.console(color=False, width=120), "text/html": _page(self.html())}
