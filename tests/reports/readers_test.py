# SPDX-License-Identifier: Apache-2.0
"""The tools themselves read what is written for them. Usage: readers_test.py WRITER compare_py|nvbench|open_metrics|junit

Exit code 77: skipped, because the reader is not installed. GPUBENCH_READERS_PYTHON names a Python that has cuda-bench
(with its extra "compare") and prometheus_client; without it that of build/readers, where scripts/setup.sh --tests puts
them, or else this Python is asked."""
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

OWN_PYTHON = pathlib.Path(__file__).resolve().parents[2] / "build" / "readers" / "bin" / "python"
PYTHON = os.environ.get("GPUBENCH_READERS_PYTHON", str(OWN_PYTHON) if OWN_PYTHON.exists() else sys.executable)
POINTS, TIMED, FAILED, SKIPPED = 10, 8, 1, 1  # of the sample


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def run(*command, code=0):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    expect(result.returncode == code, f"{command} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}")
    return result.stdout


def needs(module, package):
    if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
        skip(f"{PYTHON} has no {package}; scripts/setup.sh --tests installs it, and GPUBENCH_READERS_PYTHON may name another Python")


def compare_py(folder):
    """Google Benchmark's compare.py."""
    tool = next((path for path in ("/usr/bin/google-benchmark-compare", "/usr/share/benchmark/compare.py") if os.path.exists(path)), None)
    if tool is None:
        skip("Google Benchmark's compare.py is not installed (Debian package libbenchmark-tools)")

    def compare(base, new):
        return run("/usr/bin/python3", tool, "--no-color", "benchmarks", folder / f"{base}.gbench.json", folder / f"{new}.gbench.json")

    rows = [line for line in compare("sample", "slower").splitlines() if "/manual_time" in line]
    expect(len(rows) == TIMED, f"{len(rows)} of {TIMED} timed points are compared")
    for row in rows:
        expect("+0.2000" in row, f"a fifth slower is not seen in: {row}")
    expect(any("OVERALL_GEOMEAN" in line and "+0.2000" in line for line in compare("sample", "slower").splitlines()), "no mean of all")
    rows = [line for line in compare("repeated", "repeated").splitlines() if "/manual_time" in line and "pvalue" not in line]
    expect(len(rows) == 2, f"of three repetitions of which one failed {len(rows)} are compared")
    expect("<script>" in compare("hostile", "hostile"), "hostile names are not compared")


def nvbench(folder):
    """Both nvbench-compare of cuda-bench."""
    needs("cuda.bench.scripts.nvbench_compare_robust, tabulate, jsondiff, colorama, numpy", "cuda-bench[compare]")

    def compare(tool, base, new, code=0):
        module = f"cuda.bench.scripts.{tool}"
        return run(PYTHON, "-m", module, "--no-color", folder / f"{base}.nvbench.json", folder / f"{new}.nvbench.json", code=code)

    slower = compare("nvbench_compare_robust", "sample", "slower")
    expect(f"Regression  (clear timing gap, %Diff > 0): {TIMED}" in slower, slower)
    expect("missing_clock_rate" not in slower, slower)
    expect(f"Improvement (clear timing gap, %Diff < 0): {TIMED}" in compare("nvbench_compare_robust", "slower", "sample"), "faster")
    same = compare("nvbench_compare_robust", "sample", "sample")
    expect(f"Unchanged   (classified as SAME): {TIMED}" in same, same)
    compare("nvbench_compare_robust", "hostile", "hostile")
    compare("nvbench_compare_robust", "empty", "empty")
    table = run(PYTHON, "-m", "cuda.bench.scripts.nvbench_json_summary", folder / "sample.nvbench.json")
    expect("gemm<bf16>/n:4096" in table and "tensor-bf16" in table, table)
    # The older tool ends with the number of points that differ.
    older = compare("nvbench_compare", "sample", "slower", code=TIMED)
    expect("SLOW" in older, older)


OPEN_METRICS = """
import math, pathlib, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus_text
for path in map(pathlib.Path, sys.argv[1:]):
    text = path.read_text()
    counts = {}
    for family in open_metrics(text):
        assert family.type == "gauge", family
        assert family.documentation, family
        for sample in family.samples:
            assert math.isfinite(sample.value), sample
            counts[sample.name] = counts.get(sample.name, 0) + 1
    assert sum(counts.values()) == sum(len(family.samples) for family in prometheus_text(text))
    print(path.name, counts.get("gpubench_point_status", 0), counts.get("gpubench_point_time_seconds", 0), counts.get("gpubench_ceiling_bytes_per_second", 0))
"""


def open_metrics(folder):
    """prometheus_client's parsers of OpenMetrics and of Prometheus' own text."""
    needs("prometheus_client", "prometheus_client")
    names = ("sample", "repeated", "hostile", "empty")
    lines = run(PYTHON, "-c", OPEN_METRICS, *(folder / f"{name}.prom" for name in names)).splitlines()
    expect(lines[0] == f"sample.prom {POINTS} {TIMED} 5", lines[0])
    expect(lines[1] == "repeated.prom 3 2 5", lines[1])
    expect(lines[2] == f"hostile.prom {POINTS} {TIMED} 5", lines[2])
    expect(lines[3] == "empty.prom 0 0 0", lines[3])


def junit(folder):
    """Python's XML parser, and the counts that CI pages show."""
    for name in ("sample", "hostile"):
        root = xml.etree.ElementTree.parse(folder / f"{name}.junit.xml").getroot()
        cases = root.findall("./testsuite/testcase")
        expect(len(cases) == POINTS == int(root.get("tests")), f"{name}: {len(cases)} cases")
        expect(len(root.findall(".//failure")) == FAILED == int(root.get("failures")), f"{name}: failures")
        expect(len(root.findall(".//skipped")) == SKIPPED == int(root.get("skipped")), f"{name}: skipped")
        times = [float(case.get("time")) for case in cases if case.get("time") is not None]
        expect(len(times) == TIMED and all(0.0 < time < 1.0 for time in times), f"{name}: times {times}")
        for suite in root.findall("./testsuite"):
            expect(int(suite.get("tests")) == len(suite.findall("testcase")), f"{name}: {suite.get('name')}")
    hostile = root.find("./testsuite/testcase").get("name")
    expect("<script>alert(1)</script>" in hostile and "\\x1b[31m" in hostile, f"hostile name: {hostile}")
    xml.etree.ElementTree.parse(folder / "empty.junit.xml")
    xml.etree.ElementTree.parse(folder / "repeated.junit.xml")


def main():
    writer, reader = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="gpubench-readers-") as name:
        run(writer, name)
        {"compare_py": compare_py, "nvbench": nvbench, "open_metrics": open_metrics, "junit": junit}[reader](pathlib.Path(name))


main()
