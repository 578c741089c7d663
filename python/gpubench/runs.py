# SPDX-License-Identifier: Apache-2.0
"""Runs, calibrations and comparisons: measured, loaded, shown and written."""
from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping, Sequence, Union, cast, overload

from . import _core
from ._cli import PROGRAM

PathLike = Union[str, "os.PathLike[str]"]
Regime = Literal["overhead", "latency", "memory", "compute", "unknown", ""]  #: empty without a verdict


class WrongDevice(_core.UsageError):
    """Tensors on another device than the one that is measured, or a GPU that this process cannot use."""


class OperationFailed(_core.Error):
    """An operation that failed while it was timed."""


def _vega_lite(spec: Mapping[str, Any]) -> str:
    """The MIME type of a specification: of the version that its schema names."""
    return f"application/vnd.vegalite.{str(spec.get('$schema', 'v6')).rsplit('/', 1)[-1].split('.')[0]}+json"


def _console_options() -> dict[str, Any]:
    width = 120
    color = False
    if sys.stdout is not None and sys.stdout.isatty():
        width = os.get_terminal_size().columns
        color = not os.environ.get("NO_COLOR")
    return {"color": color, "width": width}


class Point:
    """One operation with one set of arguments on one device: its times, its work and what limits it."""

    def __init__(self, data: Mapping[str, Any]):
        self.data: Mapping[str, Any] = data  #: as in the file; docs/reference/json-schema.md
        self._measurement: Mapping[str, Any] = data["measurement"]
        self._verdict: Mapping[str, Any] = data.get("verdict") or {}

    @property
    def name(self) -> str:
        """As the table shows it: "add/n:1024"."""
        return str(self._measurement["name"])

    @property
    def operation(self) -> str:
        """Its first part: "add"."""
        return str(self._measurement["operation"])

    @property
    def device(self) -> str:
        """ "cuda:0" or "cpu"."""
        return str(self._measurement["device"])

    @property
    def arguments(self) -> dict[str, int | str]:
        """By name: {"n": 1024, "dtype": "float32"}."""
        return {each["name"]: each.get("text", each.get("value", 0)) for each in self._measurement["arguments"]}

    def timing(self, clock: str | None = None) -> Mapping[str, Any] | None:
        """All that is known of the time by a clock ("device", "stream", "latency", "host"), or of the main one."""
        for each in self._measurement.get("timings", ()):
            if clock is None or each["clock"] == clock:
                return cast("Mapping[str, Any]", each)
        return None

    def seconds(self, clock: str | None = None) -> float | None:
        """The median of one execution; None where there is none (`failure` or `why_absent` says why)."""
        summary = (self.timing(clock) or {}).get("seconds")
        return float(summary["median"]) if summary else None

    def interval(self, clock: str | None = None) -> tuple[float, float] | None:
        """The 95 % interval of that."""
        summary = (self.timing(clock) or {}).get("seconds")
        return (float(summary["median_ci95"][0]), float(summary["median_ci95"][1])) if summary else None

    def method(self, clock: str | None = None) -> str:
        """How it was timed, in words."""
        return str((self.timing(clock) or {}).get("method", ""))

    def why_absent(self, clock: str | None = None) -> str:
        """Why there is no such time; empty where there is one."""
        if self.seconds(clock) is not None:
            return ""
        timing = self.timing(clock)
        reason = timing.get("reason", "") if timing else f"the clock {clock} was not asked for"
        return str(self.failure or self.skipped or reason)

    @property
    def clock(self) -> str:
        """The one that gave the main time; empty without a time."""
        return str((self.timing() or {}).get("clock", ""))

    @property
    def work(self) -> Mapping[str, Any]:
        """As declared: bytes_read, bytes_written, footprint_bytes, flops by pipe."""
        return cast("Mapping[str, Any]", self._measurement.get("work", {}))

    @property
    def bandwidth(self) -> float | None:
        """Declared bytes per second."""
        seconds = self.seconds()
        moved = self.work.get("bytes_read", 0.0) + self.work.get("bytes_written", 0.0)
        return moved / seconds if seconds and moved else None

    @property
    def flop_rate(self) -> float | None:
        """Declared FLOP per second, of all pipes."""
        seconds = self.seconds()
        flops = sum(self.work.get("flops", {}).values())
        return flops / seconds if seconds and flops else None

    @property
    def regime(self) -> Regime:
        """ "overhead", "latency", "memory", "compute" or "unknown"; empty without a verdict."""
        return cast(Regime, self._verdict.get("regime", ""))

    @property
    def limiter(self) -> str:
        """The resource that binds: "launch", "dram", "tensor-bf16"."""
        return str(self._verdict.get("limiter", ""))

    @property
    def achieved(self) -> float | None:
        """The share of the limiter's measured ceiling: 0.93."""
        return cast("float | None", self._verdict.get("achieved"))

    @property
    def confidence(self) -> float | None:
        """The probability that `regime` is right; None where that is unknown."""
        return None if self.regime == "unknown" else cast("float | None", self._verdict.get("confidence"))

    @property
    def evidence(self) -> str:
        """What the verdict rests on, in one sentence."""
        return str(self._verdict.get("evidence", ""))

    @property
    def advice(self) -> list[Mapping[str, Any]]:
        """What could be done, by falling gain."""
        return list(self._verdict.get("advice", ()))

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the time that resources account for."""
        return {each["resource"]: each["fraction"] for each in self._verdict.get("shares", ())}

    @property
    def counters(self) -> dict[str, float]:
        """What the hardware and the operation itself counted."""
        both = [*self._measurement.get("counters", ()), *self._measurement.get("user_counters", ())]
        return {each["name"]: each["value"] for each in both}

    @property
    def failure(self) -> str:
        """Why it failed; empty where it did not."""
        return str((self._measurement.get("failure") or {}).get("message", ""))

    @property
    def skipped(self) -> str:
        """Why it was left out; empty where it was not."""
        return str(self._measurement.get("skipped") or "")

    def row(self) -> dict[str, Any]:
        """One flat row, for tables."""
        work = self.work
        row: dict[str, Any] = {"name": self.name, "operation": self.operation, "device": self.device, **self.arguments}
        interval = self.interval() or (None, None)
        row.update(seconds=self.seconds(), seconds_low=interval[0], seconds_high=interval[1], clock=self.clock)
        for timing in self._measurement.get("timings", ()):
            row[timing["clock"] + "_seconds"] = self.seconds(timing["clock"])
        row.update(bytes_read=work.get("bytes_read"), bytes_written=work.get("bytes_written"),
                   flops=sum(work.get("flops", {}).values()), bandwidth=self.bandwidth, flop_rate=self.flop_rate,
                   regime=self.regime, limiter=self.limiter, achieved=self.achieved, confidence=self.confidence,
                   evidence=self.evidence, failure=self.failure, **self.counters)
        return row

    def __repr__(self) -> str:
        seconds = self.seconds()
        if seconds is None:
            return f"<Point {self.name}: {self.why_absent()}>"
        return f"<Point {self.name} on {self.device}: {seconds:.4g} s, {self.regime or 'no verdict'}>"


def _in_a_folder(file: PathLike) -> str:
    """A file's name, if it has a folder to lie in: a misspelt one is not made."""
    folder = os.path.dirname(os.fspath(file))
    if folder and not os.path.isdir(folder):
        raise _core.WriteError(f"{os.fspath(file)} cannot be written: there is no folder {folder}. Make it first, or check its name.")
    return os.fspath(file)


