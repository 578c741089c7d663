# SPDX-License-Identifier: Apache-2.0
"""The truth of the library suite: reading Nsight Compute's table, the rule, and the score of a run."""

import unittest

import library_truth as truth

RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
DRAM, FMA, ISSUE, SM = (name + truth.SHARE for name in ("dram__cycles_active", "sm__pipe_fma_cycles_active", "sm__inst_issued", "sm__throughput"))


def quoted(cells):
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


def wide(*kernels):
    """As --page raw has it: a row a kernel, units below the header. A kernel: (range, name, ns, dram, fma, issue)."""
    header = ["ID", "Process ID", "Kernel Name", RANGE, truth.DURATION, "breakdown:" + DRAM, FMA, ISSUE, SM]
    lines = ["==PROF== Connected to process 7", quoted(header), quoted(["", "", "", "", "ns", "%", "%", "%", "%"])]
    for i, (point, name, *figures) in enumerate(kernels):
        text = f'"<default domain>:{point}:none:none:none:none:none:none"' if point else ""
        lines.append(quoted([str(i), "7", name, text, *figures, "99"]))
    return [*lines, "==WARNING== something"]


def long_form(*kernels):
    lines = [quoted(["ID", "Process ID", "Kernel Name", RANGE, "Metric Name", "Metric Unit", "Metric Value"])]
    for i, (point, name, nanoseconds, dram, fma, issue) in enumerate(kernels):
        for metric, unit, value in ((truth.DURATION, "nsecond", nanoseconds), (DRAM, "%", dram), (FMA, "%", fma), (ISSUE, "%", issue)):
            lines.append(quoted([str(i), "7", name, f"<default domain>:{point}:none", metric, unit, value]))
    return lines


def point(name, seconds, regime="memory", probability=0.9, launches=1, certainty="likely", **fields):
    measurement = {"name": name + "/manual_time", "operation": name.split("/")[0], "device": "cuda:0", "launches": {"kernels": launches},
                   "timings": [{"clock": "stream", "seconds": {"median": seconds}}]} | fields
    return {"measurement": measurement, "verdict": {"regime": regime, "limiter": "x", "confidence": probability, "certainty": certainty}}


def run_of(*points):
    ceilings = [{"resource": name, "value": value} for name, value in (("launch", 1e-6), ("graph-node", 5e-7), ("copy-device-to-device", 2e-6))]
    return {"points": list(points), "calibrations": [{"device": {"id": "cuda:0"}, "ceilings": ceilings}]}


class Rule(unittest.TestCase):
    def check(self, share, units, right, unit):
        found = truth.truth_from_hardware(share, units)
        self.assertEqual((found[0], found[1]), (right, unit))

    def test_launching_for_half_of_the_time_is_overhead_whatever_is_busy(self):
        self.check(0.5, {"DRAM": 99.0}, {"overhead"}, "launch")
        self.check(0.49, {"DRAM": 99.0}, {"memory"}, "DRAM")

    def test_the_busiest_unit_names_the_regime(self):
        self.check(0.1, {"DRAM": 88.0, "FMA": 80.5}, {"memory"}, "DRAM")
        self.check(0.1, {"DRAM": 81.0, "FMA": 80.5}, {"memory", "compute"}, "DRAM")
        self.check(None, {"DRAM": 81.0, "FMA": 92.0}, {"compute"}, "FMA")
        self.check(0.1, {"copy engine": 80.0}, {"memory"}, "copy engine")

    def test_no_unit_at_60_per_cent_is_latency_and_up_to_80_both_are_right(self):
        self.check(0.1, {"DRAM": 59.9}, {"latency"}, "DRAM")
        self.check(0.1, {"DRAM": 60.0, "issue": 3.0}, {"latency", "memory"}, "DRAM")
        self.check(0.1, {"tensor": 79.9}, {"latency", "compute"}, "tensor")

    def test_nothing_known_makes_nothing_right(self):
        self.check(None, {}, set(), "")

    def test_each_metric_of_the_breakdowns_has_a_unit_with_a_kind(self):
        for name, unit, kind in (("dram__cycles_active", "DRAM", "memory"), ("lts__t_sectors", "L2", "memory"), ("lts__d_atomic_input_cycles_active", "atomics", "memory"),
                                 ("l1tex__data_pipe_lsu_wavefronts", "L1 data stage", "memory"), ("l1tex__m_xbar2l1tex_read_sectors", "L2 to SM", "memory"),
                                 ("sm__inst_executed_pipe_lsu", "LSU", "memory"), ("sm__inst_executed_pipe_xu", "special functions", "compute"),
                                 ("sm__pipe_tensor_op_hmma_cycles_active", "tensor", "compute"), ("sm__pipe_fp64_cycles_active", "FP64", "compute"),
                                 ("sm__pipe_fmaheavy_cycles_active", "FMA", "compute"), ("sm__pipe_alu_cycles_active", "ALU", "compute"),
                                 ("sm__inst_executed", "issue", "compute"), ("sm__inst_issued", "issue", "compute")):
            self.assertEqual((truth.unit_of(name + truth.SHARE), truth.REGIME_OF[truth.unit_of(name + truth.SHARE)]), (unit, kind), name)
        self.assertIsNone(truth.unit_of(SM))
        self.assertIsNone(truth.unit_of("gpu__compute_memory_access_throughput" + truth.SHARE))


