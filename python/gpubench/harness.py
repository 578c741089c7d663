# SPDX-License-Identifier: Apache-2.0
"""Operations written in Python, measured as those of C++ are."""
from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import inspect
import itertools
import math
import numbers
import os
import re
import sys
import threading
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, overload

from . import _core
from ._arrays import address_of, bytes_of, is_array, pipe_of, text_of
from ._cli import PROGRAM
from .runs import PathLike, Run, device_kinds, refuse_a_fork

Operation = Callable[..., Any]


def sizes(start: int, stop: int, step: int = 2) -> list[int]:
    """The sizes from `start` to `stop`, both included, each `step` times the one before."""
    if not all(isinstance(each, numbers.Integral) for each in (start, stop, step)) or start < 1 or stop < start or step < 2:
        raise ValueError(f"sizes({start!r}, {stop!r}, step={step!r}): sizes are whole numbers that go upwards from 1 or more, by a factor of 2 or more")
    values = []
    while start < stop:
        values.append(start)
        start *= step
    return [*values, stop]


def _plain(value: Any) -> Any:
    """NumPy's whole numbers as Python's."""
    return int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else value


class Stream:
    """The CUDA stream on which an operation is timed. Frameworks that take `__cuda_stream__` take it as it is."""

    __slots__ = ("handle",)

    def __init__(self, handle: int):
        self.handle = handle  #: cudaStream_t as a number

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def __int__(self) -> int:
        return self.handle

    @property
    def ptr(self) -> int:
        """As CuPy names it."""
        return self.handle

    def torch(self) -> Any:
        """As a torch.cuda.Stream."""
        import torch
        return torch.cuda.ExternalStream(self.handle)  # type: ignore[no-untyped-call]

    def cupy(self) -> Any:
        """As a cupy.cuda.Stream."""
        import cupy
        if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14
            return cupy.cuda.Stream.from_external(self)
        return cupy.cuda.ExternalStream(self.handle)

    def numba(self) -> Any:
        """As a stream of numba.cuda."""
        from numba import cuda
        return cuda.external_stream(self.handle)


def refuse_what_runs_nothing(function: Operation, caller: str) -> None:
    """A function whose call only makes something that would run it."""
    name = getattr(function, "__name__", "this callable")
    for each in (function, type(function).__call__):  # of an object with __call__, that is what runs
        if inspect.iscoroutinefunction(each) or inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            kind = "generator" if inspect.isgeneratorfunction(each) else "coroutine"
            raise TypeError(f"{name} is a {kind} function: a call of it runs nothing. Give {caller}() a function that runs it to its end")


def _takes_stream(function: Operation, caller: str) -> bool:
    """Whether it has a parameter that must be given. Refuses what cannot be called so, and what would run nothing."""
    name = getattr(function, "__name__", "this callable")
    if not callable(function):
        raise TypeError(f"{caller}() takes a callable, not {type(function).__name__}: {caller}(lambda: ...)")
    refuse_what_runs_nothing(function, caller)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each.name for each in parameters if each.kind in positional and each.default is inspect.Parameter.empty]
    if len(needed) > 1:
        raise TypeError(f"{caller}() calls with nothing, or with the stream; {name} also needs {', '.join(needed[1:])}. Write {caller}(lambda: ...)")
    return bool(needed)


def _nothing() -> None:
    """What a call costs by itself."""


def empty_call_of(things: Iterable[Any]) -> Operation:
    """A call that does nothing: the addition of no elements by NumPy or PyTorch where one of these is theirs, else an empty function."""
    for thing in things:
        name = type(thing).__module__.split(".")[0]
        library: Any = sys.modules.get(name)
        if name in ("numpy", "torch") and is_array(thing):
            none = library.empty(0)
            return functools.partial(library.add, none, none)
    return _nothing


