# SPDX-License-Identifier: Apache-2.0
"""Operations of one GPU_BENCHMARK program: the problem is PROGRAM:OPERATION, the reference, and candidates are names of others of its operations. They are
checked by their own state.verify, before and after timing, and timed in processes in which the two stand in turn. Nothing parts them from each other, and
a program checks itself: this finds mistakes, and no deceit."""
from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import tempfile
from typing import Any, Iterator, Sequence

from ... import _core
from ..verdict import Interval, Result

_NOT_PARTED = {"separation": "operations of one program share its process, and check themselves"}


def parts_of(problem: str) -> tuple[str, str] | None:
    """Program and operation of PROGRAM:OPERATION; None of a file or folder."""
    program, mark, operation = problem.rpartition(":")
    if not mark or os.path.exists(problem) or not os.path.isfile(program):
        return None
    if not os.access(program, os.X_OK):
        raise _core.UsageError(f"{program} cannot be executed; give a GPU_BENCHMARK program, as in ./bench:saxpy.")
    return os.path.abspath(program), operation


def _measured(program: str, operations: Sequence[str], time_budget: float, seconds: float, folder: str) -> dict[tuple[str, str], Any]:
    """Points by operation and arguments, of one process. The first leaves its ceilings in the folder to those that follow."""
    from ...runs import Run
    file, ceilings = os.path.join(folder, "run.json"), os.path.join(folder, "first.json")
    names = "|".join(re.escape(each) for each in operations)
    words = [program, f"--filter=^({names})(/|$)", f"--out={file}", "--quiet", "--verify=every", f"--time-budget={time_budget:g}", "--isolate"]
    words += [f"--calibration={ceilings}"] if os.path.exists(ceilings) else []
    try:
        result = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise _core.UsageError(f"{program} did not end within {seconds:g} s; give more with --time-limit.") from None
    if not os.path.exists(file):
        said = (result.stderr.strip().splitlines() or [f"it ended with exit code {result.returncode}"])[-1]
        raise _core.UsageError(f"{program} measured nothing: {said[:300]}")
    points = Run.load(file).points
    os.replace(file, ceilings)
    return {(each.operation, each.name[len(each.operation):]): each for each in points}


def results(program: str, reference: str, candidates: Sequence[str], time_budget: float, limit: float, rounds: int = 4) -> Iterator[Result]:
    """One result a candidate. Throws UsageError where the reference itself does not work."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _in_folder(folder, program, reference, candidates, time_budget, limit, rounds)


def _in_folder(folder: str, program: str, reference: str, candidates: Sequence[str], time_budget: float, limit: float, rounds: int) -> Iterator[Result]:
    for candidate in candidates:
        result = Result(candidate=candidate, problem=f"{os.path.basename(program)}:{reference}", isolation_missing=dict(_NOT_PARTED))
        pairs: dict[str, list[float]] = {}
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            points = _measured(program, [reference, candidate], time_budget / rounds, limit, folder)
            places = [arguments for operation, arguments in points if operation == reference]
            if not places:
                raise _core.UsageError(f"{program} has no operation {reference}; --list shows what it has.")
            if not _compare(points, reference, candidate, places, result, pairs, times):
                break
        else:
            _sum_up(result, pairs, times, rounds)
        yield result


def _compare(points: dict[tuple[str, str], Any], reference: str, candidate: str, places: Sequence[str], result: Result, pairs: dict[str, list[float]],
             times: dict[str, list[float]]) -> bool:
    """Adds one process's ratios, or says what is wrong."""
    for place in places:
        right, mine = points[reference, place], points.get((candidate, place))
        if right.seconds() is None:
            raise _core.UsageError(f"The reference {reference}{place} has no time: {right.why_absent()}")
        trouble = ("load", f"The program has no {candidate}{place} beside {reference}{place}.") if mine is None else (
            ("values" if (mine.data["measurement"].get("failure") or {}).get("kind") == "wrong_result" else "error", mine.failure) if mine.failure else
            ("unchecked", "It has no check: give it one with state.verify.") if not mine.data["measurement"].get("verified") else None)
        if trouble is not None:
            from ..verdict import REASONS, Trouble
            said = Trouble(*trouble)
            result.verdict, result.reason, result.text = REASONS[said.code], said.code, f"{candidate}{place}: {said.text}"
            return False
        assert mine is not None
        pairs.setdefault(place, []).append(math.log(right.seconds() / mine.seconds()))
        times.setdefault(place, []).append(mine.seconds())
        result.limiter, result.floor_share = mine.limiter or None, mine.achieved
        result.next_step = str(mine.advice[0]["action"]) if mine.advice else ""
        result.calls_checked += 2
    return True


def _sum_up(result: Result, pairs: dict[str, list[float]], times: dict[str, list[float]], rounds: int) -> None:
    """The geometric mean over sizes, with Student's interval over processes."""
    of_rounds = [statistics.fmean(each[i] for each in pairs.values()) for i in range(rounds)]
    middle = statistics.fmean(of_rounds)
    half = _core.student_quantile(0.025, rounds - 1) * statistics.stdev(of_rounds) / math.sqrt(rounds)
    result.verdict = "right"
    result.speedup = Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
    result.tie = abs(middle) <= max(half, 0.01)
    last = list(times)[-1]  # as registered, mostly the largest
    result.seconds = statistics.median(times[last])
    result.floor_basis = f"the verdict of {result.candidate}{last}"
    if len(times) > 1:
        result.notes.append(f"The speed-up of {result.candidate} is the geometric mean over {len(times)} sizes; its time is of {result.candidate}{last}.")