class Run(Sequence[Point]):
    """What was measured in one go, with the ceilings it is judged by. A sequence of points."""

    def __init__(self, core: _core.Run):
        if not isinstance(core, _core.Run):
            raise TypeError("gpubench.run makes a Run, and Run.load(file) reads one")
        self._core = core

    @classmethod
    def load(cls, file: PathLike) -> Run:
        """Reads a run file (.json)."""
        return cls(_core.Run.read(os.fspath(file)))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Run:
        """The run that such a dictionary holds (docs/reference/json-schema.md)."""
        return cls(_core.Run.from_json(json.dumps(data)))

    def __reduce__(self) -> tuple[Callable[..., Run], tuple[dict[str, Any]]]:
        return type(self).from_dict, (self.data,)

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """All of it, as in the file."""
        return cast("dict[str, Any]", json.loads(self._core.to_json()))

    @functools.cached_property
    def _points(self) -> list[Mapping[str, Any]]:
        return cast("list[Mapping[str, Any]]", json.loads(self._core.points_to_json())["points"])

    @property
    def points(self) -> list[Point]:
        """In the order they were measured."""
        return list(map(Point, self._points))

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, index: int | str) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...
    def __getitem__(self, index: int | str | slice) -> Point | list[Point]:
        """By place, slice, or name: run["add/n:1024"]."""
        if isinstance(index, str):
            for point in self.points:
                if point.name == index:
                    return point
            import difflib
            near = difflib.get_close_matches(index, [point.name for point in self], 3, 0.0)
            raise KeyError(f"{index}; this run has {', '.join(near) or 'no points'}{', ...' if len(self) > len(near) else ''}")
        return self.points[index]

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __contains__(self, point: object) -> bool:
        """A point, or the name of one."""
        return any(each.name == getattr(point, "name", point) for each in self)

    def __bool__(self) -> bool:
        return True

    @property
    def calibrations(self) -> list[Calibration]:
        """The ceilings, at most one calibration a device."""
        return [Calibration(each) for each in self.data.get("calibrations", ())]

    @property
    def boundaries(self) -> list[Mapping[str, Any]]:
        """Where operations change regime along an argument."""
        return list(self.data.get("boundaries", ()))

    @property
    def warnings(self) -> list[str]:
        """What readers must know."""
        return list(self.data.get("warnings", ()))

    @property
    def failures(self) -> dict[str, str]:
        """The points that failed, with the reasons."""
        return {point.name: point.failure for point in self if point.failure}

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each point; times in seconds, sizes in bytes."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas, or gpubench[pandas]") from error
        return pandas.DataFrame([point.row() for point in self])

    def save(self, file: PathLike) -> None:
        """Writes the run file (.json, .json.gz), which `load`, `gpubench report` and `gpubench compare` read. Its folder must be there."""
        if not os.fspath(file).endswith((".json", ".json.gz")):
            raise _core.UsageError(f"A run is saved as .json or .json.gz, not as {os.fspath(file)}. For other formats: report().")
        self._core.write(_in_a_folder(file))

    def report(self, file: PathLike, chart: str = "") -> None:
        """Writes a report; the extension decides: .html .csv .md .gbench.json .nvbench.json .prom .junit.xml, and for
        one chart .png .svg .pdf .vl.json (`chart` as `chart()` takes it)."""
        self._core.write(_in_a_folder(file), chart)

    def chart(self, name: str = "overview") -> Chart:
        """A chart as Vega-Lite: overview, roofline, map, strip, time, rate, shares, kernels, samples, ladder, latency or
        intensity; "NAME:OPERATION@DEVICE" chooses."""
        return Chart(json.loads(self._core.chart(name)))

    def html(self) -> str:
        """The page that report("x.html") writes."""
        return self._core.html()

    def table(self, kernels: bool = False, **style: Any) -> str:
        """The table of all points with their verdicts, as the command line prints it."""
        return self._core.console(kernels=kernels, **{**_console_options(), **style})

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        operations = ", ".join(dict.fromkeys(point.operation for point in self))
        return f"<gpubench.Run of {len(self)} points: {operations}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return _bundle(self.table(color=False, width=120), _page(self.html()), lambda: self.chart("roofline").spec)


