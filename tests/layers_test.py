#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room may include which. Static libraries link lazily, so that a wrong include may well link; this test sees it.

layers_test.py --write renews CONTRIBUTING's table of rooms, which is made of the rules here."""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".in"}

# Room: what is in it, and what it may include besides itself. The longest prefix of a file's path decides.
ROOMS = {
    "include": ("The public API", []),
    "core": ("No subject of its own: `model/` (the nouns, the resource table), `statistics/`, `storage/`, `base/` (processes, files, units, time)", []),
    "gpu": ("A device as the rest sees it: stream, event, error, counters, records. `cuda/` is the one folder that knows CUDA's runtime, NVML and CUPTI",
            ["core"]),
    "bench": ("The harness: `google/` (adapter), `timing/`, `memory/`, `counters/`, `activity/`", ["gpu", "core"]),
    "kernels/probes": ("What calibration runs on a device: `cuda/` beside `host/`", []),
    "kernels/operations": ("The built-in operations, CUDA beside the host twin", ["kernels/probes", "kernels/cublaslt.h", "gpu", "bench", "core"]),
    "kernels": ("Libraries of kernels that both use", ["gpu", "bench", "core"]),
    "calibrate": ("Ceilings with intervals: `gpu/` (the pipeline of any GPU), `cuda/` (the probes of NVIDIA's), `host/`, `check/` (drift, health, rejection)",
                  ["kernels/probes", "kernels/cublaslt.h", "gpu", "bench", "core"]),
    "classifier": ("Model, fit, verdict, confidence, boundaries, advice: pure mathematics, no files, no printing", ["core"]),
    "compare": ("What two sides differ in, and how sure that is: noise, tests, gate, history", ["classifier", "core"]),
    "fleet": ("Many GPUs on many nodes: results of ranks, who is slow, how ranks keep step; knows files, and MPI where it is there", ["compare", "core"]),
    "timeline": ("Timelines of programs: `readers/`, `analyses/`, `writers/`; what they share in `input/`, `structure/`, `operators/`, `statistics/`, `program/` and `views/`", ["core"]),
    "kernel_trace": ("Events inside kernels: buffers, clocks, decoding", ["timeline", "core"]),
    "profile": ("Programs as they are: injection, recordings, ranges, timers, memory, kernel groups", ["gpu", "bench", "classifier", "timeline", "core"]),
    "reports": ("A run, timeline or table in, text out: `console/`, `html/`, `charts/`, `export/`", ["compare", "classifier", "fleet", "timeline", "core"]),
    "doctor": ("Gathers facts, judges them, prints lines", ["gpu", "bench", "core"]),
    "main": ("The command line: `cli/`, `commands/`, `run/`, `serve/`, `worker/`",
             ["profile", "fleet", "timeline", "calibrate", "classifier", "compare", "doctor", "reports", "gpu", "bench", "core"]),
    "python": ("The Python package, which binds the rest and repeats nothing",
               ["main", "profile", "timeline", "kernel_trace", "calibrate", "classifier", "compare", "doctor", "reports", "gpu", "bench", "core"]),
}
MAY_INCLUDE = {room: may for room, (_, may) in ROOMS.items()}
# Rooms that build on a laptop. Of the public headers they may include those that know of no CUDA.
WITHOUT_CUDA = {"core", "classifier", "compare", "fleet", "reports", "timeline"}
PLAIN_PUBLIC_HEADERS = {"work.h", "version.h"}
CUDA_HEADER = re.compile(r"^(cuda|cublas|cupti|nvml|nv|curand|driver_types|vector_types)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


CONTRIBUTING = ROOT / "CONTRIBUTING.md"
TABLE = re.compile(r"(?<=<!-- rooms: tests/layers_test.py --write -->\n).*?(?=\n\n)", re.DOTALL)


def table_of_rooms():
    """What CONTRIBUTING says of the rules, in Markdown."""
    lines = ["| Room | What is in it | May include |", "|---|---|---|"]
    for room, (what, may) in ROOMS.items():
        without = "; no CUDA header" if room in WITHOUT_CUDA else ""
        lines.append(f"| `{room}/` | {what} | {', '.join(f'`{each}`' for each in may) or 'nothing of ours'}{without} |")
    return "\n".join(lines)


def room_of(path):
    """The longest room whose folder holds the path; None for a path of no room."""
    rooms = [room for room in MAY_INCLUDE if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def violation(path, kind, header):
    """Why the file at this path may not include this header; None where it may."""
    room = room_of(path)
    if room in WITHOUT_CUDA and CUDA_HEADER.match(header):
        return "no CUDA header here"
    if header.startswith("gpubench/"):
        plain = header.removeprefix("gpubench/") in PLAIN_PUBLIC_HEADERS
        return None if plain or room not in WITHOUT_CUDA else "this public header may know of CUDA"
    target = room_of(header)
    if kind == "<" or target is None or target == room:
        return None
    allowed = any(header == may or header.startswith(may + "/") for may in MAY_INCLUDE[room])
    return None if allowed else f"{room} may not know {target}"


def violations(root, files):
    """One line for each wrong include, and the number of includes seen."""
    wrong, seen = [], 0
    for name in files:
        if room_of(name) is None or pathlib.Path(name).suffix not in SOURCES:
            continue
        text = (root / name).read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            seen += 1
            why = violation(name, match[1], match[2])
            if why:
                line = text.count("\n", 0, match.start(2)) + 1
                wrong.append(f"{name}:{line}: {match[2]}: {why}")
    return wrong, seen


class Layers(unittest.TestCase):
    def test_contributing_has_these_rules(self):
        self.assertEqual(TABLE.search(CONTRIBUTING.read_text(encoding="utf-8"))[0], table_of_rooms(), "renew it: python3 tests/layers_test.py --write")

    def test_every_room_is_there(self):
        folders = {path.parent.relative_to(ROOT).parts[0] for ending in ("cpp", "h", "cu") for path in ROOT.glob(f"*/**/*.{ending}")
                   if not path.relative_to(ROOT).parts[0].startswith(("build", "."))}
        self.assertEqual(folders - {"tests", "examples"}, {room.split("/")[0] for room in ROOMS})

    def test_no_room_includes_what_it_may_not_know(self):
        files = [str(path.relative_to(ROOT)) for room in {room.split("/")[0] for room in MAY_INCLUDE}
                 for path in (ROOT / room).rglob("*")]
        wrong, seen = violations(ROOT, files)
        self.assertGreater(seen, 1000)
        self.assertEqual(wrong, [])

    def test_a_wrong_include_is_seen(self):
        cases = [
            ("core/model/run.h", '#include "gpu/devices.h"', False),
            ("core/model/run.h", '#include "core/base/text.h"', True),
            ("core/model/run.h", "#include <cuda_runtime.h>", False),
            ("core/model/run.h", "#include <gpubench/state.h>", False),
            ("core/model/run.h", "#include <gpubench/work.h>", True),
            ("compare/history/gate.cpp", '#include "reports/reports.h"', False),
            ("reports/write.cpp", '#include "compare/history/gate.h"', True),
            ("doctor/judge.cpp", '#include "reports/reports.h"', False),
            ("kernels/probes/cuda/latency.cu", '#include "gpu/devices.h"', False),
            ("kernels/operations/gemm.cu", '#include "gpu/devices.h"', True),
            ("calibrate/cuda/calibration_context.cpp", '#include "kernels/operations/operations.h"', False),
            ("main/main.cpp", '#include "kernels/probes/host/kernels.h"', False),
        ]
        for name, text, allowed in cases:
            with self.subTest(name=name, text=text), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / name
                file.parent.mkdir(parents=True)
                file.write_text(text + "\n", encoding="utf-8")
                wrong, seen = violations(pathlib.Path(folder), [name])
                self.assertEqual((len(wrong), seen), (0 if allowed else 1, 1))

    def test_what_a_folder_of_cuda_defines_of_its_room_has_a_body_without_cuda(self):
        """Else a build for the CPU alone does not link, which a build with CUDA does not show."""
        seen = 0
        for folder in ("calibrate", "bench", "doctor", "fleet", "profile"):
            files = [file for file in (ROOT / folder).rglob("*") if file.suffix in SOURCES]
            with_cuda = [file for file in files if "cuda" in file.relative_to(ROOT).parts]
            rest = {file: file.read_text(encoding="utf-8") for file in files if file not in with_cuda}
            classes = {name for text in rest.values() for name in re.findall(r"^(?:class|struct) (\w+)[^;{]*\{", text, re.MULTILINE)}
            bodies = "\n".join(text for file, text in rest.items() if file.suffix == ".cpp")
            for file in with_cuda:
                for name, member in re.findall(r"^[\w:<>,&* ]*?\b(\w+)::(~?\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE):
                    if name in classes:
                        seen += 1
                        self.assertIn(f"{name}::{member}(", bodies, f"{file.relative_to(ROOT)} has it alone")
        self.assertGreater(seen, 0)


if __name__ == "__main__":
    if "--write" in sys.argv:
        text = CONTRIBUTING.read_text(encoding="utf-8")
        CONTRIBUTING.write_text(TABLE.sub(lambda _: table_of_rooms(), text), encoding="utf-8")
    else:
        unittest.main()
