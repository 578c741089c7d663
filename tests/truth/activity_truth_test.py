#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of tests/truth/activity_truth.py."""

import unittest

import activity_truth


def point(microseconds, agreement="agrees", launches=1):
    seconds = {"count": 20, "median": microseconds * 1e-6, "median_ci95": [0.9e-6 * microseconds, 1.1e-6 * microseconds]}
    return {"name": "copy", "timings": [{"clock": "stream", "seconds": {"median": 1.0}}, {"clock": "device", "seconds": seconds}],
            "activity": {"agreement": agreement, "kernels": [{"launches": launches}]}}


class Activity(unittest.TestCase):
    def test_errors_go_up_and_down_and_leave_the_stream(self):
        run = activity_truth.with_errors({"points": [{"measurement": point(100)}, {"measurement": point(100)}]}, 0.05)
        up, down = (each["measurement"] for each in run["points"])
        self.assertAlmostEqual(activity_truth.device_seconds(up)["median"], 105e-6)
        self.assertAlmostEqual(activity_truth.device_seconds(down)["median"], 95e-6)
        self.assertAlmostEqual(activity_truth.device_seconds(down)["median_ci95"][1], 104.5e-6)
        self.assertEqual(activity_truth.device_seconds(up)["count"], 20)
        self.assertEqual(up["timings"][0]["seconds"]["median"], 1.0)
        self.assertNotIn("activity", up)

    def test_errors_in_common_all_go_one_way(self):
        planted = activity_truth.with_errors({"points": [{"measurement": point(100)}, {"measurement": point(100)}], "warnings": ["old"]}, -0.05, common=True)
        for each in activity_truth.measurements(planted):
            self.assertAlmostEqual(activity_truth.device_seconds(each)["median"], 95e-6)
        self.assertEqual(planted["warnings"], [], "a run without the key is refused")

    def test_what_points_have_in_common_is_a_warning_of_the_run(self):
        said = "On cuda:0, device times are 5.1 % (4.6 to 5.6 %) shorter than the driver's activity records say, in common over 60 points."
        self.assertEqual(activity_truth.in_common({"warnings": ["another", said]}), [said])
        self.assertEqual(activity_truth.in_common({}), [])

    def test_points_are_counted_by_how_long_a_kernel_takes(self):
        rows, found = activity_truth.table([point(2), point(10, "disagrees"), point(10, "disagrees", 5), point(50), point(50, "not_compared")])
        self.assertEqual(rows, [("0 to 3", 2, 1), ("3 to 6", 0, 0), ("6 to 30", 1, 1), ("30 and more", 1, 0), ("all", 4, 2)])
        self.assertEqual(len(found), 2)


if __name__ == "__main__":
    unittest.main()
