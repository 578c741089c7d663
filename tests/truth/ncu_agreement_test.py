# SPDX-License-Identifier: Apache-2.0
"""Reading what Nsight Compute writes, and the table made of it."""

import unittest

import ncu_agreement as agreement

HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
          '"Section Name","Metric Name","Metric Unit","Metric Value"')


def line(number, name, value, unit="ns", grid="(4096, 1, 1)", block="(256, 1, 1)", metric="gpu__time_duration.sum"):
    return f'"{number}","77","program","127.0.0.1","{name}","1","13","{block}","{grid}","0","9.0","Command line profiler metrics","{metric}","{unit}","{value}"'


def csv_of(*kernels):
    """As ncu writes it, with its own messages around."""
    return ["==PROF== Connected to process 77 (/tmp/program)\n", '==PROF== Profiling "copy": 0%....100% - 1 pass\n', HEADER + "\n",
            *[kernel + "\n" for kernel in kernels], "==PROF== Disconnected from process 77\n"]


SPIN = "gpubench::truth::<unnamed>::spin_kernel(long long)"
GRAPH = "graph"
COPY = "void <unnamed>::copy_kernel<float>(const T1 *, T1 *, long)"


def measurement(name, expected=None, recorded=None, kernels=()):
    activity = {"reason": "no CUPTI"} if expected is None else {
        "expected_seconds": {"value": expected}, "seconds": {"value": recorded},
        "kernels": [{"name": kernel, "grid": [4096, 1, 1], "block": [256, 1, 1], "launches": 1} for kernel in kernels]}
    clocks = [] if expected is None else [{"clock": "device", "seconds": {"median": expected - 0.5e-6}}]
    return {"measurement": {"name": name + "/manual_time", "repetition": 0, "clock": "stream", "activity": activity, "other_clocks": clocks}}


class Reading(unittest.TestCase):
    def test_kernels_in_their_order_in_seconds(self):
        kernels = agreement.kernels_of(csv_of(line(2, COPY, "2.5", "us"), line(0, SPIN, "1,504"), line(1, COPY, "0.003", "msecond")))
        self.assertEqual([kernel[0] for kernel in kernels], [SPIN, COPY, COPY])
        for kernel, seconds in zip(kernels, (1.504e-6, 3e-6, 2.5e-6)):
            self.assertAlmostEqual(kernel[3], seconds, delta=1e-15)
        self.assertEqual(kernels[0][1:3], ([4096, 1, 1], [256, 1, 1]))

    def test_other_metrics_and_messages_are_passed_over(self):
        kernels = agreement.kernels_of(csv_of(line(0, SPIN, "1504"), line(0, SPIN, "9", "cycle", metric="sm__cycles_active.avg")))
        self.assertEqual(len(kernels), 1)

    def test_what_cannot_be_read_is_a_sentence(self):
        for lines, words in (([], "no table"), (["==ERROR== ERR_NVGPUCTRPERM\n"], "ERR_NVGPUCTRPERM"),
                             (csv_of(line(0, SPIN, "n/a")), "no number"), (csv_of(line(0, SPIN, "5", "cycle")), "'cycle'")):
            with self.assertRaisesRegex(agreement.Unreadable, words):
                agreement.kernels_of(lines)

    def test_points_begin_with_a_marker(self):
        kernels = agreement.kernels_of(csv_of(*[line(i, name, "5") for i, name in enumerate((SPIN, COPY, COPY, GRAPH, SPIN, GRAPH, SPIN))]))
        self.assertEqual([(len(execution), len(graphs)) for execution, graphs in agreement.points_of(kernels)], [(2, 1), (0, 1), (0, 0)])
        with self.assertRaisesRegex(agreement.Unreadable, "before the first"):
            agreement.points_of(kernels[1:])

    def test_an_execution_takes_what_many_take_longer_than_few(self):
        of_operation, waiting, twice = [1.0, 1.5, 3.0, 3.6, 1.0, 9.0], [1.0, 1.2] * 3, [2.0, 2.3, 1.0, 1.25, 1.0, 1.2]
        points = agreement.by_point([("a", 10, 60, 3), ("b", 1, 2, 1)],
                                    [(["k"], of_operation + waiting + twice), ([], [1.0, 3.0, 1.0, 2.0, 1.0, 2.5])])
        self.assertEqual(points["a"][0], ["k"])
        self.assertAlmostEqual(points["a"][1], 0.012)
        self.assertAlmostEqual(points["a"][2], 2 * 0.004 - 0.005)
        self.assertAlmostEqual(points["b"][1], 2.0)
        self.assertAlmostEqual(points["b"][2], 0.5)
        with self.assertRaisesRegex(agreement.Unreadable, "lists 1 points, and 2 ran"):
            agreement.by_point([("a", 1, 2, 1), ("b", 1, 2, 1)], [([], [1.0, 2.0])])
        with self.assertRaisesRegex(agreement.Unreadable, "lists 1 graphs of a, and 6 ran"):
            agreement.by_point([("a", 1, 2, 1)], [([], [1.0])])

    def test_names_are_compared_without_what_each_tool_writes_in_its_own_way(self):
        for name in ("copy_kernel", COPY, "void (anonymous namespace)::copy_kernel<float>(float const*, float*, long)",
                     "gpubench::copy_kernel(float*)"):
            self.assertEqual(agreement.short(name), "copy_kernel", name)


