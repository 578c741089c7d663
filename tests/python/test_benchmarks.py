# SPDX-License-Identifier: Apache-2.0
"""Operations of NumPy on the CPU through the harness."""
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import gpubench
import gpubench._core


@pytest.fixture
def triad():
    @gpubench.benchmark(name="triad", n=gpubench.sizes(1024, 65536, step=8), dtype=[numpy.float32, numpy.float64])
    def triad(state, n, dtype):
        a, b = numpy.ones(n, dtype), numpy.ones(n, dtype)
        state.reads(a, b)
        state.writes(b)
        state.flops(dtype, n)
        state.items(n)
        state.counter("rows", 3, "1")
        state.verify(lambda: bool((b == 1).all()))
        state.measure(lambda: numpy.multiply(a, b, out=b))
    return triad


def test_sizes_go_up_to_the_last():
    assert gpubench.sizes(2**10, 2**14, step=4) == [1024, 4096, 16384]
    assert gpubench.sizes(10, 100, step=4) == [10, 40, 100]
    with pytest.raises(ValueError):
        gpubench.sizes(8, 4)
    for wrong in (1.5, "1"):
        with pytest.raises(ValueError, match="sizes are whole numbers"):
            gpubench.sizes(wrong, 4)


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="takes a function, not int; axes have names"):
        gpubench.benchmark(3)
    with pytest.raises(TypeError, match="takes runs, files, or several of them a side, not NoneType"):
        gpubench.compare(None, None)
    with pytest.raises(TypeError, match="axes by name: benchmark\\(f, n=\\[1024, 4096\\]\\). What limits one call"):
        gpubench.benchmark(max, 3)


def test_each_kind_of_error_says_what_it_is():
    kinds = [each for each in vars(gpubench._core).values() if isinstance(each, type) and issubclass(each, gpubench.Error)]
    assert len(kinds) > 5 and len({each.__doc__ for each in kinds}) == len(kinds)


def test_callables_without_a_name_are_called_as_what_they_are_of():
    class Add:
        def __call__(self, state):
            state.measure(lambda: None)

    assert gpubench.benchmark(Add()).name == "Add"
    assert gpubench.benchmark(functools.partial(lambda state: None)).name == "<lambda>"


class Device:
    """As torch.device."""
    def __str__(self):
        return "cpu"


def test_a_device_may_be_a_frameworks(quick):
    point = gpubench.benchmark(lambda state: state.measure(lambda: None)).run(**{**quick, "device": Device()})[0]
    assert point.device == "cpu" and not point.failure
    gpubench.calibration(Device())
    with pytest.raises(gpubench.NoSuchDevice, match="no device '0' here"):
        gpubench.run(gpubench.benchmark(lambda state: None), device=0)


def test_run_has_a_point_for_each_choice(triad, quick):
    run = gpubench.run(triad, **quick)
    assert [point.name for point in run][:3] == [
        "triad/dtype:float32/n:1024", "triad/dtype:float32/n:8192", "triad/dtype:float32/n:65536"]
    assert len(run) == triad.points == 6
    point = run["triad/dtype:float64/n:8192"]
    assert point.arguments == {"dtype": "float64", "n": 8192}
    assert point.clock == "host" and point.seconds() > 0 and point.interval()[0] <= point.seconds() <= point.interval()[1]
    assert point.work["bytes_read"] == 2 * 8 * 8192 and point.work["bytes_written"] == 8 * 8192
    assert point.work["footprint_bytes"] == 2 * 8 * 8192, "b is read and written, and counts once"
    assert point.work["flops"] == {"fp64": 8192}
    assert point.counters == {"items": 8192, "rows": 3}
    assert point.regime in ("overhead", "latency", "memory", "compute", "unknown") and (point.confidence or 0.0) >= 0.0
    assert (point.confidence is None) == (point.regime == "unknown")
    assert point.seconds("device") is None and "not asked for" in point.why_absent("device")
    assert run.calibrations[0].device == "cpu" and run.calibrations[0]["dram-copy"] > 0
    assert "host_code" not in run.data["context"]["environment"], "the interpreter's code is not the operation's"


def test_same_benchmark_runs_again_and_is_replaced(triad, quick):
    first = gpubench.run(triad, filter="float32/n:1024$", **quick)
    again = triad.run(filter="float32/n:1024$", **quick)
    assert [point.name for point in first] == [point.name for point in again] == ["triad/dtype:float32/n:1024"]
    assert [each.name for each in gpubench.benchmarks()].count("triad") == 1


