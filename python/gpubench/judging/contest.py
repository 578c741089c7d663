# SPDX-License-Identifier: Apache-2.0
"""Candidates against a problem: each is checked, timed beside the reference, and gets a verdict."""
from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import math
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, Union

from .. import _core
from .adapters import candidate_adapter, functions, libraries_of, max_bytes, problem_of
from .adapters.c_library import files as files_beside
from .device import asks_beyond_the_gpu, is_broken, trouble_of
from .problem import Problem
from .settings import Settings
from .side import Memory, Side
from .store import Store
from .trial import Trial
from .verdict import REASONS, Interval, Result, Trouble

_CANDIDATE_SUFFIXES = (".py", ".toml")
_NOTABLE_BYTES = 2 << 30  #: of a GPU's memory, in use by others; a context of CUDA takes half of one


def candidates_of(paths: Sequence[str | os.PathLike[str]], problem: str | os.PathLike[str] = "") -> list[Path]:
    """Files, and those in folders, in their order; the problem's own file only where it is named."""
    found: list[Path] = []
    own = Path(problem).resolve() if os.fspath(problem) else None
    if not paths:
        raise _core.UsageError("There is no candidate; give files, or folders of them.")
    if any(not os.fspath(each) for each in paths):
        raise _core.UsageError("A candidate is an empty text, as of a variable that is not set; give a file or a folder.")
    for each in map(Path, paths):
        if os.path.isdir(each):  # which throws nothing, whatever links say
            inside = sorted(one for one in each.iterdir() if one.suffix in _CANDIDATE_SUFFIXES and os.path.isfile(one) and one.resolve() != own)
            if not inside:
                raise _core.UsageError(f"The folder {each} has no candidate: no file that ends with {' or '.join(_CANDIDATE_SUFFIXES)}.")
            found += inside
        elif os.path.isfile(each):
            found.append(each)
        else:
            raise _core.UsageError(f"There is no candidate {each}; give files, or folders of them.")
    return found


def refuse_names_of_modules(problem: str | os.PathLike[str], files: Sequence[Path]) -> None:
    """A candidate that a problem would import in place of a module runs in the judge's own process. Throws UsageError."""
    place = Path(problem).absolute()
    folder = (place if place.is_dir() else place.parent).resolve()
    for file in files:
        if file.suffix == ".py" and file.absolute().parent.resolve() in (folder, folder.parent) and _is_module_elsewhere(file):
            raise _core.UsageError(f"{file} has the name of a module that {Path(problem).name} may import, and lies beside it; put candidates into a folder of their own.")


def _is_module_elsewhere(file: Path) -> bool:
    try:
        found = importlib.util.find_spec(file.stem)
    except (ImportError, ValueError):
        return file.stem in sys.modules
    return file.stem in sys.stdlib_module_names or (found is not None and found.origin != str(file.absolute()))


def _key(problem: Problem, file: Path, settings: Settings) -> str:
    """What a verdict depends on: the contents of the files, and how they are judged."""
    digest = hashlib.sha256()
    calibrated = (settings.calibration or {}).get("created_utc", "")
    digest.update(json.dumps([_core.version, settings.time_budget, settings.min_blocks, settings.cold, settings.limits.__dict__, os.uname().nodename,
                              calibrated]).encode())
    own = [*map(Path, (*problem.hidden_files, *problem.beside))]
    for each in [*own, file, *(files_beside(file) if file.suffix == ".toml" else [])]:
        with contextlib.suppress(OSError), open(each, "rb") as stream:  # what cannot be read is said when it is loaded
            left = max_bytes(each) + 1 if each not in own else math.inf  # a file of more is not judged
            while left > 0 and (part := stream.read(1 << 20)):
                digest.update(part)
                left -= len(part)
        digest.update(b"\0")
    return digest.hexdigest()


def _hint(file: Path, trouble: Trouble) -> str:
    """Where what is missing lies beside a candidate."""
    missing = re.search(r"No module named '(\w+)|No such file or directory: '([\w.-]+)'", trouble.text)
    name = missing and (missing[1] or missing[2])
    if name and any(os.path.exists(file.parent / each) for each in (name, f"{name}.py")):
        return f" A candidate is one file: `{name}`, which lies beside it, is not copied."
    return " A candidate is one file, and no part of a package." if "attempted relative import" in trouble.text else ""


