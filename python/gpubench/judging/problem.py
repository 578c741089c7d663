# SPDX-License-Identifier: Apache-2.0
"""What is to be computed: a reference, how its inputs are made, what counts as right."""
from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core
from . import arrays
from .cell import layout
from .contents import CONTENTS, Strided, changed

Case = Mapping[str, Any]
PRECISIONS = ("tf32", "fp16", "bf16", "fp8")


class ProblemError(_core.UsageError):  # type: ignore[misc]
    """The problem itself does not work."""


@dataclass
class Problem:
    """One problem, as an adapter has read it."""

    name: str
    file: str
    adapter: str  #: the file of the adapter, which loads the reference and the candidates in their processes
    make: Callable[[Case, int], Any]  #: inputs of a case, from a seed: a tuple is the arguments, all else the one argument
    reference_facts: dict[str, Any]  #: what the adapter needs to load the reference
    candidate_facts: dict[str, Any]
    cases: Sequence[Case] = ({},)  #: shown; the first is timed
    hidden_cases: Sequence[Case] = ()
    contents: Sequence[str] = tuple(each for each in CONTENTS if each != "nan")
    strides: bool = False  #: whether inputs may be views with holes
    mutable: bool = False  #: whether a call may change its inputs
    tolerance: tuple[float, float] | None = None  #: relative, absolute
    compare: Callable[[Any, Any], str] | None = None  #: the problem's own check of (inputs, outputs); what is wrong, or nothing
    precision: str | None = None  #: "tf32", "fp16", "bf16" or "fp8" where less than the inputs' type is allowed
    nan_equal: bool = True
    work: Callable[[Any], Mapping[str, float]] | None = None  #: FLOP of a call by pipe, and "bytes" where not each array moves once
    beside: Sequence[str] = ()  #: files that candidates import
    hidden_files: Sequence[str] = field(default_factory=list)  #: that candidates shall not see

    def __post_init__(self) -> None:
        """Throws ProblemError where what a problem's file says of itself is of another kind."""
        def all_of(things: Any, kind: Callable[[Any], bool]) -> bool:
            return isinstance(things, (tuple, list)) and all(map(kind, things))

        def is_case(each: Any) -> bool:
            return isinstance(each, Mapping)

        pair = self.tolerance
        is_pair = all_of(pair, lambda each: isinstance(each, (int, float)) and 0 <= each < math.inf) and len(pair or ()) == 2
        checks = {"cases": (bool(self.cases) and all_of(self.cases, is_case), "a list of dicts, at least one"),
                  "hidden_cases": (all_of(self.hidden_cases, is_case), "a list of dicts"),
                  "contents": (all_of(self.contents, lambda each: each in CONTENTS), f"a list of {', '.join(CONTENTS)}"),
                  "strides": (isinstance(self.strides, bool), "True or False"),
                  "mutable": (isinstance(self.mutable, bool), "True or False"),
                  "tolerance": (pair is None or is_pair, "a pair of numbers, relative and absolute"),
                  "precision": (self.precision in (None, *PRECISIONS), f"one of {', '.join(PRECISIONS)}"),
                  "compare": (self.compare is None or callable(self.compare), "a function")}
        for name, (is_right, words) in checks.items():
            if not is_right:
                raise ProblemError(f"`{name}` of {self.name} is to be {words}, and is {str(getattr(self, name))[:80]!r}.")

    def fresh(self, case: Case, **how: Any) -> Any:
        """The same as `inputs`. Throws ProblemError where there are none, or none that can be handed over."""
        try:
            tree = self.inputs(case, **how)
            for each in layout.flatten(tree)[1]:
                layout.spec_of(each)
                if isinstance(each, np.ndarray) and type(each) not in (np.ndarray, np.memmap):
                    raise TypeError(f"a {type(each).__name__} is no plain array: what it is beyond its numbers would be lost. Give `np.asarray` of it")
            return tree
        except (Exception, SystemExit) as error:  # noqa: BLE001: the problem's own
            words = f"{self.name} cannot make inputs{f' for {dict(case)}' if case else ''}"
            raise ProblemError(f"{words}: {type(error).__name__}: {str(error).rstrip('.')}.") from None

    def inputs(self, case: Case, contents: str = "", strided: bool = False, seed: int | None = None) -> Any:
        """Fresh inputs. The seed comes from the system's random numbers, unless one is given."""
        tree = self.make(case, secrets.randbits(31) if seed is None else seed)
        if not contents and not strided:
            return tree
        skeleton, leaves = layout.flatten(tree)
        made = changed(leaves, Strided() if strided else CONTENTS[contents])
        return layout.unflatten(skeleton, made) if made else None


    def allowed_inside(self, spec: Mapping[str, Any]) -> str | None:
        """The precision in which an output may be calculated, where that is less than its type: a number of Python has 64 bits, whatever it was calculated in."""
        return self.precision or spec.get("inside")

    def complaint(self, tree: Any, outputs: Sequence[Any], specs: Sequence[Any]) -> str:
        """What the problem's own check, where it has one, says of outputs; nothing where they are right."""
        if self.compare is None:
            return ""
        results = [layout.on_device(layout.as_framework(each, spec), spec) for each, spec in zip(outputs, specs)]
        if self.mutable:  # a check may run the reference, which leaves the right results in its inputs: others would be given them
            skeleton, leaves = layout.flatten(tree)
            tree = layout.unflatten(skeleton, [arrays.copied(each) for each in leaves])
        try:
            found = self.compare(tree, results[0] if len(results) == 1 else tuple(results))
            if found is not None and not isinstance(found, str):
                raise ProblemError(f"`compare` of {self.name} is to return what is wrong as a text, or an empty one, and returns {str(found)[:80]!r}.")
            return found or ""
        except ProblemError:
            raise
        except Exception as error:  # noqa: BLE001: the problem's own, of what a candidate gave
            if "out of memory" in str(error):  # says nothing of what it gave
                raise
            return f"{type(error).__name__}: {error}"


def upcast(tree: Any) -> Any | None:
    """The same inputs with floating point in 64 bits; None where nothing is to be gained."""
    skeleton, leaves = layout.flatten(tree)
    wide = []
    gains = False
    for leaf in leaves:
        name = str(leaf.dtype).removeprefix("torch.")
        is_float = name.startswith(("float", "bfloat")) and not name.startswith("float4")
        gains = gains or (is_float and name != "float64")
        if not is_float:
            wide.append(leaf)
        elif layout.framework_of(leaf) == "torch":
            wide.append(leaf.double())
        else:
            wide.append(leaf.astype("float64"))
    return layout.unflatten(skeleton, wide) if gains else None
