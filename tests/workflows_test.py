#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the workflows of .github promise: all fuzz targets every night, wheels and Debian packages in a release, tests under clang-tidy."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"


def steps_of(name):
    return (WORKFLOWS / name).read_text(encoding="utf-8")


class Workflows(unittest.TestCase):
    def test_every_fuzz_target_runs_at_night(self):
        command = re.search(r"all=\$\((sed .*?) \| jq", steps_of("fuzz.yml"))[1]
        listed = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(sorted(listed), sorted(folder.name for folder in (ROOT / "tests" / "fuzz" / "corpus").iterdir()))

    def test_a_release_has_wheels_and_debian_packages(self):
        text = steps_of("release.yml")
        published = re.search(r"gh release create .*", text)[0]
        for kind in ("packages/*.deb", "packages/*.whl"):
            self.assertIn(kind, published)
        self.assertIn("pypa/cibuildwheel", text)

    def test_clang_tidy_sees_every_room_and_the_tests(self):
        command = re.search(r"mapfile -t rooms < <\((.*?)\)\s", (ROOT / "scripts" / "style.sh").read_text(encoding="utf-8"))[1]
        rooms = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        self.assertTrue({"tests", "examples", "core", "gpu", "timeline", "python"} <= set(rooms), rooms)
        headers = re.search(r"HeaderFilterRegex: '\((.*)\)/", (ROOT / ".clang-tidy").read_text(encoding="utf-8"))[1].split("|")
        self.assertLessEqual(set(rooms) - {"examples", "python"}, set(headers))


if __name__ == "__main__":
    unittest.main()
