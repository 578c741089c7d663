# SPDX-License-Identifier: Apache-2.0
"""The command line as its user meets it: exit codes, messages, files. Arguments: the programs and the source folder."""

import csv
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

import command_line_page
from command_line import GPUBENCH, CommandLineTest, warnings_of

TROUBLED, SOURCE = (pathlib.Path(argument) for argument in sys.argv[2:4])


class CommandLine(CommandLineTest):
    # What works.

    def test_arguments_are_given_on_the_command_line(self):
        listed = self.gpubench("--list", "--filter=^copy", "--arg", "n=512,2^11..2^13:4")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual([name.split("/")[1] for name in listed.stdout.split()], ["n:512", "n:2048", "n:8192"])
        out = self.folder / "given.json"
        isolated = self.gpubench("--filter=^copy", "--arg=n=512", "--isolate", "--quiet", f"--out={out}", "--time-budget=0.01")
        self.assertEqual(isolated.returncode, 0, isolated.stderr)
        self.assertEqual([point["measurement"]["arguments"][0]["value"] for point in json.loads(out.read_text())["points"]], [512])
        self.assert_refused(self.gpubench("--list", "--arg", "size=3"), "no operation", "n")
        self.assert_refused(self.gpubench("--list", "--arg", "n=many"), "whole numbers")
        self.assert_refused(self.gpubench("--list", "--arg", "n"), "NAME=VALUES")
        self.assert_refused(self.gpubench("--list", "--arg=n=512", "--arg=n=1024"), "--arg n: it is given twice")

    def test_a_file_that_nothing_would_write_is_refused(self):
        for arguments in (["--list", "--out=never.json"], ["--list", "--benchmark_out=never.json"], ["--calibrate", "--benchmark_out=never.json"], ["--once", "--benchmark_out=never.json"]):
            self.assert_refused(self.gpubench(*arguments), "--list" if "--list" in arguments else "--benchmark_out")

    def test_once_runs_each_point_once(self):
        ran = self.gpubench("--once", "--filter=^copy/n:(1024|4096)/")
        self.assertEqual((ran.returncode, ran.stdout.split()), (0, ["copy/n:1024", "copy/n:4096"]), ran.stderr)
        self.assert_refused(self.gpubench("--once", "--out=x.json"), "--once", "--out")

    def test_former_words_of_the_command_line_still_work(self):
        def same_as(former, now):
            self.assertEqual((former.returncode, former.stdout, former.stderr), (now.returncode, now.stdout, now.stderr))

        run = str(self.folder / "none.json")
        for former, now in (("--least-effect=3", "--min-effect=3"), ("--least-effect=x", "--min-effect=x")):
            same_as(self.stored("compare", run, run, former), self.stored("compare", run, run, now))
        for former, now in (("--spools=nowhere", "--recording=nowhere"), ("--max-spool=x", "--max-recording=x")):
            same_as(self.stored("profile", former), self.stored("profile", now))
        text = command_line_page.page_of(GPUBENCH)
        self.assertIn("--recording", text)
        for former in ("--least-effect", "--max-spool", "--spools"):
            self.assertNotIn(former, text)

    def test_calibration_is_printed_and_kept(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        for resource in ("launch", "fp32", "fp64", "gemm-fp32", "gemm-fp64", "dram-read", "dram-write", "dram-copy", "dram-triad"):
            self.assertIn(resource, self.first.stdout)
        self.assertEqual(len(self.cached), 1)
        self.assertEqual(len(json.loads((self.folder / "calibration-run.json").read_text())["calibrations"]), 1)

    def test_the_kept_calibration_is_used_again(self):
        self.assertNotIn("measuring a quick one", self.measured.stderr)

    def with_changed_copy(self, factor, *arguments):
        """A run whose stored calibration claims `factor` times the memory and arithmetic; what it says, and the run."""
        text = self.cached[0].read_text()
        document = json.loads(text)
        for ceiling in document["ceilings"]:
            if ceiling["resource"] in ("dram-copy", "fp32"):
                ceiling["value"] *= factor
                ceiling["ci95"] = [end * factor for end in ceiling["ci95"]] if isinstance(ceiling["ci95"], list) else {key: end * factor for key, end in ceiling["ci95"].items()}
                for key in ("theoretical_limit", "rate_per_clock"):
                    ceiling.pop(key, None)
        changed = self.folder / "changed.json"
        changed.write_text(json.dumps(document))
        self.cached[0].write_text(changed.read_text())
        try:
            result = self.gpubench("--filter=^copy/n:1024/", "--time-budget=0.02", "--accept-load", f"--out={self.folder}/drift.json", *arguments)
            kept = json.loads(self.cached[0].read_text())["created_utc"] == document["created_utc"]
            run = json.loads((self.folder / "drift.json").read_text())
            drift = run["calibrations"][0].get("drift", {})
            disturbed = any(reading.get("disturbance") for reading in drift.get("readings", []))
            if drift.get("outcome") in ("unchecked", "unsteady", "disturbed") or (drift.get("outcome") == "agrees" and disturbed):
                self.skipTest(f"this machine is too busy to be checked: {drift}")
            return result, run, kept
        finally:
            self.cached[0].write_text(text)

    def test_a_calibration_that_has_drifted_is_measured_anew(self):
        result, run, kept = self.with_changed_copy(0.001, "--drift-check=on")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("has drifted; measuring a new one", result.stderr, run["calibrations"][0].get("drift"))
        self.assertFalse(kept)
        self.assertNotIn("drift", json.loads(self.cached[0].read_text()))
        drift = run["calibrations"][0]["drift"]
        self.assertEqual(drift["outcome"], "drifted")
        # Where memory is slow to be had, that is said in place of a reading.
        told = [reading["resource"] for reading in drift["readings"]] + [text.split(":")[0] for text in drift.get("not_checked", [])]
        self.assertEqual(sorted(told), ["dram-copy", "fp32", "launch"])
        self.assertGreater(drift["readings"][0]["beyond"], 0.02)
        self.assertTrue(drift["readings"][0]["method"])
        self.assertTrue(any("has drifted from its calibration" in warning for warning in run["warnings"]), run["warnings"])

    def test_the_drift_check_can_be_left_out(self):
        result, run, kept = self.with_changed_copy(0.001, "--drift-check=off")
        self.assertTrue(kept)
        self.assertNotIn("drift", run["calibrations"][0])
        self.assertNotIn("drifted", result.stderr)

    def test_a_given_calibration_is_checked_and_kept(self):
        result, run, kept = self.with_changed_copy(0.001, "--drift-check=on", f"--calibration={self.folder}/changed.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(kept)
        self.assertIn("It was used anyway.", result.stderr, run["calibrations"][0].get("drift"))
        self.assertEqual(run["calibrations"][0]["drift"]["outcome"], "drifted")

    def test_a_run_with_its_calibration_inside_is_a_calibration_too(self):
        out = self.folder / "by-run.json"
        result = self.gpubench(f"--calibration={self.folder}/calibration-run.json", "--filter=^copy/n:1024/", "--drift-check=off",
                               "--time-budget=0.01", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(out.read_text())["calibrations"][0]["created_utc"], json.loads(self.cached[0].read_text())["created_utc"])
        report = self.stored("report", str(out), f"--calibration={self.folder}/calibration-run.json")
        self.assertEqual(report.returncode, 0, report.stderr)
        document = json.loads(out.read_text())
        document["calibrations"] = []
        (self.folder / "without.json").write_text(json.dumps(document))
        self.assert_refused(self.gpubench(f"--calibration={self.folder}/without.json", "--filter=^copy/n:1024/"), "without a calibration")

    def calibration(self, *arguments):
        return self.stored("calibration", *map(str, arguments))

    def test_stored_calibrations_are_listed_and_shown(self):
        listed = self.calibration("list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        name = self.cached[0].stem
        self.assertIn(name, listed.stdout)
        self.assertIn(" cpu", listed.stdout)
        by_name, by_device, all_here = self.calibration("show", name), self.calibration("show", "cpu"), self.calibration("show")
        self.assertEqual(by_name.stdout, by_device.stdout)
        self.assertIn(by_device.stdout, all_here.stdout)
        self.assertIn("dram-read", by_name.stdout)
        for line in by_name.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        outputs = [self.folder / f"ceilings{extension}" for extension in (".json", ".csv", ".md", ".html")]
        self.assertEqual(self.calibration("show", name, *[f"--out={file}" for file in outputs]).returncode, 0)
        with open(outputs[1], newline="") as file:
            self.assertIn("dram-read", [row["resource"] for row in csv.DictReader(file)])
        self.assertIn("| dram-read |", outputs[2].read_text())

    def test_a_calibration_travels(self):
        text = self.cached[0].read_text()
        exported, run = self.folder / "exported.json", self.folder / "calibration-run.json"
        full = SOURCE / "docs" / "results" / "h200" / "calibration-full.json"
        self.assertEqual(self.calibration("export", "cpu", exported).returncode, 0)
        self.cached[0].unlink()
        try:
            self.assert_refused(self.calibration("show", "cpu"), "--calibrate")
            for file in (exported, run, f"{run}@cpu", exported):
                imported = self.calibration("import", file)
                self.assertEqual(imported.returncode, 0, imported.stderr)
                self.assertIn("it fits cpu", imported.stderr)
            self.assertEqual(json.loads(self.cached[0].read_text()), json.loads(text))
            same = self.calibration("diff", exported, "cpu")
            self.assertEqual(same.returncode, 0, same.stderr)
            self.assertIn("0 of ", same.stdout)
            document = json.loads(text)
            ceiling = next(one for one in document["ceilings"] if one["resource"] == "dram-read")
            for key in ("value", "ci95"):
                # Further away than the interval of a busy machine is wide.
                ceiling[key] = [each / 100 for each in ceiling[key]] if key == "ci95" else ceiling[key] / 100
            exported.write_text(json.dumps(document))
            lower = self.calibration("diff", exported, "cpu").stdout
            self.assertRegex(lower, r"resource .*\n *dram-read .* 100\.\d* +apart\n")
            self.assertIn("\n1 of ", lower)
            other = self.calibration("diff", full, "cpu").stdout
            self.assertIn("note: ", other)
            self.assertIn(" none ", other)
            self.assertIn("no run here will use it", self.calibration("import", full).stderr)
            for file in self.cached[0].parent.glob("*.json"):
                if file not in self.cached:
                    file.unlink()
        finally:
            self.cached[0].write_text(text)
        self.assert_refused(self.calibration("export", f"{run}@cuda:7", exported), "0 such calibrations")

    def test_hostile_calibrations_are_not_imported(self):
        text = self.cached[0].read_text()
        bad = self.folder / "bad.json"
        self.refuse_changed(bad, [lambda: self.calibration("import", bad)], lambda d: d["ceilings"][0].update(value=1e300), "interval")
        document = json.loads(text)
        document["device"]["name"] = "../../../tmp/evil"
        bad.write_text(json.dumps(document))
        self.assertEqual(self.calibration("import", bad).returncode, 0)
        added = [file for file in self.cached[0].parent.glob("*.json") if file not in self.cached]
        self.assertEqual(len(added), 1, "it must stay in its folder")
        added[0].unlink()
        self.assertEqual(self.cached[0].read_text(), text)

    def test_a_calibration_of_another_machine_is_listed_and_said_not_to_fit(self):
        copy = self.cached[0].parent / "of-another-machine.json"
        shutil.copy(SOURCE / "docs" / "results" / "h200" / "calibration-full.json", copy)
        try:
            self.assertIn("NVIDIA H200", self.calibration("list").stdout)
            shown = self.calibration("show", "of-another")
            self.assertIn("health: as expected of its kind, NVIDIA H200", shown.stdout)
        finally:
            copy.unlink()

    def refuse_changed(self, path, uses, change, *words):
        """Each use of the calibration, changed and written there, is refused; the first says the words."""
        document = json.loads(self.cached[0].read_text())
        change(document)
        path.write_text(json.dumps(document))
        for use in uses:
            self.assert_refused(use(), path.name, *words)
            words = ()

    def test_calibrations_that_cannot_be_are_not_used(self):
        text = self.cached[0].read_text()
        bad = self.folder / "bad-ceilings.json"
        refused = functools.partial(self.refuse_changed, bad, [
            lambda: self.gpubench(f"--calibration={bad}", "--filter=^copy/n:1024/"),
            lambda: self.stored("report", f"{self.folder}/run.json", f"--calibration={bad}")])

        refused(lambda d: d["device"].update(kind="cuda"), "the ceilings of a GPU", "cpu is a CPU")
        refused(lambda d: d["ceilings"].append(d["ceilings"][0]), "two ceilings")
        refused(lambda d: d["ceilings"][0].update(value=1e9 * d["ceilings"][0]["value"]), "interval")
        refused(lambda d: d["ceilings"][0].update(value=0), "zero")
        refused(lambda d: d["ceilings"][0].update(unit="parsecs"), "unknown unit")
        refused(lambda d: d["ceilings"].clear(), "no ceilings")
        refused(lambda d: d["ceilings"][0].update(resource="a\x1b[31mb"), "name")
        refused(lambda d: d["device"].update(name=""), "name")
        refused(lambda d: d.update(ceilings="many"), "ceilings")
        for content in ("", "{}", "[" * 100000, text[: len(text) // 2], '{"schema": {"name": 7}}'):
            bad.write_text(content)
            self.assert_refused(self.gpubench(f"--calibration={bad}", "--filter=^copy/n:1024/"), "bad-ceilings.json")
        try:
            document = json.loads(text)
            document["ceilings"][0]["unit"] = "parsecs"
            self.cached[0].write_text(json.dumps(document))
            measured = self.gpubench("--filter=^copy/n:1024/", "--time-budget=0.01")
            self.assertEqual(measured.returncode, 0, measured.stderr)
            self.assertIn("has an unknown unit; measuring a quick one", measured.stderr)
        finally:
            self.cached[0].write_text(text)

    def test_wrong_usage_of_calibration(self):
        self.assert_refused(self.calibration(), "list, show")
        self.assert_refused(self.calibration("show", "nothing-like-it"), "nothing-like-it")
        self.assert_refused(self.calibration("diff", "cpu"), "BASE NEW")
        self.assert_refused(self.calibration("list", "--out=x.json"), "--out")
        self.assert_refused(self.calibration("show", self.folder / "run.md"), "JSON")

    def test_an_interrupted_calibration_leaves_the_old_file_whole(self):
        text = self.cached[0].read_text()
        process = subprocess.Popen([str(GPUBENCH), "--device=cpu", "--calibrate"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stderr.readline()
        time.sleep(1.0)  # it has begun
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("gpubench: stopped. A calibration is stored when all of it is measured; of this one of cpu nothing is kept.\n", said)
        self.assertEqual(self.cached[0].read_text(), text)
        self.assertEqual(list(self.cached[0].parent.glob("*.json")), self.cached)

    def test_a_run_that_is_interrupted_while_it_calibrates_says_so(self):
        process = subprocess.Popen([str(GPUBENCH), "--device=cpu", "--filter=^copy/n:1024/"], env={**self.environment, "XDG_CACHE_HOME": str(self.folder / "new")},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "measuring a quick one" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(said, "\ngpubench: stopped; of a calibration half done nothing is kept\n")

    def test_a_calibration_of_another_state_is_measured_anew(self):
        text = self.cached[0].read_text()
        document = json.loads(text)
        document["device"]["units"] = 4096
        for ceiling in document["ceilings"]:
            ceiling.pop("rate_per_clock", None)
        self.cached[0].write_text(json.dumps(document))
        try:
            result = self.gpubench("--filter=^copy/n:1024/", "--quiet", "--accept-load")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("the number of threads was 4096", result.stderr)
            self.assertNotEqual(json.loads(self.cached[0].read_text())["device"]["units"], 4096)
        finally:
            self.cached[0].write_text(text)

    def test_a_run_writes_every_format(self):
        self.assertEqual(self.measured.returncode, 0, self.measured.stderr)
        run = json.loads((self.folder / "run.json").read_text())
        self.assertEqual([point["measurement"]["operation"] for point in run["points"]], ["copy", "copy"])
        with open(self.folder / "run.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(len(list(csv.reader(file))), 3)
        self.assertIn("copy", (self.folder / "run.md").read_text())
        self.assertIn("<!doctype html>", (self.folder / "run.html").read_text().lower())
        self.assertIn("copy/n:1024", self.measured.stdout)
        self.assertNotIn("\x1b", self.measured.stdout + self.measured.stderr)

    def test_lines_fit_eighty_columns(self):
        for line in self.measured.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_names_are_whole_in_a_pipe(self):
        run = json.loads((self.folder / "run.json").read_text())
        long = "transform/" + "/".join(f"a_long_argument_{i}:{i}" for i in range(8))
        run["points"][0]["measurement"]["name"] = long + "/manual_time"  # as gpubench 0.1 wrote it
        (self.folder / "long.json").write_text(json.dumps(run))
        self.assertIn(long + " ", self.stored("report", f"{self.folder}/long.json").stdout)
        compared = self.stored("compare", f"{self.folder}/long.json", f"{self.folder}/long.json").stdout
        self.assertIn(long + " ", compared)
        for extension in (".csv", ".md", ".json", ".junit.xml", ".prom", ".nvbench.json", ".html"):
            out = self.folder / f"long-report{extension}"
            self.stored("report", f"{self.folder}/long.json", f"--out={out}")
            self.assertNotIn("manual_time", out.read_text(), extension)
        self.assertNotIn("manual_time", self.gpubench("--list").stdout)

    def test_color_on_request(self):
        self.assertIn("\x1b[", self.stored("report", f"{self.folder}/run.json", "--color=always").stdout)

        def has_color(**variables):
            return "\x1b[" in self.stored("report", f"{self.folder}/run.json", **variables).stdout

        self.assertFalse(has_color())
        self.assertTrue(has_color(CLICOLOR_FORCE="1"))
        self.assertFalse(has_color(CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertFalse(has_color(CLICOLOR_FORCE="0"))

    def test_list_names_points(self):
        result = self.gpubench("--list", "--filter=^saxpy")
        self.assertEqual(result.returncode, 0)
        self.assertGreaterEqual(len(result.stdout.splitlines()), 12)
        self.assertEqual(self.gpubench("--benchmark_list_tests", "--benchmark_filter=^saxpy").stdout, result.stdout)

    def test_says_where_threads_take_turns(self):
        cores = len(os.sched_getaffinity(0))
        found = self.gpubench("--filter=^saxpy/n:262144$", "--time-budget=0.1", OMP_NUM_THREADS=str(4 * cores))
        self.assertEqual(found.returncode, 0, found.stderr)
        words = " ".join((found.stdout + found.stderr).split())
        self.assertIn(f"OpenMP starts {4 * cores}: they take turns on {cores} core", words)
        self.assertRegex(words, f"cpu: .*, {cores} thread")

    def test_help_and_version(self):
        commands = ([], ["compare"], ["ab"], ["gate"], ["gate", "check"], ["report"], ["doctor"], ["calibration"], ["calibration", "show"])
        for arguments in [[*command, "--help"] for command in commands] + [["help", *command] for command in commands] + [["--help=all"], ["--version"]]:
            result = self.stored(*arguments)
            self.assertEqual(result.returncode, 0, arguments)
            self.assertTrue(result.stdout.strip())
            for line in result.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertEqual(self.stored("help", "gate", "check").stdout, self.stored("gate", "check", "--help").stdout)
        self.assertEqual(self.stored("help", "all").stdout, self.stored("--help=all").stdout)

    def test_help_lists_what_a_command_takes(self):
        run, compare = self.stored("--help").stdout, self.stored("compare", "--help").stdout
        self.assertIn("--calibrate[=quick|full]", run)
        self.assertNotIn("--fail-on", run)
        self.assertNotIn("--drift-check", run)
        self.assertIn("--drift-check", self.stored("--help=all").stdout)
        self.assertIn("--fail-on", compare)
        self.assertNotIn("--calibrate", compare)
        self.assertIn("gpubench compare base.json new.json", compare)

    def test_the_page_of_the_command_line_is_generated(self):
        page = SOURCE / "docs" / "reference" / "command-line.md"
        self.assertEqual(command_line_page.page_of(GPUBENCH), page.read_text(encoding="utf-8"), "write it anew: " + command_line_page.__doc__)

    def test_a_value_may_be_a_word_of_its_own(self):
        joined, apart = self.gpubench("--filter=^copy/n:1024/", "--list"), self.gpubench("--filter", "^copy/n:1024/", "--list")
        self.assertEqual((joined.returncode, joined.stdout), (apart.returncode, apart.stdout))
        self.assert_refused(self.gpubench("--calibrate", "slow"), "quick, full", "'slow'")
        self.assert_refused(self.gpubench("--check", "nothing"), "'nothing'")
        self.assert_refused(self.gpubench("--adaptive", "many"), "'many'")
        self.assert_refused(self.gpubench("--since="), "last, off", "not ''")

    def test_what_was_meant(self):
        for arguments, words in (
            (["--colour=red"], ["Did you mean --color?"]),
            (["--timebudget", "3"], ["Did you mean --time-budget?"]),
            (["compre", "a", "b"], ["'compre'", "Did you mean compare?"]),
            (["calibrate"], ["Did you mean --calibrate?"]),
            (["gate", "chek"], ["Did you mean check?"]),
            (["gate"], ["update, import, check, history"]),
            (["help", "reprot"], ["Did you mean report?"]),
            (["run.json"], ["not a command", "gpubench report run.json"]),
            (["a.json", "b.json"], ["gpubench compare a.json b.json"]),
            (["--filter=copyy", "--list", "--device=cpu"], ["'copyy'", "Did you mean copy"]),
            (["--chart=roofine", "--out=x.vl.json"], ["Did you mean roofline"]),
            (["--filter"], ["--filter=REGEX"]),
            (["--list=yes"], ["takes no value"]),
            (["--help=foo"], ["--help takes all, not 'foo'"]),
            (["--filter=a", "--filter=b"], ["2 times"]),
            (["--fail-on=never"], ["compare", "not to a run"]),
            (["compare", "--list", "a", "b"], ["belongs to a run"]),
            (["ab", "x"], ["gpubench ab BASE_PROGRAM NEW_PROGRAM"]),
            (["doctor", "x"], ["takes no arguments", "'x'"]),
        ):
            with self.subTest(arguments):
                self.assert_refused(self.stored(*arguments), *words)

    def test_output_and_messages_do_not_mix(self):
        out = self.folder / "mixed.json"
        command = [str(GPUBENCH), "--device=cpu", "--drift-check=off", "--filter=^copy/n:1024/", "--time-budget=0.02", f"--out={out}"]
        mixed = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        for line in mixed.stdout.splitlines():
            if "gpubench: " in line:
                self.assertTrue(line.startswith("gpubench: "), line)
        self.assertTrue(mixed.stdout.endswith(f"gpubench: wrote {out}\n"), mixed.stdout)

    def test_a_run_says_what_changed_since_the_last(self):
        command = ["--filter=^copy/n:(1024|2048)/", "--time-budget=0.02"]
        kept = self.folder / "cache" / "gpubench" / "last"
        for file in kept.glob("*"):
            file.unlink()
        self.assertNotIn("since the last run", self.gpubench(*command, "--since=off").stdout)
        self.assertEqual(list(kept.glob("*")), [])
        self.assertNotIn("since the last run", self.gpubench(*command).stdout)
        self.assertEqual(len(list(kept.glob("*.json.gz"))), 1)
        again = self.gpubench(*command)
        self.assertRegex(again.stdout, r"since the last run: \d+ ")
        self.assertIn("since last", again.stdout)
        next(kept.glob("*.json.gz")).write_bytes(b"no run")
        self.assertEqual(self.gpubench(*command).returncode, 0)

    def test_stored_runs_are_filtered(self):
        out = self.folder / "filtered.json"
        self.assertEqual(self.gpubench("--filter=^copy/n:(1024|2048)/", "--time-budget=0.01", "--quiet", f"--out={out}").returncode, 0)
        shown = self.stored("report", str(out), "--filter=n:1024/").stdout
        self.assertIn("copy/n:1024", shown)
        self.assertNotIn("copy/n:2048", shown)
        compared = self.stored("compare", str(out), str(out), "--filter=-n:1024/").stdout
        self.assertNotIn("copy/n:1024", compared)
        self.assertIn("1 point compared", compared)
        self.assert_refused(self.stored("report", str(out), "--filter=nothing"), "No point", "nothing")
        self.assert_refused(self.stored("report", str(out), "--filter=("), "regular expression")

    def test_runs_are_compressed_by_name(self):
        out = self.folder / "run.json.gz"
        self.assertEqual(self.gpubench("--filter=^copy/n:1024/", "--time-budget=0.01", "--quiet", f"--out={out}").returncode, 0)
        self.assertEqual(out.read_bytes()[:2], b"\x1f\x8b")
        self.assertIn("copy/n:1024", self.stored("report", str(out)).stdout)
        self.assertEqual(self.stored("compare", str(out), str(out)).returncode, 0)

    def test_google_flags(self):
        out = self.folder / "google.json"
        result = self.gpubench("--benchmark_filter=^copy/n:1024/", "--benchmark_repetitions=3", "--benchmark_format=json", f"--benchmark_out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = [entry["name"] for entry in json.loads(result.stdout)["benchmarks"]]
        self.assertEqual(names[:3], ["copy/n:1024/manual_time"] * 3 if "repeats" not in names[0] else names[:1] * 3)
        self.assertEqual(len([name for name in names if name.endswith("_median")]), 1)
        self.assertEqual(json.loads(out.read_text())["benchmarks"][0]["name"], names[0])

    def test_googles_compare_reads_our_json(self):
        tool = next((path for path in ("/usr/bin/google-benchmark-compare", "/usr/share/benchmark/compare.py") if os.path.exists(path)), None)
        if tool is None:
            self.skipTest("Google Benchmark's compare.py is not installed (Debian package libbenchmark-tools)")
        out = self.folder / "for-compare.json"
        self.gpubench("--benchmark_filter=^copy/n:1024/", "--benchmark_repetitions=2", f"--benchmark_out={out}", "--quiet")
        result = subprocess.run(["/usr/bin/python3", tool, "benchmarks", str(out), str(out)], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("copy/n:1024", result.stdout)

    def test_what_was_written_is_said(self):
        run = f"{self.folder}/run.json"
        for words, endings in ((["report", run], ["csv", "html"]), (["report", run, run], ["html"]), (["calibration", "show", run], ["md"]),
                               (["compare", run, run], ["md", "html"]), (["doctor"], ["json"])):
            files = [f"{self.folder}/said.{ending}" for ending in endings]
            command = [*words, *[f"--out={file}" for file in files]]
            said = [line for line in self.stored(*command).stderr.splitlines() if "wrote" in line]
            self.assertEqual(said, [f"gpubench: wrote {file}" for file in files], words)
            self.assertNotIn("wrote", self.stored(*command, "--quiet").stderr, words)

    def test_report_judges_anew(self):
        run = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        judged = [point for point in run["points"] if "verdict" in point]
        self.assertTrue(judged)
        for point in judged:
            point["verdict"].update(regime="compute", limiter="nonsense", evidence="of an older classifier")
        (self.folder / "older.json").write_text(json.dumps(run), encoding="utf-8")
        for name in ("run", "older"):
            result = self.stored("report", f"{self.folder}/{name}.json", f"--out={self.folder}/anew-{name}.csv")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "anew-older.csv").read_text(), (self.folder / "anew-run.csv").read_text())

    def test_formats_of_other_tools(self):
        names = ("other.gbench.json", "other.nvbench.json", "other.prom", "other.junit.xml")
        result = self.stored("report", f"{self.folder}/run.json", *[f"--out={self.folder}/{name}" for name in names])
        self.assertEqual(result.returncode, 0, result.stderr)
        points = json.loads((self.folder / "run.json").read_text())["points"]
        entries = json.loads((self.folder / "other.gbench.json").read_text())["benchmarks"]
        # As Google Benchmark writes a manually timed one; our own name has no such ending.
        self.assertEqual([entry["name"] for entry in entries], [point["measurement"]["name"] + "/manual_time" for point in points])
        states = [state for bench in json.loads((self.folder / "other.nvbench.json").read_text())["benchmarks"] for state in bench["states"]]
        self.assertEqual(len(states), len(points))
        self.assertTrue((self.folder / "other.prom").read_text().endswith("# EOF\n"))
        self.assertIn(f'tests="{len(points)}"', (self.folder / "other.junit.xml").read_text())
        self.assert_refused(self.stored("report", f"{self.folder}/other.gbench.json"), "not a gpubench run")
        run = str(self.folder / "run.json")
        self.assert_refused(self.stored("compare", run, run, "--out=change.gbench.json"), "change.gbench.json", ".csv")
        self.assert_refused(self.stored("doctor", "--out=doctor.nvbench.json"), "doctor.nvbench.json", "written as .json")

    def test_metrics_without_counters_leave_the_times_and_say_why(self):
        out = self.folder / "metrics.json"
        result = self.gpubench("--metrics=core,l2_bytes", "--filter=^copy/n:(1024|4096)/", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("counters of the CPU are not supported"), 1, result.stderr)
        run = json.loads(out.read_text())
        self.assertEqual(len(warnings_of(run)), 1, run["warnings"])
        for point in run["points"]:
            self.assertGreater(point["measurement"]["timings"][0]["seconds"]["median"], 0.0)
            self.assertNotIn("counters", point["measurement"])
            names = [counter["name"] for counter in point["measurement"]["absent_counters"]]
            self.assertIn("dram_read_bytes", names)
            self.assertEqual(names, sorted(set(names)))
        self.assertNotIn("counters", (self.folder / "run.json").read_text())

    def test_cold_caches(self):
        out = self.folder / "cold.json"
        result = self.gpubench("--cache=cold", "--filter=^copy/n:65536/", "--time-budget=0.1", f"--out={out}")
        if "how large the caches" in result.stderr:
            self.assert_refused(result, "--cache=cold")
            self.skipTest("this system does not tell how large its caches are")
        self.assertEqual(result.returncode, 0, result.stderr)
        (point,) = json.loads(out.read_text())["points"]
        self.assertEqual(point["measurement"]["cache_state"], "cold")
        self.assertRegex(point["measurement"]["timings"][0]["method"], r"; cold: \d+ copies of its 2 buffers in turn")
        self.assertGreater(point["measurement"]["timings"][0]["seconds"]["median"], 0.0)
        self.assert_refused(self.gpubench("--filter=^copy/n:65536/", f"--resume={out}"), "caches were cold", "warm")
        again = self.gpubench("--cache=cold", "--filter=^copy/n:65536/", f"--resume={out}")
        self.assertEqual(again.returncode, 0, again.stderr)
        isolated = self.gpubench("--cache=cold", "--isolate", "--filter=^copy/n:65536/", "--time-budget=0.1", f"--out={out}")
        self.assertEqual(isolated.returncode, 0, isolated.stderr)
        (point,) = json.loads(out.read_text())["points"]
        self.assertEqual(point["measurement"]["cache_state"], "cold")
        self.assertIn("; cold: ", point["measurement"]["timings"][0]["method"])
        warm = json.loads((self.folder / "run.json").read_text())["points"][0]["measurement"]
        self.assertEqual(warm["cache_state"], "warm")
        self.assertNotIn("cold", warm["timings"][0]["method"])

    def test_recording_on_a_cpu_is_a_warning_and_leaves_the_times(self):
        out = self.folder / "check.json"
        result = self.gpubench("--kernels", "--filter=^copy/n:(1024|4096)/", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("a CPU has no activity records"), 1, result.stderr)
        run = json.loads(out.read_text())
        self.assertEqual(len(warnings_of(run)), 1, run["warnings"])
        for point in run["points"]:
            self.assertGreater(point["measurement"]["timings"][0]["seconds"]["median"], 0.0)
            self.assertIn("reason", point["measurement"]["activity"])
        self.assertNotIn("activity", (self.folder / "run.json").read_text())

    def test_the_rule_of_nsight_compute_asks_for_its_two_metrics(self):
        out = self.folder / "rule.json"
        result = self.gpubench("--check=ncu-rule", "--metrics=core", "--filter=^copy/n:1024/", f"--out={out}")
        self.assertEqual(result.returncode, 0, result.stderr)
        (point,) = json.loads(out.read_text())["points"]
        asked = {absent["name"] for absent in point["measurement"]["absent_counters"]}
        self.assertLess({"sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                         "dram_read_bytes"}, asked)
        self.assertNotIn("activity", point["measurement"])

    def test_the_old_word_of_check_records_kernels(self):
        for flag in ("--check", "--check=activity", "--check=activity,ncu-rule"):
            out = self.folder / "old-check.json"
            result = self.gpubench(flag, "--filter=^copy/n:1024/", f"--out={out}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("activity", json.loads(out.read_text())["points"][0]["measurement"])

    def test_checks_of_other_names_are_refused(self):
        for flag in ("--check=ncu", "--check=activity,", "--check=activity,ncu"):
            self.assert_refused(self.gpubench(flag, "--filter=^copy/n:1024/"), "ncu-rule")

    def test_doctor(self):
        out = self.folder / "doctor.json"
        result = self.stored("doctor", f"--out={out}")
        document = json.loads(out.read_text())
        kept = [check["found"] for check in document["checks"] if check["check"] == "calibrations"]
        self.assertEqual(kept, [f"kept in {self.cached[0].parent}"])
        states = [check["state"] for check in document["checks"]]
        self.assertEqual(result.returncode, 2 if "red" in states else 0, result.stderr)
        self.assertNotIn("\x1b", result.stdout)
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        for check in document["checks"]:
            self.assertEqual("remedy" in check, check["state"] != "green", check)
        self.assertIn(f"{states.count('yellow')} yellow, {states.count('red')} red", result.stdout)
        self.assertIn("\x1b[", self.stored("doctor", "--color=always").stdout)
        self.assertEqual(self.stored("doctor", "--quiet").stdout, "")

    # What is refused.

    def test_wrong_usage(self):
        self.assert_refused(self.gpubench("--colour=red"), "--colour")
        for value in ("many", "0", "-1"):
            self.assert_refused(self.gpubench(f"--benchmark_repetitions={value}"), "--benchmark_repetitions takes a whole number from 1", f"'{value}'")
        self.assert_refused(self.gpubench("--benchmark_min_time=1000001x"), "1000001x", "1000000 samples")
        self.assert_refused(self.gpubench("--time-budget=soon"), "--time-budget", "soon")
        self.assert_refused(self.gpubench("--calibrate=slow"), "slow")
        self.assert_refused(self.gpubench("--cache=lukewarm"), "lukewarm")
        self.assert_refused(self.gpubench("--calibrate", "--cache=cold"), "--cache=cold")
        self.assert_refused(self.gpubench("--metrics=speed"), "'speed'", "dram_read_bytes", "core")
        self.assert_refused(self.gpubench("--metrics=core,,flops"), "empty name")
        self.assert_refused(self.gpubench("--metrics=none,core"), "none")
        self.assert_refused(self.gpubench("--filter=["), "regular expression")
        self.assert_refused(self.gpubench("--filter=nothing-like-this"), "nothing-like-this", "--list")
        self.assert_refused(self.stored("--device=cuda:99", "--list"), "cuda:99", "cpu")
        self.assert_refused(self.stored("compare", "only-one.json"))
        self.assert_refused(self.stored("doctor", "--out=doctor.html"), ".json")
        self.assert_refused(self.stored("doctor", "--benchmark_filter=x"), "doctor")

    def test_outputs_are_checked_before_measuring(self):
        self.assert_refused(self.gpubench("--out=report.txt"), ".html")
        self.assert_refused(self.gpubench("--out=report.pdf"), "--chart=NAME")
        result = self.gpubench("--out=/proc/none/report.html")
        self.assert_refused(result, "/proc/none")
        self.assertNotIn("device cpu", result.stderr)

    def test_damaged_calibrations(self):
        good = self.cached[0].read_text()
        for name, text, word in (
            ("truncated", good[: len(good) // 2], "truncated.json"),
            ("foreign", '{"benchmarks": []}', "foreign.json"),
            ("newer", good.replace('"version":1', '"version":99', 1), "99"),
            ("hand", good.replace('"value":', '"value":"x","was":', 1), "value"),
        ):
            path = self.folder / f"{name}.json"
            path.write_text(text)
            with self.subTest(name):
                self.assert_refused(self.gpubench(f"--calibration={path}", "--filter=^copy/n:1024/"), word)
        self.assert_refused(self.gpubench("--calibration=/nowhere/c.json", "--filter=^copy/n:1024/"), "/nowhere/c.json")
        self.assert_refused(self.stored("report", "/nowhere/run.json"), "/nowhere/run.json")

    def test_failures_keep_the_rest_and_exit_with_2(self):
        out = self.folder / "troubled.json"
        result = self.gpubench(f"--out={out}", program=TROUBLED)
        self.assertEqual(result.returncode, 2)
        for words in ("no coffee left", "element 3 is 7", "out_of_memory", "3 of 6 points failed"):
            self.assertIn(words, result.stderr)
        points = [point["measurement"] for point in json.loads(out.read_text())["points"]]
        self.assertEqual(len(points), 6)
        self.assertEqual(sorted(p["operation"] for p in points if p.get("timings")), ["too_large", "works", "works"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
