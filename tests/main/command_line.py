# SPDX-License-Identifier: Apache-2.0
"""What tests of the command line share: a calibration and a run of copy in a folder of their own, and how words are refused."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GPUBENCH = pathlib.Path(sys.argv[1])


class CommandLineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-test-"))
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache"), COLUMNS="80")
        for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
            cls.environment.pop(name, None)
        cls.first = cls.gpubench("--calibrate", "--accept-load", f"--out={cls.folder}/calibration-run.json")
        cls.cached = list((cls.folder / "cache" / "gpubench").glob("*.json"))
        cls.measured = cls.gpubench("--filter=^copy/n:(1024|4096)/", *[f"--out={cls.folder}/run{e}" for e in (".json", ".csv", ".md", ".html")])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def gpubench(cls, *arguments, program=GPUBENCH, on_cpu=True):
        # A busy machine may well drift between two tests.
        given = any(argument.startswith("--drift-check") for argument in arguments)
        command = [str(program), *(["--device=cpu"] if on_cpu else []), *(["--drift-check=off"] if on_cpu and not given else []), *arguments]
        return subprocess.run(command, env=cls.environment, capture_output=True, text=True, timeout=300)

    def stored(self, *arguments):
        return self.gpubench(*arguments, on_cpu=False)

    def assert_refused(self, result, *words, code=64):
        self.assertEqual(result.returncode, code, result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("gpubench: "), last)
        for word in words:
            self.assertIn(word, last)
