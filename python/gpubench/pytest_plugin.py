# SPDX-License-Identifier: Apache-2.0
"""A fixture for pytest that times a callable, says what limits it, and holds it against a stored baseline.

    def test_softmax(gpubench):
        point = gpubench(lambda: torch.softmax(x, -1), reads=x, writes=x)
        assert point.regime == "memory"

pytest --gpubench-store=.gpubench --gpubench-update keeps the times; pytest --gpubench-store=.gpubench fails what got slower.
Each run that is kept tells how far runs differ, so that smaller changes are found.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Mapping

import pytest

if TYPE_CHECKING:
    from .runs import Point, Run


@dataclass
class _Session:
    """What the tests of a session have measured, and what came of it."""

    measured: list[Run] = field(default_factory=list)
    without_baseline: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    merged: Run | None = None  #: of all points, once the session has ended
    written: list[str] = field(default_factory=list)  #: what became of its files
    calibrations: dict[str | None, str] = field(default_factory=dict)  #: files, by device
    tests: dict[str, str] = field(default_factory=dict)  #: that have measured, by the names of their points
    folder: tempfile.TemporaryDirectory[str] | None = None  #: of those files


_SESSION = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("gpubench", "times of operations")
    group.addoption("--gpubench-store", metavar="DIR", help="hold times against the baselines in this folder")
    group.addoption("--gpubench-update", action="store_true", help="add this run's times to the store's baselines")
    group.addoption("--gpubench-fail-on", default="regression", choices=("regression", "inconclusive", "never"),
                    help="what fails a test that has a baseline (default: regression)")
    group.addoption("--gpubench-threshold", type=_share, metavar="PERCENT",
                    help="fail what takes more than this longer than its baseline, certain or not: 10%%")
    group.addoption("--gpubench-device", metavar="ID", help="cuda:N or cpu (default: the first GPU, else the CPU)")
    group.addoption("--gpubench-time-budget", type=float, metavar="SECONDS", help="maximum time to sample one point")
    group.addoption("--gpubench-out", metavar="FILE", action="append", default=[],
                    help="write all points of the session: .json .html .md ...; repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Where the session's runs go."""
    config.stash[_SESSION] = _Session()
    if config.getoption("--gpubench-update") and not config.getoption("--gpubench-store"):
        raise pytest.UsageError("--gpubench-update adds to a store: give --gpubench-store=DIR too.")
    for file in config.getoption("--gpubench-out"):
        from . import _core
        try:
            _core.check_extension(file)
        except _core.WriteError as error:
            raise pytest.UsageError(f"--gpubench-out: {error}") from None
    if config.getoption("numprocesses", None) and (config.getoption("--gpubench-update") or config.getoption("--gpubench-out")):
        raise pytest.UsageError("Tests beside each other disturb each other's times: give -n0 with --gpubench-update and --gpubench-out.")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Nothing is left behind."""
    folder = config.stash[_SESSION].folder
    if folder is not None:
        folder.cleanup()


class Measure:
    """What the fixture is: call it with what is to be timed."""

    def __init__(self, request: pytest.FixtureRequest):
        self._request = request
        self._config = request.config
        self._session = request.config.stash[_SESSION]
        self._calls = 0

    def __call__(self, function: Callable[..., Any], *arguments: Any, name: str | None = None, reads: Any = (), writes: Any = (),
                 flops: Mapping[str, int] | None = None, verify: Callable[[], Any] | None = None,
                 reset: Callable[..., Any] | None = None, **options: Any) -> Point:
        """Times a callable as state.measure does, and returns its point. reads, writes: bytes, arrays or tensors, one or
        several; flops: by pipe; other options as those of gpubench.run. Fails the test where the callable fails, or is
        slower than the baseline."""
        from . import _core
        from .harness import Benchmark, run
        from .runs import devices
        if arguments:
            raise TypeError("gpubench() times a callable that takes nothing: gpubench(lambda: f(x))")
        if flops is not None and not isinstance(flops, Mapping):
            raise TypeError(f"flops takes operations by pipe, flops={{'fp32': n}}, not {flops!r}")

        def operation(state: Any) -> None:
            state.reads(*_several(reads))
            state.writes(*_several(writes))
            for pipe, count in (flops or {}).items():
                state.flops(pipe, count)
            if verify is not None:
                state.verify(verify)
            if reset is not None:
                state.reset(reset)
            state.measure(function)

        for option in ("device", "time_budget"):
            given = self._config.getoption("--gpubench-" + option.replace("_", "-"))
            if given is not None:
                options.setdefault(option, given)
        options.setdefault("progress", False)
        # One calibration a session: a machine under load keeps none, and measuring takes longer than the tests.
        known = self._session.calibrations
        if options.get("device") in known:
            options.setdefault("calibration", known[options.get("device")])
            options.setdefault("drift_check", False)  # the first point has said it
        here = options.get("device") or devices()[0]["id"]
        if self._config.getoption("--gpubench-store") and here != "cpu":  # so that a slower test can say which kernel it is
            options.setdefault("check", "activity")
        benchmark = Benchmark(operation, self._name(name), {}, None)
        try:
            measured = run(benchmark, **options)
        except _core.Error as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        if "calibration" not in options and measured.calibrations:
            self._session.folder = self._session.folder or tempfile.TemporaryDirectory(prefix="gpubench-")
            file = os.path.join(self._session.folder.name, f"{len(known)}.json")
            measured.calibrations[0].save(file)
            known[options.get("device")] = file
        point: Point = measured[0]
        self._session.measured.append(measured)
        if point.failure:
            pytest.fail(f"{point.name}: {point.failure}", pytrace=False)
        self._hold_against_store(measured, point, lambda: run(benchmark, **{**options, "metrics": "core,units"}))
        return point

    def _name(self, name: str | None) -> str:
        """The test's, with its class and what tells its calls apart."""
        self._calls += 1
        test = self._request.node.nodeid
        base = (name or test.partition("::")[2].replace("::", ".")).replace("/", "|").replace(" ", "_")
        if name is None and self._calls > 1:
            base += f"-{self._calls}"
        first = self._session.tests.setdefault(base, test)
        if first != test and (self._config.getoption("--gpubench-store") or self._config.getoption("--gpubench-out")):
            pytest.fail(f"{first} has a point {base}, too, and points are told apart by their names: gpubench(..., name='...') gives one of its own", pytrace=False)
        return base

    def _hold_against_store(self, measured: Run, point: Point, counted: Callable[[], Run]) -> None:
        store = self._config.getoption("--gpubench-store")
        fail_on = self._config.getoption("--gpubench-fail-on")
        if not store or self._config.getoption("--gpubench-update"):
            return
        threshold = self._config.getoption("--gpubench-threshold")
        mine = self._compared(store, measured, point, threshold)
        if mine is None:
            self._session.without_baseline.append(point.name)
            return
        text = f"{mine['ratio']:.3f} x the baseline's time"
        if "interval" in mine:
            low, high = mine["interval"]
            text += f" ({low:.3f} to {high:.3f})"
        noise = _NOISE.get(mine["noise_from"], mine["noise_from"])
        if "load of the machine" in mine["interval_contains"]:
            noise += ", and these were measured under load"
        over = threshold is not None and mine["ratio"] > 1.0 + threshold
        fails = fail_on != "never" and (over or mine["change"] in ("slower", fail_on))
        why = _why(mine)
        if fails and mine["change"] == "slower" and point.device != "cpu" and not point.counters:
            why = self._with_counters(store, measured, point, threshold, counted) or why
        self._session.compared.append(
            f"{point.name}: {mine['change']}, {text}; runs differ by {mine['process_deviation']:.1%}, {noise}" + (f"; {why}" if why else ""))
        self._request.node.user_properties.append(("gpubench", f"{mine['change']}, {text}" + (f"; {why}" if why else "")))
        because = f"\nwhy: {why}" if why else ""
        if over and fails:
            pytest.fail(f"{point.name} is over the threshold of {threshold:.0%}: {text}{because}", pytrace=False)
        if fails:
            pytest.fail(f"{point.name} is {mine['change']}: {text}{because}", pytrace=False)

    def _with_counters(self, store: str, measured: Run, point: Point, threshold: float | None, counted: Callable[[], Run]) -> str:
        """Why it is slower by what only counters tell, read once more; the time that counts is the first. Empty where that cannot be."""
        from . import _core
        try:
            again = counted()[0].data["measurement"]
            data = measured.data
            data["points"][0]["measurement"].update({key: again[key] for key in ("counters", "absent_counters") if key in again})
            mine = self._compared(store, type(measured).from_dict(data), point, threshold)
        except (_core.Error, OSError) as error:
            return f"counters could not be read: {error}"
        return _why(mine) if mine else ""

    @staticmethod
    def _compared(store: str, measured: Run, point: Point, threshold: float | None) -> dict[str, Any] | None:
        """What the comparison with the store says of the point; None without a baseline."""
        from . import _core
        comparison = _core.check_store(store, measured._core, 0.01 if threshold is None else threshold)
        points: list[dict[str, Any]] = json.loads(comparison.to_json())["points"] if comparison is not None else []
        return next((each for each in points if each["name"] == point.name), None)


