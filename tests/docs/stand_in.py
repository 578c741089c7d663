# SPDX-License-Identifier: Apache-2.0
"""Stands in for gpubench where pages are tested: the same command line, on the CPU, for one small point, as briefly as can be. A program to be profiled
is a kept recording.

GPUBENCH_REAL is the program. With GPUBENCH_PARSE_ONLY it lists points in place of measuring them."""
import os
import pathlib
import re
import socket
import subprocess
import sys

real = os.environ["GPUBENCH_REAL"]
arguments = sys.argv[1:]
command = next((word for word in ("compare", "ab", "gate", "report", "calibration", "doctor", "profile", "trace", "flame", "timeline", "hta", "serve", "fleet", "judge", "bisect", "help") if word in arguments[:1]), None)


def has(*flags):
    return any(argument.split("=")[0] in flags for argument in arguments)


def without(*flags):
    return [argument for argument in arguments if argument.split("=")[0] not in flags]


def listing(words):
    """The names of what would be measured, which are written to no file."""
    return [word for word in words if word.split("=")[0] not in ("--out", "--benchmark_out")] + ["--list"]


if command is None and not has("--help", "--version", "--completion"):
    arguments = without("--device") + ["--device=cpu"]
    if os.environ.get("GPUBENCH_PARSE_ONLY"):
        arguments = listing(arguments)
    elif has("--calibrate"):
        arguments = [argument.replace("full", "quick") for argument in arguments] + ["--accept-load"]
    elif not has("--list"):
        if has("--filter") and (listed := subprocess.run([real, *listing(arguments)], stdout=subprocess.DEVNULL).returncode):
            sys.exit(listed)
        arguments = without("--filter") + ["--time-budget=0.01", "--drift-check=off", "--accept-load", "--filter=^copy/n:1024(/|$)"]
elif command == "ab":
    dashes = arguments.index("--") if "--" in arguments else len(arguments)
    arguments = [argument for argument in arguments[:dashes] if not argument.startswith("--pairs")] + ["--pairs=2"] + arguments[dashes:]
elif command == "profile" and "--" in arguments:
    tests = pathlib.Path(__file__).resolve().parent.parent  # a recording of an H200 stands for the program's own
    arguments = [argument for argument in arguments[:arguments.index("--")] if not argument.startswith("--keep")]
    arguments += [f"--recording={tests / 'profile/data'}", f"--calibration={tests.parent / 'docs/results/h200/calibration-full.json'}"]
elif command in ("serve", "judge", "bisect"):  # until it is stopped; of code and commits that are not here
    arguments = [command, "--help"]
elif command == "calibration":
    arguments = ["cpu" if argument.startswith("cuda:") else argument for argument in arguments]

elif arguments[:2] == ["gate", "import"]:  # kept results of the same tool stand for a user's, in a store of their own
    kept = pathlib.Path(__file__).resolve().parent.parent / "core/storage/kept"
    arguments = [str(kept / ("asv.json" if ".asv" in argument else "pytest_benchmark.json")) if argument.startswith((".asv", ".benchmarks")) else argument
                 for argument in arguments] + ([] if has("--store") else ["--store=imported"])

elif command == "fleet" and not has("--help"):  # a fleet of one CPU
    one = ["--device=cpu", "--probes=brief", "--runs=1", "--rank=0", "--ranks=1", "--quiet", f"--campaign={os.getpid()}"]
    if arguments[1] == "calibrate":
        arguments = ["fleet", "calibrate", *[argument for argument in arguments if argument.startswith("--out=")], *one]
    elif arguments[1] == "collectives":  # of several ranks, by MPI
        arguments = ["fleet", "collectives", "--help"]
    elif arguments[1] == "canary":
        arguments = without("--baseline") + ["--device=cpu"]
    else:
        if arguments[1] == "history":  # a CPU is told by its node
            arguments[2:] = [socket.gethostname(), *[argument.replace("*", "1") for argument in arguments[3:]]]
        for folder in [argument for argument in arguments[2 + (arguments[1] == "history"):] if not argument.startswith("--") and not os.path.exists(argument)]:
            subprocess.run([real, "fleet", "calibrate", f"--out={folder}", *one], check=True)
        arguments = [argument.replace(".parquet", ".csv") for argument in arguments]

# Without a Python that draws, a picture's specification stands for it.
python = os.environ.get("GPUBENCH_PYTHON") or sys.executable
if any(re.search(r"\.(svg|png|pdf)$", argument) for argument in arguments) and subprocess.run([python, "-c", "import vl_convert"], stderr=subprocess.DEVNULL).returncode:
    arguments = [re.sub(r"\.(svg|png|pdf)$", ".vl.json", argument) for argument in arguments]

code = subprocess.run([real, *arguments]).returncode
# What a comparison finds on a busy machine, and what the doctor thinks of it, is no matter of the page.
passed = {"compare": (0, 1), "ab": (0, 1), "gate": (0, 1), "doctor": (0, 2), "fleet": (0, 3)}.get(command, (0,))
sys.exit(0 if code in passed else code)
