# SPDX-License-Identifier: Apache-2.0
"""gpubench fleet collectives beside nccl-tests, in turns, with the same NCCL, iterations and kind of ranks.

    beside_nccl_tests.py GPUBENCH NCCL_TESTS_BUILD --turns=3

NCCL_TESTS_BUILD: where `make MPI=1` of github.com/NVIDIA/nccl-tests left its programs. Both are started by mpirun with one process a
GPU, because processes reach each other's memory in another way than threads of one do. nccl-tests' times out of place are taken.
The figure of each is the median of its turns. Prints a table in Markdown; the whole as JSON goes to --out.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = {"all-reduce": "all_reduce_perf", "all-gather": "all_gather_perf", "reduce-scatter": "reduce_scatter_perf",
            "broadcast": "broadcast_perf", "all-to-all": "alltoall_perf", "send-receive": "sendrecv_perf"}
#: Smallest and largest message, iterations, what is asked for.
RANGES = [(1 << 26, 1 << 32, 20, 0.02), (8, 1 << 16, 2000, 0.05)]
WARM_UP = 5


def started(ranks, words, environment):
    rank = ["mpirun", "-n", str(ranks), "--bind-to", "none", *words]
    done = subprocess.run(rank, capture_output=True, text=True, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **environment})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, rank))} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def of_gpubench(options, low, high, iterations):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        started(options.ranks, [options.gpubench, "fleet", "collectives", "--by=nccl", f"--collectives={','.join(options.collectives)}",
                                f"--min-bytes={low}", f"--max-bytes={high}", f"--iterations={iterations}", "--max-point-seconds=100", "--steps=files",
                                f"--steps-folder={folder}/steps", "--quiet", f"--out={out}"], {})
        return {(row["collective"], row["bytes"]): row["seconds"] for row in json.loads(out.read_text())["collectives"]}


def of_nccl_tests(options, low, high, iterations):
    times = {}
    for collective in options.collectives:
        text = started(options.ranks, [options.nccl_tests / PROGRAMS[collective], "-b", str(low), "-e", str(high), "-f", "2", "-g", "1", "-n",
                                       str(iterations), "-w", str(WARM_UP), "-c", "0", "-d", "float"], {})
        for line in text.splitlines():
            words = line.split()
            if len(words) > 6 and words[0].isdigit() and int(words[0]) > 0:
                times[collective, int(words[0])] = 1e-6 * float(words[5])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpubench", type=pathlib.Path)
    parser.add_argument("nccl_tests", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--max-seconds", type=float, default=1e5, help="what would take longer by the turn before is not begun")
    parser.add_argument("--collectives", type=lambda text: text.split(","), default=["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    end = time.monotonic() + options.max_seconds
    found, took = {}, {}
    for _ in range(options.turns):
        for low, high, iterations, _ in RANGES:
            start = time.monotonic()
            if start + took.get(low, 0.0) > end:
                continue
            for who, measure in (("gpubench", of_gpubench), ("nccl-tests", of_nccl_tests)):
                for message, seconds in measure(options, low, high, iterations).items():
                    found.setdefault(message, {}).setdefault(who, []).append(seconds)
            took[low] = time.monotonic() - start
    print("| Collective | Message | gpubench | nccl-tests | Difference |\n|---|---|---|---|---|")
    for low, high, _, aim in RANGES:
        differences, spreads = [], []
        for (collective, size), times in found.items():
            if not low <= size <= high or len(times) < 2:
                continue
            mine, theirs = (statistics.median(times[who]) for who in ("gpubench", "nccl-tests"))
            differences.append(mine / theirs - 1)
            spreads.append([max(times[who]) / min(times[who]) - 1 for who in ("gpubench", "nccl-tests")])
            cells = [f"{1e6 * statistics.median(times[who]):.5g} us ({1e6 * min(times[who]):.5g} to {1e6 * max(times[who]):.5g})" for who in ("gpubench", "nccl-tests")]
            print(f"| {collective} | {size} | {cells[0]} | {cells[1]} | {differences[-1]:+.1%} |")
        if differences:
            within = sum(abs(each) <= aim for each in differences)
            print(f"\n{low} to {high} bytes: {within} of {len(differences)} within {aim:.0%}, the worst {max(differences, key=abs):+.1%}; "
                  f"turns of gpubench differ by up to {max(each[0] for each in spreads):.1%}, of nccl-tests by up to {max(each[1] for each in spreads):.1%}\n", flush=True)
    if options.out:
        options.out.write_text(json.dumps([{"collective": collective, "bytes": size, **times} for (collective, size), times in found.items()]))


if __name__ == "__main__":
    main()
