#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Honest candidates of problems that others wrote: corpora.py FOLDER... [--max-seconds=S] [--jobs=N] [--cap=ELEMENTS] [--kinds=a,b] [--shard=I/N] [--out=FILE]

A FOLDER is KernelBench's, or `problems` of gpu-mode/reference-kernels. KernelBench's models are candidates of themselves as they are (eager), under
torch.compile (compiled) and channels-last, beside kernels written by hand (triton; cuda, by CuPy; inline, CUDA by PyTorch's load_inline); of GPU MODE's
problems, the submissions that their folders hold, those in a folder `wrong` expected to be so. Sizes over --cap, or so that all inputs together have no more
than --elements, are halved. Prints a line each, and the counts; --out gets a line of JSON each as soon as it is known. When --max-seconds are over, all ends:
what was begun has no line. figures.py table sums up the files of several shards."""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def copied(source: Path, target: Path) -> Path:
    """A problem's folder beside what the folder above it has."""
    kept = target / "set" / source.name
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

    def __init__(self, seconds: float, quick: bool):
        self._process = subprocess.Popen([sys.executable, "-c", _WORKER, str(seconds), *(["quick"] if quick else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ended = False

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


def run(job, words, end, worker, keep) -> list:
    name, text, candidates = job
    begin = time.monotonic()
    if begin > end:
        return []
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(text, Path):
            problem = copied(text, Path(folder))
        else:
            problem = Path(folder) / (re.sub(r"\W", "_", name) + ".py")
            problem.write_text(text, encoding="utf-8")
        files = []
        for kind, each in candidates.items():
            files.append(Path(folder) / f"{_PREFIX}{kind}.py")
            files[-1].write_text(each, encoding="utf-8")
        if words.cpu:
            without_gpu(Path(folder))
        results, notes, why = worker().judged([str(problem), *map(str, files)], min(words.limit, end - begin), lambda each: keep(name, each))
    left = [kind for kind in candidates if kind not in {kind_of(each) for each in results}]
    for kind in left if time.monotonic() < end else []:
        keep(name, {"candidate": kind, "verdict": "none", "reason": "problem" if why.startswith("ProblemError") else "none", "text": why[:300], "speedup": None, "seconds_taken": time.monotonic() - begin})
    if words.notes and notes:
        print(f"{name}: notes: {notes}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--max-seconds", type=float, default=1e6)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--time-limit", type=float, default=90.0)
    parser.add_argument("--elements", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cap", type=int, default=0)
    parser.add_argument("--kinds", default="eager,compiled,channels_last,triton,cuda,inline", type=lambda text: text.split(","))
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--shard", default="0/1", type=lambda text: tuple(map(int, text.split("/"))), help="I/N: each Nth problem from the Ith")
    parser.add_argument("--written", action="store_true", help="those alone for which a kernel was written")
    parser.add_argument("--quick", action="store_true", help="without activity records, and with the shortest timing")
    parser.add_argument("--skip", type=Path, nargs="*", default=[], help="files of --out whose candidates are known")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    begin = time.monotonic()
    jobs = [job for folder in words.folders for job in (kernelbench if (folder / "level1").is_dir() else gpu_mode)(folder, words)]
    jobs = [job for job in jobs if re.search(words.match, job[0]) and (not words.written or {"triton", "cuda", "inline"} & set(job[2]))]
    known = {json.loads(line).get("name") for file in words.skip for line in file.read_text(encoding="utf-8").splitlines()}
    jobs = [(name, text, {kind: each for kind, each in candidates.items() if f"{name} {kind}" not in known}) for name, text, candidates in jobs]
    jobs = [job for job in jobs if job[2]][::words.every]
    # Last those that compile for long: who times waits for all who start on the same GPU.
    parts = [[(name, text, {kind: each for kind, each in candidates.items() if (kind in SLOW) == slow}) for name, text, candidates in jobs] for slow in (False, True)]
    jobs = [job for part in parts for job in in_turn([job for job in part if job[2]])][words.shard[0]::words.shard[1]]
    counts: dict = {}
    lock = threading.Lock()
    own = threading.local()

    def worker() -> Worker:
        if getattr(own, "worker", None) is None or own.worker.ended:
            own.worker = Worker(words.time_limit, words.quick)
        return own.worker

    def keep(name, result) -> None:
        result["name"] = f"{name} {kind_of(result)}"
        why = f" {result['reason']}: {result['text'][:300]}" if result["reason"] else ""
        speedup = "" if result["speedup"] is None else f" {result['speedup']['value']:.3f}"
        since = time.monotonic() - begin
        with lock:
            counts[result["verdict"]] = counts.get(result["verdict"], 0) + 1
            print(f"{result['name']}: {result['verdict']}{why}{speedup} {result['seconds_taken']:.1f} s, at {since:.0f} s", flush=True)
            if words.out:
                with words.out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"part": "honest", "since_start": since, **result}) + "\n")

    with ThreadPoolExecutor(words.jobs) as pool:
        list(pool.map(lambda job: run(job, words, begin + words.max_seconds, worker, keep), jobs))
    print(f"{counts} in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
