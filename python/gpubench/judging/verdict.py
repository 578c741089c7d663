# SPDX-License-Identifier: Apache-2.0
"""What the judge says of a candidate."""
from __future__ import annotations

import contextlib
import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Iterator

#: What can be said against a candidate, and which verdict that makes. `refused`: its times are not believed, or not of what was asked.
REASONS = {
    "load": "wrong",  # it does not import, compile, or have the name
    "error": "wrong",  # it raises
    "crash": "wrong",
    "time-limit": "wrong",
    "memory": "wrong",
    "type": "wrong",  # of what it returns
    "shape": "wrong",
    "unwritten": "wrong",  # outputs, or parts, that it never wrote
    "stale": "wrong",  # results of an earlier call
    "input": "wrong",  # it returns an input
    "nan": "wrong",
    "values": "wrong",
    "hidden-contents": "wrong",
    "hidden-case": "wrong",
    "hidden-strides": "wrong",
    "check": "wrong",  # the problem's own comparison
    "unchecked": "refused",  # nothing says what is right
    "guard": "refused",  # it wrote beside its outputs
    "precision": "refused",  # it calculates in less than was asked
    "late": "refused",  # it wrote results after it had answered
    "idle-work": "refused",  # it works while nothing is asked of it
    "clocks": "refused",  # the judge's clocks disagree over its time
    "floor": "refused",  # faster than the device can be
    "tampering": "refused",  # it has replaced clocks or comparisons
    "protocol": "refused",  # it talked to the judge
    "judge": "refused",  # the judge itself failed
    "device": "refused",  # it needs a device that is not there
    "room": "refused",  # other processes hold the memory that it needs
}


class Trouble(Exception):
    """What is said against a candidate: one sentence, or two."""

    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code = code if code in REASONS else "error"
        text = text.strip()
        self.text = text if text.endswith((".", "?", "!")) else text + "."


@dataclass
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value


@dataclass
class Result:
    """Of one candidate. What was not measured is None; `notes` say why."""

    candidate: str
    verdict: str = "refused"
    reason: str | None = None  #: a code of REASONS
    text: str = ""  #: the reason in words
    problem: str = ""
    speedup: Interval | None = None  #: over the reference
    tie: bool | None = None  #: whether the interval of the speed-up holds 1
    seconds: float | None = None  #: of one call, warm; on a GPU inputs come from memory
    cold_seconds: float | None = None  #: on a CPU, with the last-level cache flushed before
    reference_seconds: float | None = None
    device_seconds: float | None = None  #: in which the GPU works for one call
    reference_device_seconds: float | None = None
    warm_device_seconds: float | None = None  #: the same where the GPU's cache holds the inputs; None where it does not hold those of two calls
    reference_warm_device_seconds: float | None = None
    device_excess_seconds: float | None = None  #: taken off it: what activity records show of the reference beyond gpubench's own harness; None: not known
    floor_seconds: float | None = None
    floor_share: float | None = None  #: the floor over the time
    limiter: str | None = None
    regime: str | None = None  #: overhead, latency, memory or compute, as the classifier says of the time and the work
    regime_confidence: float | None = None
    floor_basis: str = ""  #: what the floor rests on, or why there is none
    next_step: str = ""
    precision: dict[str, Any] = field(default_factory=dict)
    calls_timed: int = 0
    calls_checked: int = 0
    rank: int | None = None  #: the best place among the right ones that its interval leaves it
    rank_to: int | None = None  #: the worst one
    isolation_missing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds_taken: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)  #: of these: start, check, time, compare, records, end; and wait, for other judges
    key: str = ""

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Counts what is done here as a phase of its own, and of no other."""
        start, known = time.monotonic(), sum(self.phases.values())
        try:
            yield
        finally:
            inner = sum(self.phases.values()) - known
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - start - inner

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: a number that is not finite is None."""
        return _finite(asdict(self))  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """Throws TypeError where a field is of another kind."""
        known = {key: value for key, value in data.items() if key in cls.__dataclass_fields__}
        if known.get("speedup") is not None:
            known["speedup"] = Interval(**{name: float(value) for name, value in known["speedup"].items()})
        for key, value in known.items():
            kinds = cls.__dataclass_fields__[key].type.partition("[")[0].split(" | ")
            if not any(isinstance(value, _KINDS[each]) for each in kinds):
                raise TypeError(f"{key} is {value!r}")
        return cls(**known)


#: By the words of annotations.
_KINDS: dict[str, Any] = {"str": str, "float": (int, float), "int": int, "bool": bool, "list": list, "dict": dict, "None": type(None), "Interval": Interval}
