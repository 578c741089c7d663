# SPDX-License-Identifier: Apache-2.0
"""gpubench trace as its user meets it. Arguments: the program, a folder with traces of PyTorch."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, TRACES = sys.argv[1], pathlib.Path(sys.argv[2])
KINETO = str(TRACES / "kineto.json")


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpubench-trace-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def gpubench(self, *arguments, **environment):
        clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE")}
        return subprocess.run([PROGRAM, *map(str, arguments)], env=dict(clean, COLUMNS="80", **environment), capture_output=True, text=True, timeout=300)

    def fine(self, *arguments, **environment):
        result = self.gpubench(*arguments, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, *arguments, code=64):
        result = self.gpubench(*arguments)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_names_of_others(self):
        self.assertEqual(self.fine("hta", KINETO), self.fine("trace", "summary", KINETO))
        for name in ("flame", "timeline"):
            self.assertEqual(self.fine("help", name), self.fine("help", "trace", name))
        written = self.folder / "copy.trace.json"
        self.fine("trace", "convert", KINETO, "-o", written)
        self.assertGreater(len(json.loads(written.read_text())["traceEvents"]), 10)

    def test_wrong_words(self):
        self.assertIn("Did you mean summary?", self.refused("trace", "sumary"))
        self.assertIn("needs an action: summary, ", self.refused("trace"))
        self.assertIn("this can be written as .json", self.refused("trace", "summary", KINETO, "--out=a.pdf"))
        self.assertIn("needs --out=FILE", self.refused("trace", "convert", KINETO))

    def test_any_format(self):
        spool = TRACES.parent.parent / "profile" / "data" / "plain_program.gpspool"
        as_spool = self.fine("trace", "kernels", spool)
        for written in ("copy.perfetto-trace", "copy.trace.json"):
            self.fine("trace", "convert", spool, "-o", self.folder / written)
            self.assertEqual(self.fine("trace", "kernels", self.folder / written), as_spool)
        self.assertIn("saxpy", self.fine("trace", "kernels", TRACES / "official.perfetto-trace"))

    def test_two_files_of_one_rank(self):
        shutil.copy(KINETO, self.folder / "other.json")
        message = self.refused("trace", "summary", KINETO, self.folder / "other.json")
        self.assertIn("two traces are of rank 0: ", message)
        self.assertIn("other.json", message)

    def test_files_that_are_none(self):
        self.assertIn("No such file", self.refused("trace", "summary", self.folder / "none.json"))
        self.assertIn("this folder has no trace", self.refused("trace", "summary", self.folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