class Judge:
    """Judges candidates of one problem, and yields each verdict when it is known."""

    def __init__(self, problem: Problem, settings: Settings, store: Store | None = None):
        self.problem, self.settings, self.store = problem, settings, store
        self.notes: list[str] = []
        self._is_broken = False  #: whether this process can use its GPU no more

    def results(self, files: Sequence[Path]) -> Iterator[Result]:
        """In the order in which they are known. What the store has is not judged again."""
        open_files: list[tuple[Path, str]] = []
        for file in files:
            key = _key(self.problem, file, self.settings)
            known = self.store.find(key) if self.store is not None else None
            if known is not None:
                known.candidate = str(file)
                yield known
            else:
                open_files.append((file, key))
        if not open_files:
            return
        trial = Trial(self.problem, self.settings)
        try:
            self.notes = trial.notes
            yield from self._kept(self._with_second_tries(trial, open_files))
        finally:
            trial.close()

    def _kept(self, results: Iterator[Result]) -> Iterator[Result]:
        for result in results:
            if self.store is not None and result.reason != "room":  # says nothing of the candidate
                try:
                    self.store.keep(result)
                except _core.WriteError as error:
                    self.store = None
                    self.notes.append(f"Verdicts are no longer kept: {error}")
            yield result

    def _with_second_tries(self, trial: Trial, files: Sequence[tuple[Path, str]]) -> Iterator[Result]:
        """Who lacked memory of a GPU is judged once more, alone, when all others are: who else held it is not always seen."""
        lacking = []
        for result in self._parallel(trial, files) if self.settings.jobs > 1 else self._one_by_one(trial, files):
            if trial.gpu is not None and (result.reason == "room" or (result.reason == "memory" and not asks_beyond_the_gpu(result.text))):
                lacking.append(result)
            else:
                yield result
        for result in lacking:
            if not self._is_broken:
                again = self._result(Path(result.candidate), result.key)
                self._stages(trial, Path(result.candidate), again, check=True, time_it=True)
                result = again if again.reason != "memory" else result  # what others hold was seen at the first try
            yield result

    def _one_by_one(self, trial: Trial, files: Sequence[tuple[Path, str]]) -> Iterator[Result]:
        for place, (file, key) in enumerate(files):
            result = self._result(file, key)
            self._stages(trial, file, result, check=True, time_it=True)
            yield result
            if self._is_broken:
                yield from self._elsewhere(files[place + 1:])
                return

    def _elsewhere(self, files: Sequence[tuple[Path, str]]) -> Iterator[Result]:
        """In a new process, as this one can use its GPU no more."""
        if not files:
            return
        self.notes.append("The judge went on in a new process, after a failure of the GPU in its own.")
        context = multiprocessing.get_context("spawn")
        results = context.SimpleQueue()
        process = context.Process(target=_judge_rest, args=(self.problem.file, [file for file, _ in files], replace(self.settings, jobs=1), results))
        process.start()
        keys = {str(file): key for file, key in files}
        while keys and (not results.empty() or process.is_alive()):
            if results.empty():
                time.sleep(0.05)
                continue
            result = Result.from_dict(results.get())
            result.key = keys.pop(result.candidate)
            yield result
        process.join()
        for file, key in keys.items():
            yield Result(candidate=file, problem=self.problem.name, key=key, reason="judge", text="The judge's process ended before it came to this one.")

    def _parallel(self, trial: Trial, files: Sequence[tuple[Path, str]]) -> Iterator[Result]:
        """Checks several at once, then times those that passed, alone."""
        def check(file: Path, key: str) -> tuple[Path, Result]:
            result = self._result(file, key)
            self._stages(trial, file, result, check=True, time_it=False)
            return file, result

        passed = []
        with ThreadPoolExecutor(self.settings.jobs) as pool:
            for file, result in pool.map(lambda each: check(*each), files):
                if result.verdict == "right":
                    passed.append((file, result))
                else:
                    yield result
        if self._is_broken:
            yield from self._elsewhere([(file, result.key) for file, result in passed])
            return
        for file, result in passed:
            self._stages(trial, file, result, check=False, time_it=True)
            yield result

    def _result(self, file: Path, key: str) -> Result:
        return Result(candidate=str(file), problem=self.problem.name, key=key)

    def _stages(self, trial: Trial, file: Path, result: Result, check: bool, time_it: bool) -> None:
        """What was asked of one candidate; whatever happens costs this one alone."""
        start = time.monotonic()
        free_bytes = trial.gpu.free_bytes() if trial.gpu is not None else 0
        memory = None
        sides: list[Side] = []
        try:
            try:
                with trial.turns.beside_others():  # a process that starts on a GPU holds up others there
                    with result.phase("start"):
                        memory = trial.memory(for_batches=time_it)
                        sides = self._start_all(trial, file, memory, time_it)
                    result.isolation_missing = sides[0].process.missing
                    if check:
                        with result.phase("check"):
                            trial.checker.check(sides[0], result)
                if time_it:
                    spare = sides[1:]

                    def again() -> Side:
                        if spare:
                            return spare.pop(0)
                        sides.append(self._start(trial, file, memory))
                        return sides[-1]

                    trial.time(list(sides), result, again)
                result.verdict = "right"
            except (Trouble, _core.Error):
                raise
            except Exception as error:  # noqa: BLE001: of thousands, one costs one
                self._is_broken = self._is_broken or is_broken(error)
                raise trouble_of(error) or Trouble("judge", f"The judge failed, and not it: {type(error).__name__}: {error}"[:500]) from error
        except Trouble as trouble:
            result.verdict, result.reason, result.text = REASONS[trouble.code], trouble.code, trouble.text + _hint(file, trouble)
            result.next_step = ""
            if result.verdict == "wrong" or trouble.code in ("late", "idle-work", "clocks", "floor", "protocol", "tampering"):
                result.speedup = result.tie = result.seconds = result.cold_seconds = result.device_seconds = result.warm_device_seconds = None
        finally:
            with trial.turns.beside_others() if trial.gpu is not None else contextlib.nullcontext(), result.phase("end"):
                list(trial.starters.map(Side.close, sides))
                trial.give_back(memory)
        if result.reason == "memory" and trial.gpu is not None:
            of_others = trial.gpu.taken_bytes + max(free_bytes - trial.gpu.free_bytes(), 0)
            if of_others > _NOTABLE_BYTES and not asks_beyond_the_gpu(result.text):
                result.verdict, result.reason = REASONS["room"], "room"
                result.text = f"Other processes, or this one's other work, hold {of_others / 2**30:.0f} GiB of the GPU's memory, and the rest did not do: {result.text}"
        result.seconds_taken += time.monotonic() - start
        result.phases["wait"] = result.seconds_taken - sum(seconds for name, seconds in result.phases.items() if name != "wait")

    def _start_all(self, trial: Trial, file: Path, memory: Memory | None, time_it: bool) -> list[Side]:
        """On a GPU all processes of a candidate at once, as each takes seconds to load its libraries and to compile; else the first one."""
        count = trial.processes_of_candidate if memory is not None and time_it else 1
        if count == 1:
            return [self._start(trial, file, memory)]

        def start(place: int) -> Side:
            side = self._start(trial, file, memory, place == count - 1 and trial.records_candidates)
            if place:  # the first call of the first one is checked
                try:
                    trial.warm_up(side)
                except BaseException:
                    side.close()
                    raise
            return side

        started = [trial.starters.submit(start, place) for place in range(count)]
        troubles = [each.exception() for each in started if each.exception() is not None]
        if troubles:
            for each in started:
                if each.exception() is None:
                    each.result().close()
            raise troubles[0] or RuntimeError
        return [each.result() for each in started]

    def _start(self, trial: Trial, file: Path, memory: Memory | None, recorded: bool = False) -> Side:
        """The candidate in its process, which has a copy of its files and no others."""
        adapter, facts = candidate_adapter(file, self.problem)
        side = trial.side(adapter, "", facts, recorded=recorded, imports=libraries_of(file) if file.suffix == ".py" else [])
        try:
            inside = Path(side.process.folder) / file.name
            its_files = [file, *(files_beside(file) if file.suffix == ".toml" else [])]
            for each in its_files:
                if each.stat().st_size > max_bytes(each):
                    raise Trouble("load", f"{'It' if each == file else each.name} has over {max_bytes(each) >> 20} MiB.")
            for each in [*map(Path, self.problem.beside), *its_files]:
                shutil.copyfile(each, Path(side.process.folder) / each.name)
            side.set_file(str(inside))
            trial.start(side, memory)
        except BaseException:
            side.close()
            raise
        return side


