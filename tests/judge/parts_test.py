#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge's mathematics, memory and readers, on known answers."""
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)

from gpubench.judging import checks, floor, process, rank, timing
from gpubench.judging.adapters import c_library, gpu_mode, problem_of
from gpubench.judging.cell import audit, layout
from gpubench.judging.contents import CONTENTS, Strided, nudged
from gpubench.judging.memory import Poison, Region, Rows
from gpubench.judging.problem import Problem, upcast
from gpubench.judging.process import CellProcess, Limits, slots_of, stride_of
from gpubench.judging.store import Store
from gpubench.judging.trial import Trial
from gpubench.judging.verdict import Interval, Result, Trouble

RANDOM = np.random.default_rng(1)


class WhatJudgesDecide(unittest.TestCase):
    def test_threads_wait_asleep_whatever_the_judges_user_has_set(self):
        with mock.patch.dict(os.environ, {"TORCHINDUCTOR_COMPILE_THREADS": "8", "OMP_WAIT_POLICY": "active", "OMP_NUM_THREADS": "3"}):
            told = process._environment("/tmp")
        self.assertEqual([told[name] for name in ("TORCHINDUCTOR_COMPILE_THREADS", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")], ["1", "passive", "3"])

    def test_threads_of_a_candidates_own_processes_wait_as_well(self):
        cell = process.CellProcess.__new__(process.CellProcess)
        cell._on_gpu, cell._inner = False, os.getpid()
        with subprocess.Popen(["sleep", "60"]) as child:
            self.assertIn(f"{child.pid}/task/{child.pid}", cell._waits())
            child.kill()

    def test_json_has_no_infinity(self):
        told = Result("a", seconds=float("nan"), precision={"error": float("inf"), "apart": [1.0, float("inf")]}, speedup=Interval(2.0, 1.0, float("inf"))).to_dict()
        self.assertEqual((told["seconds"], told["precision"], told["speedup"]), (None, {"error": None, "apart": [1.0, None]}, {"value": 2.0, "low": 1.0, "high": None}))

    def test_the_judges_clocks_take_in_the_same_window(self):
        order = []
        noted = {name: (lambda *_, name=name: order.append(name)) for name in ("begin", "send", "answer", "look", "end")}
        witness = mock.Mock(begin=noted["begin"], look=noted["look"], end=noted["end"])
        cell = process.CellProcess.__new__(process.CellProcess)
        cell.limits, cell._on_gpu, cell._cpu, cell._process = process.Limits(), True, 0.0, mock.Mock(pid=1)
        cell._send, cell._answer = noted["send"], noted["answer"]
        with mock.patch.object(process, "_cpu_seconds", lambda _: order.append("processor time") or 0.0):
            cell.run(witness)
        self.assertEqual(order, ["processor time", "begin", "send", "answer", "look", "processor time", "end"])

    def test_candidates_see_the_judges_first_gpu_alone(self):
        for given, seen in (({}, "0"), ({"CUDA_VISIBLE_DEVICES": "2,3"}, "2"), ({"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, "GPU-8932f937"), ({"CUDA_VISIBLE_DEVICES": ""}, "")):
            with mock.patch.dict(os.environ):
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                os.environ.update(given)
                self.assertEqual(process._environment("/tmp")["CUDA_VISIBLE_DEVICES"], seen)

    def test_a_check_without_memory_says_nothing_of_the_candidate(self):
        def compare(tree, output):
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

        def wrong(tree, output):
            raise ValueError("not so")

        spec = {"dtype": "float32", "shape": [1], "framework": "numpy"}
        problem = Problem(name="p", file="p.py", adapter="", make=lambda case, seed: (), reference_facts={}, candidate_facts={}, compare=compare)
        with self.assertRaises(RuntimeError):
            problem.complaint((), [np.zeros(1, np.float32)], [spec])
        problem.compare = wrong
        self.assertEqual(problem.complaint((), [np.zeros(1, np.float32)], [spec]), "ValueError: not so")


class Layout(unittest.TestCase):
    def test_structures_come_back(self):
        x, y = np.zeros(2), np.ones((3, 1))
        tree = (x, [1, 2.5, None, "a", True], {"y": y, "z": (x,)})
        skeleton, leaves = layout.flatten(tree)
        back = layout.unflatten(skeleton, leaves)
        self.assertEqual(back[1], tree[1])
        self.assertIs(back[2]["y"], y)
        self.assertIsInstance(back[2]["z"], tuple)
        self.assertRaises(TypeError, layout.flatten, {"x": object()})

    def test_dicts_are_the_same_whatever_was_put_in_first(self):
        x, y = np.zeros(2), np.ones(2)
        for tree in ({"x": x, "y": y}, {"y": y, "x": x}):
            skeleton, leaves = layout.flatten(tree)
            self.assertIs(leaves[0], x)
            self.assertEqual(list(layout.unflatten(skeleton, leaves)), list(tree))

    def test_places_have_guards_between_them(self):
        specs, end = layout.place([layout.spec_of(np.zeros((3, 5), np.float32)), layout.spec_of(np.zeros(7))], 0)
        first, second = (each["offset"] for each in specs)
        self.assertGreaterEqual(first, layout.GUARD_BYTES)
        self.assertGreaterEqual(second, first + 60 + 2 * layout.GUARD_BYTES)
        self.assertGreaterEqual(end, second + 56 + layout.GUARD_BYTES)
        self.assertEqual(first % layout.ALIGNMENT, 0)

    def test_large_arrays_of_a_gpu_begin_on_a_page(self):
        large = {"dtype": "float32", "shape": [512, 513], "framework": "torch", "device": "cuda"}
        small = {**large, "shape": [3]}
        slots, at, to = slots_of({}, [small, large], [small, large], 3)
        for name in ("inputs", "outputs"):
            self.assertEqual([each["offset"] % layout.PAGE_BYTES for slot in slots for each in slot[name]], 6 * [0])
        firsts = [slot["outputs"][0]["offset"] for slot in slots]
        self.assertEqual([b - a for a, b in zip(firsts, firsts[1:])], 2 * [stride_of([small, large])])
        self.assertGreaterEqual(to, firsts[0] - layout.GUARD_BYTES + 3 * stride_of([small, large]))  # rows of outputs lie within
        for spec in (small, {key: value for key, value in large.items() if key != "device"}):
            self.assertEqual(layout.place([spec], 0)[0][0]["offset"], layout.GUARD_BYTES)

    def test_views_with_holes(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        wide = Strided()(x)
        self.assertTrue((wide == x).all())
        spec, = layout.place([layout.spec_of(wide)], 0)[0]
        self.assertEqual(spec["strides"], [8, 2])
        view = layout.view(bytearray(4096), spec)
        view[...] = wide
        self.assertTrue((view == x).all())
        self.assertFalse(view.flags.c_contiguous)


class Memory(unittest.TestCase):
    def test_poison_is_seen_and_guards_hold(self):
        for dtype in ("float32", "float64", "float16", "int64", "int8", "bool", "complex64"):
            poison, region = Poison(), Region(1 << 14, False)
            specs = [layout.spec_of(np.zeros(100, dtype)), layout.spec_of(np.zeros(3, np.int16))]
            slots, _, _ = slots_of({}, [], specs, 3)
            rows = Rows(region, slots, stride_of(specs), poison)
            rows.poison()
            for slot in slots:
                self.assertEqual(poison.unwritten(region.view(slot["outputs"][0]), specs[0]), 1.0, dtype)
            spec = slots[1]["outputs"][0]
            array = region.view(spec)
            if dtype.startswith("float"):
                self.assertTrue(np.isnan(array).all())
            sample = rows.sample(200)
            seen = sample.look()
            self.assertTrue(sample.unwritten(seen).all(), dtype)
            array[:25] = 0
            self.assertEqual(poison.unwritten(array, spec), 0.75, dtype)
            self.assertFalse(sample.unwritten(sample.look()).all(), dtype)
            for last, which in ((100, 0), (3, 1)):
                region.view(slots[2]["outputs"][which])[last - 1] = 0  # poison is odd
            self.assertEqual(int(rows.sample(0).unwritten(rows.sample(0).look()).sum()), 0, "the last element of the last call is always looked at")
            self.assertTrue(rows.guards_hold())
            region.bytes[spec["offset"] - 1] ^= 1  # beside the second call's
            self.assertFalse(rows.guards_hold())

    def test_sealed_memory_cannot_be_written_by_others(self):
        region = Region(4096, True)
        region.bytes[0] = 7
        number = os.open(f"/proc/self/fd/{region.descriptor}", os.O_RDONLY)
        self.assertEqual(mmap.mmap(number, 4096, mmap.MAP_SHARED, mmap.PROT_READ)[0], 7)
        with self.assertRaises(OSError):
            os.pwrite(region.descriptor, b"x", 0)
        with self.assertRaises(OSError):
            mmap.mmap(region.descriptor, 4096)


class Contents(unittest.TestCase):
    def test_each_is_of_the_same_kind(self):
        x = RANDOM.standard_normal((5, 6), dtype=np.float32)
        for name, change in CONTENTS.items():
            made = change(x)
            self.assertEqual((made.shape, made.dtype), (x.shape, x.dtype), name)
            self.assertEqual(np.array_equal(made, x), name in ("negatives", "filled"), name)
            whole = np.arange(5)
            self.assertIs(change(whole), whole, "whole numbers are indices for all that is known")
        self.assertTrue((CONTENTS["denormal"](np.float32([1])) < 1.2e-38).all())
        self.assertIs(CONTENTS["signs"](whole := np.float32([1, 2])), whole)

    def test_negative_numbers_where_there_are_none(self):
        x = RANDOM.random((40, 100), dtype=np.float32)
        made = CONTENTS["negatives"](x)
        self.assertTrue(0.4 < (made < 0).mean() < 0.6)
        np.testing.assert_array_equal(abs(made), x)
        for unchanged in (x - 0.5, -x, np.zeros_like(x), np.float32(x > 0.5), np.sort(x)):  # neither masks nor places
            self.assertIs(CONTENTS["negatives"](unchanged), unchanged)

    def test_what_the_ends_alone_make(self):
        x = RANDOM.random((40, 100), dtype=np.float32) + 1
        made = CONTENTS["impulses"](x)
        self.assertTrue(3 <= (made != 0).sum() <= 5)
        self.assertEqual((made[0, 0], made[-1, -1]), (x[0, 0], x[-1, -1]))
        self.assertGreater(CONTENTS["spike"](-x + 1.5)[-1, -1], 0)
        few = np.ones(4, np.float32)
        self.assertIs(CONTENTS["impulses"](few), few)

    def test_a_part_of_a_sum_says_nothing_of_the_whole(self):
        made = CONTENTS["uneven"](np.ones((8, 3, 100), np.float32))
        self.assertEqual(sorted(np.unique(made)), [1, 2, 4, 8])
        for axis, more in ((0, 2), (2, 4)):  # three numbers have no half
            self.assertEqual((made.max(axis=axis) == more * made.min(axis=axis)).mean(), 1.0)
        self.assertFalse((made.max(axis=1) > made.min(axis=1)).any())

    def test_zeros_are_filled_and_nothing_else(self):
        made = CONTENTS["filled"](np.zeros((30, 40), np.float32))
        self.assertTrue(0.9 < made.std() < 1.1)
        for unchanged in (np.ones(9, np.float32), np.eye(9, dtype=np.float32), np.zeros(9, np.int64)):
            self.assertIs(CONTENTS["filled"](unchanged), unchanged)

    def test_those_that_a_few_elements_do_not_betray(self):
        x = RANDOM.standard_normal((40, 100), dtype=np.float32)
        many = CONTENTS["outliers"](x)
        self.assertTrue(1 <= (many != x).sum() <= 4)
        self.assertTrue(np.allclose(many[many != x], 256 * x[many != x]))
        same = CONTENTS["ties"](x)
        self.assertTrue(1 <= (same != x).sum() <= 4)
        self.assertTrue(x.size - 4 <= len(np.unique(same)) < x.size)

    def test_what_inputs_are_by_construction_stays(self):
        x = RANDOM.standard_normal((100, 100), dtype=np.float32)
        symmetric, triangular, lines, signs = x + x.T, np.triu(x), np.sort(x), np.sign(x)
        for each, broken_by in ((symmetric, ("outliers", "ties")), (lines, ("outliers", "ties")), (signs, ("large", "denormal"))):
            for name in broken_by:
                self.assertTrue(CONTENTS[name](each) is each, name)
        self.assertTrue(any(CONTENTS["ties"](triangular) is triangular for _ in range(50)))
        self.assertTrue(CONTENTS["zeros"](lines) is lines, "no number is before another any more")
        for each in (symmetric, triangular, lines, np.ones((8, 8), np.float32)):
            self.assertFalse(CONTENTS["large"](each) is each)

    def test_they_reach_arrays_that_do_not_lie_row_by_row(self):
        x = np.asfortranarray(RANDOM.standard_normal((5, 6), dtype=np.float32))
        for name in ("equal", "spike", "outliers", "ties", "nan"):
            made = CONTENTS[name](x)
            self.assertFalse(np.array_equal(made, x), name)
            self.assertEqual(made.strides, x.strides, name)

    def test_the_last_bits(self):
        for x in (np.float32([0.1, -3, 0]), np.float64([0.1, -3, 0])):
            moved = nudged(x, 2)
            self.assertEqual(moved.dtype, x.dtype)
            self.assertTrue((moved[:2] != x[:2]).all() and moved[2] == 0)
            self.assertLess(float(abs(moved / np.where(x, x, 1) - np.sign(abs(x))).max()), 20 * np.finfo(x.dtype).eps)
        x = np.float32([1, -3])
        self.assertAlmostEqual(float(abs(nudged(x, 2, step=checks.rounding_of("tf32")) / x - 1).max()), 2.0**-11, places=6)
        self.assertEqual(checks.rounding_of(None), 0.0)
        whole = np.arange(3)
        self.assertIs(nudged(whole, 2), whole)

    def test_64_bits(self):
        x = np.float32([0.1])
        wide = upcast((x, 3, np.arange(2)))
        self.assertEqual(wide[0].dtype, np.float64)
        self.assertEqual(wide[2].dtype, np.arange(2).dtype)
        self.assertIsNone(upcast((np.zeros(2),)))


class Answers(unittest.TestCase):
    def test_a_process_says_only_what_it_can_know(self):
        for said, taken in (("judge", "error"), ("room", "error"), ("unchecked", "error"), ("device", "device"), ("memory", "memory")):
            process = CellProcess(Limits())
            self.addCleanup(process.close)
            ours, theirs = socket.socketpair()
            self.addCleanup(theirs.close)
            process._channel = ours
            text = json.dumps({"error": said, "text": "x"}).encode()
            theirs.sendall(struct.pack("<I", len(text)) + text)
            with self.assertRaises(Trouble) as found:
                process._answer(1.0)
            self.assertEqual(found.exception.code, taken)


CEILINGS = {"created_utc": "2026", "ceilings": [{"resource": "dram-read", "value": 1e10, "ci95": [9e9, 1.1e10]}, {"resource": "l2", "value": 1e11},
                                                {"resource": "gemm-fp32", "value": 1e12, "ci95": [1e12, 2e12]}],
            "levels": [{"resource": "l2", "capacity_bytes": 1e6, "capacity_ci95": [9e5, 1.1e6]}]}


class Floor(unittest.TestCase):
    def test_the_higher_of_memory_and_arithmetic(self):
        found = floor.floor_of(CEILINGS, "", 1.1e7, 2e6, {"fp32": 2e6})
        self.assertEqual((found.limiter, found.seconds), ("dram-read", 1e-3))
        found = floor.floor_of(CEILINGS, "", 1e3, 2e6, {"fp32": 2e9})
        self.assertEqual((found.limiter, found.seconds), ("gemm-fp32", 1e-3))

    def test_a_cache_that_holds_the_batch_serves_it(self):
        self.assertEqual(floor.floor_of(CEILINGS, "", 1e5, 1e6, {}).limiter, "l2")
        self.assertAlmostEqual(floor.floor_of(CEILINGS, "", 1e7, 2.2e6, {}).least, 1e7 * (0.5 / 1.1e10 + 0.5 / 1e11), msg="half of the batch can stay in it")

    def test_without_ceilings_there_is_none_and_a_reason(self):
        found = floor.floor_of(None, "there is no calibration", 1, 1, {})
        self.assertEqual((found.seconds, found.basis), (None, "there is no calibration"))
        self.assertIsNone(floor.floor_of({"ceilings": []}, "", 1, 1, {}).seconds)


class FloorsOfGpus(unittest.TestCase):
    quick = {"ceilings": [{"resource": name, "value": value, "unit": "FLOP/s"} for name, value in (("fp32", 60e12), ("fp64", 30e12), ("tensor-fp16", 720e12))]}

    def test_what_narrower_products_can_make_is_not_refused(self):
        found = floor.floor_of(self.quick, "", 1, 1, {"fp32": 60e12})
        self.assertEqual((found.seconds, found.limiter, found.least), (1.0, "fp32", 0.25))

    def test_what_the_calibration_lacks_is_no_floor(self):
        self.assertIsNone(floor.floor_of(self.quick, "", 1, 1, {"fp64": 30e12}).seconds)
        full = {"ceilings": [*self.quick["ceilings"], {"resource": "tensor-fp64", "value": 60e12, "unit": "FLOP/s"}, {"resource": "dram-read", "value": 1e12, "unit": "B/s"}]}
        self.assertEqual(floor.floor_of(full, "", 1e11, 1e12, {"fp64": 30e12}).seconds, 0.5)
        found = floor.floor_of(full, "", 1e11, 1e12, {"fp32": 60e12}, "tf32")
        self.assertEqual((found.seconds, found.least), (0.1, 0.1))
        self.assertIn("tensor-tf32", found.basis)
        self.assertEqual(floor.floor_of(full, "", 1, 1, {"fp32": 72e12}, "fp16").seconds, 0.1)


    def test_latency_beside_flop_that_nobody_says_is_no_verdict(self):
        trial = Trial.__new__(Trial)
        trial._calibration, trial.device = {"ceilings": []}, "cpu"
        times = timing.Summary([timing.Times([timing.Block((3e-3, 3e-3), (2e-3, 2e-3), (0.0, 0.0))])])
        point = mock.Mock(regime="latency", confidence=0.9, advice=[])
        for flops, said in (({}, ("unknown", None)), ({"fp32": 1.0}, ("latency", 0.9))):
            result = Result("candidate", "problem")
            with mock.patch("gpubench.judging.trial.Calibration.judged", return_value=[point]):
                trial._classify(times, mock.Mock(expected=[], arrays=[]), 8.0, flops, result)
            self.assertEqual((result.regime, result.regime_confidence), said)

    def test_what_is_said_of_it_is_in_plain_numbers(self):
        memory = {"ceilings": [{"resource": "dram-read", "value": 1e12, "unit": "B/s"}]}
        found = floor.floor_of(memory, "", 3.2e6, 3.2e6, {})
        self.assertTrue(found.basis.startswith("3.2 MB;"), found.basis)
        self.assertEqual([floor.share_text(each) for each in (None, 0.873, 0.0612, 0.00184)], ["", "87 %", "6.1 %", "0.18 %"])
        for share, times in ((0.5, "2.0 times"), (0.00184, "543 times")):
            self.assertIn(f"{times} as fast by its bytes alone", floor.next_step(found, found.seconds / share, None))
        both = floor.floor_of({"ceilings": [*memory["ceilings"], {"resource": "fp32", "value": 1e12, "unit": "FLOP/s"}]}, "", 3.2e6, 3.2e6, {"fp32": 1e3})
        self.assertIn("2.0 times as fast: profile", floor.next_step(both, 2 * both.seconds, None))


class Audit(unittest.TestCase):
    def test_a_library_may_replace_its_own(self):
        self.assertTrue(audit.is_of_library(np.allclose.__wrapped__, "numpy", "allclose"))
        self.assertFalse(audit.is_of_library(np.allclose.__wrapped__, "numpy", "isclose"), "another one in its place")
        self.assertFalse(audit.is_of_library(lambda: True, "numpy", "<lambda>"))
        self.assertFalse(audit.is_of_library(tempfile.mkdtemp, "tempfile", "mkdtemp"), "only what is known to do so")
        self.assertFalse(audit.is_of_library(None, "torch", "manual_seed"))


class Ranks(unittest.TestCase):
    @staticmethod
    def result(name, value, half, verdict="right"):
        return Result(name, verdict, speedup=Interval(value, value * (1 - half), value * (1 + half)) if half else None)

    def ranked(self, *results):
        return [(each.candidate, each.rank, each.rank_to) for each in rank(results)]

    def test_ties_share_their_places(self):
        result = self.result
        ordered = self.ranked(result("c", 1.5, 0.01), result("a", 2.0, 0.05), result("w", 9, 0, "wrong"), result("b", 1.96, 0.05), result("r", 8, 0, "refused"))
        self.assertEqual(ordered, [("a", 1, 2), ("b", 1, 2), ("c", 3, 3), ("r", None, None), ("w", None, None)])

    def test_one_that_is_not_well_known_parts_no_others(self):
        result = self.result
        self.assertEqual(self.ranked(result("a", 2.0, 0.01), result("b", 1.9, 0.01), result("noisy", 1.7, 0.3), result("c", 1.5, 0.01)),
                         [("a", 1, 2), ("b", 2, 3), ("noisy", 1, 4), ("c", 3, 4)])


class Readers(unittest.TestCase):
    def test_cases_of_a_task(self):
        found = gpu_mode.cases_of('tests:\n  - {"size": 4, "seed": 1}\n  - {m: 3, causal: true}\n  - not one\n  - {bad\nbenchmarks:\n- {"size": 8}  # large\nother:\n- {"size": 9}\n')
        self.assertEqual(found, {"tests": [{"size": 4, "seed": 1}, {"m": 3, "causal": True}], "benchmarks": [{"size": 8}]})

    def test_a_description_says_what_is_wrong_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "x.toml"
            for text, words in (('symbol = "f"', "arguments"), ('symbol = "f"\narguments = []', "source"), ("x = 1", "none of"), ("=", "Invalid")):
                file.write_text(text)
                with self.assertRaisesRegex(ValueError, words):
                    c_library.description(file)
            file.write_text('symbol = "f"\narguments = []\nsource = "../../etc/passwd"')
            self.assertEqual(c_library.files(file), [], "only what lies beside it is copied")
            for name in ("a" * 300, r"\u0000"):
                file.write_text(f'symbol = "f"\nsource = "{name}"\narguments = []')
                self.assertEqual(c_library.files(file), [], "no file can have this name")
            source = '#include "x.h"\n#include "../y.h"\n#include "z.py"\n#include <stdio.h>\n'
            for name, inside in (("x.c", source), ("x.h", '  # include "x.h"\n#include "w.cuh"\n'), ("w.cuh", ""), ("z.py", ""), ("y.h", "")):
                (Path(folder) / name).write_text(inside)
            file.write_text('symbol = "f"\nsource = "x.c"\narguments = []\nflags = "-O2"')
            self.assertEqual(c_library.files(file), [], "flags are a list")
            file.write_text('symbol = "f"\nsource = "x.c"\narguments = []')
            self.assertEqual([each.name for each in c_library.files(file)], ["x.c", "x.h", "w.cuh"])

    def test_what_a_store_cannot_read_is_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder))
            result = Result("a.py", "right", speedup=Interval(2, 1, 3), key="k")
            store.keep(result)
            self.assertEqual(store.find("k"), result)
            for text in ("", "[]", '{"key": "k", "speedup": 3}', '{"key": "other"}', "\0"):
                (Path(folder) / "k.json").write_text(text)
                self.assertIsNone(store.find("k"), text)


class Problems(unittest.TestCase):
    def test_what_lies_beside_one_is_not_taken_for_another(self):
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for name in ("first", "second"):
                place = Path(folder) / name / "task"
                place.mkdir(parents=True)
                (place.parent / "utils.py").write_text(f"of_{name} = {name!r}\n")
                (place / "reference.py").write_text(f"from utils import of_{name}\n\n\ndef generate_input(seed):\n    return of_{name}\n\n\n"
                                                    "def ref_kernel(data):\n    return data\n\n\ndef check_implementation(data, output):\n    return ''\n")
                found.append(problem_of(place))
            self.assertEqual([each.fresh({}) for each in found], [("first",), ("second",)])
        self.assertNotIn("utils", sys.modules)


if __name__ == "__main__":
    unittest.main()
