#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of tests/truth/advice_truth.py."""

import unittest

import advice_truth


def point(operation, microseconds, advice=()):
    timings = [{"clock": "stream", "seconds": {"median": microseconds * 1e-6}}] if microseconds else []
    return {"measurement": {"operation": operation, "timings": timings}, "verdict": {"limiter": "dram", "advice": list(advice)}}


def rows(*points):
    return {row[0]: row for row in advice_truth.rows({"points": points})}


class Advice(unittest.TestCase):
    def test_a_gain_is_compared_with_the_fall_that_was_promised(self):
        row = rows(point("before_a", 10, [{"action": "fuse", "gain": 5.0}]), point("after_a", 4))["a"]
        self.assertEqual(row[2:4], ("fuse", 5.0))
        self.assertAlmostEqual(row[4], 2.5)
        self.assertAlmostEqual(row[5], 0.75)  # 6 of the 8 us

    def test_without_a_promise_or_a_twin_there_is_no_share(self):
        found = rows(point("before_a", 10, [{"action": "sort"}]), point("after_a", 4), point("before_b", 10, [{"action": "fuse", "gain": 2.0}]),
                     point("before_c", 10), point("after_c", None))
        self.assertEqual([found[name][5] for name in "abc"], [None, None, None])
        self.assertAlmostEqual(found["a"][4], 2.5)
        self.assertEqual(found["c"][2], "no advice")

    def test_less_than_a_third_falls_short(self):
        kept = [point("before_a", 10, [{"action": "fuse", "gain": 2.0}]), point("after_a", 8)]
        self.assertEqual(advice_truth.table({"points": kept})[1], 0)  # 2 of 5 us
        short = [point("before_a", 10, [{"action": "fuse", "gain": 2.0}]), point("after_a", 9)]
        lines, count = advice_truth.table({"points": short})
        self.assertEqual(count, 1)
        self.assertIn("0 of 1 promises", lines[-1])


if __name__ == "__main__":
    unittest.main()