def _judge_rest(problem: str, files: list[Path], settings: Settings, results: Any) -> None:
    """In a process of its own."""
    for result in Judge(problem_of(Path(problem)), settings).results(files):
        results.put(result.to_dict())


def surely_faster(one: Interval, other: Interval) -> bool:
    """Whether two speed-ups over one reference differ by more than their intervals, and by more than 1 %."""
    return math.log(one.value / other.value) > max(0.01, math.hypot(math.log(one.value / one.low), math.log(other.high / other.value)))


def rank(results: Sequence[Result]) -> list[Result]:
    """Right ones first, by speed-up. `rank` is the best place that one may hold, behind all that are surely faster, and `rank_to` the worst, before all that
    are surely slower."""
    speedups = [(each.speedup, each) for each in results if each.verdict == "right" and each.speedup is not None]
    speedups.sort(key=lambda pair: -pair[0].value)
    for speedup, each in speedups:
        each.rank = 1 + sum(surely_faster(other, speedup) for other, _ in speedups)
        each.rank_to = len(speedups) - sum(surely_faster(speedup, other) for other, _ in speedups)
    timed = [each for _, each in speedups]
    return [*timed, *sorted((each for each in results if each not in timed), key=lambda each: (each.verdict != "right", each.verdict, each.candidate))]


