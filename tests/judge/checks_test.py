#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether results agree, and what is said of those that do not, on known answers."""
import math
import sys
import unittest
from dataclasses import replace

try:
    import numpy as np
except ImportError:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)

from gpubench.judging import arrays, checks
from gpubench.judging.cell import layout
from gpubench.judging.memory import Poison
from gpubench.judging.verdict import REASONS, Trouble

RANDOM = np.random.default_rng(1)


def difference(actual, expected, **how):
    return checks.difference(np.asarray(actual), np.asarray(expected), str(np.asarray(expected).dtype), how.pop("tolerance", None), how.pop("nan_equal", True), **how)


class Checks(unittest.TestCase):
    def test_a_small_change_of_an_input_is_looked_at_by_itself(self):
        x, step = (RANDOM.standard_normal(5000).astype(np.float32) for _ in range(2))
        right = x + np.float32(1e-5) * step
        for actual, is_wrong in ((right, False), (right + np.float32(1e-7), False), (x + np.float32(1e-5 * 1.01) * step, False), (x.copy(), True), (x - np.float32(1e-5) * step, True)):
            self.assertEqual(bool(checks.change_left_out(actual, right, [step, x], "float32", checks.OwnError())), is_wrong)
        self.assertIsNone(difference(x, right), "within the tolerance of the result")
        self.assertEqual(checks.change_left_out(step, right, [step[:9]], "float32", checks.OwnError()), "")
        self.assertEqual(checks.change_left_out(np.zeros_like(x), x * 2, [x], "float32", checks.OwnError()), "", "no small change")

    def test_an_error_that_rounding_hardly_makes(self):
        for error, own, says in ((1e-5, 5e-8, True), (1e-5, 2e-7, False), (1e-6, 1e-9, False), (None, 1e-9, False)):
            self.assertEqual(checks.may_lack_something(error, own, "float32", None), says)
        self.assertFalse(checks.may_lack_something(1e-5, 5e-8, "float32", "tf32"))

    def test_whole_numbers_may_differ_by_an_absolute_tolerance(self):
        found = checks.difference(np.int8([1, 5]), np.int8([2, 5]), "int8", (0.5, 0.0), True)
        self.assertEqual((found.wrong, found.actual, found.expected), (1, 1, 2))
        self.assertIsNone(checks.difference(np.int8([1, 5]), np.int8([2, 5]), "int8", (0.0, 1.0), True))
        self.assertIsNotNone(checks.difference(np.array([True]), np.array([False]), "bool", (0.0, 1.0), True))

    def test_poison_among_narrow_numbers_is_no_sign(self):
        output, right = np.int8([7] * 4 + [1]), np.int8([7] * 4 + [2])
        self.assertEqual(checks.diagnose(output, checks.difference(output, right, "int8", None, True), 0.8, [], None).code, "values")
        output = np.int8([7] * 4 + [2])
        right = np.int8([1] * 4 + [2])
        self.assertEqual(checks.diagnose(output, checks.difference(output, right, "int8", None, True), 0.8, [], None).code, "unwritten")

    def test_what_a_problem_allows_inside(self):
        a, b = (RANDOM.standard_normal((256, 256), dtype=np.float32) for _ in range(2))
        # Eleven bits of each number, as TF32 has
        narrow = [((each.view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32) for each in (a, b)]
        self.assertIsNotNone(difference(narrow[0] @ narrow[1], a @ b))
        self.assertIsNone(difference(narrow[0] @ narrow[1], a @ b, allowed_inside="tf32"))
        self.assertIsNotNone(difference((a @ b) * np.float32(1.05), a @ b, allowed_inside="tf32"))

    def test_what_agrees(self):
        x = RANDOM.standard_normal(100, dtype=np.float32)
        self.assertIsNone(difference(x, x))
        self.assertIsNone(difference(x * np.float32(1 + 1e-6), x))
        self.assertIsNone(difference(np.array([np.nan, np.inf, 1], np.float32), np.array([np.nan, np.inf, 1], np.float32)))
        self.assertIsNone(difference(np.zeros(0, np.float32), np.zeros(0, np.float32)))
        self.assertIsNone(difference(np.zeros(3, np.float32), np.full(3, 1e-40, np.float32)), "denormals may be flushed")

    def test_few_elements_that_jump_excuse_no_others(self):
        x = 100 * RANDOM.standard_normal(1 << 16)
        right = np.round(x)
        nudged = np.round(x * (1 + 1e-5 * RANDOM.standard_normal(x.size)))
        own = checks.OwnError.of(nudged.astype(np.float32), right, "float32")
        self.assertEqual((own.largest, own.usual), (1.0, 0.0))
        self.assertAlmostEqual(own.jumping, np.mean(nudged != right))
        expected = right.astype(np.float32)
        further = np.round(x * (1 + 1e-4 * RANDOM.standard_normal(x.size))).astype(np.float32)
        self.assertGreater(np.mean(further != expected), 5 * own.jumping)
        self.assertIsNone(difference(further, expected, own_error=own), "an honest one is off by more")
        self.assertIsNotNone(difference(x.astype(np.float32), expected, own_error=own), "not rounded")
        self.assertIsNotNone(difference(expected + 11 * (np.arange(x.size) == 5), expected, own_error=own), "none jumps so far")
        smooth = checks.OwnError.of((x * (1 + 1e-7 * RANDOM.standard_normal(x.size))).astype(np.float32), x, "float32")
        self.assertEqual((smooth.usual, smooth.jumping), (smooth.largest, 0.0))
        self.assertFalse(smooth.may_jump(1, 100))
        self.assertEqual([checks.OwnError(1.0, 0.0, 1e-6).may_jump(each, 100) for each in (1, 2)], [True, False], "one of few may")
        self.assertEqual(smooth.with_jumps_of(own).jumping, own.jumping)
        self.assertEqual(own.with_jumps_of(smooth), own)
        both = own.or_more(smooth)
        self.assertEqual((both.largest, both.usual, both.jumping), (1.0, smooth.largest, own.jumping))
        self.assertEqual(own.at_least(2.0), replace(own, largest=2.0, usual=2.0, rms=2.0))

    def test_what_the_worst_element_is_off_excuses_not_all(self):
        right = RANDOM.standard_normal(1 << 12)
        sizes = 10.0 ** np.linspace(-6, -1, right.size)  # no gap: the most that one is off is no more than a tenth of it
        own = checks.OwnError.of((right + sizes * RANDOM.choice((-1.0, 1.0), right.size)).astype(np.float32), right, "float32")
        self.assertEqual((own.usual, own.jumping, own.is_large), (own.largest, 0.0, True))
        expected = right.astype(np.float32)
        self.assertIsNone(difference((right + 2 * sizes).astype(np.float32), expected, own_error=own))
        self.assertIsNotNone(difference(np.zeros_like(expected) + np.float32(0.9) * expected, expected, own_error=own), "each within ten times the most, all together not")
        self.assertIsNone(difference(np.float32(0.9) * expected, expected, own_error=replace(own, is_large=False)))
        self.assertEqual((own.as_jumps().usual, own.as_jumps().largest), (0.0, own.largest))
        self.assertEqual(replace(own, is_large=False).as_jumps(), replace(own, is_large=False))
        tiny = checks.OwnError.of(np.ones(4), np.full(4, 1e-315), "float64")
        self.assertEqual((tiny.largest, tiny.usual), (1.0, 1.0))

    def test_a_few_huge_elements_widen_no_tolerance(self):
        x = RANDOM.standard_normal(1 << 12, dtype=np.float32)
        self.assertAlmostEqual(checks.scale_of(x, "float32"), 1.0)
        self.assertEqual(checks.scale_of(x[:31], "float32"), 1e-3)
        self.assertEqual((checks.scale_of(np.zeros(64, np.float32), "float32"), checks.scale_of(np.arange(64), "int64")), (1.0, 1.0))
        masked = np.where(np.arange(x.size) % 2, x, np.float32(-1e9))
        scale = checks.scale_of(masked, "float32")
        self.assertLess(scale, 1e-8)
        other = masked + np.float32(0.01) * (masked > -1e8)
        self.assertIsNone(difference(other, masked))
        self.assertIsNotNone(difference(other, masked, own_error=checks.OwnError(scale=scale)))

    def test_what_agrees_at_once(self):
        x = RANDOM.standard_normal(1000, dtype=np.float32)
        for kind in (np.float16, np.float32, np.float64):
            a = x.astype(kind)
            self.assertTrue(checks.agrees_at_once(a, a * kind(1 + 1e-3), 0.02, 0.0, 0.0))
            self.assertFalse(checks.agrees_at_once(a, a + kind(0.1), 0.02, 0.0, 0.0))
            for bad in (np.nan, np.inf):
                b = a.copy()
                b[3] = bad
                self.assertFalse(checks.agrees_at_once(b, a, 0.02, 0.0, 0.0))
                self.assertFalse(checks.agrees_at_once(b, b, 0.02, 0.0, 0.0), "the slow way says")
        self.assertFalse(checks.agrees_at_once(np.zeros(3, np.float32), np.full(3, 1e-40, np.float32), 1e-4, 0.0, 0.0))
        self.assertTrue(checks.agrees_at_once(np.zeros(3, np.float32), np.full(3, 1e-9, np.float32), 0.0, 1e-6, 0.0))

    def test_the_worst_of_elements_with_nan_is_one(self):
        found = difference(np.float32([np.inf, 1, np.nan]), np.float32([1, 1, 1]))
        self.assertEqual((found.worst, found.has_new_nan), (2, True))

    def test_what_differs(self):
        x = RANDOM.standard_normal(100, dtype=np.float32)
        y = x.copy()
        y[7] += 0.1
        found = difference(y, x)
        self.assertEqual((found.wrong, found.worst), (1, 7))
        self.assertIn("Element (7,)", found.words((100,)))
        for bad in (np.nan, np.inf, -np.inf):
            y[7] = bad
            self.assertEqual(difference(y, x).worst, 7)
            self.assertEqual(difference(y, x).has_new_nan, math.isnan(bad))
        self.assertIsNotNone(difference(np.full(3, np.nan), np.full(3, np.nan), nan_equal=False))
        self.assertIsNotNone(difference(np.float32([1, 2]), np.float32([1, np.nan])))
        self.assertIsNotNone(difference(np.float32([np.inf]), np.float32([-np.inf])))

    def test_whole_numbers_must_be_equal(self):
        self.assertIsNone(difference([1, 2], [1, 2]))
        self.assertEqual(difference([1, 3], [1, 2]).worst, 1)
        self.assertIsNotNone(difference([True], [False]))

    def test_a_tolerance_that_is_named_holds(self):
        self.assertIsNone(difference(np.float32([1.05]), np.float32([1]), tolerance=(0.1, 0)))
        self.assertIsNotNone(difference(np.float32([1.05]), np.float32([1]), tolerance=(0.01, 0)))
        self.assertIsNone(difference(np.float32([0.05]), np.float32([0]), tolerance=(0, 0.1)))

    def test_bfloat16_is_read_by_its_bits(self):
        self.assertEqual(checks.as_float(np.array([0x3F80, 0xC000], np.uint16), "bfloat16").tolist(), [1.0, -2.0])

    def test_precisions_are_told_by_their_errors(self):
        a, b = (RANDOM.standard_normal((200, 200)) for _ in range(2))

        def error(bits):
            unit = [2.0**(np.floor(np.log2(np.abs(each))) - bits) for each in (a, b)]
            rounded = [np.round(each / size) * size for each, size in zip((a, b), unit)]
            return checks.norm_error(rounded[0] @ rounded[1], a @ b)

        for bits, name in ((3, "fp8 or int8"), (7, "bf16"), (10, "tf32 or fp16"), (23, None)):
            self.assertEqual(checks.less_precise(error(bits), 2e-7, "float32", None), name)
        self.assertIsNone(checks.less_precise(error(10), 2e-7, "float32", "tf32"), "what is allowed is not named")
        self.assertEqual(checks.less_precise(error(7), 2e-7, "float32", "tf32"), "bf16")
        self.assertIsNone(checks.less_precise(error(10), 2e-4, "float32", None), "the reference itself is as far off")
        self.assertEqual(checks.less_precise(5e-8, 1e-16, "float64", None), "fp32")
        self.assertIsNone(checks.less_precise(4e-15, 0.0, "float64", None))
        self.assertIsNone(checks.less_precise(None, 1e-7, "float32", None))

    def test_errors_in_few_places_are_no_rounding(self):
        exact = RANDOM.standard_normal(1000)
        self.assertTrue(checks.is_spread(exact * (1 + 1e-4 * RANDOM.standard_normal(1000)), exact))
        rectified = np.maximum(exact, 0)
        self.assertTrue(checks.is_spread(rectified * (1 + 1e-4 * RANDOM.standard_normal(1000)), rectified))
        tile = exact.copy()
        tile[:20] = 0
        self.assertFalse(checks.is_spread(tile, exact))

    def test_units_in_the_last_place(self):
        one = np.array([1.0])
        self.assertEqual(checks.ulp_error(one + 2.0**-23, one, "float32"), 1.0)
        self.assertEqual(checks.ulp_error(2 * one + 2.0**-22, 2 * one, "float32"), 1.0)

    def test_diagnoses(self):
        x, y = np.float32([1, 2, 3]), np.float32([4, 5, 6])
        earlier = checks.Earlier()
        earlier.add([x])
        earlier.add([y])

        def code(actual, unwritten=0.0, inputs=()):
            found = difference(actual, np.float32([7, 8, 9]))
            return checks.diagnose(actual, found, unwritten, inputs, earlier.age(0, actual))

        self.assertEqual(code(x, 1.0).code, "unwritten")
        self.assertIn("50 %", code(x, 0.5).text)
        self.assertEqual(code(x, inputs=[x]).code, "input")
        self.assertIn("2 calls before", code(x).text)
        self.assertIn("the call before", code(y).text)
        self.assertEqual(code(np.float32([np.nan, 1, 2])).code, "nan")
        self.assertEqual(code(np.float32([0, 1, 2])).code, "values")

    def test_each_reason_makes_a_verdict(self):
        self.assertEqual(set(REASONS.values()), {"wrong", "refused"})
        self.assertEqual(Trouble("no such", "x").code, "error")
        self.assertEqual(Trouble("values", "x").text, "x.")


class ChecksOfTensors(unittest.TestCase):
    """The same of PyTorch's, as they are on a GPU."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest(f"{sys.executable} has no torch")
        self.torch = torch

    def test_the_same_as_of_arrays(self):
        exact = RANDOM.standard_normal((40, 50))
        near, far = (exact + size * RANDOM.standard_normal((40, 50)) for size in (1e-7, 1e-2))
        far[3, 4] = np.nan
        for values in (near, far):
            for dtype in ("float32", "float64", "float16"):
                a, e = values.astype(dtype), exact.astype(dtype)
                t, u = self.torch.from_numpy(a), self.torch.from_numpy(e)
                one, other = checks.difference(a, e, dtype, None, True), checks.difference(t, u, dtype, None, True)
                self.assertEqual(one is None, other is None)
                if one is not None:
                    self.assertEqual((one.wrong, one.count, one.worst, one.has_new_nan), (other.wrong, other.count, other.worst, other.has_new_nan))
                    self.assertEqual(one.words(a.shape), other.words(t.shape))
            tensors = self.torch.from_numpy(values), self.torch.from_numpy(exact)
            self.assertAlmostEqual(checks.norm_error(values, exact), checks.norm_error(*tensors), places=12)
            self.assertAlmostEqual(checks.ulp_error(values, exact, "float32"), checks.ulp_error(*tensors, "float32"), places=6)
            self.assertEqual(checks.is_spread(values, exact), checks.is_spread(*tensors))
            self.assertAlmostEqual(checks.OwnError.of(values, exact, "float64").largest, checks.OwnError.of(*tensors, "float64").largest)
        self.assertEqual(checks.difference(self.torch.tensor([1, 3]), self.torch.tensor([1, 2]), "int64", None, True).worst, 1)

    def test_diagnoses_and_poison(self):
        x, y = self.torch.tensor([1.0, 2, 3]), self.torch.tensor([4.0, 5, 6])
        earlier = checks.Earlier()
        earlier.add([x])
        earlier.add([y])
        self.assertEqual((earlier.age(0, y.clone()), earlier.age(0, x.clone()), earlier.age(0, x + y)), (1, 2, None))
        found = checks.difference(x, y, "float32", None, True)
        self.assertEqual(checks.diagnose(x, found, 0.0, [x.clone()], None).code, "input")
        for name in ("float32", "float64", "float16", "bfloat16", "int64", "int8", "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz"):
            poison, tensor = Poison(), self.torch.zeros(8).to(getattr(self.torch, name))
            spec = layout.spec_of(tensor)
            self.assertEqual(poison.unwritten(tensor, spec), 0.0, name)
            arrays.bits(tensor)[...] = poison.value(spec)
            self.assertEqual(poison.unwritten(tensor, spec), 1.0, name)


if __name__ == "__main__":
    unittest.main()
