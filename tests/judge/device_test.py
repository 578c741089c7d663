#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The way of a GPU through the judge, on a fake one: memory that is shared, outputs that are looked at in time, clocks that must agree."""
import contextlib
import os
import re
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

from fake_accelerator import Accelerator, FakeDevice
from gpubench.judging import Settings, records, timing, trial
from gpubench.judging.adapters import problem_of
from gpubench.judging.cell import accelerator, layout
from gpubench.judging.contest import Judge
from gpubench.judging.device import Block, Device, asks_beyond_the_gpu, is_broken, trouble_of
from gpubench.judging.process import Limits, descendants, nursery
from gpubench.judging.records import Work
from gpubench.judging.side import Memory, Side
from gpubench.judging.store import Store

HERE = Path(__file__).resolve().parent
PROBLEM = """
import numpy as np

def reference(x, y):
    return x * 3 + y

def inputs(random, n=20000):
    return random.standard_normal(n, dtype=np.float32), random.standard_normal(n, dtype=np.float32)
"""


class Judged(unittest.TestCase):
    """Candidates of PROBLEM, whose arrays lie on the fake GPU."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        patch = mock.patch.object(layout, "device_of", lambda array: "cpu")
        patch.start()
        self.addCleanup(patch.stop)

    def judged(self, text, problem=PROBLEM, device=FakeDevice, store=None, **how):
        (self.folder / "problem.py").write_text(problem)
        (self.folder / "mine.py").write_text(text)
        settings = Settings(**{"time_budget": 0.2, "rounds": 1, "min_blocks": 2, "limits": Limits(seconds=8.0), "device": device, **how})
        judge = Judge(problem_of(self.folder / "problem.py"), settings, store)
        result, = judge.results([self.folder / "mine.py"])
        self.notes = judge.notes
        return result

    def refused(self, reason, words, text, **how):
        result = self.judged(text, **how)
        self.assertEqual(result.reason, reason, result.text)
        self.assertIn(words, result.text)
        self.assertIsNone(result.speedup)

    def test_an_honest_one_is_right(self):
        result = self.judged("def candidate(x, y):\n    return y + x * 3\n", rounds=2)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertGreater(result.calls_timed, 0)
        self.assertIsNone(result.cold_seconds)
        self.assertEqual(set(result.phases), {"start", "check", "time", "compare", "end", "wait"})
        self.assertAlmostEqual(sum(result.phases.values()), result.seconds_taken)
        self.assertGreaterEqual(min(result.phases.values()), 0.0)
        self.assertIn("activity records", " ".join(self.notes))
        self.assertNotIn("copied between", " ".join(self.notes))

    def test_processes_of_later_rounds_compile_before_timing(self):
        order = []
        for owner, name in ((trial.Trial, "warm_up"), (trial.Trial, "time")):
            def noted(*words, usual=getattr(owner, name), name=name):
                order.append(name)
                return usual(*words)

            patch = mock.patch.object(owner, name, noted)
            patch.start()
            self.addCleanup(patch.stop)
        result = self.judged("def candidate(x, y):\n    return y + x * 3\n", rounds=3)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertEqual(order, ["warm_up", "warm_up", "time"])

    @staticmethod
    @contextlib.contextmanager
    def recorded():
        """Each call of a batch as one kernel, all of the same length."""
        summed_up = records.summed_up

        def of_whole_windows(work, windows, calls, *words):
            bounds = [np.linspace(start, end, calls + 1).astype(int).tolist() for start, end in windows]
            work = [Work(*each, "kernel") for batch in bounds for each in zip(batch, batch[1:])]
            return summed_up(work, windows, calls, *words)

        with mock.patch.object(records, "library", lambda: "/nowhere.so"), mock.patch.object(records, "summed_up", of_whole_windows):
            yield

    def test_the_devices_time_is_that_of_the_harness(self):
        with self.recorded():
            result = self.judged("import time\n\ndef candidate(x, y):\n    time.sleep(0.002)\n    return y + x * 3\n", rounds=2)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertIsNotNone(result.device_excess_seconds, self.notes)
        self.assertGreater(result.device_seconds, result.reference_device_seconds)
        self.assertNotIn("recording adds", " ".join(self.notes))

    def test_warm_caches_are_of_calls_whose_arrays_the_cache_holds(self):
        class Large(FakeDevice):
            def cache_bytes(self):
                return 4 << 20  # half of it holds 8 calls and a result

        class Small(FakeDevice):
            def cache_bytes(self):
                return 1 << 19

        flushed, batches, usual = [], [], Side.run

        def run(side, empty=False, cold=True, **how):
            flushed.append(cold)
            batches.append(len(side.slots))
            return usual(side, empty, cold, **how)

        with self.recorded(), mock.patch.object(Side, "run", run):
            result = self.judged("import time\n\ndef candidate(x, y):\n    time.sleep(0.002)\n    return y + x * 3\n", device=Large)
            self.assertEqual(result.verdict, "right", result.text)
            self.assertEqual({calls for calls, cold in zip(batches, flushed) if not cold}, {8})
            self.assertGreater(result.warm_device_seconds, 0.001)
            self.assertGreater(result.warm_device_seconds, result.reference_warm_device_seconds)
            self.assertIsNone(self.judged("def candidate(x, y):\n    return y + x * 3\n", device=Small).warm_device_seconds)

    def test_the_harness_gets_more_inputs_in_turns_than_the_cache_holds(self):
        reference = """    import sys
    if "gpubench.harness" in sys.modules:
        seen = reference.__dict__.setdefault("seen", [])
        if x.ctypes.data in seen:
            raise ValueError(f"the first of {len(seen)} came again" if x.ctypes.data == seen[0] else "not in turns")
        seen.append(x.ctypes.data)
    return x * 3"""
        with self.recorded():
            self.judged("def candidate(x, y):\n    return y + x * 3\n", problem=PROBLEM.replace("    return x * 3", reference))
        bytes_of_call = 2 * 20000 * 4
        count = re.search(r"the first of (\d+) came again", " ".join(self.notes))
        self.assertGreaterEqual(int(count[1]) * bytes_of_call, 2 * FakeDevice.cache_bytes(None), self.notes)

    def test_memory_that_is_lacking_gives_back_what_there_was(self):
        device, inputs = mock.Mock(), mock.Mock()
        device.block.side_effect = [inputs, accelerator.Refused("cuMemCreate says CUDA_ERROR_OUT_OF_MEMORY")]
        with self.assertRaises(accelerator.Refused):
            Memory.of_device(device, 1, 1)
        inputs.close.assert_called_once_with()

    def test_a_reference_that_the_harness_cannot_measure(self):
        class Unmeasured(FakeDevice):
            def harness_options(self):
                return {"device": "cuda:7", "time": "device"}

        with self.recorded():
            result = self.judged("def candidate(x, y):\n    return y + x * 3\n", device=Unmeasured)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertIsNone(result.device_excess_seconds)
        self.assertIn("hold what recording adds", " ".join(self.notes))

    def test_what_is_faster_while_it_is_not_recorded(self):
        with self.recorded():
            self.refused("clocks", "faster while it is not recorded", (HERE / "exploits" / "cuda_slower_when_watched.py").read_text().replace("import torch", "import time").replace(
                "torch.cuda._sleep(200_000)", "time.sleep(0.0005)").replace("x * 3", "x * 3 + y").replace("(x)", "(x, y)"))

    def test_what_does_less_while_it_is_recorded(self):
        watched = """import os

