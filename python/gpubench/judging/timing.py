# SPDX-License-Identifier: Apache-2.0
"""Reference and candidate in turns, each call with inputs of its own, and what the judge's clocks say of them."""
from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core
from . import arrays
from .checks import OwnError
from .contents import CONTENTS, changed
from .verdict import Interval, Trouble



@dataclass
class Inputs:
    """Of one call: as the problem made them, as plain arrays, and what these stand in. `hidden`: in words, where they are not as those of other calls, with what the
    reference is off for them. `came_late`: whether calls before it ran by then."""

    tree: Any
    arrays: list[Any]
    skeleton: Any
    hidden: str = ""
    own_error: Sequence[OwnError] = ()
    came_late: bool = False


Late = tuple[int, list[Any]]  #: a call of the candidate's that gets its inputs while others run, and the arrays that it has before
Check = Callable[[int, Inputs, list[Any], list[Any]], None]  #: of one call: its index in the batch, its inputs, what it returned, what was expected


@dataclass
class Plan:
    """How many calls a batch has, and how many blocks of four batches a round has at least."""

    calls: int
    min_blocks: int = 2
    before_late: str = "ties"  #: contents of inputs that come late, before: like those that come, but for some elements


@dataclass
class Block:
    """Reference, candidate, candidate, reference, or the other way about by turns; the call that does nothing before and after, with and without a result.
    Seconds of one call, of each batch."""

    reference: tuple[float, float]
    candidate: tuple[float, float]
    nothing: tuple[float, float]
    empty: tuple[float, float] = (0.0, 0.0)


#: What disturbs a batch makes it longer, never shorter: this quantile of batches is hardly disturbed, and still of many.
_QUANTILE = 0.25


@dataclass
class Times:
    """What one round gives: one process of each side, in as many visits as it has blocks."""

    blocks: list[Block] = field(default_factory=list)
    cpu: float = 0.0  #: processor time of the candidate in its batches
    idle_cpu: float = 0.0  #: and between them
    reference_idle_cpu: float = 0.0
    idle_of_visits: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)  #: the GPU's smallest work, while the candidate was asked nothing
    reference_waits: list[float] = field(default_factory=list)
    clocks: list[tuple[float, float]] = field(default_factory=list)  #: the candidate's batches, by the judge's clock and by the GPU's
    on_gpu: dict[str, list[float]] = field(default_factory=dict)  #: seconds of one call by the GPU's clock, of each batch, by side
    had_hidden: bool = True  #: whether the last visit had hidden contents among its calls
    hidden_left: list[int] = field(default_factory=list)  #: those that come before any comes again

    def batches(self, side: str) -> Any:
        """Seconds of one call, by block and batch."""
        return np.array([getattr(each, side) for each in self.blocks])


