# SPDX-License-Identifier: Apache-2.0
"""What a candidate's process did on the GPU, by the activity records that gpubench's injected library writes there: a clock beside the judge's own, for
batches that are run once more, apart from the timed ones, since recording slows launches and makes kernels longer."""
from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import numpy as np

from .. import _core
from .timing import Summary
from .verdict import Result, Trouble

_LIBRARY = "libgpubench_injection.so"
_EDGE_NS = 100_000  #: CUPTI's clock and the host's agree within this
Window = tuple[int, int]


def library() -> str | None:
    """The injected library, where this gpubench has one."""
    from .._cli import PROGRAM
    here = Path(os.path.realpath(PROGRAM)).parent
    given = os.environ.get("GPUBENCH_INJECTION")
    places = [Path(given)] if given else [here / _LIBRARY, here.parent / "lib" / "gpubench" / _LIBRARY, here.parent / _LIBRARY]
    return next((str(each) for each in places if each.is_file()), None)


def variables(folder: str, injection: str) -> dict[str, str]:
    """Of a process that is to be recorded into a folder, which is made."""
    os.makedirs(folder, exist_ok=True)
    return {"CUDA_INJECTION64_PATH": injection, "GPUBENCH_RECORDING_FOLDER": folder}


@dataclass
class Work:
    """One kernel, copy or fill: nanoseconds since 1970."""

    start: int
    end: int
    kind: str
    bytes: int = -1
    stream: int = 0


def read(folder: str) -> list[Work]:
    """All that was recorded; nothing where there is no recording, or none that can be read."""
    try:
        timeline = _core.Timeline.read([folder])
        return [Work(*row[:5]) for row in timeline.gpu_work()]
    except _core.Error:
        return []


def busy_seconds(work: Sequence[Work], windows: Sequence[Window]) -> float:
    """The union of works in the windows, which do not overlap."""
    total = 0
    for start, end in windows:
        upto = start
        for each in sorted(work, key=lambda one: one.start):
            first, last = max(each.start, upto), min(each.end, end)
            if last > first:
                total += last - first
                upto = last
    return total * 1e-9


@dataclass
class Recorded:
    """What the records say of some batches."""

    calls: int  #: of all windows
    busy: float  #: seconds in which the GPU worked in the windows, were all as the median one, without the copies of outputs
    alone: float  #: the same without what it did while it copied: works that follow each other overlap by microseconds
    outside: float  #: the same between them, and after the last
    found: int  #: works in the windows
    copies: int  #: of outputs, among them
    whole: float = 0.0  #: as `busy`, with the copies of outputs
    least: float = 0.0  #: the same, were all as the window with the least of it

    @property
    def kernels(self) -> float:
        """Of one call, and what else it does on the GPU."""
        return (self.found - self.copies) / self.calls

    @property
    def device_seconds(self) -> float | None:
        """Of one call, as of calls that follow each other without copies."""
        return self.alone / self.calls if self.found > self.copies and self.alone > 0.0 else None


