# SPDX-License-Identifier: Apache-2.0
"""Whether outputs are right, what is wrong with them, and in which precision they were calculated. Pure functions over arrays."""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Sequence

import numpy as np

from . import arrays
from .cell import layout
from .verdict import Trouble

#: Relative tolerance by type, where a problem names none. Precision is judged apart, and more strictly.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 3e-2, "complex64": 1e-4, "complex128": 1e-9}
#: And where a problem allows a narrower type inside.
_TOLERANCE_OF_ALLOWED = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 3e-2, "fp8": 0.1}
_MANTISSA_BITS = {"float64": 52, "complex128": 52, "float32": 23, "complex64": 23, "tf32": 10, "float16": 10, "bfloat16": 7, "fp8": 3}
SHORT_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}  #: the least precise first
_SMALLEST_NORMAL = {"float64": 2.3e-308, "float32": 1.2e-38, "float16": 6.2e-5, "bfloat16": 1.2e-38}


def as_float(array: Any, dtype: str) -> Any:
    """Elements as float64, or complex128; NumPy's bfloat16 and FP8 come as their bits."""
    if layout.framework_of(array) == "torch":
        return array.to(dtype=getattr(arrays.namespace_of(array), "complex128" if array.is_complex() else "float64"))
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype.startswith("float8"):
        import torch
        return torch.from_numpy(np.ascontiguousarray(array)).view(getattr(torch, dtype)).double().numpy()
    with np.errstate(invalid="ignore"):  # poison is a signalling NaN
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
        digits = 6 if f"{self.actual:.6g}" != f"{self.expected:.6g}" else 17
        return f"Element {place} is {self.actual:.{digits}g}, expected {self.expected:.{digits}g}; {share} of {self.count} elements {'are' if 1 < self.wrong < self.count else 'is'} wrong."


OWN_ERRORS = 10.0  #: of the reference are allowed
_OWN_RMS = 3.0  #: times its root mean square: it is told by more than one rounding of inputs, so an honest result is hardly further off
_LARGE = 0.05  #: of a result's root mean square
_ROUNDINGS, _GAP = 4, 4  #: of a usual element, that are no jump; powers of two between errors of elements that jump and those of others
_NEAR_TIES = 1e-3  #: the share of elements
_HUGE = 1e4  #: times a quarter of all elements
_FEWEST_OF_A_KIND, _OF_A_FEW = 32, 1e-3  #: elements; the scale of fewer
_SAMPLED, _LARGEST_RATIO = 1 << 16, 2.0**1000


@dataclass(frozen=True)
class OwnError:
    """What the reference itself is off. Some elements may jump by the last bits of inputs, as those of rounding and of thresholds do. No more is allowed of the others
    for that."""

    largest: float = 0.0
    usual: float = 0.0  #: of all that do not jump; the largest where none does
    jumping: float = 0.0  #: the share of those that do
    rms: float = 0.0  #: root mean square of all
    scale: float = 1.0  #: what a tolerance takes for the size of results, over their root mean square: less where a few are huge
    is_large: bool = False  #: whether what it allows of each element is no longer small beside the result: then no more is allowed of all together, either

    @classmethod
    def of(cls, actual: Any, exact: Any, dtype: str) -> OwnError:
        """Of all elements that are finite; none where elements are compared without a tolerance. Some jump where errors leave a gap, and most are below it."""
        if not is_float(dtype):
            return cls()
        xp = arrays.namespace_of(exact)
        with np.errstate(all="ignore"):
            errors = abs(as_float(actual, dtype) - exact)
            errors = errors[xp.isfinite(errors)]
            count = arrays.count_of(errors)
            largest = float(errors.max()) if count else 0.0
            size, rms = root_mean_square(exact), root_mean_square(errors)
            smallest = _ROUNDINGS * unit_of(dtype, None) * size
            evenly = cls(largest, largest, 0.0, rms, is_large=OWN_ERRORS * largest > _LARGE * size)
            if largest <= 2.0**_GAP * smallest or not smallest:
                return evenly
            powers = xp.log2((errors / smallest).clip(1.0, _LARGEST_RATIO))
            found = xp.bincount(powers.astype(np.int64) if xp is np else powers.long())
            there = [int(each) for each in xp.nonzero(found)[0 if xp is np else slice(None)]]
            for lower, upper in zip(there, there[1:]):
                jumping = int(found[upper:].sum()) / count
                if upper - lower > _GAP and jumping < 0.5:
                    usual = float(errors[powers < upper].max())
                    return cls(largest, usual, jumping, rms, is_large=OWN_ERRORS * usual > _LARGE * size)
        return evenly

    def may_jump(self, elements: int, of: int) -> bool:
        """Whether so many may: an honest result may be 30 times further off, for it may add in another order; a narrow type is not off by so much."""
        return self.jumping > 0.0 and elements <= max(1.0, max(3.0 * self.jumping, min(100.0 * self.jumping, 0.1)) * of)

    def or_more(self, other: OwnError) -> OwnError:
        """What either allows."""
        return OwnError(max(self.largest, other.largest), max(self.usual, other.usual), max(self.jumping, other.jumping), max(self.rms, other.rms),
                        min(self.scale, other.scale), self.is_large or other.is_large)

    def with_jumps_of(self, other: OwnError) -> OwnError:
        """As of inputs that are alike: few jump, so that they are not seen with all of them."""
        return replace(self, largest=max(self.largest, other.largest), jumping=max(self.jumping, other.jumping), rms=max(self.rms, other.rms)) if other.jumping else self

    def as_jumps(self) -> OwnError:
        """Of a reference that gives its inputs as they are, in another order or where a condition holds: an honest result has the same ones but for near ties."""
        return OwnError(self.largest, 0.0, _NEAR_TIES, self.rms) if self.is_large else self

    def at_least(self, error: float) -> OwnError:
        """Of every element."""
        return self.or_more(OwnError(error, error, 0.0, error))