def test_a_failing_point_has_its_reason_and_the_others_are_measured(quick):
    @gpubench.benchmark(case=["works", "raises", "raises later", "wrong", "asserts", "measures nothing", "skips"])
    def troubled(state, case):
        calls = []

        def operation():
            calls.append(0)
            if case == "raises later" and len(calls) > 3:
                raise RuntimeError("at the fourth call")

        if case == "raises":
            raise KeyError("nothing of that name")
        if case == "wrong":
            state.verify(lambda: (False, "row 3 sums to 0.9"))
        if case == "asserts":
            def check():
                assert False, "not so"
            state.verify(check)
        if case == "skips":
            return state.skip("not today")
        if case != "measures nothing":
            state.measure(operation)

    run = gpubench.run(troubled, **quick)
    failures = {name.split(":")[1]: reason for name, reason in run.failures.items()}
    assert failures.pop("raises") == "KeyError: 'nothing of that name'"
    assert failures.pop("raises later") == "RuntimeError: at the fourth call"
    assert "row 3 sums to 0.9" in failures.pop("wrong")
    assert "not so" in failures.pop("asserts")
    assert "state.measure" in failures.pop("measures nothing")
    assert not failures
    assert run["troubled/case:skips"].skipped == "not today"
    assert run["troubled/case:works"].seconds() > 0
    kinds = {point.name: point.data["measurement"].get("failure", {}).get("kind") for point in run}
    assert kinds["troubled/case:wrong"] == "wrong_result" and kinds["troubled/case:raises"] == "error"


def test_an_exception_without_words_is_named(quick):
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no words")

    @gpubench.benchmark(case=["mute", "half a character"])
    def wordless(state, case):
        def operation():
            raise Mute() if case == "mute" else RuntimeError("half \ud800 a character")

        state.measure(operation)

    failures = gpubench.run(wordless, **quick).failures
    assert failures == {"wordless/case:mute": "Mute", "wordless/case:half a character": "RuntimeError: half \\ud800 a character"}


def test_a_harness_failure_stays_one_though_python_catches_it(quick):
    @gpubench.benchmark
    def twice(state):
        state.measure(lambda: None)
        try:
            state.measure(lambda: None)
        except Exception:
            pass

    assert "twice" in gpubench.run(twice, **quick).failures["twice"]


def test_an_empty_call_is_of_the_library_whose_arrays_are_read(quick, tmp_path):
    array = numpy.ones(8)
    empty = gpubench.harness.empty_call_of([3, "text", array])
    assert (empty.func, [each.size for each in empty.args]) == (numpy.add, [0, 0])
    assert gpubench.harness.empty_call_of([3, object()]) is gpubench.harness.empty_call_of([])
    chosen = []

    @gpubench.benchmark
    def adds(state):
        state.reads(array)
        chosen.append(state.empty_call.func)
        state.measure(lambda: numpy.add(array, array))

    adds.run(**quick).save(tmp_path / "run.json")
    measured = json.loads((tmp_path / "run.json").read_text())["points"][0]["measurement"]
    assert chosen[0] is numpy.add
    assert measured["conditions"]["threads_used"] < 2 and measured["empty_call_seconds"]["value"] > 0


def test_reset_runs_before_each_execution(quick):
    seen = []

    @gpubench.benchmark
    def sort(state):
        keys = numpy.random.default_rng(1).integers(0, 1000, 2000)
        work = keys.copy()
        state.reset(lambda: numpy.copyto(work, keys))

        def operation():
            seen.append(bool((work == keys).all()))
            work.sort()

        state.measure(operation)

    run = gpubench.run(sort, **quick)
    assert run["sort"].seconds() > 0 and len(seen) > 3 and all(seen)


