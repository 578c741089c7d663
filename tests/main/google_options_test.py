# SPDX-License-Identifier: Apache-2.0
"""Every method of Google Benchmark's Benchmark does what docs/reference/google-benchmark.md says of it.

usage: google_options_test.py GOOGLE_OPTIONS SOURCE_DIR
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
HEADER = pathlib.Path("/usr/include/benchmark/benchmark.h")


def table():
    """{method: "works" or "refused"} as documented."""
    outcome = {}
    for line in (SOURCE / "docs/reference/google-benchmark.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[2] in ("works", "refused"):
            for method in re.findall(r"`(\w+)`", cells[1]):
                outcome[method] = cells[2]
    return outcome


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, "--device=cpu", "--accept-load", "--quiet", "--time-budget=0.01", *arguments], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **environment})


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.listed = run("--list").stdout.split("\n")[:-1]
        path = pathlib.Path(CACHE.name) / "run.json"
        cls.ran = run(f"--out={path}", "--benchmark_out=" + str(path) + ".google")
        cls.points = [point["measurement"] for point in json.loads(path.read_text())["points"]] if path.exists() else []
        google = pathlib.Path(str(path) + ".google")
        cls.google = json.loads(google.read_text())["benchmarks"] if google.exists() else []

    def of(self, operation):
        return [point for point in self.points if re.split("[/ ]", point["name"])[0] == operation]

    def test_every_method_of_the_header_is_documented(self):
        if not HEADER.exists():
            self.skipTest(f"no {HEADER}")
        text = HEADER.read_text()
        body = text[text.index("class BENCHMARK_EXPORT Benchmark {" if "BENCHMARK_EXPORT Benchmark {" in text else "class Benchmark {"):]
        methods = set(re.findall(r"^  Benchmark\* (\w+)\(", body[:body.index("protected:")], re.M))
        self.assertGreater(len(methods), 25)
        self.assertEqual(methods - set(table()), set())

    def test_each_method_does_what_the_table_says(self):
        for method, outcome in table().items():
            with self.subTest(method=method):
                if method == "UseRealTime":
                    continue
                points = self.of("Renamed" if method == "Name" else method)
                self.assertTrue(points)
                for point in points:
                    threads = re.search(r"/threads:(\d+)", point["name"])
                    refused = outcome == "refused" and threads is not None and threads[1] != "1"
                    self.assertEqual("failure" in point, refused, point)
                    if refused:
                        self.assertIn("an operation is timed alone", point["failure"]["message"])

    def test_every_listed_point_is_there(self):
        self.assertEqual(self.ran.returncode, 2, self.ran.stderr)
        names = list(dict.fromkeys(point["name"] for point in self.points))
        self.assertEqual(names, [name for name in self.listed if name != "plain"])

    def test_counts_and_least_times(self):
        (iterations,) = self.of("Iterations")
        timing = iterations["timings"][0]
        self.assertEqual(len(timing["samples_seconds"]) + timing.get("dropped_samples", 0), 30)
        (too_many,) = self.of("Samples")
        self.assertIn("->Iterations(1000001) cannot be had", too_many["failure"]["message"])
        self.assertEqual(len(self.of("Repetitions")), 3 + 2)
        self.assertEqual(len(self.of("ReportAggregatesOnly")), 3)
        self.assertEqual(len(self.of("ComputeStatistics")), 3)
        (long,) = self.of("MinTime")
        timing = long["timings"][0]
        sampled = sum(timing["samples_seconds"]) * timing["executions_per_sample"]
        self.assertGreater(sampled, 0.02)  # twice the time budget of all others

    def test_googles_format_keeps_fits_and_statistics(self):
        names = [benchmark["name"] for benchmark in self.google]
        for name in ("Complexity/manual_time_BigO", "Complexity/manual_time_RMS",
                     "ComputeStatistics/repeats:3/manual_time_longest", "ReportAggregatesOnly/repeats:3/manual_time_mean"):
            self.assertIn(name, names)
        self.assertFalse([b for b in self.google if "gpubench_point" in json.dumps(b)])

    def test_a_family_that_is_all_filtered_out_or_alone(self):
        for name in ("^Complexity/256$", "^Arg/", "^MinWarmUpTime"):
            self.assertEqual(run(f"--filter={name}").returncode, 0, name)

    def test_real_time_costs_its_point_alone(self):
        ended = run("--filter=^(UseRealTime|Arg/1024)", GPUBENCH_TEST_REAL_TIME="1")
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("->UseRealTime cannot be had", ended.stderr)
        self.assertIn("1 of 2 points failed", ended.stderr)

    def test_a_plain_benchmark_is_googles(self):
        self.assertIn("plain", self.listed)
        self.assertIn("1 BENCHMARK of Google Benchmark left out", self.ran.stderr)
        ended = subprocess.run([PROGRAM, "--device=cpu", "--accept-load", "--filter=^plain$", "--benchmark_min_time=0.001"], capture_output=True,
                               text=True, timeout=300, env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"plain +[0-9.]+ ns")

    def test_isolated_it_is_the_same(self):
        ended = run("--isolate", "--filter=^(Threads|Complexity|MinWarmUpTime|Repetitions)")
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertEqual(ended.stderr.count("an operation is timed alone"), 2, ended.stderr)
        self.assertIn("2 of 15 points failed", ended.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        CACHE = type("Cache", (), {"name": folder})
        unittest.main(argv=sys.argv[:1])
