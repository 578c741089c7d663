#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A traced kernel lies under its slice of the profile: under_slice_test.py GPUBENCH PROGRAM TRACE KERNEL. The program's trace of a
launch is on the host's clock, and CUPTI's slices are: of one of them the kernel's inside must be a part."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def slices(file, is_one):
    trace = json.loads(file.read_text())
    base = int(trace["otherData"]["base_ns"])
    return [(base + round(e["ts"] * 1000), base + round((e["ts"] + e["dur"]) * 1000)) for e in trace["traceEvents"]
            if e["ph"] == "X" and is_one(e)]


def main():
    gpubench, program, trace, kernel = sys.argv[1:]
    smi = shutil.which("nvidia-smi") or "/usr/local/nvidia/bin/nvidia-smi"
    if not pathlib.Path(smi).exists() or subprocess.run([smi, "-L"], capture_output=True).returncode:
        print("skipped: there is no GPU")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([gpubench, "profile", "--metrics=none", "--drift-check=off", f"--out={folder / 'profile.trace.json'}", "--", program],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        inside = slices(folder / trace, lambda e: e["name"] == kernel and e["cat"] == "other")
        kernels = slices(folder / "profile.trace.json", lambda e: kernel in e["name"] and e["cat"] == "kernel")
    assert inside and kernels, (len(inside), len(kernels))
    for start, end in inside:
        # The clocks are compared to about a microsecond, and a kernel's slice begins and ends some hundred nanoseconds outside of it.
        of = min(kernels, key=lambda one: abs(one[0] + one[1] - start - end))
        print(f"begins {start - of[0]} ns after its slice, and ends {of[1] - end} ns before it does, of {of[1] - of[0]} ns")
        assert of[0] - 3000 <= start and end <= of[1] + 3000, "the inside is not under its slice"
        assert end - start > 0.5 * (of[1] - of[0]), "that is another launch"
    return 0


if __name__ == "__main__":
    sys.exit(main())
