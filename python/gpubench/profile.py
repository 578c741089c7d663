# SPDX-License-Identifier: Apache-2.0
"""Ranges, timers and memory in a program of one's own.

    import gpubench.profile

    gpubench.profile.init()
    with gpubench.profile.profile_range("step"):
        loss = model(batch).sum()
    gpubench.profile.print_profiler_ranges()

Every call works without a GPU, too: then it counts and times on the host, and `status()` says why.
"""
from __future__ import annotations

import functools
import inspect
import threading
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Iterator, Sequence, TypeVar, overload

from . import _core
from ._arrays import address_of, bytes_of, text_of
from ._frameworks import allocator_counts, handle_of, pool_lines

_engine = _core.profile
_Range = _engine.Range
Function = TypeVar("Function", bound=Callable[..., Any])


class Status(dict[str, Any]):
    """What a session can and cannot know: enabled, records, records_reason, counters, counters_reason, dropped,
    kernels_outside, note. True where kernels and memory are recorded."""

    def __bool__(self) -> bool:
        return bool(self["records"])

    def __str__(self) -> str:
        return str(self["text"])


class GmpProfiler:
    """Counts and times what named ranges launch and allocate. One session for all of a process."""

    def __init__(self, metrics: Sequence[str] = (), output: str | None = None):
        self._metrics = list(metrics)
        self._output = output
        self._enabled = self._starts_itself = False
        self._allocator: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def init(self) -> Status:
        """Starts the session, also after CUDA is in use. What it cannot know, and why, is in the result."""
        self._enabled, self._starts_itself = True, False
        return Status(_engine.enable(self._metrics, True))

    def _begin(self) -> None:
        if self._starts_itself:
            self.init()

    def enable(self) -> Status:
        """Goes on recording."""
        return self.init()

    def disable(self) -> None:
        """Ends recording; ranges then cost next to nothing. Results stay."""
        self._enabled = False
        _engine.disable()

    def reset(self) -> None:
        """Forgets all results."""
        self._allocator.clear()
        _engine.reset()

    def status(self) -> Status:
        """What the session can know."""
        return Status(_engine.status())

    def profile_range(self, name: str, type: str = "CONCURRENT_KERNEL") -> Any:  # noqa: A002
        """What this thread launches inside counts for the range. Ranges nest. For `with`."""
        if type == "CONCURRENT_KERNEL":
            if not isinstance(name, str):
                raise TypeError(f"a range's name is a text, not {name.__class__.__name__}")
            self._begin()
        return self.profile_memory(name) if type == "MEMORY" else _Range(name, type)

    def profile_memory(self, name: str) -> Any:
        """What is allocated and released inside counts for the range. For `with`."""
        self._begin()
        return self._memory_range(name) if self._enabled else nullcontext()

    @contextmanager
    def _memory_range(self, name: str) -> Iterator[None]:
        """A range of the engine. Of PyTorch's allocator the driver sees little, so its own counts come on top."""
        before = allocator_counts() or {}
        try:
            with _Range(name, "MEMORY"):
                yield
        finally:
            if (after := allocator_counts()) is not None:
                with self._lock:
                    mine = self._allocator.setdefault(name, dict.fromkeys(after, 0))
                    for key, value in after.items():
                        mine[key] += value - before.get(key, 0)

    @overload
    def profile_function(self, name: Function) -> Function: ...
    @overload
    def profile_function(self, name: str | None = None) -> Callable[[Function], Function]: ...
    def profile_function(self, name: Any = None) -> Any:
        """A decorator: each call of the function is a range, of its name or of the one given."""
        self._begin()
        if callable(name):
            return self._decorate(name, name.__qualname__)
        return lambda function: self._decorate(function, name or function.__qualname__)

    def _decorate(self, function: Function, name: str) -> Function:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            kind, pause = ("coroutine", "await") if inspect.iscoroutinefunction(function) else ("generator", "yield")
            raise TypeError(f"profile_function cannot time the {kind} {name}: between its {pause}s others run. Use profile_range inside of it, "
                            f"around what has no {pause}")
        called = _Range(name)

        @functools.wraps(function)
        def profiled(*arguments: Any, **keywords: Any) -> Any:
            with called:
                return function(*arguments, **keywords)

        return profiled  # type: ignore[return-value]

    def get_profiler_ranges(self, reduction: str = "SUM") -> list[dict[str, Any]]:
        """All ranges with their figures. `reduction`: "SUM", "MAX" or "MEAN", over the kernels of a range."""
        return list(_engine.results(reduction))

    def ranges_text(self, reduction: str = "SUM") -> str:
        """What print_profiler_ranges prints."""
        return str(_engine.ranges_text(reduction))

    def print_profiler_ranges(self, reduction: str = "SUM") -> None:
        """Prints the ranges of kernels; with an `output` writes them there, too."""
        print(self.ranges_text(reduction))
        if self._output:
            self.write(self._output, reduction)

    def write(self, path: str, reduction: str = "SUM") -> None:
        """Writes all ranges as .csv or .json, and makes the folders."""
        problem = _engine.write_ranges(path, reduction)
        if problem:
            raise _core.WriteError(problem)

    def get_memory_activity(self) -> dict[str, Any]:
        """Memory by kind (`kinds`), by range (`ranges`), and what PyTorch's allocator did in each range (`pytorch`);
        `reason` says why the driver's part is not known."""
        return {**_engine.memory_activity(), "pytorch": {name: dict(counts) for name, counts in self._allocator.items()}}

    def print_memory_activity(self) -> None:
        """Prints that."""
        print(_engine.memory_activity_text())
        for name, counts in self._allocator.items():
            print(f"PyTorch's allocator in {name}:")
            for what, operations, size in (("Allocations", "allocations", "allocated_bytes"),
                                           ("Deallocations", "releases", "freed_bytes")):
                print(f"  {what}: {counts[operations]} operations, {counts[size]} bytes ({counts[size] / 2**20:.2f} MiB)")


