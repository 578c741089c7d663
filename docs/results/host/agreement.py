#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether two stored calibrations of one device agree: python3 agreement.py FIRST.json SECOND.json

Prints, as Markdown, every ceiling of both with its interval and whether the intervals share a point, and the share that
do. Files are runs (--out=FILE.json) or bare calibrations."""
import json
import sys


def calibration(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return document["calibrations"][0] if "calibrations" in document else document


def interval(ceiling):
    ci = ceiling["ci95"]
    return (ci["low"], ci["high"]) if isinstance(ci, dict) else tuple(ci)


def half_width(ceiling):
    low, high = interval(ceiling)
    return 50.0 * (high - low) / ceiling["value"]


first, second = (calibration(path) for path in sys.argv[1:3])
others = {ceiling["resource"]: ceiling for ceiling in second["ceilings"]}
print("| ceiling | unit | first | +- % | second | +- % | second is | intervals meet | % of limit | clock, GHz |")
print("|---|---|---|---|---|---|---|---|---|---|")
both = meet = near = 0
for one in first["ceilings"]:
    other = others.get(one["resource"])
    if other is None:
        continue
    (low, high), (other_low, other_high) = interval(one), interval(other)
    agree = low <= other_high and other_low <= high
    off = 100.0 * (other["value"] / one["value"] - 1.0)
    both, meet, near = both + 1, meet + agree, near + (abs(off) <= 5.0)
    limit = one.get("theoretical_limit")
    clock = one.get("clock_hz")
    print(f"| {one['resource']} | {one['unit']} | {one['value']:.4g} | {half_width(one):.1f} | {other['value']:.4g} "
          f"| {half_width(other):.1f} | {off:+.1f} % | {'yes' if agree else '**no**'} "
          f"| {100.0 * one['value'] / limit:.1f} |" if limit else
          f"| {one['resource']} | {one['unit']} | {one['value']:.4g} | {half_width(one):.1f} | {other['value']:.4g} "
          f"| {half_width(other):.1f} | {off:+.1f} % | {'yes' if agree else '**no**'} |  |", end="")
    print(f" {clock / 1e9:.2f} |" if clock else "  |")
print(f"\n{both} ceilings in both: the intervals of {meet} ({100.0 * meet / both:.0f} %) meet, "
      f"{near} ({100.0 * near / both:.0f} %) are within 5 %.")
for name, run in (("first", first), ("second", second)):
    print(f"\n{name}: {run['seconds_taken']:.1f} s, {run['created_utc']}; {'; '.join(run.get('warnings', [])) or 'no warning'}; "
          f"{len(run['absent'])} absent.")
    for absent in run["absent"]:
        print(f"- {absent['resource']}: {absent['reason']}")
    print("- only here: " + (", ".join(sorted({c["resource"] for c in run["ceilings"]} ^ ({c["resource"] for c in first["ceilings"]} & set(others)))) or "none"))