def settled(function: Operation, on_gpu: bool) -> Operation:
    """JAX returns before it has calculated: what its callables return is waited for. On a GPU it takes no stream, so that no clock sees its work."""
    jax: Any = sys.modules.get("jax")
    if not hasattr(jax, "block_until_ready"):
        return function
    waits: bool | None = None

    def call(*stream: Any) -> Any:
        nonlocal waits
        result = function(*stream)
        if waits is None:
            waits = any(isinstance(each, jax.Array) for each in jax.tree_util.tree_leaves(result))
            if waits and on_gpu:
                raise _core.UsageError("JAX launches on streams of its own and takes no other, so that its callables cannot be timed on a GPU. "
                                       "`gpubench profile -- python3 SCRIPT` times each kernel of its program and says what limits it; "
                                       "device='cpu' measures the callable on the CPU.")
        return jax.block_until_ready(result) if waits else result

    return call


def _torch() -> Any:
    """torch, where the program uses it on a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_available() else None


@contextmanager
def _without_collector() -> Iterator[None]:
    """No garbage collection, as timeit has it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _streams() -> tuple[Any, Any]:
    """Those on which PyTorch and CuPy launch now."""
    torch, cupy = _torch(), sys.modules.get("cupy")
    return torch and torch.cuda.current_stream(), cupy and cupy.cuda.get_current_stream()


_KEPT_BYTES = 64 << 20
_pools: dict[int, tuple[Any, int]] = {}  #: by device, with what PyTorch had reserved before
atexit.register(_pools.clear)


def _reserved_bytes(torch: Any) -> int:
    return int(torch.cuda.memory_stats_as_nested_dict().get("reserved_bytes", {}).get("all", {}).get("current", 0))


@contextmanager
def _memory_pool(torch: Any) -> Iterator[Any]:
    """One of this process for what is timed: to take memory for each run, and to give it back, takes a millisecond. A large one is given back."""
    device = torch.cuda.current_device()
    if device not in _pools:
        _pools[device] = torch.cuda.MemPool(), _reserved_bytes(torch)
    try:
        yield _pools[device][0]
    finally:
        if _reserved_bytes(torch) - _pools[device][1] > _KEPT_BYTES:
            del _pools[device]


def _lose_pools() -> None:
    """In a forked process PyTorch must not give them back: CUDA does not work there."""
    for pool, _ in _pools.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))
    _pools.clear()


os.register_at_fork(after_in_child=_lose_pools)


@contextmanager
def _frameworks(on_gpu: bool, timed: bool = True, own: tuple[Any, Any] | None = None) -> Iterator[Callable[..., Stream]]:
    """While it lasts, frameworks launch on the stream that the yielded function was last called with. What is `timed` takes PyTorch's memory from
    a pool of its own, and no garbage is collected; not `as_called`, which is as the program has it: on its `own` streams, where they are given."""
    if not on_gpu:
        with _without_collector() if timed else nullcontext():
            yield lambda handle, as_called=False: Stream(handle)
        return
    torch, cupy = _torch(), sys.modules.get("cupy")
    with ExitStack() as undo:
        # What a graph writes to is nobody else's.
        own_pool = undo.enter_context(_memory_pool(torch)) if timed and hasattr(getattr(torch, "cuda", None), "use_mem_pool") else None
        apart = undo.enter_context(ExitStack())
        entered = False
        if torch is not None:
            torch.cuda.synchronize()  # inputs were made on another stream
            undo.callback(torch.cuda.set_stream, torch.cuda.current_stream())
            undo.callback(torch.cuda.synchronize)
        if cupy is not None:
            cupy.cuda.Device().synchronize()
            undo.callback(cupy.cuda.get_current_stream().use)

        def prepare(handle: int, as_called: bool = False) -> Stream:
            nonlocal entered
            stream = Stream(handle)
            if as_called:
                apart.close()
            elif timed and not entered:
                apart.enter_context(_without_collector())
                if own_pool is not None:
                    apart.enter_context(torch.cuda.use_mem_pool(own_pool))
            entered = not as_called
            for_torch, for_cupy = own if as_called and own is not None else (None, None)
            if torch is not None:
                torch.cuda.set_stream(for_torch or stream.torch())
            if cupy is not None:
                (for_cupy or stream.cupy()).use()
            return stream

        yield prepare


