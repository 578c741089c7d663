#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often the comparison errs: A/A comparisons of one program, and A/B with a planted slow-down.

    gate_experiment.py BUILD OUT.md [--device=cpu|cuda:0] [--comparisons=20] [--processes=5] [--slow-down=5] [--time-budget=0.05] [--keep=DIR | --reuse=DIR]

Each comparison has so many turns of three processes, A, B and A again, in an order that changes from turn to turn; B does more work
by the given percentage. Compared are A with the other A, where nothing may be found, and A with B, pair by pair (as `gpubench ab`
does it) and side against side (`gpubench compare DIR DIR`). Of a GPU the device times are compared: what a launch takes differs from process
to process, which is no matter of the program. In five minutes: --device=cuda:0 --slow-down=2 --time-budget=0.03.

With --pool=N, N processes of A and N of B run in turn once, and the comparisons draw from them: A with later A (one and three runs a
side, in `compare`, `ab` and `gate check`), where nothing may be found, and A with B. Comparisons that share runs are not independent.
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
    parser.add_argument("--pool", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--reuse", type=pathlib.Path, help="compare what --keep kept")
    return parser.parse_args()


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.2f} %)" if whole else "none"


def points_of(gpubench, out, *arguments):
    """The points that a comparison wrote there; none for a command that compares nothing."""
    done = subprocess.run([str(gpubench), *map(str, arguments), "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
    points = json.loads(out.read_text())["points"] if out.exists() else []
    assert (done.returncode == 1) == any(point["change"] == "slower" for point in points)
    return points


def pool_table(gpubench, folder, options):
    """Comparisons of what --pool ran, as lines of a table, and how many same-code ones there were."""
    a, b = (sorted((folder / "pool" / side).glob("*.json")) for side in "ab")
    store, out = folder / "store", folder / "comparison.json"

    def compared(base, new, *flags):
        sides = []
        for name, files in (("base", base), ("new", new)):
            sides.append(folder / f"compared-{name}")
            shutil.rmtree(sides[-1], ignore_errors=True)
            sides[-1].mkdir()
            for i, file in enumerate(files):
                shutil.copy(file, sides[-1] / f"run-{i:04}.json")
        return points_of(gpubench, out, "compare", *sides, *flags, f"--out={out}")

    def gated(base, new):
        shutil.rmtree(store, ignore_errors=True)
        out.unlink(missing_ok=True)
        points_of(gpubench, out, "gate", "update", *base, f"--store={store}")
        return points_of(gpubench, out, "gate", "check", *new, f"--store={store}", f"--out={out}")

    half, starts = len(a) // 2, range(0, len(a) - 8, 2)
    kinds = [("one run a side, next to each other", "compare", [compared([a[i]], [a[i + 1]]) for i in starts]),
             ("one run a side, half of the time apart", "compare", [compared([a[i]], [a[i + half]]) for i in range(half)]),
             ("three runs a side, one side after the other", "compare", [compared(a[i:i + 3], a[i + 3:i + 6]) for i in starts]),
             ("three pairs", "ab", [compared(a[i:i + 6:2], a[i + 1:i + 6:2], "--paired") for i in starts]),
             ("four pairs", "ab", [compared(a[i:i + 8:2], a[i + 1:i + 8:2], "--paired") for i in starts]),
             ("one run against one", "gate", [gated([a[i]], [a[i + 1]]) for i in starts]),
             ("three runs against three", "gate", [gated(a[i:i + 3], a[i + 3:i + 6]) for i in starts])]
    count, same_code = sum(len(each) for _, _, each in kinds), len(kinds)
    kinds += [("three runs a side, in turn", "compare", [compared(a[i:i + 3], b[i:i + 3]) for i in starts]),
              ("three runs against three", "gate", [gated(a[i:i + 3], b[i + 3:i + 6]) for i in starts])]
    for pairs in (5, 10, 12, 20, 30):
        if pairs <= len(a):
            starts = range(len(a) - pairs + 1)
            kinds.append((f"{pairs} pairs", "ab", [compared(a[i:i + pairs], b[i:i + pairs], "--paired") for i in starts]))
    lines = []
    for what, how, each in kinds:
        every = [point["change"] for points in each for point in points]
        whole = sum(any(point["change"] == "slower" for point in points) for points in each)
        codes = "A/A" if len(lines) < same_code else f"A/B, {options.slow_down:g} % planted"
        lines.append(f"| {codes} | {what} | `{how}` | {share(every.count('slower'), len(every))} | {share(whole, len(each))} "
                     f"| {share(every.count('inconclusive'), len(every))} |")
    runs = [json.loads(file.read_text())["points"] for file in a]
    shares = [point["measurement"].get("conditions", {}).get("core_share", 1.0) for run in runs for point in run]
    return lines, count, shares


def finish(options, folder, text, lines):
    """Writes the page, prints its table, and removes what is not to be kept."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(text) + "\n")
    print("\n".join(lines))
    if options.keep is None and options.reuse is None:
        shutil.rmtree(folder)
    return 0


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
    if options.pool:
        for turn in range(0 if options.reuse else options.pool):
            for side in "ab" if turn % 2 else "ba":
                place = folder / "pool" / side
                place.mkdir(parents=True, exist_ok=True)
                run(side, place / f"{turn:04}.json")
        lines, count, shares = pool_table(gpubench, folder, options)
        taken, loads = json.loads((folder / "loads.json").read_text())
        device = json.loads(next((folder / "pool" / "a").glob("*.json")).read_text())["devices"][0]
        low = sum(each < 0.9 for each in shares)
        text = ["<!-- SPDX-License-Identifier: Apache-2.0 -->\n# False alarms between runs of the same code\n",
                f"{device['name']}, {os.cpu_count()} cores, {count} comparisons of the same code drawn from {len(list((folder / 'pool' / 'a').glob('*.json')))} runs, load of the machine "
                f"{min(loads):.1f} to {max(loads):.1f}, {statistics.median(loads):.1f} at half of the runs; {share(low, len(shares))} of the points were measured under load "
                f"(less than 90 % of their cores). Comparisons that share runs are not independent.\n",
                "| Comparison | Runs | How | points called slower | comparisons with any | points left inconclusive |", "|---|---|---|---|---|---|", *lines]
        return finish(options, folder, text, lines)
    for comparison in range(0 if options.reuse else options.comparisons):
        for turn in range(options.processes):
            for side in next(orders):
                place = folder / f"{comparison:03}" / side
                place.mkdir(parents=True, exist_ok=True)
                run(side, place / f"{turn:03}.json")
    taken, loads = json.loads((folder / "loads.json").read_text())

    def compare(comparison, sides, flags):
        out = folder / "comparison.json"
        return points_of(gpubench, out, "compare", *[folder / f"{comparison:03}" / side for side in sides], *flags, f"--out={out}")

    lines, noise, details = [], {}, {}
    for name, flags in (("pair by pair (as `ab`)", ["--paired"]), ("side against side (`compare`)", [])):
        for sides, what in (("ac", "A/A"), ("ab", f"A/B, {options.slow_down:g} % planted")):
            points = [compare(i, sides, flags) for i in range(options.comparisons)]
            every = [point for each in points for point in each]
            changed = [point for point in every if point["change"] in ("slower", "faster")]
            found = [point for point in every if point["change"] == "slower"]
            whole = sum(any(point["change"] in ("slower", "faster") for point in each) for each in points)
            truth = 1.0 if sides == "ac" else None
            covered = sum(point["interval"][0] <= 1.0 <= point["interval"][1] for point in every) if truth else None
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
            "<!-- test: not run: it takes minutes -->\n```sh\n" + "python3 tests/truth/gate/gate_experiment.py " + " ".join(sys.argv[1:]) + "\n```\n",
            "| Comparison | How | points called changed (A/A) or slower (A/B) | comparisons with any | 95 % intervals that hold 1 | a slow-down seen in 4 of 5, median |",
            "|---|---|---|---|---|---|", *lines, "",
            "| Point | time | processes differ by (standard deviation) | median ratio found | planted found, pair by pair | side against side |", "|---|---|---|---|---|---|"]
    for name, entry in details.items():
        found = [share(sum(each), len(each)) for each in entry["found"].values()]
        text.append(f"| {name} | {1e6 * statistics.median(entry['seconds']):.4g} us | {100 * statistics.median(entry['noise']):.2f} % "
                    f"| {statistics.median(entry['ratio']):.4f} | {' | '.join(found)} |")
    return finish(options, folder, text, lines)


if __name__ == "__main__":
    sys.exit(main())
