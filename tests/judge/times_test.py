#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge's clocks, batches and turns, on known answers."""
import itertools
import os
import sys
import threading
import time
import unittest
from unittest import mock

try:
    import numpy as np
except ImportError:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)

from gpubench.judging import process, timing
from gpubench.judging.memory import Poison
from gpubench.judging.process import Limits
from gpubench.judging.side import Side
from gpubench.judging.trial import Settings, Trial
from gpubench.judging.turns import Turns
from gpubench.judging.verdict import Result, Trouble

RANDOM = np.random.default_rng(1)


class Late(unittest.TestCase):
    def side(self, looks):
        side = Side(None, "", {}, False, Limits(), Poison())
        self.addCleanup(side.close)
        sample = mock.Mock(look=mock.Mock(side_effect=looks[1:]))
        sample.changed.side_effect = lambda seen, now: seen != now
        side._seen = sample, looks[0]
        return side

    def test_what_changes_after_the_look_is_late_though_it_was_no_poison(self):
        zeros, right = np.zeros(4), np.float64([0, 0, 1, 2])
        with self.assertRaises(Trouble) as found:
            self.side([zeros, right]).all_outputs()
        self.assertEqual((found.exception.code, "2 of 4 elements" in found.exception.text), ("late", True))
        self.assertEqual(self.side([right, right]).all_outputs(), [])


class Cold(unittest.TestCase):
    def sides(self, wrong_at=None):
        value = [0]

        def side(name):
            one = mock.Mock()
            one.run.side_effect = lambda: mock.Mock(undisturbed=1e-3 if name != "nothing" else 1e-6)
            one.fill.side_effect = lambda slot, filled, skeleton: value.__setitem__(0, filled[0])
            one.all_outputs.side_effect = lambda: [[-1 if name == "candidate" and value[0] == wrong_at else value[0]]]
            return one
        return [side(name) for name in ("reference", "candidate", "nothing")]

    def measured(self, **how):
        compared, numbers = [], itertools.count()
        seconds = timing.cold_seconds(*self.sides(**how), lambda: timing.Inputs(None, [next(numbers)], None),
                                      lambda slot, inputs, outputs, expected: compared.append(outputs == expected), lambda: None)
        return seconds, compared

    def test_each_call_is_compared(self):
        seconds, compared = self.measured()
        self.assertAlmostEqual(seconds, 1e-3 - 1e-6)
        self.assertEqual(compared, [True] * 9)
        self.assertEqual(self.measured(wrong_at=5)[1], [each != 5 for each in range(9)])


class WorkAhead(unittest.TestCase):
    CALLS = 8

    class Batch:
        """A side whose first half of calls is done when inputs come late; `ahead`: with the results of all. Results are inputs times two."""

        device, is_warm, process = None, False, mock.Mock(idle_cpu=lambda: 0.0)

        def __init__(self, ahead=False):
            self.ahead, self.given, self.results = ahead, {}, {}

        def fill(self, slot, filled, skeleton=None):
            self.given[slot] = [np.array(each) for each in filled]

        def _work(self, slots):
            self.results.update((slot, [self.given[slot][0] * 2]) for slot in slots)

        def run(self, empty=False, cold=True, meanwhile=None):
            half = len(self.given) // 2
            self._work(range(len(self.given) if self.ahead else half))
            if meanwhile is not None:
                meanwhile()
            if not self.ahead:
                self._work(range(half, len(self.given)))
            return mock.Mock(undisturbed=1e-6, wall=1e-6, cpu=0.0, idle_cpu=0.0, gpu=None)

        def refuse_evasion(self):
            pass

        def is_done(self, slot):
            return True

        def replace_in_time(self, slot, filled):
            self.fill(slot, filled)
            return slot >= len(self.given) // 2

        def outputs(self, slot):
            return self.results[slot]

        def all_outputs(self):
            return [self.results[slot] for slot in range(len(self.given))]

    def checked(self, candidate, fresh=lambda: RANDOM.standard_normal(100)):
        """Of many visits: whether results were right, of calls that got their inputs in time and late, and how many were not checked."""
        found = {True: [], False: []}
        sides, visits = [self.Batch(), candidate, self.Batch()], 40
        for _ in range(visits):
            candidate.is_warm = False
            timing.take_turns(*sides, timing.Plan(self.CALLS), lambda: timing.Inputs(None, [fresh()], None),
                              lambda slot, inputs, outputs, expected: found[inputs.came_late].append(np.array_equal(outputs[0], expected[0])), timing.Times())
        return found[False], found[True], visits * 3 * self.CALLS - len(found[True]) - len(found[False])

    def test_a_call_whose_inputs_come_late_is_right_if_it_is_made_then(self):
        in_time, late, unchecked = self.checked(self.Batch())
        self.assertTrue(all(in_time) and late and all(late))
        self.assertEqual(len(late) + unchecked, 40)  # one a visit; those that had begun are not checked
        self.assertGreater(unchecked, 0)

    def test_who_works_ahead_is_wrong(self):
        in_time, late, _ = self.checked(self.Batch(ahead=True))
        self.assertTrue(all(in_time) and late and not any(late))

    def test_whole_numbers_never_come_late(self):
        self.assertEqual(self.checked(self.Batch(), lambda: RANDOM.integers(9, size=100))[1:], ([], 0))