def _why(compared: dict[str, Any]) -> str:
    """Which kernel changed and what about it, the likeliest first; empty for a point that has not changed."""
    causes = [f"{each['text']} ({each['share']:.0%} of the change)" if "share" in each else str(each["text"]) for each in compared.get("causes", [])]
    return "; ".join(causes + [str(compared[key]) for key in ("causes_rest", "causes_hint") if key in compared])


#: Where the figure of how far runs differ is from.
_NOISE = {"assumed": "as assumed of a single stored run", "processes": "as the stored runs show", "history": "as earlier stored runs show"}


def _share(text: str) -> float:
    """10% as 0.1; without the sign it is per cent, too."""
    try:
        share = float(text.rstrip("%")) / 100.0
    except ValueError:
        share = math.nan
    if not 0.0 <= share < math.inf:
        raise argparse.ArgumentTypeError(f"it takes a percentage, as 10%, not {text!r}")
    return share


def _several(things: Any) -> tuple[Any, ...]:
    return tuple(things) if isinstance(things, (tuple, list)) else (things,)


@pytest.fixture  # type: ignore[untyped-decorator]  # without pytest
def gpubench(request: pytest.FixtureRequest) -> Measure:
    """Times a callable and says what limits it: gpubench(function, reads=x, writes=y) -> gpubench.Point."""
    return Measure(request)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Files and the store. A session that cannot write one has failed."""
    from . import _core
    mine = session.config.stash[_SESSION]
    if not mine.measured:
        return
    from .runs import Run
    merged = mine.merged = Run.from_dict({**mine.measured[0].data, "points": [point for each in mine.measured for point in each.data["points"]],
                                          "warnings": list(dict.fromkeys(text for each in mine.measured for text in each.data["warnings"]))})

    def keep(write: Callable[[], str]) -> None:
        try:
            mine.written.append(f"wrote {write()}")
        except (_core.Error, OSError) as error:
            mine.written.append(str(error))
            if exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def report(file: str) -> str:
        os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
        merged.report(file)
        return file

    for file in session.config.getoption("--gpubench-out"):
        keep(partial(report, file))
    store = session.config.getoption("--gpubench-store")
    if store and session.config.getoption("--gpubench-update"):
        keep(lambda: _core.add_to_store(store, merged._core))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table of the session, and what became of its files."""
    session = config.stash[_SESSION]
    if session.merged is None:
        return
    terminalreporter.section("gpubench")
    terminalreporter.write_line(session.merged.table(color=False))
    for line in session.written + session.compared:
        terminalreporter.write_line(f"gpubench: {line}")
    if session.without_baseline:
        store = config.getoption("--gpubench-store")
        terminalreporter.write_line(f"gpubench: {store} has no baseline of {', '.join(session.without_baseline)} on this machine, so nothing was held against it; "
                                    "--gpubench-update adds one")