@dataclass
class Summary:
    """What all rounds give. What disturbs a batch, or a process, makes it slower, never faster: so a side's time is a low quantile of all its batches."""

    rounds: list[Times]
    in_place: frozenset[str] = frozenset()  #: sides that write into the judge's memory themselves: nothing is copied for them
    #: What copying the outputs of a call takes the GPU, for the sides whose calls keep it busy: their host copies in time that costs nothing.
    gpu_copy: dict[str, float] = field(default_factory=dict)
    device_seconds: dict[str, float] = field(default_factory=dict)  #: in which the GPU works for a call

    def gross(self, side: str, quantile: float = _QUANTILE) -> float:
        """Seconds of one call of a side, with what the judge's asking takes."""
        return float(np.quantile(np.concatenate([each.batches(side).ravel() for each in self.rounds]), quantile))

    def on_gpu(self, side: str, quantile: float = _QUANTILE) -> float:
        """The same by the judge's events."""
        return float(np.quantile(np.concatenate([each.on_gpu[side] for each in self.rounds]), quantile))

    def seconds(self, side: str) -> float | None:
        """The same less the call that does nothing; None where that is not told from nothing. While the host asks for copies of results the GPU works, so no less
        than it works: that has one process of a side, so it is no part of speed-ups."""
        gross = {each: self.gross(each) for each in (side, "nothing", "empty")}
        net = gross[side] - self._cost(side, gross)
        if side not in self.gpu_copy:
            net = max(net, min(self.device_seconds.get(side, 0.0), gross[side] - gross["empty"]))
        return net if net > 0.0 else None

    def _cost(self, side: str, gross: Mapping[str, float]) -> float:
        """What the judge's asking adds to a call of a side."""
        if side in self.in_place:
            return gross["empty"]
        return min(gross["nothing"], gross["empty"] + self.gpu_copy[side]) if side in self.gpu_copy else gross["nothing"]

    def speedup(self) -> tuple[Interval | None, str]:
        """Reference over candidate, each less the call that does nothing, or why there is none.

        Batches are compared by pairs, of the same inputs and one after the other, so that what slows both is no difference. A round is the median of its
        pairs, as one process of each side gives one value; of one round alone each block is one. The result is the median of those, with the interval that
        Student's t gives for so few, wider by the 1.2 that a median's error is over that of a mean."""
        rounds = [self._logs(each) for each in self.rounds]
        with np.errstate(invalid="ignore"):
            groups = [float(np.median(each)) for each in (rounds if len(rounds) > 1 else list(rounds[0].mean(axis=1)))]
        if len(groups) < 2 or not np.isfinite(groups).all():
            return None, "a call is too short for the clock: doing nothing takes as long"
        middle = float(np.median(groups))
        half = 1.2 * _core.student_quantile(0.025, len(groups) - 1) * float(np.std(groups, ddof=1)) / math.sqrt(len(groups))
        return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half)), ""

    def is_narrow(self, half: float) -> bool:
        """Whether more visits would say nothing new: the interval's half is no wider than this, or than a twentieth of a large difference."""
        found, _ = self.speedup()
        return found is not None and math.log(found.high / found.low) / 2 <= max(half, 0.05 * abs(math.log(found.value)))

    def _logs(self, each: Times) -> Any:
        """Of reference over candidate, by block and pair; NaN where one of them is not told from nothing."""
        gross = {side: float(np.quantile(each.batches(side), _QUANTILE)) for side in ("nothing", "empty")}
        with np.errstate(invalid="ignore", divide="ignore"):
            reference, candidate = (np.maximum(each.batches(side) - self._cost(side, gross), 0.0) for side in ("reference", "candidate"))
            return np.log(reference / candidate)


BATCH_SECONDS = 0.002
MAX_CALLS = 256  #: of a batch


