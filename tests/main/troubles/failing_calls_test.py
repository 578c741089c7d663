# SPDX-License-Identifier: Apache-2.0
"""Each call of the system that a command makes fails once: what comes out is a sentence, a documented exit code and whole
files. Arguments: gpubench, the program that crashes, the library that lets calls fail."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import FolderTest, children_of, wait_until_gone  # noqa: E402

GPUBENCH, CRASHING, SHIM = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
QUICK = ("--device=cpu", "--drift-check=off", "--filter=^copy/n:(1024|4096)/", "--time-budget=0.01")


def limited(**limits):
    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))
    return set_limits


class FailingCalls(FolderTest):
    columns = 100

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "work").mkdir()
        cls.environment["OMP_NUM_THREADS"] = "1"
        cls.log = cls.folder / "log"
        # Ceilings that were measured under load are not kept unasked, and each run would measure its own.
        cls.gpubench("--device=cpu", "--calibrate", "--accept-load", "--quiet")
        first = cls.gpubench(*QUICK, f"--out={cls.folder}/run.json")
        assert first.returncode == 0, first.stderr

    @classmethod
    def gpubench(cls, *arguments, program=GPUBENCH, stdout=subprocess.PIPE, fail=None, **options):
        environment = dict(cls.environment, FAIL=fail, FAIL_LOG=str(cls.log), LD_PRELOAD=str(SHIM), OMP_NUM_THREADS="2" if fail.startswith("thread") else "1") if fail else cls.environment
        return subprocess.run([str(program), *map(str, arguments)], env=environment, stdout=stdout, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=300, **options)

    def assert_sentence(self, result, *words, codes=(2, 64)):
        self.assertIn(result.returncode, codes, result.stderr)
        last = ([line for line in result.stderr.strip().splitlines() if not line.startswith("gpubench: wrote ")] or [""])[-1]
        self.assertRegex(last, r"^gpubench: .+ .+ .+", result.stderr)
        self.assertNotRegex(result.stderr, r"std::|terminate called|what\(\)")
        for word in words:
            self.assertIn(word, last)

    def assert_clean(self, work):
        for left in [file for top in (work, self.folder / "cache", self.folder / "tmp") for file in top.rglob("*")]:
            self.assertFalse(left.name.startswith((".gpubench-", "gpubench-")) and left.name != "gpubench", left)
            if left.suffix == ".json":
                json.loads(left.read_text())

    def walk(self, call, arguments, most=20, codes=(0, 2, 64)):
        """Lets one call after another fail, the later ones with gaps, until the command makes no more of them. Returns how often one failed."""
        failed, number = 0, 1
        while number <= most:
            for forever in ("", "+"):
                work = self.folder / "work"
                shutil.rmtree(work)
                work.mkdir()
                shutil.copy(self.folder / "run.json", work / "old.json")
                self.log.unlink(missing_ok=True)
                fail = f"{call}:{number}{forever}"
                with self.subTest(fail=fail, arguments=arguments):
                    result = self.gpubench(*arguments, fail=fail, cwd=work)
                    if not self.log.exists():
                        return failed
                    failed += 1
                    self.assertIn(result.returncode, codes, result.stderr)
                    if result.returncode != 0:
                        self.assert_sentence(result)
                    self.assert_clean(work)
                    if result.returncode == 0 and "--out=new.json" in arguments:
                        self.assertTrue((work / "new.json").exists())
            number += 1 + number // 4
        return failed

    def test_report(self):
        for call in ("write", "fsync", "rename", "open"):
            failed = self.walk(call, ["report", "old.json", "--out=new.json", "--out=new.csv", "--out=old.json"])
            self.assertGreater(failed, 2, call)

    def test_compare(self):
        for call in ("write", "fsync", "rename", "open", "thread"):
            self.assertGreater(self.walk(call, ["compare", "old.json", "old.json", "--out=new.json"], codes=(0, 2, 3, 64)), 0, call)

    def test_gate_update(self):
        for call in ("write", "fsync", "rename", "open"):
            self.assertGreater(self.walk(call, ["gate", "update", "--store=store", "old.json"]), 0, call)

    def test_run(self):
        for call in ("write", "fsync", "rename", "open", "mmap", "thread"):
            self.assertGreater(self.walk(call, [*QUICK, "--out=new.json", "--out=new.csv"], most=8), 0, call)

    def test_run_in_processes(self):
        for call in ("write", "fsync", "rename", "open", "fork", "thread"):
            self.assertGreater(self.walk(call, [*QUICK, "--isolate", "--out=new.json"], most=6), 0, call)

    def test_calibrate(self):
        for call in ("write", "rename", "thread"):
            self.assertGreater(self.walk(call, ["--device=cpu", "--calibrate", "--accept-load", "--out=new.json"], most=2), 0, call)

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            for arguments in (["report", "run.json"], ["--help"], ["--list", "--device=cpu"], ["compare", "run.json", "run.json"],
                              [*QUICK, "--out=shown.json"]):
                result = self.gpubench(*arguments, stdout=full, cwd=self.folder)
                self.assert_sentence(result, "Standard output cannot be written: No space left on device", codes=(64, 3) if arguments[0] == "compare" else (64,) if arguments[0] != QUICK[0] else (0,))
                self.assertEqual(len(result.stderr.splitlines()), len(set(result.stderr.splitlines())))
        self.assertEqual(len(json.loads((self.folder / "shown.json").read_text())["points"]), 2)

    def test_a_standard_error_that_is_full_or_closed_loses_nothing(self):
        for arguments, code in (([*QUICK, "--out=heard.json"], 0), (["report", "run.json", "--out=heard.json"], 0), (["report", "none.json"], 64),
                                (["compare", "run.json", "run.json", "--out=heard.json"], 0), (["doctor", "--out=heard.json"], 0),
                                (["--device=cpu", "--calibrate", "--accept-load", "--out=heard.json"], 0)):
            for how in ("full", "closed", "broken"):
                out = self.folder / "heard.json"
                out.unlink(missing_ok=True)
                ours, theirs = os.pipe()
                os.close(ours)
                with open("/dev/full", "w") as full:
                    result = subprocess.run([str(GPUBENCH), *arguments], env=self.environment, cwd=self.folder, timeout=300, stdout=theirs if how == "broken" else subprocess.DEVNULL,
                                            stderr={"full": full, "closed": None, "broken": theirs}[how], preexec_fn=(lambda: os.close(2)) if how == "closed" else None)
                os.close(theirs)
                self.assertEqual(result.returncode, code, (arguments, how))
                self.assertEqual(out.exists(), code == 0, (arguments, how))

    def test_a_closed_standard_output_is_no_file_of_ours(self):
        result = self.gpubench("report", "run.json", "--out=closed.json", cwd=self.folder, stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual((result.returncode, result.stderr), (0, "gpubench: wrote closed.json\n"))
        json.loads((self.folder / "closed.json").read_text())
        result = self.gpubench("report", "run.json", cwd=self.folder, stdout=None, preexec_fn=lambda: os.close(1))
        self.assert_sentence(result, "Standard output")

    def test_a_limit_on_the_size_of_files(self):
        for arguments in (["report", self.folder / "run.json", "--out=new.html"], [*QUICK, "--out=new.html"]):
            work = self.folder / "work"
            shutil.rmtree(work)
            work.mkdir()
            result = self.gpubench(*arguments, cwd=work, preexec_fn=limited(RLIMIT_FSIZE=20_000))
            self.assert_sentence(result, "File too large", "ulimit -f")
            self.assertEqual(list(work.iterdir()), [])

    def test_little_memory(self):
        points = json.loads((self.folder / "run.json").read_text())
        points["points"] = points["points"] * 20_000
        (self.folder / "long.json").write_text(json.dumps(points))
        result = self.gpubench("report", self.folder / "long.json", preexec_fn=limited(RLIMIT_AS=120_000_000))
        self.assert_sentence(result, "memory", codes=(2,))

    def test_few_files(self):
        codes = set()
        for number in (4, 5, 6, 8, 10):
            result = self.gpubench(*QUICK, preexec_fn=limited(RLIMIT_NOFILE=number))
            if result.returncode != 127:  # the loader had too few to start the program
                self.assertIn(result.returncode, (0, 2, 64), result.stderr)
                codes.add(result.returncode)
        self.assertTrue(codes)

    def test_exit_in_the_middle_is_no_result(self):
        result = self.gpubench("--device=cpu", "--drift-check=off", "--filter=^(works|exits)/", "--time-budget=0.01", program=CRASHING)
        self.assert_sentence(result, "exit(3)", "--isolate", codes=(2,))

    def test_a_killed_run_leaves_neither_files_nor_workers(self):
        process = subprocess.Popen([str(CRASHING), "--device=cpu", "--drift-check=off", "--filter=^hangs/n:2", "--isolate"], env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 100
        while not (workers := children_of(process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(workers)
        self.assertEqual(wait_until_gone(workers), [], "its worker ends too")
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
