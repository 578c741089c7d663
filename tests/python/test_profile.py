# SPDX-License-Identifier: Apache-2.0
"""Ranges, timers and memory from Python. Without a GPU the engine counts, and says what it cannot."""
import gc
import subprocess
import sys
import threading
import weakref

import numpy
import pytest

import gpubench
from gpubench import profile


@pytest.fixture
def profiler():
    made = profile.create_profiler()
    made.init()
    made.reset()
    yield made
    made.disable()
    made.reset()


def ranges_of(profiler):
    return {each["path"]: each for each in profiler.get_profiler_ranges()}


def test_ranges_nest_and_count(profiler, capsys):
    @profiler.profile_function("inner")
    def inner(value):
        """Its own words."""
        return value + 1

    for _ in range(3):
        with profiler.profile_range("outer"):
            assert inner(1) == 2
    assert inner.__doc__ == "Its own words."
    found = ranges_of(profiler)
    assert found["outer"]["calls"] == 3 and found["outer/inner"]["calls"] == 3 and found["outer/inner"]["depth"] == 1
    profiler.print_profiler_ranges("MAX")
    assert "outer/inner" in capsys.readouterr().out


def test_a_range_ends_though_its_body_raises(profiler):
    with pytest.raises(ZeroDivisionError):
        with profiler.profile_range("fails"):
            1 / 0
    with profiler.profile_range("next"):
        pass
    assert set(ranges_of(profiler)) == {"fails", "next"}


def test_a_method_without_a_name_is_named_after_itself(profiler):
    @profiler.profile_function
    def work():
        pass

    work()
    assert any(path.endswith("work") for path in ranges_of(profiler))


def test_names_and_functions_that_cannot_be_ranges_are_refused(profiler):
    async def waits():
        pass

    def gives():
        yield

    with pytest.raises(TypeError, match="a text, not int"):
        profiler.profile_range(3)
    with pytest.raises(TypeError, match="cannot time the coroutine .*waits"):
        profiler.profile_function(waits)
    with pytest.raises(TypeError, match="cannot time the generator .*yields.*around what has no yield"):
        profiler.profile_function(gives)


def test_threads_have_stacks_of_their_own(profiler):
    def work(name):
        with profiler.profile_range(name):
            with profiler.profile_range("inside"):
                pass

    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = ranges_of(profiler)
    assert all(found[f"thread {i}/inside"]["calls"] == 1 for i in range(4))


