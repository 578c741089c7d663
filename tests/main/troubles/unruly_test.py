# SPDX-License-Identifier: Apache-2.0
"""Whatever an operation does costs one point and no other, with and without --isolate.

usage: unruly_test.py UNRULY_OPERATIONS GPUBENCH
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, GPUBENCH = sys.argv[1:3]

# What stands in the message of each point that fails; all others are timed.
EXPECTED = {
    "throws_before": "it threw a value of type int",
    "throws_inside": "it threw a value of type int",
    "throws_after": "it threw a value of type int",
    "throws_text": "it threw the text 'out of coffee'",
    "throws_string": "it threw the text 'out of tea'",
    "throws_nothing_said": "it threw a std::runtime_error without a message",
    "throws_later": "the pool is empty",
    "throws_in_verify": "it threw a value of type int",
    "throws_in_reset": "it threw a value of type int",
    "measures_twice": "called state.measure twice",
    "swallows_the_second": "called state.measure twice",
    "verifies_too_late": "state.verify came after state.measure",
    "resets_too_late": "state.reset came after state.measure",
    "never_measures": "without calling state.measure",
    "skips_with_error": "the file is not there",
    "skips_with_error_after": "it came out wrong",
    "skips_with_error_before": "no licence",
    "negative_reads": "state.reads got -1; give a number from 0 on",
    "negative_vector": "a vector cannot have -1 elements",
    "wrapped_vector": "no memory holds 9223372036854775807 elements",
    "odd_counters": "nan",
    "unknown_argument": 'state.range("m")',
    "too_large": "8 PiB",
    "optimised_away": "faster than the machine can",
    "loops_itself": "loops over state.google()",
    "bad_set_up": "->Setup of 'bad_set_up' failed: no disk",
    "bad_tear_down": "->Teardown of 'bad_tear_down' failed: no disk",
}
MAY_BE_REFUSED = {"huge_work", "huge_grid", "odd_label"}
TIMED = {"first", "throws_in_variant", "does_nothing", "last"}


def run(folder, *arguments, **environment):
    return subprocess.run([PROGRAM, "--device=cpu", "--quiet", "--time-budget=0.01", "--color=never", *arguments],
                          capture_output=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": folder, **environment})


class Unruly(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.runs = {}
        for isolated in (False, True):
            path = pathlib.Path(cls.folder.name) / f"{isolated}.json"
            ended = run(cls.folder.name, f"--out={path}", *(["--isolate"] if isolated else []))
            points = json.loads(path.read_text())["points"] if path.exists() else []
            cls.runs[isolated] = (ended, {point["measurement"]["name"]: point["measurement"] for point in points}, path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_point_is_there_with_its_time_or_its_reason(self):
        for isolated, (ended, points, _) in self.runs.items():
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertEqual(set(points), set(EXPECTED) | MAY_BE_REFUSED | TIMED)
            for name, measurement in points.items():
                with self.subTest(isolated=isolated, name=name):
                    failure = measurement.get("failure", {}).get("message")
                    if name in EXPECTED:
                        self.assertIn(EXPECTED[name], failure or "it did not fail")
                        self.assertFalse([t for t in measurement.get("timings", []) if "seconds" in t])
                    elif name in TIMED:
                        self.assertIsNone(failure)
                        self.assertIn("seconds", measurement["timings"][0])

    def test_isolated_it_is_the_same(self):
        failures = [{name: point.get("failure") for name, point in self.runs[isolated][1].items() if name != "optimised_away"} for isolated in (False, True)]
        self.assertEqual(failures[0], failures[1])

    def test_what_is_written_can_be_read(self):
        for _, _, path in self.runs.values():
            ended = subprocess.run([GPUBENCH, "report", path], capture_output=True, timeout=300)
            self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_a_point_that_does_not_end_is_named(self):
        ended = run(self.folder.name, "--filter=^hangs", "--benchmark_min_time=1x", GPUBENCH_TEST_HANGS="3.6")
        self.assertIn(b"hangs", ended.stderr)
        self.assertIn(b"has run for 10 s; if it hangs, stop it and add --isolate", ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
