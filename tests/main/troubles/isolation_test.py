# SPDX-License-Identifier: Apache-2.0
"""--isolate, --resume, and what is left of a run that was ended. Arguments: gpubench, the crashing and the slow program."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import GPUBENCH, FolderTest, children_of, wait_until_gone, warnings_of  # noqa: E402

CRASHING, SLOW = (pathlib.Path(argument) for argument in sys.argv[2:4])


class Isolation(FolderTest):
    columns = 100

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["GPUBENCH_TEST_HOLD"] = str(cls.folder / "hold")
        cls.calibrated = cls.run_program(CRASHING, "--isolate", "--filter=^works/1024")
        cls.crashed = cls.run_program(CRASHING, "--isolate", "--isolate-timeout=5", "--time-budget=0.02", f"--out={cls.folder}/crashed.json")

    @classmethod
    def start(cls, program, *arguments):
        return subprocess.Popen([str(program), "--device=cpu", "--accept-load", *([] if any(a.startswith("--drift-check") for a in arguments) else ["--drift-check=off"]), *arguments], env=cls.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @classmethod
    def run_program(cls, program, *arguments):
        process = cls.start(program, *arguments)
        process.stdout, process.stderr, code = *process.communicate(timeout=300), process.returncode
        return process

    def stored(self, name):
        return json.loads((self.folder / name).read_text())

    @staticmethod
    def identity(point):
        measurement = point["measurement"]
        arguments = [(a.get("name", ""), a["value"]) for a in measurement["arguments"]]
        return measurement["name"], measurement["operation"], arguments, measurement["device"], measurement["repetition"]

    # Isolation.

    def test_the_calibration_is_measured_in_a_process_of_its_own_and_kept(self):
        self.assertEqual(self.calibrated.returncode, 0, self.calibrated.stderr)
        self.assertIn("measuring a quick one", self.calibrated.stderr)
        self.assertEqual(self.calibrated.stderr.count("device cpu"), 1, self.calibrated.stderr)
        self.assertNotIn("measuring a quick one", self.crashed.stderr)

    def test_the_drift_check_works_in_a_process_of_its_own(self):
        result = self.run_program(CRASHING, "--isolate", "--drift-check=on", "--filter=^works/1024", f"--out={self.folder}/checked.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        drift = self.stored("checked.json")["calibrations"][0]["drift"]
        told = [reading["resource"] for reading in drift["readings"]] + [text.split(":")[0] for text in drift.get("not_checked", [])]
        self.assertEqual(sorted(told), ["dram-copy", "fp32", "launch"])

    def test_a_crash_costs_one_point(self):
        self.assertEqual(self.crashed.returncode, 2, self.crashed.stderr)
        points = [point["measurement"] for point in self.stored("crashed.json")["points"]]
        failed = {p["operation"]: p["failure"]["message"] for p in points if "failure" in p}
        # A sanitizer catches signals and ends the process itself.
        self.assertRegex(failed["segfaults"], "SIGSEGV|exit code")
        self.assertRegex(failed["aborts"], "SIGABRT|exit code")
        self.assertEqual(failed["hangs"], "took longer than 5 s and was stopped")
        self.assertEqual(failed["exits"], "the process ended with exit code 3")
        self.assertEqual(failed["throws"], "no coffee left")
        self.assertEqual(len(failed), 5)
        for p in points:
            self.assertEqual(["seconds" in timing for timing in p["timings"]], [] if "failure" in p else [True])
            if "failure" in p:
                self.assertEqual([a["value"] for a in p["arguments"]], [2])
        self.assertEqual(len(points), 26)
        self.assertEqual(points[-1]["operation"], "works_after_all")
        self.assertEqual([p["name"] for p in points if p["operation"] == "named"], ["other/64", "64", *(f"not UTF-8: \ufffd\ufffd/{n}" for n in (64, 128))])

    def test_each_is_told_once(self):
        for words in ("a last word before the end", "no coffee left", "5 of 26 points failed", "device cpu", "after its last point"):
            self.assertEqual(self.crashed.stderr.count(words), 1, f"{words}: {self.crashed.stderr}")

    def test_nothing_is_left_in_the_temporary_folder(self):
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_the_merged_run_is_that_of_a_plain_one(self):
        arguments = ["--filter=^(copy|saxpy)/n:(1024|4096)/", "--benchmark_repetitions=2", "--time-budget=0.02", "--kernels"]
        outs = [self.folder / "plain.json", self.folder / "isolated.json"]
        googles = []
        for out, flags in zip(outs, ([], ["--isolate"])):
            result = self.run_program(GPUBENCH, *arguments, *flags, f"--out={out}", "--benchmark_format=json")
            self.assertEqual(result.returncode, 0, result.stderr)
            # Google Benchmark gives aggregates a label only when all repetitions have the same, here the regime.
            googles.append([(entry["name"], entry["run_type"], sorted(set(entry) - {"label"})) for entry in json.loads(result.stdout)["benchmarks"]])
        plain, isolated = (json.loads(out.read_text()) for out in outs)
        self.assertEqual(list(map(self.identity, plain["points"])), list(map(self.identity, isolated["points"])))
        self.assertEqual(len(plain["points"]), 8)
        for one, other in zip(plain["points"], isolated["points"]):
            self.assertEqual(sorted(one), sorted(other))
            for measurement in (one["measurement"], other["measurement"]):
                self.assertEqual(len(measurement["timings"]), 1)
                measurement["timings"][0].pop("dropped_samples", None)  # there only when a clock was slow
                measurement.pop("conditions", None)  # there when the system told how long threads waited
            self.assertEqual(sorted(one["measurement"]), sorted(other["measurement"]))
            for key in ("work", "cache_state", "verified"):
                self.assertEqual(one["measurement"][key], other["measurement"][key])
            timings = [measurement["timings"][0] for measurement in (one["measurement"], other["measurement"])]
            self.assertEqual(*map(sorted, timings))
            self.assertEqual(*(timing["clock"] for timing in timings))
        for key in ("devices", "calibrations"):
            self.assertEqual(plain[key], isolated[key])
        self.assertEqual(warnings_of(plain), warnings_of(isolated))
        # What is found hangs on the times of either run.
        self.assertEqual(sorted(set(plain) - {"findings"}), sorted(set(isolated) - {"findings"}))
        self.assertEqual(googles[0], googles[1])

    def test_why_counters_are_missing_is_said_once_isolated_or_not(self):
        runs = []
        for name, flags in (("counted-plain", []), ("counted-isolated", ["--isolate"])):
            out = self.folder / f"{name}.json"
            arguments = ["--metrics=core", "--filter=^(copy|saxpy)/n:(1024|4096)/", "--time-budget=0.02", f"--out={out}"]
            result = self.run_program(GPUBENCH, *arguments, *flags)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count("counters of the CPU are not supported"), 1, result.stderr)
            runs.append(json.loads(out.read_text()))
        plain, isolated = runs
        self.assertEqual(len(warnings_of(plain)), 1)
        self.assertEqual(warnings_of(plain), warnings_of(isolated))
        for one, other in zip(plain["points"], isolated["points"]):
            self.assertTrue(one["measurement"]["absent_counters"])
            self.assertEqual(one["measurement"]["absent_counters"], other["measurement"]["absent_counters"])

    def test_points_whose_process_ended_before_it_counted_say_so(self):
        out = self.folder / "uncounted.json"
        result = self.run_program(CRASHING, "--isolate", "--metrics=l2_bytes", "--filter=^(segfaults|works)/", "--time-budget=0.02", f"--out={out}")
        self.assertEqual(result.returncode, 2, result.stderr)
        run = json.loads(out.read_text())
        reasons = {p["measurement"]["name"]: [c["reason"] for c in p["measurement"].get("absent_counters", [])] for p in run["points"]}
        self.assertEqual(reasons["segfaults/1"], ["its process ended before it counted"])
        self.assertEqual(reasons["segfaults/2"], [])
        self.assertIn("counters of the CPU are not supported", reasons["segfaults/3"][0])
        self.assertEqual(sum("1 of 6 points have no counters" in warning for warning in run["warnings"]), 1, run["warnings"])

    def test_what_later_phases_add_reaches_points_that_were_kept_before(self):
        out = self.folder / "phases.json"  # written while the run goes on, so points are taken over as they are timed
        result = self.run_program(SLOW, "--isolate", "--kernels", "--metrics=l2_bytes", "--filter=^sleeps/", "--time-budget=0.3", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        points = [point["measurement"] for point in json.loads(out.read_text())["points"]]
        self.assertEqual(len(points), 12)
        for point in points:
            self.assertIn("a CPU has no activity records", point["activity"]["reason"])
            self.assertIn("l2_bytes", [counter["name"] for counter in point["absent_counters"]])
        self.assertEqual(result.stderr.count("The kernels of 12 points on cpu were not recorded"), 1, result.stderr)

    def test_points_of_one_name_stay_apart(self):
        out = self.folder / "twice.json"
        result = self.run_program(CRASHING, "--isolate", "--filter=^twice", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = [point["measurement"]["timings"][0]["samples_seconds"] for point in json.loads(out.read_text())["points"]]
        self.assertEqual(len(samples), 2)
        self.assertNotEqual(*samples)

    def test_wrong_usage(self):
        for flags, word in (
            (["--isolate-timeout=5"], "--isolate"),
            (["--isolate", "--isolate-timeout=0"], "0.1"),
            (["--isolate", "--calibrate"], "--calibrate"),
            (["--isolate", "--benchmark_enable_random_interleaving"], "interleaving"),
            (["--adaptive", "--calibrate"], "--calibrate"),
            (["--adaptive=0"], "from 1 to 1000"),
            (["--adaptive=2.5"], "whole number"),
            (["--adaptive", "--benchmark_enable_random_interleaving"], "interleaving"),
            (["--resume=/nowhere/run.json"], "/nowhere/run.json"),
            (["--resume=" + str(GPUBENCH)], "gpubench"),
        ):
            result = self.run_program(GPUBENCH, *flags, "--filter=^copy/n:1024/")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn(word, result.stderr.splitlines()[-1])

    # Sizes that are added to the registered ones.

    def made_up(self, name, filter_flag):
        """Words of a command, and a run of the copy by it whose times are made up: a launch of 100 us and its bytes at the ceiling of DRAM.
        They vary by a tenth, so where the limit changes is not known well. That it changes hangs on no other work of the machine."""
        stored = json.loads(next((self.folder / "cache" / "gpubench").glob("*.json")).read_text())
        stored.pop("core_share", None)
        dram = 5e10
        values = {"launch": 1e-4, "l1": 1e12, "l2": 5e11, "l3": 2e11, **dict.fromkeys(("dram-read", "dram-write", "dram-copy", "dram-triad"), dram)}
        for ceiling in stored["ceilings"]:
            if value := values.get(ceiling["resource"]):
                error = 0.3 if ceiling["resource"] == "launch" else 0.02
                ceiling.update(value=value, ci95=[(1 - error) * value, (1 + error) * value])
                for key in ("theoretical_limit", "rate_per_clock"):
                    ceiling.pop(key, None)
        calibration, out = self.folder / f"{name}-launch.json", self.folder / f"{name}-made-up.json"
        calibration.write_text(json.dumps(stored))
        words = [filter_flag, "--time-budget=0.01", f"--calibration={calibration}"]
        result = self.run_program(GPUBENCH, *words, "--quiet", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        run = json.loads(out.read_text())
        for i, point in enumerate(run["points"]):
            measurement = point["measurement"]
            measurement.pop("conditions", None)
            work = measurement["work"]
            middle = (1e-4 + (work["bytes_read"] + work["bytes_written"]) / dram) * (1.1 if i % 2 else 0.9)
            (timing,) = measurement["timings"]
            for key in ("samples_seconds", "block_sizes", "samples_clock_hz", "dropped_samples"):
                timing.pop(key, None)
            timing["seconds"] = dict.fromkeys(("lower_quartile", "median", "upper_quartile", "mean"), middle)
            timing["seconds"].update(count=40, minimum=0.98 * middle, maximum=1.02 * middle, mad=0.01 * middle, median_ci95=[0.99 * middle, 1.01 * middle])
        out.write_text(json.dumps(run))
        return words, out

    def test_adaptive_adds_sizes_isolated_resumed_and_for_google_benchmark_alike(self):
        """There is a change to look into; where, nobody asserts."""
        flags, made_up = self.made_up("adaptive", "--filter=^copy/")
        registered = self.run_program(GPUBENCH, "--filter=^copy/", "--list").stdout.split()
        for name, more, known in (("plain", [], made_up), ("isolated", ["--isolate"], made_up), ("resumed", [], self.folder / "adaptive-plain.json")):
            out, google = self.folder / f"adaptive-{name}.json", self.folder / f"google-{name}.json"
            result = self.run_program(GPUBENCH, *flags, *more, "--adaptive=2", "--quiet", f"--resume={known}", f"--out={out}", f"--benchmark_out={google}")
            self.assertEqual(result.returncode, 0, result.stderr)
            run = json.loads(out.read_text())
            names = [point["measurement"]["name"] for point in run["points"]]
            self.assertEqual(len(names), len(set(names)))
            self.assertLessEqual(set(registered), set(names))
            self.assertIn(len(names) - len(registered), (1, 2))
            sizes = [point["measurement"]["arguments"][0]["value"] for point in run["points"]]
            self.assertEqual(sizes, sorted(sizes))
            self.assertTrue(all("seconds" in point["measurement"]["timings"][0] and "verdict" in point for point in run["points"]))
            self.assertRegex(run["context"]["environment"]["adaptive"], "^[12] sizes added; .* boundaries are within 5 %")
            self.assertEqual({f"{each}/manual_time" for each in names}, {each["name"] for each in json.loads(google.read_text())["benchmarks"]})
            if name == "resumed":
                self.assertEqual(names, [point["measurement"]["name"] for point in self.stored("adaptive-plain.json")["points"]])

    def test_adaptive_leaves_out_what_the_filter_does_not_choose(self):
        flags, made_up = self.made_up("filtered", "--filter=^copy/n:(1024|67108864)/")
        result = self.run_program(GPUBENCH, *flags, "--adaptive", f"--resume={made_up}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, "0 sizes added; .*1 more sizes are left out by the filter")

    # Runs that are ended, and gone on with.

    def wait_for_points(self, process, out):
        """Until a file with points is there; it is whole at any moment."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "it ended too soon")
            if out.exists():
                self.assertTrue(json.loads(out.read_text())["points"])
                return
            time.sleep(0.02)
        self.fail("no points were written")

    def end_and_resume(self, name, number, *flags):
        out = self.folder / f"{name}.json"
        arguments = [*flags, "--time-budget=0.15", f"--out={out}"]
        hold = pathlib.Path(self.environment["GPUBENCH_TEST_HOLD"])
        hold.touch()
        process = self.start(SLOW, *arguments)
        self.wait_for_points(process, out)
        workers = children_of(process.pid)
        process.send_signal(number)
        hold.unlink()
        _, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, -number, errors)
        self.assertEqual(wait_until_gone(workers), [], "isolated processes end with the one that started them")
        partial = json.loads(out.read_text())
        self.assertLess(len(partial["points"]), 20)
        self.assertIn("This run is unfinished", partial["warnings"][-1])
        self.assertEqual(partial["unfinished"], {"finished": len(partial["points"]), "planned": 20})

        result = self.run_program(SLOW, *arguments, f"--resume={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{len(partial['points'])} of 20 points are in", result.stderr)
        whole = json.loads(out.read_text())
        self.assertEqual(len(whole["points"]), 20)
        self.assertEqual(len({str(self.identity(point)) for point in whole["points"]}), 20)
        known = {str(self.identity(point)): point["measurement"] for point in partial["points"]}
        for point in whole["points"]:
            if measurement := known.pop(str(self.identity(point)), None):
                self.assertEqual(point["measurement"], measurement)
        self.assertEqual(known, {})
        self.assertEqual(warnings_of(whole), [])
        self.assertNotIn("unfinished", whole)
        return errors, len(partial["points"])

    def test_resume_after_kill(self):
        self.end_and_resume("killed", signal.SIGKILL)

    def test_resume_after_kill_of_an_isolated_run(self):
        self.end_and_resume("killed-isolated", signal.SIGKILL, "--isolate")
        for left in (self.folder / "tmp").iterdir():  # nobody was there to clean up
            shutil.rmtree(left)

    def test_an_interrupted_run_says_how_to_go_on(self):
        for name, flags in (("interrupted", []), ("interrupted-isolated", ["--isolate"])):
            with self.subTest(name):
                errors, count = self.end_and_resume(name, signal.SIGINT, *flags)
                self.assertIn(f"stopped after {count} of 20 points; to continue: --resume={self.folder}/{name}.json", errors)
                self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_without_a_point_there_is_nothing_to_go_on_from(self):
        hold = pathlib.Path(self.environment["GPUBENCH_TEST_HOLD"])
        hold.touch()
        out = self.folder / "nothing.json"
        process = self.start(SLOW, "--isolate", "--filter=^sleeps/6$", f"--out={out}")
        self.assertIn("device cpu", process.stderr.readline())
        while not children_of(process.pid):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        hold.unlink()
        self.assertIn("stopped after 0 of 1 points\n", errors)
        self.assertFalse(out.exists())

    def test_resume_measures_nothing_when_all_is_there(self):
        before = self.stored("crashed.json")
        for flags in ([], ["--isolate"]):
            result = self.run_program(CRASHING, f"--resume={self.folder}/crashed.json", f"--out={self.folder}/again.json", *flags)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertNotIn("a last word", result.stderr)
            self.assertEqual([p["measurement"] for p in self.stored("again.json")["points"]], [p["measurement"] for p in before["points"]])

    def test_resume_of_fewer_points_says_what_it_leaves_out(self):
        result = self.run_program(CRASHING, f"--resume={self.folder}/crashed.json", "--filter=^works/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("24 points of", result.stderr)

    def test_another_run_is_not_resumed(self):
        run = self.stored("crashed.json")
        for name, change, words in (
            ("version", lambda r: r["context"].update(gpubench_version="0.0.1"), "gpubench was 0.0.1"),
            ("program", lambda r: r["context"].update(program="other"), "a run of other"),
            ("device", lambda r: r["devices"][0].update(units=4096), "the number of threads was 4096"),
        ):
            changed = json.loads(json.dumps(run))
            change(changed)
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps(changed))
            result = self.run_program(CRASHING, f"--resume={path}")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn(words, result.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
