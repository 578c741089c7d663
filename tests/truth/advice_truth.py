#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What advice promised and what following it gained, as a table in Markdown.

    advice_truth.py RUN.json

RUN.json is a run of tests/truth/advice: each operation before_X has a twin after_X that was changed as the advice on it says. The promise
is the first gain among the advice on before_X: "up to G times faster" means that the time falls by up to 1 - 1/G. The exit code is 1 when
a twin falls short of a third of that."""

import json
import pathlib
import sys

WANTED = 1.0 / 3.0
BEFORE, AFTER = "before_", "after_"


def seconds(point):
    clocks = {timing["clock"]: timing["seconds"]["median"] for timing in point["measurement"].get("timings", []) if "seconds" in timing}
    return clocks.get("stream")


def rows(run):
    """(name, advice, promised gain or None, gained, share of the promised fall or None) of each pair; a gain of None where a time is
    missing."""
    points = {point["measurement"]["operation"]: point for point in run["points"]}
    for name, before in points.items():
        if not name.startswith(BEFORE):
            continue
        after = points.get(AFTER + name.removeprefix(BEFORE))
        advice = before.get("verdict", {}).get("advice", [])
        first = next((each for each in advice if each.get("gain")), advice[0] if advice else {})
        promised = first.get("gain")
        old, new = seconds(before), seconds(after) if after else None
        gained = old / new if old and new else None
        share = (1 - 1 / gained) / (1 - 1 / promised) if gained and promised else None
        yield name.removeprefix(BEFORE), before, first.get("action", "no advice"), promised, gained, share


def figure(value, form):
    return "" if value is None else format(value, form)


def table(run):
    """The lines, and how many pairs fell short."""
    lines = ["| operation | limiter | advice | promised up to | gained | of the promised fall |", "|---|---|---|---|---|---|"]
    every = list(rows(run))
    for name, before, action, promised, gained, share in every:
        lines.append(f"| {name} | {before.get('verdict', {}).get('limiter', '')} | {action} | {figure(promised, '.2f')} "
                     f"| {figure(gained, '.2f')} | {figure(share, '.0%')} |")
    promised = [row for row in every if row[5] is not None]
    kept = sum(row[5] >= WANTED for row in promised)
    lines += ["", f"{kept} of {len(promised)} promises are kept by a third or more; {len(every) - len(promised)} of {len(every)} points "
                  "had no promise or no time."]
    return lines, len(promised) - kept


def main(words):
    if len(words) != 1:
        sys.exit(__doc__)
    lines, short = table(json.loads(pathlib.Path(words[0]).read_text(encoding="utf-8")))
    print("\n".join(lines))
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
