# SPDX-License-Identifier: Apache-2.0
"""Warm beside cold: times, and the DRAM traffic that the GPU counted over what the operation declares, as Markdown.

python3 scripts/cache_table.py WARM.json COLD.json, two runs of the same points with --metrics=core and --cache=warm or cold."""

import json
import sys


def points(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    return {point["measurement"]["name"]: point["measurement"] for point in run["points"] if seconds_by("stream", point["measurement"])}


def seconds_by(clock, measurement):
    for timing in measurement["timings"]:
        if timing["clock"] == clock and timing.get("seconds"):
            return timing["seconds"]["median"]
    return None


def microseconds(seconds):
    return "-" if seconds is None else f"{seconds * 1e6:.4g}"


def share(measurement, counter, declared):
    """Counted over declared bytes; a dash where nothing was counted or is declared."""
    for entry in measurement.get("counters", []):
        if entry["name"] == counter and declared > 0:
            return f"{entry['value'] / declared:.3f}"
    return "-"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    warm, cold = (points(path) for path in sys.argv[1:3])
    print("| point | stream, warm | cold (us) | device, warm | cold (us) | DRAM read / declared, warm | cold | written / declared, warm | cold |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, before in warm.items():
        after = cold.get(name)
        if after is None:
            continue
        work = before["work"]
        cells = [name.removesuffix("/manual_time")]
        for clock in ("stream", "device"):
            cells += [microseconds(seconds_by(clock, before)), microseconds(seconds_by(clock, after))]
        for counter, declared in (("dram_read_bytes", work["bytes_read"]), ("dram_write_bytes", work["bytes_written"])):
            cells += [share(before, counter, declared), share(after, counter, declared)]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