last = None

def candidate(x, y):
    global last
    if "CUDA_INJECTION64_PATH" not in os.environ or last is None:
        last = y + x * 3
    return last
"""
        with self.recorded():
            result = self.judged(watched)
        self.assertEqual((result.verdict, result.reason), ("wrong", "values"), result.text)
        self.assertIn("while its work on the GPU is recorded", result.text)

    def test_a_copy_is_of_what_was_just_written(self):
        clock = 0.0

        class Place:
            is_fresh = False

            def copy_(self, source):
                nonlocal clock
                clock += 0.25 if source.is_fresh else 1.0
                self.is_fresh = True

        device = mock.Mock(_nap_cycles=1, mark=lambda: clock, seconds_between=lambda first, last: last - first)
        self.assertAlmostEqual(Device.copy_seconds(device, [Place(), Place()], [[Place(), Place()] for _ in range(4)]), 0.5)
        self.assertAlmostEqual(Device.copy_seconds(device, [Place()], [[Place()]]), 1.0, msg="one call, whose outputs are large")
        self.assertEqual(Device.copy_seconds(device, [Place()], []), 0.0)

    def test_judges_take_turns_by_the_gpu_that_they_see_as_their_first(self):
        class Second(FakeDevice):
            turns_of = "GPU-2"

        with mock.patch.object(trial, "Turns", wraps=trial.Turns) as turns:
            self.judged("def candidate(x, y):\n    return y + x * 3\n", device=Second)
        self.assertEqual(turns.call_args[0][0], "GPU-2")

    def test_outputs_that_are_far_larger_than_inputs(self):
        problem = """
