# SPDX-License-Identifier: Apache-2.0
"""Whole searches of gpubench bisect, each in a history of its own with planted slow-downs. Says which named the right commits.

    planted_searches.py GPUBENCH DIR --searches=10 --at-once=4 --cuda     10 searches, 4 of them at once
    planted_searches.py GPUBENCH DIR --searches=2 --plants=5              in each five operations become slower, by a commit each
    planted_searches.py GPUBENCH DIR --searches=10 --max-seconds=500      none goes on for longer

Searches at once build side by side. Their benchmarks take turns: a lock gives one process at a time the device. The histories are
those of planted_history.py, whose project needs an installed gpubench: CMAKE_PREFIX_PATH. Each search has one operation more than
became slower. Prints a line for each search as it ends, and leaves its report in DIR.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import subprocess
import sys
import time

COMMITS, OPERATIONS = 64, 20
SHORTEST = 30  # seconds that a search needs at least to tell something


def search(options, number, end):
    chance = random.Random(options.seed + number)
    operations = chance.sample(range(OPERATIONS), options.plants + 1)
    plants = {f"op{operation}": commit for operation, commit in zip(operations, chance.sample(range(1, COMMITS + 1), options.plants))}
    history = options.folder / f"history-{number}"
    words = [sys.executable, pathlib.Path(__file__).with_name("planted_history.py"), history, f"--commits={COMMITS}",
             f"--operations={OPERATIONS}", f"--seed={options.seed + number}",
             *(f"--plant={operation.removeprefix('op')}:{commit}:{options.percent:g}" for operation, commit in plants.items())]
    planted = json.loads(subprocess.run(words + ["--cuda"] * options.cuda, check=True, capture_output=True, text=True).stdout)
    left = end - time.monotonic()
    if left < SHORTEST:
        return {"search": number, "not_begun": True}
    report = options.folder / f"search-{number}.json"
    filter = "|".join(map(str, sorted(operations)))
    run = f"flock {options.folder / 'device'} build/bench --drift-check=off --time-budget=0.05 --filter='^op({filter})(/|$)' {'--time=device' if options.cuda else '--device=cpu'}"
    start = time.monotonic()
    result = subprocess.run(
        [options.gpubench, "bisect", planted["good"], planted["bad"], f"--repository={history}", f"--folder={options.folder / f'work-{number}'}",
         f"--total-budget={left:.0f}", f"--build-ahead={options.build_ahead}", "--build=cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build build -j1", f"--run={run}",
         f"--out={report}", f"--out={report.with_suffix('.md')}", "--quiet"], capture_output=True, text=True)
    one = {"search": number, "planted": plants, "seconds": time.monotonic() - start, "exit_code": result.returncode,
           "said": result.stderr.strip()[-500:]}
    if report.exists():
        one.update(read(json.loads(report.read_text()), planted["commits"], plants))
    return one


def read(report, commits, plants):
    """The commits that each operation's change may lie in; right: for each plant its commit alone, and nothing else."""
    left, change = {}, {}
    for row in report["changes"]:
        left.setdefault(row["point"], []).append(commits.index(row["commit"]))
        change[row["point"]] = [row["change_low"], row["change"], row["change_high"]]
    return {"right": sum(left.get(operation) == [commit] for operation, commit in plants.items()),
            "wrong": sum(plants.get(operation) not in of_it for operation, of_it in left.items()), "left": left, "change": change,
            "builds": report["builds"], "pairs": report["pairs"], "stopped": report["stopped"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpubench", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="a new folder")
    parser.add_argument("--searches", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--build-ahead", type=int, default=0, help="as gpubench bisect has it")
    parser.add_argument("--plants", type=int, default=1, help="slow-downs in each history")
    parser.add_argument("--percent", type=float, default=2.0)
    parser.add_argument("--cuda", action="store_true", help="kernels in place of loops of the host")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-seconds", type=float, default=1e5)
    options = parser.parse_args()
    options.folder = options.folder.absolute()
    options.folder.mkdir(parents=True)
    end = time.monotonic() + options.max_seconds
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        for future in concurrent.futures.as_completed([pool.submit(search, options, i, end) for i in range(options.searches)]):
            print(json.dumps(future.result()), flush=True)


if __name__ == "__main__":
    main()
