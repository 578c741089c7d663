#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of docs/results/h200/profile.md: figures.py GPUBENCH models [--dry-run] [--keep=DIR] [NAME:train|infer...], or GPUBENCH graphs [NAME...].
Of each model a row, and below it what has no verdict and why; all ten in at most 4 minutes. GPUBENCH explain RUN.json... says the latter of kept runs.
Needs a GPU, and what programs/models.py does. Of on-demand.md: GPUBENCH triggers UNRULY_PROGRAM COUNT SECONDS, or fewer in so long."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent / "programs"


def command(gpubench, out, words, options=()):
    return [gpubench, "profile", "--torch", f"--out={out}", *options, "--", sys.executable, *words]


def profiled(gpubench, *words, options=(), seconds=300.0, keep=None):
    """What was printed, and the run; without one where it took longer, and then the program is ended."""
    with tempfile.TemporaryDirectory() as folder:
        out = keep or pathlib.Path(folder) / "run.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.unlink(missing_ok=True)
        process = subprocess.Popen(command(gpubench, out, words, options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            texts = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            texts = process.communicate()[0], f"it took longer than {seconds:.0f} s"
        return subprocess.CompletedProcess(words, process.returncode, *texts), json.loads(out.read_text()) if out.exists() else None


def shares(run):
    """Of the kernels' time what has a verdict, what lies in a range, and what in a range within another."""
    verdicts = {point["measurement"]["name"]: point.get("verdict") or {} for point in run["points"]}
    rows = run["program"]["kernels"]
    whole = sum(each["total_seconds"] for each in rows) or 1.0

    def share(keeps):
        return 100 * sum(each["total_seconds"] for each in rows if keeps(each)) / whole
    return (share(lambda each: verdicts[each["point"]].get("regime", "unknown") != "unknown"), share(lambda each: bool(each.get("range"))),
            share(lambda each: "/" in each.get("range", "")))


TEN = ("resnet18:train", "gpt2:train", "gcn:train", "bert:infer", "llama:infer", "convnext_tiny:infer", "mobilenet_v3_small:train", "resnet50:infer", "vit_b_16:train",
       "efficientnet_b0:infer")
WITHIN_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS = 240, 60, 12  # all models; one; what is left for each later one


def explained(run):
    """Why what has no verdict has none, and what counting cost: lines."""
    program = run["program"]
    costs = {each["what"]: (each["count"], each["count"] * (each.get("seconds_each") or 0.0)) for each in program.get("self_cost", [])}
    setups, counting = costs.get("setting the counters up and giving them back", (0, 0.0)), costs.get("a launch with counters", (0, 0.0))
    steady = program.get("steady")
    yield (f"{program.get('counted_launches', 0)} of {program.get('kernel_launches', 0)} launches counted in {counting[1]:.2f} s, "
           f"{setups[0]} set-ups in {setups[1]:.2f} s: {counting[1] + setups[1]:.2f} s of the budget. {program.get('counters_reason', '')}".rstrip())
    yield "phases: " + (", ".join(f"{each['kind']} {each['seconds']:.2f} s" + (f" ({each['steps']} steps)" if each.get("steps") else "") for each in program.get("phases", [])) or "none")
    yield f"steady state: {steady['steps']} steps by {steady['by']}" if steady else f"no steady state: {program.get('steady_reason', '')}"
    points = {each["measurement"]["name"]: each for each in run["points"]}
    lacking = [each for each in program["kernels"] if (points[each["point"]].get("verdict") or {}).get("regime", "unknown") == "unknown"]
    whole = sum(each["total_seconds"] for each in program["kernels"]) or 1.0
    for each in lacking[:10]:
        point = points[each["point"]]
        absent = {counter["reason"] for counter in point["measurement"].get("absent_counters", [])}
        why = (point.get("verdict") or {}).get("evidence") or "no verdict"
        yield (f"{1e3 * each['total_seconds']:.2f} ms ({100 * each['total_seconds'] / whole:.1f} %), {each['launches']} launches of {1e6 * each['p50_seconds']:.1f} us, "
               f"{each['counted']} counted: {each['point'][:90]}: {why}" + (f" [{'; '.join(sorted(absent))[:160]}]" if absent else ""))
    if len(lacking) > 10:
        yield f"and {len(lacking) - 10} more with {1e3 * sum(each['total_seconds'] for each in lacking[10:]):.2f} ms"


def models(gpubench, names):
    """Of each model a row and why; --dry-run prints the commands, --keep=DIR keeps each run."""
    dry = "--dry-run" in names
    keep = next((each.partition("=")[2] for each in names if each.startswith("--keep=")), None)
    names = [each for each in names if not each.startswith("--")] or TEN
    print("| model | a step | sum of its parts | without a verdict, of the step | GPU time with a verdict | in a module | recorded | program and report |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    until = time.monotonic() + WITHIN_SECONDS
    for later, each in zip(reversed(range(len(names))), names):
        name, mode = each.split(":")
        start = time.monotonic()
        seconds = min(LONGEST_SECONDS, max(until - start - SHORTEST_SECONDS * later, min(SHORTEST_SECONDS, until - start)))
        if dry:
            print(f"| {name}, {mode} | at most {seconds:.0f} s: {' '.join(command(gpubench, 'run.json', (str(HERE / 'models.py'), name, mode)))} |")
            continue
        done, run = profiled(gpubench, str(HERE / "models.py"), name, mode, seconds=seconds, keep=keep and pathlib.Path(keep) / f"{name}-{mode}.json")
        print(model_row(name, mode, done, run, time.monotonic() - start), *(explained(run) if run else ()), sep="\n  ", flush=True)


def model_row(name, mode, done, run, whole):
    if run is None or not run["program"].get("steps"):
        why = run["program"].get("steady_reason", "") if run else (done.stderr.splitlines() or [""])[-1][:200]
        return f"| {name}, {mode} | no steps: code {done.returncode}, {why}, {whole:.1f} s |"
    step = run["program"]["steps"][0]
    total, unknown = (sum(part["seconds"] for part in step["parts"] if kinds is None or part["kind"] in kinds) for kinds in (None, ("no-verdict", "unknown")))
    judged, ranged, _ = shares(run)
    return (f"| {name}, {mode} | {step['seconds'] * 1e3:.2f} ms | {100 * total / step['seconds']:.2f} % | {100 * unknown / step['seconds']:.1f} % | {judged:.1f} % | {ranged:.1f} % | "
            f"{run['program']['wall_seconds']:.1f} s | {whole:.1f} s |")


def explain(_, files):
    """Of runs that were kept."""
    for each in files:
        print(each, *explained(json.loads(pathlib.Path(each).read_text())), sep="\n  ")


def graphs(gpubench, names):
    print("| program | GPU time in a range | within the range of the launch in one of the capture | with a verdict | the first two |\n|---|---:|---:|---:|---|")
    for name in names or ("loop", "compiled"):
        done, run = profiled(gpubench, str(HERE / "decode.py"), name)
        if run is None:
            print(f"| {name} | failed: code {done.returncode}, {done.stderr[-400:]} |", flush=True)
            continue
        judged, ranged, inner = shares(run)
        top = "; ".join(f"{each['point'][:40]} in {each.get('range', '')[-50:]} x{each['launches']}" for each in run["program"]["kernels"][:2])
        print(f"| {name} | {ranged:.1f} % | {inner:.1f} % | {judged:.1f} % | {top} |", flush=True)


class Server:
    """A program that --on-demand started, once it works: CUDA takes seconds to start where there are several GPUs."""

    def __init__(self, gpubench, *program):
        self.process = subprocess.Popen([gpubench, "profile", "--on-demand", "--", *program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.number = int(re.search(r"process (\d+) waits", self.process.stderr.readline()).group(1))
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.connection().close()
                self.process.stdout.readline()
                return
            time.sleep(0.05)
        raise RuntimeError("it does not listen")

    def connection(self):
        each = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        each.settimeout(30)
        try:
            each.connect("\0gpubench-profile-" + str(self.number))
        except OSError:
            each.close()
            raise
        return each

    def ask(self, folder, seconds):
        """The answers to a request without a report."""
        with contextlib.closing(self.connection()) as each:
            each.send(json.dumps({"folder": str(folder), "duration_seconds": seconds}).encode())
            answers = []
            while not answers or answers[-1] == "recording":
                answers.append(each.recv(65536).decode())
            return answers

    def resident_bytes(self):
        return int(pathlib.Path(f"/proc/{self.number}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def end(self):
        if self.process.stdout.closed:
            return None
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [(float(line.split()[0]), int(line.split()[1])) for line in out.splitlines() if line != "done"], err


def triggers(gpubench, words):
    """Memory of a server after 1, 2, 5, 10, 20, ... triggers of 20 ms."""
    unruly, count, seconds = words[0], int(words[1]), float(words[2])
    server, until = Server(gpubench, unruly, "serve", str(int(seconds) + 60)), time.monotonic() + seconds
    marks = {digit * 10**power for digit in (1, 2, 5) for power in range(7)}
    print("| triggers | resident, MiB | seconds |\n|---:|---:|---:|")
    try:
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            for number in range(1, count + 1):
                answers = server.ask(folder, 0.02)
                late = time.monotonic() > until
                if number in marks or number == count or late or answers != ["recording", "done"]:
                    print(f"| {number} | {server.resident_bytes() / 2**20:.1f} | {time.monotonic() - start:.1f} |", flush=True)
                for each in pathlib.Path(folder).iterdir():
                    each.unlink() if each.is_file() else shutil.rmtree(each)
                if answers != ["recording", "done"]:
                    print(f"the answer was {answers}")
                    break
                if late:
                    break
    finally:
        server.process.terminate()
        server.end()


if __name__ == "__main__":
    if len(sys.argv) < 3 or "--help" in sys.argv:
        sys.exit(__doc__)
    {"models": models, "graphs": graphs, "explain": explain, "triggers": triggers}[sys.argv[2]](sys.argv[1], sys.argv[3:])
