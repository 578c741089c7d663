# SPDX-License-Identifier: Apache-2.0
"""The calls that candidates are checked by: inputs that the problem shows and inputs that it hides, with what the reference makes of them."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Iterator, Sequence

import numpy as np

from . import arrays, checks
from .cell import layout
from .checks import OwnError
from .contents import CONTENTS, NUDGE, NUDGED_UNITS, nudged
from .memory import Spec
from .problem import Case, Problem, ProblemError, upcast
from .process import slots_of
from .side import Side
from .verdict import Trouble

SHOWN_PROBES = 4  #: of the first case
_ROUNDINGS, _LARGEST_SHARE = 1 << 17, 0.01  #: to one side, that hidden contents may show in a result, and the most by share of it
_SATURATING, _NOISE = ("denormal", "small", "large"), 0.1
_ALL_AXES = 64
_LAST_BITS = 2.0**-19  #: of the largest input


class TooSmall(Exception):
    """The memory for outputs does not hold those of one call."""

    def __init__(self, needed: int):
        super().__init__(f"outputs of one call take {needed >> 20} MiB")
        self.needed = needed


class RandomReference(Exception):
    """The reference gives other results for the same inputs."""


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
    own_error: list[OwnError]  #: the reference's error against that, or what the last bits of inputs change, by output

    def is_finite(self) -> bool:
        """Whether what is expected is finite everywhere."""
        return all(places is None or bool(places.all()) for places in self.finite_places())

    def finite_places(self) -> list[Any]:
        """Where outputs are; None of those that are no floating-point numbers."""
        return [arrays.namespace_of(each).isfinite(checks.as_float(each, spec["dtype"])) if checks.is_float(spec["dtype"]) else None
                for each, spec in zip(self.expected, self.outputs)]

    def is_finite_as(self, shown: Probe) -> bool:
        """Whether infinities and NaN come where FP64 has them, too, and in outputs that have them for shown inputs: they stand for what is masked, and not for numbers
        that are too large."""
        for which, (places, usual) in enumerate(zip(self.finite_places(), shown.finite_places())):
            if places is None or bool(places.all()):
                continue
            if usual is None or bool(usual.all()) or self.exact is None or bool((arrays.namespace_of(places).isfinite(self.exact[which]) != places).any()):
                return False
        return True


_FEWEST_ELEMENTS = 16  #: of inputs that do not come again by chance


def _are_alike(one: Probe, other: Probe) -> bool:
    """Whether their inputs are the same."""
    return (sum(map(arrays.count_of, one.arrays)) >= _FEWEST_ELEMENTS and one.skeleton == other.skeleton
            and all(arrays.are_same(*pair) for pair in zip(one.arrays, other.arrays)))


def _with_precision(output: Spec, inputs: Sequence[Spec]) -> Spec:
    """A number of Python is as precise as the most precise of the inputs."""
    made = {key: value for key, value in output.items() if key != "number"}
    precisions = [name for dtype, name in checks.SHORT_NAMES.items() if any(spec["dtype"] == dtype for spec in inputs)]
    if len(made) < len(output) and precisions and precisions[-1] != "fp64":
        made["inside"] = precisions[-1]
    return made


class ProbeMaker:
    """Makes them by the reference's process; `notes` say which it could not make."""

    def __init__(self, problem: Problem, reference: Side, max_bytes: float = float("inf")):
        self.problem = problem
        self._reference = reference
        self._max_bytes = max_bytes  #: of what hidden ones hold together
        self.notes: list[str] = []
        self._outputs: dict[str, list[Spec]] = {}  #: by what is given
        self._jumps: list[OwnError] = []  #: of the case that is timed, by output
        self._scales: list[float] = []  #: the same
        self._is_random = bool(problem.reference_facts.get("reseed"))  #: random numbers of 64 bits are others

    def make(self) -> list[Probe]:
        """Shown ones first. Throws Trouble where the reference does not work for one of those, TooSmall and RandomReference."""
        problem = self.problem
        shown = [problem.cases[0]] * SHOWN_PROBES + list(problem.cases[1:])
        trees = [self.problem.fresh(case) for case in shown]
        self._refuse_other_kinds(trees[:SHOWN_PROBES])
        probes = [self._probe("", str(dict(case)) if case else "", tree) for case, tree in zip(shown, trees)]
        if any(each.outputs != probes[0].outputs for each in probes[:SHOWN_PROBES]):
            raise Trouble("shape", "the shapes of its results depend on the contents of inputs. Return arrays of one shape, and say with `compare` what counts in them")
        if all(_are_alike(probes[0], each) for each in probes[1:SHOWN_PROBES]):
            raise ProblemError(f"`inputs` of {problem.name} gives the same inputs every time, so that results can be kept; draw them from `random`.")
        if self._gives_others(probes[0]):
            if problem.compare is None:
                raise RandomReference
            self._is_random = True
            self.notes.append("The reference gives other results for the same inputs. Its precision is not judged.")
            for probe in probes:
                probe.exact, probe.own_error = None, [OwnError()] * len(probe.outputs)
        self._pool_jumps(probes)
        self._look_for_rounding_alone(probes)
        self._look_for_constants(probes[:SHOWN_PROBES])
        self._look_for_same_inputs(probes[:SHOWN_PROBES])
        hidden: list[tuple[str, str, Case, dict[str, Any]]]
        hidden = [("hidden-contents", name, problem.cases[0], {"contents": name}) for name in problem.contents]
        hidden += [("hidden-case", str(dict(case)), case, {}) for case in problem.hidden_cases]
        hidden += [("hidden-strides", "every second element", problem.cases[0], {"strided": True})] if problem.strides else []
        takes_rounding = self._takes_rounding(probes[0].tree, probes[0].outputs)
        held = 0
        for kind, name, case, how in hidden:
            if held > self._max_bytes:
                self._drop(kind, name, "the GPU's memory does not hold it beside the others")
                continue
            tree = self.problem.fresh(case, **how)
            if tree is None:
                continue
            if name == "denormal" and upcast(tree) is None:
                self._drop(kind, name, "nothing is wider than FP64, by which the reference's result could be checked there")
                continue
            try:
                probe = self._probe(kind, name, tree)
            except Trouble as trouble:
                if trouble.code in ("crash", "time-limit"):  # its process is gone
                    raise Trouble(trouble.code, f"for {kind.replace('-', ' ')} '{name}': {trouble.text}") from None
                self._drop(kind, name, f"the reference does not take it: {trouble.text}")
                continue
            if name != "nan" and not probe.is_finite_as(probes[0]):
                self._drop(kind, name, "the reference's result is not finite")
            elif problem.complaint(tree, probe.expected, probe.outputs):
                self._drop(kind, name, "the problem's own check refuses the reference's result")
            elif takes_rounding and not self._takes_rounding(tree, probe.outputs):
                self._drop(kind, name, "the problem's own check refuses what rounding makes of the reference's result there")
            elif self._doubts_itself(probe):
                self._drop(kind, name, "the reference differs from itself in FP64 there")
            elif name == "denormal" and not self._takes_zeros_for(probe):
                self._drop(kind, name, "processors may take them for zeros, for which the reference has no such result")
            elif name in _SATURATING and self._is_saturated(probe, probes[0]):
                self._drop(kind, name, "the reference's whole numbers hardly depend on inputs there")
            else:
                probe.exact = None  # precision is judged by shown ones
                self._take_jumps(probe)
                if kind == "hidden-contents":
                    self._allow_for_sums(probe)
                held += sum(map(arrays.bytes_of, (*probe.arrays, *probe.expected)))
                probes.append(probe)
        return probes

    def _refuse_other_kinds(self, trees: Sequence[Any]) -> None:
        """Throws ProblemError where arrays have another type or shape each time: calls of a batch have places of one size."""
        first, *others = ([layout.spec_of(each) for each in layout.flatten(tree)[1]] for tree in trees)
        for specs in others:
            for which, (one, other) in enumerate(zip(first, specs)):
                if (one["dtype"], one["shape"]) != (other["dtype"], other["shape"]):
                    raise ProblemError(f"`inputs` of {self.problem.name} gives another array {which} each time: {one['dtype']} of shape {tuple(one['shape'])}, then {other['dtype']} of "
                                       f"{tuple(other['shape'])}. Give one type and shape for a case: pad, or draw lengths from a generator with a fixed seed.")
            if len(first) != len(specs):
                raise ProblemError(f"`inputs` of {self.problem.name} gives {len(first)} arrays, then {len(specs)}. Give as many for a case each time.")

    def _pool_jumps(self, shown: Sequence[Probe]) -> None:
        """Of the case that is timed: what jumps with one of its inputs may with all."""
        for probe in shown[:SHOWN_PROBES]:
            self._jumps = [known.with_jumps_of(own) for known, own in zip(self._jumps or [OwnError()] * len(probe.outputs), probe.own_error)]
        of_case = [[checks.scale_of(each, spec["dtype"]) for each, spec in zip(probe.expected, probe.outputs)] for probe in shown[:SHOWN_PROBES]]
        self._scales = [min(each) for each in zip(*of_case)]
        for probe in shown[:SHOWN_PROBES]:
            self._take_of_case(probe)
        for probe in shown[SHOWN_PROBES:]:
            self._take_jumps(probe)

    def _take_jumps(self, probe: Probe) -> None:
        if len(probe.own_error) == len(self._jumps):
            probe.own_error = [own.with_jumps_of(jumps) for own, jumps in zip(probe.own_error, self._jumps)]

    def _take_of_case(self, probe: Probe) -> None:
        """What is known of all inputs of the case that is timed."""
        self._take_jumps(probe)
        probe.own_error = [replace(own, scale=scale) for own, scale in zip(probe.own_error, self._scales)]

    def _allow_for_sums(self, probe: Probe) -> None:
        """Hidden contents are there for what is plainly wrong; how precise a candidate is, shown ones tell. A sum of little after much, or of equal numbers, is off by all
        its roundings together (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 4.2), as in PyTorch's batch norm of channels-last arrays on a CPU.
        Of equal ones no variance is left, by which a norm divides: what the last bits of inputs change says how much larger that makes them."""
        for which, (expected, spec) in enumerate(zip(probe.expected, probe.outputs)):
            if checks.is_float(spec["dtype"]):
                share = min(_LARGEST_SHARE, _ROUNDINGS * checks.unit_of(spec["dtype"], self.problem.allowed_inside(spec)))
                exact = checks.as_float(expected, spec["dtype"])
                # Of a few that are large: zeros beside them are rounded as they are, as those of a transform, and what is left of variance as well
                size = checks.largest(exact) if probe.name == "impulses" else checks.root_mean_square(exact)
                allowed = share * size / checks.OWN_ERRORS
                known = probe.own_error[which]
                of_equal = known.largest * _ROUNDINGS / NUDGED_UNITS / checks.OWN_ERRORS if probe.name == "equal" and spec["dtype"] in NUDGE else 0.0
                probe.own_error[which] = known.at_least(max(allowed, of_equal))

    def _takes_zeros_for(self, probe: Probe) -> bool:
        """Processors may take denormal numbers for zeros, as `-ffast-math` has them do: what that changes in numbers is allowed. False where zeros have no result, or whole
        numbers and truth values change by it, or by FP64."""
        skeleton, leaves = layout.flatten(probe.tree)
        try:
            zeros = self._reference_of(*self._reference.arrays_of(layout.unflatten(skeleton, [CONTENTS["zeros"](each) for each in leaves])))[1]
        except Trouble:
            return False
        for which, (expected, other, spec) in enumerate(zip(probe.expected, zeros, probe.outputs)):
            if checks.is_float(spec["dtype"]):
                if not bool(arrays.namespace_of(other).isfinite(checks.as_float(other, spec["dtype"])).all()):
                    return False
                apart = OwnError.of(other, checks.as_float(expected, spec["dtype"]), spec["dtype"]).largest
                probe.own_error[which] = probe.own_error[which].at_least(apart / checks.OWN_ERRORS)
            elif bool((other != expected).any()) or (probe.exact is not None and bool((probe.exact[which] != checks.as_float(expected, spec["dtype"])).any())):
                return False
        return True

    def _with_sensitivity(self, tree: Any, probe: Probe) -> list[OwnError]:
        """And how much the reference's results change with the last bits of its inputs: with contents of no variance a norm is made of rounding alone."""
        changes = [OwnError()] * len(probe.outputs)
        for own_axes, take in ((_ALL_AXES, OwnError.or_more), (2, OwnError.or_more), (0, OwnError.with_jumps_of)):  # a product of many would drift by the last
            for others in self._of_nudged(tree, own_axes):
                changes = [take(known, OwnError.of(each, checks.as_float(before, spec["dtype"]), spec["dtype"]))
                           for known, each, before, spec in zip(changes, others, probe.expected, probe.outputs)]
        return [own.or_more(change.as_jumps() if probe.exact is not None and not own.largest else change) for own, change in zip(probe.own_error, changes)]

    def _of_nudged(self, tree: Any, *own_axes: int, step: float = 0.0) -> Iterator[list[Any]]:
        """The reference's results for inputs that differ in the last bits of what they may be calculated in, or by a step."""
        skeleton, leaves = layout.flatten(tree)
        step = step or checks.rounding_of(self.problem.precision)
        for axes in own_axes:
            try:
                yield self._reference_of(*self._reference.arrays_of(layout.unflatten(skeleton, [nudged(each, axes, step) for each in leaves])))[1]
            except Trouble:
                continue

    def _takes_rounding(self, tree: Any, outputs: list[Spec]) -> bool:
        """Whether the problem's own check does: one with an absolute tolerance may not, where numbers are larger than it was made for."""
        return self.problem.compare is None or not any(self.problem.complaint(tree, each, outputs) for each in self._of_nudged(tree, _ALL_AXES, 2))

    def _look_for_rounding_alone(self, probes: list[Probe]) -> None:
        """Results that are zero but for rounding, as the mean of what was centred: no more is asked of them than what inputs are rounded to."""
        for which, spec in enumerate(probes[0].outputs):
            sizes = [float(abs(checks.as_float(each.expected[which], spec["dtype"])).max()) if arrays.count_of(each.expected[which]) else 0.0 for each in probes]
            if not checks.is_float(spec["dtype"]) or not 0.0 < sizes[0] < 10.0 * probes[0].own_error[which].usual:
                continue
            inputs = [[float(abs(checks.as_float(each, one["dtype"])).max()) for each, one in zip(probe.arrays, probe.specs)
                       if checks.is_float(one["dtype"]) and arrays.count_of(each)] for probe in probes]
            roundings = [_LAST_BITS * max(each, default=0.0) for each in inputs]
            if sizes[0] > roundings[0] * math.sqrt(max(map(arrays.count_of, probes[0].arrays), default=1)):
                self.notes.append("The last bits of inputs change the reference's results by as much as they are: only what is far off is wrong.")
                continue
            self.notes.append("The reference's result is made of rounding errors: every number as small is right.")
            for probe, rounding in zip(probes, roundings):
                probe.own_error[which] = probe.own_error[which].at_least(rounding)

    def _look_for_constants(self, shown: Sequence[Probe]) -> None:
        """Whether what is right for some inputs is for others."""
        if self.problem.compare is not None or self.notes:
            return
        if all(checks.difference(each, first, spec["dtype"], self.problem.tolerance, True, own, self.problem.allowed_inside(spec)) is None
               for probe in shown[1:] for each, first, spec, own in zip(probe.expected, shown[0].expected, probe.outputs, probe.own_error)):
            self.notes.append("The reference's result hardly depends on its inputs: a constant is right for those that are shown.")

    def _look_for_same_inputs(self, shown: Sequence[Probe]) -> None:
        """A candidate may work on them once."""
        for which, first in enumerate(shown[0].arrays):
            if arrays.count_of(first) >= _FEWEST_ELEMENTS and all(arrays.are_same(first, each.arrays[which]) for each in shown[1:]):
                self.notes.append(f"Array {which} of the inputs is the same in every call: what follows from it alone can be kept.")

    def _is_saturated(self, probe: Probe, shown: Probe) -> bool:
        """Whether whole numbers, such as places of the largest, change much less with noise on inputs than those of shown ones do: where a softmax ties, they say nothing."""
        whole = [which for which, spec in enumerate(probe.outputs) if not checks.is_float(spec["dtype"]) and spec["dtype"] != "bool"]
        if not whole or self.problem.compare is not None:
            return False

        def changed(of: Probe) -> list[float]:
            others = next(self._of_nudged(of.tree, _ALL_AXES, step=_NOISE), of.expected)
            return [float((others[which] != of.expected[which]).mean(dtype=np.float64) if layout.framework_of(others[which]) == "numpy"
                          else (others[which] != of.expected[which]).double().mean()) for which in whole]

        return any(here < 0.5 * usual for here, usual in zip(changed(probe), changed(shown)))

    def _gives_others(self, probe: Probe) -> bool:
        """Whether the reference gives other results for the same inputs."""
        _, again = self._reference_of(probe.skeleton, probe.specs, probe.arrays)
        return any(checks.difference(each, before, spec["dtype"], self.problem.tolerance, True, OwnError(), self.problem.allowed_inside(spec)) is not None
                   for each, before, spec in zip(again, probe.expected, probe.outputs))

    def _doubts_itself(self, probe: Probe) -> bool:
        """Whether the reference is beyond the tolerance from what it calculates in 64 bits."""
        if probe.exact is None:
            return False
        jumps = self._jumps if len(self._jumps) == len(probe.outputs) else [OwnError()] * len(probe.outputs)
        return any(checks.difference(each, arrays.cast(exact, each), spec["dtype"], self.problem.tolerance, self.problem.nan_equal, own, self.problem.allowed_inside(spec)) is not None
                   for each, exact, spec, own in zip(probe.expected, probe.exact, probe.outputs, jumps) if spec["dtype"] in ("float32", "float16"))

    def _drop(self, kind: str, name: str, why: str) -> None:
        self.notes.append(f"Not tried with {kind.replace('-', ' ')} '{name}': {why.removesuffix('.')}.")

    def _probe(self, kind: str, name: str, tree: Any) -> Probe:
        skeleton, specs, given = self._reference.arrays_of(tree)
        outputs, expected = self._reference_of(skeleton, specs, given)
        exact = self._exact(tree, outputs) if kind != "hidden-strides" else None
        own_error = [OwnError()] * len(outputs)
        if exact is not None:
            own_error = [OwnError.of(each, right, spec["dtype"]) for each, right, spec in zip(expected, exact, outputs)]
        probe = Probe(kind, name, tree, skeleton, specs, given, outputs, expected, exact, own_error)
        if kind != "hidden-strides" and self.problem.compare is None:
            probe.own_error = self._with_sensitivity(tree, probe)
        return probe

    def own_error(self, tree: Any) -> list[OwnError]:
        """What the reference is off for these inputs of the case that is timed, or what their last bits change."""
        probe = self._probe("", "", tree)
        self._take_of_case(probe)
        return probe.own_error

    def _exact(self, tree: Any, outputs: list[Spec]) -> list[Any] | None:
        """What the reference calculates in 64 bits; None where it cannot, or would be no better."""
        wide = upcast(tree)
        if wide is None or self._is_random:
            return None
        try:
            found, results = self._reference_of(*self._reference.arrays_of(wide), "float64")
        except Trouble:
            return None
        if [each["shape"] for each in found] != [each["shape"] for each in outputs]:
            return None
        return [checks.as_float(each, spec["dtype"]) for each, spec in zip(results, found)]

    def _reference_of(self, skeleton: Any, specs: list[Spec], given: list[Any], precise: str = "") -> tuple[list[Spec], list[Any]]:
        """What it returns of inputs of this kind it says once, unless that depends on their contents."""
        kind = json.dumps([skeleton, specs, precise])
        known = self._outputs.get(kind)
        if known is not None:
            try:
                return self._run(skeleton, specs, given, known, precise)
            except Trouble as trouble:
                if trouble.code not in ("shape", "type"):
                    raise
        side = self._reference
        side.place(skeleton, specs, [], 1, precise)
        side.fill(0, given)
        self._outputs[kind] = [_with_precision(each, specs) for each in side.describe()]
        if not self._outputs[kind]:
            raise Trouble("type", "it returns no array")
        return self._run(skeleton, specs, given, self._outputs[kind], precise)

    def _run(self, skeleton: Any, specs: list[Spec], given: list[Any], outputs: list[Spec], precise: str) -> tuple[list[Spec], list[Any]]:
        side = self._reference
        needed = slots_of(skeleton, [], outputs, 1)[2]
        if needed > side.memory.outputs.size:
            raise TooSmall(needed)
        side.place(skeleton, specs, outputs, 1, precise)
        side.fill(0, given)
        side.run()
        return [{key: value for key, value in each.items() if key != "offset"} for each in outputs], side.all_outputs()[0]