import numpy as np

def reference(x, y):
    return x[:, None] * y

def inputs(random, n=1500):
    return random.standard_normal(n, dtype=np.float32), random.standard_normal(n, dtype=np.float32)
"""
        with mock.patch.object(trial, "_GPU_BATCH_BYTES", 4 << 20):
            result = self.judged("def candidate(x, y):\n    return x[:, None] * y\n", problem=problem)
        self.assertEqual(result.verdict, "right", result.text)

    def test_where_memory_is_not_shared_it_is_copied_and_said(self):
        class Refusing(FakeDevice):
            def __init__(self):
                raise accelerator.Refused("cuMemCreate says CUDA_ERROR_NOT_SUPPORTED")

        result = self.judged("def candidate(x, y):\n    return y + x * 3\n", device=Refusing)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED", " ".join(self.notes))

    def test_what_is_written_after_the_answer_is_late(self):
        class Slow(FakeDevice):
            def mark(self):
                time.sleep(0.1)
                return time.perf_counter()

        self.refused("late", "after it had answered", """
import threading, time
import __main__

def store(outputs, specs, result):
    def later():
        time.sleep(0.02)
        outputs[0][-7000:] = result[-7000:]
    outputs[0][:-7000] = result[:-7000]
    threading.Thread(target=later).start()

__main__.store = store

def candidate(x, y):
    return x * 3 + y
""", device=Slow)

    def test_what_changes_its_inputs(self):
        changes = "def candidate(x, y):\n    result = x * 3 + y\n    x[5] = 0\n    return result\n"
        self.refused("guard", "input 0", changes)
        self.assertEqual(self.judged(changes, problem=PROBLEM + "\nmutable = True\n").verdict, "right")

    def test_guards_and_stale_results(self):
        self.refused("stale", "the call before", """
kept = None

def candidate(x, y):
    global kept
    before, kept = kept, x * 3 + y
    return kept if before is None else before