def calls_of_batch(samples: Sequence[float], make_seconds: float, bytes_of_call: int, max_bytes: int, target_seconds: float = BATCH_SECONDS) -> int:
    """So many that a batch takes the target by the fastest sample, so that one slow input makes no short batches; no more than fit, nor than can be made."""
    wanted = math.ceil(target_seconds / max(min(samples), 1e-7))
    affordable = int(0.1 / max(make_seconds, 1e-7))
    return max(1, min(wanted, MAX_CALLS, max(2, affordable), max_bytes // max(bytes_of_call, 1)))


_SMALL_BYTES = 64 << 20
_FEWEST_CHECKED = 64


def share_checked(bytes_of_batch: int, calls: int) -> float:
    """Of timed calls, by chance: all of small batches, and of those of few calls. Who is wrong in so many calls that it is faster by it is found all the same, and
    looks at hundreds of calls take longer than their timing."""
    return min(1.0, max(_SMALL_BYTES / max(bytes_of_batch, 1), _FEWEST_CHECKED / calls))


def last_level_cache_bytes() -> int:
    """Of this host's first core; 32 MiB where it is not known."""
    sizes = []
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text(encoding="ascii").strip()
        sizes.append(int(text.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1))
    return max(sizes, default=32 << 20)


class Flush:
    """Pushes other data out of the last-level cache."""

    def __init__(self) -> None:
        self._memory = np.zeros(2 * last_level_cache_bytes(), np.uint8)

    def __call__(self) -> None:
        self._memory += 1


_SOON = 0.5  #: of the time before a call, within which it gets its inputs


def run_reference(reference: Any) -> Any:
    """A batch of it. What fails there says nothing of the candidate."""
    try:
        return reference.run()
    except Trouble as trouble:
        raise Trouble("unchecked", f"The reference fails for inputs of timed calls: {trouble.text}") from None


def take_turns(reference: Any, candidate: Any, nothing: Any, plan: Plan, fresh: Callable[[], Inputs], check: Check, times: Times, hidden: Sequence[Inputs] = ()) -> None:
    """One block more. `reference`, `candidate` and `nothing` are Sides with places for plan.calls calls. `fresh` makes the inputs of one call. Some of `hidden` are
    inputs of calls before or after it, so that nobody is right while it is checked alone. There a call also gets its inputs while others run, so that nobody works
    ahead."""

    def turn(side: Any, inputs: Sequence[Inputs], meanwhile: Callable[[], None] | None = None) -> Any:
        for slot, each in enumerate(inputs):
            side.fill(slot, each.arrays, each.skeleton)
        return run_reference(side) if side is reference else side.run(meanwhile=meanwhile)

    def candidate_turn(inputs: Sequence[Inputs], late: Late | None) -> tuple[Any, list[list[Any]]]:
        if late is None:
            timed = turn(candidate, inputs)
        else:
            slot, before = late

            def bring() -> None:
                soon = _SOON * slot * (times.blocks[-1].candidate[0] if times.blocks else BATCH_SECONDS / plan.calls)
                after_first = bool(random.integers(2))
                until = time.perf_counter() + (soon if after_first else soon * random.random())
                while time.perf_counter() < until and not (after_first and candidate.is_done(0)):  # no sleep is as short
                    pass
                candidate.refuse_evasion()
                inputs[slot].came_late = candidate.replace_in_time(slot, inputs[slot].arrays)

            timed = turn(candidate, [*inputs[:slot], replace(inputs[slot], arrays=before), *inputs[slot + 1:]], bring)
        # The last call's outputs first: what is still being written shows there.
        last, results = candidate.outputs(plan.calls - 1), candidate.all_outputs()
        if any(not arrays.are_same(*each) for each in zip(last, results[-1])):
            raise Trouble("late", "It went on to write its outputs after it had answered.")
        return timed, results

    def pair(inputs: Sequence[Inputs], reference_first: bool, waits: bool, late: Late | None = None) -> tuple[Any, Any]:
        """A batch of each side, of the same inputs; `waits`: with a look at whether the GPU rests after each."""
        results: list[list[Any]] = []
        timed = {}
        for side in (reference, candidate) if reference_first else (candidate, reference):
            if side is reference:
                timed[side], expected = turn(reference, inputs), reference.all_outputs()
            else:
                timed[side], results = candidate_turn(inputs, late)
            # What a candidate left behind would make the reference's seem usual
            if waits and side.device is not None and (side is candidate or reference_first):
                (times.reference_waits if side is reference else times.waits).append(side.device.wait_seconds())
        for slot, call in enumerate(zip(inputs, results, expected)):
            if late is None or slot != late[0] or inputs[slot].came_late:
                check(slot, *call)
        return timed[reference], timed[candidate]

    def block() -> None:
        inputs = [fresh() for _ in range(plan.calls)]
        before = turn(nothing, inputs)
        empty = nothing.run(empty=True)
        one, two = pair(inputs, reference_first, True)
        inputs = [fresh() for _ in range(plan.calls)]
        four, three = pair(inputs, not reference_first, False)
        after = turn(nothing, inputs)
        batches = {"reference": (one, four), "candidate": (two, three), "nothing": (before, after), "empty": (empty, nothing.run(empty=True))}
        times.blocks.append(Block(**{name: tuple(each.undisturbed / plan.calls for each in taken) for name, taken in batches.items()}))
        for name, taken in batches.items():
            times.on_gpu.setdefault(name, []).extend(each.gpu / plan.calls for each in taken if each.gpu is not None)
        times.clocks += [(each.wall, each.gpu) for each in (two, three) if each.gpu is not None]
        times.cpu += two.cpu + three.cpu
        times.idle_cpu += two.idle_cpu + three.idle_cpu
        times.reference_idle_cpu += one.idle_cpu + four.idle_cpu

    def one_hidden() -> Inputs:
        if not times.hidden_left:
            times.hidden_left = [int(each) for each in random.permutation(len(hidden))]
        return hidden[times.hidden_left.pop()]

    def one_late(inputs: Sequence[Inputs], taken: set[int]) -> Late | None:
        """Rather one of the last, as bringing inputs takes time."""
        free = [slot for slot in range(1, plan.calls) if slot not in taken]
        if not free:
            return None
        slot = free[int(random.integers(len(free), size=2).max())]
        before = changed(inputs[slot].arrays, CONTENTS[plan.before_late])
        return (slot, before) if before else None

    def among_hidden() -> None:
        share = 0.5 ** random.integers(1, 2 + int(math.log2(plan.calls)))  # down to one or none: who is right after the first unusual call is found by the one before
        places = {int(random.integers(plan.calls)), *np.flatnonzero(random.random(plan.calls) < share)}
        inputs = [one_hidden() if slot in places else fresh() for slot in range(plan.calls)]
        pair(inputs, bool(random.integers(2)), False, one_late(inputs, places))

    reference_first = len(times.blocks) % 2 == 0
    random = np.random.default_rng()
    when = random.integers(0 if times.had_hidden else 2, 4) if hidden else 0  # 0 and 1: not in this visit, and then in the next
    times.had_hidden = bool(when >= 2)
    if candidate.device is None or not candidate.is_warm:  # pages, caches, what is loaded at first use
        warm_up = [fresh() for _ in range(plan.calls)]
        turn(nothing, warm_up)
        pair(warm_up, reference_first, False, one_late(warm_up, set()))  # so that both sides rest alike before their first timed batch
        del warm_up
        candidate.is_warm = True
    if when == 2:
        among_hidden()
    block()
    if when == 3:
        among_hidden()
    times.idle_cpu += candidate.process.idle_cpu()
    times.idle_of_visits.append(times.idle_cpu - sum(times.idle_of_visits))


def cold_seconds(reference: Any, candidate: Any, nothing: Any, fresh: Callable[[], Inputs], check: Check, flush: Flush, repeats: int = 9) -> float | None:
    """Of one call whose inputs are in no cache, less the call that does nothing under the same conditions; None where that is the longer part. The sides
    have a place for one call."""
    taken: dict[Any, list[float]] = {candidate: [], nothing: []}
    for _ in range(repeats):
        inputs = fresh()
        for side, seconds in taken.items():
            side.fill(0, inputs.arrays, inputs.skeleton)
            flush()
            seconds.append(side.run().undisturbed)
        results = candidate.all_outputs()
        reference.fill(0, inputs.arrays, inputs.skeleton)
        run_reference(reference)
        check(0, inputs, results[0], reference.all_outputs()[0])
    gross, empty = (float(np.quantile(taken[side], _QUANTILE)) for side in (candidate, nothing))
    return gross - empty if gross > 2.0 * empty else None


#: Of processor time beside each block: what happens once, as threads that start, may take longer. Honest ones take 0.1 ms at most on a busy machine.
_IDLE_AT_ALL, _IDLE_OFTEN = 0.002, 0.0005


def clocks_agree(rounds: Sequence[Times]) -> Trouble | None:
    """What processor time between the batches says: an honest candidate works while it is asked to, and sleeps else."""
    trouble = _gpu_clocks_agree(rounds)
    if trouble is not None:
        return trouble
    idle, cpu, reference_idle = (sum(getattr(each, name) for each in rounds) for name in ("idle_cpu", "cpu", "reference_idle_cpu"))
    visits = sum(len(each.blocks) for each in rounds)
    often = float(np.median([one for each in rounds for one in each.idle_of_visits] or [0.0]))
    if idle <= max(_IDLE_AT_ALL * visits, 0.2 * cpu, 3.0 * reference_idle) and often <= max(_IDLE_OFTEN + 2.0 * reference_idle / visits, 0.05 * cpu / visits):
        return None
    return Trouble("idle-work", f"The clocks disagree: its process used {idle * 1e3:.3g} ms of processor time while nothing was asked of it, beside "
                                f"{cpu * 1e3:.3g} ms in its calls. Work is done ahead of calls, or after them.")


BUSY_SECONDS = 5e-4  #: that the smallest work waits on a GPU that others use
_CLOCKS_APART = 2e-4  #: seconds: events are recorded before and after the judge's own clock is read


def _gpu_clocks_agree(rounds: Sequence[Times]) -> Trouble | None:
    """The judge's two clocks of the same windows, and whether others work on the GPU while nothing is asked of the candidate."""
    waits, usual = ([one for each in rounds for one in getattr(each, name)] for name in ("waits", "reference_waits"))
    if waits and usual and np.median(waits) > 5.0 * np.median(usual) and np.median(waits) > BUSY_SECONDS:
        return Trouble("idle-work", f"The clocks disagree: the GPU was busy while nothing was asked of it. The smallest work waited {np.median(waits) * 1e3:.3g} ms, "
                                    f"and {np.median(usual) * 1e3:.3g} ms beside the reference.")
    clocks = np.array([pair for each in rounds for pair in each.clocks])
    if len(clocks):
        apart = float(np.median(clocks[:, 1] - clocks[:, 0]))
        if abs(apart) > _CLOCKS_APART + 0.01 * float(np.median(clocks[:, 0])):
            return Trouble("clocks", f"The clocks disagree: by the GPU's clock a batch takes {apart * 1e6:+.4g} us beside the host's "
                                     f"{np.median(clocks[:, 0]) * 1e6:.4g} us.")
    return None


def load_average() -> float:
    """Of the last minute, over the number of processors."""
    return os.getloadavg()[0] / max(os.cpu_count() or 1, 1)
