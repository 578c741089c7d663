# SPDX-License-Identifier: Apache-2.0
"""One problem with its reference running: candidates are checked against it, then timed beside it."""
from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core
from . import checks, floor, timing
from .cell import layout
from .cell.confine import let_be_read
from .memory import Poison, Spec
from .problem import Case, Problem, upcast
from .process import Limits
from .side import Side, arrays_of
from .verdict import Result, Trouble

_BATCH_BYTES = 64 << 20
_SHOWN_PROBES = 3
_SMALL_BYTES = 64 << 20  #: batches of less are checked whole, larger ones by a random share


@dataclass
class Settings:
    """How candidates are judged."""

    time_budget: float = 3.0  #: seconds of timing a candidate
    rounds: int = 3  #: processes of each side that are timed: the same program is faster in one process than in another
    min_blocks: int = 4  #: of each round
    narrow: float = 0.01
    cold: bool = True
    jobs: int = 1  #: candidates checked at once
    limits: Limits = field(default_factory=Limits)
    calibration: Mapping[str, Any] | None = None  #: None: the stored one of the device


@dataclass
class Probe:
    """One call that a candidate is checked by."""

    kind: str  #: "" for a shown case; else the reason's code
    name: str
    tree: Any
    skeleton: Any
    specs: list[Spec]
    arrays: list[Any]
    outputs: list[Spec]
    expected: list[Any]
    exact: list[Any] | None  #: of the reference in 64 bits
    own_error: list[float]  #: the reference's largest error against that, by output


def stored_calibration(device: str) -> tuple[Mapping[str, Any] | None, str]:
    """The ceilings of a device in the cache, or why there are none."""
    text, why = _core.stored_calibration(device)
    return (json.loads(text), "") if text is not None else (None, f"there is no calibration of {device} ({why}): gpubench --calibrate --device={device} measures one")


class ProblemError(_core.UsageError):  # type: ignore[misc]
    """The problem itself does not work."""