def difference(actual: Any, expected: Any, dtype: str, tolerance: tuple[float, float] | None, nan_equal: bool,
               own_error: OwnError = OwnError(), allowed_inside: str | None = None) -> Difference | None:
    """None where they agree. `own_error` is what the reference itself is off; `allowed_inside` a narrower type than the result's."""
    count = arrays.count_of(actual)
    if not count:
        return None
    xp = arrays.namespace_of(actual)
    if not is_float(dtype):
        bad = actual != expected
        if tolerance is not None and tolerance[1] >= 1.0 and dtype != "bool":  # by no share: whole numbers may be places
            bad &= abs(as_float(actual, dtype) - as_float(expected, dtype)) > tolerance[1]
        if not bad.any():
            return None
        worst = int(xp.argmax(abs(as_float(actual, dtype) - as_float(expected, dtype)) * bad))
        return Difference(int(bad.sum()), count, worst, actual.reshape(-1)[worst].item(), expected.reshape(-1)[worst].item(), False)
    relative, absolute = tolerance if tolerance is not None else (max(_TOLERANCE.get(dtype, 0.1), _TOLERANCE_OF_ALLOWED.get(allowed_inside or "", 0.0)), 0.0)
    if not own_error.is_large and agrees_at_once(actual, expected, relative * own_error.scale if tolerance is None else 0.0, absolute, own_error.usual):
        return None
    a, e = as_float(actual, dtype), as_float(expected, dtype)
    with np.errstate(all="ignore"):
        scale = root_mean_square(e) * own_error.scale
        if tolerance is None:
            absolute = relative * scale
        allowed = absolute + relative * xp.abs(e) + (OWN_ERRORS * own_error.usual + 64 * _SMALLEST_NORMAL.get(dtype, 0.0))
        excess = xp.abs(a - e) - allowed
        same = a == e
        if nan_equal:
            same = same | (xp.isnan(a) & xp.isnan(e))
        bad = ~same & ~(excess <= 0)
        if own_error.may_jump(int(bad.sum()), count):
            bad = bad & ~(excess <= OWN_ERRORS * (own_error.largest - own_error.usual))
        of_all = absolute + relative * scale + _OWN_RMS * own_error.rms
        if own_error.is_large and root_mean_square(a - e) > of_all and not bad.any():
            bad = xp.abs(a - e) > of_all
    if not bad.any():
        return None
    has_new = has_new_nan(a, e)
    worst = int(xp.argmax((xp.isnan(a) & ~xp.isnan(e)) * 1 if has_new else xp.where(bad, xp.where(xp.isfinite(excess), excess, np.inf), -np.inf)))
    return Difference(int(bad.sum()), count, worst, a.reshape(-1)[worst].item(), e.reshape(-1)[worst].item(), has_new)


def has_new_nan(actual: Any, expected: Any) -> bool:
    """Whether there is NaN where a number is expected."""
    xp = arrays.namespace_of(actual)
    return bool((xp.isnan(actual) & ~xp.isnan(expected)).any())


