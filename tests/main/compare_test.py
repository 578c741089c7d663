# SPDX-License-Identifier: Apache-2.0
"""gpubench compare as its user meets it. Argument: the program."""

import json
import pathlib
import sys
import unittest

from command_line import CommandLineTest


class Compare(CommandLineTest):
    def changed(self, name, change):
        run = json.loads((self.folder / "run.json").read_text())
        self.scale(1.0)(run)  # these tests are not about a busy machine
        change(run)
        path = self.folder / name
        path.write_text(json.dumps(run))
        return str(path)

    @staticmethod
    def scale(factor):
        def change(run):
            for point in run["points"]:
                point["measurement"].pop("conditions", None)  # others may have had the cores
                timing = point["measurement"]["timings"][0]
                base = 1e-6  # of a card, times of a few nanoseconds are assumed to differ by much
                timing.pop("block_sizes", None)
                timing.pop("samples_clock_hz", None)
                timing["samples_seconds"] = [base * factor * (1 + 0.001 * (i % 5 - 2)) for i in range(40)]
                for key, value in timing["seconds"].items():
                    if isinstance(value, float):
                        timing["seconds"][key] = base * factor
                # As on a quiet machine, whatever this one was when it measured.
                timing["seconds"]["median_ci95"] = [base * factor * 0.999, base * factor * 1.001]
                timing["seconds"].update(count=40, mad=0.0, minimum=min(timing["samples_seconds"]), maximum=max(timing["samples_seconds"]))

        return change

    def test_compare_exit_codes(self):
        base = self.changed("base.json", self.scale(1.0))

        def code(name, change, *flags):
            return self.stored("compare", base, self.changed(name, change), "--process-noise=0.2", *flags).returncode

        def other_device(run):
            for part in run["devices"] + [calibration["device"] for calibration in run["calibrations"]]:
                part["name"] = "Another CPU"

        def failing(run):
            measurement = run["points"][0]["measurement"]
            measurement["timings"] = []
            measurement["failure"] = {"kind": "error", "message": "broken"}

        self.assertEqual(self.stored("compare", base, base).returncode, 0)
        self.assertEqual(code("slower.json", self.scale(1.2)), 1)
        self.assertEqual(code("slower.json", self.scale(1.2), "--fail-on=never"), 0)
        self.assertEqual(code("slower.json", self.scale(1.2), "--min-effect=30"), 0)
        self.assertEqual(code("faster.json", self.scale(0.8)), 0)
        self.assertEqual(code("failing.json", failing), 2)
        self.assertEqual(code("other.json", other_device), 3)
        self.assertEqual(code("other.json", other_device, "--force"), 0)
        self.assert_refused(self.stored("compare", base, "/nowhere.json"), "/nowhere.json")
        self.assert_refused(self.stored("compare", base, base, "--out=x.pdf"), ".json")
        page = self.folder / "changes.html"
        self.assertEqual(code("slower.json", self.scale(1.2), f"--out={page}"), 1)
        text = page.read_text()
        self.assertIn("<h2 id=\"comparison-title\">What changed</h2>", text)
        self.assertIn("1.20x slower", text)
        self.assertIn("id=\"chart-rooflines\"", text)

    def test_compare_says_why_a_point_changed(self):
        def built_with(flags, factor):
            def change(run):
                self.scale(factor)(run)
                run["context"]["environment"].update(compiler_flags=flags, host_code=flags)

            return change

        out = [self.folder / f"why.{e}" for e in ("json", "csv", "md", "html")]
        result = self.stored("compare", self.changed("o3.json", built_with("-O3 -g", 1.0)), self.changed("o1.json", built_with("-O1 -g", 1.3)),
                             "--process-noise=0.2", *[f"--out={file}" for file in out])
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("compiler flags: -O3 -> -O1", result.stdout)
        point = json.loads(out[0].read_text())["points"][0]
        self.assertEqual([cause["kind"] for cause in point["causes"]], ["build", "code"])
        self.assertGreater(point["interval"][0], 1.2)
        self.assertIn("all points at once", point["interval_contains"])
        for file in out[1:]:
            self.assertIn("compiler flags: -O3 -", file.read_text(), file)

    def processes(self, name, factor, count=5):
        """A folder of runs as `count` processes would write them, 0.2 % apart."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for i in range(count):
            run = json.loads(pathlib.Path(self.changed("process.json", self.scale(factor * (1 + 0.002 * (i % 3))))).read_text())
            run["context"]["created_utc"] = f"2026-01-01T00:00:0{i}Z"
            (folder / f"run-{i}.json").write_text(json.dumps(run))
        return str(folder)

    def test_compare_takes_several_processes_a_side(self):
        base, slower = self.processes("base-runs", 1.0), self.processes("slower-runs", 1.05)
        result = self.stored("compare", base, slower)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("1.05x slower", result.stdout)
        self.assertIn("5 base and 5 new", " ".join(result.stdout.split()))
        self.assertEqual(self.stored("compare", slower, base).returncode, 0, "a speed-up is no failure")
        # One process a side: 22 % of noise are assumed, in which 5 % are lost, and that is said.
        single = self.stored("compare", f"{base}/run-0.json", f"{slower}/run-0.json")
        self.assertEqual(single.returncode, 0)
        self.assertIn("one run a side does not show", single.stdout)
        self.assertEqual(self.stored("compare", f"{base}/run-0.json", f"{slower}/run-0.json", "--fail-on=inconclusive").returncode, 4)
        empty = self.folder / "no-runs"
        empty.mkdir(exist_ok=True)
        self.assert_refused(self.stored("compare", base, str(empty)), "no run")
        self.assert_refused(self.stored("compare", base), "needs more arguments", "BASE NEW")

    def test_compare_refuses_bad_files(self):
        base = self.changed("base.json", self.scale(1.0))
        text = pathlib.Path(base).read_text()
        bad = self.folder / "bad-run.json"
        newer = json.loads(text)
        newer["schema"]["version"] = 99
        unitless = json.loads(text)
        unitless["points"][0]["measurement"]["timings"][0]["seconds"]["median"] = "3 ms"
        cases = {"empty": ("", "empty"), "cut off": (text[: len(text) // 2], "cut off"), "foreign": ('{"benchmarks": []}', "not a gpubench run"),
                 "newer": (json.dumps(newer), "newer"), "another unit": (json.dumps(unitless), "/points/0/measurement/timings/0/seconds/median"),
                 "not a number": (text.replace('"median": ', '"median": NaN, "x": ', 1), "JSON")}
        for name, (content, word) in cases.items():
            bad.write_text(content)
            for arguments in ((base, str(bad)), (str(bad), base)):
                with self.subTest(name):
                    self.assert_refused(self.stored("compare", *arguments), "bad-run.json", word)
        with open(bad, "wb") as file:
            file.truncate((1 << 30) + 1)
        self.assert_refused(self.stored("compare", base, str(bad)), "over the limit")
        bad.unlink()
        full = self.stored("compare", base, base, "--out=/dev/full/x.md")
        self.assert_refused(full, "/dev/full/x.md")

    def test_width(self):
        base = f"{self.folder}/run.json"
        for command in (("report", base), ("compare", base, base)):
            for width in (60, 90):
                lines = self.stored(*command, f"--width={width}").stdout.splitlines()
                self.assertLessEqual(max(map(len, lines)), width, lines)
        self.assert_refused(self.stored("report", base, "--width=20"), "--width takes a number from 40")

    def test_cards_of_one_model(self):
        def on(card, factor):
            def change(run):
                self.scale(factor)(run)
                for part in run["devices"] + [calibration["device"] for calibration in run["calibrations"]]:
                    part["kind"] = "cuda"
                    part["properties"] = {"uuid": card}
            return change

        one, other = self.changed("one.json", on("GPU-1", 1.0)), self.changed("other.json", on("GPU-2", 1.001))
        self.assertEqual(self.stored("compare", one, other).returncode, 3)
        result = self.stored("compare", one, other, "--same-model")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("the base is of GPU-1, the new side of GPU-2", " ".join(result.stdout.split()))
        store = self.folder / "pool"
        self.assertEqual(self.stored("gate", "update", one, f"--store={store}").returncode, 0)
        refused = self.stored("gate", "check", other, f"--store={store}")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("--same-model", refused.stderr)
        checked = self.stored("gate", "check", other, f"--store={store}", "--same-model")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        slow = self.changed("slow.json", on("GPU-2", 10.0))  # short times are assumed to differ by much
        checked = self.stored("gate", "check", slow, f"--store={store}", "--same-model")
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)

    def test_compare_writes_reports(self):
        base = f"{self.folder}/run.json"
        outs = [self.folder / f"comparison{extension}" for extension in (".json", ".csv", ".md")]
        self.stored("compare", base, base, *[f"--out={out}" for out in outs])
        for out in outs:
            self.assertIn("copy/n:1024", out.read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