class Trial:
    """Opens with the reference's process; close() ends it."""

    def __init__(self, problem: Problem, settings: Settings):
        self.problem, self.settings = problem, settings
        self._could_be_read = let_be_read(False)
        self.poison = Poison()
        self.notes: list[str] = []
        self._flush: timing.Flush | None = None
        self._nothing_kind: Any = None
        self.device = "cuda:0" if any("device" in spec for spec in arrays_of(self._inputs(problem.cases[0]))[1]) else "cpu"
        if self.device != "cpu":  # CUDA reserves far more addresses than memory
            self.settings = settings = replace(settings, limits=replace(settings.limits, memory_bytes=None))
        self._calibration, self._why_no_calibration = (settings.calibration, "") if settings.calibration is not None else stored_calibration(self.device)
        self.references = [self.side(problem.adapter, problem.file, problem.reference_facts, hidden=False) for _ in range(settings.rounds)]
        self.reference = self.references[0]
        self.nothing = self.side(None, "", {}, hidden=False)
        try:
            first = self._inputs(problem.cases[0])
            input_bytes = sum(layout.extent(spec) * layout.element_bytes(spec) for spec in arrays_of(first)[1])
            self._sizes = (16 * input_bytes + 4 * _BATCH_BYTES, 16 * input_bytes + 16 * _BATCH_BYTES)
            try:
                self.reference.start(*self._sizes)
                self.probes = self._make_probes()
            except Trouble as trouble:
                raise ProblemError(f"The reference of {problem.name} does not work: {trouble.text}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for each in (*self.references, self.nothing):
            each.close()
        let_be_read(self._could_be_read)

    def side(self, adapter: str | None, file: str, facts: dict[str, Any], hidden: bool = True) -> Side:
        """A process for one side, not yet started."""
        return Side(adapter, file, facts, self.problem.mutable, self.settings.limits, self.poison, self.problem.hidden_files if hidden else (),
                    [each for each in ("torch", "numpy") if each in sys.modules])

    def _inputs(self, case: Case, **how: Any) -> Any:
        try:
            tree = self.problem.inputs(case, **how)
            layout.flatten(tree)
            return tree
        except Exception as error:  # noqa: BLE001: the problem's own
            raise ProblemError(f"{self.problem.name} cannot make inputs{f' for {dict(case)}' if case else ''}: {type(error).__name__}: {error}") from None

    # What is known of the right results

    def _make_probes(self) -> list[Probe]:
        problem = self.problem
        shown = [problem.cases[0]] * _SHOWN_PROBES + list(problem.cases[1:])
        probes = []
        for case in shown:
            probes.append(self._probe("", str(dict(case)) if case else "", self._inputs(case)))
        hidden: list[tuple[str, str, Case, dict[str, Any]]]
        hidden = [("hidden-contents", name, problem.cases[0], {"contents": name}) for name in problem.contents]
        hidden += [("hidden-case", str(dict(case)), case, {}) for case in problem.hidden_cases]
        hidden += [("hidden-strides", "every second element", problem.cases[0], {"strided": True})] if problem.strides else []
        for kind, name, case, how in hidden:
            tree = self._inputs(case, **how)
            if tree is None:
                continue
            try:
                probe = self._probe(kind, name, tree)
            except Trouble as trouble:
                self._drop(kind, name, f"the reference does not take it: {trouble.text}")
                continue
            if name != "nan" and not all(np.isfinite(checks.as_float(each, spec["dtype"])).all()
                                         for each, spec in zip(probe.expected, probe.outputs) if checks.is_float(spec["dtype"])):
                self._drop(kind, name, "the reference's result is not finite")
                continue
            if probe.exact is not None and any(
                    checks.difference(each, exact.astype(each.dtype), spec["dtype"], problem.tolerance, problem.nan_equal) for each, exact, spec in zip(
                        probe.expected, probe.exact, probe.outputs) if spec["dtype"] in ("float32", "float16")):
                self._drop(kind, name, "the reference differs from itself in FP64 there")
                continue
            probes.append(probe)
        return probes

    def _drop(self, kind: str, name: str, why: str) -> None:
        self.notes.append(f"Not tried with {kind.replace('-', ' ')} '{name}': {why}.")

    def _probe(self, kind: str, name: str, tree: Any) -> Probe:
        skeleton, specs, arrays = arrays_of(tree)
        outputs, expected = self._reference_of(skeleton, specs, arrays)
        exact = None
        own_error = [0.0] * len(outputs)
        wide = upcast(tree)
        if wide is not None and kind != "hidden-strides":
            try:
                wide_skeleton, wide_specs, wide_arrays = arrays_of(wide)
                wide_outputs, results = self._reference_of(wide_skeleton, wide_specs, wide_arrays, "float64")
                if [each["shape"] for each in wide_outputs] == [each["shape"] for each in outputs]:
                    exact = [checks.as_float(each, spec["dtype"]) for each, spec in zip(results, wide_outputs)]
                    with np.errstate(all="ignore"):
                        own_error = [float(np.nanmax(np.abs(checks.as_float(each, spec["dtype"]) - right), initial=0.0)) if checks.is_float(spec["dtype"]) else 0.0
                                     for each, right, spec in zip(expected, exact, outputs)]
                    own_error = [each if np.isfinite(each) else 0.0 for each in own_error]
            except Trouble:
                exact = None  # it does not calculate in 64 bits
        return Probe(kind, name, tree, skeleton, specs, arrays, outputs, expected, exact, own_error)

    def _reference_of(self, skeleton: Any, specs: list[Spec], arrays: list[Any], precise: str = "") -> tuple[list[Spec], list[Any]]:
        side = self.reference
        side.place(skeleton, specs, [], 1, precise)
        side.fill(0, arrays)
        outputs = side.describe()
        side.place(skeleton, specs, outputs, 1, precise)
        side.fill(0, arrays)
        side.run()
        return [{key: value for key, value in each.items() if key != "offset"} for each in outputs], side.outputs(0)

    # Checking

    def start(self, side: Side) -> None:
        """Starts the process of a candidate. Throws Trouble where it does not load."""
        side.start(*self._sizes)

    def check(self, side: Side, result: Result) -> None:
        """All probes, one call each. Throws Trouble."""
        worst: dict[str, Any] = {}
        # In an order of its own each time: what is shown is not always tried first
        order = [*range(_SHOWN_PROBES), *(np.random.default_rng().permutation(len(self.probes) - _SHOWN_PROBES) + _SHOWN_PROBES)]
        for probe in (self.probes[each] for each in order):
            side.place(probe.skeleton, probe.specs, probe.outputs, 1)
            side.fill(0, probe.arrays)
            try:
                side.run()
                outputs = side.outputs(0)
                self._compare(side, 0, probe.tree, probe.arrays, outputs, probe.expected, probe.outputs, probe.own_error)
            except Trouble as trouble:
                if probe.kind and trouble.code in ("values", "nan", "error", "unwritten", "check", "shape", "crash", "stale", "input"):
                    raise Trouble(probe.kind, f"Right for what the problem shows, wrong for {probe.kind.replace('-', ' ')} '{probe.name}': {trouble.text}") from None
                self._name_precision(probe, side, trouble)
                raise
            result.calls_checked += 1
            side.earlier.add(outputs)
            if not probe.kind:
                self._note_precision(probe, outputs, worst)
        result.precision = worst
        if "inside" in worst:
            raise Trouble("precision", self._precision_words(worst))
        self._refuse_changes(side)

    def _refuse_changes(self, side: Side) -> None:
        changes = side.changes()
        if changes:
            raise Trouble("tampering", f"It has replaced or added in its process: {', '.join(changes)}.")

    def _precision_words(self, worst: dict[str, Any]) -> str:
        return (f"{worst['inside'].upper().replace(' OR ', ' or ')} inside, {worst['asked'].upper()} asked: the error of norm is {worst['error']:.2g}, the reference's {worst['reference_error']:.2g}.")

    def _note_precision(self, probe: Probe, outputs: list[Any], worst: dict[str, Any]) -> None:
        for which, (output, expected, spec) in enumerate(zip(outputs, probe.expected, probe.outputs)):
            if not checks.is_float(spec["dtype"]) or (probe.exact is None and spec["dtype"] != "float64"):
                continue
            values, own_values = checks.as_float(output, spec["dtype"]), checks.as_float(expected, spec["dtype"])
            exact = own_values if probe.exact is None else probe.exact[which]  # nothing is more precise than the reference itself
            error, own = checks.norm_error(values, exact), checks.norm_error(own_values, exact)
            if error is None or own is None:
                continue
            if error >= worst.get("error", -1.0):
                worst.update(error=error, reference_error=own, ulps=checks.ulp_error(values, exact, spec["dtype"]),
                             asked=self.problem.precision or {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16"}.get(spec["dtype"], spec["dtype"]))
            inside = checks.less_precise(error, own, spec["dtype"], self.problem.precision)
            if inside and checks.is_spread(values, exact):
                worst["inside"] = inside

    def _name_precision(self, probe: Probe, side: Side, trouble: Trouble) -> None:
        """Wrong values that lower precision explains are named so."""
        if trouble.code != "values" or probe.kind:
            return
        worst: dict[str, Any] = {}
        self._note_precision(probe, side.outputs(0), worst)
        if "inside" in worst and worst["error"] < 0.2:
            raise Trouble("precision", self._precision_words(worst))

    def _compare(self, side: Side, slot: int, tree: Any, inputs: Sequence[Any], outputs: list[Any], expected: list[Any], specs: list[Spec],
                 own_error: Sequence[float]) -> None:
        problem = self.problem
        if problem.compare is not None:
            shares = [side.unwritten(slot, which, each) for which, each in enumerate(outputs)]
            if max(shares, default=0.0) == 1.0:
                raise Trouble("unwritten", "It wrote no output at all.")
            results = [layout.on_device(layout.as_framework(each, spec), spec) for each, spec in zip(outputs, specs)]
            try:
                wrong = problem.compare(tree, results[0] if len(results) == 1 else tuple(results))
            except Exception as error:  # noqa: BLE001: the problem's own, of what a candidate gave
                wrong = f"{type(error).__name__}: {error}"
            if not wrong:
                return
            self._differences(side, slot, inputs, outputs, expected, specs, own_error)
            raise Trouble("check", f"The problem's own check says: {wrong[:300]}")
        self._differences(side, slot, inputs, outputs, expected, specs, own_error)

    def _differences(self, side: Side, slot: int, inputs: Sequence[Any], outputs: list[Any], expected: list[Any], specs: list[Spec],
                     own_error: Sequence[float]) -> None:
        for which, (output, right, spec) in enumerate(zip(outputs, expected, specs)):
            found = checks.difference(output, right, spec["dtype"], self.problem.tolerance, self.problem.nan_equal, own_error[which])
            if found:
                raise checks.diagnose(output, found, side.unwritten(slot, which, output), inputs, side.earlier.age(which, output))

    # Timing

    def time(self, side: Side, result: Result, again: Callable[[], Side]) -> None:
        """In turns with the reference, in rounds of fresh processes, which `again` starts; every call is fresh, and checked. Throws Trouble."""
        plan = self._plan(side)
        self._start_nothing(self.probes[0])
        rounds = [self._round(side, self.reference, plan, result)]
        for reference in self.references[1:]:
            if not reference.loaded:
                reference.start(*self._sizes)
            other = again()
            try:
                rounds.append(self._round(other, reference, plan, result))
            finally:
                other.close()
        trouble = timing.clocks_agree(rounds)
        if trouble:
            raise trouble
        self._sum_up(timing.Summary(rounds), plan, result)
        if self.settings.cold:
            self._time_cold(side, result)

    def _plan(self, side: Side) -> timing.Plan:
        """By the fastest of three calls of each side, each with inputs of its own."""
        probe, settings = self.probes[0], self.settings
        call_bytes = self._call_bytes(probe)
        samples, make_seconds = [], 0.0
        for _ in range(3):
            start = time.perf_counter()
            arrays = self._fresh().arrays
            make_seconds = max(make_seconds, time.perf_counter() - start)
            for each in (side, self.reference):
                each.place(probe.skeleton, probe.specs, probe.outputs, 1)
                each.fill(0, arrays)
                samples.append(each.run().undisturbed)
            side.earlier.add(side.outputs(0))
        return timing.Plan(timing.calls_of_batch(samples, make_seconds, call_bytes, _BATCH_BYTES), settings.min_blocks,
                           budget_seconds=settings.time_budget / settings.rounds, narrow=settings.narrow)

    @staticmethod
    def _call_bytes(probe: Probe) -> int:
        return sum(layout.extent(spec) * layout.element_bytes(spec) + 2 * layout.GUARD_BYTES for spec in (*probe.specs, *probe.outputs))

    def _round(self, side: Side, reference: Side, plan: timing.Plan, result: Result) -> timing.Times:
        """One process of each side."""
        probe = self.probes[0]
        for each in (side, reference, self.nothing):
            each.place(probe.skeleton, probe.specs, probe.outputs, plan.calls)
        random = np.random.default_rng()
        share = min(1.0, _SMALL_BYTES / max(self._call_bytes(probe) * plan.calls, 1))

        def check(slot: int, inputs: timing.Inputs, outputs: list[Any], expected: list[Any]) -> None:
            if share == 1.0 or random.random() < share:
                try:
                    self._compare(side, slot, inputs.tree, inputs.arrays, outputs, expected, probe.outputs, probe.own_error)
                except Trouble as trouble:
                    raise Trouble(trouble.code, f"Right when it was checked, wrong in timed call {result.calls_timed + 1}: {trouble.text}") from None
                result.calls_checked += 1
            result.calls_timed += 1
            side.earlier.add(outputs)

        times = timing.take_turns(reference, side, self.nothing, plan, self._fresh, check)
        self._refuse_changes(side)
        return times

    def _fresh(self) -> timing.Inputs:
        tree = self._inputs(self.problem.cases[0])
        return timing.Inputs(tree, arrays_of(tree)[2])

    def _time_cold(self, side: Side, result: Result) -> None:
        probe = self.probes[0]
        self._flush = self._flush or timing.Flush()
        for each in (side, self.nothing):
            each.place(probe.skeleton, probe.specs, probe.outputs, 1)
        result.cold_seconds = timing.cold_seconds(side, self.nothing, self._fresh, self._flush)
        if result.cold_seconds is None:
            result.notes.append("There is no cold time: a call is too short for the clock.")

    def _classify(self, times: timing.Summary, probe: Probe, moved: float, flops: Mapping[str, float], result: Result) -> None:
        """Regime and advice, where the device's ceilings are known."""
        seconds = [each for each in (timing.Summary([one]).seconds("candidate") for one in times.rounds) if each is not None]
        if self._calibration is None or not seconds:
            return
        written = min(moved, float(floor.bytes_of(probe.expected)))
        footprint = float(floor.bytes_of(probe.arrays + probe.expected))
        point = floor.classified(self._calibration, self.device, seconds, moved - written, written, footprint, flops)
        result.regime, result.regime_confidence = point.regime or None, point.confidence
        if point.advice:
            result.next_step = f"{point.advice[0]['action'][:1].upper()}{point.advice[0]['action'][1:]}.".replace("..", ".")

    def _start_nothing(self, probe: Probe) -> None:
        """The call that does nothing, for outputs of this kind."""
        kind = [[spec, layout.extent(spec) * layout.element_bytes(spec)] for spec in probe.outputs]
        if self._nothing_kind == kind:
            return
        self._nothing_kind = kind
        self.nothing.set_returns(kind)
        if self.nothing.loaded:
            self.nothing.load()
        else:
            self.nothing.start(*self._sizes)

    def _sum_up(self, times: timing.Summary, plan: timing.Plan, result: Result) -> None:
        probe = self.probes[0]
        result.speedup, why = times.speedup()
        if result.speedup is None:
            result.notes.append(f"There is no speed-up: {why}.")
        else:
            result.tie = result.speedup.low <= 1.0 <= result.speedup.high or abs(result.speedup.value - 1.0) < 0.01
        result.seconds, result.reference_seconds = times.seconds("candidate"), times.seconds("reference")
        declared = self.problem.work(probe.tree) if self.problem.work is not None else None
        moved, flops = floor.work_of(probe.expected, probe.arrays, declared)
        least = floor.floor_of(self._calibration, self._why_no_calibration, moved,
                               floor.bytes_of(probe.arrays + probe.expected) * plan.calls, flops)
        result.floor_seconds, result.limiter, result.floor_basis = least.seconds, least.limiter, least.basis
        if least.seconds is not None and result.seconds is not None:
            result.floor_share = least.seconds / result.seconds
            gross = min(float(each.batches("candidate").min()) for each in times.rounds)
            if gross < least.seconds:
                raise Trouble("floor", f"A call takes {gross * 1e6:.4g} us, but {least.limiter} of this device needs at least {least.seconds * 1e6:.4g} us for it ({least.basis}).")
        nothing = times.gross("nothing")
        result.next_step = floor.next_step(least, result.seconds, nothing)
        self._classify(times, probe, moved, flops, result)
        if timing.load_average() > 1.2:
            result.notes.append("The machine was busy, so intervals are wide: more programs than processors wanted to run.")


__all__ = ["Probe", "ProblemError", "Settings", "Trial"]