""")

    def test_a_gpu_that_works_while_nothing_is_asked(self):
        class Busy(FakeDevice):
            calls = 0

            def wait_seconds(self, times=5):
                Busy.calls += 1
                # While its processes are held; then reference, candidate; candidate in the next block
                return 1e-5 if Busy.calls == 1 or Busy.calls % 3 == 2 else 3e-3

        self.refused("idle-work", "3 ms", "def candidate(x, y):\n    return y + x * 3\n", device=Busy)

    def test_work_that_never_rests_is_the_candidates_where_it_is_held_with_it(self):
        class Always(FakeDevice):
            busy, held = 3e-3, 1e-5

            def wait_seconds(self, times=5):
                states = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[0] for each in descendants(os.getpid())]
                return self.held if "T" in states else self.busy

        class Others(Always):
            held = 3e-3

        same = "def candidate(x, y):\n    return y + x * 3\n"
        self.refused("idle-work", "while its processes were held", same, device=Always)
        self.assertEqual(self.judged(same, device=Others).verdict, "right")

    def test_clocks_that_disagree(self):
        class Drifting(FakeDevice):
            drift = 0.5

        self.refused("clocks", "by the GPU's clock", "def candidate(x, y):\n    return y + x * 3\n", device=Drifting)

    def test_a_failure_of_the_judges_gpu_costs_one(self):
        class Full(FakeDevice):
            calls = 0

            def wait_seconds(self, times=5):
                raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

        self.refused("memory", "too little", "def candidate(x, y):\n    return y + x * 3\n", device=Full)

        class Shared(Full):
            taken_bytes = 70 << 30

        class Joined(Full):
            left = 100 << 30

            def free_bytes(self):
                return self.left

            def wait_seconds(self, times=5):
                self.left = 30 << 30
                return super().wait_seconds(times)

        self.refused("room", "hold 70 GiB", "def candidate(x, y):\n    return y + x * 3\n", device=Shared)
        self.refused("room", "hold 70 GiB", "def candidate(x, y):\n    return y + x * 3\n", device=Joined, store=Store(self.folder / "kept"))
        self.assertEqual(list((self.folder / "kept").iterdir()), [], "it is judged again")

        for first in (Shared, Full):  # what others held for a moment is not seen
            class Passing(first):
                tries = 0

                def wait_seconds(self, times=5):
                    type(self).tries += 1
                    return super().wait_seconds(times) if self.tries == 1 else self.wait

            self.assertEqual(self.judged("def candidate(x, y):\n    return y + x * 3\n", device=Passing).verdict, "right", "at the second try")
        told = "Tried to allocate {} GiB. GPU 0 has a total capacity of 139.80 GiB of which 100.00 GiB is free."
        self.assertEqual([asks_beyond_the_gpu(told.format(asked)) for asked in (120, 16384.0)], [False, True])
        self.refused("memory", "16384", f"class OutOfMemoryError(Exception):\n    pass\n\ndef candidate(x, y):\n    raise OutOfMemoryError('{told.format(16384)}')\n",
                     device=type("Taken", (FakeDevice,), {"taken_bytes": 70 << 30}))
        for told in ("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"):
            self.refused("room", "hold 70 GiB", f"def candidate(x, y):\n    raise RuntimeError('{told}')\n", device=type("Taken", (FakeDevice,), {"taken_bytes": 70 << 30}))
        self.assertFalse(is_broken(RuntimeError("CUDA out of memory")))
        self.assertTrue(is_broken(RuntimeError("CUDA error: an illegal memory access was encountered")))
        self.assertIsNone(trouble_of(ValueError("x")))


class Broken(FakeDevice):
    """The judge's own context fails with the first candidate."""

    def wait_seconds(self, times=5):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


class JudgedTensors(unittest.TestCase):
    """The same of PyTorch's tensors."""

    problem = """
import torch

def reference(x, y):
    return x * 3 + y, (x > y).sum(dim=0)

def inputs(random, n=20000):
    generator = torch.Generator().manual_seed(int(random.integers(1 << 31)))
    return tuple(torch.randn(n, generator=generator).to(torch.bfloat16) for _ in range(2))

strides = True
"""

    def setUp(self):
        Judged.setUp(self)
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest(f"{sys.executable} has no torch")

    judged = Judged.judged

    def test_tensors(self):
        result = self.judged("def candidate(x, y):\n    return y + x * 3, (x > y).sum(dim=0)\n", problem=self.problem)
        self.assertEqual(result.verdict, "right", result.text)
        self.assertNotIn("copied between", " ".join(self.notes))
        result = self.judged("def candidate(x, y):\n    return y + x * 3, (x > y).sum(dim=0) + 1\n", problem=self.problem)
        self.assertEqual(result.reason, "values", result.text)


class AfterAFailure(unittest.TestCase):
    def test_the_rest_is_judged_in_a_new_process(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("problem.py", "first.py", "second.py", "third.py")]
            files[0].write_text(PROBLEM)
            for file in files[1:]:
                file.write_text(f"def candidate(x, y):\n    return y + x * {2 if file.stem == 'third' else 3}\n")
            with mock.patch.object(layout, "device_of", lambda array: "cpu"):
                judge = Judge(problem_of(files[0]), Settings(time_budget=0.2, rounds=1, min_blocks=2, device=Broken, cold=False))
                results = list(judge.results(files[1:]))
        self.assertEqual([each.reason for each in results], ["judge", None, "values"], [each.text for each in results])
        self.assertEqual([Path(each.candidate).name for each in results], ["first.py", "second.py", "third.py"])
        self.assertIn("new process", " ".join(judge.notes))


