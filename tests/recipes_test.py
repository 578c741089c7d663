#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING's recipes: each names its patch in tests/recipes and how many files that touches. A patch adds a small but whole
example, and must apply to the sources as they are.

A patch that does not apply any more: make its change by hand, then `git add -AN && git diff -U1 > tests/recipes/NAME.patch`, and
take the change back."""
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "recipes"
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<count>\d+) \| \[[^]]+\]\(tests/recipes/(?P<name>\w+)\.patch\) \|", re.MULTILINE)
THINGS = {"ceiling", "regime", "format", "command", "flag", "metric", "reader", "analysis", "decorator", "vendor"}


def files_of(patch):
    """What a patch touches; each file once."""
    return re.findall(r"^diff --git a/(\S+) b/\1$", patch, re.MULTILINE)


def why_not(patch, root=ROOT):
    """What git says of a patch that does not apply; empty where it does."""
    done = subprocess.run(["git", "apply", "--check", "-"], input=patch, cwd=root, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@unittest.skipUnless(shutil.which("git"), "git applies the patches")
class Recipes(unittest.TestCase):
    def setUp(self):
        self.patches = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.patch")}

    def test_there_is_one_for_each_thing_that_may_be_added(self):
        self.assertEqual(set(self.patches), THINGS)

    def test_contributing_tells_how_many_files_each_touches(self):
        told = {row["name"]: int(row["count"]) for row in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))}
        self.assertEqual(told, {name: len(files_of(patch)) for name, patch in self.patches.items()})

    def test_they_apply(self):
        for name, patch in self.patches.items():
            with self.subTest(recipe=name):
                self.assertEqual(why_not(patch), "")

    def test_one_whose_file_is_gone_or_differs_is_seen(self):
        patch = self.patches["ceiling"]
        self.assertIn("No such file", why_not(patch.replace("core/model/resources.cpp", "core/model/gone.cpp")))
        self.assertIn("does not apply", why_not(patch.replace("From device memory", "").replace("\n ", "\n other ", 1)))


if __name__ == "__main__":
    unittest.main()