def times(pairs, nothing=1e-6):
    return timing.Times([timing.Block((one, one), (two, two), (nothing, nothing)) for one, two in pairs])


class Timing(unittest.TestCase):
    def test_batches_follow_the_fastest_sample(self):
        self.assertEqual(timing.calls_of_batch([1e-3, 1e-5, 1.0], 1e-6, 100, 1 << 20, 1e-3), 100)
        self.assertEqual(timing.calls_of_batch([1.0], 1e-6, 100, 1 << 20), 1)
        self.assertEqual(timing.calls_of_batch([1e-6], 1e-6, 1 << 19, 1 << 20), 2, "no more than fit")
        self.assertEqual(timing.calls_of_batch([1e-6], 0.2, 1, 1 << 20), 2, "no more than can be made")

    def test_calls_that_are_checked(self):
        for found, *given in ((1.0, 64 << 20, 256), (0.25, 1 << 30, 256), (1.0, 4 << 30, 15), (1.0, 0, 1)):
            self.assertEqual(timing.share_checked(*given), found, given)

    def test_a_speed_up_and_its_interval(self):
        pairs = [(20e-6 * (1 + 0.001 * i), 11e-6 * (1 + 0.001 * (7 * i % 5))) for i in range(20)]
        speedup, _ = timing.Summary([times(pairs)]).speedup()
        self.assertAlmostEqual(speedup.value, 1.915, delta=0.005, msg="the median of pairs")
        self.assertLess(speedup.low, speedup.value)
        self.assertGreater(speedup.high, speedup.value)
        self.assertLess(speedup.high / speedup.low, 1.05)

    def test_what_slows_single_batches_does_not_matter(self):
        pairs = [(20e-6, 11e-6 * (50 if i % 3 == 0 else 1)) for i in range(24)]
        self.assertAlmostEqual(timing.Summary([times(pairs)]).speedup()[0].value, 1.9, delta=0.01)

    def test_processes_that_differ_make_a_wide_interval(self):
        steady = [times([(20e-6, 20e-6)] * 8) for _ in range(3)]
        self.assertAlmostEqual(timing.Summary(steady).speedup()[0].high, 1.0)
        one_slow = [*steady[:2], times([(60e-6, 20e-6)] * 8)]
        speedup, _ = timing.Summary(one_slow).speedup()
        self.assertAlmostEqual(speedup.value, 1.0)
        self.assertGreater(speedup.high, 2.0)

    def test_too_short_has_a_reason(self):
        speedup, why = timing.Summary([times([(1e-6, 1e-6)] * 8)]).speedup()
        self.assertIsNone(speedup)
        self.assertIn("too short", why)

    def test_work_between_calls_is_refused(self):
        quiet = times([(1e-3, 1e-3)] * 10)
        quiet.cpu, quiet.idle_cpu = 0.1, 0.001
        self.assertIsNone(timing.clocks_agree([quiet]))
        quiet.idle_cpu = 0.09
        self.assertEqual(timing.clocks_agree([quiet]).code, "idle-work")
        quiet.reference_idle_cpu = 0.05
        self.assertIsNone(timing.clocks_agree([quiet]), "the reference's own library does the same")

    def test_a_little_work_beside_every_block_is_refused_and_much_beside_one_is_not(self):
        once, often = times([(1e-3, 1e-3)] * 10), times([(1e-3, 1e-3)] * 10)
        once.idle_of_visits, often.idle_of_visits = [0.01, *[0.0] * 9], [0.001] * 10
        for each in (once, often):
            each.cpu, each.idle_cpu = 0.04, 0.01
        self.assertIsNone(timing.clocks_agree([once]))
        self.assertEqual(timing.clocks_agree([often]).code, "idle-work")


