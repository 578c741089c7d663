#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of a running program as candidates: their source is handed over, with what it uses."""
import functools
import math
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)

import exploits_test as module_of_no_package
import gpubench
from gpubench.judging import Settings
from gpubench.judging.adapters.functions import source_of
from numpy import exp as exponential

FACTOR = 3.0
SHAPES = ((1, 2), "x")
KEPT = {}


def scaled(x):
    return x * FACTOR


def reference(x):
    return scaled(x) + 1


def same(x):
    return 1 + scaled(x)


def wrong(x):
    return x * math.pi


class Doubled:
    factor = 2

    def of(self, x):
        return scaled(x) * self.factor / np.float32(2)


def by_class(x):
    return Doubled().of(x) + 1


def keeps(x):
    return KEPT.setdefault(x.tobytes(), x)


def logged(function):
    @functools.wraps(function)
    def inner(*words):
        return function(*words)
    return inner


@logged
def decorated(x):
    return exponential(x), SHAPES


wrapped = logged(same)


def uses_a_module(x):
    return module_of_no_package.judged(x)


def closing_over(factor):
    def inner(x):
        return x * factor
    return inner


def run(text, name="candidate"):
    names = {}
    exec(compile(text, "file", "exec"), names)
    return names[name]


class Sources(unittest.TestCase):
    def test_what_is_used_comes_along(self):
        text = source_of(by_class, "candidate")
        self.assertEqual(float(run(text)(np.float32(2))), 7.0)
        self.assertNotIn("reference", text)
        self.assertEqual(run(source_of(closing_over(5), "candidate"))(2), 10)
        self.assertEqual(run(source_of(decorated, "candidate"))(0.0), (1.0, SHAPES))
        self.assertEqual(run(source_of(wrong, "candidate"))(1), math.pi)
        self.assertEqual(run(source_of(np.exp, "candidate"))(0), 1)

    def refused(self, thing, *words):
        with self.assertRaises(gpubench.UsageError) as caught:
            source_of(thing, "candidate")
        for each in words:
            self.assertIn(each, str(caught.exception))

    def test_what_cannot_be_handed_over(self):
        self.refused(keeps, "`keeps` uses `KEPT`, a dict")
        self.refused(wrapped, "wrapped")
        self.refused(lambda x: x, "no `def`")
        self.refused(uses_a_module, "module_of_no_package")
        self.refused(run("def f(x):\n    return x", "f"), "source")
        other = closing_over(closing_over(2))
        self.refused(other, "two things")


class Judged(unittest.TestCase):
    def test_functions_are_candidates(self):
        seen = []
        results = gpubench.judge(reference, (each for each in (same, wrong)), inputs=lambda random: random.standard_normal(2000, dtype=np.float32),
                                 settings=Settings(time_budget=0.1, rounds=1, cold=False), on_result=seen.append)
        self.assertEqual([(each.candidate, each.verdict) for each in results], [("same", "right"), ("wrong", "wrong")], [each.text for each in results])
        self.assertEqual(seen, results)
        self.assertEqual(results[0].problem, "reference")

    def test_usage(self):
        inputs = functools.partial(np.random.Generator.standard_normal, size=5)
        for words, how in (((reference, same), {}), ((reference, same), {"inputs": inputs, "tolerances": 1}), (("problem.py", same), {"inputs": inputs}),
                           ((reference, []), {"inputs": inputs}), ((reference, None), {"inputs": inputs}), ((reference, [3]), {"inputs": inputs}), ((None, same), {"inputs": inputs})):
            self.assertRaises(gpubench.UsageError, gpubench.judge, *words, **how)


if __name__ == "__main__":
    unittest.main()