@contextmanager
def _launching_on(handle: int) -> Iterator[None]:
    """While it lasts, frameworks launch on this stream, unless it is 0. Inputs are made on it, too: once the launches of a process have changed
    streams eight times, each kernel costs 0.2 us more (docs/results/h200/README.md)."""
    with _frameworks(handle != 0, timed=False) as prepare:
        if handle != 0:
            prepare(handle)
        yield


def _outcome(check: Callable[[], Any]) -> tuple[bool, str]:
    try:
        result = check()
    except AssertionError as error:
        return False, str(error).strip().split("\n")[0] or "an assertion failed"
    if isinstance(result, tuple):
        return bool(result[0]), str(result[1])
    return result is None or bool(result), ""


class State:
    """What an operation is handed: its arguments, declarations of its work, and `measure`."""

    def __init__(self, core: _core.State, device: str, values: Mapping[str, Any], own_streams: tuple[Any, Any] | None = None):
        self._core = core
        self._own_streams = own_streams  # of the program, on which it calls the operation
        self._values = values
        self._touched: dict[int, int] | None = {}
        self.empty_call: Operation = _nothing
        self.device = device  #: "cuda:0" or "cpu", as torch takes it

    def __getitem__(self, name: str) -> Any:
        """The value of an argument."""
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(f"{name}; this point has {', '.join(self._values) or 'no arguments'}") from None

    @property
    def on_gpu(self) -> bool:
        """Whether this point runs on a GPU."""
        return self.device != "cpu"

    def _declare(self, things: Iterable[Any], declare: Callable[[int], None]) -> None:
        if not self.on_gpu and self.empty_call is _nothing:
            self.empty_call = empty_call_of(things)
        for thing in things:
            size = bytes_of(thing)
            declare(size)
            address = address_of(thing)
            if address is None:
                self._touched = None
            elif self._touched is not None:
                self._touched[address] = max(size, self._touched.get(address, 0))

    def reads(self, *things: Any) -> None:
        """Bytes one execution must read, at least: numbers, or the arrays and tensors themselves. Calls add up."""
        self._declare(things, self._core.reads)

    def writes(self, *things: Any) -> None:
        """Bytes one execution must write, likewise."""
        self._declare(things, self._core.writes)

    def flops(self, pipe: Any, count: int) -> None:
        """Operations on a pipe ("fp32", "tensor-bf16", ..., or a type of elements); a fused multiply-add is two."""
        self._core.flops(pipe_of(pipe), int(count))

    def footprint(self, size: int) -> None:
        """Distinct bytes touched, where they are not those of the arrays given to reads() and writes()."""
        self._touched = None
        self._core.footprint(int(size))

    def random_reads(self, count: int, table_bytes: int) -> None:
        """How many of the reads go to random places of a table of so many bytes."""
        self._core.random_reads(int(count), int(table_bytes))

    def random_updates(self, count: int, table_bytes: int) -> None:
        """The same of stores and atomic operations."""
        self._core.random_updates(int(count), int(table_bytes))

    def items(self, count: int) -> None:
        """Items one execution processes: rows, tokens. Reports show them per second."""
        self._core.items(int(count))

    def counter(self, name: str, value: float, unit: str = "") -> None:
        """A figure of your own, reported with the point."""
        self._core.counter(name, float(value), unit)

    def label(self, text: str) -> None:
        """A text of your own, reported with the point."""
        self._core.label(text)

    def skip(self, reason: str) -> None:
        """Leaves this point out; not a failure."""
        self._core.skip(reason)

    def verify(self, check: Callable[[], Any]) -> None:
        """Called once, after a first execution and before timing: it asserts, or returns False or (False, message), where
        the result is wrong. The point then fails and is not timed."""
        self._core.verify(lambda: _outcome(check))

    def inputs(self, pool: int, fill: Callable[[int], Any]) -> None:
        """`fill(i)` puts set i of `pool` (at least 2) into the operation's inputs, untimed. Set 0 is timed; after timing another,
        drawn at random, is filled in, executed once and checked: a result kept from an earlier execution does not pass."""
        self._core.inputs(pool, fill)

    def reset(self, function: Operation) -> None:
        """Called before each execution, untimed: restores what an operation in place has changed."""
        self._reset = function, _takes_stream(function, "reset")

    def measure(self, function: Operation) -> None:
        """Times a callable, which takes nothing, or a Stream. On a GPU it must launch all its work on that stream, which
        is already the current one of PyTorch and CuPy. For the time of a call, one that takes nothing has the program's own streams."""
        takes_stream = _takes_stream(function, "measure")
        if self._touched:
            self._core.footprint(sum(self._touched.values()))
        with _frameworks(self.on_gpu, own=None if takes_stream else self._own_streams) as prepare:
            reset: tuple[Operation, bool] | None = getattr(self, "_reset", None)
            if reset is not None:
                self._core.reset(*reset, prepare, self.on_gpu)
            self._core.measure(settled(function, self.on_gpu), takes_stream, prepare, self.on_gpu, settled(self.empty_call, self.on_gpu))