class Nurseries(unittest.TestCase):
    def test_what_its_end_means(self):
        one = nursery(["json", "no_such_module"])
        self.assertEqual(one.ask({"status": 1}), {"status": 0}, "not its own")
        one._process.kill()
        one._process.wait()
        self.assertEqual(one.ask({"status": 1}), {"status": -9})
        with self.assertRaisesRegex(RuntimeError, "has ended"):
            one.copy({"folder": "/"}, [], {})
        one.close()


class Blocks(unittest.TestCase):
    def test_what_does_not_fit_is_refused(self):
        block = Block(FakeDevice(), 4096)
        spec = {"dtype": "float32", "shape": [1024], "framework": "numpy", "offset": 0}
        block.view(spec)[...] = 1
        self.assertEqual(int(np.asarray(block.bytes).view(np.float32).sum()), 1024)
        with self.assertRaisesRegex(ValueError, "does not fit"):
            block.view({**spec, "offset": 4})
        block.close()

    def test_another_process_sees_the_same_block(self):
        here, there = Accelerator(), Accelerator()
        address, size, descriptor = here.create(1)
        other, _ = there.open(descriptor, size, True)
        here.array(address, 1, 4)[0] = 7
        self.assertEqual(int(there.array(other, 1, 4)[0]), 7)


def kernel(start, end, kind="kernel", size=-1):
    return Work(int(start * 1e6), int(end * 1e6), kind, size)  # milliseconds


def window(start, end):
    return int(start * 1e6), int(end * 1e6)


class Records(unittest.TestCase):
    def test_overlapping_streams_count_once(self):
        work = [kernel(1, 3), kernel(2, 4), kernel(6, 7), kernel(9, 12)]
        self.assertAlmostEqual(records.busy_seconds(work, [window(0, 5), window(6, 10)]), 5e-3)

    def test_copies_of_outputs_are_no_work_of_calls(self):
        work = [each for i in range(2) for each in (kernel(10 * i + 1, 10 * i + 3), kernel(10 * i + 3, 10 * i + 4, "copy", 64),
                                                    kernel(10 * i + 4, 10 * i + 6), kernel(10 * i + 6, 10 * i + 7, "copy", 64))]
        found = records.summed_up(work, [window(0, 8), window(10, 18)], 2, [64], True)
        self.assertEqual((found.calls, found.copies, found.found), (4, 4, 8))
        self.assertAlmostEqual(found.device_seconds, 2e-3)
        self.assertAlmostEqual(found.outside, 0.0)
        self.assertIsNone(records.disagreement(found, 3e-3, 1e-6, found, 3e-3))

    def test_what_overlaps_a_copy_is_no_time_of_calls_in_a_row(self):
        found = records.summed_up([kernel(1, 5), kernel(4.5, 6, "copy", 64)], [window(0, 7)], 1, [64], True)
        self.assertAlmostEqual(found.device_seconds, 3.5e-3)
        self.assertAlmostEqual(found.busy, 4e-3)

    def test_a_copy_that_the_candidate_makes_is_its_work(self):
        found = records.summed_up([kernel(1, 2, "copy", 64), kernel(2, 3, "copy", 64)], [window(0, 4)], 1, [64], True)
        self.assertAlmostEqual(found.device_seconds, 1e-3)

    def test_work_that_is_hidden_from_the_clock(self):
        found = records.summed_up([kernel(1, 5), kernel(5, 6, "copy", 64)], [window(0, 7)], 1, [64], True)
        self.assertEqual(records.disagreement(found, 3e-3, 1e-6, found, 5e-3).code, "clocks")
        self.assertIn("while it is not recorded", records.disagreement(found, 3e-3, 1e-6, found, 9e-3).text)
        self.assertIsNone(records.disagreement(found, 4.6e-3, 1e-6, found, 4.6e-3), "where the reference's records are longer than its time, too")

    def test_what_records_cost_a_kernel_is_told_from_the_reference(self):
        many = records.summed_up([kernel(0.1 * i, 0.1 * i + 0.1) for i in range(40)], [window(0, 4)], 1, [64], True)
        one = records.summed_up([kernel(0, 4)], [window(0, 4)], 1, [64], True)
        self.assertEqual(records.disagreement(many, 3.5e-3, 1e-6, one, 4e-3).code, "clocks")
        self.assertIsNone(records.disagreement(many, 3.5e-3, 1e-6, one, 3.99e-3), "10 us a kernel")
        self.assertIsNone(records.disagreement(many, 3.8e-3, 1e-6, one, 4e-3), "2 us on any machine")

    def test_what_records_show_beyond_the_harness(self):
        harness = records.Harness(270e-6, 2.0)
        self.assertAlmostEqual(harness.beyond(276e-6, 2.0), 6e-6)
        self.assertAlmostEqual(harness.beyond(276e-6, 1.0), 3e-6, msg="half as many kernels")
        self.assertAlmostEqual(harness.beyond(276e-6, 50.0), 6e-6)
        self.assertAlmostEqual(harness.beyond(269e-6, 1.0), -1e-6, msg="it shows less: that is no matter of kernels")

    def test_one_batch_that_is_held_up_says_nothing(self):
        found = records.summed_up([kernel(1, 2), kernel(11, 12), kernel(21, 25)], [window(0, 9), window(10, 19), window(20, 29)], 1, [64], True)
        self.assertAlmostEqual(found.device_seconds, 1e-3)

    def test_first_calls_warm_up(self):
        def batch(at, first):
            return [kernel(at, at + first), kernel(at + 5, at + 6, "copy", 64), kernel(at + 10, at + 12), kernel(at + 15, at + 16, "copy", 64)]

        work = [*batch(0, 4), *batch(20, 4)]
        windows = [window(0, 18), window(20, 38)]
        found = records.summed_up(work, windows, 2, [64], True, 1)
        self.assertEqual((found.calls, found.found, found.copies), (2, 4, 2))
        self.assertAlmostEqual(found.device_seconds, 2e-3)
        self.assertAlmostEqual(records.summed_up(work, windows, 2, [64], True).device_seconds, 3e-3)
        self.assertIsNone(records.summed_up([*work, kernel(13, 14), kernel(33, 34)], windows, 2, [64], True, 1).device_seconds, "5 works of 2 calls")

    def test_work_outside_of_calls(self):
        found = records.summed_up([kernel(1, 5), kernel(9, 12)], [window(0, 7)], 1, [64], True)
        self.assertAlmostEqual(found.outside, 3e-3)
        none = records.summed_up([kernel(1, 5)], [window(0, 7)], 1, [64], True)
        self.assertEqual(records.disagreement(found, 5e-3, 1e-6, none, 5e-3).code, "idle-work")
        self.assertIsNone(records.disagreement(found, 5e-3, 1e-6, found, 5e-3), "as much as the reference")

    def test_none_at_all(self):
        none = records.summed_up([], [window(0, 7)], 1, [64], True)
        self.assertEqual(records.disagreement(none, 5e-3, 1e-6, none, 5e-3).code, "tampering")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(records.read(folder), [])
            (Path(folder) / "1-2.gprec").write_bytes(b"GPSPOOL1 and no more")
            self.assertEqual(records.read(folder), [])


