# SPDX-License-Identifier: Apache-2.0
"""Device times with their fixed cost, activity records and Nsight Compute's durations, as a table in Markdown.

    ncu_agreement.py RUN.json EXECUTIONS NCU.csv

RUN.json is a run with --check. EXECUTIONS is what profiled_operations printed: a line for each point, its name, the
executions in a graph of few, those in a graph of many, and how many pairs of such graphs there are. NCU.csv is what ncu
--csv --metrics gpu__time_duration.sum --graph-profiling graph wrote of profiled_operations: for each point a spin kernel,
the kernels of one execution, then pairs of graphs: of the operation, of kernels of its shapes that only wait for 2000
cycles, and of such that wait for 4000.

A record holds what a kernel costs before and after its work, as the device time and its fixed cost do together: those
are held against it. Under ncu the kernels of a graph stand further apart, those that do nothing included: twice what
kernels take that wait for c cycles less what they take for 2 c is taken off what an execution takes, and the device time
alone is held against what is left."""

import csv
import json
import re
import statistics
import sys

MARKER = "spin_kernel"
GRAPH = "graph"  # what ncu calls one that it measured as a whole
KINDS = 3  # of graphs: the operation, waiting for c cycles, waiting for 2 c
METRIC = "gpu__time_duration.sum"
SECONDS = {"s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9}
LEAST_TOLERANCE_SECONDS = 1e-7
TOLERANCE_SHARE = 0.01


class Unreadable(Exception):
    """One sentence: what is wrong with which input."""


def kernels_of(lines):
    """(name, grid, block, seconds) of each kernel, in the order they ran, from ncu's CSV and the log around it."""
    lines = list(lines)
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID"') and "Metric Value" in line), None)
    if header is None:
        errors = "; ".join(line.strip() for line in lines if line.startswith("==ERROR=="))
        raise Unreadable(f"ncu wrote no table{': ' + errors if errors else ''}")
    kernels = []
    for row in csv.DictReader(lines[header:]):
        if row.get("Metric Name") != METRIC:  # ncu's own messages between and after, too
            continue
        unit = row["Metric Unit"]
        if unit not in SECONDS:
            raise Unreadable(f"ncu gives {METRIC} in '{unit}', which is no known unit of time")
        try:
            seconds = float(row["Metric Value"].replace(",", "")) * SECONDS[unit]
            place = int(row["ID"])
        except ValueError:
            raise Unreadable(f"ncu gives {METRIC} of kernel {row['ID']} as '{row['Metric Value']}', which is no number") from None
        kernels.append((place, (row["Kernel Name"], extent(row.get("Grid Size")), extent(row.get("Block Size")), seconds)))
    return [kernel for _, kernel in sorted(kernels, key=lambda entry: entry[0])]


def extent(text):
    """ncu's "(132, 1, 1)" as [132, 1, 1]; None when it gives none."""
    try:
        sizes = [int(part) for part in (text or "").strip("() ").split(",")]
    except ValueError:
        return None
    return sizes if len(sizes) == 3 else None


def points_of(kernels):
    """What ncu lists of each point, in the order they ran: the kernels of one execution, and seconds of graphs."""
    points = []
    for kernel in kernels:
        if MARKER in kernel[0]:
            points.append(([], []))
        elif not points:
            raise Unreadable(f"ncu lists {kernel[0]} before the first point")
        elif kernel[0] == GRAPH:
            points[-1][1].append(kernel[3])
        else:
            points[-1][0].append(kernel)
    return points


def by_point(plan, points):
    """Point name to its kernels, the seconds of an execution in a chain, and those that ncu adds to it. `plan` is (name,
    few, many, pairs) in the order they ran."""
    if len(plan) != len(points):
        raise Unreadable(f"ncu lists {len(points)} points, and {len(plan)} ran")
    named = {}
    for (name, few, many, pairs), (kernels, graphs) in zip(plan, points):
        if len(graphs) != KINDS * 2 * pairs:
            raise Unreadable(f"ncu lists {len(graphs)} graphs of {name}, and {KINDS * 2 * pairs} ran")
        seconds = [(long - short) / (many - few) for short, long in zip(graphs[0::2], graphs[1::2])]
        execution, once, twice = (statistics.median(seconds[kind * pairs:(kind + 1) * pairs]) for kind in range(KINDS))
        named[name] = kernels, execution, 2 * once - twice
    return named


def short(name):
    """Name of a kernel without its parameters, template arguments, namespaces and return type."""
    for unnamed in ("(anonymous namespace)::", "<unnamed>::", "unnamed>::"):
        name = name.replace(unnamed, "")
    return re.split(r"[<(]", name)[0].split("::")[-1].split(" ")[-1]


def same_kernels(activity, execution):
    """Whether the process that was profiled chose the kernels that were recorded; libraries choose by trying out."""
    recorded = [(short(k["name"]), k["grid"], k["block"]) for k in activity.get("kernels", []) for _ in range(k["launches"])]
    profiled = [(short(name), grid, block) for name, grid, block, _ in execution]
    return sorted(map(repr, recorded)) == sorted(map(repr, profiled))


def within(seconds, expected):
    return abs(seconds - expected) <= max(LEAST_TOLERANCE_SECONDS, TOLERANCE_SHARE * expected)


def device_seconds(measurement):
    timings = [measurement, *measurement.get("other_clocks", [])]
    return next(timing["seconds"]["median"] for timing in timings if timing["clock"] == "device")


def rows(run, points):
    """(name, device, its fixed cost, activity, ncu, what that adds, remark) in seconds, of each profiled point."""
    for point in run["points"]:
        measurement = point["measurement"]
        if measurement["name"] not in points or measurement.get("repetition", 0) > 0:
            continue
        kernels, ncu, own = points[measurement["name"]]
        name = measurement["name"].removesuffix("/manual_time")
        activity = measurement.get("activity", {})
        if "expected_seconds" not in activity:
            yield name, None, None, None, ncu, own, activity.get("reason", "the run was made without --check")
            continue
        device, recorded = device_seconds(measurement), activity["seconds"]["value"]
        fixed = activity["expected_seconds"]["value"] - device
        yield name, device, fixed, recorded, ncu, own, "" if same_kernels(activity, kernels) else "ncu saw other kernels"


def table(lines):
    text = ["| point | device, us | its fixed cost, us | activity, us | ncu, us | what ncu adds to such kernels, us | activity off by "
            "| ncu off by | activity within 0.1 us or 1 % | ncu within |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    agreeing, compared = [0, 0], [0, 0]
    for name, device, fixed, recorded, ncu, own, remark in lines:
        if device is None:
            text.append(f"| {name} | | | | {ncu * 1e6:.3f} | {own * 1e6:.3f} | | | not compared: {remark} | |")
            continue
        cells, answers = [], []
        for which, (seconds, expected) in enumerate(((recorded, device + fixed), (ncu - own, device))):
            cells.append(f"{(seconds - expected) * 1e6:+.3f} us, {100 * (seconds / expected - 1):+.2f} %")
            if which == 1 and remark:
                answers.append(remark)
                continue
            compared[which] += 1
            agreeing[which] += within(seconds, expected)
            answers.append("yes" if within(seconds, expected) else "**no**")
        figures = " | ".join(f"{seconds * 1e6:.3f}" for seconds in (device, fixed, recorded, ncu, own))
        text.append(f"| {name} | {figures} | {' | '.join(cells + answers)} |")
    text += ["", f"Within 0.1 us or 1 %: activity records {agreeing[0]} of {compared[0]} points, "
             f"ncu {agreeing[1]} of {compared[1]}."]
    return "\n".join(text)


def main(run_file, plan_file, ncu_file):
    with open(run_file, encoding="utf-8") as file:
        run = json.load(file)
    with open(plan_file, encoding="utf-8") as file:
        fields = (line.rstrip("\n").split("\t") for line in file if "\t" in line)
        plan = [(name, int(few), int(many), int(pairs)) for name, few, many, pairs in fields]
    with open(ncu_file, encoding="utf-8", errors="replace") as file:
        kernels = kernels_of(file)
    print(table(rows(run, by_point(plan, points_of(kernels)))))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (Unreadable, OSError, ValueError) as error:
        sys.exit(f"ncu_agreement.py: {error}")