class Benchmark:
    """An operation with its axes. Calling it calls the function."""

    def __init__(self, function: Callable[..., Any], name: str, axes: Mapping[str, Sequence[Any]],
                 device: str | None):
        self.function = function
        self.name = name
        for axis, values in axes.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise TypeError(f"{name}: the axis {axis} takes a list of values, not {values!r}; write {axis}=[{values!r}]")
        self.axes = {axis: [_plain(each) for each in values] for axis, values in axes.items()}
        self.device = device  #: "cuda", "cpu", or None for both
        self.__doc__ = function.__doc__
        for axis, values in self.axes.items():
            if not values:
                raise ValueError(f"{name}: the axis {axis} has no values")
            texts = [text_of(each) for each in values]
            twice = next((text for place, text in enumerate(texts) if text in texts[:place]), None)
            if twice is not None:
                raise ValueError(f"{name}: the axis {axis} has {twice} twice, and points are told apart by such texts")
            too_large = next((each for each in values if isinstance(each, int) and not -2**63 <= each < 2**63), None)
            if too_large is not None:
                raise ValueError(f"{name}: the axis {axis} has {too_large}; whole numbers of an axis have 64 bits")
        self._wanted = self._parameters()

    def _parameters(self) -> set[str]:
        """The axes that the function wants by name."""
        parameters = list(inspect.signature(self.function).parameters.values())
        if not parameters:
            raise TypeError(f"{self.name} must take a gpubench.State: def {self.name}(state): ...")
        if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
            return set(self.axes)
        names = {each.name for each in parameters[1:]}
        for each in parameters[1:]:
            if each.name not in self.axes and each.default is inspect.Parameter.empty:
                raise TypeError(f"{self.name} takes {each.name}, which is no axis; it has {', '.join(self.axes) or 'none'}")
        return names & set(self.axes)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis}: {len(values)}" for axis, values in self.axes.items())
        return f"<gpubench.Benchmark {self.name} ({axes})>"

    def run(self, **options: Any) -> Run:
        """gpubench.run of this benchmark alone."""
        return run(self, **options)

    @property
    def points(self) -> int:
        """How many there are."""
        return math.prod(map(len, self.axes.values()))

    def _register(self, kind: str, on_point: Callable[[str], None], repetitions: int | None) -> None:
        sweeps = {axis: values for axis, values in self.axes.items()
                  if all(isinstance(each, int) and not isinstance(each, bool) for each in values)}
        others = {axis: values for axis, values in self.axes.items() if axis not in sweeps}
        for chosen in itertools.product(*others.values()):
            texts = dict(zip(others, chosen))

            def call(core: _core.State, texts: Mapping[str, Any] = texts) -> None:
                values = {axis: texts[axis] if axis in texts else core.range(axis) for axis in self.axes}
                name = "/".join([self.name, *(f"{axis}:{text_of(value)}" for axis, value in values.items())])
                on_point(name)
                device = "cpu" if kind == "cpu" else f"cuda:{_core.current_device()}"
                state = State(core, device, values, _streams() if kind != "cpu" else None)
                with _launching_on(_core.working_stream() if kind != "cpu" else 0):
                    self.function(state, **{axis: values[axis] for axis in self._wanted})

            _core.register(self.name, kind, [(axis, text_of(value)) for axis, value in texts.items()], list(sweeps),
                           [list(each) for each in itertools.product(*sweeps.values())] if sweeps else [], call,
                           repetitions)


