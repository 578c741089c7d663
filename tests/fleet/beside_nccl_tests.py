# SPDX-License-Identifier: Apache-2.0
"""gpubench fleet collectives beside nccl-tests, in turns, with the same NCCL, its scheduling, iterations, kind of ranks and processors.

    beside_nccl_tests.py GPUBENCH NCCL_TESTS_BUILD --ranks=4 --messages=short --turns=5 --out=short.json
    beside_nccl_tests.py --tables short.json long.json

NCCL_TESTS_BUILD: where `make MPI=1` of github.com/NVIDIA/nccl-tests left its programs. mpirun starts both with one process a GPU, because
processes reach each other's memory in another way than threads of one do, and each rank on an equal share of the processors: two that meet
on a core slow each other down. Each start times one collective. Every other turn begins with nccl-tests.
Both tell the mean of a row of iterations, by the host's clock, over the ranks; a start's figure is the median of three rows. Out of place.
nccl-tests checks its results: without that nobody has written its buffers, and NCCL moves such memory sooner than data.
The figure of a program is the median of its starts. nccl-tests beside itself is the median of its even starts over that of its odd ones:
what differs by as much cannot be told from noise.
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
MESSAGES = {"short": (8, 1 << 16, 1000, 0.05), "middle": (1 << 17, 1 << 25, 200, 0.02), "long": (1 << 26, 1 << 32, 20, 0.02)}
ROWS, WARM_UP = 3, 5
CAPTURED = 50  # iterations in a CUDA graph, as gpubench has at most
BOTH = ("gpubench", "nccl-tests")
#: nccl-tests asks NCCL 2.28 and later for blocks placed by their use of NVLink (`nvlinkCentricSched`). Other programs, gpubench too, get it by this word.
SCHEDULING = {"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE": "1"}


def started(options, words):
    share = len(os.sched_getaffinity(0)) // options.ranks
    bound = [] if options.unbound or share < 1 else ["sh", "-c", f'first=$((OMPI_COMM_WORLD_LOCAL_RANK * {share})); exec taskset -c $first-$((first + {min(share, options.processors) - 1})) "$@"', "sh"]
    rank = ["mpirun", "-n", str(options.ranks), "--bind-to", "none", *bound, *map(str, words)]
    done = subprocess.run(rank, capture_output=True, text=True, env={**os.environ, **SCHEDULING, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if done.returncode:
        raise RuntimeError(f"{' '.join(rank)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def of_gpubench(options, collective, low, high, iterations):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        started(options, [options.gpubench, "fleet", "collectives", "--by=nccl", f"--collectives={collective}", f"--min-bytes={low}", f"--max-bytes={high}",
                          f"--iterations={iterations}", *["--graph"] * options.graph, "--max-point-seconds=100", "--steps=files", f"--steps-folder={folder}/steps", "--quiet", f"--out={out}"])
        return {row["bytes"]: row["seconds"] for row in json.loads(out.read_text())["collectives"]}


def of_nccl_tests(options, collective, low, high, iterations):
    row = ["-n", CAPTURED, "-G", iterations // CAPTURED] if options.graph else ["-n", iterations]
    text = started(options, [options.nccl_tests / PROGRAMS[collective], "-b", low, "-e", high, "-f", 2, "-g", 1, *row, "-N", ROWS, "-w", WARM_UP, "-c", 1, "-d", "float"])
    rows = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 6 and words[0].isdigit() and int(words[0]) > 0:
            rows.setdefault(int(words[0]), []).append(1e-6 * float(words[5]))
    return {size: statistics.median(seconds) for size, seconds in rows.items()}


def measured(options):
    low, high, iterations, _ = MESSAGES[options.messages]
    low, high = options.min_bytes or low, options.max_bytes or high
    begin = time.monotonic()
    found, took = {}, 0.0
    for turn in range(options.turns):
        for collective in options.collectives:
            start = time.monotonic()
            if start - begin + took > options.max_seconds:
                return found
            for who in BOTH[::1 if turn % 2 == 0 else -1]:
                times = (of_gpubench if who == "gpubench" else of_nccl_tests)(options, collective, low, high, iterations)
                for size, seconds in times.items():
                    found.setdefault((collective, size), {}).setdefault(who, []).append(seconds)
            took = max(took, time.monotonic() - start)
            if options.out:
                options.out.write_text(json.dumps([{"collective": collective, "bytes": size, **times} for (collective, size), times in found.items()]))
    return found


def apart(values):
    return statistics.median(values[1::2]) / statistics.median(values[::2]) - 1 if len(values) > 1 else float("nan")


def told(found):
    print("| Collective | Message | gpubench | nccl-tests | Difference | nccl-tests beside itself |\n|---|---|---|---|---|---|")
    for name, (low, high, _, aim) in MESSAGES.items():
        rows = []
        for (collective, size), times in found.items():
            if not low <= size <= high or len(times) < len(BOTH):
                continue
            cells = [f"{1e6 * statistics.median(times[who]):.4g} us ({1e6 * min(times[who]):.4g} to {1e6 * max(times[who]):.4g})" for who in BOTH]
            mine, theirs = (statistics.median(times[who]) for who in BOTH)
            itself = apart(times["nccl-tests"])
            rows.append((mine / theirs - 1, itself, *(max(times[who]) / min(times[who]) - 1 for who in BOTH)))
            print(f"| {collective} | {size} | {cells[0]} | {cells[1]} | {rows[-1][0]:+.1%} | {itself:+.1%} |")
        if rows:
            steady = [row for row in rows if abs(row[1]) <= aim]
            within = [sum(abs(row[0]) <= aim for row in some) for some in (rows, steady)]
            print(f"\n{name} messages: {within[0]} of {len(rows)} within {aim:.0%}, the worst {max((row[0] for row in rows), key=abs):+.1%}, the median {statistics.median(row[0] for row in rows):+.1%}; "
                  f"of {len(steady)} where nccl-tests is within {aim:.0%} of itself {within[1]}; starts differ by up to {max(row[2] for row in rows):.1%} (gpubench) and "
                  f"{max(row[3] for row in rows):.1%} (nccl-tests), by {statistics.median(row[2] for row in rows):.1%} and {statistics.median(row[3] for row in rows):.1%} in the median\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpubench", type=pathlib.Path, nargs="?")
    parser.add_argument("nccl_tests", type=pathlib.Path, nargs="?")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--messages", choices=MESSAGES, default="short")
    parser.add_argument("--min-bytes", type=int, help="of the smallest message, in place of 8 B, 128 KiB or 64 MiB")
    parser.add_argument("--max-bytes", type=int, help="of the largest message, in place of 64 KiB, 32 MiB or 4 GiB")
    parser.add_argument("--graph", action="store_true", help="rows are replays of a CUDA graph, so that no host launches their iterations")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--max-seconds", type=float, default=1e5, help="what would take longer by what came before is not begun")
    parser.add_argument("--collectives", type=lambda text: text.split(","), default=["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
    parser.add_argument("--processors", type=int, default=1 << 20, help="that a rank has, of its equal share")
    parser.add_argument("--unbound", action="store_true", help="leave ranks where the system puts them")
    parser.add_argument("--out", type=pathlib.Path, help="what was measured, as JSON; written after each start")
    parser.add_argument("--tables", type=pathlib.Path, nargs="+", metavar="FILE", help="only the table, of such files")
    options = parser.parse_args()
    if options.tables:
        told({(row["collective"], row["bytes"]): {who: row[who] for who in BOTH if who in row} for file in options.tables for row in json.loads(file.read_text())})
        return
    if not options.gpubench or not options.nccl_tests:
        parser.error("give GPUBENCH and NCCL_TESTS_BUILD, or --tables")
    try:
        told(measured(options))
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
