# SPDX-License-Identifier: Apache-2.0
"""Events inside Triton's kernels: when each program did what, on which SM.

    from gpubench.kernel_trace import SmProfiler
    from gpubench.triton import profiler_init, profiler_event_start, profiler_event_end

    profiler = SmProfiler(num_blocks=132, num_groups=1, max_events_per_group=100)
    profiler.register_event(0, "load")
    kernel[grid](x, profiler.get_buffer())     # the kernel calls the functions of gpubench.triton
    profiler.export("trace.json")              # for ui.perfetto.dev: a process for each SM, a thread for each group
    profiler.print_stats()

The buffer is that of gpubench/kernel_trace.h, which CUDA's kernels write as well, and one engine reads both.
"""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _core
from .runs import PathLike

if TYPE_CHECKING:
    import numpy

MAX_EVENTS = 4095  #: numbers of events are below
START, INSTANT = 0, 2  #: kinds of events()
_HEADER_WORDS, _REFUSED = 8, 4  # of 64-bit words


class SmProfiler:
    """Memory for the events of a launch, and what they say. `num_groups`: tracks of one block; a block is what the kernel
    gives as such, its program's number mostly."""

    def __init__(self, num_blocks: int, num_groups: int, max_events_per_group: int, enabled: bool = True,
                 device: str | None = None, name: str = "kernel"):
        if min(num_blocks, num_groups, max_events_per_group) < 1:
            raise ValueError(f"SmProfiler takes counts of 1 or more, not {num_blocks}, {num_groups} and {max_events_per_group}")
        import torch
        self.num_blocks, self.num_groups, self.max_events = num_blocks, num_groups, max_events_per_group
        self.enabled, self.name = enabled, name
        self._names: dict[int, str] = {}
        # A range takes two.
        layout = (num_blocks, num_groups, 2 * max_events_per_group) if enabled else (1, 1, 1)
        header, size = _core.KernelTrace.header(*layout, enabled)
        self._buffer = torch.zeros(size // 8, dtype=torch.int64,
                                   device=device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._buffer[:_HEADER_WORDS] = torch.frombuffer(bytearray(header), dtype=torch.int64).to(self._buffer.device)

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        return int(self._buffer.numel() * 8)

    def register_event(self, event_no: Any, name: str) -> None:
        """What the event of a number is called. Numbers are 0 to 4094."""
        number = int(getattr(event_no, "value", event_no))
        if not 0 <= number < MAX_EVENTS:
            raise ValueError(f"events have numbers from 0 to {MAX_EVENTS - 1}, not {number}")
        self._names[number] = str(name)

    def init_buffer(self) -> None:
        """Forgets all events, in the order of the stream: before each launch."""
        self._buffer[_REFUSED].zero_()
        self._buffer[_HEADER_WORDS:].zero_()

    def get_buffer(self) -> Any:
        """The tensor that the kernel is handed."""
        return self._buffer

    def _trace(self) -> Any:
        """What there is now. Waits for the stream."""
        names = [self._names.get(number, "") for number in range(max(self._names, default=-1) + 1)]
        return _core.KernelTrace.decode(self._buffer.cpu().numpy().tobytes(), names, self.name, self._buffer.is_cuda)

    @property
    def dropped(self) -> int:
        """Events that did not fit, or whose block or group the buffer does not have."""
        return int(self._trace().dropped)

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the events: a sentence each."""
        return list(self._trace().warnings)

    def events(self) -> numpy.ndarray[Any, Any]:
        """All events as a NumPy array with the fields block, group, sm, event, kind (0: a range, 2: an instant), start_ns,
        end_ns and open (a range that never ended: it ends with its group's last event)."""
        import numpy
        kind = numpy.dtype([("block", "u4"), ("group", "u4"), ("sm", "u4"), ("event", "u4"), ("kind", "i4"),
                            ("start_ns", "i8"), ("end_ns", "i8"), ("open", "?")])
        return numpy.array(self._trace().rows(), dtype=kind)

    def export(self, filename: PathLike) -> None:
        """Writes a timeline (.json of Chrome's kind, .perfetto-trace), or statistics (.csv, .stats.json, .txt)."""
        self._trace().write(os.fspath(filename))

    def statistics(self) -> list[dict[str, Any]]:
        """Of each range: count, total, mean, p50, p99 and max in nanoseconds, and the time of the busiest SM over the mean
        of the SMs that have it."""
        data: dict[str, Any] = json.loads(self._trace().json())
        uneven = {row["name"]: row["sms"] for row in data["imbalance"]}
        return [{**row, "sm_imbalance": uneven[row["name"]]} for row in data["ranges"]]

    def print_stats(self) -> None:
        """Prints that."""
        if not self.enabled:
            print("no events were recorded: the profiler is off")
        else:
            print(self._trace().table())
