#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpubench judge as its users call it."""
import contextlib
import io
import json
import os
import py_compile
import re
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

try:
    import numpy  # noqa: F401
except ImportError:
    print(f"skipped: {sys.executable} has no numpy")
    sys.exit(77)

from gpubench import UsageError, WriteError
from gpubench.judging import Settings, timing
from gpubench.judging.__main__ import main as command
from gpubench.judging.adapters import benchmark_program, kernelbench, problem_of
from gpubench.judging.contest import Judge, candidates_of
from gpubench.judging.page import lines_of, page_of
from gpubench.judging.process import Limits
from gpubench.judging.store import Store
from gpubench.judging.verdict import REASONS, Interval, Result

HERE = Path(__file__).resolve().parent
MATMUL = HERE / "problems" / "matmul.py"
SAME, ZEROS = HERE / "honest" / "matmul_same.py", HERE / "exploits" / "zeros.py"
QUICK = ("--time-budget=0.1", "--no-cold")
CALIBRATION = HERE.parent / "python" / "cpu-calibration.json"


def judge(*words, cwd=None, **environment):
    return subprocess.run([os.environ["GPUBENCH"], "judge", *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **environment})


def quickly(problem, *files, **settings):
    """Results and notes without the command, of one process a side."""
    judge = Judge(problem_of(Path(problem)), Settings(**{"time_budget": 0.1, "rounds": 1, "cold": False, **settings}))
    results = list(judge.results(list(files)))
    return results, judge.notes


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, text):
        file = self.folder / name
        file.write_text(text)
        return file

    def refuses(self, problem, *words):
        """A problem of this text."""
        self.refused(judge(self.put("problem.py", problem), SAME, *QUICK), *words)

    def refused(self, result, *words):
        """One sentence on stderr, and the exit code of wrong usage."""
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_a_check_that_runs_the_reference_leaves_nothing_to_the_next(self):
        results, _ = quickly(HERE / "problems" / "gm_in_place" / "reference.py", HERE / "honest" / "gm_in_place.py", HERE / "exploits" / "gm_untouched_output.py")
        self.assertEqual([each.verdict for each in results], ["right", "wrong"], [each.text for each in results])
        self.assertNotIn("Right when it was checked", results[1].text)

    def test_hidden_contents_that_the_problems_own_check_refuses_are_left_out(self):
        problem = self.put("reference.py", """
import numpy as np

def generate_input(size: int = 8, seed: int = 0):
    return np.random.default_rng(seed).standard_normal(size, dtype=np.float32)

def ref_kernel(data):
    return np.abs(data)

def check_implementation(data, output):
    return "it must be positive" if not (output > 0).all() else "" if np.allclose(output, np.abs(data)) else "mismatch"
""")
        (result,), notes = quickly(problem, self.put("mine.py", "import numpy as np\n\ndef custom_kernel(data):\n    return np.abs(data)\n"))
        self.assertEqual(result.verdict, "right", result.text)
        self.assertIn("Not tried with hidden contents 'zeros': the problem's own check refuses the reference's result.", notes)

    def test_processes_are_counted_where_the_system_does_not_limit_them(self):
        limits = Limits(seconds=20.0, processes=40, without={"number of processes": "not here"})
        (result, other), _ = quickly(HERE / "problems" / "saxpy.py", HERE / "exploits" / "starts_processes_without_end.py", HERE / "honest" / "saxpy_same.py", limits=limits)
        self.assertEqual((result.reason, other.verdict), ("crash", "right"), result.text)
        self.assertRegex(result.text, "more than [0-9]+ processes")

    def test_what_rounding_alone_makes_is_not_asked(self):
        problem = self.put("problem.py", "import numpy as np\n\ndef reference(x):\n    y = x * np.float32(1.1)\n    centred = y - y.mean()\n    return x + centred / np.sqrt((centred**2).mean() + np.float32(1e-12))\n\n"
                           "def inputs(random):\n    return random.standard_normal(1000, dtype=np.float32)\n\ncontents = ['equal', 'large']\n")
        mine = self.put("mine.py", "import numpy as np\n\ndef candidate(x):\n    y = x * np.float32(1.1)\n    centred = y - np.add.accumulate(y)[-1] / np.float32(y.size)\n"
                        "    return x + centred / np.sqrt((centred**2).mean() + np.float32(1e-12))\n")
        (result,), notes = quickly(problem, mine)
        self.assertEqual(result.verdict, "right", f"{result.text} {notes}")

    def test_a_result_of_rounding_errors_is_said_to_be_one(self):
        problem = self.put("problem.py", "import numpy as np\n\ndef reference(x):\n    return (x - x.mean(axis=1, keepdims=True)).mean(axis=1)\n\n"
                           "def inputs(random):\n    return random.standard_normal((40, 1000), dtype=np.float32)\n\ncontents = []\n")
        mine = self.put("mine.py", "import numpy as np\n\ndef candidate(x):\n    return (x[:, ::-1] - x.mean(axis=1, keepdims=True)).sum(axis=1) / np.float32(1000)\n")
        (result,), notes = quickly(problem, mine)
        self.assertEqual(result.verdict, "right", f"{result.text} {notes}")
        self.assertIn("made of rounding errors", " ".join(notes))

    def test_a_problems_own_check_may_take_fp32_for_fp64(self):
        problem = self.put("reference.py", """
import numpy as np

def generate_input(size: int = 800, seed: int = 0):
    return np.random.default_rng(seed).standard_normal(size, dtype=np.float32)

def ref_kernel(data):
    return np.cumsum(data, dtype=np.float64)

def check_implementation(data, output):
    return "" if np.allclose(output, ref_kernel(data), rtol=1e-3, atol=1e-3) else "mismatch"
""")
        (result, other), notes = quickly(problem, self.put("mine.py", "import numpy as np\n\ndef custom_kernel(data):\n    return np.cumsum(data)\n"),
                                     self.put("half.py", "import numpy as np\n\ndef custom_kernel(data):\n    return np.cumsum(data).astype(np.float16)\n"))
        # Of large numbers rounding makes more than this absolute tolerance in most draws; then they are not tried.
        self.assertEqual((result.verdict, other.reason), ("right", "type"), f"{result.text} {notes}")

    def test_a_problems_own_check_says_which_precision_will_do(self):
        text = "import numpy as np\ndef reference(a, b): return a @ b\ndef inputs(random): return tuple(random.standard_normal((64, 64), dtype=np.float32) for _ in range(2))\n"
        half = self.put("mine.py", "import numpy as np\ndef candidate(a, b): return (a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32))\n")
        loose = "contents = ['zeros']\ntolerance = (1e-1, 1e-1)\n"
        for more, reason in (("", "precision"), ("def compare(inputs, output): return '' if np.allclose(output, inputs[0] @ inputs[1], rtol=0.1, atol=0.1) else 'mismatch'\n", None)):
            (result,), _ = quickly(self.put("problem.py", text + loose + more), half)
            self.assertEqual(result.reason, reason, result.text)

    def test_kernelbenchs_models_may_convolve_in_tf32_as_pytorch_does(self):
        convolves, multiplies = self.put("convolves.py", "self.conv = nn.Conv2d(3, 4, 5)"), self.put("multiplies.py", "return a @ b  # no convolution")
        for allowed in (True, False):
            torch = types.SimpleNamespace(backends=types.SimpleNamespace(cudnn=types.SimpleNamespace(allow_tf32=allowed)))
            with mock.patch.dict(sys.modules, torch=torch):
                self.assertEqual([kernelbench.may_convolve_in_tf32(each) for each in (convolves, multiplies)], [allowed, False])

    def test_a_reference_that_returns_no_array(self):
        self.refuses("def reference(x):\n    return [None]\n\ndef inputs(random):\n    return random.random(5)\n", "The reference of problem does not work: it returns no array.")

    def test_a_reference_that_ends_for_hidden_contents(self):
        self.refuses("import os\n\ndef reference(x):\n    if not x.any():\n        os._exit(3)\n    return x * 2\n\n"
                     "def inputs(random):\n    return random.random(50)\n\ncontents = ['zeros']\n",
                     "The reference of problem does not work: for hidden contents 'zeros': It ended its process with exit code 3.")

    def test_a_folder_of_gpu_mode_without_cases(self):
        (self.folder / "mode").mkdir()
        self.put("mode/reference.py", "def generate_input(size, seed):\n    pass\n\ndef check_implementation(data, output):\n    return ''\n\ndef ref_kernel(data):\n    pass\n")
        self.refused(judge(self.folder / "mode", SAME, *QUICK), "task.yml is not there, and `generate_input` needs size; give cases as GPU MODE writes them: - {\"size\": 128, \"seed\": 1}.")
        self.put("mode/task.yml", "tests:\n  - size 128\n")
        self.refused(judge(self.folder / "mode", SAME, *QUICK), "task.yml has no case that can be read, and")

    def test_inputs_that_are_always_the_same(self):
        self.refuses("import numpy\n\ndef reference(x):\n    return x * 2\n\ndef inputs(random):\n    return numpy.arange(50.0)\n", "`inputs` of problem gives the same inputs every time")

    def test_a_check_that_returns_no_text(self):
        self.refuses("def reference(x):\n    return x * 2\n\ndef inputs(random):\n    return random.random(50)\n\n"
                     "def compare(inputs, outputs):\n    return True\n",
                     "`compare` of problem is to return what is wrong as a text, or an empty one, and returns 'True'")

    def test_a_check_that_takes_nan_or_zeros(self):
        problem = "import numpy as np\n\ndef reference(x):\n    return x * 2\n\ndef inputs(random):\n    return random.random(50)\n\ndef compare(inputs, output):\n    return "
        nan, zeros = (self.put(f"{name}.py", f"def candidate(x):\n    return x * {name} + x[0] * 1e-9\n") for name in ("float('nan')", "0"))
        results, notes = quickly(self.put("problem.py", problem + "'wrong' if (abs(output - 2 * inputs[0]) > 1e-3).any() else ''\n"), nan, zeros)
        self.assertEqual([each.reason for each in results], ["nan", "values"])
        self.assertIn("The problem's own check takes NaN for right: the judge refuses it where the reference has numbers.", notes)
        results, notes = quickly(self.put("problem.py", problem + "'' if (output < 3).all() else 'wrong'\n"), nan, zeros)
        self.assertEqual([each.reason for each in results], ["nan", None])
        self.assertIn("The problem's own check takes zeros for right.", notes)

    def test_random_results_are_checked_by_hidden_cases_too(self):
        problem = self.put("problem.py", "import numpy\n\ndef reference(x):\n    return x + numpy.random.random(x.shape)\n\ndef inputs(random, n=50):\n    return random.random(n)\n\n"
                                         "def compare(inputs, outputs):\n    x, = inputs\n    return '' if ((outputs >= x) & (outputs <= x + 1)).all() else 'out of bounds'\n\n"
                                         "hidden_cases = [{'n': 20}]\n")
        wrong = self.put("wrong.py", "import numpy\n\ndef candidate(x):\n    return x + numpy.random.random(x.shape) if len(x) == 50 else x * 0 - 5\n")
        result = json.loads(judge(problem, wrong, *QUICK, "--json").stdout)
        self.assertEqual((result["verdict"], result["reason"]), ("wrong", "hidden-case"), result["text"])

    def test_a_reference_whose_shapes_depend_on_contents(self):
        self.refuses("def reference(x):\n    return x[x > 0.5]\n\ndef inputs(random):\n    return random.random(1000)\n", "The reference of problem does not work: the shapes of its results depend on the contents of inputs")

    def test_a_reference_that_fails_for_some_inputs_is_not_held_against_candidates(self):
        problem = self.put("problem.py", "import itertools\n\ncalls = itertools.count()\n\ndef reference(x):\n    if next(calls) > 100:\n        raise ValueError('singular')\n    return x + 1\n\n"
                           "def inputs(random):\n    return random.random(1000)\n")
        (result,), _ = quickly(problem, self.put("mine.py", "def candidate(x):\n    return x + 1\n"))
        self.assertEqual((result.verdict, result.reason), ("refused", "unchecked"), result.text)
        self.assertIn("ValueError: singular", result.text)

    def test_a_thread_that_never_rests_is_seen_at_rest(self):
        problem = self.put("problem.py", "def reference(x):\n    return x + 1\n\ndef inputs(random):\n    return random.random(1000)\n")
        busy = self.put("busy.py", "import threading\n\ndef work():\n    while True:\n        pass\n\nthreading.Thread(target=work, daemon=True).start()\n\ndef candidate(x):\n    return x + 1\n")
        with mock.patch.object(timing, "clocks_agree", lambda rounds: None):
            (result,), _ = quickly(problem, busy)
        self.assertEqual((result.verdict, result.reason), ("refused", "idle-work"), result.text)
        self.assertIn("while nothing is asked of it", result.text)

    def test_one_of_numpys_numbers_is_an_input(self):
        problem = self.put("problem.py", "import numpy as np\n\ndef reference(x, factor):\n    return x * factor\n\ndef inputs(random):\n    return random.random(1000), np.float64(random.random())\n")
        (right, wrong), _ = quickly(problem, self.put("right.py", "def candidate(x, factor):\n    return factor * x\n"), self.put("wrong.py", "def candidate(x, factor):\n    return x * 7\n"))
        self.assertEqual((right.verdict, wrong.verdict), ("right", "wrong"), right.text + wrong.text)

    def test_a_wrong_one_of_several_outputs_is_named(self):
        problem = self.put("problem.py", "def reference(x):\n    return {'sum': x + 1, 'double': x * 2}\n\ndef inputs(random):\n    return random.random(1000)\n")
        (result,), _ = quickly(problem, self.put("mine.py", "def candidate(x):\n    return {'double': x * 2, 'sum': x + 2}\n"))
        self.assertRegex(result.text, "^Output 1: Element ")

    def test_a_reference_that_draws_random_numbers(self):
        self.refuses("def reference(x):\n    import numpy as np\n    return x + np.random.rand(5)\n\ndef inputs(random):\n    return random.random(5)\n", "other results for the same inputs", "`compare`")
        text = """
import numpy as np

class Model:
    def forward(self, x):
        return x * (np.random.rand(*x.shape) > 0.2){}

def get_inputs():
    return [np.random.rand(100)]
"""
        (result, other), notes = quickly(self.put("model.py", text.format("")), self.put("mine.py", text.format("").replace("Model", "ModelNew")),
                                         self.put("other.py", text.format(" * 3").replace("Model", "ModelNew")))
        self.assertEqual((result.verdict, other.reason), ("right", "values"), result.text)
        self.assertIn("draws random numbers", " ".join(notes))

    def test_each_candidate_is_one_line_of_json(self):
        result = judge(MATMUL, SAME, ZEROS, "--json", *QUICK)
        self.assertEqual(result.returncode, 2, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(each["candidate"], each["verdict"]) for each in lines], [(str(SAME), "right"), (str(ZEROS), "wrong")])
        self.assertEqual(lines[1]["reason"], "values")
        self.assertGreater(lines[0]["calls_timed"], 0)

    def test_all_right_is_0_and_the_table_fits(self):
        result = judge(MATMUL, SAME, "--width=80", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("matmul_same.py", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 90)

    def test_ceilings_make_a_floor(self):
        result = judge(MATMUL, SAME, "--json", f"--calibration={CALIBRATION}", *QUICK)
        one = json.loads(result.stdout)
        self.assertEqual(one["limiter"], "fp32")
        self.assertAlmostEqual(one["floor_seconds"], 2 * 96 * 80 * 112 / 510e9, delta=1e-9)
        self.assertIn("FLOP", one["floor_basis"])
        if one["seconds"] is not None:
            self.assertIn(one["regime"], ("overhead", "latency", "memory", "compute", "unknown"))
            self.assertTrue(one["next_step"].endswith("."))

    def test_what_is_faster_than_the_ceilings_is_refused(self):
        slow = json.loads(CALIBRATION.read_text())
        for each in slow["ceilings"]:
            if each["unit"] == "FLOP/s":
                each["value"], each["ci95"] = 1e6, [0.9e6, 1.1e6]
        (one,), _ = quickly(MATMUL, SAME, calibration=slow)
        self.assertEqual((one.verdict, one.reason), ("refused", "floor"))
        self.assertIsNone(one.speedup)

    def test_what_is_stopped_says_what_is_kept(self):
        slow = self.put("slow.py", "import time\ndef candidate(a, b):\n    time.sleep(3600)\n")
        for options, kept in (((f"--resume={self.folder}/verdicts",), f"their verdicts are in {self.folder}/verdicts, and the same command goes on"),
                              ((), "to keep verdicts: --resume=FOLDER")):
            with subprocess.Popen([os.environ["GPUBENCH"], "judge", MATMUL, ZEROS, slow, "--json", *QUICK, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                self.assertEqual(json.loads(process.stdout.readline())["verdict"], "wrong")
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.communicate()[1], f"\ngpubench: stopped after 1 of 2 candidates; {kept}\n")
                self.assertEqual(process.returncode, 130)

    def test_verdicts_are_kept_by_content(self):
        mine = self.put("mine.py", SAME.read_text())
        store = self.folder / "verdicts"
        first = judge(MATMUL, mine, "--json", f"--resume={store}", *QUICK)
        self.assertEqual(first.stdout, judge(MATMUL, mine, "--json", f"--resume={store}", *QUICK).stdout)
        mine.write_text(SAME.read_text() + "\n")
        again = judge(MATMUL, mine, "--json", f"--resume={store}", *QUICK)
        self.assertNotEqual(first.stdout, again.stdout)
        self.assertEqual(len(list(store.iterdir())), 2)
        kept = json.loads(first.stdout)
        self.assertEqual(Result.from_dict(kept).verdict, "right")
        for changed in ({"verdict": None}, {"seconds": "fast"}, {"isolation_missing": 5}, {"speedup": {"value": "x", "low": 1.0, "high": 1.0}}):
            with self.assertRaises((TypeError, ValueError), msg=changed):
                Result.from_dict({**kept, **changed})

    def test_a_folder_is_a_page(self):
        (self.folder / "all").mkdir()
        for name in ("a.py", "<b>&'.py"):
            (self.folder / "all" / name).write_text(SAME.read_text())
        (self.folder / "all" / "notes.txt").write_text("no candidate")
        page, lines = self.folder / "page.html", self.folder / "lines.jsonl"
        result = judge(MATMUL, self.folder / "all", f"--out={page}", f"--out={lines}", "--jobs=2", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = page.read_text()
        self.assertTrue("&lt;b&gt;&amp;" in text)
        self.assertFalse("<b>&" in text)
        self.assertTrue("<title>Candidates for matmul</title>" in text)
        self.assertTrue("prefers-color-scheme: dark" in text)
        self.assertTrue("2 judged: 2 right, 0 wrong, 0 refused" in text)
        self.assertEqual(len(lines.read_text().splitlines()), 2)

    def test_hostile_words_stay_text(self):
        evil = "</script><script>alert(1)</script>\x1b[31m"
        results = [Result(f"{evil}.py", "right", text=evil, problem=evil, speedup=Interval(2, 1, 3), seconds=1e-3), Result("b.py", "wrong", "values", evil)]
        page = page_of(results, [evil])
        for bad in ("<script>alert", "\x1b"):
            self.assertFalse(bad in page, "a page is too long to be shown")

    def test_the_time_on_a_gpu_stands_beside_the_references(self):
        results = [Result("a.py", "right", seconds=9e-6, device_seconds=4e-6, reference_device_seconds=6e-6, next_step="Profile it."), Result("b.py", "right", seconds=1e-3)]
        self.assertIn("        On the GPU 4 us, 1.50x. Profile it.\n", lines_of(results))
        self.assertEqual(lines_of(results).count("On the GPU"), 1)
        self.assertTrue("4 us, 1.50x" in page_of(results))

    def test_wrong_usage(self):
        self.refused(judge(MATMUL, self.folder / "nothing.py"), "There is no candidate")
        self.refused(judge(self.folder / "nothing.py", SAME), "There is no problem")
        self.refused(judge(MATMUL, self.folder), "has no candidate")
        self.refused(judge(SAME, SAME), "is no problem")
        self.refused(judge(MATMUL, SAME, "--out=x.pdf"), "x.pdf")
        self.refused(judge(MATMUL, SAME, "--jobs=0"), "--jobs")
        self.refused(judge(MATMUL, SAME, GPUBENCH_PYTHON="/nowhere/python"), "/nowhere/python")
        bare = self.put("bare", f'#!/bin/sh\nexec "{sys.executable}" -IS "$@"\n')  # a Python without packages
        bare.chmod(0o755)
        self.refused(judge(MATMUL, SAME, GPUBENCH_PYTHON=str(bare)), "cannot load the judge", "GPUBENCH_PYTHON=FILE")
        self.assertEqual(judge(MATMUL).returncode, 64)

    def test_problems_that_do_not_work(self):
        for name, text, words in (
                ("syntax.py", "def reference(", "no Python that can be read"),
                ("misspelt.py", "def reference(x): return x\ndef inputs(random): return random.random(9)\ntolerence = (0.1, 0)", "write `tolerance`"),
                ("raises.py", "def reference(): pass\ndef inputs(random): pass\n1 / 0", "does not import: ZeroDivisionError"),
                ("exits.py", "def reference(): pass\ndef inputs(random): pass\nraise SystemExit(3)", "does not import"),
                ("no_inputs.py", "def reference(x): return x\ndef inputs(random): return 1 / 0", "cannot make inputs"),
                ("wrong.py", "import numpy as np\ndef reference(x): return x @ x\ndef inputs(random): return np.zeros((2, 3))", "does not work"),
                ("object.py", "def reference(x): return x\ndef inputs(random): return object()", "neither an array"),
                ("no_function.py", "reference = 5\ndef inputs(random): return 1", "`reference`"),
                *((f"{each.split()[0]}.py", f"import numpy as np\ndef reference(x): return x + 1\ndef inputs(random): return np.ones(3)\n{each}\n", words) for each, words in (
                    ("cases = 5", "`cases` of cases is to be a list of dicts"), ("cases = []", "at least one"), ("contents = ['none']", "is to be a list of zeros"),
                    ("tolerance = 'x'", "a pair of numbers"), ("tolerance = (float('inf'), 0)", "a pair of numbers"), ("mutable = 'no'", "is to be True or False"), ("precision = 'fp3'", "one of tf32"), ("work = 7", "`work` of work does not work"), ("compare = lambda i, o: 1 / 0", "refuses its own reference"),
                    ("work = lambda x: {'fp32': 'many'}", "`work` of work does not work"), ("work = lambda x: {'fp33': 1.0}", "no pipe 'fp33'"),
                    ("work = lambda x: {'fp32': -1.0}", "`work` of work does not work"), ("work = lambda x: {'bytes': float('nan')}", "`work` of work does not work"))),
                *((f"{kind}.py", f"import numpy as np\ndef reference(x): return {result}\ndef inputs(random): return {given}\n", words) for kind, given, result, words in (
                    ("matrix", "np.matrix([[1.0, 2.0]])", "x + 1", "a matrix is no plain array"), 
                    ("lengths", "np.ones(int(random.integers(5, 9999)))", "x + 1", "gives another array 0 each time"),
                    ("records", "np.zeros(3, [('a', 'f4')])", "x['a'] + 1", "cannot make inputs"), ("objects", "np.array([None])", "np.ones(3)", "cannot make inputs"),
                    ("texts", "np.ones(3)", "np.array(['a'])", "array of <U1"), ("days", "np.ones(3)", "x.astype('M8[D]')", "array of datetime64[D]")))):
            with self.subTest(problem=name):
                self.refused(judge(self.put(name, text), SAME), words)

    def test_arguments_as_a_list_are_one(self):
        self.refuses("import numpy as np\ndef reference(x, y): return x + y\ndef inputs(random): return [random.random(9), random.random(9)]\n", "missing 1 required", "a tuple is several")

    def test_what_lies_beside_a_candidate_is_not_copied(self):
        self.put("helper.py", "def product(a, b): return a @ b\n")
        (one,), _ = quickly(MATMUL, self.put("mine.py", "from helper import product as candidate\n"))
        self.assertEqual(one.reason, "load")
        self.assertTrue(one.text.endswith(" A candidate is one file: `helper`, which lies beside it, is not copied."), one.text)

    def test_the_problem_itself_is_no_candidate_of_its_folder(self):
        problem = self.put("matmul.py", MATMUL.read_text())
        self.put("mine.py", SAME.read_text())
        result = judge(problem, self.folder, "--json", *QUICK)
        self.assertEqual([Path(json.loads(line)["candidate"]).name for line in result.stdout.splitlines()], ["mine.py"])

    def test_what_a_constant_or_a_tolerance_lets_pass_is_said(self):
        text = "import numpy as np\ndef reference(x): return np.tanh(x) * np.float32(1e-3) + np.float32({})\ndef inputs(random): return random.standard_normal(999, dtype=np.float32)\ntolerance = (1e-2, 1e-2)\n"
        same = self.put("same.py", "import numpy as np\ndef candidate(x): return np.tanh(x) * np.float32(1e-3) + np.float32({})\n".format(5))
        _, notes = quickly(self.put("constant.py", text.format(5)), same)
        self.assertIn("The reference's result hardly depends on its inputs: a constant is right for those that are shown.", notes)
        _, notes = quickly(self.put("zeros.py", text.format(0)), same)
        self.assertIn("The problem's `tolerance` takes zeros for right.", notes)

    def test_folders_in_folders_cost_no_other_candidate(self):
        deep = self.put("deep.py", "import os\nhere = os.open('.', os.O_RDONLY)\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nos.fchdir(here)\n"
                        "def candidate(a, b): return a @ b\n")
        before = set(Path(tempfile.gettempdir()).glob("gpubench-judge-*"))
        results, _ = quickly(MATMUL, deep, SAME)
        self.assertEqual([each.verdict for each in results], ["right", "right"])
        self.assertFalse([each for each in set(Path(tempfile.gettempdir()).glob("gpubench-judge-*")) - before if (each / "d").exists()])

    def test_no_candidate_is_imported_by_the_judge(self):
        owned = self.folder / "owned"
        text = f"open({str(owned)!r}, 'w').close()\n"
        problem = self.put("problem.py", "import numpy as np\ndef reference(x): return x + 1\ndef inputs(random): return np.ones(3)\n")
        for name in ("numpy.py", "fractions.py"):  # in the problem's folder
            self.refused(judge(problem, self.put(name, text)), name, "a folder of their own")
            (self.folder / name).unlink()
        submitted = self.folder / "submitted"  # in the folder that the judge is called in
        submitted.mkdir()
        (submitted / "numpy.py").write_text(text + "def candidate(x): return x + 1\n")
        result = judge(problem, "numpy.py", *QUICK, "--quiet", cwd=submitted)
        self.assertEqual(result.stderr, "")
        self.assertFalse(owned.exists())

    def test_a_reference_that_is_wrong_on_hidden_inputs_is_not_held_against_candidates(self):
        problem = self.put("log.py", "import numpy as np\ndef reference(x): return np.log(x)\ndef inputs(random): return random.random(100, dtype=np.float32) + 1\n")
        mine = self.put("mine.py", "import numpy as np\ndef candidate(x): return np.log(x)\n")
        (one,), notes = quickly(problem, mine)
        self.assertEqual(one.verdict, "right", one.text)
        self.assertIn("Not tried with hidden contents 'zeros': the reference's result is not finite.", notes)

    def test_the_problem_can_say_which_results_and_contents_count(self):
        ties = self.put("ties.py", "import numpy as np\ndef reference(x): return np.argsort(x)\ndef inputs(random): return random.integers(0, 9, 1000).astype(np.float32)\ncontents = []\n")
        (one,), _ = quickly(ties, self.put("backwards.py", "import numpy as np\ndef candidate(x): return x.size - 1 - np.argsort(x[::-1], kind='stable')\n"))
        self.assertEqual(one.reason, "values")
        self.assertTrue(one.text.endswith(" If other results are right too, as where there are ties, say so with `compare` in the problem."), one.text)
        rounds = self.put("rounds.py", "import numpy as np\ndef reference(x): return np.rint(x).astype(np.int8)\ndef inputs(random): return 9 * random.random(1000)\ncontents = []\n")
        (one,), _ = quickly(rounds, self.put("down.py", "import numpy as np\ndef candidate(x): return np.floor(x).astype(np.int8)\n"))
        self.assertTrue(one.text.endswith("say so with `tolerance = (0, 1)` in the problem."), one.text)
        solve = self.put("solve.py", "import numpy as np\ndef reference(a): return np.linalg.inv(a)\ncontents = ['zeros', 'signs']\n"
                         "def inputs(random): return random.standard_normal((20, 20)) + 20 * np.eye(20)\n")
        (one,), notes = quickly(solve, self.put("positive.py", "import numpy as np\ndef candidate(a):\n    return np.linalg.inv(a + 20 * np.eye(20) * (np.trace(a) < 0))\n"))
        self.assertEqual(one.reason, "hidden-contents")
        self.assertTrue(one.text.endswith(". If no input is like that, say with `contents` in the problem which to try."), one.text)
        self.assertIn("Not tried with hidden contents 'zeros': the reference does not take it: LinAlgError: Singular matrix.", notes)

    def test_one_that_crashes_costs_one(self):
        crash = HERE / "exploits" / "ends_well.py"
        results, _ = quickly(MATMUL, crash, SAME)
        self.assertEqual([each.reason for each in results], ["crash", None])

    def test_what_was_not_shut_off_is_said(self):
        (one,), _ = quickly(MATMUL, SAME, limits=Limits(namespaces=False))
        self.assertIn("namespaces", one.isolation_missing)

    def test_the_examples_of_the_page(self):
        page = (HERE.parent.parent / "docs" / "judge.md").read_text()
        problem, candidate = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[:2]
        description = next(each for each in re.findall(r"^```text\n(.*?)^```", page, re.M | re.S) if each.startswith("symbol"))
        problem = self.put("matmul.py", problem.replace("512", "64"))
        self.assertEqual(judge(problem, self.put("candidate.py", candidate), *QUICK).returncode, 0)
        self.put("saxpy.c", (HERE / "honest" / "c_plain.c").read_text())
        result = judge(HERE / "problems" / "saxpy.py", self.put("saxpy.toml", description), *QUICK)
        self.assertEqual(result.returncode, 0, result.stdout)
        for reason in REASONS:
            self.assertIn(f"`{reason}`", page)

    def test_operations_of_a_program(self):
        program = os.environ["JUDGED_OPERATIONS"]
        result = judge(f"{program}:sums", "sums_again", "sums_cached", "sums_unchecked", "--json", "--time-budget=0.1", "--time-limit=400")
        found = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(each["candidate"], each["verdict"], each["reason"]) for each in found],
                         [("sums_again", "right", None), ("sums_cached", "wrong", "values"), ("sums_unchecked", "refused", "unchecked")])
        self.refused(judge(f"{program}:nothing", "sums", "--time-budget=0.1", "--time-limit=400"), "nothing")

    def test_the_time_of_an_operation_is_that_of_its_last_size(self):
        def point(operation, n):
            return types.SimpleNamespace(seconds=lambda: 1e-9 * n, failure=None, limiter="", achieved=None, advice=[], data={"measurement": {"verified": True}})

        points = {(operation, f"/n:{n}"): point(operation, n) for n in (64, 512, 3000) for operation in ("a", "b")}
        with mock.patch("gpubench.judging.adapters.benchmark_program._measured", return_value=points):
            result, = benchmark_program.results("bench", "a", ["b"], 1.0, 1.0)
        self.assertEqual(result.seconds, 3e-6)

    def test_what_a_description_asks_for_is_there(self):
        source = self.put("f.c", "void f(void) {}\n")
        for arguments, words in (('"out5"', "out5"), ('{size = "a"}', "is no array"), ('{shape = "x", axis = 1}', "axis 1")):
            file = self.put("f.toml", f'symbol = "f"\nsource = "{source.name}"\narguments = [{arguments}]\n')
            with self.subTest(arguments=arguments):
                (result,), _ = quickly(HERE / "problems" / "saxpy.py", file)
                self.assertEqual((result.verdict, result.reason), ("wrong", "error"))
                self.assertIn(words, result.text)

    def test_a_pipe_that_closes_is_no_error(self):
        page = self.folder / "page.html"
        words = [os.environ["GPUBENCH"], "judge", str(MATMUL), str(SAME), "--json", "--quiet", f"--out={page}", *QUICK]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), f"wrote {page}\n")
        self.assertEqual(process.wait(), 0)
        process.stderr.close()
        self.assertTrue(page.exists())

    def test_what_cannot_be_written_costs_no_more_than_itself(self):
        page = self.folder / "page.html"
        with open("/dev/full", "w") as full:
            result = subprocess.run([os.environ["GPUBENCH"], "judge", MATMUL, SAME, "--json", "--quiet", f"--out={page}", *QUICK], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertRegex(result.stderr, f"^wrote {page}\ngpubench: Standard output cannot be written: [^\n]+\n$")
        pipe, said = self.folder / "pipe.json", io.StringIO()
        os.mkfifo(pipe)
        with contextlib.redirect_stderr(said):
            code = command(["--quiet", f"--out={pipe}", f"--out={page}", *QUICK, str(MATMUL), str(SAME)])
        self.assertEqual(code, 64)
        self.assertRegex(said.getvalue(), f"^gpubench: {pipe}: cannot be written: it is not a regular file[^\n]+\nwrote {page}\n$")
        self.assertTrue(pipe.is_fifo(), "it is not replaced")
        self.refused(judge(MATMUL, SAME, "--calibration=nothing.json", *QUICK), "nothing.json")

    def test_verdicts_that_cannot_be_kept_are_told_all_the_same(self):
        with mock.patch("gpubench.judging.store._core.write_file", side_effect=WriteError("No space left on device.")):
            judge = Judge(problem_of(MATMUL), Settings(time_budget=0.1, rounds=1, cold=False), Store(self.folder))
            results = list(judge.results([SAME, ZEROS]))
        self.assertEqual([each.verdict for each in results], ["right", "wrong"])
        self.assertEqual(len([each for each in judge.notes if "No space left" in each]), 1)
        self.assertEqual(list(self.folder.iterdir()), [])


class HostileFiles(unittest.TestCase):
    """No file of a candidate stops the judge of the others."""

    DESCRIPTION = 'symbol = "saxpy"\nsource = "{}"\narguments = ["a", "x", "y", "out", {{size = "x"}}]\n'

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def judged(self, *files):
        results, _ = quickly(HERE / "problems" / "saxpy.py", *files, HERE / "honest" / "saxpy_same.py")
        self.assertEqual(results[-1].verdict, "right", results[-1].text)
        return results[:-1]

    def description(self, source, text=""):
        file = self.folder / f"{source}.toml"
        file.write_text(self.DESCRIPTION.format(source) + text)
        return file

    def test_links_in_a_circle(self):
        (self.folder / "loop.c").symlink_to("loop.c")
        (self.folder / "b.c").write_text('#include "loop.h"\n')
        (self.folder / "loop.h").symlink_to("loop.h")
        self.assertEqual([each.reason for each in self.judged(self.description("loop.c"), self.description("b.c"))], ["load"] * 2)

    def test_a_link_to_a_name_that_no_file_can_have(self):
        (self.folder / "a.py").symlink_to("a" * 300)
        (self.folder / "same.py").write_text((HERE / "honest" / "saxpy_same.py").read_text())
        self.assertEqual([each.name for each in candidates_of([self.folder])], ["same.py"])
        self.assertRaises(UsageError, candidates_of, [self.folder / "a.py"])
        self.assertRaises(UsageError, candidates_of, [""])

    def test_files_of_terabytes(self):
        for name in ("a.c", "b.so"):
            with open(self.folder / name, "wb") as stream:
                stream.truncate(8 << 40)
        library = self.folder / "library.toml"
        library.write_text(self.DESCRIPTION.format("b.so").replace("source", "library"))
        source, binary = self.judged(self.description("a.c"), library)
        self.assertEqual((source.text, binary.text), ("a.c has over 4 MiB.", "b.so has over 256 MiB."))

    def test_text_that_takes_long_to_read(self):
        (self.folder / "blank.c").write_text("\n" * 400_000 + (HERE / "honest" / "c_plain.c").read_text())
        (self.folder / "dots.c").write_text("")
        dots, blank = self.judged(self.description("dots.c", ".".join("a" * 30_000) + " = 1\n"), self.description("blank.c"))
        self.assertEqual((dots.reason, blank.reason), ("load", None))
        self.assertIn("1000 dots", dots.text)

    def test_a_source_elsewhere(self):
        file = self.folder / "up.toml"
        file.write_text(self.DESCRIPTION.format("../up.c"))
        self.assertIn("has to lie beside its description", self.judged(file)[0].text)

    def test_what_python_compiled_of_the_problem_is_hidden(self):
        (self.folder / "beside.py").write_text("def twice(x):\n    return 2 * x\n")
        problem = self.folder / "problem.py"
        problem.write_text("from beside import twice\n\ndef reference(x):\n    return twice(x)\n\ndef inputs(random):\n    return random.random(100)\n")
        for each in (problem, self.folder / "beside.py"):
            py_compile.compile(str(each))
        (self.folder / "c").mkdir()
        mine = self.folder / "c" / "mine.py"
        mine.write_text(f"import glob\nfound = [open(each, 'rb').read() for each in glob.glob('{self.folder}/**/*.py*', recursive=True) if '/c/' not in each]\n\n"
                        "def candidate(x):\n    return 2 * x if not any(found) else x\n")
        (result,), _ = quickly(problem, mine)
        self.assertIn(result.reason, (None, "load"), result.text)  # what is hidden is empty, or cannot be read
        self.assertEqual(sorted(each.name for each in (self.folder / "__pycache__").iterdir()), sorted(f"{each}.{sys.implementation.cache_tag}.pyc" for each in ("beside", "problem")))


class FromPython(unittest.TestCase):
    def test_results_come_in_the_candidates_order(self):
        import gpubench
        seen = []
        results = gpubench.judge(MATMUL, [ZEROS, SAME], settings=Settings(time_budget=0.1, rounds=1, cold=False), on_result=seen.append)
        self.assertEqual([each.verdict for each in results], ["wrong", "right"])
        self.assertEqual(seen, results)
        self.assertRaises(gpubench.UsageError, gpubench.judge, MATMUL, [])

    def test_a_limit_of_time_costs_one(self):
        (result,), _ = quickly(HERE / "problems" / "saxpy.py", HERE / "exploits" / "hangs.py", limits=Limits(seconds=2.0))
        self.assertEqual(result.reason, "time-limit")


if __name__ == "__main__":
    unittest.main()