_TIMES = "stream,device,call,graph"
_benchmarks: dict[str, Benchmark] = {}
_one_at_a_time = threading.Lock()


@overload
def benchmark(function: Callable[..., Any], *, name: str | None = None, device: str | None = None,
              **axes: Sequence[Any]) -> Benchmark: ...
@overload
def benchmark(function: None = None, *, name: str | None = None, device: str | None = None,
              **axes: Sequence[Any]) -> Callable[[Callable[..., Any]], Benchmark]: ...
def benchmark(function: Callable[..., Any] | None = None, *arguments: Any, name: str | None = None, device: str | None = None,
              **axes: Sequence[Any]) -> Any:
    """Makes a function of a State a benchmark. Each keyword is an axis: whole numbers make a sweep, other values (types,
    texts) tell sweeps apart. The function gets axes that it has as parameters; `state["n"]` has them all.

        @gpubench.benchmark(n=gpubench.sizes(2**10, 2**26, step=4), dtype=[torch.float32, torch.bfloat16])
        def add(state, n, dtype): ...

    `device` is "cuda" or "cpu" for an operation of that kind of device alone."""
    if arguments:
        raise TypeError("benchmark() takes a function of a State alone, and axes by name: benchmark(f, n=[1024, 4096]). What limits one call f(x) "
                        "says gpubench.regime.GPUProfiler().profile_operation(f, x)")
    if device not in (None, "cuda", "cpu"):
        raise ValueError(f"a benchmark's device is 'cuda', 'cpu' or None, not {device!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"benchmark(name=...) is the benchmark's name, a text, not {name!r}; no axis can be called so")
    if function is not None and not callable(function):
        raise TypeError(f"benchmark() takes a function, not {type(function).__name__}; axes have names: benchmark(n=[1024, 4096])")

    def decorate(operation: Callable[..., Any]) -> Benchmark:
        named = getattr(operation, "func", operation)  # of a functools.partial
        made = Benchmark(operation, name or str(getattr(named, "__name__", type(named).__name__)), axes, device)
        _benchmarks[made.name] = made  # a cell that runs again replaces its benchmarks
        return made

    return decorate if function is None else decorate(function)


def benchmarks() -> list[Benchmark]:
    """All that were made in this process."""
    return list(_benchmarks.values())


class _Progress:
    """Which point runs: a line on a terminal, or in a notebook's cell."""

    def __init__(self, total: int, wanted: bool | None):
        self._total = total
        self._done = 0
        self._shown = wanted if wanted is not None else "ipykernel" in sys.modules or bool(sys.stderr and sys.stderr.isatty())

    def point(self, name: str) -> None:
        self._done += 1
        if self._shown:
            self._show(f"[{self._done}/{max(self._total, self._done)}] {name}")

    @staticmethod
    def _show(text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._shown and self._done:
            self._show("")


def say(message: str) -> None:
    """A message of the engine, on standard error."""
    print(f"gpubench: {_in_python(message)}", file=sys.stderr)


_OPTIONS = re.compile("--(filter|time-budget|brief|time|cache|metrics|check|kernels|calibration|drift-check|repetitions|device)(?![a-z-])")


def _in_python(message: str) -> str:
    """A message of the command line, its options named as run() names them."""
    return _OPTIONS.sub(lambda found: found[1].replace("-", "_"), message).replace(" --list names them all.", "")


def _words(device: str, options: Mapping[str, Any]) -> list[str]:
    words = [os.path.basename(sys.argv[0]) or "python", "--quiet", f"--device={device}"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words.append(f"{flag}={','.join(map(str, value))}")
        else:
            words.append(f"{flag}={value}")
    return words


def run(*chosen: Benchmark, device: str | None = None, filter: str | None = None,  # noqa: A002
        time_budget: float | None = None, brief: bool = False, time: str | None = None, cache: str | None = None,
        metrics: str | Sequence[str] | None = None, check: str | Sequence[str] | None = None, kernels: bool = False,
        calibration: PathLike | None = None, drift_check: bool = True, repetitions: int | None = None,
        progress: bool | None = None) -> Run:
    """Measures benchmarks (without any: all of this process) and says what limits each point.

    device: "cuda:0", "cpu" or "all"; without it the first GPU, else the CPU. filter: a regular expression of point names.
    time_budget: seconds of sampling a point; brief: less where its times are known within 5 % or 0.5 us sooner. time: what to measure of a GPU's operations, "stream,device,call,graph" if not said: a point's time is
    the first, verdicts are of the call where that is among them. cache: "warm" or "cold".
    metrics, check, kernels, calibration, drift_check: as the command line's options of these names.

    A point that fails holds the reason; the others are measured all the same. Ctrl-C raises KeyboardInterrupt."""
    wanted = list(chosen) or benchmarks()
    if not wanted:
        raise _core.UsageError("There is no benchmark yet. Make one with @gpubench.benchmark.")
    for each in wanted:
        if not isinstance(each, Benchmark):
            raise TypeError(f"run() takes benchmarks, not {type(each).__name__}; use @gpubench.benchmark")
    if repetitions is not None and not (isinstance(repetitions, int) and 1 <= repetitions <= 2**20):
        raise _core.UsageError(f"repetitions takes a whole number from 1 on, not {repetitions!r}.")
    refuse_a_fork()
    here = device_kinds()
    device = next(iter(here)) if device is None else str(device)  # a torch.device, too
    kinds = sorted(set(here.values())) if device == "all" else ["cpu" if device == "cpu" else "cuda"]
    fitting = [(each, kind) for kind in kinds for each in wanted if each.device in (None, kind)]
    if not fitting:
        raise _core.UsageError(f"None of these benchmarks is for {device}.")
    named = [(each.name, kind) for each, kind in fitting]
    for name, _ in {each for each in named if named.count(each) > 1}:
        raise _core.UsageError(f"Two of these benchmarks are called {name}, and points are told apart by their names: benchmark(name='...') gives one of its own.")
    line = _Progress(sum(each.points for each, _ in fitting) * (repetitions or 1), progress)
    words = _words(device, {
        "filter": filter, "time_budget": time_budget, "brief": brief, "time": time or (_TIMES if "cuda" in kinds else None), "cache": cache, "metrics": metrics, "check": check,
        "kernels": kernels, "calibration": os.fspath(calibration) if calibration is not None else None,
        "drift_check": None if drift_check else "off",
    })
    if not _one_at_a_time.acquire(blocking=False):  # before anything is registered, which would disturb the other
        raise _core.UsageError("A run is in progress in this process. Wait for its end.")
    try:
        for each, kind in fitting:
            each._register(kind, line.point, repetitions)
        return Run(_core.run(words, [PROGRAM, "--quiet"], say))
    except _core.UsageError as error:
        raise type(error)(_in_python(str(error))) from None
    finally:
        _core.forget()
        _one_at_a_time.release()
        line.clear()
