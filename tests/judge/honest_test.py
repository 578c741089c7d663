#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No honest candidate is refused or called wrong: honest_test.py [gpu] [NAME...]"""
import sys
import unittest

from exploits_test import HERE, NAMES, ON_GPU, judged, that_can_run

FILES = [file for file in sorted((HERE / "honest").iterdir()) if file.suffix in (".py", ".toml")]


class Honest(unittest.TestCase):
    def test_all_are_right(self):
        files = [file for file in FILES if not NAMES or file.stem in NAMES]
        self.assertTrue(files)
        results = judged(that_can_run(files))
        for file, result in results.items():
            with self.subTest(candidate=file.stem):
                self.assertEqual(result.verdict, "right", f"{result.reason}: {result.text}")
                self.assertGreater(result.calls_timed, 0)
                self.assertGreaterEqual(result.calls_checked, (0.2 if ON_GPU else 1.0) * result.calls_timed)  # a share of long batches on a GPU
        print(f"{len(results)} honest candidates, none refused")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word not in (*NAMES, "gpu"))])