class Table(unittest.TestCase):
    def lines(self, *points, profiled):
        run = {"points": list(points)}
        return list(agreement.rows(run, {name + "/manual_time": point for name, point in profiled.items()}))

    def kernels(self, *names):
        return [(name, [4096, 1, 1], [256, 1, 1], 1e-6) for name in names]

    def test_a_row_holds_device_time_and_fixed_cost_apart(self):
        recorded = measurement("copy/1", 5e-6, 5.05e-6, [COPY, COPY])
        (name, device, fixed, activity, ncu, own, remark), = self.lines(
            recorded, profiled={"copy/1": (self.kernels(COPY, COPY), 5.1e-6, 1.2e-6)})
        self.assertEqual((name, activity, ncu, own, remark), ("copy/1", 5.05e-6, 5.1e-6, 1.2e-6, ""))
        self.assertAlmostEqual(fixed, 0.5e-6, delta=1e-15)
        self.assertAlmostEqual(device, 4.5e-6, delta=1e-15)

    def test_tolerance_is_a_tenth_of_a_microsecond_or_a_percent(self):
        self.assertTrue(agreement.within(2.59e-6, 2.5e-6))
        self.assertFalse(agreement.within(2.61e-6, 2.5e-6))
        self.assertTrue(agreement.within(0.991e-3, 1e-3))
        self.assertFalse(agreement.within(0.989e-3, 1e-3))

    def test_rows_say_yes_no_or_why_not(self):
        lines = self.lines(measurement("copy/1", 2.5e-6, 2.55e-6, [COPY]), measurement("gemm/1", 1e-3, 1.02e-3, ["another"]),
                           measurement("odd/1"), profiled={"copy/1": (self.kernels(COPY), 2.7e-6, 1.2e-6), "gemm/1": (self.kernels(COPY), 1e-3, 1e-6),
                                                           "odd/1": (self.kernels(COPY), 1e-3, 1e-6)})
        text = agreement.table(lines).splitlines()
        self.assertEqual(text[2], "| copy/1 | 2.000 | 0.500 | 2.550 | 2.700 | 1.200 | +0.050 us, +2.00 % | -0.500 us, -25.00 % | yes | **no** |")
        self.assertIn("| **no** | ncu saw other kernels |", text[3])
        self.assertEqual(text[4], "| odd/1 | | | | 1000.000 | 1.000 | | | not compared: no CUPTI | |")
        self.assertIn("activity records 1 of 2 points, ncu 0 of 1.", text[-1])
        self.assertEqual({row.count("|") for row in text[:5]}, {11})


if __name__ == "__main__":
    unittest.main()