class Reading(unittest.TestCase):
    KERNELS = (("sort/n:16", "first", "1,000", "10", "40", "20"), ("sort/n:16", "second", "3,000", "90", "0", "20"), ("sort/n:160", "other", "50", "1", "2", "n/a"))

    def test_kernels_of_a_point_are_weighted_by_their_time_in_both_forms_of_the_table(self):
        run = run_of(point("sort/n:16", 1e-5), point("sort/n:160", 1e-5))
        for form in (wide, long_form):
            found = truth.truth_of(run, [form(*self.KERNELS)])["points"]
            self.assertAlmostEqual(found["sort/n:16"]["seconds"], 4e-6, delta=1e-15)
            self.assertEqual(found["sort/n:16"]["units"], {"DRAM": [70.0, "dram__cycles_active"], "FMA": [10.0, "sm__pipe_fma_cycles_active"], "issue": [20.0, "sm__inst_issued"]})
            self.assertEqual((found["sort/n:16"]["kernels"], found["sort/n:16"]["longest"]), (2, "second"))
            self.assertEqual(found["sort/n:160"]["units"], {"DRAM": [1.0, "dram__cycles_active"], "FMA": [2.0, "sm__pipe_fma_cycles_active"]})

    def test_what_ncu_did_not_count_is_told(self):
        kernels = (("a", "one", "1000", "n/a", "n/a", "n/a"), ("b", "one", "n/a", "1", "1", "1"), ("", "outside", "5", "1", "1", "1"))
        lines = wide(*kernels)
        lines = [line.replace('"99"', '"n/a"') for line in lines]
        found = truth.truth_of(run_of(point("a", 1e-5), point("b", 1e-5), point("c", 1e-5)), [lines])
        self.assertEqual({name: each.get("reason") for name, each in found["points"].items()},
                         {"a": "ncu counted nothing of its kernels", "b": "ncu counted nothing of its kernels", "c": "ncu saw no kernel of it"})
        self.assertEqual(found["kernels_outside_points"], 1)

    def test_several_tables_are_joined_and_a_table_that_is_none_is_refused(self):
        run = run_of(point("a", 1e-5), point("b", 1e-5))
        found = truth.truth_of(run, [wide(("a", "k", "10", "1", "1", "1")), wide(("b", "k", "10", "1", "1", "1"))])["points"]
        self.assertNotIn("reason", found["a"] | found["b"])
        with self.assertRaisesRegex(truth.Unreadable, "no table: ==ERROR== no permission"):
            truth.truth_of(run, [["==ERROR== no permission"]])


