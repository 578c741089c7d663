# SPDX-License-Identifier: Apache-2.0
"""Device times with their fixed cost, activity records and Nsight Compute's durations, as a table in Markdown.

    ncu_agreement.py RUN.json EXECUTIONS NCU.csv

RUN.json is a run with --kernels. EXECUTIONS is what profiled_operations printed: a line for each point, its name, a tab
and its executions. NCU.csv is what ncu --csv --metrics gpu__time_duration.sum wrote of profiled_operations: a list of
kernels, in which before each execution stand a spin kernel and, for each kernel of the operation, two of its shape that
only wait, for 2000 and 4000 cycles.

A record holds what a kernel costs before and after its work, as the device time and its fixed cost do together: those
are held against it. ncu adds more to any kernel, one that does nothing included. That is measured with kernels of the
same shape that wait for c and for 2 c cycles, twice the duration of the first less that of the second, and the device
time alone is held against what is left of a duration without it."""

import csv
import json
import re
import statistics
import sys

MARKER = "spin_kernel"
IDLE = "idle_kernel"
METRIC = "gpu__time_duration.sum"
UNITS = {"%": 1.0, "s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9}  # of a second, and shares
LEAST_TOLERANCE_SECONDS = 1e-7
TOLERANCE_SHARE = 0.01


class Unreadable(Exception):
    """One sentence: what is wrong with which input."""


def kernels_of(lines, metric=METRIC):
    """(name, grid, block, value) of each kernel, in the order they ran, from ncu's CSV and the log around it. A value is
    in seconds or per cent."""
    lines = list(lines)
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID"') and "Metric Value" in line), None)
    if header is None:
        errors = "; ".join(line.strip() for line in lines if line.startswith("==ERROR=="))
        raise Unreadable(f"ncu wrote no table{': ' + errors if errors else ''}")
    kernels = []
    for row in csv.DictReader(lines[header:]):
        if row.get("Metric Name") != metric:  # ncu's own messages between and after, too
            continue
        unit = row["Metric Unit"]
        if unit not in UNITS:
            raise Unreadable(f"ncu gives {metric} in '{unit}', which is no known unit of time or share")
        try:
            value = float(row["Metric Value"].replace(",", "")) * UNITS[unit]
            place = int(row["ID"])
        except ValueError:
            raise Unreadable(f"ncu gives {metric} of kernel {row['ID']} as '{row['Metric Value']}', which is no number") from None
        kernels.append((place, (row["Kernel Name"], extent(row.get("Grid Size")), extent(row.get("Block Size")), value)))
    return [kernel for _, kernel in sorted(kernels, key=lambda entry: entry[0])]


def extent(text):
    """ncu's "(132, 1, 1)" as [132, 1, 1]; None when it gives none."""
    try:
        sizes = [int(part) for part in (text or "").strip("() ").split(",")]
    except ValueError:
        return None
    return sizes if len(sizes) == 3 else None


def executions_of(kernels):
    """Of each execution its kernels and, before them, those that only wait."""
    executions = []
    for kernel in kernels:
        if MARKER in kernel[0]:
            executions.append(([], []))
        elif executions:
            executions[-1][IDLE in kernel[0]].append(kernel)
        else:
            raise Unreadable(f"ncu lists {kernel[0]} before the first execution")
    return executions


def by_point(plan, executions):
    """Point name to its executions. `plan` is (name, count) in the order they ran."""
    if sum(count for _, count in plan) != len(executions):
        raise Unreadable(f"ncu lists {len(executions)} executions, and {sum(count for _, count in plan)} ran")
    points, start = {}, 0
    for name, count in plan:
        points[name] = executions[start:start + count]
        start += count
    return points


def fixed_cost(idles):
    """What the profiler's durations of an execution hold besides the work of its kernels, in seconds. `idles`: of each
    execution the kernels that only wait. None without any."""
    if not idles or not idles[0] or len({len(each) for each in idles}) > 1 or len(idles[0]) % 2:
        return None
    medians = [statistics.median(each[place][3] for each in idles) for place in range(len(idles[0]))]
    return sum(2 * once - twice for once, twice in zip(medians[0::2], medians[1::2]))


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
    return next(timing["seconds"]["median"] for timing in measurement["timings"] if timing["clock"] == "device")


def profiled(run, points):
    """(measurement, executions) of each profiled point, repetitions left out."""
    for point in run["points"]:
        measurement = point["measurement"]
        if measurement["name"] in points and measurement.get("repetition", 0) == 0:
            yield measurement, points[measurement["name"]]


def recording_cost(activity):
    """What the records of an execution hold besides its work, in seconds: that of the harness's short kernel for each of its kernels, less
    what they rest longer than that one between them. None where nothing was recorded of it."""
    def value(name):
        return activity[name]["value"]
    kernels = sum(kernel["launches"] for kernel in activity.get("kernels", []))
    if not kernels or "seconds" not in activity or "recording_seconds" not in activity:
        return None
    gaps = value("gap_seconds") - kernels * value("usual_gap_seconds") if {"gap_seconds", "usual_gap_seconds"} <= activity.keys() else 0.0
    return kernels * value("recording_seconds") - gaps


def rows(run, points):
    """(name, device, its fixed cost, activity, ncu, ncu's own cost, remark) in seconds, of each profiled point."""
    for measurement, executions in profiled(run, points):
        name = measurement["name"].removesuffix("/manual_time")
        activity = measurement.get("activity", {})
        ncu = statistics.median(sum(kernel[3] for kernel in kernels) for kernels, _ in executions)
        own = fixed_cost([idles for _, idles in executions])
        fixed = recording_cost(activity)
        if fixed is None or own is None:
            yield name, None, None, None, ncu, None, activity.get("reason", "the run was made without --kernels")
            continue
        device, recorded = device_seconds(measurement), activity["seconds"]["value"]
        remark = "" if all(same_kernels(activity, kernels) for kernels, _ in executions) else "ncu saw other kernels"
        yield name, device, fixed, recorded, ncu, own, remark


def table(lines):
    text = ["| point | device, us | its fixed cost, us | activity, us | ncu, us | what ncu adds to such kernels, us | activity off by "
            "| ncu off by | activity within 0.1 us or 1 % | ncu within |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    agreeing, compared = [0, 0], [0, 0]
    for name, device, fixed, recorded, ncu, own, remark in lines:
        if device is None:
            text.append(f"| {name} | | | | {ncu * 1e6:.3f} | | | | not compared: {remark} | |")
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


def run_and_plan(run_file, plan_file):
    with open(run_file, encoding="utf-8") as file:
        run = json.load(file)
    with open(plan_file, encoding="utf-8") as file:
        plan = [(name, int(count)) for name, count in (line.rstrip("\n").split("\t") for line in file if "\t" in line)]
    return run, plan


def main(run_file, plan_file, ncu_file):
    run, plan = run_and_plan(run_file, plan_file)
    with open(ncu_file, encoding="utf-8", errors="replace") as file:
        kernels = kernels_of(file)
    print(table(rows(run, by_point(plan, executions_of(kernels)))))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (Unreadable, OSError, ValueError) as error:
        sys.exit(f"ncu_agreement.py: {error}")
