# SPDX-License-Identifier: Apache-2.0
"""Contents of inputs that a problem does not show: each makes another array of the same type and shape, or gives back the same where it means nothing."""
from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from . import arrays
from .cell import layout

_TINY = {"float16": 1e-6, "bfloat16": 1e-39, "float32": 1e-40, "float64": 1e-310}  #: times a number around 1: a denormal
_SMALL = {"float16": 2.0**-7, "bfloat16": 2.0**-13, "float32": 2.0**-13, "float64": 2.0**-13}
_LARGE = {"float16": 16.0, "bfloat16": 1e4, "float32": 1e4, "float64": 1e6}
_SPIKE = {"float16": 64.0, "bfloat16": 256.0, "float32": 256.0, "float64": 256.0}


_CORNER = 64
_FEWEST_SORTED = 16  #: that are not by chance


def _is_matrix(array: Any) -> bool:
    return len(array.shape) >= 2 and array.shape[-1] == array.shape[-2] > 2


def _is_symmetric(array: Any) -> bool:
    return _is_matrix(array) and bool((array == array.swapaxes(-1, -2)).all())


def _is_line(array: Any) -> bool:
    return len(array.shape) >= 1 and array.shape[-1] >= _FEWEST_SORTED


def _values(array: Any) -> list[float]:
    """Of some elements."""
    flat = array.reshape(-1)
    some = flat[::max(1, len(flat) // 4096)]
    return list(np.unique(arrays.on_host(some.double() if layout.framework_of(array) == "torch" else some)).tolist())


#: What inputs may be by construction. Told from a corner first.
_STRUCTURES: tuple[Callable[[Any], bool], ...] = (
    _is_symmetric,
    lambda x: _is_symmetric(x) and bool((x.diagonal(0, -2, -1) > 0).all()),  # it may be positive definite
    lambda x: _is_matrix(x) and not bool((arrays.namespace_of(x).triu(x, 1) != 0).any()),
    lambda x: _is_matrix(x) and not bool((arrays.namespace_of(x).tril(x, -1) != 0).any()),
    lambda x: _is_line(x) and bool((x[..., 1:] >= x[..., :-1]).all()),
    lambda x: _is_line(x) and bool((x[..., 1:] > x[..., :-1]).all()))


#: The same of whole lines: tables of rotary embeddings hold each number twice.
_REPEATS: tuple[Callable[[Any], bool], ...] = (
    lambda x: _is_line(x) and x.shape[-1] % 2 == 0 and bool((x[..., :x.shape[-1] // 2] == x[..., x.shape[-1] // 2:]).all()),
    lambda x: _is_line(x) and x.shape[-1] % 2 == 0 and bool((x[..., ::2] == x[..., 1::2]).all()))


def _is_lost(array: Any, made: Any) -> bool:
    """Whether an array is symmetric, triangular, sorted, holds each number twice, or is of two or three values, and is no longer so: candidates may rest on that."""
    values = _values(array)
    if len(values) < 2:  # a weight that is one everywhere is no structure
        return False
    if len(values) <= 3 < arrays.count_of(array) // 4 and not set(_values(made)) <= set(values):
        return True
    corner = array[(..., *[slice(_CORNER)] * min(2, len(array.shape)))]
    line = array[(0,) * (len(array.shape) - 1)] if array.shape else array
    return any(holds(part) and holds(array) and not holds(made) for part, what in ((corner, _STRUCTURES), (line, _REPEATS)) for holds in what)


def _on_floats(change: Callable[[Any, str], Any]) -> Callable[[Any], Any]:
    """A change of floating-point arrays, made in their own framework."""

    def changed(array: Any) -> Any:
        name = str(array.dtype).removeprefix("torch.")
        if name not in _TINY or 0 in tuple(array.shape):
            return array
        made = change(array, name)
        return array if made is array or _is_lost(array, made) else made

    return changed


def _copy(array: Any) -> tuple[Any, Any]:
    """A copy, and its elements as they lie in memory, by which it can be changed."""
    if layout.framework_of(array) == "torch":
        made = array.clone()
        return made, made.as_strided((made.numel(),), (1,), 0)
    made = np.array(array)  # one of NumPy's numbers, too
    return made, made.ravel(order="K")


def _scaled(factors: dict[str, float]) -> Callable[[Any, str], Any]:
    return lambda array, name: array * array.dtype.type(factors[name]) if layout.framework_of(array) == "numpy" else array * factors[name]


def _zeros(array: Any, name: str) -> Any:
    return array * 0


def _filled(array: Any, name: str) -> Any:
    """Numbers where all are zeros: who does without that input would not show."""
    if bool((array != 0).any()):
        return array
    made, flat = _copy(array)
    flat += arrays.cast(arrays.like(flat, np.random.default_rng().standard_normal(len(flat))), flat)
    return made


_UNEVEN_LINE, _UNEVEN, _FEWEST_UNEVEN = 4.0, 2.0, 4


def _uneven(array: Any, name: str) -> Any:
    """Half of each axis, from a random place on, is larger: so that a part of a sum says nothing of the whole."""
    made = array
    for axis, size in enumerate(array.shape):
        if size >= _FEWEST_UNEVEN:
            made = _copy(array)[0] if made is array else made
            places = (np.arange(size // 2) + int(np.random.default_rng().integers(size))) % size
            made[(slice(None),) * axis + (arrays.like(made, places),)] *= _UNEVEN_LINE if axis == len(array.shape) - 1 else _UNEVEN
    return made


def _equal(array: Any, name: str) -> Any:
    made, flat = _copy(array)
    made[...] = flat[len(flat) // 2]
    return made


def _signs(array: Any, name: str) -> Any:
    """Swapped, where there are both."""
    return -array if bool((array < 0).any()) and bool((array > 0).any()) else array


def _negatives(array: Any, name: str) -> Any:
    """A random half is negative, where nothing was: what is done for negative numbers alone would not show."""
    if not bool((array > 0).any()) or bool((array < 0).any()):
        return array
    made, flat = _copy(array)
    flat *= arrays.like(flat, np.random.default_rng().choice(np.array([-1, 1], np.int8), len(flat)))
    return made


_FEWEST_IN_ZEROS = 16


def _impulses(array: Any, name: str) -> Any:
    """All zeros but the first element, the last one, and three more: so that each of them makes all of a result."""
    made, flat = _copy(array)
    if len(flat) < _FEWEST_IN_ZEROS:
        return array
    places = [0, len(flat) - 1, *(int(each) for each in _places(flat, 3))]
    kept = [flat[each].item() for each in places]
    flat[:] = 0
    for place, value in zip(places, kept):
        flat[place] = value
    return made


def _places(flat: Any, count: int) -> Any:
    """So many, at random; some may be the same."""
    places = np.random.default_rng().integers(len(flat), size=count)
    return arrays.like(flat, places)


def _spike(array: Any, name: str) -> Any:
    """One element, in a random place, is large, and the last one, which is positive where anything is; and one more with the other sign, where there are both."""
    made, flat = _copy(array)
    places = _places(flat, 2)
    has_positive = bool((array > 0).any())
    flat[places[:1]] *= _SPIKE[name]
    flat[-1:] = (abs(flat[-1:]) if has_positive else flat[-1:]) * _SPIKE[name]
    if bool((array < 0).any()) and has_positive:
        flat[places[1:]] = -flat[places[:1]]
    return made


_ONE_OF = 1000


def _outliers(array: Any, name: str) -> Any:
    """One element of a thousand is large: too few to be known by a look at some."""
    made, flat = _copy(array)
    flat[_places(flat, -(-len(flat) // _ONE_OF))] *= _SPIKE[name]
    return made


def _ties(array: Any, name: str) -> Any:
    """One element of a thousand is as another one."""
    made, flat = _copy(array)
    if len(flat) < 2:
        return array
    places = _places(flat, -(-len(flat) // _ONE_OF))
    flat[places] = flat[(places + 1 + int(np.random.default_rng().integers(len(flat) - 1))) % len(flat)]
    return made


def _nan(array: Any, name: str) -> Any:
    made, flat = _copy(array)
    flat[_places(flat, 1)] = float("nan")
    return made


#: Those that every problem is tried with, unless it names its own.
CONTENTS: dict[str, Callable[[Any], Any]] = {
    "zeros": _on_floats(_zeros),
    "denormal": _on_floats(_scaled(_TINY)),
    "small": _on_floats(_scaled(_SMALL)),
    "large": _on_floats(_scaled(_LARGE)),
    "uneven": _on_floats(_uneven),
    "filled": _on_floats(_filled),
    "equal": _on_floats(_equal),
    "signs": _on_floats(_signs),
    "negatives": _on_floats(_negatives),
    "impulses": _on_floats(_impulses),
    "spike": _on_floats(_spike),
    "outliers": _on_floats(_outliers),
    "ties": _on_floats(_ties),
    "nan": _on_floats(_nan),  # for problems that name it alone: few say what a maximum of NaN is
}


def changed(given: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Arrays with other contents; none where that leaves all as they are."""
    made = [change(each) for each in given]
    return [] if all(one is other for one, other in zip(made, given)) else made


NUDGED_UNITS = 32  #: halves of a unit in the last place, as a sum of some hundred products is off
NUDGE = {"float32": NUDGED_UNITS * 2.0**-24, "float64": NUDGED_UNITS * 2.0**-53}


def nudged(array: Any, own_axes: int, step: float = 0.0) -> Any:
    """Each element moved by its last bits, or by a larger step, up or down: what that changes in a result, rounding changes as well. `own_axes`: the first ones, along which
    that is drawn anew. Two are as roundings of equal sums are, none as those of sums of positive numbers."""
    name = str(array.dtype).removeprefix("torch.")
    if name not in NUDGE or 0 in tuple(array.shape):
        return array
    shape = tuple(size if axis < own_axes else 1 for axis, size in enumerate(array.shape))
    if layout.framework_of(array) == "torch":
        return array * (1.0 + max(NUDGE[name], step) * array.new_empty(shape).uniform_(-1.0, 1.0).sign())
    return array * (1.0 + max(NUDGE[name], step) * np.random.default_rng().choice((-1.0, 1.0), shape)).astype(array.dtype)


class Strided:
    """The same values in every second place of a longer last axis."""

    def __call__(self, array: Any) -> Any:
        if not tuple(array.shape) or 0 in tuple(array.shape):
            return array
        shape = (*array.shape[:-1], 2 * array.shape[-1])
        if layout.framework_of(array) == "torch":
            wide = array.new_empty(shape)
        else:
            wide = np.empty(shape, array.dtype)
        wide[...] = 1
        wide[..., ::2] = array
        return wide[..., ::2]