def _bundle(text: str, html: str, spec: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a notebook may choose from. Where there is nothing to draw (a run without work has no roofline), the page stands alone."""
    bundle: dict[str, Any] = {"text/plain": text, "text/html": html}
    try:
        drawn = spec()
        bundle[_vega_lite(drawn)] = drawn
    except _core.ChartError:
        pass
    return bundle


def _page(html: str, height: int = 720) -> str:
    """A whole page inside a notebook's cell, with scripts and styles of its own."""
    text = html.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe srcdoc="{text}" style="width:100%;height:{height}px;border:0" sandbox="allow-scripts allow-downloads"></iframe>'


class Chart:
    """A chart as Vega-Lite's specification, its data inside."""

    def __init__(self, spec: dict[str, Any]):
        self.spec = spec

    def save(self, file: PathLike) -> None:
        """Writes the specification (.json)."""
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(self.spec, stream)

    def html(self) -> str:
        """As one page that draws it, without a network."""
        return _core.chart_html(json.dumps(self.spec))

    def svg(self) -> str:
        """As a picture. Needs vl-convert-python: ChartError says so."""
        return _core.chart_svg(json.dumps(self.spec))

    def to_altair(self) -> Any:
        """The same as an altair chart."""
        import altair
        return altair.Chart.from_dict(self.spec)

    def __repr__(self) -> str:
        title = self.spec.get("title")
        return f"<gpubench.Chart {title.get('text', title) if isinstance(title, dict) else title or ''}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = _bundle(repr(self), _page(self.html(), 560), lambda: self.spec)
        try:  # for what shows no scripts
            bundle["image/svg+xml"] = self.svg()
        except _core.ChartError:
            pass
        return bundle


class Calibration:
    """The measured ceilings of a device."""

    def __init__(self, data: Mapping[str, Any]):
        self.data: Mapping[str, Any] = {"schema": {"name": "gpubench-calibration", "version": 1}, **data}

    @classmethod
    def load(cls, file: PathLike) -> Calibration:
        """The first calibration in a calibration or run file."""
        texts = _core.calibrations_of(os.fspath(file))
        if not texts:
            raise _core.ReadError(f"{os.fspath(file)} has no calibration.")
        return cls(json.loads(texts[0]))

    @property
    def device(self) -> str:
        """ "cuda:0" or "cpu"."""
        return str(self.data["device"]["id"])

    @property
    def name(self) -> str:
        """ "NVIDIA H200"."""
        return str(self.data["device"]["name"])

    @property
    def ceilings(self) -> dict[str, float]:
        """By resource; bytes/s, FLOP/s or seconds."""
        return {each["resource"]: each["value"] for each in self.data.get("ceilings", ())}

    def __getitem__(self, resource: str) -> float:
        return self.ceilings[resource]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ceilings)

    def save(self, file: PathLike) -> None:
        """Writes it as a file for run(calibration=...) and --calibration."""
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(self.data, stream)

    def __str__(self) -> str:
        return _core.calibration_table(json.dumps(self.data), **_console_options())

    def __repr__(self) -> str:
        return f"<gpubench.Calibration of {self.device}, {self.name}: {len(self.ceilings)} ceilings>"

    def as_run(self) -> dict[str, Any]:
        """A run of its device without points, as in a file."""
        own = {key: value for key, value in self.data.items() if key != "schema"}
        return {
            "schema": {"name": "gpubench-run", "version": 2}, "devices": [own["device"]], "calibrations": [own], "points": [], "boundaries": [],
            "context": {"gpubench_version": _core.version, "created_utc": str(own.get("created_utc", "")), "host": "", "program": "",
                        "arguments": [], "environment": {}}, "warnings": []}

    def judged(self, name: str, seconds: Sequence[float], work: Mapping[str, Any], method: str) -> Run:
        """A run of one point with these times of one execution, judged by the engine as far as they go."""
        low, high = min(seconds), max(seconds)
        summary = {"count": len(seconds), "minimum": low, "lower_quartile": low, "median": statistics.median(seconds), "upper_quartile": high,
                   "maximum": high, "mean": statistics.fmean(seconds), "mad": 0.0, "median_ci95": [low, high]}
        data = self.as_run()
        data["points"] = [{"measurement": {
            "name": name, "operation": name, "arguments": [], "device": self.device, "repetition": 0, "work": work, "cache_state": "warm", "verified": False,
            "timings": [{"clock": "host" if self.device == "cpu" else "stream", "seconds": summary, "executions_per_sample": 1, "method": method,
                         "stop_reason": "count"}]}}]
        core = _core.Run.from_json(json.dumps(data))
        core.classify()
        return Run(core)

    def chart(self, name: str = "roofline") -> Chart:
        """A chart of the ceilings as Vega-Lite: roofline, ladder, latency or intensity."""
        return Run.from_dict(self.as_run()).chart(name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from html import escape
        text = _core.calibration_table(json.dumps(self.data), color=False, width=120)
        return _bundle(text, f"<pre>{escape(text)}</pre>", lambda: self.chart().spec)


class Comparison:
    """Two sides of runs, point by point."""

    def __init__(self, core: _core.Comparison):
        self._core = core
        self.data: dict[str, Any] = json.loads(core.to_json())

    @property
    def points(self) -> list[Mapping[str, Any]]:
        """One for each point of both sides: name, ratio, change, ..."""
        return list(self.data["points"])

    def exit_code(self, fail_on: str = "regression") -> int:
        """As the command line ends: 0 fine, 1 regression, 2 a point failed, 3 not comparable, 4 inconclusive."""
        return self._core.exit_code(fail_on)

    def report(self, file: PathLike) -> None:
        """Writes it as .json, .csv or .md."""
        name = os.fspath(file)
        write = {".json": self._core.to_json, ".csv": self._core.csv, ".md": self._core.markdown}.get(os.path.splitext(name)[1])
        if write is None:
            raise _core.UsageError(f"A comparison is written as .json, .csv or .md, not as {name}.")
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(write())

    def __str__(self) -> str:
        return self._core.console(**_console_options())

    def __repr__(self) -> str:
        return f"<gpubench.Comparison of {len(self.points)} points>"

    def _repr_markdown_(self) -> str:
        return self._core.markdown()


Runs = Union[Run, PathLike, Iterable[Union[Run, PathLike]]]


def _side(runs: Runs) -> list[_core.Run]:
    if isinstance(runs, Run):
        return [runs._core]
    if isinstance(runs, (str, os.PathLike)):
        return [_core.Run.read(os.fspath(runs))]
    if not isinstance(runs, Iterable):
        raise TypeError(f"compare() takes runs, files, or several of them a side, not {type(runs).__name__}")
    return [each for one in runs for each in _side(one)]


def compare(base: Runs, new: Runs, *, min_effect: float = 0.01, process_noise: float | None = None,
            force: bool = False, paired: bool = False, clock: str | None = None) -> Comparison:
    """Compares two sides, each a run, a file, or several of them (one a process, all of the same code)."""
    return Comparison(_core.compare(_side(base), _side(new), min_effect, process_noise, force, paired, clock))


def load(file: PathLike) -> Run:
    """Reads a run file."""
    return Run.load(file)


_used_by: int | None = None  #: the process that has looked for devices first


def devices() -> list[dict[str, Any]]:
    """The devices of this machine, GPUs first."""
    global _used_by
    _used_by = _used_by or os.getpid()
    return cast("list[dict[str, Any]]", json.loads(_core.devices())["devices"])


@functools.cache
def device_kinds() -> dict[str, str]:
    """The kind of each device by its id, which stay as they are as long as the process lives; to look for devices takes milliseconds."""
    return {str(each["id"]): str(each["kind"]) for each in devices()}


def refuse_a_fork() -> None:
    """Neither CUDA nor the threads of OpenMP live on in a forked process."""
    if _used_by not in (None, os.getpid()):
        raise WrongDevice(f"This process was forked from process {_used_by}, which has used gpubench. Neither CUDA nor OpenMP works in a fork: start "
                          "it by multiprocessing's method 'spawn'.")


def doctor() -> dict[str, Any]:
    """What works on this machine, what does not, and the remedy."""
    with tempfile.TemporaryDirectory() as folder:  # in a process of its own: it loads libraries that may not bear it here
        file = os.path.join(folder, "doctor.json")
        program("doctor", "--quiet", f"--out={file}", check=False)
        with open(file, encoding="utf-8") as stream:
            return cast("dict[str, Any]", json.load(stream))


def program(*words: str, check: bool = True, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the `gpubench` program of this package: program("profile", "--", "python3", "train.py")."""
    result = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    if check and result.returncode != 0:
        raise _core.Error(result.stderr.strip() or f"gpubench ended with exit code {result.returncode}.")
    return result


def _default_device() -> str:
    return str(devices()[0]["id"])


def calibration(device: str | None = None) -> Calibration | None:
    """The stored calibration of a device, where there is one that fits."""
    name = _default_device() if device is None else str(device)
    text, _ = _core.stored_calibration(name)
    return Calibration(json.loads(text)) if text is not None else None


def calibrate(device: str | None = None, mode: str = "quick", force: bool = False) -> Calibration:
    """The measured ceilings of a device: the stored ones, or measured now (a few seconds; mode="full" is longer) in a
    process of its own and stored."""
    name = _default_device() if device is None else str(device)
    stored = None if force else calibration(name)
    if stored is not None and (mode == "quick" or stored.data.get("mode") == mode):
        return stored
    # torch.set_num_threads changes those of this process.
    threads = next(str(each["units"]) for each in devices() if each["id"] == "cpu")
    program(f"--calibrate={mode}", f"--device={name}", "--quiet", "--accept-load", environment={"OMP_NUM_THREADS": threads})
    text, reason = _core.stored_calibration(name)
    if text is None:
        raise _core.Error(f"{name} was calibrated, and the result cannot be used: {reason}.")
    return Calibration(json.loads(text))
