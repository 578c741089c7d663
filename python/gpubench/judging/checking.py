# SPDX-License-Identifier: Apache-2.0
"""Whether a candidate is right: by probes before it is timed, and in each timed call."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np

from . import arrays, checks
from .cell import layout
from .checks import Earlier, OwnError
from .memory import NANS, Spec
from .probes import SHOWN_PROBES, Probe
from .problem import Problem
from .side import Side
from .timing import Inputs
from .verdict import Result, Trouble

_OF_CASES = ("values", "nan", "error", "check", "shape", "type", "crash", "unwritten", "stale", "input")
#: What goes wrong for hidden inputs alone is said of them. Whether an output is written, or new, is no matter of its contents.
_OF_HIDDEN = {"": (), "hidden-contents": _OF_CASES[:7], "hidden-case": _OF_CASES, "hidden-strides": _OF_CASES}


def refuse_changes(side: Side) -> None:
    """Throws Trouble where a candidate has replaced clocks or comparisons in its process."""
    side.refuse_evasion()
    changes = side.changes()
    if changes:
        raise Trouble("tampering", f"It has replaced or added in its process: {', '.join(changes)}.")


_PLACES = ("int64", "int32", "uint32", "uint64")
_REAL = ("float64", "float32", "float16")
_SAMPLED = 1 << 16  #: elements of an output
#: How much further off the reference a timed call may be than rounding of results and what the reference itself is off explain, and than the calls by which it was checked:
#: errors of one formula differ by a few times.
_FURTHER, _FURTHER_THAN_BEFORE = 100.0, 10.0


def _apart(output: Any, right: Any, spec: Spec) -> tuple[float, float]:
    """The root mean square of the difference, and of what is right, of some elements that nobody knows before. 0 where that says nothing."""
    if not checks.is_float(spec["dtype"]):
        return 0.0, 0.0
    step = max(1, arrays.count_of(output) // _SAMPLED)
    first = int(np.random.default_rng().integers(step))
    values, exact = (checks.as_float(each.reshape(-1)[first::step], spec["dtype"]) for each in (output, right))
    with np.errstate(invalid="ignore"):  # of infinities
        return checks.root_mean_square(values - exact), checks.root_mean_square(exact)


@dataclass
class Doubt:
    """A call that seems wrong, and may only be as far off as the reference is for its inputs."""

    trouble: Trouble
    tree: Any
    look: Callable[[Sequence[OwnError]], None]  #: again, by what the reference is off there; throws Trouble


_SETTLED = 4  #: doubts that are looked at again


def settle(doubts: Sequence[Doubt | None], own_error: Callable[[Any], list[OwnError]]) -> None:
    """Looks at some of them again. `own_error`: what the reference is off for inputs. Throws Trouble."""
    found = [each for each in doubts if each is not None]
    for which in np.random.default_rng().permutation(len(found))[:_SETTLED]:
        doubt = found[int(which)]
        try:
            known = own_error(doubt.tree)
        except Trouble:
            raise doubt.trouble from None
        doubt.look(known)


def _of(inputs: Inputs) -> str:
    return f", of {inputs.hidden}" if inputs.hidden else ", whose inputs came while earlier calls ran" if inputs.came_late else ""


def _hint_for(found: checks.Difference, dtype: str) -> str:
    """Where whole numbers or truth values differ."""
    if dtype != "bool" and abs(found.actual - found.expected) == 1:
        return " If numbers may be rounded to the next one, say so with `tolerance = (0, 1)` in the problem."
    return " If other results are right too, as where there are ties, say so with `compare` in the problem."


def _precision_words(worst: dict[str, Any]) -> str:
    inside = worst["inside"].upper().replace(" OR ", " or ")
    return f"{inside} inside, {worst['asked'].upper()} asked, or another formula: the error of norm is {worst['error']:.2g}, the reference's {worst['reference_error']:.2g}."


class Checker:
    """Checks candidates of one problem."""

    def __init__(self, problem: Problem, probes: Sequence[Probe]):
        self.problem = problem
        self._probes = probes
        self.notes: list[str] = []
        self._refuses_nan = self._takes_everywhere(math.nan)  #: where the reference has numbers: `abs(a - b).max() > tolerance` is false for it
        if self._refuses_nan:
            self.notes.append("The problem's own check takes NaN for right: the judge refuses it where the reference has numbers.")
        elif self._takes_everywhere(0.0):
            self.notes.append(f"The problem's {'own check' if problem.compare is not None else '`tolerance`'} takes zeros for right.")

    def _takes_everywhere(self, value: float) -> bool:
        """Whether the problem's own check or tolerance does so, in place of the reference's numbers."""
        probe, problem = self._probes[0], self.problem
        if (problem.compare is None and problem.tolerance is None) or not probe.is_finite() or not all(spec["dtype"] in _REAL for spec in probe.outputs):
            return False
        if value == 0.0 and not any(bool((each != 0).any()) for each in probe.expected):
            return False
        filled = [arrays.filled(each, value) for each in probe.expected]
        if problem.compare is not None:
            return not problem.complaint(probe.tree, filled, probe.outputs)
        return all(checks.difference(each, right, spec["dtype"], problem.tolerance, True) is None for each, right, spec in zip(filled, probe.expected, probe.outputs))

    def check(self, side: Side, result: Result) -> None:
        """All probes, one call each. Throws Trouble."""
        worst: dict[str, Any] = {}
        apart: list[float] = []
        # In an order of its own each time, with one of what is shown among what is not
        order = [*range(SHOWN_PROBES - 1), *(np.random.default_rng().permutation(len(self._probes) - SHOWN_PROBES + 1) + SHOWN_PROBES - 1)]
        for probe in (self._probes[each] for each in order):
            side.place(probe.skeleton, probe.specs, probe.outputs, 1)
            side.fill(0, probe.arrays)
            try:
                side.run()
                outputs, = side.all_outputs()
                side.refuse_changed_input(0, probe.arrays)
                self._compare(side, 0, probe.tree, probe.arrays, outputs, probe.expected, probe.outputs, probe.own_error, side.earlier, probe.kind == "hidden-contents")
            except Trouble as trouble:
                if probe.kind and trouble.code in _OF_CASES:
                    words = f"Right for what the problem shows, wrong for {probe.kind.replace('-', ' ')} '{probe.name}'"
                    hint = " If no input is like that, say with `contents` in the problem which to try." if probe.kind == "hidden-contents" else ""
                    raise Trouble(probe.kind if trouble.code in _OF_HIDDEN[probe.kind] else trouble.code, f"{words}: {trouble.text}{hint}") from None
                self._name_precision(probe, side, trouble)
                raise
            result.calls_checked += 1
            side.earlier.add(outputs)
            if not probe.kind:
                self._refuse_left_out(probe, outputs)
                self._note_precision(probe, outputs, worst)
                found = [_apart(*each) for each in zip(outputs, probe.expected, probe.outputs)]
                apart = [max(known, _FURTHER_THAN_BEFORE / _FURTHER * off, self._explained(spec, size, own))
                         for known, (off, size), own, spec in zip(apart or [0.0] * len(found), found, probe.own_error, probe.outputs)]
        may_lack = worst.pop("may_lack", False)
        result.precision = {**worst, "apart": apart}
        if "inside" in worst:
            raise Trouble("precision", _precision_words(worst))
        if may_lack:
            times = f"{worst['error'] / worst['reference_error']:.3g} times the reference's" if worst["reference_error"] else "and the reference has none"
            result.notes.append(f"Its error is {worst['error']:.2g} of norm, {times}: more than rounding mostly makes. It may leave something out.")
        refuse_changes(side)

    def _refuse_left_out(self, probe: Probe, outputs: Sequence[Any]) -> None:
        if self.problem.tolerance is not None or self.problem.compare is not None:
            return
        for output, expected, spec, own in zip(outputs, probe.expected, probe.outputs, probe.own_error):
            words = checks.change_left_out(output, expected, probe.arrays, spec["dtype"], own) if self.problem.allowed_inside(spec) is None else ""
            if words:
                raise Trouble("values", words)

    def _explained(self, spec: Spec, size: float, own: OwnError) -> float:
        """How far off a result of this size is by rounding, or by what its reference is off: a tenth of the largest error, as that is of one element, or of few."""
        return max(0.1 * own.usual, own.largest * math.sqrt(own.jumping), checks.unit_of(spec["dtype"], self.problem.allowed_inside(spec)) * size)

    def _hold_to_check(self, outputs: Sequence[Any], expected: Sequence[Any], specs: Sequence[Spec], precision: dict[str, Any], own_error: Sequence[OwnError] = ()) -> None:
        """A timed call is as near the reference's as those were by which it was checked; `own_error`: what the reference is off in this one, where that is known. Throws
        Trouble."""
        if self.problem.compare is not None:  # that says what will do, and may take results that differ much
            return
        for which, (output, right, spec, before) in enumerate(zip(outputs, expected, specs, precision.get("apart", ()))):
            now, size = _apart(output, right, spec)
            before = max(before, self._explained(spec, size, own_error[which])) if own_error and before else before
            if now > _FURTHER * before > 0.0:
                raise Trouble("precision", f"It is {now:.2g} off the reference's result (root mean square), where rounding and what it was off before explain {before:.2g}: less "
                                           "precision, or another formula.")

    def compare_call(self, side: Side, slot: int, inputs: Inputs, outputs: list[Any], expected: list[Any], when: str, result: Result) -> Doubt | None:
        """A call that is not one of the probes'. Throws Trouble, but for what may be the reference's own error for such inputs."""
        probe = self._probes[0]

        def look(own_error: Sequence[OwnError]) -> None:
            known = inputs.own_error or probe.own_error
            try:
                earlier = Earlier() if own_error else side.earlier  # which has this call by then
                self._compare(side, slot, inputs.tree, inputs.arrays, outputs, expected, probe.outputs, [one.or_more(other) for one, other in zip(known, own_error or known)],
                              earlier, bool(inputs.hidden))
                if not inputs.hidden:
                    self._hold_to_check(outputs, expected, probe.outputs, result.precision, own_error)
            except Trouble as trouble:
                code = "hidden-contents" if inputs.hidden and trouble.code in _OF_HIDDEN["hidden-contents"] else trouble.code
                raise Trouble(code, f"Right when it was checked, wrong {when}{_of(inputs)}: {trouble.text}") from None

        result.calls_checked += 1
        try:
            look(())
        except Trouble as trouble:
            if trouble.code not in ("values", "precision") or inputs.hidden or self.problem.compare is not None:
                raise
            return Doubt(trouble, inputs.tree, look)
        return None

    def _note_precision(self, probe: Probe, outputs: list[Any], worst: dict[str, Any]) -> None:
        for which, (output, expected, spec) in enumerate(zip(outputs, probe.expected, probe.outputs)):
            if not checks.is_float(spec["dtype"]) or (probe.exact is None and spec["dtype"] not in ("float64", "complex128")):
                continue
            values, own_values = checks.as_float(output, spec["dtype"]), checks.as_float(expected, spec["dtype"])
            exact = own_values if probe.exact is None else probe.exact[which]  # nothing is more precise than the reference itself
            error, own = checks.norm_error(values, exact), checks.norm_error(own_values, exact)
            if error is None or own is None:
                continue
            if error >= worst.get("error", -1.0):
                worst.update(error=error, reference_error=own, ulps=checks.ulp_error(values, exact, spec["dtype"]),
                             asked=self.problem.allowed_inside(spec) or checks.SHORT_NAMES.get(spec["dtype"], spec["dtype"]))
            worst["may_lack"] = worst.get("may_lack", False) or (self.problem.compare is None
                                                                 and checks.may_lack_something(error, own, spec["dtype"], self.problem.allowed_inside(spec)))
            inside = checks.less_precise(error, own, spec["dtype"], self.problem.allowed_inside(spec))
            if inside and self.problem.compare is None and checks.is_spread(values, exact):  # its own check says what will do
                worst["inside"] = inside

    def _name_precision(self, probe: Probe, side: Side, trouble: Trouble) -> None:
        """Wrong values that lower precision explains are named so."""
        if trouble.code != "values" or probe.kind:
            return
        worst: dict[str, Any] = {}
        self._note_precision(probe, side.outputs(0), worst)
        if "inside" in worst and worst["error"] < 0.2:
            raise Trouble("precision", _precision_words(worst))

    def _compare(self, side: Side, slot: int, tree: Any, inputs: Sequence[Any], outputs: list[Any], expected: list[Any], specs: list[Spec],
                 own_error: Sequence[OwnError], earlier: Earlier, of_hidden: bool) -> None:
        """One call's outputs with what was expected; `of_hidden`: of hidden contents. Throws Trouble."""
        problem = self.problem
        if problem.compare is not None:
            shares = [side.unwritten(slot, which, each) for which, each in enumerate(outputs)]
            if max(shares, default=0.0) == 1.0:
                raise Trouble("unwritten", "It wrote no output at all.")
            wrong = problem.complaint(tree, outputs, specs)
            if not wrong:
                if self._refuses_nan and any(checks.has_new_nan(*pair) for pair in zip(outputs, expected)):
                    raise Trouble("nan", "It returns NaN where numbers are expected. The problem's own check takes that for right.")
                return
            self._differences(side, slot, inputs, outputs, expected, specs, own_error, earlier, of_hidden)
            raise Trouble("check", f"The problem's own check says: {wrong[:300]}")
        self._differences(side, slot, inputs, outputs, expected, specs, own_error, earlier, of_hidden)

    def _differences(self, side: Side, slot: int, inputs: Sequence[Any], outputs: list[Any], expected: list[Any], specs: list[Spec],
                     own_error: Sequence[OwnError], earlier: Earlier, of_hidden: bool) -> None:
        differences = [checks.difference(output, right, spec["dtype"], self.problem.tolerance, self.problem.nan_equal, own, self.problem.allowed_inside(spec))
                       for output, right, spec, own in zip(outputs, expected, specs, own_error)]
        for which, (output, right, spec) in enumerate(zip(outputs, expected, specs)):
            found = differences[which]
            if found and of_hidden and not checks.is_float(spec["dtype"]):
                # Places of the largest, beside these: where contents make many equal, as by a softmax, others are as right
                beside = [each for each, one in zip(differences, specs) if checks.is_float(one["dtype"]) and one["shape"] == spec["shape"] and spec["dtype"] in _PLACES]
                found = None if beside and not any(beside) else found
            if found:
                trouble = checks.diagnose(output, found, side.unwritten(slot, which, output), inputs, earlier.age(which, output))
                of_which = f"Output {which}: " if len(specs) > 1 else ""
                others = trouble.code == "values" and self.problem.compare is None and not checks.is_float(spec["dtype"])
                raise Trouble(trouble.code, f"{of_which}{trouble.text}{_hint_for(found, spec['dtype']) if others else ''}")
            if side.writes_into and self.problem.nan_equal and spec["dtype"] in NANS:  # poison is NaN, as what is expected may be
                left = side.unwritten(slot, which, output)
            else:
                left = 0.0
            if left:
                raise Trouble("unwritten", f"It did not write {100 * left:.3g} % of its output.")
