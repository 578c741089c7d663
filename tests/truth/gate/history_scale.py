#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `gpubench gate history` takes over a large made-up store.

    history_scale.py GPUBENCH RUN.json FOLDER [--points=10000] [--entries=1000]

RUN.json is any run of this machine: its context and device stand in all entries. Noise is 0.4 %, a tenth of the points has a step of 5 %,
and 1 % of all values are up to 20 % too long. The store is made in FOLDER, unless it is there; it takes 0.8 kB a value.
"""
import argparse
import json
import math
import pathlib
import random
import resource
import subprocess
import time


def make(gpubench, run, store, points, entries):
    subprocess.run([gpubench, "gate", "update", run, f"--store={store}", "--quiet"], check=True)
    first = next(store.glob("*/000001.json"))
    entry = json.loads(first.read_text())
    measured = entry["runs"][0]["points"][0]
    templates = []
    for i in range(points):
        measurement = dict(measured["measurement"], name=f"operation{i % 40}/n:{i}", operation=f"operation{i % 40}")
        timing = dict(measurement["timings"][0])
        timing["seconds"] = {key: 0.0 if key == "mad" else value if key == "count" else ["@", "@"] if key == "median_ci95" else "@" for key, value in timing["seconds"].items()}
        measurement["timings"] = [timing]
        templates.append(json.dumps({"measurement": measurement}).replace('"@"', "@"))
    entry["runs"] = [dict(entry["runs"][0], points=["#"])]
    numbers = random.Random(5)
    usual = [10 ** numbers.uniform(-6, -2) for _ in range(points)]
    noise = [numbers.gauss(0, 0.004) for _ in range(1 << 20)]
    for e in range(entries):
        start, stride = numbers.randrange(1 << 19), numbers.randrange(1, 50)
        body = []
        for i in range(points):
            off = noise[(start + i * stride) & 0xFFFFF]
            if i % 10 == 0 and e >= entries * (i % 97) // 97:
                off += 0.05
            if numbers.random() < 0.01:
                off += 0.2 * numbers.random()
            body.append(templates[i].replace("@", repr(usual[i] * math.exp(off))))
        entry["label"] = f"v{e}"
        (first.parent / f"{e + 1:06}.json").write_text(json.dumps(entry).replace('"#"', ",".join(body)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpubench")
    parser.add_argument("run")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--entries", type=int, default=1_000)
    options = parser.parse_args()
    store = options.folder / "store"
    if not store.exists():
        make(options.gpubench, options.run, store, options.points, options.entries)
    page = options.folder / "history.html"
    start = time.monotonic()
    subprocess.run([options.gpubench, "gate", "history", f"--store={store}", f"--out={page}", "--quiet"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - start:.1f} s, processor {used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MiB, page of {page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
