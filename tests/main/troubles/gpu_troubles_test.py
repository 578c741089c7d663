# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on a GPU costs the points it goes wrong at, and no others. Arguments: the troubled and the hanging
program, gpubench, and the unruly program.

Exit code 77: skipped, because there is no CUDA device."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, HANGING, GPUBENCH, UNRULY = sys.argv[1:5]


def run(*arguments, cache, program=PROGRAM):
    environment = dict(os.environ, XDG_CACHE_HOME=str(cache))
    return subprocess.run([program, "--device=cuda:0", *arguments], env=environment, capture_output=True, text=True, timeout=300)


def measured(out):
    """The measurements of a run by operation and arguments."""
    points = {}
    for point in json.loads(out.read_text())["points"]:
        measurement = point["measurement"]
        points[measurement["operation"] + "".join(f"/{argument['value']}" for argument in measurement["arguments"])] = measurement
    return points


def primary(measurement):
    """The time of a measurement that comes first; empty for one that failed."""
    return next(iter(measurement["timings"]), {})


class GpuTroubles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gpubench-test-")
        out = pathlib.Path(cls.folder.name) / "run.json"
        cls.result = run(f"--out={out}", cache=cls.folder.name)
        cls.points = measured(out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def failure(self, name):
        return self.points[name]["failure"]["message"]

    def test_good_points_are_kept(self):
        for name in ("works/1024", "works/4096", "too_large/1024", "too_large/2048", "fails_when_counted", "works_as_well/1024"):
            self.assertIn("seconds", primary(self.points[name]), name)

    def test_failures_say_why(self):
        self.assertIn("cudaErrorInvalid", self.failure("too_many_threads"))
        self.assertIn(" free, and ", self.failure(f"too_large/{1 << 46}"))
        self.assertIn("cudaErrorIllegalAddress", self.failure("illegal_address"))
        self.assertIn("earlier error", self.failure("comes_after/1024"))

    def test_exit_code_and_one_sentence_each(self):
        self.assertEqual(self.result.returncode, 2, self.result.stderr)
        self.assertIn("4 of 10 points failed", self.result.stderr)

    def test_isolated_a_lost_gpu_costs_one_point(self):
        out = pathlib.Path(self.folder.name) / "isolated.json"
        result = run("--isolate", f"--out={out}", cache=self.folder.name)
        self.assertEqual(result.returncode, 2, result.stderr)
        points = measured(out)
        self.assertEqual(list(points), list(self.points))
        self.assertIn("cudaErrorIllegalAddress", points["illegal_address"]["failure"]["message"])
        self.assertIn("seconds", primary(points["comes_after/1024"]))
        self.assertIn("3 of 10 points failed", result.stderr)

    def counted(self, *flags):
        out = pathlib.Path(self.folder.name) / "counted.json"
        result = run("--metrics=core", f"--out={out}", *flags, cache=self.folder.name)
        return result, measured(out), json.loads(out.read_text()).get("warnings", [])

    def test_a_kernel_that_fails_while_it_is_counted_costs_counters_alone(self):
        for flags in ([], ["--isolate"]):
            result, points, warnings = self.counted("--filter=^(works|fails_when_counted)", *flags)
            self.assertEqual(result.returncode, 0, result.stderr)
            for point in points.values():
                self.assertIn("seconds", primary(point))
            if "counters" not in points["works/1024"]:
                self.skipTest(points["works/1024"]["absent_counters"][0]["reason"])
            self.assertNotIn("counters", points["fails_when_counted"])
            self.assertIn("cudaErrorIllegalAddress", points["fails_when_counted"]["absent_counters"][0]["reason"])
            self.assertEqual(sum("cudaErrorIllegalAddress" in warning for warning in warnings), 1, warnings)
            if flags:
                self.assertIn("counters", points["works_as_well/1024"])
            else:
                self.assertIn("earlier error", points["works_as_well/1024"]["absent_counters"][0]["reason"])

    def test_a_gpu_lost_before_counting_costs_counters_alone(self):
        result, points, warnings = self.counted()
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("4 of 10 points failed", result.stderr)
        self.assertIn("seconds", primary(points["works/1024"]))
        self.assertTrue(points["works/1024"]["absent_counters"])
        self.assertEqual(sum("No counters on cuda:0" in warning for warning in warnings), 1, warnings)

    def test_isolated_a_kernel_that_never_ends_costs_one_point(self):
        out = pathlib.Path(self.folder.name) / "hanging.json"
        result = run("--isolate", "--isolate-timeout=15", f"--out={out}", cache=self.folder.name, program=HANGING)
        self.assertEqual(result.returncode, 2, result.stderr)
        points = measured(out)
        # Ended by the limit here, unless the harness notices it sooner.
        self.assertIn("failure", points["never_ends/2"])
        for name in ("never_ends/1", "never_ends/3", "comes_after"):
            self.assertIn("seconds", primary(points[name]), name)

    def test_whatever_an_operation_does_costs_one_point(self):
        nothing = "enqueued nothing on the stream that state.measure hands to it"
        expected = {"default_stream": nothing, "own_stream": nothing, "nowhere": nothing,
                    "blocking_copy": "on the stream that state.measure hands to it", "throws_inside": "it threw a value of type int",
                    "throws_later": "the pool is empty", "no_memory_in_verify": " free, and "}
        timed = {"first", "synchronises", "after_an_error", "no_memory_in_variant", "leaves_another_device",
                 "after_another_device", "works_on_another_device", "after_work_on_another_device", "last"}
        either = {"leaves_an_error", "takes_the_memory", "resets_the_device"}
        for flags in ([], ["--isolate"]):
            out = pathlib.Path(self.folder.name) / "unruly.json"
            result = run("--time-budget=0.02", f"--out={out}", *flags, cache=self.folder.name, program=UNRULY)
            self.assertEqual(result.returncode, 2, result.stderr)
            points = measured(out)
            self.assertEqual(set(points), set(expected) | timed | either)
            for name, measurement in points.items():
                failure = measurement.get("failure", {}).get("message", "")
                print(flags, name, failure or primary(measurement).get("seconds", {}).get("median"), flush=True)
                with self.subTest(name=name, flags=flags):
                    if name in expected:
                        self.assertIn(expected[name], failure)
                    elif name == "last" and not flags:
                        self.assertIn("earlier error", failure)  # the device was reset: only --isolate keeps that apart
                    elif name in timed:
                        self.assertIn("seconds", primary(measurement), failure)

    def test_an_operation_that_chooses_another_device_costs_itself_alone(self):
        listed = subprocess.run([UNRULY, "--device=cuda:1", "--list"], capture_output=True, text=True, timeout=60)
        if listed.returncode != 0:
            self.skipTest("there is one GPU alone")
        out = pathlib.Path(self.folder.name) / "another.json"
        run("--time-budget=0.02", "--filter=another_device|^first", f"--out={out}", cache=self.folder.name, program=UNRULY)
        points = measured(out)
        self.assertEqual(len(points), 5)
        for name, measurement in points.items():
            self.assertEqual(measurement["device"], "cuda:0")
            self.assertIn("seconds", primary(measurement), measurement.get("failure"))

    def test_doctor_measures_what_timing_costs(self):
        out = pathlib.Path(self.folder.name) / "doctor.json"
        result = subprocess.run([GPUBENCH, "doctor", f"--out={out}"], capture_output=True, text=True, timeout=120)
        checks = {check["check"]: check for check in json.loads(out.read_text())["checks"] if check["section"] == "cuda:0"}
        for name in ("globaltimer step", "event pair", "event quantum", "stream launch", "graph node", "launch + synchronise"):
            self.assertGreater(checks[name].get("seconds", 0), 0, result.stdout)
        self.assertLess(max(map(len, result.stdout.splitlines())), 101)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        probe = run("--list", cache=cache)
    if probe.returncode == 64 and "cuda:0" in probe.stderr:
        print("skipped: no CUDA device: " + probe.stderr.strip())
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
