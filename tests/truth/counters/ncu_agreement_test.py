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
IDLE = "gpubench::bench::<unnamed>::idle_kernel(long long)"
COPY = "void <unnamed>::copy_kernel<float>(const T1 *, T1 *, long)"


def measurement(name, expected=None, recorded=None, kernels=()):
    activity = {"reason": "no CUPTI"} if expected is None else {
        "seconds": {"value": recorded}, "recording_seconds": {"value": 0.5e-6 / max(len(kernels), 1)},
        "kernels": [{"name": kernel, "grid": [4096, 1, 1], "block": [256, 1, 1], "launches": 1} for kernel in kernels]}
    clocks = [] if expected is None else [{"clock": "device", "seconds": {"median": expected - 0.5e-6}}]
    return {"measurement": {"name": name + "/manual_time", "repetition": 0, "activity": activity, "timings": [{"clock": "stream"}, *clocks]}}


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

    def test_executions_begin_with_a_marker(self):
        kernels = agreement.kernels_of(csv_of(*[line(i, name, "5") for i, name in enumerate((SPIN, IDLE, COPY, COPY, SPIN, COPY, SPIN))]))
        self.assertEqual([(len(own), len(idle)) for own, idle in agreement.executions_of(kernels)], [(2, 1), (1, 0), (0, 0)])
        with self.assertRaisesRegex(agreement.Unreadable, "before the first"):
            agreement.executions_of(kernels[1:])

    def test_points_take_their_executions_in_order(self):
        points = agreement.by_point([("a", 2), ("b", 1)], [["1"], ["2"], ["3"]])
        self.assertEqual(points, {"a": [["1"], ["2"]], "b": [["3"]]})
        with self.assertRaisesRegex(agreement.Unreadable, "lists 2 executions, and 3 ran"):
            agreement.by_point([("a", 3)], [[], []])

    def test_names_are_compared_without_what_each_tool_writes_in_its_own_way(self):
        for name in ("copy_kernel", COPY, "void (anonymous namespace)::copy_kernel<float>(float const*, float*, long)",
                     "gpubench::copy_kernel(float*)"):
            self.assertEqual(agreement.short(name), "copy_kernel", name)


class Table(unittest.TestCase):
    def lines(self, *points, executions):
        run = {"points": list(points)}
        return list(agreement.rows(run, {name + "/manual_time": runs for name, runs in executions.items()}))

    def execution(self, *seconds, idle=(2.2e-6, 3.2e-6), name=COPY):
        """Its kernels, and those of its shape that only wait: 1.2 us more than they wait."""
        return tuple([(each, [4096, 1, 1], [256, 1, 1], duration) for duration in durations]
                     for each, durations in ((name, seconds), (IDLE, idle)))

    def test_the_median_of_executions_and_the_sum_of_their_kernels(self):
        recorded = measurement("copy/1", 5e-6, 5.05e-6, [COPY, COPY])
        runs = [self.execution(2e-6, 3e-6), self.execution(2e-6, 3.1e-6), self.execution(2e-6, 9e-6)]
        (name, device, fixed, activity, ncu, own, remark), = self.lines(recorded, executions={"copy/1": runs})
        self.assertEqual((name, activity, remark), ("copy/1", 5.05e-6, ""))
        for found, expected in ((fixed, 0.5e-6), (device, 4.5e-6), (ncu, 5.1e-6), (own, 1.2e-6)):
            self.assertAlmostEqual(found, expected, delta=1e-15)

    def test_records_hold_less_where_kernels_rest_longer_between_them(self):
        activity = measurement("copy/1", 5e-6, 5.05e-6, [COPY, COPY])["measurement"]["activity"]
        activity.update(gap_seconds={"value": 0.9e-6}, usual_gap_seconds={"value": 0.3e-6})
        self.assertAlmostEqual(agreement.recording_cost(activity), 0.5e-6 - 0.3e-6, delta=1e-15)
        self.assertIsNone(agreement.recording_cost({"reason": "no CUPTI"}))

    def test_what_the_profiler_adds_comes_from_kernels_that_wait(self):
        idles = [self.execution(1e-6, idle=idle)[1] for idle in ((2.3e-6, 3.3e-6, 1.1e-6, 2e-6), (2.2e-6, 3.3e-6, 1e-6, 1.8e-6),
                                                                 (2.3e-6, 3.4e-6, 0.9e-6, 1.7e-6))]
        self.assertAlmostEqual(agreement.fixed_cost(idles), 1.3e-6 + 0.2e-6, delta=1e-15)
        for none in ([], [[]], [idles[0][:3]], [idles[0], idles[1][:2]]):
            self.assertIsNone(agreement.fixed_cost(none))

    def test_tolerance_is_a_tenth_of_a_microsecond_or_a_percent(self):
        self.assertTrue(agreement.within(2.59e-6, 2.5e-6))
        self.assertFalse(agreement.within(2.61e-6, 2.5e-6))
        self.assertTrue(agreement.within(0.991e-3, 1e-3))
        self.assertFalse(agreement.within(0.989e-3, 1e-3))

    def test_rows_say_yes_no_or_why_not(self):
        lines = self.lines(measurement("copy/1", 2.5e-6, 2.55e-6, [COPY]), measurement("gemm/1", 1e-3, 1.02e-3, ["another"]),
                           measurement("odd/1"), executions={"copy/1": [self.execution(2.7e-6)], "gemm/1": [self.execution(1e-3)],
                                                             "odd/1": [self.execution(1e-3)]})
        text = agreement.table(lines).splitlines()
        self.assertEqual(text[2], "| copy/1 | 2.000 | 0.500 | 2.550 | 2.700 | 1.200 | +0.050 us, +2.00 % | -0.500 us, -25.00 % | yes | **no** |")
        self.assertIn("| **no** | ncu saw other kernels |", text[3])
        self.assertEqual(text[4], "| odd/1 | | | | 1000.000 | | | | not compared: no CUPTI | |")
        self.assertIn("activity records 1 of 2 points, ncu 0 of 1.", text[-1])
        self.assertEqual({row.count("|") for row in text[:5]}, {11})


if __name__ == "__main__":
    unittest.main()
