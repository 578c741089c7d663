#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores verdicts on library and application code (tests/truth/libraries) against what the hardware says.

    library_truth.py profile PROGRAM FOLDER [--filter=REGEX]  profile each point once with Nsight Compute: FOLDER/ncu.csv
    library_truth.py truth RUN.json TRUTH.json NCU.csv...     busy share of each unit at each point, kernels weighted by their time
    library_truth.py score RUN.json TRUTH.json                table in Markdown
    library_truth.py known TABLE.md TRUTH.json                the truth that a table of `score` holds, to score other runs by
    library_truth.py strip RUN.json OUT.json                  the run as if nothing had been counted; `gpubench report` judges it anew

RUN.json is a run of the same program, with its calibration. The truth of a point is a regime by one rule:
- launching (kernels x the calibrated cost of a launch) takes half of the stream's time or more: overhead;
- else the unit with the highest share of its peak, at 80 % or more: its kind, memory or compute; where another is within 5 %, its
  kind is right as well;
- no unit at 60 %: latency;
- between 60 and 80 %: latency and the unit's kind both count as right, and the point is scored apart.
Nsight Compute's passes lengthen short kernels, so its shares are taken of the durations that the driver's own activity records gave in
RUN.json, where those are shorter. Starting blocks is a unit of the hardware that Nsight Compute has no counter for: its share is the
calibrated time to start the point's blocks over its time on the device, and its regime is overhead.
So does the busiest slice of L2 with its atomic units, as RUN.json counted it: Nsight Compute's shares are means over all slices. Its peak
for floating-point numbers at one address is their calibrated rate.
Copies and fills have no kernel that Nsight Compute could see. Their launch is the calibrated cost of a command of four bytes, and the
share of their engine is their rate over the best rate of the same operation at any size."""

import argparse
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys

DURATION = "gpu__time_duration.sum"
SHARE = ".avg.pct_of_peak_sustained_elapsed"
ROLLUPS = ("sm__throughput", "gpu__compute_memory_throughput")
METRICS = ",".join([DURATION, *(prefix + name + SHARE for name in ROLLUPS for prefix in ("", "breakdown:"))])
SECONDS = {"s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9}
BUSY, IDLE, MOSTLY_LAUNCH, AS_BUSY = 80.0, 60.0, 0.5, 5.0
MEMORY, COMPUTE = "memory", "compute"

# What a metric of the two breakdowns is of: the first pattern that is found in its name decides.
UNITS = [(re.compile(pattern), unit, regime) for pattern, unit, regime in (
    (r"^gpu__compute_memory_\w*throughput|^sm__throughput|^sm__memory_throughput", None, None),  # the highest of others
    (r"^dram|^fbpa|^gpu__dram", "DRAM", MEMORY),
    (r"^l(ts|1tex)__.*(atom|_red)", "atomics", MEMORY),
    (r"^lt[sc]", "L2", MEMORY),
    (r"^l1tex__data_", "L1 data stage", MEMORY),
    (r"^l1tex__m_", "L2 to SM", MEMORY),
    (r"^l1tex__", "L1", MEMORY),
    (r"^idc__|^gcc__", "constant cache", MEMORY),
    (r"^(pcie|nvl)", "link", MEMORY),
    (r"pipe_(lsu|tex|ipa|tma)", "LSU", MEMORY),
    (r"^sm(sp)?__mio", "LSU queue", MEMORY),
    (r"pipe_(tensor|hmma|imma|dmma|gmma|shared)", "tensor", COMPUTE),
    (r"pipe_(fp64|dfma)", "FP64", COMPUTE),
    (r"pipe_(fma|fp16|ffma|hfma)", "FMA", COMPUTE),
    (r"pipe_alu", "ALU", COMPUTE),
    (r"pipe_xu", "special functions", COMPUTE),
    (r"pipe_(adu|cbu|uniform)", "branch and uniform", COMPUTE),
    (r"^sm(sp)?__(inst_issued|issue|inst_executed)", "issue", COMPUTE),
    (r"^sm(sp)?__", "other of the multiprocessor", COMPUTE))]
REGIME_OF = {unit: regime for _, unit, regime in UNITS} | {
    "other of memory": MEMORY, "copy engine": MEMORY, "block start": "overhead", "atomics of one slice": MEMORY}
HOTTEST = "l2_atomics_hottest_busy"  # counted in the run itself: Nsight Compute's shares are means over all slices

MEAN, IN_TURN = "l2_atomics_busy", "atomic-global-float-one"

# Operations of commands: the ceiling that holds what such a command of four bytes takes.
COMMANDS = {"copy_device_to_device": "copy-device-to-device", "copy_host_to_device": "copy-host-to-device",
            "copy_device_to_host": "copy-device-to-host", "fill": "memset"}


class Unreadable(Exception):
    """One sentence: what is wrong with which input."""


def unit_of(metric):
    return next((unit for pattern, unit, _ in UNITS if pattern.search(metric)), None)


def truth_from_hardware(launch_share, units):
    """(right regimes, unit that names them, its percentage) of plain figures: the share of the stream's time that launching takes, None
    when it is not known, and per cent of its peak of each unit. No regime is right when nothing is known."""
    if launch_share is not None and launch_share >= MOSTLY_LAUNCH:
        return {"overhead"}, "launch", 100.0 * launch_share
    if not units:
        return set(), "", 0.0
    unit = max(units, key=units.get)
    if units[unit] >= BUSY:
        as_busy = {REGIME_OF[each] for each, share in units.items() if share >= max(BUSY, units[unit] - AS_BUSY)}
        return as_busy, unit, units[unit]
    return {"latency"} if units[unit] < IDLE else {"latency", REGIME_OF[unit]}, unit, units[unit]


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:  # n/a, nan, (!) ...
        return None


def kernels_of(lines, names):
    """[(point, kernel, seconds, {metric: per cent})] of ncu's CSV, wide (--page raw) or long, and the names in its own errors. The point is
    the longest of `names` in the columns of NVTX."""
    lines = list(lines)
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        errors = "; ".join(line.strip() for line in lines if line.startswith("==ERROR=="))
        raise Unreadable(f"ncu wrote no table{': ' + errors if errors else ''}")
    by_length = sorted(names, key=len, reverse=True)
    kernels, units, unplaced = {}, {}, 0
    for row in csv.DictReader(line for line in lines[header:] if not line.startswith("==")):
        if not (row.get("ID") or "").strip():  # the row of units of the wide form
            units = row
            continue
        place = (row.get("Process ID"), row["ID"])
        if place not in kernels:
            ranges = " ".join(value for key, value in row.items() if key and value and "_Range:" in key) or row.get("Kernel Name", "")
            point = next((name for name in by_length if re.search(re.escape(name) + r"(?![\w/])", ranges)), None)
            unplaced += point is None
            kernels[place] = [point, row.get("Kernel Name", ""), None, {}]
        cells = ([(row["Metric Name"], row["Metric Value"], row.get("Metric Unit", ""))] if "Metric Name" in row
                 else [(key, value, units.get(key)) for key, value in row.items() if key and "__" in key])
        for metric, text, unit in cells:
            metric, value = metric.removeprefix("breakdown:"), number(text or "")
            if value is None:
                continue
            if metric == DURATION:
                if unit not in SECONDS:
                    raise Unreadable(f"ncu gives {metric} in '{unit}', which is no known unit of time")
                kernels[place][2] = value * SECONDS[unit]
            elif metric.endswith(SHARE):
                kernels[place][3][metric] = value
    return [tuple(kernel) for kernel in kernels.values() if kernel[0]], unplaced


def busy_units(kernels):
    """One point's {unit: [per cent, metric]}: each metric weighted by the kernels' times, and of a unit the metric that is highest."""
    total = sum(seconds for _, _, seconds, _ in kernels)
    units = {}
    for metric in {metric for _, _, _, shares in kernels for metric in shares}:
        unit = unit_of(metric)
        share = sum(seconds * shares.get(metric, 0.0) for _, _, seconds, shares in kernels) / total
        if unit and share > units.get(unit, [-1.0])[0]:
            units[unit] = [round(share, 2), metric.removesuffix(SHARE)]
    return units


def name_of(measurement):
    return measurement["name"].removesuffix("/manual_time")


def truth_of(run, files):
    names = {name_of(point["measurement"]) for point in run["points"]}
    kernels, unplaced = [], 0
    for lines in files:
        found, outside = kernels_of(lines, names)
        kernels += found
        unplaced += outside
    points = {}
    for name in sorted(names):
        mine = [kernel for kernel in kernels if kernel[0] == name]
        timed = [kernel for kernel in mine if kernel[2]]
        if not timed or not any(kernel[3] for kernel in timed):
            points[name] = {"reason": "ncu saw no kernel of it" if not mine else "ncu counted nothing of its kernels"}
            continue
        longest = max(timed, key=lambda kernel: kernel[2])
        points[name] = {"kernels": len(mine), "counted": len(timed), "seconds": sum(kernel[2] for kernel in timed),
                        "longest": longest[1][:120], "units": busy_units(timed)}
    return {"points": points, "kernels_outside_points": unplaced}


# Taken of each run itself.
OF_THE_RUN = {"launch", "block start", "copy engine", "atomics of one slice"}


def known_truth(lines):
    """What the points' rows of a table hold: of each the unit that was busiest, and one of the other kind where both are right. Of a point
    that stands in several tables the first counts. Launches and starts of blocks are those of the run that is scored."""
    of_regime = {MEMORY: "other of memory", COMPUTE: "other of the multiprocessor"}
    points = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        right = set(cells[1].split(" or ")) if len(cells) == 8 else {""}
        if cells[0] in points or not right <= set(REGIME_OF.values()) | {"latency"}:
            continue
        named = [cells[2], *(unit for regime, unit in of_regime.items() if regime in right - {REGIME_OF.get(cells[2])})]
        units = {} if cells[2] in OF_THE_RUN else {unit: [float(cells[3]), ""] for unit in named}
        points[cells[0]] = {"kernels": 0, "counted": sys.maxsize, "seconds": 0.0, "units": units}
    return {"points": points, "kernels_outside_points": 0}


def clock_seconds(measurement, clock):
    return next((t["seconds"]["median"] for t in measurement.get("timings", []) if t["clock"] == clock and "seconds" in t), None)


def ceilings_of(run, device):
    return {ceiling["resource"]: ceiling["value"] for calibration in run.get("calibrations", [])
            if calibration["device"]["id"] == device for ceiling in calibration["ceilings"]}


def rate(measurement):
    work, seconds = measurement.get("work", {}), clock_seconds(measurement, "stream")
    return (work.get("bytes_read", 0.0) + work.get("bytes_written", 0.0)) / seconds if seconds else 0.0


def rows(run, truth):
    """A dict for each point with a verdict: name, family, right regimes, unit, per cent, verdict, probability, certain; or the reason why it
    is not scored."""
    measurements = [point["measurement"] for point in run["points"]]
    for point in run["points"]:
        measurement, verdict = point["measurement"], point.get("verdict")
        if measurement.get("repetition", 0) != 0:
            continue
        row = {"name": name_of(measurement), "family": measurement["operation"]}
        seconds, ceilings = clock_seconds(measurement, "stream"), ceilings_of(run, measurement["device"])
        known = truth["points"].get(row["name"], {"reason": "Nsight Compute was not run on it"})
        if not verdict or not seconds:
            yield row | {"reason": measurement.get("failure", {}).get("message") or measurement.get("skipped") or "it has no verdict"}
            continue
        if row["family"] in COMMANDS:
            best = max(rate(each) for each in measurements if each["operation"] == row["family"])
            units = {"copy engine": 100.0 * rate(measurement) / best} if best > 0 else {}
            fixed, launches = ceilings.get(COMMANDS[row["family"]]), 1
        else:
            expected = measurement.get("launches", {}).get("kernels", 0)
            if "reason" in known or known["counted"] < max(expected, known["kernels"]):
                yield row | {"reason": known.get("reason") or f"ncu counted {known['counted']} of {max(expected, known['kernels'])} kernels"}
                continue
            recorded = measurement.get("activity", {}).get("seconds", {}).get("value")
            longer = max(known["seconds"] / recorded, 1.0) if recorded else 1.0
            units = {unit: min(share * longer, 100.0) for unit, (share, _) in known["units"].items()}
            device = clock_seconds(measurement, "device")
            if device and "block-start" in ceilings:
                started = measurement.get("launches", {}).get("later_blocks", 0) * ceilings["block-start"]
                units["block start"] = min(100.0 * started / device, 100.0)
            hottest = next((each.get("value") for each in measurement.get("counters", []) if each["name"] == HOTTEST), None)
            if hottest is not None:
                units["atomics of one slice"] = min(hottest, 100.0)
                clock = next((each.get("value") for each in measurement.get("counters", []) if each["name"] == "l2_clock"), None)
                in_turn = ceilings.get(IN_TURN)
                # A cycle for each addition: those of floating-point numbers at one address go one after another, slower.
                if clock and in_turn and hottest >= 8 * next(each["value"] for each in measurement["counters"] if each["name"] == MEAN):
                    as_fast = hottest / 100.0 * clock / in_turn
                    units["atomics of one slice"] = max(units["atomics of one slice"], 100.0 * min(as_fast, 1.0) if as_fast < 1.1 else 0.0)
            # Nodes of a graph of the user's own cost less than launches.
            fixed, launches = ceilings.get("graph-node" if measurement.get("label") == "graph" else "launch"), expected or known["kernels"]
        share = None if fixed is None else launches * fixed / seconds
        right, unit, percent = truth_from_hardware(share, units)
        if not right:
            yield row | {"reason": "no unit of it was counted"}
            continue
        yield row | {"right": right, "unit": unit, "percent": percent, "verdict": verdict["regime"], "limiter": verdict.get("limiter", ""),
                     "probability": verdict["confidence"], "certain": verdict.get("certainty") == "certain",
                     "correct": verdict["regime"] in right}


def brier(scored, probability=lambda row: row["probability"]):
    return sum((probability(row) - row["correct"]) ** 2 for row in scored) / len(scored) if scored else 0.0


EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


def bin_of(probability):
    return next(i for i in range(len(EDGES) - 1) if probability < EDGES[i + 1] or i == len(EDGES) - 2)


def left_out_probability(scored):
    """Probability of a row by how often its bin was right in the other families, with one right and one wrong added; the stated one where
    they have less than five such points."""
    def probability(row):
        others = [each for each in scored if each["family"] != row["family"] and bin_of(each["probability"]) == bin_of(row["probability"])]
        return (sum(each["correct"] for each in others) + 1) / (len(others) + 2) if len(others) >= 5 else row["probability"]
    return probability


def share_text(part, whole):
    return f"{part} of {whole}" + (f" ({100.0 * part / whole:.1f} %)" if whole else "")


def table(every):
    left_out = [row for row in every if "reason" in row]
    scored = [row for row in every if "reason" not in row]
    decided = [row for row in scored if "latency" not in row["right"] or len(row["right"]) == 1]
    between = [row for row in scored if "latency" in row["right"] and len(row["right"]) == 2]
    certain = [row for row in scored if row["certain"]]

    def right(of):
        return share_text(sum(row["correct"] for row in of), len(of))

    text = ["# Verdicts on library and application code", "", "| score | |", "|---|---|",
            f"| right | {right(decided)} |",
            f"| right, a unit between {IDLE:.0f} and {BUSY:.0f} % of its peak | {right(between)} |",
            f"| certain and wrong | {share_text(sum(not row['correct'] for row in certain), len(certain))} |",
            f"| Brier score | {brier(decided):.4f}; with those between {brier(scored):.4f} |",
            f"| Brier score, probabilities from the other families' reliability | {brier(decided, left_out_probability(decided)):.4f} |",
            f"| not scored | {len(left_out)} |", "",
            "| truth | points | right |", "|---|---|---|"]
    for regime in ("overhead", "latency", "memory", "compute"):
        of = [row for row in decided if regime in row["right"]]
        text.append(f"| {regime} | {len(of)} | {sum(row['correct'] for row in of)} |")
    text += ["", "| stated probability | points | mean stated | right |", "|---|---|---|---|"]
    for i in range(len(EDGES) - 1):
        of = [row for row in decided if bin_of(row["probability"]) == i]
        if of:
            text.append(f"| {EDGES[i]:.2f} to {EDGES[i + 1]:.2f} | {len(of)} | {sum(row['probability'] for row in of) / len(of):.3f} "
                        f"| {sum(row['correct'] for row in of) / len(of):.3f} |")
    text += ["", "| family | points | right | between, right | certain and wrong |", "|---|---|---|---|---|"]
    for family in dict.fromkeys(row["family"] for row in scored):
        mine, apart = ([row for row in of if row["family"] == family] for of in (decided, between))
        wrong = sum(row["certain"] and not row["correct"] for row in mine + apart)
        text.append(f"| {family} | {len(mine)} | {sum(row['correct'] for row in mine)} | {sum(row['correct'] for row in apart)} of {len(apart)} | {wrong} |")
    text += ["", "| point | truth | unit | % of peak | verdict | limiter | probability | |", "|---|---|---|---|---|---|---|---|"]
    for row in scored:
        mark = "right" if row["correct"] else "**certain, wrong**" if row["certain"] else "**wrong**"
        mark += ", between" if len(row["right"]) == 2 and "latency" in row["right"] else ""
        text.append(f"| {row['name']} | {' or '.join(sorted(row['right']))} | {row['unit']} | {row['percent']:.1f} | {row['verdict']} "
                    f"| {row['limiter']} | {row['probability']:.3f} | {mark} |")
    if left_out:
        text += ["", "| not scored | why |", "|---|---|", *(f"| {row['name']} | {row['reason']} |" for row in left_out)]
    return "\n".join(text)


def profile(program, folder, pattern):
    ncu = shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")
    if not ncu:
        raise Unreadable("there is no ncu on PATH or in /usr/local/cuda/bin; install Nsight Compute")
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "ncu.ncu-rep"
    # Clocks are left alone and caches stay warm, as when gpubench times.
    command = [ncu, "-f", "-o", str(report.with_suffix("")), "--nvtx", "--profile-from-start", "off", "--clock-control", "none",
               "--cache-control", "none", "--section", "SpeedOfLight", "--metrics", METRICS,
               str(program), "--once", "--device=cuda:0", f"--filter={pattern}"]
    print(" ".join(command), file=sys.stderr)
    code = subprocess.run(command, check=False).returncode  # not 0 when a point failed, too
    if not report.exists():
        raise Unreadable(f"ncu ended with exit code {code} and wrote no report")
    with open(folder / "ncu.csv", "w", encoding="utf-8") as out:
        subprocess.run([ncu, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"], stdout=out, check=True)
    if code != 0:
        print(f"library_truth.py: ncu or the program under it ended with exit code {code}; some points may be missing", file=sys.stderr)


def read_json(file):
    return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))


def strip(run):
    for point in run["points"]:
        for field in ("counters", "absent_counters", "work_differences"):
            point["measurement"].pop(field, None)
    return run


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, arguments in {"profile": ["program", "folder"], "truth": ["run", "truth"], "score": ["run", "truth"], "strip": ["run", "out"],
                            "known": ["table", "truth"]}.items():
        command = commands.add_parser(name)
        for argument in arguments:
            command.add_argument(argument, type=pathlib.Path)
        if name == "truth":
            command.add_argument("csv", nargs="+", type=pathlib.Path)
        if name == "profile":
            command.add_argument("--filter", default=".")
    options = parser.parse_args(words)
    if options.command == "profile":
        profile(options.program, options.folder, options.filter)
    elif options.command == "truth":
        files = [file.read_text(encoding="utf-8", errors="replace").splitlines() for file in options.csv]
        truth = truth_of(read_json(options.run), files)
        options.truth.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        if truth["kernels_outside_points"]:
            print(f"library_truth.py: {truth['kernels_outside_points']} kernels belong to no point of {options.run}", file=sys.stderr)
    elif options.command == "known":
        truth = known_truth(options.table.read_text(encoding="utf-8").splitlines())
        options.truth.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    elif options.command == "score":
        print(table(list(rows(read_json(options.run), read_json(options.truth)))))
    else:
        options.out.write_text(json.dumps(strip(read_json(options.run))), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Unreadable, OSError, ValueError, KeyError) as error:
        sys.exit(f"library_truth.py: {error}")
