# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on a GPU costs the points it goes wrong at, and no others. Arguments: the program.

Exit code 77: skipped, because there is no CUDA device."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def run(*arguments, cache):
    environment = dict(os.environ, XDG_CACHE_HOME=str(cache))
    return subprocess.run([PROGRAM, "--device=cuda:0", *arguments], env=environment, capture_output=True, text=True, timeout=300)


class GpuTroubles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gpubench-test-")
        out = pathlib.Path(cls.folder.name) / "run.json"
        cls.result = run(f"--out={out}", cache=cls.folder.name)
        cls.points = {}
        for point in json.loads(out.read_text())["points"]:
            measurement = point["measurement"]
            name = measurement["operation"] + "".join(f"/{argument['value']}" for argument in measurement["arguments"])
            cls.points[name] = measurement

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def failure(self, name):
        return self.points[name]["failure"]["message"]

    def test_good_points_are_kept(self):
        for name in ("works/1024", "works/4096", "too_large/1024", "too_large/2048"):
            self.assertIn("seconds", self.points[name], name)

    def test_failures_say_why(self):
        self.assertIn("cudaErrorInvalid", self.failure("too_many_threads"))
        self.assertIn("bytes free", self.failure(f"too_large/{1 << 46}"))
        self.assertIn("cudaErrorIllegalAddress", self.failure("illegal_address"))
        self.assertIn("earlier error", self.failure("comes_after/1024"))

    def test_exit_code_and_one_sentence_each(self):
        self.assertEqual(self.result.returncode, 2, self.result.stderr)
        self.assertIn("4 of 8 points failed", self.result.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        probe = run("--list", cache=cache)
    if probe.returncode == 64 and "cuda:0" in probe.stderr:
        print("skipped: no CUDA device: " + probe.stderr.strip())
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
