# SPDX-License-Identifier: Apache-2.0
"""Events inside Triton's kernels: when each program did what, on which SM.

    from gpubench.kernel_trace import SmProfiler
    from gpubench.triton import profiler_init, profiler_event_start, profiler_event_end

    profiler = SmProfiler(num_blocks=132, num_groups=1, max_events_per_group=100)
    profiler.register_event(0, "load")
    kernel[grid](x, profiler.get_buffer())     # the kernel calls the functions of gpubench.triton
    torch.cuda.synchronize()
    profiler.export("trace.json")              # for ui.perfetto.dev: a process for each SM, a thread for each program
    profiler.print_stats()
"""
from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

from . import _core
from .runs import PathLike

if TYPE_CHECKING:
    import numpy

# Of 64-bit words: the header, a counter for each program's group, then each group's records of time and what.
HEADER_WORDS = 8
RECORD_WORDS = 2
START, END, INSTANT = 0, 1, 2
MAX_EVENTS = 32  #: numbers of events are below


class SmProfiler:
    """Memory for the events of a launch, and what they say. `num_groups`: tracks of one block."""

    def __init__(self, num_blocks: int, num_groups: int, max_events_per_group: int, enabled: bool = True,
                 device: str | None = None):
        if min(num_blocks, num_groups, max_events_per_group) < 1:
            raise ValueError(f"SmProfiler takes counts of 1 or more, not {num_blocks}, {num_groups} and {max_events_per_group}")
        import torch
        self.num_blocks, self.num_groups = num_blocks, num_groups
        self.max_records = 2 * max_events_per_group  # a range takes two
        self.enabled = enabled
        self._names: dict[int, str] = {}
        groups = num_blocks * num_groups
        words = HEADER_WORDS + groups * (1 + RECORD_WORDS * self.max_records)
        self._buffer = torch.zeros(words if enabled else HEADER_WORDS, dtype=torch.int64,
                                   device=device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.init_buffer()

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        return int(self._buffer.numel() * 8)

    def register_event(self, event_no: Any, name: str) -> None:
        """What the event of a number is called. Numbers are 0 to 31."""
        number = int(getattr(event_no, "value", event_no))
        if not 0 <= number < MAX_EVENTS:
            raise ValueError(f"events have numbers from 0 to {MAX_EVENTS - 1}, not {number}")
        self._names[number] = str(name)

    def init_buffer(self) -> None:
        """Forgets all events, in the order of the stream: before each launch."""
        import torch

        header = [self.num_blocks, self.num_groups, self.max_records if self.enabled else 0, 0, 0, 0, 0, 0]
        self._buffer[HEADER_WORDS:HEADER_WORDS + self.num_blocks * self.num_groups].zero_()  # empty where it is off
        self._buffer[:HEADER_WORDS].copy_(torch.tensor(header, dtype=torch.int64))

    def get_buffer(self) -> Any:
        """The tensor that the kernel is handed."""
        return self._buffer

    def _words(self) -> Any:
        return self._buffer.cpu().numpy()

    @property
    def dropped(self) -> int:
        """Records that did not fit."""
        if not self.enabled:
            return 0
        counts = self._words()[HEADER_WORDS:HEADER_WORDS + self.num_blocks * self.num_groups]
        return int((counts - self.max_records).clip(min=0).sum())

    def events(self) -> numpy.ndarray[Any, Any]:
        """All events as a NumPy array with the fields block, group, sm, event, kind (0: a range, 2: an instant), start_ns,
        end_ns and open (a range that never ended: it ends with its group's last record)."""
        import numpy
        kind = numpy.dtype([("block", "i4"), ("group", "i4"), ("sm", "i4"), ("event", "i4"), ("kind", "i4"),
                            ("start_ns", "i8"), ("end_ns", "i8"), ("open", "?")])
        rows: list[tuple[int, int, int, int, int, int, int, bool]] = []
        if self.enabled:
            words = self._words()
            groups = self.num_blocks * self.num_groups
            counts = words[HEADER_WORDS:HEADER_WORDS + groups]
            records = words[HEADER_WORDS + groups:].reshape(groups, self.max_records, RECORD_WORDS)
            for place in range(groups):
                count = min(int(counts[place]), self.max_records)
                rows += _ranges(records[place, :count], place // self.num_groups, place % self.num_groups)
        return numpy.array(rows, dtype=kind)

    def _name(self, number: int) -> str:
        return self._names.get(number, f"event {number}")

    def export(self, filename: PathLike) -> None:
        """Writes a timeline: Chrome's JSON, or .perfetto-trace."""
        name = os.fspath(filename)
        text = json.dumps({"traceEvents": self._chrome(), "displayTimeUnit": "ns", "otherData": {"dropped": self.dropped}})
        if not name.endswith(".perfetto-trace"):
            with open(name, "w", encoding="utf-8") as stream:
                stream.write(text)
            return
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            with open(file, "w", encoding="utf-8") as stream:
                stream.write(text)
            _core.Timeline.read(file).write(name)

    def _chrome(self) -> list[dict[str, Any]]:
        events = self.events()
        if not len(events):
            return []
        base = int(events["start_ns"].min())
        result: list[dict[str, Any]] = []
        for sm in sorted({int(each) for each in events["sm"]}):
            result.append({"ph": "M", "name": "process_name", "pid": sm, "args": {"name": f"SM {sm}"}})
        threads = sorted({(int(each["sm"]), int(each["block"]), int(each["group"])) for each in events})
        for sm, block, group in threads:
            result.append({"ph": "M", "name": "thread_name", "pid": sm, "tid": block * self.num_groups + group,
                           "args": {"name": f"block {block} group {group}"}})
        for each in events:
            event: dict[str, Any] = {"name": self._name(int(each["event"])), "cat": "kernel_trace", "pid": int(each["sm"]),
                                     "tid": int(each["block"]) * self.num_groups + int(each["group"]),
                                     "ts": (int(each["start_ns"]) - base) / 1e3}
            if each["kind"] == INSTANT:
                event.update(ph="i", s="t")
            else:
                event.update(ph="X", dur=(int(each["end_ns"]) - int(each["start_ns"])) / 1e3)
                if each["open"]:
                    event["args"] = {"note": "it never ended"}
            result.append(event)
        return result

    def statistics(self) -> list[dict[str, Any]]:
        """Of each event: count, total, mean, p50, p99 and max in nanoseconds, and the time of the busiest SM over the
        mean of the SMs that have it."""
        import numpy
        events = self.events()
        ranges = events[events["kind"] == START]
        result = []
        for number in sorted({int(each) for each in events["event"]}):
            mine = ranges[ranges["event"] == number]
            times = (mine["end_ns"] - mine["start_ns"]).astype("f8")
            row: dict[str, Any] = {"name": self._name(number), "count": int((events["event"] == number).sum())}
            if len(times):
                by_sm = [float(times[mine["sm"] == sm].sum()) for sm in numpy.unique(mine["sm"])]
                mean = sum(by_sm) / len(by_sm)
                row.update(total_ns=float(times.sum()), mean_ns=float(times.mean()), p50_ns=float(numpy.percentile(times, 50)),
                           p99_ns=float(numpy.percentile(times, 99)), max_ns=float(times.max()), sms=len(by_sm),
                           sm_imbalance=max(by_sm) / mean if mean else 1.0)
            result.append(row)
        return result

    def print_stats(self) -> None:
        """Prints that."""
        rows = self.statistics()
        print(f"{'event':<24}{'count':>8}{'total us':>12}{'mean ns':>10}{'p50 ns':>10}{'p99 ns':>10}{'max ns':>10}{'SMs':>6}"
              f"{'imbalance':>11}")
        for row in rows:
            figures = "" if "total_ns" not in row else (
                f"{row['total_ns'] / 1e3:>12.3f}{row['mean_ns']:>10.0f}{row['p50_ns']:>10.0f}{row['p99_ns']:>10.0f}"
                f"{row['max_ns']:>10.0f}{row['sms']:>6}{row['sm_imbalance']:>11.2f}")
            print(f"{row['name'][:23]:<24}{row['count']:>8}{figures}")
        if not rows:
            print("no events were recorded" + ("" if self.enabled else ": the profiler is off"))
        if self.dropped:
            print(f"{self.dropped} records did not fit: raise max_events_per_group, now {self.max_records // 2}")


def _ranges(records: Any, block: int, group: int) -> list[tuple[int, int, int, int, int, int, int, bool]]:
    """Starts and ends as ranges; those of one number nest."""
    rows: list[tuple[int, int, int, int, int, int, int, bool]] = []
    open_: dict[int, list[tuple[int, int]]] = {}
    last = 0
    for time, what in records:
        time, what = int(time), int(what)
        kind, number, sm = what & 3, (what >> 2) & 31, what >> 8
        last = max(last, time)
        if kind == START:
            open_.setdefault(number, []).append((time, sm))
        elif kind == INSTANT:
            rows.append((block, group, sm, number, INSTANT, time, time, False))
        elif open_.get(number):
            start, where = open_[number].pop()
            rows.append((block, group, where, number, START, start, max(start, time), False))
    for number, starts in open_.items():
        rows += [(block, group, where, number, START, start, last, True) for start, where in starts]
    return sorted(rows, key=lambda row: (row[5], -row[6]))
