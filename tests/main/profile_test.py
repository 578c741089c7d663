#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpubench profile as its user meets it, where there is no GPU: programs keep their output and exit codes, and a kept recording is judged."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, RECORDING, CALIBRATION = sys.argv[1:4]
PLAYED_CUPTI = pathlib.Path(PROGRAM).parent / "tests" / "profile" / "libcupti.so"
HAS_LIBRARY = (pathlib.Path(PROGRAM).parent / "libgpubench_injection.so").exists()


def gpubench(*arguments, **options):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([PROGRAM, "profile", *arguments], capture_output=True, text=True, env=environment, timeout=300, **options)


class OfAWorker(unittest.TestCase):
    def test_it_does_its_job_and_starts_no_program(self):
        """Ceilings of a GPU are measured in workers, which have the command's own words."""
        job = os.memfd_create("job")
        os.write(job, json.dumps({"task": "launch", "device": "cpu", "planned": 0, "points": [], "added": [], "calibration": ""}).encode())
        ends = os.pipe()
        environment = {**os.environ, "GPUBENCH_WORKER_JOB": f"{ends[1]}:{job}"}
        done = subprocess.run([PROGRAM, "profile", "--", "echo", "started"], capture_output=True, text=True, env=environment,
                              pass_fds=(ends[1], job), timeout=300)
        os.close(ends[1])
        with open(ends[0], encoding="utf-8") as channel:
            told = channel.read()
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(json.loads(told.removeprefix("ceilings "))["device"]["id"], "cpu")