def test_what_cannot_be_run_is_refused_in_words(quick):
    with pytest.raises(TypeError, match="takes size, which is no axis"):
        gpubench.benchmark(n=[1])(lambda state, size: None)
    with pytest.raises(TypeError, match="no axis can be called so"):
        gpubench.benchmark(name=["a", "b"])(lambda state, name: None)
    with pytest.raises(ValueError, match="has no values"):
        gpubench.benchmark(n=[])(lambda state, n: None)
    only_gpu = gpubench.benchmark(name="only_gpu", device="cuda")(lambda state: state.measure(lambda: None))
    with pytest.raises(gpubench.UsageError, match="None of these benchmarks is for cpu"):
        gpubench.run(only_gpu, **quick)
    fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None))
    with pytest.raises(gpubench.UsageError, match="Two of these benchmarks are called fine, and points are told apart by their names"):
        gpubench.run(fine, fine, **quick)
    with pytest.raises(gpubench.NoSuchDevice):
        gpubench.run(fine, device="cuda:99")
    for wrong in (4, "float32"):
        with pytest.raises(TypeError, match=f"a list of values, not {wrong!r}; write n=\\[{wrong!r}\\]"):
            gpubench.benchmark(n=wrong)(lambda state, n: None)
    with pytest.raises(gpubench.UsageError, match="No point matches the filter") as refused:
        gpubench.run(fine, filter="no such point", **quick)
    assert "--" not in str(refused.value)
    with pytest.raises(gpubench.UsageError, match="^time_budget takes"):
        gpubench.run(fine, **{**quick, "time_budget": -1})
    with pytest.raises(gpubench.Error):
        gpubench.run(fine, filter="(", **quick)
    for wrong in (0, -1, 1.5):
        with pytest.raises(gpubench.UsageError, match="^repetitions takes"):
            gpubench.run(fine, repetitions=wrong, **quick)
    for values, said in (([1, 1], "has 1 twice"), ([numpy.float32, "float32"], "has float32 twice"), ([2**63], "64 bits")):
        with pytest.raises(ValueError, match=said):
            gpubench.benchmark(n=values)(lambda state, n: None)
    run = gpubench.run(fine, **quick)
    assert run["fine"].seconds() > 0, "and afterwards all is well"
    with pytest.raises(KeyError, match="find; this run has fine"):
        run["find"]


def test_callables_that_cannot_be_timed_are_refused_in_words(quick):
    async def coroutine():
        pass

    def generator():
        yield

    class Later:
        async def __call__(self):
            pass

    for wrong, said in ((coroutine, "coroutine is a coroutine function: a call of it runs nothing"), (generator, "generator function"),
                        (Later(), "this callable is a coroutine function"),
                        (None, "takes a callable, not NoneType"), (numpy.add, "add also needs x2"), (lambda stream, n: None, "also needs n")):
        for call in ("measure", "reset"):
            def operation(state, wrong=wrong, call=call):
                state.reset(wrong if call == "reset" else lambda: None)
                state.measure(wrong if call == "measure" else lambda: None)

            failure = gpubench.run(gpubench.benchmark(name="wrong")(operation), **quick)["wrong"].failure
            assert said in failure and f"{call}()" in failure


def test_whole_numbers_of_numpy_make_a_sweep(quick):
    counted = gpubench.benchmark(name="counted", n=numpy.arange(1, 3))(lambda state, n: state.measure(lambda: None))
    assert [point.arguments for point in gpubench.run(counted, **quick)] == [{"n": 1}, {"n": 2}]
    assert counted.axes == {"n": [1, 2]} and type(counted.axes["n"][0]) is int


def test_declarations_refuse_nonsense(quick):
    @gpubench.benchmark(case=["negative", "text", "pipe"])
    def declares(state, case):
        if case == "negative":
            state.reads(-1)
        elif case == "text":
            state.reads("many")
        else:
            state.flops("fp31", 2)

    failures = gpubench.run(declares, **quick).failures
    assert "state.reads got -1" in failures["declares/case:negative"]
    assert "bytes, arrays and tensors" in failures["declares/case:text"]
    assert "fp31" in failures["declares/case:pipe"] and "tensor-bf16" in failures["declares/case:pipe"]


def test_numbers_of_bytes_stand_for_themselves_rounded(quick):
    def declares(state):
        state.reads(3.99, numpy.float64(1e3), numpy.prod([2, 3]))
        state.measure(lambda: None)

    assert gpubench.run(gpubench.benchmark(name="declares")(declares), **quick)["declares"].work["bytes_read"] == 1010


def test_a_state_of_an_ended_point_says_so(quick):
    kept = []

    @gpubench.benchmark
    def keeps(state):
        kept.append(state)
        state.measure(lambda: None)

    gpubench.run(keeps, **quick)
    with pytest.raises(RuntimeError, match="ended"):
        kept[0].reads(1)


