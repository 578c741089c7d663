#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Honest candidates of problems that others wrote: corpora.py FOLDER... [--max-seconds=S] [--gpus=0,1] [--jobs=N] [--elements=E] [--kinds=a,b] [--out=FILE]

A FOLDER is KernelBench's, `problems` of gpu-mode/reference-kernels, or tests/judge itself. KernelBench's models are candidates of themselves as they are
(eager), under torch.compile (compiled) and channels-last, beside kernels written by hand (triton; cuda, by CuPy; inline, CUDA by PyTorch's load_inline); of GPU
MODE's problems, the submissions that their folders hold, those in a folder `wrong` expected to be so; of tests/judge, what is in `honest` for a GPU, as CUDA
functions. Kinds whose packages or compilers are missing are left out. Sizes over --cap, or so that all inputs together have no more than --elements, are halved.

--jobs judges work on each of --gpus at once. A candidate that lacks memory which others hold is judged again at the end, by one judge a GPU. Prints a line and
the counts so far for each; --out gets a line of JSON each as soon as it is known, and what it has already is not judged again. When --max-seconds are over,
all ends, and what was not judged is told. figures.py table sums up such files."""
import argparse
import collections
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpubench.judging.adapters.c_library import files as files_beside
from written_kernels import WRITTEN

#: A process that judges problems one after the other: a line with [problem, candidates...] in, lines of verdicts out.
_WORKER = """
import json, sys
from pathlib import Path
from gpubench.judging import Settings, trial
from gpubench.judging.adapters import problem_of
from gpubench.judging.contest import Judge
from gpubench.judging.process import Limits
quick = len(sys.argv) > 2
trial._GPU_BATCH_BYTES, trial._GPU_BATCH_SECONDS = (1 << 28, 0.005) if quick else (1 << 30, 0.01)
usual, nurseries = trial.nursery, {}

def nursery(imports):  # one for all problems: it loads libraries for seconds
    known = nurseries.get(tuple(imports))
    if known is None or known._process.poll() is not None:
        known = nurseries[tuple(imports)] = usual(imports)
        known.close = lambda: None
    return known

trial.nursery = nursery
settings = Settings(time_budget=0.02 if quick else 0.3, rounds=1, min_blocks=1 if quick else 2, cold=False, records=not quick, limits=Limits(seconds=float(sys.argv[1])))
for line in sys.stdin:
    problem, *files = map(Path, json.loads(line))
    try:
        judge = Judge(problem_of(problem), settings)
        for result in judge.results(files):
            print("RESULT " + json.dumps(result.to_dict()), flush=True)
        print("DONE " + json.dumps(judge.notes), flush=True)
    except BaseException as error:
        print("FAILED " + json.dumps(f"{type(error).__name__}: {error}"), flush=True)
"""

_COMPILED = "\n\nModelNew.forward = torch.compile(ModelNew.forward)\n"
_CHANNELS_LAST = """

_forward = ModelNew.forward
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def _channels_last(self, *inputs):
    for each in self.parameters():
        if each.dim() in _FORMATS:
            each.data = each.data.to(memory_format=_FORMATS[each.dim()])
    return _forward(self, *(each.to(memory_format=_FORMATS[each.dim()]) if hasattr(each, "dim") and each.dim() in _FORMATS else each for each in inputs))


ModelNew.forward = _channels_last
"""
SLOW = ("compiled", "inline")
_PREFIX = "candidate_"  #: CuPy imports a module `cuda`, which must not be a candidate
KINDS = {"eager": "", "compiled": _COMPILED, "channels_last": _CHANNELS_LAST}


def shrunk(text: str, cap: int) -> str:
    """Sizes at the top of a problem, each no more than that: halved, so that what divides still does."""
    def smaller(match: re.Match) -> str:
        value = int(match[0])
        while value > cap:
            value //= 2
        return str(value)

    lines = text.split("\n")
    for place, line in enumerate(lines):
        if re.match(r"[A-Za-z_][\w, ()]*=[^=]", line):
            name, equals, rest = line.partition("=")
            rest = re.sub(r"(?<![\w.])\d{2,}(?![\w.])", smaller, rest)
            if name.strip() in ("batch_size", "batch", "b", "B") and cap <= 64:
                rest = re.sub(r"\d+", lambda match: str(min(int(match[0]), 4)), rest, count=1)
            lines[place] = name + equals + rest
    return "\n".join(lines)


_CAPS = (1 << 20, 8192, 4096, 2048, 1024, 512, 256, 128, 64)


def elements_of(text: str) -> float:
    """Of all inputs, without making them."""
    import torch
    names: dict = {"__name__": "problem"}
    try:
        with torch.device("meta"):
            exec(compile(text, "problem", "exec"), names)
            return sum(each.numel() for each in names["get_inputs"]() if isinstance(each, torch.Tensor))
    except Exception:  # noqa: BLE001: of one problem
        return float("inf")


def kernelbench(folder: Path, words) -> list:
    """(problem's text, candidates by name) of each."""
    found = []
    for file in sorted(folder.glob("level[123]/*.py"), key=lambda each: (each.parent.name, int(each.stem.split("_")[0]))):
        text = file.read_text(encoding="utf-8")
        if words.cap:
            text = shrunk(text, words.cap)
        elif words.elements:
            text = next((each for each in (shrunk(text, cap) for cap in _CAPS) if elements_of(each) <= words.elements), shrunk(text, 32))
        kinds = [kind for kind in words.kinds if kind != "channels_last" or ".view(" not in text and re.search(r"nn\.(Conv|BatchNorm|MaxPool|AvgPool|GroupNorm|InstanceNorm)\w*[23]d", text)]
        candidates = {}
        for kind in kinds:
            new = re.sub(r"\bModel\b(?!\.)", "ModelNew", text)
            if kind in ("triton", "cuda", "inline"):
                if kind in WRITTEN.get(file.stem, {}):
                    candidates[kind] = WRITTEN[file.stem][kind]
                continue
            candidates[kind] = new + ("" if new.startswith("import torch") else "\nimport torch\n") + KINDS[kind]
        if candidates:
            found.append((f"{file.parent.name}/{file.stem}", text, candidates))
    return found


def gpu_mode(folder: Path, words) -> list:
    """(problem's folder, candidates by name) of each. Without a GPU its name is replaced in all of them."""
    found = []
    for reference in sorted(folder.glob("*/*/reference.py")):
        here = reference.parent
        files = {"submission": here / "submission.py"}
        for place in ("solutions/correct", "solutions/wrong", "submissions"):
            files.update({f"{Path(place).name}_{each.stem}": each for each in sorted((here / place).glob("*.py"))})
        candidates = {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.is_file()}
        found.append((f"{here.parent.name}/{here.name}", here, candidates))
    return found


def tests(folder: Path, words) -> list:
    """(problem's file, candidates by name) of each for a GPU."""
    found: dict = {}
    for file in sorted(each for each in (folder / "honest").iterdir() if each.suffix in (".py", ".toml")):
        facts = dict(re.findall(r"^# (Problem|Needs): (.+)$", file.read_text(encoding="utf-8"), re.M))
        if facts.get("Needs", "").endswith("a GPU") and (shutil.which("nvcc") or not facts["Needs"].startswith("nvcc")):
            found.setdefault(facts["Problem"], {})[file.stem] = file
    return [(f"tests/{name}", folder / "problems" / f"{name}.py", candidates) for name, candidates in found.items()]


def kinds_here(kinds: list) -> list:
    """Without those that cannot be made on this machine."""
    needs = {"triton": ("triton", ""), "compiled": ("triton", ""), "cuda": ("cupy", ""), "inline": ("torch", "ninja")}
    kept = [kind for kind in kinds if kind not in needs or (importlib.util.find_spec(needs[kind][0]) and (not needs[kind][1] or shutil.which("nvcc") and shutil.which("ninja")))]
    if kept != kinds:
        print(f"left out, as what they need is missing: {', '.join(each for each in kinds if each not in kept)}", flush=True)
    return kept


def copied(source: Path, target: Path) -> Path:
    """A problem's file, or its folder beside what the folder above it has."""
    kept = target / "set" / source.name
    if source.is_file():
        kept.parent.mkdir()
        return Path(shutil.copyfile(source, kept))
    shutil.copytree(source, kept)
    for each in source.parent.glob("*.py"):
        shutil.copyfile(each, kept.parent / each.name)
    return kept


def without_gpu(folder: Path) -> None:
    for file in folder.rglob("*.py"):
        file.write_text(re.sub(r"""(["'])cuda(:0)?\1""", '"cpu"', file.read_text(encoding="utf-8")), encoding="utf-8")


def in_turn(jobs: list) -> list:
    """Of each group as many as of the others at any time, so that those that time suffices for are of all."""
    groups: dict = {}
    for job in jobs:
        groups.setdefault(job[0].split("/")[0], []).append(job)
    placed = [((place + 0.5) / len(some), job) for some in groups.values() for place, job in enumerate(some)]
    return [job for _, job in sorted(placed, key=lambda each: each[0])]


def kind_of(result: dict) -> str:
    return Path(result["candidate"]).stem.removeprefix(_PREFIX)


class Worker:
    """One process that judges."""

    def __init__(self, gpu: str, seconds: float, quick: bool):
        self._process = subprocess.Popen([sys.executable, "-c", _WORKER, str(seconds), *(["quick"] if quick else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True, env={**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})})
        self.ended = False

    def end(self) -> None:
        """Gives back the GPU's memory."""
        self._process.kill()
        self._process.wait()

    def judged(self, files: list, limit: float, keep) -> tuple:
        """Results, each kept as soon as it is known, notes, and why there are no more."""
        results = []
        timer = threading.Timer(limit, self._process.kill)
        timer.start()
        try:
            print(json.dumps(files), file=self._process.stdin, flush=True)
            for line in self._process.stdout:
                kind, _, text = line.partition(" ")
                if kind == "RESULT":
                    results.append(json.loads(text))
                    keep(results[-1])
                elif kind == "DONE":
                    return results, json.loads(text), ""
                elif kind == "FAILED":
                    return results, [], json.loads(text)
        except OSError:
            pass
        finally:
            timer.cancel()
        self.ended = True
        return results, [], "the judge's process has ended, or was over its limit"


def lacks_memory(text: str) -> bool:
    return any(words in text for words in ("memory does not hold", "out of memory", "ALLOC_FAILED"))


def run(job, words, end, worker, keep, is_last) -> list:
    """Judges one problem's candidates; returns the names of those that are to be judged again, as they lacked memory that others held."""
    name, text, candidates = job
    begin = time.monotonic()
    lacking = []

    def known(result) -> None:
        if result["reason"] == "room" and not is_last:
            lacking.append(kind_of(result))
        else:
            keep(name, result)

    with tempfile.TemporaryDirectory() as folder:
        if isinstance(text, Path):
            problem = copied(text, Path(folder))
        else:
            problem = Path(folder) / (re.sub(r"\W", "_", name) + ".py")
            problem.write_text(text, encoding="utf-8")
        files = []
        for kind, each in candidates.items():
            if isinstance(each, Path):
                files.append(Path(folder) / f"{_PREFIX}{kind}{each.suffix}")
                shutil.copyfile(each, files[-1])
                for beside in files_beside(each) if each.suffix == ".toml" else []:
                    shutil.copyfile(beside, Path(folder) / beside.name)
                continue
            files.append(Path(folder) / f"{_PREFIX}{kind}.py")
            files[-1].write_text(each, encoding="utf-8")
        if words.cpu:
            without_gpu(Path(folder))
        results, notes, why = worker.judged([str(problem), *map(str, files)], min(words.limit * len(files), end - begin), known)
    for kind in [kind for kind in candidates if kind not in {kind_of(each) for each in results}] if time.monotonic() < end else []:
        if lacks_memory(why) and not is_last:
            lacking.append(kind)
        else:
            keep(name, {"candidate": kind, "verdict": "none", "reason": "problem" if why.startswith("ProblemError") else "none", "text": why[:300], "speedup": None,
                        "seconds_taken": time.monotonic() - begin})
    if words.notes and notes:
        print(f"{name}: notes: {notes}", flush=True)
    return lacking


def names_in(files: list) -> set:
    """Of candidates that are known."""
    return {json.loads(line).get("name") for file in files if file.is_file() for line in file.read_text(encoding="utf-8").splitlines()}


def jobs_of(words) -> list:
    """(problem's name, its text or place, candidates by name), in the order in which they are judged."""
    jobs = []
    for folder in words.folders:
        jobs += (kernelbench if (folder / "level1").is_dir() else tests if (folder / "honest").is_dir() else gpu_mode)(folder, words)
    jobs = [job for job in jobs if re.search(words.match, job[0]) and (not words.written or {"triton", "cuda", "inline"} & set(job[2]))]
    known = names_in([*words.skip, *([words.out] if words.out else [])])
    jobs = [(name, text, {kind: each for kind, each in candidates.items() if f"{name} {kind}" not in known}) for name, text, candidates in jobs]
    jobs = [job for job in jobs if job[2]][::words.every]
    # Last those that compile for long: who times waits for all who start on the same GPU.
    parts = [[(name, text, {kind: each for kind, each in candidates.items() if (kind in SLOW) == slow}) for name, text, candidates in jobs] for slow in (False, True)]
    return [job for part in parts for job in in_turn([job for job in part if job[2]])]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--max-seconds", type=float, default=1e6)
    parser.add_argument("--limit", type=float, default=200.0, help="seconds for each candidate of a problem; then its judge is ended")
    parser.add_argument("--time-limit", type=float, default=90.0)
    parser.add_argument("--elements", type=float, default=0)
    parser.add_argument("--gpus", default=[""], type=lambda text: text.split(","))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cap", type=int, default=0)
    parser.add_argument("--kinds", default="eager,compiled,channels_last,triton,cuda,inline", type=lambda text: text.split(","))
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--written", action="store_true", help="those alone for which a kernel was written")
    parser.add_argument("--quick", action="store_true", help="without activity records, and with the shortest timing")
    parser.add_argument("--skip", type=Path, nargs="*", default=[], help="files of --out whose candidates are known")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    begin = time.monotonic()
    end = begin + words.max_seconds
    words.kinds = kinds_here(words.kinds)
    jobs = jobs_of(words)
    left = {f"{name} {kind}" for name, _, candidates in jobs for kind in candidates}
    count = len(left)
    counts: dict = {}
    lock = threading.Lock()

    def keep(name, result) -> None:
        result["name"] = f"{name} {kind_of(result)}"
        why = f" {result['reason']}: {result['text'][:300]}" if result["reason"] else ""
        speedup = "" if result["speedup"] is None else f" {result['speedup']['value']:.3f}"
        since = time.monotonic() - begin
        with lock:
            counts[result["verdict"]] = counts.get(result["verdict"], 0) + 1
            left.discard(result["name"])
            tally = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
            print(f"{result['name']}: {result['verdict']}{why}{speedup} {result['seconds_taken']:.1f} s, at {since:.0f} s: {tally} of {count}", flush=True)
            if words.out:
                with words.out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"part": "honest", "since_start": since, **result}) + "\n")

    for judges in (words.jobs, 1):
        queue, again = collections.deque(jobs), []

        def work(gpu) -> None:
            worker = None
            while time.monotonic() < end:
                try:
                    name, text, candidates = queue.popleft()
                except IndexError:
                    break
                if worker is None or worker.ended:
                    worker = Worker(gpu, words.time_limit, words.quick)
                lacking = run((name, text, candidates), words, end, worker, keep, judges == 1)
                if lacking:
                    again.append((name, text, {kind: candidates[kind] for kind in lacking}))
            if worker is not None:
                worker.end()

        with ThreadPoolExecutor(judges * len(words.gpus)) as pool:
            list(pool.map(work, words.gpus * judges))
        if judges == 1 or not again:
            break
        print(f"again, as they lacked memory: {', '.join(name for name, _, _ in again)}", flush=True)
        jobs = again
    print(f"{counts} in {time.monotonic() - begin:.0f} s")
    if left:
        print(f"not judged, as the time was over: {len(left)}: {', '.join(sorted(left))}")


if __name__ == "__main__":
    main()