@unittest.skipUnless(HAS_LIBRARY, "built without CUDA or CUPTI: there is no library to inject")
class OfAnyProgram(unittest.TestCase):
    def test_output_and_exit_code_are_its_own(self):
        result = gpubench("--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((result.returncode, result.stdout), (7, "out\n"))
        self.assertIn("err\n", result.stderr)
        self.assertIn("did not use CUDA", result.stderr)
        self.assertNotIn("torch_cli", result.stderr)
        self.assertIn("On a CPU `python3 -m gpubench.torch_cli profile SCRIPT` profiles PyTorch.", gpubench("--torch", "--", "true").stderr)

    def test_a_failing_standard_error_changes_nothing(self):
        for redirection in ("2>/dev/full", "2>&-"):
            done = subprocess.run(f"'{PROGRAM}' profile -- sh -c 'exit 7' {redirection}", shell=True, timeout=300)
            self.assertEqual(done.returncode, 7, redirection)

    def test_a_report_that_is_asked_for_and_not_written_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "run.json"
            result = gpubench(f"--out={report}", "--", "true")
            self.assertFalse(report.exists())
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(gpubench(f"--out={report}", "--", "sh", "-c", "exit 7").returncode, 7)
            self.assertEqual(gpubench("--", "true").returncode, 0)

    def test_it_reads_standard_input(self):
        self.assertEqual(gpubench("--", "cat", input="hello").stdout, "hello")

    def test_a_signal_gives_the_shells_exit_code(self):
        result = gpubench("--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(result.returncode, 143)
        self.assertIn("signal 15", result.stderr)

    def test_programs_that_fork_exec_or_leave_in_haste_do_as_alone(self):
        for program, code in (("import os\nif os.fork() == 0: os._exit(5)\nraise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))", 5),
                              ("import os; print('in haste', flush=True); os._exit(11)", 11),
                              ("import os; os.execvp('sh', ['sh', '-c', 'echo another; exit 9'])", 9),
                              ("import os; os.closerange(0, 256); os._exit(12)", 12),
                              ("import os; os.abort()", 134)):
            alone = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
            result = gpubench("--", sys.executable, "-c", program)
            self.assertEqual((result.returncode, result.stdout), (code, alone.stdout), program)

    def test_ranges_where_there_is_no_driver_are_left_alone(self):
        """CUPTI 13.2 calls itself without end where it finds no driver."""
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("there is a driver")
        except OSError:
            pass
        program = ("import ctypes, os\ntable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(lambda number: None)\n"
                   "print(ctypes.CDLL(os.environ['NVTX_INJECTION64_PATH']).InitializeInjectionNvtx2(table))")
        result = gpubench("--", sys.executable, "-c", program)
        self.assertEqual((result.returncode, result.stdout), (0, "0\n"), result.stderr)
        self.assertIn("did not use CUDA", result.stderr)

    def test_a_program_that_is_not_there(self):
        result = gpubench("--", "no-such-program-anywhere")
        self.assertEqual(result.returncode, 64)
        self.assertIn("no-such-program-anywhere cannot be started", result.stderr)

    def test_the_folder_of_keep_is_not_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "1.gprec").write_bytes(b"")
            self.assertEqual(gpubench(f"--keep={folder}", "--", "true").returncode, 64)


@unittest.skipUnless(HAS_LIBRARY and PLAYED_CUPTI.exists(), "built without CUDA or CUPTI: there is no library to inject")
class OnDemand(unittest.TestCase):
    def setUp(self):
        """A process that holds the injected library as CUDA would have it load it, with a library that plays CUPTI."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "options").write_text('{"on_demand": true}')
        script = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).InitializeInjection(); print('ready', flush=True); sys.stdin.read(); print('ended')"
        environment = {**os.environ, "GPUBENCH_RECORDING_FOLDER": folder.name, "GPUBENCH_CUPTI": str(PLAYED_CUPTI)}
        self.process = subprocess.Popen([sys.executable, "-c", script, pathlib.Path(PROGRAM).parent / "libgpubench_injection.so"], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.stdin.close)
        self.assertEqual(self.process.stdout.readline(), "ready\n")

    def test_a_process_records_when_it_is_asked_to_and_runs_on(self):
        for leave in ([], ["--leave"], ["--leave"], []):
            with tempfile.TemporaryDirectory() as folder:
                result = gpubench(f"--trigger={self.process.pid}", "--duration=0.1", f"--keep={folder}", *leave)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("ran no kernel, copy or fill on a GPU while it was recorded. Trigger it again, or with a longer --duration.", result.stderr)
                self.assertEqual("CUPTI stays in the process" in result.stderr, bool(leave), result.stderr)  # it saw no call
                self.assertEqual(len(list(pathlib.Path(folder).glob("*.gprec"))), 1)
        out, _ = self.process.communicate("")
        self.assertEqual((self.process.returncode, out), (0, "ended\n"))

    def test_one_that_ends_meanwhile_ends_as_it_would(self):
        waiting = subprocess.Popen([PROGRAM, "profile", f"--trigger={self.process.pid}", "--duration=60"], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        out, _ = self.process.communicate("")
        self.assertEqual((self.process.returncode, out), (0, "ended\n"))
        _, words = waiting.communicate(timeout=20)
        self.assertEqual(waiting.returncode, 0, words)

    def test_a_trigger_that_is_ended_ends_the_recording(self):
        waiting = subprocess.Popen([PROGRAM, "profile", f"--trigger={self.process.pid}", "--duration=60"], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        waiting.kill()
        waiting.wait()
        result = gpubench(f"--trigger={self.process.pid}", "--duration=0.1")  # its turn comes
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_what_cannot_be_asked_is_said(self):
        self.assertIn("--leave belongs to a recording on demand", gpubench("--leave", "--", "true").stderr)
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        gone = subprocess.Popen(["true"])
        gone.wait()
        for number, words in ((other.pid, "waits for no trigger"), (gone.pid, "There is no process")):
            result = gpubench(f"--trigger={number}")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(words, result.stderr)
        if os.geteuid() == 0:  # a process of another user, and a name that another user has taken
            theirs = subprocess.Popen(["sleep", "60"], user=65534)
            self.addCleanup(theirs.wait)
            self.addCleanup(theirs.kill)
            result = gpubench(f"--trigger={theirs.pid}")
            self.assertEqual((result.returncode, "is another user's" in result.stderr), (64, True), result.stderr)


class Wrong(unittest.TestCase):
    def test_without_a_program(self):
        result = gpubench()
        self.assertEqual(result.returncode, 64)
        self.assertIn("takes a program after --", result.stderr)

    def test_expressions_and_files(self):
        for arguments, words in ((["--kernels=(", "--", "true"], "is no regular expression"),
                                 (["--out=x.xyz", "--", "true"], "this can be written as"),
                                 (["--recording=/no-such-folder"], "Give --recording the folder that --keep named"),
                                 (["--capture-range=nvtx", "--", "true"], "takes cudaProfilerApi")):
            result = gpubench(*arguments)
            self.assertEqual(result.returncode, 64, arguments)
            self.assertIn(words, result.stderr)


    def test_a_folder_without_a_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            result = gpubench(f"--recording={folder}")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn("holds no recording", result.stderr)
            (pathlib.Path(folder) / "1.gprec").write_text("none")
            result = gpubench(f"--recording={folder}")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn("1.gprec", result.stderr)
            (pathlib.Path(folder) / "1.gprec").rename(pathlib.Path(folder) / "1.gpspool")
            result = gpubench(f"--spools={folder}", "--max-spool=1")
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn("1.gpspool", result.stderr)


class OfAKeptRecording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "1.gprec").write_bytes(pathlib.Path(RECORDING).read_bytes())

    def test_is_judged_without_the_gpu_and_written_in_every_format(self):
        outputs = [self.folder / name for name in ("run.json", "run.html", "run.csv", "run.md", "run.perfetto-trace", "run.trace.json")]
        result = gpubench(f"--recording={self.folder}", f"--calibration={CALIBRATION}", *(f"--out={file}" for file in outputs))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "")
        for words in ("624 kernel launches", "multiply_add", "compute", "triad", "DRAM"):
            self.assertIn(words, result.stderr)
        for file in outputs:
            self.assertGreater(file.stat().st_size, 1000, file)
        run = json.loads(outputs[0].read_text())
        self.assertEqual(run["program"]["kernel_launches"], 624)
        trace = json.loads(outputs[-1].read_text())
        kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 624)
        again = subprocess.run([PROGRAM, "compare", outputs[0], outputs[0]], capture_output=True, text=True, timeout=300)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_is_of_the_steady_state_unless_all_is_asked_for(self):
        def told(*words):
            report = self.folder / "run.json"
            result = gpubench(f"--recording={self.folder}", f"--calibration={CALIBRATION}", f"--out={report}", *words)
            return result.stderr, json.loads(report.read_text())
        text, run = told()
        program = run["program"]
        self.assertEqual((program["steady"]["by"], [step["steps"] for step in program["steps"]]), ("range step", [program["steady"]["steps"]]))
        self.assertEqual([phase["kind"] for phase in program["phases"]], ["start", "setup", "weights", "warm-up", "steady", "end"])
        self.assertIn("The report is of the steady state", text)
        self.assertIn("would take", text)
        points = {point["measurement"]["name"] for point in run["points"]}
        self.assertFalse(any(name.startswith("copy-host-to-device") for name in points), points)
        self.assertTrue(all(kernel["range"].startswith("step") for kernel in program["kernels"]))
        text, run = told("--whole")
        self.assertNotIn("steady", run["program"])
        self.assertNotIn("The report is of", text)
        self.assertIn("phases: start", text)
        self.assertTrue(any(point["measurement"]["name"].startswith("copy-host-to-device") for point in run["points"]))
        text, run = told("--range=stream")
        self.assertEqual(run["program"]["steady"]["by"], "range stream")
        self.assertEqual(run["program"]["steady"]["steps"], 6)
        text, run = told("--range=no such")
        self.assertIn("There is no range of this name", text)

    def test_a_failing_standard_error_leaves_the_report(self):
        report = self.folder / "run.json"
        done = subprocess.run(f"'{PROGRAM}' profile --recording={self.folder} --calibration={CALIBRATION} --out={report} 2>/dev/full",
                              shell=True, timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(report.read_text())["program"]["kernel_launches"], 624)

    def test_nothing_is_said_twice_and_nothing_without_use(self):
        with open(self.folder / "1.gprec", "r+b") as recording:
            recording.truncate(recording.seek(0, 2) - 1)  # a warning: it has no end
        result = gpubench(f"--recording={self.folder}", f"--calibration={CALIBRATION}")
        self.assertEqual(result.stderr.replace("\n         ", " ").count("has no end"), 1, result.stderr)
        for useless in ("0.0 % of it", "<0.1 %,", "_v3020"):
            self.assertNotIn(useless, result.stderr)

    def scaled(self, name, factor, count=3):
        """Runs of this recording as so many processes would write them, times of triad by this factor."""
        self.assertEqual(gpubench(f"--recording={self.folder}", f"--calibration={CALIBRATION}", f"--out={self.folder}/run.json", "--quiet").returncode, 0)
        folder = self.folder / name
        folder.mkdir()
        for i in range(count):
            run = json.loads((self.folder / "run.json").read_text())
            self.assertNotIn("host_code", run["context"]["environment"], "gpubench's own code is not the program's")
            run["context"]["created_utc"] = f"2026-01-01T00:00:0{i}Z {name}"
            for point in run["points"]:
                for timing in point["measurement"]["timings"]:
                    times = factor * (1 + 0.0003 * i) if point["measurement"]["operation"] == "triad" else 1 + 0.0003 * i
                    for key in ("samples_seconds", "block_sizes"):
                        timing.pop(key, None)
                    for key, value in (timing.get("seconds") or {}).items():
                        if isinstance(value, float):
                            timing["seconds"][key] = value * times
                        elif isinstance(value, list):
                            timing["seconds"][key] = [one * times for one in value]
            (folder / f"run-{i}.json").write_text(json.dumps(run))
        return folder

    def test_gate_keeps_and_checks_a_programs_kernels(self):
        call = lambda *words: subprocess.run([PROGRAM, "gate", *map(str, words), f"--store={self.folder}/store"], capture_output=True, text=True, timeout=300)
        base = self.scaled("base", 1.0)
        self.assertEqual(call("update", base).returncode, 0)
        same = call("check", self.scaled("same", 1.0))
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        slower = call("check", self.scaled("slower", 1.3))
        self.assertEqual(slower.returncode, 1, slower.stdout + slower.stderr)
        self.assertIn("triad", slower.stdout)
        self.assertNotIn("same machine code", slower.stdout)

    def test_ab_takes_scripts_that_profile(self):
        sides = []
        for name in ("base", "next"):
            script = self.folder / name
            script.write_text(f'#!/bin/sh\nexec "{PROGRAM}" profile "$@" "--recording={self.folder}" "--calibration={CALIBRATION}"\n')
            script.chmod(0o755)
            sides.append(script)
        result = subprocess.run([PROGRAM, "ab", *sides, "--pairs=2", f"--out={self.folder}/ab.json"], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        points = json.loads((self.folder / "ab.json").read_text())["points"]
        self.assertTrue(any("triad" in json.dumps(point) for point in points))

    def test_can_be_narrowed(self):
        result = gpubench(f"--recording={self.folder}", f"--calibration={CALIBRATION}", "--range=arithmetic", "--kernels=^multiply")
        self.assertIn("multiply_add", result.stderr)
        self.assertNotIn("triad", result.stderr)

    def test_without_ceilings_of_its_gpu_there_are_no_verdicts(self):
        result = gpubench(f"--recording={self.folder}")
        self.assertEqual(result.returncode, 0)
        self.assertIn("is not in this machine", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
