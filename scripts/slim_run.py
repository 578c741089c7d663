#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stored runs and calibrations small enough to keep in a repository: python3 scripts/slim_run.py FILE.json...

`gpubench report` prints the same of a slim run, because it judges a run anew. Verdicts, boundaries, samples, probe details and what else no
table shows go; numbers keep the digits that tables need. Each point and each ceiling becomes one line."""
import json
import sys

UNUSED_OF_MEASUREMENT = ("conditions", "launch_seconds", "clock_hz_source", "set_up_seconds")
UNUSED_OF_TIMING = ("samples_seconds", "samples_clock_hz", "block_sizes")
UNUSED_OF_ACTIVITY = ("kernels", "span_seconds", "source")
UNUSED_OF_CEILING = ("shape", "conditions", "caveats", "work_per_run", "work_unit", "rate_per_clock", "power_watts", "temperature_celsius",
                     "confirmation", "theoretical_limit")
UNUSED_OF_CALIBRATION = ("unit_levels", "unit_ladder", "latency_curve", "drift", "health")
UNUSED_COUNTERS = ("instructions", "occupancy")
DIGITS, DIGITS_OF_SPREAD = 9, 2
SPREAD = ("minimum", "lower_quartile", "upper_quartile", "maximum", "mean", "mad")


def rounded(value, digits=DIGITS):
    if isinstance(value, float):
        value = float(f"{value:.{digits}g}")
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    if isinstance(value, list):
        return [rounded(each, digits) for each in value]
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    return value


def without(unused, value):
    return {key: each for key, each in value.items() if key not in unused}


def slim_timing(timing):
    timing = rounded(without(UNUSED_OF_TIMING, timing))
    timing["method"] = timing["method"].split(",")[0].split(";")[0].removesuffix(" a sample")
    for key in SPREAD if "seconds" in timing else ():
        timing["seconds"][key] = rounded(timing["seconds"][key], DIGITS_OF_SPREAD)
    return timing


def slim_measurement(measurement):
    measurement = rounded(without(UNUSED_OF_MEASUREMENT, measurement))
    measurement["timings"] = [slim_timing(timing) for timing in measurement["timings"]]
    if "counters" in measurement:
        kept = [counter for counter in measurement["counters"] if counter["name"] not in UNUSED_COUNTERS]
        measurement["counters"] = [without(("source",), counter) for counter in kept]
    if "activity" in measurement:
        measurement["activity"] = rounded(without(UNUSED_OF_ACTIVITY, measurement["activity"]), 6)
    return measurement


def slim_run(run):
    run["points"] = [{"measurement": slim_measurement(point["measurement"])} for point in run["points"]]
    run["boundaries"] = []
    for i, calibration in enumerate(run["calibrations"]):
        run["calibrations"][i] = without(UNUSED_OF_CALIBRATION, calibration)
        for ceiling in calibration["ceilings"]:
            for key in UNUSED_OF_CEILING:
                ceiling.pop(key, None)
            ceiling["method"] = ""


def lines(value):
    """JSON with one line for each element of the outer lists."""
    compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    parts = [f"{compact(key)}:" + ("[\n" + ",\n".join(map(compact, part)) + "]" if isinstance(part, list) and part else compact(part)) for key, part in value.items()]
    return "{" + ",\n".join(parts) + "}\n"


for file in sys.argv[1:] or sys.exit(__doc__):
    with open(file, encoding="utf-8") as stored:
        document = json.load(stored)
    if "points" in document:
        slim_run(document)
    with open(file, "w", encoding="utf-8") as stored:
        stored.write(lines(document))
