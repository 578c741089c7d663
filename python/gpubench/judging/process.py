# SPDX-License-Identifier: Apache-2.0
"""A process that runs one candidate, or the reference: started, asked, watched and ended from outside. All clocks are read here."""
from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

from .cell import layout
from .cell.confine import PARTS, group_of, processes_limit
from .memory import MEMORY_NAME, Sample, Spec
from .nursery import Copy, Nursery
from .verdict import Trouble

CELL = Path(__file__).resolve().parent / "cell"
_MAX_REPLY_BYTES = 1 << 20
_COUNTED_EVERY_SECONDS = 0.2
_ITS_CODES = ("error", "type", "shape", "memory", "tampering", "device")  #: that a process says of what it runs; others are the judge's to say
_WORK_THAT_IS_SEEN = 0.8  #: of a batch's processor time, by threads that are still there after it
_PRIORITY = (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
_KEPT_PREFIXES = ("CUDA", "NVIDIA", "OMP_", "OPENBLAS_", "MKL_", "KMP_", "TRITON_", "TORCH")
_NOT_KEPT = ("CUDA_INJECTION64_PATH",)
#: Threads of honest libraries shall wait asleep: work while nothing is asked for is held against a candidate.
_QUIET_THREADS = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "OPENBLAS_THREAD_TIMEOUT": "4", "KMP_BLOCKTIME": "0",
                  "PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
#: What glibc's allocator comes to by itself once large blocks were freed. Until then each call pays for fresh pages, in one process and not in another.
_SETTLED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}


@dataclass
class Limits:
    """What a candidate may use."""

    seconds: float = 60.0  #: for one request: loading, or one batch of calls
    memory_bytes: int | None = 8 << 30
    namespaces: bool = True
    processes: int = 1024  #: and threads, where the system can limit them
    without: Mapping[str, str] = field(default_factory=dict)  #: parts of the shutting in that are left out, and why


@dataclass
class Timed:
    """One batch by the judge's clocks, in seconds."""

    wall: float  #: from the request to the reply
    cpu: float  #: processor time of the process and all its descendants meanwhile
    idle_cpu: float  #: the same while nothing was asked of it, since the batch before
    waited: float  #: how long the judge, and the thread of the process that worked most, were ready to run while the processors ran others
    busiest: float = 0.0  #: how long that thread ran
    window_ns: tuple[int, int] = (0, 0)  #: since 1970
    gpu: float | None = None  #: the same window by the GPU's own clock
    seen: Any = None  #: what the witness saw before the clock was stopped

    @property
    def undisturbed(self) -> float:
        """Wall time less that of waiting for a processor: what a machine that runs nothing else would show. No less than one thread worked, nor than the
        processor time needs on all processors, so that nobody hides work behind threads that wait, nor behind the judge's own waiting."""
        if self.gpu is not None:  # a thread that waits says nothing of a GPU's work
            return self.wall
        return max(self.wall - self.waited, min(self.wall, max(self.busiest, self.cpu / len(os.sched_getaffinity(0)))))


class Witness:
    """Reads some of the outputs before the clock is stopped."""

    def __init__(self, sample: Sample):
        self.sample = sample

    def begin(self) -> Any:
        """By a clock of its own, where it has one."""
        return None

    def look(self) -> Any:
        return self.sample.look()

    def end(self, first: Any) -> float | None:
        """Seconds since `first` by that clock."""
        return None