def scale_of(result: Any, dtype: str) -> float:
    """See OwnError. Of some numbers alone each may be of another kind, as a sum and a mean are. Of many, those are left out that are 10,000 times as large as a quarter of
    them: masks, or a diagonal."""
    if not is_float(dtype):
        return 1.0
    if arrays.count_of(result) < _FEWEST_OF_A_KIND:
        return _OF_A_FEW
    exact = as_float(result, dtype)
    xp = arrays.namespace_of(exact)
    with np.errstate(all="ignore"):
        sizes = abs(exact.reshape(-1))
        sizes = sizes[xp.isfinite(sizes) & (sizes > 0)]
        count = arrays.count_of(sizes)
        if not count:
            return 1.0
        usual = sizes[sizes <= _HUGE * float(xp.quantile(sizes[::max(1, count // _SAMPLED) | 1], 0.25))]
        return root_mean_square(usual) / root_mean_square(exact)


def agrees_at_once(actual: Any, expected: Any, relative_to_all: float, absolute: float, own_error: float) -> bool:
    """Whether all elements differ by less than what is allowed at zero, by a look in their own type: much sooner than the whole comparison, and never true
    where that finds something. False says nothing."""
    if str(actual.dtype).removeprefix("torch.") not in ("float64", "float32", "float16", "bfloat16") or actual.dtype != expected.dtype:
        return False
    xp = arrays.namespace_of(actual)
    with np.errstate(all="ignore"):
        allowed = absolute + OWN_ERRORS * own_error
        if relative_to_all:
            wide = {"dtype": xp.float64} if xp is not np else {}
            norm = float(xp.linalg.norm(expected.reshape(-1), **wide))
            allowed += relative_to_all * norm / math.sqrt(arrays.count_of(expected)) if norm < math.inf else 0.0
        return bool(0.0 < allowed < math.inf and float(abs(actual - expected).max()) <= 0.99 * allowed)


def largest(values: Any) -> float:
    """The size of the largest of those that are finite; 0 of none."""
    usable = abs(values[arrays.namespace_of(values).isfinite(values)])
    return float(usable.max()) if arrays.count_of(usable) else 0.0


def root_mean_square(values: Any) -> float:
    """Of those that are finite; 0 of none."""
    xp = arrays.namespace_of(values)
    with np.errstate(all="ignore"):
        usable, most = values[xp.isfinite(values)], largest(values)
        return most * math.sqrt(float(xp.mean(abs(usable / most)**2))) if most else 0.0  # squares overflow


def norm_error(actual: Any, exact: Any) -> float | None:
    """The norm of the difference over that of the exact result; None where that is 0 or not finite."""
    xp = arrays.namespace_of(exact)
    with np.errstate(all="ignore"):
        usable = xp.isfinite(exact) & xp.isfinite(actual)
        norm = float(xp.linalg.norm(exact[usable]))
        if not usable.any() or norm == 0.0 or not math.isfinite(norm):
            return None
        return float(xp.linalg.norm((actual - exact)[usable])) / norm


def ulp_error(actual: Any, exact: Any, dtype: str) -> float | None:
    """The largest difference in units in the last place of the output's type, over elements above 1 % of the largest."""
    if dtype not in _MANTISSA_BITS:
        return None
    xp = arrays.namespace_of(exact)
    with np.errstate(all="ignore"):
        size = abs(exact)
        usable = xp.isfinite(exact) & xp.isfinite(actual) & (size > 0.01 * float(xp.where(xp.isfinite(size), size, 0.0).max()))
        if not usable.any():
            return None
        unit = xp.exp2(xp.floor(xp.log2(size[usable])) - _MANTISSA_BITS[dtype])
        return float((abs(actual - exact)[usable] / unit).max())


_BITS_OF_ALLOWED = {"fp32": 23, "tf32": 10, "fp16": 10, "bf16": 7, "fp8": 3}


def unit_of(dtype: str, allowed: str | None) -> float:
    """Half a unit in the last place, relative, of a type, or of a narrower one that is allowed inside."""
    bits = _MANTISSA_BITS.get(dtype, 3)
    return 2.0 ** -(min(bits, _BITS_OF_ALLOWED.get(allowed or "", bits)) + 1)


def rounding_of(precision: str | None) -> float:
    """Half a unit in the last place of what is allowed, relative; 0 where that is the inputs' type."""
    return 2.0 ** -(_BITS_OF_ALLOWED[precision] + 1) if precision else 0.0


#: Precisions by their bits of mantissa. Rounding to so many leaves an error of norm of 2^-(bits + 1) / sqrt(3) for each operand; taken are a quarter of
#: that to three times that.
_NAMES = (("fp8 or int8", 3), ("bf16", 7), ("tf32 or fp16", 10))
_FURTHER_OF_NARROW = 4.0
_FEWEST = 32  #: elements by which roundings are told from other errors


def less_precise(error: float | None, own: float | None, dtype: str, allowed: str | None) -> str | None:
    """The precision that an error speaks of, where it is less than what was asked. `own` is the reference's error of the same inputs: an honest result
    may be 30 times worse, for it may add in another order, and 4 times in a narrow type."""
    if error is None or own is None or dtype not in _MANTISSA_BITS:
        return None
    bits = _BITS_OF_ALLOWED.get(allowed or "", _MANTISSA_BITS[dtype])
    is_narrow = _MANTISSA_BITS[dtype] < 23  # rounding of the result is most of the error there
    if error <= max((_FURTHER_OF_NARROW if is_narrow else 30.0) * own, (30.0 if bits >= 23 else 2.0) * 2.0**-(bits + 1)):
        return None
    for name, has in _NAMES:
        unit = 2.0**-(has + 1) / math.sqrt(3.0)
        if has < bits and unit / 4.0 < error < 3.0 * unit:
            return name
    return "fp32" if bits > 23 and 1e-9 < error < 1e-4 else None


def may_lack_something(error: float | None, own: float | None, dtype: str, allowed: str | None) -> bool:
    """Whether an error is 100 times the reference's, and more than FP32's rounding mostly makes: a sum in another order may be, and a term that is left out."""
    bits = _BITS_OF_ALLOWED.get(allowed or "", _MANTISSA_BITS.get(dtype, 0))
    return error is not None and own is not None and bits == 23 and error > max(100.0 * own, 30.0 * 2.0**-24)


_SMALL_CHANGE, _SHARE_OF_CHANGE = 0.01, 0.1  #: of a result; of the change


def change_left_out(actual: Any, expected: Any, inputs: Sequence[Any], dtype: str, own_error: OwnError) -> str:
    """What is wrong with a result that is hardly other than an input, as that of an optimizer's step is: a tolerance of its size says nothing of the change."""
    if dtype not in ("float32", "float64"):
        return ""
    a, e = as_float(actual, dtype), as_float(expected, dtype)
    with np.errstate(invalid="ignore"):  # of infinities
        whole, off = root_mean_square(e), root_mean_square(a - e)
        changes = {place: root_mean_square(e - as_float(each, dtype)) for place, each in enumerate(inputs)
                   if tuple(each.shape) == tuple(actual.shape) and each.dtype == actual.dtype}
    for place, change in changes.items():
        if change < _SMALL_CHANGE * whole and off > _SHARE_OF_CHANGE * change + 16.0 * unit_of(dtype, None) * whole + _OWN_RMS * own_error.rms:
            return f"The result is input {place} with a change of {change:.3g} (root mean square), and it is {off:.3g} off."
    return ""


def is_spread(actual: Any, exact: Any) -> bool:
    """Whether errors are in more than a tenth of all places, as those of rounding are, and not in few."""
    xp = arrays.namespace_of(exact)
    with np.errstate(all="ignore"):
        says_something = (exact != 0) | (actual != 0)  # zeros of a rectifier are right in any precision
        errors = abs(actual - exact)[xp.isfinite(exact) & xp.isfinite(actual) & says_something]
        return arrays.count_of(errors) >= _FEWEST and int((errors > 0.05 * math.sqrt(float(xp.mean(errors**2)))).sum()) > 0.1 * arrays.count_of(errors)


class Earlier:
    """Outputs of earlier calls, by which a stale result is known."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], int] = {}
        self._calls = 0

    def add(self, outputs: Sequence[Any]) -> None:
        """Of one call more."""
        self.count()
        self.keep(outputs)

    def count(self) -> None:
        """One call more, of which nothing is known yet."""
        self._calls += 1

    def keep(self, outputs: Sequence[Any]) -> None:
        """Of the last call."""
        for which, each in enumerate(outputs):
            if arrays.count_of(each) > 1:
                self._seen[which, arrays.digest(each)] = self._calls

    def age(self, which: int, array: Any) -> int | None:
        """How many calls ago it was returned: 1 for the one before."""
        seen = self._seen.get((which, arrays.digest(array))) if arrays.count_of(array) > 1 else None
        return None if seen is None else self._calls - seen + 1


def diagnose(actual: Any, found: Difference, unwritten: float, inputs: Sequence[Any], age: int | None) -> Trouble:
    """What is wrong with an output that differs from the expected one."""
    words = found.words(tuple(actual.shape))
    if unwritten == 1.0:
        return Trouble("unwritten", "It wrote no output at all.")
    # Else numbers are just as poison is, as some of eight bits are
    if unwritten > 0.0 and (found.has_new_nan or 0.5 * found.wrong <= unwritten * found.count <= found.wrong):
        return Trouble("unwritten", f"It did not write {100 * unwritten:.3g} % of its output.")
    for place, each in enumerate(inputs):
        if arrays.count_of(actual) > 1 and arrays.are_same(each, actual):
            return Trouble("input", f"It returns its input {place}.")
    if age is not None:
        return Trouble("stale", "It returns the result of the call before." if age == 1 else f"It returns the result of {age} calls before.")
    if found.has_new_nan:
        return Trouble("nan", f"It returns NaN where numbers are expected. {words}")
    return Trouble("values", words)