_Candidate = Union[str, "os.PathLike[str]", Callable[..., Any]]


def judge(problem: str | os.PathLike[str] | Problem | Callable[..., Any], candidates: _Candidate | Sequence[_Candidate], *, time_budget: float = 5.0,
          jobs: int = 1, cold: bool = True, resume: str | os.PathLike[str] | None = None, calibration: Any = None,
          settings: Settings | None = None, on_result: Callable[[Result], None] | None = None, **names: Any) -> list[Result]:
    """Judges candidates of a problem, each in a process of its own, and returns their results in the candidates' order.

    `problem` and `candidates` are files or folders, in the forms that docs/judge.md names, or functions: what those use is written into files, for the
    processes that run them. A problem that is a function takes `inputs` and what else a problem's file has as `names`. `time_budget` is seconds of timing
    for a candidate. `resume` is a folder in which verdicts are kept and looked up by content. `calibration` is a gpubench.Calibration; without one the stored
    one of the device is used. Throws gpubench.UsageError for a problem that does not work; a candidate that does not only costs its own verdict."""
    for name, value, is_right, kind in (("time_budget", time_budget, isinstance(time_budget, (int, float)) and time_budget >= 0.0, "seconds"),
                                        ("jobs", jobs, isinstance(jobs, int) and jobs >= 1, "a number from 1 on"),
                                        ("resume", resume, resume is None or isinstance(resume, (str, os.PathLike)), "a folder"),
                                        ("calibration", calibration, calibration is None or hasattr(calibration, "data"), "a gpubench.Calibration"),
                                        ("settings", settings, settings is None or isinstance(settings, Settings), "gpubench.judging.Settings"),
                                        ("on_result", on_result, on_result is None or callable(on_result), "a function")):
        if not is_right:
            raise _core.UsageError(f"judge() takes {kind} for `{name}`, and not {value!r}.")
    chosen = settings or Settings(time_budget=time_budget, jobs=jobs, cold=cold)
    if calibration is not None:
        chosen.calibration = calibration.data
    if not isinstance(problem, (str, os.PathLike, Problem)) and not callable(problem):
        raise _core.UsageError(f"judge() takes a file or a function as the problem, and not {problem!r}.")
    try:
        given = [candidates] if isinstance(candidates, (str, os.PathLike)) or callable(candidates) else list(candidates)
    except TypeError:
        given = [candidates]  # type: ignore[list-item]
    for each in given:
        if not isinstance(each, (str, os.PathLike)) and not callable(each):
            raise _core.UsageError(f"judge() takes files, folders and functions as candidates, and not {each!r}.")
    with tempfile.TemporaryDirectory(prefix="gpubench-judge-") as folder:
        written = {str(functions.write(Path(folder), each, "candidate")): each for each in given if callable(each)}
        places = iter(written)
        files = candidates_of([next(places) if callable(each) else each for each in given], problem if isinstance(problem, (str, os.PathLike)) else "")
        if names and not callable(problem):
            raise _core.UsageError(f"judge() takes `{next(iter(names))}` where the problem is a function alone.")
        read: Problem
        if isinstance(problem, Problem):
            read = problem
        else:
            if not callable(problem):
                refuse_names_of_modules(problem, files)
            read = functions.problem(Path(folder), problem, names) if callable(problem) else problem_of(Path(problem))
        found = {}
        for result in Judge(read, chosen, Store(Path(resume)) if resume is not None else None).results(files):
            found[result.candidate] = result
            if result.candidate in written:
                result.candidate = Path(result.candidate).stem
            if on_result is not None:
                on_result(result)
    rank(list(found.values()))
    return [found[str(file)] for file in files]
