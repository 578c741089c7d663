# SPDX-License-Identifier: Apache-2.0
"""The two figures of Nsight Compute's SpeedOfLight rule, as --check=ncu-rule counts them and as ncu does, as a table in
Markdown.

    ncu_rule.py RUN.json EXECUTIONS NCU.csv

RUN.json is a run with --kernels --check=ncu-rule. EXECUTIONS is what profiled_operations printed. NCU.csv is what ncu
--csv wrote of profiled_operations with both metrics and gpu__time_duration.sum. Of an operation of several kernels the
figures are means, weighted by how long each takes."""

import statistics
import sys

import ncu_agreement as agreement

COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
TOLERANCE_POINTS = 5.0


def figures_of(shares, durations):
    """The median over executions of the mean over kernels."""
    return statistics.median(statistics.fmean([kernel[3] for kernel in share], [kernel[3] for kernel in duration])
                             for (share, _), (duration, _) in zip(shares, durations, strict=True))


def rows(run, points):
    """(name, ours, ncu's, remark) of each point that both counted: pairs of compute and memory in per cent. `points`: by
    metric, executions by point."""
    for measurement, executions in agreement.profiled(run, points[agreement.METRIC]):
        name = measurement["name"]
        counted = {counter["name"]: counter["value"] for counter in measurement.get("counters", [])}
        if COMPUTE not in counted or MEMORY not in counted:
            continue
        theirs = tuple(figures_of(points[metric][name], executions) for metric in (COMPUTE, MEMORY))
        same = all(agreement.same_kernels(measurement.get("activity", {}), kernels) for kernels, _ in executions)
        yield name.removesuffix("/manual_time"), (counted[COMPUTE], counted[MEMORY]), theirs, "" if same else "ncu saw other kernels"


def table(lines):
    text = ["| point | compute, % | by ncu | memory, % | by ncu | farther apart by | within 5 points |", "|---|---|---|---|---|---|---|"]
    within, compared = 0, 0
    for name, ours, theirs, remark in lines:
        apart = max((mine - other for mine, other in zip(ours, theirs)), key=abs)
        answer = remark
        if not remark:
            compared += 1
            within += abs(apart) <= TOLERANCE_POINTS
            answer = "yes" if abs(apart) <= TOLERANCE_POINTS else "**no**"
        text.append(f"| {name} | {ours[0]:.1f} | {theirs[0]:.1f} | {ours[1]:.1f} | {theirs[1]:.1f} | {apart:+.1f} | {answer} |")
    return "\n".join(text + ["", f"Within 5 points of a hundred: {within} of {compared}."])


def main(run_file, plan_file, ncu_file):
    run, plan = agreement.run_and_plan(run_file, plan_file)
    with open(ncu_file, encoding="utf-8", errors="replace") as file:
        lines = list(file)
    points = {metric: agreement.by_point(plan, agreement.executions_of(agreement.kernels_of(lines, metric)))
              for metric in (agreement.METRIC, COMPUTE, MEMORY)}
    print(table(rows(run, points)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (agreement.Unreadable, OSError, ValueError) as error:
        sys.exit(f"ncu_rule.py: {error}")