def test_a_range_is_entered_inside_itself_and_by_several_threads(profiler):
    both_inside = threading.Barrier(2)

    same = profiler.profile_range("same")

    def work(depth):
        with same:
            if depth:
                both_inside.wait()
                work(depth - 1)

    threads = [threading.Thread(target=work, args=(2,)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = ranges_of(profiler)
    assert [found[path]["calls"] for path in ("same", "same/same", "same/same/same")] == [2, 2, 2]


def test_what_was_switched_off_is_not_counted(profiler):
    profiler.disable()
    with profiler.profile_range("off"):
        pass
    with profiler.profile_memory("off too"):
        pass
    assert "off" not in ranges_of(profiler)


def test_results_are_written(profiler, tmp_path):
    with profiler.profile_range("kept"):
        pass
    profiler.write(str(tmp_path / "new" / "ranges.csv"))
    profiler.write(str(tmp_path / "ranges.json"), "MEAN")
    assert "kept" in (tmp_path / "new" / "ranges.csv").read_text()
    with pytest.raises(gpubench.WriteError):
        profiler.write("/proc/no/ranges.csv")
    with pytest.raises(ValueError, match="SUM, MAX or MEAN"):
        profiler.print_profiler_ranges("MEDIAN")
    with pytest.raises(ValueError, match="MEMORY"):
        profiler.profile_range("x", "OTHER")


def test_memory_activity_has_kinds_ranges_and_a_reason(profiler):
    with profiler.profile_memory("step"):
        pass
    activity = profiler.get_memory_activity()
    assert set(activity) == {"kinds", "ranges", "reason", "pytorch"}
    status = profiler.status()
    assert bool(status) == (activity["reason"] == "") and str(status)


def test_the_functions_of_the_module_share_a_profiler(capsys):
    profile.init_global_profiler()
    with profile.profile_range("global"):
        pass
    profile.print_results()
    assert "global" in capsys.readouterr().out
    profile.init_global_profiler().disable()


def test_timer_reports_names_or_why_not():
    timer = profile.KernelTimer()
    timer.start("kernel", 0)
    timer.stop("kernel")
    report = timer.get_report()
    assert "GPU KERNEL TIMING REPORT" in report and "TOTAL" in report
    timing = timer.get_timing("kernel")
    assert timing["count"] == 1 and timing["total"] >= 0 and not timer.problem()
    assert ("those of the host" in report) != any(each["kind"] == "cuda" for each in gpubench.devices())
    assert timer.get_timing("never") is None
    timer.reset()


def test_tracker_keeps_nothing_alive():
    tracker = profile.MemoryTracker()
    array = numpy.zeros((100, 200), "f")
    tracker.track_tensor("psi", array)
    assert tracker.get_tensor_info("psi")["shape"] == (100, 200)
    assert tracker.get_tensor_info("psi")["dtype"] == "float32" and tracker.get_total_memory() == 80000
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None
    tracker.track_tensor("dose", numpy.zeros(10))
    assert tracker.untrack_tensor("psi") and not tracker.untrack_tensor("psi")
    assert tracker.get_total_memory() == 80 and tracker.get_peak_memory() == 80080
    assert "dose" in tracker.get_memory_report() and "PEAK MEMORY" in tracker.get_memory_report()
    with pytest.raises(TypeError, match="an array or a tensor"):
        tracker.track_tensor("text", "text")
    tracker.reset()
    assert tracker.get_total_memory() == 0


def test_profiler_is_switched_off_as_a_whole():
    both = profile.Profiler()
    with both.profile_kernel("one", stream=0):
        both.track_tensor("x", numpy.zeros(4))
    both.disable()
    with both.profile_kernel("two", stream=0):
        both.track_tensor("y", numpy.zeros(4))
    assert both.memory.get_tensor_info("x") and both.memory.get_tensor_info("y") is None
    assert both.timer.names in ([], ["one"])
    assert "MEMORY" in both.get_full_report()
    with pytest.raises(TypeError, match="stream"):
        profile.KernelTimer().start("x", "no stream")


SCRIPT = """
import gpubench.compat
gpubench.compat.install()
import gmp_python
from gpu_regime_profiler import GPUProfiler, create_performance_plots
from core.profiling import UnifiedProfiler, MemoryProfiler, FlameGraphGenerator, TimelineGenerator, HTAAnalyzer
from core.profiling.torch_compile import TorchCompileAnalyzer
from smatrix_2d.gpu.profiling import KernelTimer, MemoryTracker, Profiler
profiler = gmp_python.create_profiler()
profiler.init()
with profiler.profile_range("my_operations"):
    pass
profiler.print_profiler_ranges()
import gpubench.profile
assert KernelTimer is gpubench.profile.KernelTimer
try:
    import core.nothing_of_that_name
except ImportError:
    print("as it should")
"""


def test_other_profilers_names_are_found_after_install(tmp_path):
    (tmp_path / "core").mkdir()  # a folder that is no package
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "my_operations" in done.stdout and "as it should" in done.stdout, done.stderr
    assert (tmp_path / "output" / "result.csv").exists()


@pytest.mark.gpu
def test_ranges_see_the_kernels_of_torch(profiler):
    torch = pytest.importorskip("torch")
    assert profiler.status(), profiler.status()
    a = torch.ones(1000, 1000, device="cuda")
    with profiler.profile_range("matmul"):
        a @ a
    with profiler.profile_memory("memory"):
        b = torch.empty(50_000_000, device="cuda")
        del b
        torch.cuda.empty_cache()
    torch.cuda.synchronize()
    found = ranges_of(profiler)
    assert found["matmul"]["kernels"] >= 1
    assert found["matmul"]["metrics"][0]["inclusive"] > 0
    activity = profiler.get_memory_activity()
    assert activity["pytorch"]["memory"]["allocated_bytes"] >= 200_000_000
    assert activity["ranges"][0]["memory"]["allocated_bytes"] >= 200_000_000


@pytest.mark.gpu
def test_timers_use_the_stream_at_hand():
    torch = pytest.importorskip("torch")
    timer, a = profile.KernelTimer(), torch.ones(2**24, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        timer.start("add")
        a + 1
        timer.stop("add")
    timing = timer.get_timing("add")
    assert timing["count"] == 1 and 0.0 < timing["total"] < 1000.0
