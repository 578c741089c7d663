# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in operations on a GPU: each trouble is named, and the process and the GPU work afterwards."""
import ctypes
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import gpubench
from gpubench import profile, regime


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def gpu():
    return {"device": "cuda:0", "time_budget": 0.02, "drift_check": False, "progress": False}


def measured(operation, gpu, reset=None, **options):
    """The only point of a run of an operation on a tensor of its own; PyTorch must work afterwards."""
    import torch

    def troubled(state):
        a = torch.ones(2**20, device=state.device)
        if reset is not None:
            state.reset(lambda: reset(a))
        state.measure(lambda: operation(a))

    point = gpubench.run(gpubench.benchmark(name="troubled")(troubled), **{**gpu, **options})[0]
    print(point, [(each["clock"], each.get("method"), each.get("reason")) for each in point.data["measurement"].get("timings", ())])
    assert float(torch.ones(4, device="cuda").sum()) == 4.0
    return point


@pytest.mark.gpu
class TestOperation:
    def test_a_tensor_on_the_wrong_device_is_named(self, torch, gpu):
        assert "same device" in measured(lambda a: a + torch.ones(2**20), gpu).failure

    def test_nothing_need_be_returned(self, torch, gpu):
        assert measured(lambda a: (a.mul_(1), None)[1], gpu).seconds("device") > 0

    def test_an_operation_without_work_on_the_gpu_says_so(self, torch, gpu):
        assert "enqueued nothing" in measured(lambda a: None, gpu).failure

    def test_an_exception_is_kept_by_name(self, torch, gpu):
        def raises(a):
            raise LookupError("no such row")

        assert measured(raises, gpu).failure == "LookupError: no such row"

    def test_what_synchronises_is_timed_without_a_graph(self, torch, gpu):
        point = measured(lambda a: a.sum().item(), gpu)
        assert point.seconds() > 0 and "graph" not in point.method("device")

    def test_streams_of_its_own_that_are_joined_count(self, torch, gpu):
        side = torch.cuda.Stream()

        def forks(a):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                b = a * 2
            torch.cuda.current_stream().wait_stream(side)
            return b

        point = measured(forks, gpu)
        assert point.seconds() > 0 and not point.failure

    def test_a_stream_that_nobody_waits_for_is_told(self, torch, gpu):
        side = torch.cuda.Stream()

        def escapes(a):
            with torch.cuda.stream(side):
                return a * 2

        point = measured(escapes, gpu)
        torch.cuda.synchronize()
        assert "stream" in point.failure

    def test_memory_may_be_allocated_while_a_graph_is_captured(self, torch, gpu):
        point = measured(lambda a: torch.empty(2**24, device="cuda").fill_(1), gpu)
        assert "graph" in point.method("device")

    def test_a_changed_input_is_put_back_by_reset(self, torch, gpu):
        assert measured(lambda a: a.add_(1), gpu, reset=lambda a: a.fill_(1)).seconds() > 0

    def test_too_much_memory_is_a_kind_of_failure(self, torch, gpu):
        point = measured(lambda a: torch.empty(2**45, device="cuda"), gpu)
        assert point.data["measurement"]["failure"]["kind"] == "out_of_memory"

    def test_ctrl_c_while_a_graph_is_captured(self, torch, gpu):
        calls = []

        def interrupts(a):
            calls.append(0)
            a.mul_(1)
            if len(calls) == 5:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            measured(interrupts, gpu)
        assert measured(lambda a: a.mul_(1), gpu).seconds("device") > 0

    def test_a_run_in_a_thread(self, torch, gpu):
        points = []
        thread = threading.Thread(target=lambda: points.append(measured(lambda a: a.mul_(1), gpu)))
        thread.start()
        thread.join()
        assert points[0].seconds("device") > 0

    def test_beside_the_profiler_of_torch(self, torch, gpu):
        with torch.profiler.profile():
            point = measured(lambda a: a.mul_(1), gpu)
            counted = measured(lambda a: a.mul_(1), gpu, metrics="core", check="activity")
            print(counted.counters, counted.data["measurement"].get("absent_counters"), counted.data["measurement"].get("activity"))
            judged = regime.GPUProfiler("cuda:0", verbose=False).profile_operation(torch.cos, torch.ones(2**20, device="cuda"))
        assert point.seconds() > 0 and counted.seconds() > 0 and judged["runtime_ms"] > 0


@pytest.mark.gpu
def test_a_session_beside_the_profiler_of_torch_says_what_it_knows(torch):
    session, a = profile.create_profiler(), torch.ones(2**20, device="cuda")
    with torch.profiler.profile() as other:
        status = session.init()
        with session.profile_range("both"):
            a.mul_(1)
        session.disable()
    print(status, [each.key for each in other.key_averages()][:5])
    assert status["records"] or status["records_reason"]
    assert any("mul" in each.key for each in other.key_averages()) and float(a.sum()) == 2**20


@pytest.mark.gpu
def test_records_come_again_after_the_profiler_of_torch(torch, gpu):
    """Each of the two puts its own buffers in place of the other's."""
    session, a = profile.create_profiler(), torch.ones(2**20, device="cuda")
    session.reset()
    for _ in range(2):
        with torch.profiler.profile() as other:
            a.mul_(1)
            torch.cuda.synchronize()
        session.init()
        with session.profile_range("after"):
            a.mul_(1)
        session.disable()
        point = measured(lambda b: b.mul_(1), gpu, check="activity")
        assert point.data["measurement"]["activity"]["seconds"]["value"] > 0
        print([each.key for each in other.key_averages()])
        assert any("elementwise_kernel" in each.key for each in other.key_averages())
    ranges = session.get_profiler_ranges()
    assert [each["kernels"] for each in ranges if each["name"] == "after"] == [2], (ranges, session.status())


