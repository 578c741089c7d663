#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often the comparison errs: A/A comparisons of one program, and A/B with a planted slow-down.

    gate-experiment.py BUILD OUT.md [--device=cpu|cuda:0] [--comparisons=20] [--processes=5] [--slow-down=5] [--time-budget=0.05] [--keep=DIR | --reuse=DIR]

Each comparison has so many turns of three processes, A, B and A again, in an order that changes from turn to turn; B does more work
by the given percentage. Compared are A with the other A, where nothing may be found, and A with B, pair by pair (as `gpubench ab`
does it) and side against side (`gpubench compare DIR DIR`). Of a GPU the device times are compared: what a launch takes differs from process
to process, which is no matter of the program. In five minutes: --device=cuda:0 --slow-down=2 --time-budget=0.03.
"""
import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--slow-down", type=float, default=5.0, help="per cent")
    parser.add_argument("--time-budget", type=float, default=0.05)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--reuse", type=pathlib.Path, help="compare what --keep kept")
    return parser.parse_args()


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.2f} %)" if whole else "none"


def main():
    options = parse()
    gpu = options.device.startswith("cuda")
    program = options.build / "tests" / "truth" / ("planted" if gpu else "planted_host")
    gpubench = options.build / "gpubench"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gate-experiment-")) if options.keep is None else options.keep
    if options.reuse:
        shutil.rmtree(folder, ignore_errors=True)
        folder = options.reuse
    measure = [str(program), f"--device={options.device}", "--drift-check=off", f"--time-budget={options.time_budget}", "--quiet"]
    if gpu:
        measure.append("--time=device")
    began, loads = time.time(), []

    def run(side, file):
        environment = dict(os.environ)
        if side == "b":
            environment["GPUBENCH_PLANTED"] = str(1 + options.slow_down / 100)
        done = subprocess.run([*measure, f"--out={file}"], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{program} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        loads.append(os.getloadavg()[0])
        (folder / "loads.json").write_text(json.dumps([time.time() - began, loads]))

    warm = folder / "warm-up.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not options.reuse:
        run("a", warm)  # calibrates, where that was not done before
    orders = itertools.cycle([("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a"), ("a", "c", "b"), ("c", "a", "b"), ("b", "a", "c")])
    for comparison in range(0 if options.reuse else options.comparisons):
        for turn in range(options.processes):
            for side in next(orders):
                place = folder / f"{comparison:03}" / side
                place.mkdir(parents=True, exist_ok=True)
                run(side, place / f"{turn:03}.json")
    taken, loads = json.loads((folder / "loads.json").read_text())

    def compare(comparison, sides, flags):
        out = folder / "comparison.json"
        done = subprocess.run([str(gpubench), "compare", *[str(folder / f"{comparison:03}" / side) for side in sides], *flags, "--quiet", f"--out={out}"],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"compare ended with {done.returncode}: {done.stderr.strip()}")
        points = json.loads(out.read_text())["points"]
        assert (done.returncode == 1) == any(point["change"] == "slower" for point in points)
        return points

    lines, noise, details = [], {}, {}
    for name, flags in (("pair by pair (as `ab`)", ["--paired"]), ("side against side (`compare`)", [])):
        for sides, what in (("ac", "A/A"), ("ab", f"A/B, {options.slow_down:g} % planted")):
            points = [compare(i, sides, flags) for i in range(options.comparisons)]
            every = [point for each in points for point in each]
            changed = [point for point in every if point["change"] in ("slower", "faster")]
            found = [point for point in every if point["change"] == "slower"]
            whole = sum(any(point["change"] in ("slower", "faster") for point in each) for each in points)
            truth = 1.0 if sides == "ac" else None
            covered = sum(point["ratio_ci95"][0] <= 1.0 <= point["ratio_ci95"][1] for point in every) if truth else None
            seen = statistics.median(point["smallest_slow_down_seen"] for point in every)
            lines.append(f"| {what} | {name} | {share(len(changed) if sides == 'ac' else len(found), len(every))} | {share(whole, len(points))} "
                         f"| {share(covered, len(every)) if truth else ''} | {100 * seen:.1f} % |")
            for point in every:
                entry = details.setdefault(point["name"], {"seconds": [], "noise": [], "found": {}, "ratio": []})
                if sides == "ab":
                    entry["found"].setdefault(name, []).append(point["change"] == "slower")
                    if flags:
                        entry["ratio"].append(point["ratio"])
                elif not flags:
                    entry["seconds"].append(point["base_seconds"])
                    entry["noise"].append(point["process_deviation"])
    run_file = json.loads(warm.read_text())
    device = next(each for each in run_file["devices"] if each["id"] == options.device)
    text = [f"<!-- SPDX-License-Identifier: Apache-2.0 -->\n# How often the comparison errs\n",
            f"{run_file['context']['created_utc'][:10]}, {device['name']}, {options.comparisons} comparisons of {options.processes} processes a side, "
            f"{len(details)} points, `--time-budget={options.time_budget:g}`, {taken:.0f} s in all; load of the machine before each process "
            f"{min(loads):.1f} to {max(loads):.1f}, {statistics.median(loads):.1f} at half of them ({os.cpu_count()} cores).\n",
            "<!-- test: not run: it takes minutes -->\n```sh\n" + "python3 scripts/gate-experiment.py " + " ".join(sys.argv[1:]) + "\n```\n",
            "| Comparison | How | points called changed (A/A) or slower (A/B) | comparisons with any | 95 % intervals that hold 1 | a slow-down seen in 4 of 5, median |",
            "|---|---|---|---|---|---|", *lines, "",
            "| Point | time | processes differ by (standard deviation) | median ratio found | planted found, pair by pair | side against side |", "|---|---|---|---|---|---|"]
    for name, entry in details.items():
        found = [share(sum(each), len(each)) for each in entry["found"].values()]
        text.append(f"| {name} | {1e6 * statistics.median(entry['seconds']):.4g} us | {100 * statistics.median(entry['noise']):.2f} % "
                    f"| {statistics.median(entry['ratio']):.4f} | {' | '.join(found)} |")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(text) + "\n")
    print("\n".join(lines))
    if options.keep is None and options.reuse is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