class KernelTimer(_engine.KernelTimer):
    """Times work on streams by pairs of CUDA events. Only calls that read times wait for the GPU. Without a GPU the times are
    those of the host."""

    def start(self, kernel_name: str, stream: Any = None) -> None:
        """Begins an interval on a stream; without one on that of the framework at hand."""
        super().start(kernel_name, handle_of(stream))

    def stop(self, kernel_name: str, stream: Any = None) -> None:
        """Ends the newest interval of the name, where it began."""
        super().stop(kernel_name, None if stream is None else handle_of(stream))


class MemoryTracker(_engine.MemoryTracker):
    """Named arrays and tensors with their sizes. It keeps none of them alive."""

    def track_tensor(self, name: str, tensor: Any) -> None:
        """Tracks an array of CuPy or NumPy, or a tensor of PyTorch."""
        if not hasattr(tensor, "shape") or not hasattr(tensor, "dtype"):
            raise TypeError(f"track_tensor takes an array or a tensor, not a {type(tensor).__name__}")
        self.track(name, address_of(tensor) or 0, [int(each) for each in tensor.shape], text_of(tensor.dtype),
                   bytes_of(tensor))

    def get_memory_report(self) -> str:
        """A table of what is tracked, and what the device and the frameworks' pools hold."""
        report = self.report()
        lines = pool_lines(30)
        if not lines:
            return report
        body, end = report.rstrip("\n").rsplit("\n", 1)
        return "\n".join([body, *lines, end]) + "\n"


class Profiler:
    """A KernelTimer and a MemoryTracker that are switched off together."""

    def __init__(self, enabled: bool = True):
        self.timer = KernelTimer()
        self.memory = MemoryTracker()
        self.enabled = enabled
        self.get_timing, self.get_timing_report = self.timer.get_timing, self.timer.get_report
        self.untrack_tensor, self.get_memory_report = self.memory.untrack_tensor, self.memory.get_memory_report

    def profile_kernel(self, kernel_name: str, stream: Any = None) -> Any:
        """Times what is enqueued inside `with`; nothing while disabled."""
        return self._timed(kernel_name, handle_of(stream)) if self.enabled else nullcontext()

    @contextmanager
    def _timed(self, kernel_name: str, stream: int) -> Iterator[None]:
        self.timer.start(kernel_name, stream)
        try:
            yield
        finally:
            self.timer.stop(kernel_name, stream)

    def track_tensor(self, name: str, tensor: Any) -> None:
        """As MemoryTracker's, while enabled."""
        if self.enabled:
            self.memory.track_tensor(name, tensor)

    def get_full_report(self) -> str:
        """Both."""
        return self.get_timing_report() + "\n" + self.get_memory_report()

    def reset(self) -> None:
        """Forgets all times and all memory."""
        self.timer.reset()
        self.memory.reset()

    def enable(self) -> None:
        """A new Profiler is enabled."""
        self.enabled = True

    def disable(self) -> None:
        """Ranges that are open still end."""
        self.enabled = False


def create_profiler(metrics: Sequence[str] = (), output: str | None = None) -> GmpProfiler:
    """A profiler; `init()` starts it. metrics: counters to read in each range, {"core"} or CUPTI's names."""
    return GmpProfiler(metrics, output)


_default = GmpProfiler()
_default._starts_itself = True  # with the first range
profile_range, profile_memory, profile_function = _default.profile_range, _default.profile_memory, _default.profile_function
print_profiler_ranges, print_memory_activity = _default.print_profiler_ranges, _default.print_memory_activity
get_memory_activity = _default.get_memory_activity
device_memory = _engine.device_memory


def init_global_profiler(metrics: Sequence[str] = (), output: str | None = None) -> GmpProfiler:
    """The profiler behind the functions of this module, started."""
    _default.__init__(metrics, output)  # type: ignore[misc]
    _default.init()
    return _default


def init() -> Status:
    """Starts the session of this module's functions."""
    return init_global_profiler().status()


def print_results(reduction: str = "SUM") -> None:
    """Prints ranges and memory."""
    print_profiler_ranges(reduction)
    print_memory_activity()
