# SPDX-License-Identifier: Apache-2.0
"""What tests of the command line share: a folder of their own, a calibration and a run of copy in it, and how words are refused."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

GPUBENCH = pathlib.Path(sys.argv[1])

# What the build of these tests and the machine's other work add to the warnings of a run.
NOT_OF_THE_RUN = re.compile(r"compiled without optimisation|This is a debug build|measured under load|because the clock was more than|clocks of .* held down")


def warnings_of(run):
    """Those of a run that every build gives on every machine, however busy."""
    return [warning for warning in run["warnings"] if not NOT_OF_THE_RUN.search(warning)]


def children_of(process):
    """The numbers of the processes that a process, or one of its own children, has started."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:  # it has ended meanwhile
            pass
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def wait_until_gone(processes, seconds=60):
    """Those that still run after this time."""
    until = time.monotonic() + seconds

    def runs(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    while (left := [process for process in processes if runs(process)]) and time.monotonic() < until:
        time.sleep(0.02)
    return left


class FolderTest(unittest.TestCase):
    """The tests of a class have a folder, and an environment in which programs keep there what they keep."""

    columns = 80

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "tmp").mkdir()
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache"), TMPDIR=str(cls.folder / "tmp"), COLUMNS=str(cls.columns))
        for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
            cls.environment.pop(name, None)

    @classmethod
    def gpubench(cls, *arguments, **environment):
        return subprocess.run([str(GPUBENCH), *map(str, arguments)], env=dict(cls.environment, **environment), capture_output=True, text=True, timeout=300)

    def fine(self, *arguments, **environment):
        """What it prints."""
        result = self.gpubench(*arguments, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def assert_refused(self, result, *words, code=64):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("gpubench: "), last)
        for word in words:
            self.assertIn(word, last)


class CommandLineTest(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = cls.gpubench("--calibrate", "--accept-load", f"--out={cls.folder}/calibration-run.json")
        cls.cached = list((cls.folder / "cache" / "gpubench").glob("*.json"))
        cls.measured = cls.gpubench("--filter=^copy/n:(1024|4096)/", *[f"--out={cls.folder}/run{e}" for e in (".json", ".csv", ".md", ".html")])

    @classmethod
    def gpubench(cls, *arguments, program=GPUBENCH, on_cpu=True, **environment):
        # A busy machine may well drift between two tests.
        given = any(argument.startswith("--drift-check") for argument in arguments)
        command = [str(program), *(["--device=cpu"] if on_cpu else []), *(["--drift-check=off"] if on_cpu and not given else []), *arguments]
        return subprocess.run(command, env=dict(cls.environment, **environment), capture_output=True, text=True, timeout=300)

    def stored(self, *arguments, **environment):
        return self.gpubench(*arguments, on_cpu=False, **environment)
