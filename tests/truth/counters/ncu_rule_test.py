# SPDX-License-Identifier: Apache-2.0
"""The table of the SpeedOfLight rule's figures beside Nsight Compute's own."""

import tempfile
import unittest
from pathlib import Path

import ncu_agreement as agreement
import ncu_rule as rule
from ncu_agreement_test import COPY, IDLE, SPIN, csv_of, line, measurement


def counted(name, compute, memory):
    point = measurement(name, 1e-6, 1e-6, [COPY, COPY])
    point["measurement"]["counters"] = [{"name": rule.COMPUTE, "value": compute}, {"name": rule.MEMORY, "value": memory}]
    return point


def kernel(number, name, nanoseconds, compute, memory):
    return [line(number, name, str(nanoseconds)), line(number, name, str(compute), "%", metric=rule.COMPUTE),
            line(number, name, str(memory), "%", metric=rule.MEMORY)]


class Rule(unittest.TestCase):
    def points(self, *kernels):
        lines = csv_of(*[each for group in kernels for each in group])
        return {metric: agreement.by_point([("a/manual_time", 1)], agreement.executions_of(agreement.kernels_of(lines, metric)))
                for metric in (agreement.METRIC, rule.COMPUTE, rule.MEMORY)}

    def test_kernels_count_by_how_long_they_take_and_idle_ones_not_at_all(self):
        points = self.points(kernel(0, SPIN, 5, 0, 0), kernel(1, IDLE, 5, 99, 99), kernel(2, COPY, 100, 10, 80), kernel(3, COPY, 300, 20, 40))
        (name, ours, theirs, remark), = rule.rows({"points": [counted("a", 17.0, 58.0)]}, points)
        self.assertEqual((name, ours, remark), ("a", (17.0, 58.0), ""))
        for found, expected in zip(theirs, (17.5, 50.0), strict=True):
            self.assertAlmostEqual(found, expected, delta=1e-9)

    def test_figures_that_are_far_apart_are_told(self):
        text = rule.table([("a", (17.0, 58.0), (17.5, 50.0), ""), ("b", (17.0, 51.0), (17.5, 50.0), ""), ("c", (1.0, 1.0), (50.0, 1.0), "other")])
        self.assertIn("| a | 17.0 | 17.5 | 58.0 | 50.0 | +8.0 | **no** |", text)
        self.assertIn("| -49.0 | other |", text)
        self.assertIn("1 of 2.", text)

    def test_points_without_the_counters_are_left_out(self):
        points = self.points(kernel(0, SPIN, 5, 0, 0), kernel(1, COPY, 100, 10, 80))
        self.assertEqual(list(rule.rows({"points": [measurement("a", 1e-6, 1e-6)]}, points)), [])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder, "executions.txt")
            plan.write_text("a/manual_time\t3\nnothing\n", encoding="utf-8")
            run = Path(folder, "run.json")
            run.write_text('{"points": []}', encoding="utf-8")
            self.assertEqual(agreement.run_and_plan(run, plan), ({"points": []}, [("a/manual_time", 3)]))


if __name__ == "__main__":
    unittest.main()