def _environment(folder: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in _KEPT_VARIABLES or (key.startswith(_KEPT_PREFIXES) and key not in _NOT_KEPT)}
    kept["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]  # of several GPUs each makes CUDA start later
    caches = {"TRITON_HOME": folder, "TRITON_CACHE_DIR": f"{folder}/.triton/cache", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/.inductor"}
    return {**kept, **_QUIET_THREADS, **_SETTLED_MEMORY, **caches, "HOME": folder, "TMPDIR": folder}


def nursery(imports: Sequence[str]) -> Nursery:
    """Of processes that need these modules."""
    return Nursery(imports, _packages(), _environment(tempfile.gettempdir()))


def _packages() -> list[str]:
    return [each for each in sys.path if os.path.basename(each) in ("site-packages", "dist-packages")]


def why_cuda_does_not_start(without: Mapping[str, str], seconds: float = 30.0) -> str:
    """In a process that is shut in but for these parts; empty where it starts."""
    folder = tempfile.mkdtemp(prefix="gpubench-judge-")
    settings = {"descriptors": [], "folder": folder, "hidden": [], "namespaces": True, "processes": 1024, "memory_bytes": None, "without": dict(without)}
    try:
        result = subprocess.run([sys.executable, "-I", str(CELL / "cuda_start.py"), json.dumps(settings)], capture_output=True, text=True, check=False,
                                env=_environment(folder), cwd=folder, timeout=seconds)
        said = (result.stdout.strip() or result.stderr.strip()).splitlines()
        return said[-1] if said else f"it ends with {result.returncode}" if result.returncode else ""
    except subprocess.TimeoutExpired:
        return f"it takes over {seconds:g} s"
    finally:
        _remove_group(group_of(folder))
        _remove_folder(folder)


@functools.cache
def parts_without_which_cuda_starts() -> dict[str, str]:
    """What has to be left out of the shutting in so that CUDA starts, with the reason: one part, or the first ones of PARTS; all where nothing helps."""
    why = why_cuda_does_not_start({})
    if not why:
        return {}
    reason = f"CUDA does not start with it: {why}"
    with ThreadPoolExecutor(len(PARTS)) as pool:
        tried = list(pool.map(lambda part: why_cuda_does_not_start({part: reason}), PARTS))
    for part, trouble in zip(PARTS, tried):
        if not trouble:
            return {part: reason}
    for count in range(2, len(PARTS)):
        some = dict.fromkeys(PARTS[:count], reason)
        if not why_cuda_does_not_start(some):
            return some
    return dict.fromkeys(PARTS, reason)


def descendants(process: int) -> list[int]:
    """A process and all that came of it."""
    found = [process]
    for each in found:
        try:
            for thread in os.listdir(f"/proc/{each}/task"):
                with open(f"/proc/{each}/task/{thread}/children", encoding="ascii") as stream:
                    found += [int(word) for word in stream.read().split()]
        except (OSError, ValueError):
            continue
    return found


def _stat_of(task: str) -> list[str]:
    """The fields behind its name. Throws OSError."""
    with open(f"/proc/{task}/stat", encoding="utf-8", errors="replace") as stream:
        return stream.read().rpartition(")")[2].split()


def _cpu_seconds(process: int) -> float:
    """Processor time of a process, its descendants, and those of them that have ended."""
    seconds = 0.0
    for each in descendants(process):
        try:
            seconds += time.clock_gettime((~each << 3) | 2)  # CPUCLOCK_SCHED of <linux/posix-timers.h>: that of another process
            fields = _stat_of(str(each))
            seconds += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")  # cutime, cstime
        except (OSError, ValueError, IndexError):
            continue
    return seconds


def _waits(tasks: Iterable[str]) -> dict[str, tuple[float, float]]:
    """How long each thread ran, and how long it was ready to and did not, in seconds, by the scheduler's own account; nothing where it keeps none."""
    waits = {}
    for task in tasks:
        try:
            with open(f"/proc/{task}/schedstat", encoding="ascii") as stream:
                ran, waited = stream.read().split()[:2]
            waits[task] = (int(ran) * 1e-9, int(waited) * 1e-9)
        except (OSError, ValueError, IndexError):
            continue
    return waits


def _threads(process: int) -> list[str]:
    try:
        return [f"{process}/task/{each}" for each in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []


def _field_of(file: str, name: str) -> str:
    """The words after a name in one of the system's files; nothing where it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return next((line.removeprefix(name).strip() for line in stream if line.startswith(name)), "")
    except OSError:
        return ""


def _remove_folder(folder: str) -> None:
    with contextlib.suppress(RecursionError):  # of folders in folders
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder):  # so deep, or such that its owner may not look into it
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf", "--one-file-system"]):
            subprocess.run([*command, "--", folder], stderr=subprocess.DEVNULL, check=False)


def _remove_group(group: str | None) -> None:
    for _ in range(50):
        try:
            if group is None or not os.path.isdir(group):
                return
            os.rmdir(group)
        except OSError:
            time.sleep(0.01)  # a process of it is still ending


class CellProcess:
    """One process. All methods throw Trouble for what the candidate does."""

    def __init__(self, limits: Limits, hidden: Sequence[str] = (), variables: Mapping[str, str] | None = None, nursery: Nursery | None = None):
        self.limits = limits
        self._nursery = nursery
        self.variables = dict(variables or {})
        self.folder = tempfile.mkdtemp(prefix="gpubench-judge-")
        self._process: subprocess.Popen[bytes] | Copy | None = None
        self._hidden = [os.path.realpath(each) for each in hidden if os.path.exists(each)]
        self.missing: dict[str, str] = {}
        self._cpu = 0.0
        self._inner = 0
        self._mapped: list[str] = []
        self._on_gpu = False

    def start(self, inputs: Any, outputs: Any, accelerator: str | None = None) -> None:
        """Starts it with these regions as its memory: of the host, or of the GPU that an accelerator's file is for."""
        self._on_gpu = accelerator is not None
        ours, theirs = socket.socketpair()
        readable = os.dup(inputs.descriptor) if accelerator else os.open(f"/proc/self/fd/{inputs.descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        given = [theirs.fileno(), readable, outputs.descriptor]
        settings = {"channel": given[0], "inputs": given[1], "outputs": given[2], "descriptors": given, "folder": self.folder,
                    "hidden": self._hidden, "paths": _packages(), "namespaces": self.limits.namespaces, "accelerator": accelerator,
                    "processes": self.limits.processes, "without": dict(self.limits.without),
                    "memory_bytes": self.limits.memory_bytes and self.limits.memory_bytes + inputs.size + outputs.size}
        environment = {**_environment(self.folder), **self.variables}
        try:
            if self._nursery is not None:
                self._process = self._nursery.copy(settings, given, environment)
            else:
                self._process = subprocess.Popen([sys.executable, "-I", str(CELL), json.dumps(settings)], pass_fds=given, stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=self.folder, start_new_session=True)
        finally:
            theirs.close()
            os.close(readable)
        self._channel = ours
        self.missing = self._answer(self.limits.seconds)["missing"]
        self._inner = descendants(self._pid)[-1]  # the one that is shut in; the first waits for it

    def map(self, inputs: Any, outputs: Any, mutable: bool) -> None:
        self.ask("map", input_bytes=inputs.size, output_bytes=outputs.size, mutable=mutable)
        self._mapped = self._mappings()

    def ask(self, request: str, **words: Any) -> Any:
        """One request, and what it answers."""
        self._send(json.dumps({"do": request, **words}).encode())
        answer = self._answer(self.limits.seconds)
        if request != "prepare":  # which has inputs at hand, and nothing to do for a candidate
            self._cpu = _cpu_seconds(self._pid)
        return answer.get("result")

    def run(self, witness: Witness | None = None, request: bytes = b"run", meanwhile: Callable[[], None] | None = None) -> Timed:
        """Runs the prepared calls once. The clock stops when the witness, where there is one, has seen their outputs. `meanwhile` is done while they run."""
        waits = self._waits()  # takes milliseconds where there are many threads, which may work meanwhile: that counts as work while nothing is asked of it
        before = _cpu_seconds(self._pid)
        idle = before - self._cpu
        first = witness.begin() if witness is not None else None  # last of all, as its clock is held against the judge's
        start, start_ns = time.perf_counter_ns(), time.time_ns()
        self._send(request)
        if meanwhile is not None:
            meanwhile()
        self._answer(self.limits.seconds)
        seen = witness.look() if witness is not None else None
        end, end_ns = time.perf_counter_ns(), time.time_ns()
        self._cpu = _cpu_seconds(self._pid)
        gpu = witness.end(first) if witness is not None else None
        after = self._waits()
        none = (0.0, 0.0)
        gone = {task: tuple(now - before for now, before in zip(each, waits.get(task, none))) for task, each in after.items()}
        # Of the thread that works most: one that only waits may be there to wait. None where those that worked have ended
        waited = gone.pop("thread-self", none)[1]
        busiest, its_wait = max(gone.values(), default=none)
        cpu = self._cpu - before
        if sum(ran for ran, _ in gone.values()) < _WORK_THAT_IS_SEEN * cpu:
            its_wait = 0.0
        return Timed((end - start) * 1e-9, cpu, idle, waited + its_wait, busiest, (start_ns, end_ns), gpu, seen)

    def _waits(self) -> dict[str, tuple[float, float]]:
        """Of the judge's thread and those of the process and all that came of it. A GPU's work does not wait for processors."""
        return {} if self._on_gpu else _waits(["thread-self", *(thread for each in descendants(self._inner) for thread in _threads(each))])

    def end(self) -> None:
        """Lets it end in order, as a program does that is recorded."""
        self._send(b"end")
        self._answer(self.limits.seconds)
        try:
            if self._process is not None:
                self._process.wait(self.limits.seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def _mappings(self) -> list[str]:
        """Where the judge's memory lies in it."""
        try:
            with open(f"/proc/{self._inner}/maps", encoding="utf-8", errors="replace") as stream:
                return [line.split(" ")[0] for line in stream if f"/memfd:{MEMORY_NAME}" in line]
        except OSError:
            return []

    def evasion(self) -> str:
        """What it does so that its time is not counted as it is, in words; nothing where it does not."""
        processes = descendants(self._pid)[1:]
        for each in processes:
            if int(_field_of(f"/proc/{each}/status", "SigIgn:") or "0", 16) >> (signal.SIGCHLD - 1) & 1:
                return "It ignores the end of its processes, so that their time is counted nowhere."
        lowered = 0
        for thread in [each for process in processes for each in _threads(process)]:
            try:
                fields = _stat_of(thread)
                lowered += (int(fields[16]), int(fields[38])) != _PRIORITY
            except (OSError, ValueError, IndexError):
                continue
        if self._mappings() != self._mapped:
            return "It has mapped the judge's memory once more, or something else in its place."
        return f"It has changed the priority of {lowered} of its threads." if lowered else ""

    def idle_cpu(self) -> float:
        """Processor time since the last answer."""
        now = _cpu_seconds(self._pid)
        return now - self._cpu

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _send(self, message: bytes) -> None:
        if select.select([self._channel], [], [], 0)[0]:
            self._died_or("protocol", "It wrote to the judge's channel without being asked.")
        try:
            self._channel.sendall(struct.pack("<I", len(message)) + message)
        except OSError:
            self._died_or("crash", "Its process has ended.")

    def _answer(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        size = struct.unpack("<I", self._exactly(4, deadline))[0]
        if size > _MAX_REPLY_BYTES:
            self._died_or("protocol", "What it wrote to the judge's channel is no answer.")
        try:
            answer = json.loads(self._exactly(size, deadline))
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Trouble("protocol", "What it wrote to the judge's channel is no answer.")
        if "error" in answer:
            code = str(answer["error"])
            raise Trouble(code if code in _ITS_CODES else "error", str(answer.get("text", ""))[:2000])
        return answer

    def _exactly(self, count: int, deadline: float) -> bytes:
        parts = b""
        while len(parts) < count:
            if not self._has_answered(deadline):
                self.kill()
                raise Trouble("time-limit", f"It did not answer within {self.limits.seconds:g} s; --time-limit=SECONDS gives more.")
            try:
                part = self._channel.recv(count - len(parts))
            except OSError:
                part = b""
            if not part:
                self._died_or("crash", "Its process has ended.")
            parts += part
        return parts

    def _has_answered(self, deadline: float) -> bool:
        """Where the system does not limit the number of its processes, they are counted meanwhile."""
        slice_seconds = _COUNTED_EVERY_SECONDS if "number of processes" in self.missing else math.inf
        while True:
            left = max(0.0, deadline - time.monotonic())
            if select.select([self._channel], [], [], min(left, slice_seconds))[0]:
                return True
            if left <= slice_seconds:
                return False
            if len(descendants(self._pid)) > processes_limit(self.limits.processes):
                self.kill()
                raise Trouble("crash", f"It started more than {processes_limit(self.limits.processes)} processes, and was ended.")

    def _died_or(self, code: str, text: str) -> None:
        """Says how the process died, where it did; else this trouble."""
        assert self._process is not None
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Trouble(code, text) from None
        number = status - 128 if status > 128 else -status
        if number in {each.value for each in signal.Signals}:
            hint = " A write to its inputs, which it can only read, ends so, and so do abort() and a failed assertion." if number == signal.SIGSEGV else ""
            raise Trouble("crash", f"Its process was ended by {signal.Signals(number).name}.{hint}")
        raise Trouble("crash", f"It ended its process with exit code {status}.")

    def hold(self, on: bool) -> None:
        """Stops it and all that came of it, or lets them go on."""
        if self._process is not None and self._process.poll() is None:
            for each in descendants(self._process.pid)[1:]:  # the first waits for the others alone
                try:
                    os.kill(each, signal.SIGSTOP if on else signal.SIGCONT)
                except OSError:
                    pass

    def kill(self) -> None:
        """Ends it and all that came of it."""
        if self._process is None or self._process.poll() is not None:
            return
        for each in (*([self._inner] if self._inner else []), *reversed(descendants(self._process.pid))):  # with the first of a namespace all others end
            try:
                os.kill(each, signal.SIGKILL)
            except OSError:
                pass
        self._process.wait()

    def close(self) -> None:
        self.kill()
        if hasattr(self, "_channel"):
            self._channel.close()
        _remove_folder(self.folder)
        _remove_group(group_of(self.folder))


def slots_of(skeleton: Any, inputs: list[Spec], outputs: list[Spec], count: int) -> tuple[list[dict[str, Any]], int, int]:
    """Places for `count` calls, and the bytes that their inputs and outputs take. The outputs of each call lie as those of the one before, and take what lies
    between them and the next ones."""
    slots, at, to = [], 0, 0
    for _ in range(count):
        placed_inputs, at = layout.place(inputs, at)
        placed_outputs, to = layout.place(outputs, to)
        slots.append({"skeleton": skeleton, "inputs": placed_inputs, "outputs": placed_outputs})
    return slots, at, int(layout.place(outputs, to)[0][0]["offset"]) if outputs else to


def stride_of(outputs: list[Spec]) -> int:
    """Bytes from the outputs of one call to those of the next."""
    if not outputs:
        return 0
    first, end = layout.place(outputs, 0)
    return int(layout.place(outputs, end)[0][0]["offset"] - first[0]["offset"])