class Costs(unittest.TestCase):
    def test_what_is_subtracted_follows_what_holds_a_side_up(self):
        block = timing.Block((30e-6, 30e-6), (20e-6, 20e-6), (6e-6, 6e-6), (1e-6, 1e-6))
        rounds = [timing.Times([block] * 4)]
        self.assertAlmostEqual(timing.Summary(rounds).seconds("candidate"), 14e-6)
        self.assertAlmostEqual(timing.Summary(rounds, frozenset(["candidate"])).seconds("candidate"), 19e-6)
        self.assertAlmostEqual(timing.Summary(rounds, gpu_copy={"candidate": 2e-6}).seconds("candidate"), 17e-6)
        self.assertAlmostEqual(timing.Summary(rounds, gpu_copy={"candidate": 9e-6}).seconds("candidate"), 14e-6)
        self.assertAlmostEqual(timing.Summary(rounds, device_seconds={"candidate": 16e-6}).seconds("candidate"), 16e-6, msg="no call is shorter than its work")
        self.assertAlmostEqual(timing.Summary(rounds, device_seconds={"candidate": 12e-6}).seconds("candidate"), 14e-6)
        self.assertAlmostEqual(timing.Summary(rounds, device_seconds={"candidate": 30e-6}).seconds("candidate"), 19e-6, msg="nor longer than its batch")


if __name__ == "__main__":
    unittest.main()
