# SPDX-License-Identifier: Apache-2.0
"""Whether outputs are right, what is wrong with them, and in which precision they were calculated. Pure functions over arrays."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from .verdict import Trouble

Spec = dict[str, Any]
#: Relative tolerance by type, where a problem names none. Precision is judged apart, and more strictly.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 3e-2, "complex64": 1e-4, "complex128": 1e-9}
_MANTISSA_BITS = {"float64": 52, "float32": 23, "tf32": 10, "float16": 10, "bfloat16": 7, "fp8": 3}
_SMALLEST_NORMAL = {"float64": 2.3e-308, "float32": 1.2e-38, "float16": 6.2e-5, "bfloat16": 1.2e-38}


def as_float(array: Any, dtype: str) -> Any:
    """Elements as float64, or complex128; bfloat16 and FP8 come as their bits."""
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype.startswith("float8"):
        import torch
        return torch.from_numpy(np.ascontiguousarray(array)).view(getattr(torch, dtype)).double().numpy()
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def is_float(dtype: str) -> bool:
    """Whether elements are compared within a tolerance."""
    return dtype in _TOLERANCE or dtype.startswith("float8")


@dataclass
class Difference:
    """Between an output and what was expected."""

    wrong: int  #: elements beyond the tolerance
    count: int
    worst: int  #: the flat index of the worst
    actual: Any
    expected: Any
    has_new_nan: bool  #: NaN where a number is expected

    def words(self, shape: Sequence[int]) -> str:
        """One sentence."""
        place = tuple(int(each) for each in np.unravel_index(self.worst, shape)) if shape else ()
        share = f"{100 * self.wrong / self.count:.3g} %" if self.wrong < self.count else "every one"
        return f"Element {place} is {self.actual:.6g}, expected {self.expected:.6g}; {share} of {self.count} elements {'are' if self.wrong != 1 else 'is'} wrong."


def difference(actual: Any, expected: Any, dtype: str, tolerance: tuple[float, float] | None, nan_equal: bool,
               own_error: float = 0.0) -> Difference | None:
    """None where they agree. `own_error` is what the reference itself is off, and is allowed tenfold."""
    if not actual.size:
        return None
    if not is_float(dtype):
        bad = actual != expected
        if not bad.any():
            return None
        worst = int(np.argmax(bad))
        return Difference(int(bad.sum()), actual.size, worst, int(actual.flat[worst]), int(expected.flat[worst]), False)
    # Most are equal or near: found without a copy in 64 bits, where the type has it
    a, e = as_float(actual, dtype), as_float(expected, dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(e)
        scale = math.sqrt(float(np.mean(np.abs(e[finite])**2))) if finite.any() else 0.0
        relative, absolute = tolerance if tolerance is not None else (_TOLERANCE.get(dtype, 0.1), 0.0)
        if tolerance is None:
            absolute = relative * scale
        allowed = absolute + relative * np.abs(e) + 10.0 * own_error + 64 * _SMALLEST_NORMAL.get(dtype, 0.0)
        excess = np.abs(a - e) - allowed
        same = a == e
        if nan_equal:
            same |= np.isnan(a) & np.isnan(e)
        bad = ~same & ~(excess <= 0)
    if not bad.any():
        return None
    order = np.where(bad, np.where(np.isfinite(excess), excess, np.inf), -np.inf)
    worst = int(np.argmax(order))
    return Difference(int(bad.sum()), a.size, worst, a.flat[worst], e.flat[worst], bool((np.isnan(a) & ~np.isnan(e)).any()))


def norm_error(actual: Any, exact: Any) -> float | None:
    """The norm of the difference over that of the exact result; None where that is 0 or not finite."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(exact) & np.isfinite(actual)
        norm = float(np.linalg.norm(exact[usable]))
        if not usable.any() or norm == 0.0 or not math.isfinite(norm):
            return None
        return float(np.linalg.norm((actual - exact)[usable])) / norm


def ulp_error(actual: Any, exact: Any, dtype: str) -> float | None:
    """The largest difference in units in the last place of the output's type, over elements above 1 % of the largest."""
    if dtype not in _MANTISSA_BITS:
        return None
    with np.errstate(all="ignore"):
        size = np.abs(exact)
        usable = np.isfinite(exact) & np.isfinite(actual) & (size > 0.01 * np.nanmax(np.where(np.isfinite(size), size, 0)))
        if not usable.any():
            return None
        unit = np.exp2(np.floor(np.log2(size[usable])) - _MANTISSA_BITS[dtype])
        return float(np.max(np.abs(actual - exact)[usable] / unit))


#: Errors of norm that arithmetic with so many bits leaves at least: half a unit, 2^-(bits + 1), over the square root of 3 for even roundings, and
#: a margin of four.
_NAMES = (("fp8", 3), ("bf16", 7), ("tf32 or fp16", 10))


def less_precise(error: float | None, own: float | None, dtype: str, allowed: str | None) -> str | None:
    """The precision that an error speaks of, where it is less than what was asked. `own` is the reference's error of the same inputs: an honest result
    may be 30 times worse, for it may add in another order."""
    if error is None or own is None or dtype not in ("float64", "float32"):
        return None
    bits = {None: _MANTISSA_BITS[dtype], "fp32": 23, "tf32": 10, "fp16": 10, "bf16": 7, "fp8": 3}.get(allowed, _MANTISSA_BITS[dtype])
    if error <= 30.0 * max(own, 2.0**-(bits + 1)):
        return None
    if dtype == "float64" and bits == 52 and error < 1e-4:
        return "fp32" if error > 1e-9 else None
    for name, has in _NAMES:
        if has < bits and error > 2.0**-(has + 1) / math.sqrt(3.0) / 4.0:
            return name
    return None


def diagnose(actual: Any, spec: Spec, expected: Difference, unwritten: float, inputs: Sequence[Any], earlier: Sequence[Any]) -> Trouble:
    """What is wrong with an output that differs from the expected one."""
    def same(other: Any) -> bool:
        return other.shape == actual.shape and other.dtype == actual.dtype and bool(np.array_equal(other.view(np.uint8) if other.flags.c_contiguous else other,
                                                                                                  actual.view(np.uint8) if other.flags.c_contiguous else actual))
    words = expected.words(actual.shape)
    if unwritten == 1.0:
        return Trouble("unwritten", "It wrote no output at all.")
    if unwritten > 0.0:
        return Trouble("unwritten", f"It did not write {100 * unwritten:.3g} % of its output.")
    if actual.size > 1:
        for place, each in enumerate(inputs):
            if same(each):
                return Trouble("input", f"It returns its input {place}.")
        for age, each in enumerate(reversed(earlier), 1):
            if same(each):
                return Trouble("stale", "It returns the result of the call before." if age == 1 else f"It returns the result of {age} calls before.")
    if expected.has_new_nan:
        return Trouble("nan", f"It returns NaN where numbers are expected. {words}")
    return Trouble("values", words)