def summed_up(work: Sequence[Work], windows: Sequence[Window], calls_of_batch: int, output_bytes: Sequence[int], copies_outputs: bool, warm_up: int = 0) -> Recorded:
    """The copies that the harness makes are taken out: of each window the last ones of the outputs' sizes, as many as there were calls. `warm_up`: the first
    calls of each batch, which do not count. Where calls are not told apart, as they are not of equally many works, no work is found."""
    def within(each: Work) -> int | None:
        return next((i for i, (start, end) in enumerate(windows) if start - _EDGE_NS <= each.start and each.end <= end + _EDGE_NS), None)

    inside: list[list[Work]] = [[] for _ in windows]
    outside = []
    for each in work:
        place = within(each)
        if place is not None:
            inside[place].append(each)
        elif windows and each.end > windows[0][0]:
            outside.append(each)
    busy, alone, whole, found, copies = [], [], [], 0, 0
    counted = calls_of_batch - warm_up
    for each_window, here in zip(windows, inside):
        here.sort(key=lambda one: one.start)
        if warm_up:
            here = [] if len(here) % calls_of_batch else here[warm_up * len(here) // calls_of_batch:]
        left = {size: counted * list(output_bytes).count(size) for size in set(output_bytes)} if copies_outputs else {}
        kept, copied = [], []
        for each in reversed(here):
            if each.kind == "copy" and left.get(each.bytes, 0) > 0:
                left[each.bytes] -= 1
                copied.append(each)
            else:
                kept.append(each)
        found += len(here)
        copies += len(copied)
        span = [(each_window[0] - _EDGE_NS, each_window[1] + _EDGE_NS)]
        busy.append(busy_seconds(kept, span))
        whole.append(busy_seconds(kept + copied, span))
        alone.append(whole[-1] - busy_seconds(copied, span))
    after = (windows[0][0], max((each.end for each in work), default=0)) if windows else (0, 0)
    all_busy, all_alone, all_whole = (len(windows) * statistics.median(each or [0.0]) for each in (busy, alone, whole))
    return Recorded(counted * len(windows), all_busy, all_alone, busy_seconds(outside, [after]), found, copies, all_whole,
                    len(windows) * min(whole, default=0.0))


_KERNEL_SECONDS = 2e-6  #: what records of a kernel may be longer than it, its start and end included, on any machine


def recording_cost(reference: Recorded, call_seconds: float) -> float:
    """Seconds that records add to a kernel at most, by what they show of the reference beyond a call of it that is not recorded."""
    return max(_KERNEL_SECONDS, (reference.whole / reference.calls - call_seconds) * reference.calls / max(reference.found, 1))


@dataclass
class Harness:
    """The reference by gpubench's own harness. Records show more, as they make kernels longer; or less, as the copy of a result leaves the cache in another
    state."""

    device_seconds: float  #: of a call
    kernels: float  #: in such a call

    def beyond(self, reference_seconds: float, kernels: float) -> float:
        """What records by which the reference takes so long show too much of a call with so many kernels. No more than of the reference: what they add to other
        kernels is not known."""
        found = reference_seconds - self.device_seconds
        return found * min(1.0, kernels / self.kernels) if found > 0.0 else found


def disagreement(recorded: Recorded, call_seconds: float, batch_seconds: float, reference: Recorded, reference_seconds: float) -> Trouble | None:
    """What the records say against the judge's clock. `call_seconds` and `reference_seconds`: of a call that is not recorded by that clock, copies of outputs
    included; `batch_seconds` is its own uncertainty. How much longer work is while it is recorded is told from the reference on this machine: by
    a share of its time, or by so much a kernel."""
    if recorded.found == 0:
        return Trouble("tampering", "There are no activity records of its work on the GPU, though it wrote its outputs: it has switched recording off.")
    device, usual = recorded.least / recorded.calls, reference.whole / reference.calls
    kernel = recording_cost(reference, reference_seconds)
    share = max(1.0, usual / max(reference_seconds + batch_seconds, 1e-9))
    if device > 1.05 * share * call_seconds + kernel * recorded.found / recorded.calls + batch_seconds:
        return Trouble("clocks", f"It is faster while it is not recorded: by activity records the GPU works {device * 1e6:.4g} us for a call and the copy of its "
                                 f"result; else both take {call_seconds * 1e6:.4g} us by the judge's clock. Records cost {kernel * 1e6:.3g} us a kernel at most.")
    if recorded.outside > max(0.05 * recorded.busy, 2e-4, 3.0 * reference.outside):
        return Trouble("idle-work", f"The clocks disagree: by activity records the GPU worked {recorded.outside * 1e3:.3g} ms for it while nothing was asked of "
                                    f"it, beside {recorded.busy * 1e3:.3g} ms in its calls. Work is done ahead of calls, or after them.")
    return None


@dataclass
class Clock:
    """A trial's: what records and gpubench's own harness say of the reference, and so of candidates."""

    reference: Recorded
    harness: Harness | None  #: None where that does not measure the reference

    def hold_against(self, found: Recorded, copy: float, calls_of_batch: int, times: Summary, result: Result) -> float | None:
        """Seconds of work in a call, by activity records; `times` and `result` get what they say of both sides. `copy`: seconds in which the GPU copies the outputs
        of a call. Throws Trouble."""
        empty = times.on_gpu("empty")
        longest, usual = max(float(np.median(each.on_gpu["candidate"])) for each in times.rounds) - empty, times.on_gpu("reference") - empty
        trouble = disagreement(found, longest, 1e-4 / calls_of_batch, self.reference, usual)  # the start and end of a batch
        if trouble:
            raise trouble
        for name, one in (("candidate", found), ("reference", self.reference)):
            if one.device_seconds is not None and one.device_seconds + copy > 0.9 * (times.gross(name) - times.gross("empty")):
                times.gpu_copy[name] = copy
        result.device_seconds, result.reference_device_seconds, result.device_excess_seconds = self.device_seconds(found)
        times.device_seconds = {name: seconds for name, seconds in (("candidate", result.device_seconds), ("reference", result.reference_device_seconds))
                                if seconds is not None}
        return found.busy / found.calls if result.device_seconds is not None else None

    def device_seconds(self, found: Recorded) -> tuple[float | None, float | None, float | None]:
        """Of a call of the candidate and of the reference, as gpubench's own harness means it, and what was taken off the candidate's."""
        candidate, reference = found.device_seconds, self.reference.device_seconds
        if self.harness is None or candidate is None or reference is None:
            return candidate, reference, None
        beyond = self.harness.beyond(reference, found.kernels)
        if beyond >= candidate:
            return candidate, self.harness.device_seconds, None
        return candidate - beyond, self.harness.device_seconds, beyond
