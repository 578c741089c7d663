# SPDX-License-Identifier: Apache-2.0
"""Reference and candidate in turns, each call with inputs of its own, and what the judge's clocks say of them."""
from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

from .. import _core
from .verdict import Interval, Trouble

Check = Callable[[int, list[Any], list[Any]], None]  #: of one call: its index in the batch, its inputs, what was expected


@dataclass
class Plan:
    """How many calls a batch has, and how many blocks of four batches there are at most."""

    calls: int
    min_blocks: int = 8
    max_blocks: int = 80
    budget_seconds: float = 3.0
    narrow: float = 0.01  #: half-width of the logarithm of the speed-up that is enough


@dataclass
class Block:
    """Reference, candidate, candidate, reference; and the call that does nothing before and after. Seconds of one call."""

    reference: float
    candidate: float
    nothing: float


@dataclass
class Times:
    """What all blocks give."""

    blocks: list[Block] = field(default_factory=list)
    cpu: float = 0.0  #: processor time of the candidate in its batches
    idle_cpu: float = 0.0  #: and between them
    reference_idle_cpu: float = 0.0
    wall: float = 0.0
    cold: list[float] = field(default_factory=list)
    calls: int = 0

    def speedup(self) -> tuple[Interval | None, str]:
        """Reference over candidate, each less the call that does nothing, paired by block; the interval holds what varies between blocks."""
        logs = []
        for block in self.blocks:
            reference, candidate = block.reference - block.nothing, block.candidate - block.nothing
            if reference > 0.0 and candidate > 0.0:
                logs.append(math.log(reference / candidate))
        if len(logs) < max(2, 0.8 * len(self.blocks)):
            return None, "a call is too short for the clock: doing nothing takes as long"
        middle, low, high = _core.interquartile_mean(logs)
        return Interval(math.exp(middle), math.exp(low), math.exp(high)), ""

    def seconds(self, side: str) -> float | None:
        """Of one call of a side, less the call that does nothing."""
        values = [getattr(each, side) - each.nothing for each in self.blocks]
        middle = float(np.median(values)) if values else 0.0
        return middle if middle > 0.0 else None


def calls_of_batch(samples: Sequence[float], make_seconds: float, bytes_of_call: int, max_bytes: int, target_seconds: float = 0.004) -> int:
    """So many that a batch takes the target by the fastest sample, so that one slow input makes no short batches; no more than fit, nor than can be made."""
    wanted = math.ceil(target_seconds / max(min(samples), 1e-7))
    affordable = int(0.1 / max(make_seconds, 1e-7))
    return max(1, min(wanted, 64, max(2, affordable), max_bytes // max(bytes_of_call, 1)))


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


def take_turns(reference: Any, candidate: Any, nothing: Any, plan: Plan, fresh: Callable[[], list[Any]],
               check: Check, keep_going: Callable[[], bool]) -> Times:
    """`reference`, `candidate` and `nothing` are Sides with places for plan.calls calls. `fresh` makes the inputs of one call."""
    times = Times()
    start = time.monotonic()

    def turn(side: Any, inputs: Sequence[list[Any]]) -> Any:
        for slot, arrays in enumerate(inputs):
            side.fill(slot, arrays)
        return side.run()

    def expected_of() -> list[list[Any]]:
        return [reference.outputs(slot) for slot in range(plan.calls)]

    def judge_batch(results: list[list[Any]], inputs: Sequence[list[Any]], expected: list[list[Any]]) -> None:
        for slot in range(plan.calls):
            check(slot, inputs[slot], [results[slot], expected[slot]])

    def candidate_turn(inputs: Sequence[list[Any]]) -> tuple[Any, list[list[Any]]]:
        timed = turn(candidate, inputs)
        # The last call's outputs first: what is still being written shows there.
        last = candidate.outputs(plan.calls - 1)
        results = [candidate.outputs(slot) for slot in range(plan.calls - 1)] + [last]
        if any(not np.array_equal(a.view(np.uint8) if a.flags.c_contiguous else a, b.view(np.uint8) if b.flags.c_contiguous else b)
               for a, b in zip(last, candidate.outputs(plan.calls - 1))):
            raise Trouble("late", "It went on to write its outputs after it had answered.")
        return timed, results

    def block() -> None:
        first, second = ([fresh() for _ in range(plan.calls)] for _ in range(2))
        before = turn(nothing, first)
        one = turn(reference, first)
        expected = expected_of()
        two, results = candidate_turn(first)
        judge_batch(results, first, expected)
        three, results = candidate_turn(second)
        four = turn(reference, second)
        judge_batch(results, second, expected_of())
        after = turn(nothing, second)
        times.blocks.append(Block((one.wall + four.wall) / 2 / plan.calls, (two.wall + three.wall) / 2 / plan.calls,
                                  (before.wall + after.wall) / 2 / plan.calls))
        times.cpu += two.cpu + three.cpu
        times.wall += two.wall + three.wall
        times.idle_cpu += two.idle_cpu + three.idle_cpu
        times.reference_idle_cpu += one.idle_cpu + four.idle_cpu
        times.calls += 2 * plan.calls

    block()  # warms up: pages, caches, what is loaded at first use
    times = Times(calls=times.calls)
    while len(times.blocks) < plan.max_blocks and keep_going():
        block()
        if len(times.blocks) < plan.min_blocks:
            continue
        speedup, _ = times.speedup()
        if speedup is not None and math.log(speedup.high / speedup.low) < 2 * plan.narrow:
            break
        if time.monotonic() - start > plan.budget_seconds:
            break
    times.idle_cpu += candidate.process.idle_cpu()
    return times


def cold_seconds(candidate: Any, nothing: Any, fresh: Callable[[], list[Any]], flush: Flush, repeats: int = 5) -> float | None:
    """Of one call whose inputs are in no cache, less the call that does nothing under the same conditions. The sides have a place for one call."""
    taken = []
    for _ in range(repeats):
        arrays = fresh()
        pair = []
        for side in (nothing, candidate):
            side.fill(0, arrays)
            flush()
            pair.append(side.run().wall)
        taken.append(pair[1] - pair[0])
    middle = float(np.median(taken))
    return middle if middle > 0.0 else None


def clocks_agree(times: Times) -> Trouble | None:
    """What processor time between the batches says: an honest candidate works while it is asked to, and sleeps else."""
    allowed = max(0.002 * len(times.blocks), 0.2 * times.cpu, 3.0 * times.reference_idle_cpu)
    if times.idle_cpu <= allowed:
        return None
    return Trouble("idle-work", f"The clocks disagree: its process used {times.idle_cpu * 1e3:.3g} ms of processor time while nothing was asked of it, beside "
                                f"{times.cpu * 1e3:.3g} ms in its calls. Work is done ahead of calls, or after them.")


def load_average() -> float:
    """Of the last minute, over the number of processors."""
    return os.getloadavg()[0] / max(os.cpu_count() or 1, 1)