class Rounds(unittest.TestCase):
    """Three rounds whose blocks are given: ten calls a second for both, unless a block is disturbed."""

    def blocks(self, disturbed, budget=1e3, **how):
        """How many each round gets; `disturbed` are places of (round, block) in which the candidate takes longer."""
        made = object.__new__(Trial)
        made.settings = Settings(time_budget=budget)
        made.starters = mock.Mock(map=lambda *_: [])
        made.references = [mock.Mock(loaded=True, place=place) for place in range(3)]

        def visit(side, reference, plan, result, round_):
            slow = 1.1 if (reference.place, len(round_.blocks)) in disturbed else 1.0 + 1e-4 * reference.place
            round_.blocks.append(timing.Block((0.1, 0.1), (0.1 * slow, 0.1 * slow), (0.0, 0.0)))

        made._round = visit
        return [len(each.blocks) for each in made.rounds(mock.Mock(), mock.Mock, timing.Plan(1), Result(candidate=""), **how)]

    def test_what_agrees_is_not_visited_again(self):
        self.assertEqual(self.blocks(set()), [2, 2, 2])

    def test_what_is_disturbed_is_outvoted(self):
        self.assertEqual(self.blocks({(1, 0)}), [3, 3, 3])
        self.assertEqual(self.blocks({(1, 0), (1, 1)}), [5, 5, 5])

    def test_where_there_is_no_time(self):
        self.assertEqual(self.blocks({(1, 0)}, budget=0.0), [2, 2, 2])

    def test_clocks_that_disagree_once_are_looked_at_again(self):
        self.assertEqual(self.blocks(set(), trouble_of=lambda rounds: Trouble("clocks", "") if len(rounds[0].blocks) < 4 else None), [4, 4, 4])
        with self.assertRaises(Trouble):
            self.blocks(set(), trouble_of=lambda _: Trouble("clocks", ""))


class TurnsTaken(unittest.TestCase):
    def test_who_times_is_alone(self):
        said = []
        device = f"test-{os.getpid()}"
        one, other = (Turns(device, said.append, 0.05) for _ in range(2))
        self.addCleanup(lambda: [os.unlink(each) for each in one.files])
        with one.beside_others(), other.beside_others():
            pass
        with one.alone():
            pass
        self.assertEqual(said, [])
        with one.alone(), other.beside_others():
            self.assertIn("did not give way", said.pop())
        with one.beside_others(), other.alone():
            self.assertIn("did not give way", said.pop())

    def test_who_waits_is_not_overtaken(self):
        device = f"test-{os.getpid()}"
        one, two, three = (Turns(device, self.fail, 5.0) for _ in range(3))
        self.addCleanup(lambda: [os.unlink(each) for each in one.files])
        order = []

        def work(turns, how, name):
            with getattr(turns, how)():
                order.append(name)

        with one.beside_others():
            threads = [threading.Thread(target=work, args=each) for each in ((two, "alone", "timing"), (three, "beside_others", "checking"))]
            for each in threads:
                each.start()
                time.sleep(0.1)
            self.assertEqual(order, [])
        for each in threads:
            each.join()
        self.assertEqual(order, ["timing", "checking"])

    def test_all_who_wait_to_time_do_so_before_others(self):
        device = f"test-{os.getpid()}"
        turns = [Turns(device, self.fail, 5.0) for _ in range(4)]
        self.addCleanup(lambda: [os.unlink(each) for each in turns[0].files])
        order = []

        def work(own, how, name):
            with getattr(own, how)():
                order.append(name)

        with turns[0].alone():
            threads = [threading.Thread(target=work, args=each)
                       for each in zip(turns[1:], ("beside_others", "alone", "alone"), ("checking", "timing", "timing"))]
            for each in threads:
                each.start()
                time.sleep(0.1)
        for each in threads:
            each.join()
        self.assertEqual(order, ["timing", "timing", "checking"])

    def test_where_there_is_no_lock(self):
        said = []
        turns = Turns("no/such/place", said.append, 0.05)
        with turns.alone():
            self.assertIn("cannot be used", said.pop())


if __name__ == "__main__":
    unittest.main()
