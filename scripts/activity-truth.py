#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often --check=activity is right: alarms on correct points, and device times found that are off on purpose.

    activity-truth.py plant RUN.json PLANTED.json [--error=0.05]   device times 5 % too long and too short in turn
    activity-truth.py score RUN.json... [--list]                   table in Markdown of what --check=activity said

A planted run is checked by going on with it: PROGRAM --resume=PLANTED.json --check=activity --out=CHECKED.json. All of it is as in
another run, except that its device times are wrong."""
import argparse
import json

LIMITS_US = (3, 6, 30)  # of a kernel


def measurements(file):
    with open(file, encoding="utf-8") as stored:
        return [point["measurement"] for point in json.load(stored)["points"]]


def device_seconds(measurement):
    return next((timing["seconds"] for timing in measurement["timings"] if timing["clock"] == "device" and "seconds" in timing), None)


def plant(options):
    with open(options.run, encoding="utf-8") as stored:
        run = json.load(stored)
    for i, point in enumerate(run["points"]):
        seconds = device_seconds(point["measurement"]) or {}
        factor = 1 + options.error * (1 if i % 2 == 0 else -1)
        for key in seconds:
            if isinstance(seconds[key], float):
                seconds[key] *= factor
            elif isinstance(seconds[key], list):
                seconds[key] = [each * factor for each in seconds[key]]
        point["measurement"].pop("activity", None)
    with open(options.planted, "w", encoding="utf-8") as stored:
        json.dump(run, stored)


def kernels_of(measurement):
    """That one execution runs."""
    return max(sum(kernel["launches"] for kernel in measurement["activity"].get("kernels", [])),
               measurement.get("launches", {}).get("kernels", 1), 1)


def size_of(measurement):
    """Of how long a kernel takes, the index of the class."""
    kernel_us = 1e6 * device_seconds(measurement)["median"] / kernels_of(measurement)
    return sum(kernel_us >= limit for limit in LIMITS_US)


def score(options):
    compared, alarms = {}, {}
    for file in options.runs:
        for measurement in measurements(file):
            check = measurement.get("activity", {})
            if check.get("agreement", "not_compared") not in ("agrees", "disagrees"):
                continue
            size = size_of(measurement)
            compared[size] = compared.get(size, 0) + 1
            if check["agreement"] == "disagrees":
                alarms.setdefault(size, []).append((measurement, check))
    edges = ("0", *map(str, LIMITS_US))
    print("| kernels of, us | compared | contradicted | |\n|---|---|---|---|")
    rows = [(f"{low} to {high}", [i]) for i, (low, high) in enumerate(zip(edges, edges[1:]))]
    for name, sizes in rows + [(f"{edges[-1]} and more", [len(LIMITS_US)]), ("all", range(len(edges)))]:
        points, found = sum(compared.get(i, 0) for i in sizes), sum(len(alarms.get(i, [])) for i in sizes)
        print(f"| {name} | {points} | {found} | {100 * found / max(points, 1):.1f} % |")
    if not options.list:
        return
    print("\n| point | device, us | recorded less expected, each look | tolerance |\n|---|---|---|---|")
    for measurement, check in (each for found in alarms.values() for each in found):
        seconds = device_seconds(measurement)["median"]
        looks = [(look["seconds"] - look["expected_seconds"], look["tolerance_seconds"]) for look in check.get("looks", [])]
        print(f"| {measurement['name']} | {1e6 * seconds:.2f} | {', '.join(f'{100 * off / seconds:+.1f} %' for off, _ in looks)} | "
              f"{', '.join(f'{100 * allowed / seconds:.1f} %' for _, allowed in looks)} |")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(required=True)
planting = commands.add_parser("plant")
planting.add_argument("run")
planting.add_argument("planted")
planting.add_argument("--error", type=float, default=0.05)
planting.set_defaults(what=plant)
scoring = commands.add_parser("score")
scoring.add_argument("runs", nargs="+")
scoring.add_argument("--list", action="store_true", help="each contradiction")
scoring.set_defaults(what=score)
chosen = parser.parse_args()
chosen.what(chosen)
