# SPDX-License-Identifier: Apache-2.0
"""The command `gpubench judge`, whose options are those of main/commands/judge_command.cpp."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from .. import _core
from .._arguments import Parser
from .adapters import benchmark_program, problem_of
from .contest import Judge, candidates_of, rank, refuse_names_of_modules
from .page import lines_of, page_of
from .process import Limits
from .settings import Settings
from .store import Store
from .verdict import Result

_FINE, _NOT_RIGHT, _WRONG_USAGE = 0, 2, 64
_FORMATS = (".json", ".jsonl", ".html")


def _words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problem")
    parser.add_argument("candidates", nargs="+")
    for flag, value in (("--time-budget", 5.0), ("--jobs", 1), ("--time-limit", 60.0), ("--memory-limit", 8192), ("--width", 0)):
        parser.add_argument(flag, type=type(value), default=value)
    for flag in ("--resume", "--calibration", "--color"):
        parser.add_argument(flag)
    for flag in ("--json", "--no-cold", "--no-namespaces", "--quiet"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--out", action="append", default=[])


def _settings(chosen: Any) -> Settings:
    limits = Limits(chosen.time_limit, (chosen.memory_limit << 20) or None, not chosen.no_namespaces)
    settings = Settings(time_budget=chosen.time_budget, jobs=chosen.jobs, cold=not chosen.no_cold, limits=limits)
    if chosen.calibration:
        texts = _core.calibrations_of(chosen.calibration)
        if not texts:
            raise _core.ReadError(f"{chosen.calibration} has no calibration.")
        settings.calibration = json.loads(texts[0])
    return settings


def _text(file: str, results: Sequence[Result], notes: Sequence[str]) -> str:
    """Of one file."""
    suffix = Path(file).suffix
    if suffix == ".html":
        return page_of(results, notes)
    if suffix == ".jsonl":
        return "".join(json.dumps(each.to_dict()) + "\n" for each in results)
    schema = {"name": "gpubench-verdicts", "version": 1}
    return json.dumps({"schema": schema, "notes": list(notes), "results": [each.to_dict() for each in results]}, indent=1)


class _Output:
    """Standard output, until it cannot be written: files are written all the same."""

    trouble: OSError | None = None

    def say(self, text: str) -> None:
        try:
            print(text, end="", flush=True)
        except OSError as error:
            self.trouble = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _results(chosen: Any) -> tuple[Iterator[Result], Callable[[], list[str]], int]:
    """The results as they come, what is to be noted of the problem when they have come, and how many there will be."""
    parts = benchmark_program.parts_of(chosen.problem)
    if parts is not None:
        return benchmark_program.results(*parts, chosen.candidates, chosen.time_budget, chosen.time_limit), lambda: [], len(chosen.candidates)
    files = candidates_of(chosen.candidates, chosen.problem)
    refuse_names_of_modules(chosen.problem, files)
    judge = Judge(problem_of(Path(chosen.problem)), _settings(chosen), Store(Path(chosen.resume)) if chosen.resume else None)
    return judge.results(files), lambda: judge.notes, len(files)


def _run(chosen: Any) -> int:
    for file in chosen.out:
        if Path(file).suffix not in _FORMATS:
            raise _core.UsageError(f"{file} is of no format that is known; give one of {', '.join(_FORMATS)}.")
        if not os.access(Path(file).absolute().parent, os.W_OK):
            raise _core.UsageError(f"{file} cannot be written: its folder is not there, or not yours.")
    found, notes, count = _results(chosen)
    results = []
    output = _Output()
    try:
        for result in found:
            results.append(result)
            if chosen.json:
                output.say(json.dumps(result.to_dict()) + "\n")
                if output.trouble is not None and not chosen.out:
                    break
            elif not chosen.quiet and sys.stderr.isatty():
                print(f"{len(results)} of {count}: {result.candidate!r} is {result.verdict}", file=sys.stderr)
    except KeyboardInterrupt:
        kept = f"their verdicts are in {chosen.resume}, and the same command goes on" if chosen.resume else "to keep verdicts: --resume=FOLDER"
        print(f"\ngpubench: stopped after {len(results)} of {count} candidates; {kept}", file=sys.stderr)
        raise
    ordered = rank(results)
    if not chosen.json and not chosen.quiet:
        output.say(lines_of(ordered, chosen.width or shutil.get_terminal_size((100, 24)).columns))
    if not chosen.quiet:
        missing = {name: why for each in results for name, why in each.isolation_missing.items()}
        for name, why in missing.items():
            print(f"note: candidates were not shut off from {name}: {why}.", file=sys.stderr)
        for note in dict.fromkeys([*notes(), *(note for each in results for note in each.notes)]):
            print(f"note: {note}", file=sys.stderr)
    code = _FINE if all(each.verdict == "right" for each in results) else _NOT_RIGHT
    for file in chosen.out:
        try:
            _core.write_file(file, _text(file, ordered, notes()))
            print(f"wrote {file}", file=sys.stderr)
        except _core.WriteError as error:
            print(f"gpubench: {error}", file=sys.stderr)
            code = _WRONG_USAGE
    if output.trouble is not None and not isinstance(output.trouble, BrokenPipeError):  # whose reader has had enough
        print(f"gpubench: Standard output cannot be written: {output.trouble.strerror}. What was to be printed is lost; write it elsewhere.", file=sys.stderr)
        code = _WRONG_USAGE
    return code


def main(words: Sequence[str] | None = None) -> int:
    """The command line. 0: all right; 2: one is wrong or refused; 64: wrong usage."""
    parser = Parser("gpubench judge", allow_abbrev=False)
    _words(parser)
    try:
        return _run(parser.parse_args(words))
    except _core.Error as error:
        print(f"gpubench: {error}", file=sys.stderr)
        return _WRONG_USAGE if isinstance(error, (_core.UsageError, _core.ReadError, _core.WriteError)) else _NOT_RIGHT
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