class Score(unittest.TestCase):
    def rows(self, *points, **units):
        known = {name: {"kernels": 1, "counted": 1, "seconds": 1e-6, "units": {unit: [share, "m"]}} for name, (unit, share) in units.items()}
        return {row["name"]: row for row in truth.rows(run_of(*points), {"points": known})}

    def test_a_point_is_right_when_its_verdict_is_the_hardwares(self):
        rows = self.rows(point("a", 1e-4), point("b", 1e-4, "latency"), point("c", 1e-4, "compute"), point("d", 1.5e-6),
                         a=("DRAM", 90.0), b=("DRAM", 70.0), c=("DRAM", 70.0), d=("DRAM", 90.0))
        self.assertEqual({name: row["correct"] for name, row in rows.items()}, {"a": True, "b": True, "c": False, "d": False})
        self.assertEqual(rows["d"]["right"], {"overhead"})

    def test_additions_of_floats_at_one_address_are_held_against_their_own_rate(self):
        def row(percent, rate):
            counters = [{"name": name, "value": value} for name, value in (("l2_atomics_hottest_busy", percent), ("l2_atomics_busy", 0.4), ("l2_clock", 1.7e9))]
            run = run_of(point("a", 1e-3, counters=counters))
            run["calibrations"][0]["ceilings"].append({"resource": "atomic-global-float-one", "value": rate})
            known = {"kernels": 1, "counted": 1, "seconds": 1e-3, "units": {"L2": [0.5, "m"]}}
            return next(truth.rows(run, {"points": {"a": known}}))
        self.assertEqual((row(33.0, 569e6)["right"], row(33.0, 569e6)["unit"]), ({"memory"}, "atomics of one slice"))
        self.assertEqual(row(12.0, 569e6)["right"], {"latency"})
        self.assertEqual(row(50.0, 569e6)["right"], {"latency"}, "not the additions that were calibrated")

    def test_launches_of_many_kernels_add_up_and_those_of_a_graph_cost_less(self):
        known = {"kernels": 50, "counted": 50, "seconds": 1e-6, "units": {"DRAM": [90.0, "m"]}}
        run = run_of(point("a", 8e-5, launches=50), point("b", 8e-5, launches=50, label="graph"))
        right = {row["name"]: row["right"] for row in truth.rows(run, {"points": {"a": known, "b": known}})}
        self.assertEqual(right, {"a": {"overhead"}, "b": {"memory"}})

    def test_copies_are_held_against_the_best_rate_of_their_engine(self):
        sizes = {"4": (4.0, 2.2e-6), "6": (4e6, 1.2e-5), "9": (4e9, 4e-3)}
        rows = self.rows(*(point(f"copy_device_to_device/bytes:{name}", seconds, launches=0, work={"bytes_read": count, "bytes_written": count})
                           for name, (count, seconds) in sizes.items()))
        found = [(row["right"], row["unit"]) for row in rows.values()]
        self.assertEqual(found, [({"overhead"}, "launch"), ({"latency"}, "copy engine"), ({"memory"}, "copy engine")])

    def test_points_without_a_truth_or_a_verdict_are_told_and_not_scored(self):
        rows = self.rows(point("a", 1e-4), point("b", 1e-4, launches=3), point("c", 1e-4) | {"verdict": None}, b=("DRAM", 90.0))
        self.assertEqual({name: row["reason"] for name, row in rows.items()},
                         {"a": "Nsight Compute was not run on it", "b": "ncu counted 1 of 3 kernels", "c": "it has no verdict"})
        self.assertIn("| b | ncu counted 1 of 3 kernels |", truth.table(list(rows.values())))

    def test_the_table_counts_what_was_certain_and_wrong(self):
        rows = self.rows(point("x/1", 1e-4, probability=1.0, certainty="certain"), point("x/2", 1e-4, "compute", 0.995, certainty="certain"),
                         point("y/1", 1e-4, "latency", 0.6), **{"x/1": ("DRAM", 90.0), "x/2": ("DRAM", 90.0), "y/1": ("DRAM", 65.0)})
        text = truth.table(list(rows.values()))
        for line in ("| right | 1 of 2 (50.0 %) |", "| right, a unit between 60 and 80 % of its peak | 1 of 1 (100.0 %) |", "| certain and wrong | 1 of 2 (50.0 %) |",
                     "| Brier score | 0.4950; with those between 0.3833 |", "| memory | 2 | 1 |", "| x | 2 | 1 | 0 of 0 | 1 |", "| y | 0 | 0 | 1 of 1 | 0 |",
                     "| x/2 | memory | DRAM | 90.0 | compute | x | 0.995 | **certain, wrong** |", "| y/1 | latency or memory | DRAM | 65.0 | latency | x | 0.600 | right, between |"):
            self.assertIn(line, text)

    def test_probabilities_of_a_left_out_family_come_from_the_others(self):
        others = [{"family": "a", "probability": 0.999, "correct": i < 3} for i in range(6)]
        mine = {"family": "b", "probability": 0.995, "correct": True}
        self.assertEqual(truth.left_out_probability([*others, mine])(mine), 0.5)
        self.assertEqual(truth.left_out_probability([*others[:3], mine])(mine), 0.995)

    def test_a_table_holds_the_truth_that_it_was_made_from(self):
        points = [point("a", 1e-4), point("b", 1e-4), point("c", 1.5e-6), point("d", 1e-4), point("e", 1e-4)]
        both = {"kernels": 1, "counted": 1, "seconds": 1e-4, "units": {"L1 data stage": [94.4, "m"], "tensor": [93.0, "m"]}}
        every = list(truth.rows(run_of(*points), {"points": {"a": both} | {
            name: {"kernels": 1, "counted": 1, "seconds": 1e-4, "units": {"DRAM": [share, "m"]}} for name, share in (("b", 70.0), ("c", 9.0), ("d", 50.0))}}))
        self.assertEqual([row.get("right") for row in every], [{"memory", "compute"}, {"latency", "memory"}, {"overhead"}, {"latency"}, None])
        points[2] = point("c", 1e-4)  # in the other run its launch is no limit, and the table does not tell what was busy
        again = list(truth.rows(run_of(*points), truth.known_truth(truth.table(every).splitlines())))
        self.assertEqual([row.get("right") for row in again], [{"memory", "compute"}, {"latency", "memory"}, None, {"latency"}, None])
        self.assertEqual([row.get("unit") for row in again], ["L1 data stage", "DRAM", None, "DRAM", None])

    def test_a_run_can_be_stripped_of_its_counters(self):
        stripped = truth.strip(run_of(point("a", 1e-4, counters=[{"name": "dram__bytes.sum", "value": 1}], absent_counters=[])))
        self.assertNotIn("counters", stripped["points"][0]["measurement"])
        self.assertIn("timings", stripped["points"][0]["measurement"])


if __name__ == "__main__":
    unittest.main()