@pytest.mark.gpu
class TestRegime:
    @pytest.fixture
    def profiler(self):
        return regime.GPUProfiler("cuda:0", verbose=False)

    def test_tensors_of_another_device_are_refused(self, torch, profiler):
        with pytest.raises(gpubench.WrongDevice, match="on the CPU.*cuda:0"):
            profiler.profile_operation(torch.cos, torch.ones(8))
        with pytest.raises(RuntimeError, match="same device"):
            profiler.profile_operation(torch.add, torch.ones(8, device="cuda"), torch.ones(8))

    def test_what_fails_when_it_is_timed_is_an_error_of_its_own(self, torch, profiler):
        calls = []

        def fails_later(a):
            calls.append(0)
            if len(calls) > 1:
                raise ValueError("once is enough")
            return a + 1

        with pytest.raises(gpubench.OperationFailed, match="once is enough"):
            profiler.profile_operation(fails_later, torch.ones(8, device="cuda"))
        assert profiler.profile_operation(torch.cos, torch.ones(8, device="cuda"))["runtime_ms"] > 0


FORKED = """
import os, gpubench, torch
@gpubench.benchmark
def fine(state):
    a = torch.ones(1000, device=state.device)
    state.measure(lambda: a.mul_(1))
options = dict(device="cuda:0", time_budget=0.02, drift_check=False, progress=False)
assert gpubench.run(fine, **options)[0].seconds() > 0
child = os.fork()
if child == 0:
    try:
        run = gpubench.run(fine, **options)
        print("child:", *(run.failures.values() or ["no failure"]), flush=True)
    except Exception as error:
        print("child:", type(error).__module__, type(error).__name__, error, flush=True)
    os._exit(0)
print("status", os.waitpid(child, 0)[1], flush=True)
print("parent", gpubench.run(fine, **options)[0].seconds() > 0)
"""


@pytest.mark.gpu
def test_a_forked_process_is_told_that_it_has_no_gpu(torch):
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=200, check=False)
    print(done.stdout, done.stderr)
    assert "status 0" in done.stdout and "parent True" in done.stdout
    assert "fork" in done.stdout


def resident_bytes():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free goes back to the system
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def leaked_over_ten_thousand_calls(call):
    """Growth of the process by 10 000 calls after as many."""
    sizes = []
    for _ in range(2):
        for _ in range(10_000):
            call()
        sizes.append(resident_bytes())
    print(f"{sizes[0] / 1e6:.1f} MB after 10 000 calls, {(sizes[1] - sizes[0]) / 1e6:+.2f} MB by 10 000 more")
    return sizes[1] - sizes[0]


FEW_BYTES_A_CALL = 10_000 * 200  # a leaked dictionary or event is more: 2 MB in all


def test_ten_thousand_calls_leave_nothing_behind(quick, monkeypatch):
    monkeypatch.setattr(regime, "calibration", lambda device: gpubench.Calibration.load(quick["calibration"]))
    judge, x = regime.GPUProfiler("cpu", verbose=False), numpy.ones(8)
    session, tracker = profile.GmpProfiler(), profile.MemoryTracker()

    def call():
        judge.profile_with_result(numpy.cos, x, lightweight=True)
        with session.profile_range("range"):
            tracker.track_tensor("x", x)

    assert leaked_over_ten_thousand_calls(call) < FEW_BYTES_A_CALL


def test_ten_thousand_calls_of_an_operation_leave_nothing_behind(quick):
    calls = []
    counted = gpubench.benchmark(name="counted")(lambda state: state.measure(lambda: calls.append(None)))
    while len(calls) < 10_000:
        gpubench.run(counted, **quick)
    assert len(calls) >= 10_000
    calls.clear()
    before = resident_bytes()
    for _ in range(20):
        gpubench.run(counted, **quick)
        calls.clear()
    assert resident_bytes() - before < 2**22


# CUPTI's pools grow for the first 20 000 calls (docs/results/h200/python.md), so sessions that record warm up for as long.
@pytest.mark.gpu
@pytest.mark.parametrize("part, megabytes", [("lightweight", 2), ("range", 2), ("timer", 2), ("range, recorded", 4),
                                             ("range, recorded and reset", 1), ("range, recorded and started again", 2)])
def test_ten_thousand_calls_leave_nothing_on_the_gpu(torch, gpu, part, megabytes):
    judge, a = regime.GPUProfiler("cuda:0", verbose=False), torch.ones(1000, device="cuda")
    session, timer = profile.create_profiler(), profile.KernelTimer()
    if "recorded" in part:
        assert session.init()
    calls = []

    def call():
        calls.append(None)
        if part == "lightweight":
            judge.profile_with_result(torch.cos, a, lightweight=True)
        elif part == "timer":
            timer.start("cos")
            torch.cos(a)
            timer.stop("cos")
        else:
            with session.profile_range("range"):
                torch.cos(a)
        if len(calls) == 1000:
            torch.cuda.synchronize()
            calls.clear()
            timer.reset()
            if "reset" in part:
                session.reset()
            if "again" in part:
                session.disable()
                assert session.init()

    for _ in range(20_000 if "recorded" in part else 1000):
        call()
    free, allocated = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    leaked = leaked_over_ten_thousand_calls(call)
    session.disable()
    torch.cuda.synchronize()
    print(f"{free - torch.cuda.mem_get_info()[0]} bytes of the device")
    assert torch.cuda.memory_allocated() <= allocated and free - torch.cuda.mem_get_info()[0] <= 2**21
    assert leaked < megabytes * 1e6
