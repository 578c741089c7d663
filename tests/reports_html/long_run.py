#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a long run out of the points of a real one: python3 tests/reports_html/long_run.py RUN.json OUT.json POINTS

Each round over the points takes sizes of its own and other times, up to 1 % away, so that no two points are alike."""
import json
import random
import re
import sys

SCALED = ("timings", "launch_seconds", "activity", "kernel_groups", "counters", "variants")
KEPT = ("samples_clock_hz", "remaining_fraction")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


def scaled(value, factor):
    if isinstance(value, float):
        return float(round(value * factor)) if value.is_integer() and abs(value) > 1e4 else value * factor
    if isinstance(value, list):
        return [scaled(each, factor) for each in value]
    if isinstance(value, dict):
        return ordered({key: each if key in KEPT else scaled(each, factor) for key, each in value.items()})
    return value


def ordered(summary):
    """Kept runs round the figures of spread, which may pass the median by that; scaled they must not."""
    if "lower_quartile" in summary:
        median = summary["median"]
        for inner, outer in (("lower_quartile", "minimum"), ("upper_quartile", "maximum")):
            pick = min if outer == "minimum" else max
            summary[inner] = pick(summary[inner], median)
            summary[outer] = pick(summary[outer], summary[inner])
        summary["mad"] = min(summary["mad"], median - summary["minimum"], summary["maximum"] - median)
        summary["mean"] = min(max(summary["mean"], summary["minimum"]), summary["maximum"])
        summary["median_ci95"] = [min(summary["median_ci95"][0], median), max(summary["median_ci95"][1], median)]
    return summary


def point_of(point, turn, factor):
    point = json.loads(json.dumps(point))
    measurement = point["measurement"]
    if turn == 0:
        return point
    for argument in measurement["arguments"]:
        if "text" not in argument and argument["value"] > 1:
            before = argument["value"]
            argument["value"] = before + turn * max(1, before // 64)
            measurement["name"] = re.sub(rf"(?<=[/:]){before}(?=/|$)", str(argument["value"]), measurement["name"])
    if not any("text" not in argument and argument["value"] > 1 for argument in measurement["arguments"]):
        measurement["repetition"] = turn
    for key in SCALED:
        if key in measurement:
            measurement[key] = scaled(measurement[key], factor)
    verdict = point.get("verdict")
    if verdict:
        verdict["evidence"] = NUMBER.sub(lambda found: f"{float(found[0]) * factor:.3g}", verdict["evidence"])
    return point


def main():
    source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(source, encoding="utf-8") as file:
        run = json.load(file)
    points = run["points"]
    randoms = random.Random(1)
    run["points"] = [point_of(points[i % len(points)], i // len(points), 1 + 0.01 * randoms.random()) for i in range(count)]
    run["boundaries"] = []
    with open(target, "w", encoding="utf-8") as file:
        json.dump(run, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
