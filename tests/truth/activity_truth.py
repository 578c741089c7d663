#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often --check=activity is right: alarms on correct points, and device times found that are off on purpose.

    activity_truth.py plant RUN.json PLANTED.json [--error=0.05] [--common]
        device times 5 % too long and too short in turn; with --common all too long, with --error=-0.05 too short
    activity_truth.py score RUN.json... [--list]
        table in Markdown of what --check=activity said, and what it said of each run in common

A planted run is checked by going on with it: PROGRAM --resume=PLANTED.json --check=activity --out=CHECKED.json. All of it is as in
another run, except that its device times are wrong."""
import argparse
import json

LIMITS_US = (3, 6, 30)  # of a kernel


def load(file):
    with open(file, encoding="utf-8") as stored:
        return json.load(stored)


def measurements(run):
    return [point["measurement"] for point in run["points"]]


def in_common(run):
    """What the check said of all points of a run together."""
    return [warning for warning in run.get("warnings", []) if "activity records say, in common over" in warning]


def device_seconds(measurement):
    return next((timing["seconds"] for timing in measurement["timings"] if timing["clock"] == "device" and "seconds" in timing), None)


def with_errors(run, error, common=False):
    """The run with device times too long and too short in turn, or all alike, and nothing that it said of them."""
    for i, point in enumerate(run["points"]):
        seconds = device_seconds(point["measurement"]) or {}
        factor = 1 + error * (1 if common or i % 2 == 0 else -1)
        for key, value in seconds.items():
            if key != "count":
                seconds[key] = [each * factor for each in value] if isinstance(value, list) else value * factor
        point["measurement"].pop("activity", None)
    run["warnings"] = []
    return run


def plant(options):
    run = load(options.run)
    with open(options.planted, "w", encoding="utf-8") as stored:
        json.dump(with_errors(run, options.error, options.common), stored)


def kernels_of(measurement):
    """That one execution runs."""
    return max(sum(kernel["launches"] for kernel in measurement["activity"].get("kernels", [])),
               measurement.get("launches", {}).get("kernels", 1), 1)


def size_of(measurement):
    """Of how long a kernel takes, the index of the class."""
    kernel_us = 1e6 * device_seconds(measurement)["median"] / kernels_of(measurement)
    return sum(kernel_us >= limit for limit in LIMITS_US)


def table(points):
    """Rows of kernel length, points compared and points contradicted; and what was contradicted."""
    compared = [0] * (len(LIMITS_US) + 1)
    found = [[] for _ in compared]
    for measurement in points:
        agreement = measurement.get("activity", {}).get("agreement")
        if agreement not in ("agrees", "disagrees"):
            continue
        size = size_of(measurement)
        compared[size] += 1
        if agreement == "disagrees":
            found[size].append(measurement)
    edges = ("0", *map(str, LIMITS_US))
    names = [f"{low} to {high}" for low, high in zip(edges, edges[1:])] + [f"{edges[-1]} and more"]
    rows = [(name, count, len(those)) for name, count, those in zip(names, compared, found)]
    return rows + [("all", sum(compared), sum(map(len, found)))], [each for those in found for each in those]


def score(options):
    runs = [load(file) for file in options.runs]
    rows, found = table([measurement for run in runs for measurement in measurements(run)])
    print("| kernels of, us | compared | contradicted | |\n|---|---|---|---|")
    for name, points, contradicted in rows:
        print(f"| {name} | {points} | {contradicted} | {100 * contradicted / max(points, 1):.1f} % |")
    for file, run in zip(options.runs, runs):
        print(f"\nIn common, {file}: {' '.join(in_common(run)) or 'nothing'}")
    if not options.list:
        return
    print("\n| point | device, us | recorded less expected, each look | tolerance |\n|---|---|---|---|")
    for measurement in found:
        seconds = device_seconds(measurement)["median"]
        looks = measurement["activity"].get("looks", [])
        off = (f"{100 * (look['seconds'] - look['expected_seconds']) / seconds:+.1f} %" for look in looks)
        allowed = (f"{100 * look['tolerance_seconds'] / seconds:.1f} %" for look in looks)
        print(f"| {measurement['name']} | {1e6 * seconds:.2f} | {', '.join(off)} | {', '.join(allowed)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    planting = commands.add_parser("plant")
    planting.add_argument("run")
    planting.add_argument("planted")
    planting.add_argument("--error", type=float, default=0.05)
    planting.add_argument("--common", action="store_true", help="the same error everywhere, as of a clock that runs wrong")
    planting.set_defaults(what=plant)
    scoring = commands.add_parser("score")
    scoring.add_argument("runs", nargs="+")
    scoring.add_argument("--list", action="store_true", help="each contradiction")
    scoring.set_defaults(what=score)
    options = parser.parse_args()
    options.what(options)


if __name__ == "__main__":
    main()