def test_a_run_inside_a_run_is_refused_and_the_outer_goes_on(quick):
    @gpubench.benchmark(n=[1, 2])
    def nested(state, n):
        with pytest.raises(gpubench.UsageError, match="in progress"):
            gpubench.run(nested, **quick)
        said = []
        thread = threading.Thread(target=lambda: said.append(pytest.raises(gpubench.UsageError, gpubench.run, nested, **quick)))
        thread.start()
        thread.join()
        assert said
        state.measure(lambda: None)

    run = gpubench.run(nested, **quick)
    assert len(run) == 2 and not run.failures
    run = gpubench.run(gpubench.benchmark(name="inside")(lambda state: state.measure(lambda: gpubench.run(nested, **quick))), **quick)
    assert "in progress" in run["inside"].failure


def test_other_threads_run_meanwhile(quick):
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(0)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None))
    gpubench.run(fine, **{**quick, "time_budget": 0.2})
    stop.set()
    thread.join()
    assert len(ticks) > 5


def test_nothing_leaks_over_many_calls(quick):
    import gc
    import sys as system

    class Tracked:
        pass

    tracked = Tracked()
    fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: tracked and None))
    gpubench.run(fine, **quick)
    gc.collect()
    before = system.getrefcount(tracked)
    for _ in range(20):
        gpubench.run(fine, **quick)
    gc.collect()
    assert system.getrefcount(tracked) == before


OPTIONS = """
OPTIONS = dict(device="cpu", time_budget=0.01, drift_check=False, calibration=%r)
"""

STOPPED = """
import os, signal, gpubench
@gpubench.benchmark(n=[1, 2, 3])
def stops(state, n):
    def operation():
        if n == 2:
            os.kill(os.getpid(), signal.SIGINT)
    state.measure(operation)
try:
    gpubench.run(stops, **OPTIONS)
except KeyboardInterrupt:
    print("interrupted")
fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None))
print(len(gpubench.run(fine, **OPTIONS)))
"""


def test_ctrl_c_is_an_exception_and_the_process_goes_on(quick):
    done = subprocess.run([sys.executable, "-c", OPTIONS % str(quick["calibration"]) + STOPPED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["interrupted", "1"], done.stderr


CALIBRATES = """
import gpubench
try:
    gpubench.run(gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None)), device="cpu")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_calibration(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    run = subprocess.Popen([sys.executable, "-c", CALIBRATES], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "measuring a quick one" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    out, rest = run.communicate(timeout=120)
    assert out.split() == ["interrupted"]
    assert "of a calibration half done nothing is kept" in rest
    assert not list(tmp_path.rglob("*.json"))


def test_ctrl_c_in_a_message_of_the_engine_is_not_lost(quick, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = []

    def say(message):
        said.append(message)
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("gpubench.harness"), "say", say)
    fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None))
    with pytest.raises(KeyboardInterrupt):
        gpubench.run(fine, **{**quick, "calibration": None})
    assert "no usable calibration" in said[0]


FORKED = """
import os, gpubench
fine = gpubench.benchmark(name="fine")(lambda state: state.measure(lambda: None))
gpubench.run(fine, **OPTIONS)
child = os.fork()
if child == 0:
    try:
        gpubench.run(fine, **OPTIONS)
    except gpubench.UsageError as error:
        os._exit(0 if "spawn" in str(error) else 1)
    os._exit(2)
print(os.waitpid(child, 0)[1], len(gpubench.run(fine, **OPTIONS)))
"""


def test_a_forked_process_is_told_that_it_cannot_measure(quick):
    done = subprocess.run([sys.executable, "-c", OPTIONS % str(quick["calibration"]) + FORKED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["0", "1"], done.stderr


def test_other_inputs_show_a_result_that_was_kept(quick):
    filled = []

    @gpubench.benchmark(kept=[0, 1])
    def doubled(state, kept):
        now = {}

        def fill(number):
            filled.append(number)
            now["in"] = number

        def work():
            if not kept or "out" not in now:
                now["out"] = 2 * now["in"]

        state.inputs(4, fill)
        state.verify(lambda: now["out"] == 2 * now["in"])
        state.measure(work)

    run = gpubench.run(doubled, **quick)
    assert run[0].seconds() and filled[0] == 0 and filled[1] in (1, 2, 3)
    assert "right before timing, wrong after it for inputs" in run[1].failure
