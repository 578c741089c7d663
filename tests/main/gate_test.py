# SPDX-License-Identifier: Apache-2.0
"""ab and gate as their user meets them: exit codes, messages, files. Arguments: the program, one whose work can be scaled, one that
crashes, one that takes long, and the source folder."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from command_line import GPUBENCH, FolderTest

PLANTED, CRASHING, SLOW, SOURCE = (pathlib.Path(argument) for argument in sys.argv[2:6])
SAMPLE = SOURCE / "tests" / "reports" / "golden" / "run.json"


class Commands(FolderTest):
    columns = 100

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "GITHUB_STEP_SUMMARY", "GPUBENCH_PLANTED"):
            cls.environment.pop(name, None)
        # The slower program: the same with a variable set, without a shell.
        cls.slower = cls.folder / "slower"
        cls.slower.write_text(f"#!{sys.executable}\nimport os, sys\nos.environ['GPUBENCH_PLANTED'] = '2'\nos.execv({str(PLANTED)!r}, [{str(PLANTED)!r}] + sys.argv[1:])\n")
        cls.slower.chmod(0o755)
        # Under AddressSanitizer a crash is to end by its signal all the same.
        for options in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
            cls.environment[options] = ":".join(filter(None, [cls.environment.get(options), "handle_segv=0", "handle_abort=0"]))
        subprocess.run([str(PLANTED), "--device=cpu", "--calibrate", "--accept-load", "--quiet"], env=cls.environment, capture_output=True, timeout=300, check=True)

    def processes(self, name, factor=1.0, count=4, change=None):
        """A folder of runs as so many processes would write them, 0.3 % apart."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for i in range(count):
            run = json.loads(SAMPLE.read_text())
            run["context"]["created_utc"] = f"2026-01-01T00:00:0{i}Z {name}"
            for j, point in enumerate(run["points"]):
                timing = next(iter(point["measurement"]["timings"]), {})
                seconds = timing.get("seconds")
                for key, value in (seconds or {}).items():
                    if isinstance(value, float):
                        seconds[key] = value * factor * (1 + 0.003 * ((i * 7 + j * 3) % 5 - 2) / 2)
                if seconds:
                    middle = seconds["median"]
                    seconds["median_ci95"] = [middle * 0.999, middle * 1.001] if isinstance(seconds["median_ci95"], list) else {"low": middle * 0.999, "high": middle * 1.001}
                for samples in ("samples_seconds", "block_sizes", "samples_clock_hz"):
                    timing.pop(samples, None)
            # What fails in the sample run is not what these tests are about.
            run["points"] = [point for point in run["points"] if "failure" not in point["measurement"]]
            if change:
                change(run)
            (folder / f"run-{i}.json").write_text(json.dumps(run))
        return folder

    # ab

    AB = ("--", "--device=cpu", "--drift-check=off", "--time-budget=0.01", "--filter=^(chain/steps:5000|sum/n:16384)/")

    def test_ab_finds_a_program_that_takes_twice_as_long(self):
        out, keep = self.folder / "ab.json", self.folder / "kept"
        result = self.gpubench("ab", PLANTED, self.slower, "--pairs=6", f"--keep={keep}", f"--out={out}", *self.AB)
        document = json.loads(out.read_text())
        self.assertEqual(document["code"], "same", "a script that runs the same program")
        self.assertEqual([document["base_processes"], document["new_processes"]], [6, 6])
        self.assertEqual(len(list(keep.glob("*/run-*.json"))), 12)
        # Twice the work is found on any machine that is not swamped.
        if all(point["interval"][0] > 1.1 for point in document["points"]):
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        again = self.gpubench("compare", keep / "base", keep / "new", "--paired", f"--out={self.folder}/again.json")
        self.assertEqual(again.returncode, result.returncode)
        self.assert_refused(self.gpubench("ab", PLANTED, PLANTED, f"--keep={keep}", *self.AB), "base/run-0001.json is of an earlier ab")
        self.assertEqual(json.loads((self.folder / "again.json").read_text())["points"], document["points"])
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "nothing is left behind")

    def test_ab_stops_when_its_time_is_over(self):
        result = self.gpubench("ab", PLANTED, PLANTED, "--total-budget=6", "--precision=0.001", "--fail-on=never", *self.AB)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the time budget is used up", result.stderr)
        self.assert_refused(self.gpubench("ab", SLOW, SLOW, "--total-budget=0.3", "--", "--device=cpu"), "--total-budget", f"{SLOW} was stopped after 0.3")

    def test_ab_says_which_program_failed(self):
        crash = self.gpubench("ab", PLANTED, CRASHING, "--", "--device=cpu", "--drift-check=off", "--time-budget=0.01")
        self.assert_refused(crash, str(CRASHING), "was ended by SIG", code=2)
        self.assert_refused(self.gpubench("ab", PLANTED, "/nowhere/program", *self.AB), "/nowhere/program cannot be started: No such file")
        none = self.gpubench("ab", PLANTED, PLANTED, "--", "--device=cpu", "--filter=^nothing$")
        self.assert_refused(none, "exit code 64", "matches the filter", code=2)
        self.assert_refused(self.gpubench("ab", "/bin/true", PLANTED, *self.AB), "/bin/true", "wrote no result", "exec gpubench profile", code=2)
        self.assert_refused(self.gpubench("ab", PLANTED), "'ab' needs more arguments", "BASE_PROGRAM NEW_PROGRAM")
        self.assert_refused(self.gpubench("ab", PLANTED, PLANTED, "--", "--out=x.json"), "--keep")
        self.assert_refused(self.gpubench("ab", PLANTED, PLANTED, "--pairs=1"), "--pairs")
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_ab_leaves_nothing_behind_when_interrupted(self):
        process = subprocess.Popen([str(GPUBENCH), "ab", str(PLANTED), str(PLANTED), *self.AB], env=self.environment, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not list((self.folder / "tmp").iterdir()) and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_ab_says_when_interrupted_how_to_compare_the_pairs_that_it_kept(self):
        keep = self.folder / "kept-until-interrupted"
        command = [str(GPUBENCH), "ab", str(PLANTED), str(PLANTED), "--pairs=1000", f"--keep={keep}", *self.AB]
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 120
        while not (keep / "new" / "run-0004.json").exists() and time.monotonic() < until:  # within a pair: new goes first
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, -signal.SIGINT)
        again = f"gpubench compare {keep}/base {keep}/new --paired"
        self.assertIn(f"stopped after 3 pairs. To compare them: {again}\n", said)
        self.assertEqual(*[len(list((keep / side).iterdir())) for side in ("base", "new")])
        self.fine(*again.split()[1:], "--fail-on=never")

    def test_ab_takes_its_program_with_it_when_it_is_killed(self):
        note = self.folder / "started"
        note.unlink(missing_ok=True)
        waits = self.folder / "waits"
        waits.write_text(f"#!{sys.executable}\nimport os, time\nopen({str(note) + '.part'!r}, 'w').write(str(os.getpid()))\nos.rename({str(note) + '.part'!r}, {str(note)!r})\ntime.sleep(120)\n")
        waits.chmod(0o755)
        process = subprocess.Popen([str(GPUBENCH), "ab", str(waits), str(waits)], env=self.environment, stderr=subprocess.DEVNULL, text=True)
        until = time.monotonic() + 60
        while not note.exists() and time.monotonic() < until:
            time.sleep(0.02)
        child = int(note.read_text())
        process.kill()
        process.wait(timeout=300)

        def runs():
            try:
                state = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                return False
            return state not in "ZX"

        while runs() and time.monotonic() < until:
            time.sleep(0.02)
        self.assertFalse(runs(), "the program outlived ab")
        shutil.rmtree(self.folder / "tmp")  # what a kill leaves
        (self.folder / "tmp").mkdir()

    # gate

    def test_the_clock_that_is_compared(self):
        def clocks(stream, device):
            """Times by two clocks, `stream` and `device` times what they were; without a stream factor by one."""

            def change(run):
                for point in run["points"]:
                    timings = point["measurement"]["timings"]
                    if not timings or "seconds" not in timings[0]:
                        continue
                    scaled = lambda factor: {
                        key: [factor * end for end in value] if isinstance(value, list) else factor * value if isinstance(value, float) else value
                        for key, value in timings[0]["seconds"].items()
                    }
                    other = {"clock": "device", "seconds": scaled(device), "executions_per_sample": 1, "method": "made up", "stop_reason": "count"}
                    first = [] if stream is None else [{**timings[0], "seconds": scaled(stream), "clock": "stream"}]
                    point["measurement"]["timings"] = [*first, other]

            return change

        base = self.processes("clock-base", change=clocks(1.0, 0.5))
        next_runs = self.processes("clock-next", change=clocks(1.2, 0.5))
        device = self.processes("clock-device", change=clocks(None, 0.5))
        default = self.gpubench("compare", base, next_runs)
        self.assertEqual(default.returncode, 1, default.stdout + default.stderr)
        self.assertIn("Times compared: stream", default.stdout)
        asked = self.gpubench("compare", base, next_runs, "--time=device")
        self.assertEqual(asked.returncode, 0, asked.stdout + asked.stderr)
        self.assertIn("Times compared: device", asked.stdout)
        common = self.gpubench("compare", base, device)
        self.assertEqual(common.returncode, 0, common.stdout + common.stderr)
        self.assertIn("Times compared: device", common.stdout)
        missing = self.gpubench("compare", base, device, "--time=stream")
        self.assertEqual(missing.returncode, 3, missing.stdout + missing.stderr)
        self.assertIn("no stream time in the new run", missing.stdout)
        store = f"--store={self.folder}/clock-store"
        self.assertEqual(self.gpubench("gate", "update", base, store, "--time=device").returncode, 0)
        self.assertEqual(self.gpubench("gate", "check", next_runs, store).returncode, 0)
        self.assertEqual(self.gpubench("gate", "check", next_runs, store, "--time=stream").returncode, 1)
        said = self.gpubench("gate", "update", base, store, "--time=latency")
        self.assertIn("no latency time, so checks will leave them out", said.stderr)
        self.assert_refused(self.gpubench("compare", base, base, "--time=all"), "--time")

    def test_gate_from_the_first_baseline_to_a_regression(self):
        store = f"--store={self.folder}/store"
        base = self.processes("gate-base")
        self.assert_refused(self.gpubench("gate", "check", base, store), "has no baseline", f"gate update {store} RUN...", code=3)
        updated = self.gpubench("gate", "update", base, store, GITHUB_SHA="abc123")
        self.assertEqual(updated.returncode, 0, updated.stderr)
        self.assertIn("entry 1, 4 runs", updated.stderr)
        summary, page, out = self.folder / "summary.md", self.folder / "page.md", self.folder / "check.json"
        page.write_text("before\n")
        same = self.gpubench("gate", "check", self.processes("gate-same"), store, f"--summary={summary}", f"--out={out}", GITHUB_STEP_SUMMARY=str(page))
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("entry 1 (abc123)", same.stdout)
        self.assertIn("## gpubench: ", summary.read_text())
        self.assertTrue(page.read_text().startswith("before\n## gpubench: "))
        self.assertEqual(json.loads(out.read_text())["schema"]["name"], "gpubench-comparison")
        slower = self.processes("gate-slower", 1.2)
        regression = self.gpubench("gate", "check", slower, store, f"--summary={summary}")
        self.assertEqual(regression.returncode, 1, regression.stdout)
        self.assertIn("## gpubench: slower than the baseline", summary.read_text())
        self.assertEqual(self.gpubench("gate", "check", slower, store, "--fail-on=never").returncode, 0)
        self.assertEqual(self.gpubench("gate", "check", self.processes("gate-faster", 0.8), store).returncode, 0, "a speed-up is no failure")
        # What was slower is accepted by an update; the history says where it came.
        for i in range(3):
            self.assertEqual(self.gpubench("gate", "update", self.processes(f"accepted-{i}", 1.2), store, f"--label=accepted-{i}").returncode, 0)
        self.assertEqual(self.gpubench("gate", "check", slower, store).returncode, 0)
        history = self.gpubench("gate", "history", store, f"--out={self.folder}/history.json")
        self.assertEqual(history.returncode, 0, history.stderr)
        steps = json.loads((self.folder / "history.json").read_text())["steps"]
        self.assertTrue(steps)
        self.assertEqual({(step["entry"], step["label"]) for step in steps}, {(2, "accepted-0")})
        self.assertIn("slower", history.stdout)
        # Points can be chosen in both.
        name = steps[0]["name"]
        one = f"--filter=^{name}$".replace("$", "(/manual_time)?$")
        chosen = self.gpubench("gate", "history", store, one, f"--out={self.folder}/history.json")
        self.assertEqual({step["name"] for step in json.loads((self.folder / "history.json").read_text())["steps"]}, {name}, chosen.stderr)
        self.gpubench("gate", "check", slower, store, one, f"--out={self.folder}/chosen.json")
        self.assertEqual([point["name"] for point in json.loads((self.folder / "chosen.json").read_text())["points"]], [name])
        self.assert_refused(self.gpubench("gate", "check", slower, store, "--filter=^no_such_point"), "matches the filter")

    def test_gate_of_another_machine_is_not_comparable(self):
        store = f"--store={self.folder}/store-of-cards"
        self.gpubench("gate", "update", self.processes("card-1"), store)

        def other_card(run):
            for device in run["devices"] + [calibration["device"] for calibration in run["calibrations"]]:
                device["properties"]["uuid"] = "GPU-9999"

        other = self.processes("card-2", change=other_card)
        self.assert_refused(self.gpubench("gate", "check", other, store), "GPU-0123", "GPU-9999", code=3)
        forced = self.gpubench("gate", "check", other, store, "--force")
        self.assertEqual(forced.returncode, 0, forced.stdout + forced.stderr)
        self.assertIn("by --force", forced.stdout)
        self.assertEqual(self.gpubench("gate", "update", other, store).returncode, 0)
        self.assertEqual(self.gpubench("gate", "check", other, store).returncode, 0)
        mixed = self.gpubench("gate", "update", self.folder / "card-1", other, store)
        self.assert_refused(mixed, "not all of one machine", "uuid")

    def test_gate_names_points_that_failed_or_are_gone(self):
        store = f"--store={self.folder}/store-of-failures"
        self.gpubench("gate", "update", self.processes("sound"), store)

        def fail_first(run):
            measurement = run["points"][0]["measurement"]
            measurement["timings"] = []
            measurement["failure"] = {"kind": "error", "message": "broken"}

        failing = self.gpubench("gate", "check", self.processes("failing", change=fail_first), store)
        self.assertEqual(failing.returncode, 2, failing.stdout)
        self.assertIn("failed in the new run: saxpy/1024", failing.stdout)
        gone = self.gpubench("gate", "check", self.processes("gone", change=lambda run: run["points"].pop(0)), store)
        self.assertEqual(gone.returncode, 0, gone.stdout)
        self.assertIn("only in the base: saxpy/1024", gone.stdout)

    def test_gate_of_an_unfinished_run(self):
        store = f"--store={self.folder}/store-of-unfinished"
        self.gpubench("gate", "update", self.processes("finished"), store)

        def stop(run):
            planned = len(run["points"])
            run["points"].pop()
            run["unfinished"] = {"finished": planned - 1, "planned": planned}

        stopped = self.processes("stopped", change=stop)
        said = f"unfinished: it has {len(json.loads((stopped / 'run-0.json').read_text())['points'])} of "
        for command in (["gate", "check", stopped, store], ["compare", self.folder / "finished", stopped], ["compare", stopped, stopped]):
            result = self.gpubench(*command)
            self.assertEqual(result.returncode, 3, result.stdout)
            self.assertIn(said, " ".join(result.stdout.split()))
            self.assertEqual(self.gpubench(*command, "--fail-on=inconclusive").returncode, 4)
            self.assertEqual(self.gpubench(*command, "--fail-on=never").returncode, 0)
        self.assert_refused(self.gpubench("gate", "update", stopped, store), "is unfinished", "--resume")
        report = self.gpubench("report", stopped / "run-0.json")
        self.assertIn("(unfinished run)", report.stdout)

    def test_gate_takes_no_baseline_without_times(self):
        store = self.folder / "timeless"
        empty = self.processes("without-times", change=lambda run: run.update(points=[]))
        self.assert_refused(self.gpubench("gate", "update", empty, f"--store={store}"), "No point of these runs has a time")
        self.assertFalse(store.exists())

    def test_gate_refuses_a_damaged_store_and_keeps_it(self):
        folder = self.folder / "damaged"
        base = self.processes("for-damage")
        self.gpubench("gate", "update", base, f"--store={folder}")
        (entry,) = folder.glob("*/000001.json")
        text = entry.read_text()
        for content in ("", "{}", text[: len(text) // 2], SAMPLE.read_text(), text.replace('"version":2', '"version":77', 1)):
            entry.write_text(content)
            self.assert_refused(self.gpubench("gate", "check", base, f"--store={folder}"), "000001.json")
            self.assertEqual(entry.read_text(), content)
        entry.write_text(text)
        self.assertEqual(self.gpubench("gate", "check", base, f"--store={folder}").returncode, 0)
        self.assert_refused(self.gpubench("gate", "update", base, "--store=/dev/null/store"), "/dev/null/store")
        self.assert_refused(self.gpubench("gate", "check", base, f"--store={folder}", "--summary=/nowhere-at-all\0/x.md".replace("\0", "") if os.geteuid() else "--summary=/dev/null/x.md"), "x.md")
        self.assert_refused(self.gpubench("gate", "history", f"--store={self.folder}/no-store"), "has no baseline", f"gate update --store={self.folder}/no-store RUN...")
        self.assert_refused(self.gpubench("gate"), "'gate' needs an action")

    def test_gate_updates_at_once_all_stay(self):
        folder = self.folder / "busy"
        base = self.processes("for-busy")
        started = [subprocess.Popen([str(GPUBENCH), "gate", "update", str(base), f"--store={folder}", f"--label={i}", "--quiet"], env=self.environment) for i in range(6)]
        self.assertEqual([process.wait(timeout=300) for process in started], [0] * 6)
        entries = [json.loads(entry.read_text()) for entry in folder.glob("*/*.json")]
        self.assertEqual(sorted(entry["label"] for entry in entries), [str(i) for i in range(6)])


    # History and import

    def test_history_is_a_page_with_the_commits_between(self):
        folder = self.folder / "repository"
        folder.mkdir()
        git = lambda *words: subprocess.run(["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *words], capture_output=True, text=True, check=True).stdout.strip()
        git("init", "-q")
        git("remote", "add", "origin", "https://me:secret@example.org/owner/project.git")
        store = f"--store={self.folder}/paged"
        for i in range(10):
            git("commit", "-q", "--allow-empty", "-m", f"Change {i} </script><b>&")
            runs = self.processes(f"paged-{i}", 1.0 if i < 6 else 1.3, count=2)
            result = self.gpubench("gate", "update", runs, store, f"--label={git('rev-parse', 'HEAD')}", "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
        page, document = self.folder / "history.html", self.folder / "paged.json"
        result = self.gpubench("gate", "history", store, f"--repository={folder}", f"--out={page}", f"--out={document}")
        self.assertEqual(result.returncode, 0, result.stderr)
        step = json.loads(document.read_text())["steps"][0]
        self.assertEqual([step["entry"], step["kind"], step["commits"][0]["subject"]], [7, "step", "Change 6 </script><b>&"])
        text = page.read_text()
        self.assertIn("https://example.org/owner/project/commit/", text)
        self.assertNotIn("secret", text)
        self.assertNotIn("</script><b>", text)
        data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
        self.assertEqual([data["columns"], data["entries_a_column"], len(data["entries"])], [10, 1, 10])
        elsewhere = self.gpubench("gate", "history", store, f"--repository={self.folder}/nowhere")
        self.assertEqual(elsewhere.returncode, 0, elsewhere.stderr)
        self.assertIn("is no git repository", elsewhere.stderr)

    def test_import_adds_results_of_other_tools_by_date(self):
        kept = SOURCE / "tests" / "core" / "storage" / "kept"
        store = self.folder / "imported"
        late, early = self.folder / "late.json", self.folder / "early.json"
        asv = json.loads((kept / "asv.json").read_text().replace("-Infinity", "null").replace("Infinity", "null"))
        late.write_text(json.dumps(asv))
        early.write_text(json.dumps(dict(asv, date=asv["date"] - 86_400_000, commit_hash="0" * 40)))
        self.assertIn("added 2 of 2 runs", self.gpubench("gate", "import", late, early, f"--store={store}").stderr)
        self.assertIn("added 0 of 2 runs", self.gpubench("gate", "import", late, early, f"--store={store}").stderr)
        entries = [json.loads(file.read_text()) for file in sorted(store.glob("*/*.json"))]
        self.assertEqual([entry["label"] for entry in entries], ["0" * 40, asv["commit_hash"]])
        # Tools keep a folder for each machine: given the one above, all in them are meant.
        above = self.folder / "above" / "Linux-CPython-3.11-64bit"
        above.mkdir(parents=True)
        shutil.copy(kept / "pytest_benchmark.json", above / "0001_c1863e.json")
        self.assertIn("added 1 of 1 run", self.gpubench("gate", "import", above.parent, f"--store={self.folder}/above-store").stderr)
        for file in ("google_benchmark.json", "pytest_benchmark.json", "nvbench.json", "criterion"):
            result = self.gpubench("gate", "import", kept / file, f"--store={store}")
            self.assertIn("added 1 of 1 run", result.stderr, file)
            again = self.gpubench("compare", kept / file, kept / file, f"--out={self.folder}/other-tool.html")
            self.assertIn(again.returncode, (0,), file + again.stdout + again.stderr)
        for file in ("google_benchmark.json", "criterion"):
            self.assertEqual(self.gpubench("report", kept / file).returncode, 0, file)
        self.assertNotIn(", \n", self.gpubench("report", kept / "criterion").stdout)
        broken = self.folder / "broken.json"
        broken.write_text('{"machine_info": {}, "benchmarks": [{"name": "a", "stats": {"median": -1, "rounds": 1}}]}')
        self.assert_refused(self.gpubench("gate", "import", broken, f"--store={store}"), "broken.json: /benchmarks/0/stats/median", "pytest-benchmark")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
