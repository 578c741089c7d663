# SPDX-License-Identifier: Apache-2.0
"""The least time that the device's measured ceilings leave a problem, and what limits a candidate above it."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping

from .. import _core
from . import arrays


#: What a pipe's operations are calculated by. CPUs have no faster path for a narrower type than their vectors.
_PIPE_CEILINGS = {"fp32": ("gemm-fp32", "fp32"), "fp64": ("gemm-fp64", "fp64", "tensor-fp64"), "tf32": ("tensor-tf32", "gemm-fp32", "fp32"),
                  "fp16": ("tensor-fp16", "fp16", "fp32"), "bf16": ("tensor-bf16", "fp32"), "fp8": ("tensor-fp8", "tensor-fp16")}
#: Products of FP32 come out of tensor cores as precise, from three products of halves each. No result is refused that is no faster than that.
_SPLIT = {"fp32": (3.0, ("tensor-tf32", "tensor-fp16", "tensor-bf16"))}
#: Without a ceiling of these, what a GPU can do for the type is not known.
_NEEDED = {"fp64": "tensor-fp64", "tf32": "tensor-tf32", "fp16": "tensor-fp16", "bf16": "tensor-bf16", "fp8": "tensor-fp8"}


_MEMORY = ("dram-read", "dram-write", "dram-copy", "dram-triad")


@dataclass
class Floor:
    """Seconds that no correct call can be faster than; None where it is not known."""

    seconds: float | None
    limiter: str  #: empty where it is not known
    basis: str  #: what it rests on, or why there is none
    parts: dict[str, float]
    least: float | None = None  #: seconds below which no result is believed: what wider operations made of narrower ones take


def bytes_of(given: list[Any]) -> int:
    """Each array once."""
    return sum(arrays.bytes_of(each) for each in given)


def _fastest(ceilings: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]) -> tuple[str, float] | None:
    """The upper end of the interval of the highest of these ceilings."""
    found = [(name, float(max(ceilings[name].get("ci95") or [ceilings[name]["value"]]))) for name in names if name in ceilings]
    return max(found, key=lambda each: each[1]) if found else None


def _scaled(amount: float, unit: str) -> str:
    """Four digits with an SI prefix."""
    size, prefix = next(((size, prefix) for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if amount >= size), (1.0, ""))
    return f"{amount / size:.4g} {prefix}{unit}"


def share_text(share: float | None) -> str:
    """Of a floor, in per cent: two digits below ten."""
    return "" if share is None else f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def floor_of(calibration: Mapping[str, Any] | None, why_none: str, moved_bytes: float, resident_bytes: float, flops: Mapping[str, float],
             allowed: str | None = None) -> Floor:
    """`moved_bytes` of one call must be read or written once; `resident_bytes` is what a whole batch touches: what a cache holds is served by it. `allowed`:
    a precision that the problem allows below its types."""
    if calibration is None:
        return Floor(None, "", why_none, {})
    ceilings = {each["resource"]: each for each in calibration.get("ceilings", ())}
    is_gpu = any(name.startswith("tensor-") for name in ceilings)
    capacities = {each["resource"]: max(each.get("capacity_ci95", [each["capacity_bytes"]])) for each in calibration.get("levels", ())}
    memory = _fastest(ceilings, (*(name for name, size in capacities.items() if size >= resident_bytes), *_MEMORY))
    parts: dict[str, tuple[str, float]] = {}
    least, unknown = 0.0, []
    if memory:
        # What a cache holds at the end of a batch was not yet written to memory
        last = max(capacities, key=lambda name: capacities[name], default="")
        kept, cache = min(1.0, capacities.get(last, 0.0) / max(resident_bytes, 1.0)), _fastest(ceilings, (last,))
        parts["memory"] = (memory[0], moved_bytes / memory[1])
        least = parts["memory"][1] if not cache else min(parts["memory"][1], moved_bytes * ((1.0 - kept) / memory[1] + kept / max(cache[1], memory[1])))
    for pipe, count in flops.items():
        lacking = [_NEEDED[each] for each in (pipe, allowed) if each in _NEEDED and _NEEDED[each] not in ceilings and is_gpu]
        rate = _fastest(ceilings, (*_PIPE_CEILINGS.get(pipe, (pipe,)), *_PIPE_CEILINGS.get(allowed or "", ())))
        if lacking or not rate or not count:
            unknown += lacking
            continue
        parts[pipe] = (rate[0], count / rate[1])
        products, names = _SPLIT.get(pipe, (1.0, ()))
        split = _fastest(ceilings, names)
        least = max(least, count / max(rate[1], split[1] / products if split else 0.0))
    if not parts:
        return Floor(None, "", "The calibration has no ceiling that this problem needs.", {})
    slowest = max(parts.values(), key=lambda each: each[1])
    work = _scaled(moved_bytes, "B") + "".join(f", {_scaled(count, 'FLOP')} on {pipe}" for pipe, count in flops.items() if pipe in parts)
    missing = f"; without {', '.join(dict.fromkeys(unknown))}, which --calibrate=full measures" if unknown else ""
    return Floor(slowest[1], slowest[0], f"{work}; the calibration of {calibration.get('created_utc', 'an unknown time')}{missing}",
                 {name: seconds for name, seconds in parts.values()}, least)


def next_step(floor: Floor, seconds: float | None, overhead_seconds: float | None) -> str:
    """The one thing to do next."""
    if seconds is None or floor.seconds is None:
        return ""
    if overhead_seconds is not None and overhead_seconds > seconds:
        return "A call's overhead is longer than its work: do more in one call."
    share = floor.seconds / seconds
    if share > 0.8:
        return f"It reaches {100 * share:.0f} % of what {_core.label_of(floor.limiter)} allows: change what must be moved or calculated, not how."
    times = f"{1 / share:.1f}" if share > 0.1 else f"{1 / share:.0f}"
    known = "" if len(floor.parts) > 1 else " by its bytes alone, for `work` says no FLOP"
    return f"The ceiling of {_core.label_of(floor.limiter)} lets it be {times} times as fast{known}: profile what holds it back."


def work_of(outputs: list[Any], inputs: list[Any], declared: Mapping[str, float] | None) -> tuple[float, dict[str, float]]:
    """Bytes and FLOP of one call. Throws ValueError where what is declared is neither."""
    work = {str(name): float(value) for name, value in dict(declared or {}).items()}
    wrong = next((f"{name} is {value}" for name, value in work.items() if not 0.0 <= value < math.inf), "")
    if wrong:
        raise ValueError(wrong)
    moved = work.pop("bytes", float(bytes_of(inputs) + bytes_of(outputs)))
    for name in work:
        _core.check_pipe(name)
    return moved, work
