#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints figures of docs/results/h200/profile.md, a line a program: figures.py GPUBENCH models [NAME:train|infer...], or GPUBENCH graphs [NAME...].
Needs a GPU, and what programs/models.py does."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "programs"


def profiled(gpubench, *words, options=()):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.json"
        done = subprocess.run([gpubench, "profile", "--torch", f"--out={out}", *options, "--", sys.executable, *words], capture_output=True, text=True, timeout=300)
        return done, json.loads(out.read_text()) if out.exists() else None


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


def models(gpubench, names):
    print("| model | a step | sum of its parts | without a verdict, of the step | GPU time with a verdict | in a module | recorded |\n|---|---:|---:|---:|---:|---:|---:|")
    for each in names or TEN:
        name, mode = each.split(":")
        done, run = profiled(gpubench, str(HERE / "models.py"), name, mode)
        if run is None or not run["program"].get("steps"):
            why = run["program"].get("steady_reason", "") if run else (done.stderr.splitlines() or [""])[-1][:200]
            print(f"| {name}, {mode} | no steps: code {done.returncode}, {why} |", flush=True)
            continue
        step = run["program"]["steps"][0]
        total, unknown = (sum(part["seconds"] for part in step["parts"] if kinds is None or part["kind"] in kinds) for kinds in (None, ("no-verdict", "unknown")))
        judged, ranged, _ = shares(run)
        print(f"| {name}, {mode} | {step['seconds'] * 1e3:.2f} ms | {100 * total / step['seconds']:.2f} % | {100 * unknown / step['seconds']:.1f} % | {judged:.1f} % | {ranged:.1f} % | "
              f"{run['program']['wall_seconds']:.1f} s |", flush=True)


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


if __name__ == "__main__":
    {"models": models, "graphs": graphs}[sys.argv[2]](sys.argv[1], sys.argv[3:])
