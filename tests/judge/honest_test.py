#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No honest candidate is refused or called wrong: honest_test.py [NAME...]"""
import sys
import unittest

from exploits_test import HERE, judged

FILES = [file for file in sorted((HERE / "honest").iterdir()) if file.suffix in (".py", ".toml")]


class Honest(unittest.TestCase):
    def test_all_are_right(self):
        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        results = judged([file for file in FILES if not words or file.stem in words])
        for file, result in results.items():
            with self.subTest(candidate=file.stem):
                self.assertEqual(result.verdict, "right", f"{result.reason}: {result.text}")
                self.assertGreater(result.calls_timed, 0)
                self.assertGreaterEqual(result.calls_checked, result.calls_timed)
        print(f"{len(results)} honest candidates, none refused")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word.startswith("-"))])
