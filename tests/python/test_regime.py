# SPDX-License-Identifier: Apache-2.0
"""What limits single operations, by the words of gpubench.regime. Ceilings are made up; no time is asserted."""
import json
import subprocess
import sys
import time
import types

import numpy
import pytest

import gpubench
from gpubench import regime
from conftest import CALIBRATION
from gpubench._work import Work, watch


@pytest.fixture
def profiler(quick, monkeypatch):
    made_up = gpubench.Calibration.load(quick["calibration"])
    monkeypatch.setattr(regime, "calibration", lambda device: made_up)
    monkeypatch.setattr(regime, "run", lambda *chosen, **options: gpubench.run(*chosen, **{**options, **quick}))
    return regime.GPUProfiler("cpu", verbose=False)


def test_the_banner_names_the_device_and_its_ceilings(profiler, capsys):
    regime.GPUProfiler("cpu")
    text = capsys.readouterr().out
    for part in ("Auto-Calibration", "Max Memory Bandwidth: 98 GB/s", "Max Compute fp32"):
        assert part in text


def test_it_is_for_one_device(profiler, monkeypatch):
    for wrong in ("all", ""):
        with pytest.raises(gpubench.UsageError, match="for one device, such as"):
            regime.GPUProfiler(wrong, verbose=False)
    monkeypatch.setattr(regime, "devices", lambda: [{"id": "cuda:0", "name": "A GPU"}])
    assert regime.GPUProfiler("cuda").device == "cuda:0"


def test_caches_are_warm_or_cold(quick, monkeypatch):
    with pytest.raises(gpubench.UsageError, match="'warm' or 'cold', not 'hot'"):
        regime.GPUProfiler("cpu", verbose=False, cache="hot")
    monkeypatch.setattr(regime, "calibration", lambda device: gpubench.Calibration.load(quick["calibration"]))
    for cache in ("warm", "cold"):
        profile = regime.GPUProfiler("cpu", verbose=False, cache=cache).profile_operation(numpy.sum, numpy.ones(1000), repeatable=True)
        assert ("flushed before each execution" in profile["method"]) == (cache == "cold")


def test_an_operation_of_unknown_kind_is_called_once(profiler):
    calls = []

    def operation(x):
        calls.append(0)
        return x * 2

    result, profile = profiler.profile_with_result(operation, numpy.ones(1000))
    assert len(calls) == 1 and (result == 2).all()
    assert profile["regime"] in regime.REGIMES.values() and profile["runtime_ms"] > 0
    assert profile["confidence"] is None and "not known" in profile["called_once_because"]
    assert profile["achieved_bandwidth"] == pytest.approx(16000 / (profile["runtime_ms"] * 1e-3))


def test_what_is_declared_repeatable_is_measured(profiler):
    calls = []

    def operation(x):
        calls.append(0)
        return x * 2

    _, profile = profiler.profile_with_result(operation, numpy.ones(1000), repeatable=True)
    assert len(calls) > 3 and profile["called_once_because"] == "" and (profile["confidence"] is None) == (profile["regime"] == "UNDECIDED")
    assert profile["runtime_ms_interval"][0] <= profile["runtime_ms"] <= profile["runtime_ms_interval"][1]


def test_what_takes_long_is_called_twice_alone(profiler, monkeypatch):
    calls = []
    monkeypatch.setattr(regime, "_LONG", 0.01)

    def operation(x):
        calls.append(0)
        time.sleep(0.02)
        return x * 2

    _, profile = profiler.profile_with_result(operation, numpy.ones(1000), repeatable=True)
    assert len(calls) == 2 and profile["runtime_ms"] >= 20 and profile["confidence"] is None
    assert "to measure it takes dozens of calls" in profile["called_once_because"]


def test_of_undeclared_work_nothing_is_promised(profiler):
    _, profile = profiler.profile_with_result(lambda: sum(range(100)), repeatable=True)
    assert profile["runtime_ms"] > 0 and len(profile["advice"]) == 1 and "state.reads()" in profile["advice"][0]
    for key in ("flops_utilization", "bandwidth_utilization", "achieved_flops", "achieved_bandwidth", "compute_intensity"):
        assert profile[key] is None, key


def test_what_goes_through_little_of_its_arguments_has_no_bytes(profiler):
    for options in ({}, {"repeatable": True}):
        profile = profiler.profile_operation(lambda x: x[0], numpy.empty(1 << 32, numpy.int8), **options)
        assert profile["achieved_bandwidth"] is None and profile["bandwidth_utilization"] is None


@pytest.mark.parametrize("regime_of", ["latency", "unknown"])
def test_latency_beside_unknown_flop_is_not_decided(profiler, regime_of):
    timings = [{"clock": "host", "seconds": {"median": 1e-3, "median_ci95": [1e-3, 1e-3]}}]
    verdict = {"regime": regime_of, "limiter": "latency", "confidence": 0.9, "evidence": "reaches 1 % of DRAM's ceiling"}
    work = regime.Work()
    work.bytes_read = 8000
    profile = profiler._profile(gpubench.Point({"measurement": {"timings": timings}, "verdict": verdict}), work, "")
    assert profile["regime"] == "UNDECIDED" and profile["confidence"] is None and profile["limiter"] == "", profile
    assert "its FLOP are not known" in profile["evidence"] and "state.reads()" in profile["advice"][0]


def test_what_an_operation_writes_to_is_not_read(profiler):
    a, out = numpy.ones(1000), numpy.empty(1000)
    profile = profiler.profile_operation(numpy.add, a, a, out=out)  # and what is given twice is read once
    assert profile["achieved_bandwidth"] * profile["runtime_ms"] * 1e-3 == pytest.approx(16000)


def test_flop_of_a_pipe_without_a_ceiling_have_no_share(profiler):
    timings = [{"clock": "host", "seconds": {"median": 1e-3, "median_ci95": [1e-3, 1e-3]}}]
    work = regime.Work()
    work.flops = {"fp32": 10**6}
    point = gpubench.Point({"measurement": {"timings": timings}, "verdict": {"regime": "latency"}})
    assert profiler._profile(point, work, "")["flops_utilization"] > 0
    work.flops["bf16"] = 10**6
    profile = profiler._profile(point, work, "")
    assert profile["flops_utilization"] is None and profile["achieved_flops"] == pytest.approx(2e9)


def test_memory_counts_once():
    row = numpy.ones(1000)
    for shared, there in ((numpy.broadcast_to(row, (500, 1000)), 8000), (numpy.broadcast_to(1.0, (1000,)), 8),
                          (numpy.lib.stride_tricks.sliding_window_view(row, 100), 8000)):
        assert gpubench.harness.bytes_of(shared) == there
    for apart in (row, row[::-1], row[::2], numpy.ones((20, 50)).T, row[:0], numpy.float32(1)[None], numpy.array(1.0)):
        assert gpubench.harness.bytes_of(apart) == apart.nbytes


def test_lightweight_calls_once_and_is_read_later(profiler):
    result, profile = profiler.profile_with_result(numpy.cos, numpy.zeros(10), lightweight=True)
    assert (result == 1).all() and set(profile) == {"runtime_ms", "regime", "lightweight"}
    assert profile["runtime_ms"] > 0 and profile["regime"] in ("OVERHEAD_BOUND", "UNDECIDED")


def test_an_operation_that_raises_raises(profiler):
    with pytest.raises(ZeroDivisionError):
        profiler.profile_operation(lambda: 1 / 0)
    with pytest.raises(TypeError, match="a callable"):
        profiler.profile_operation(3)

    async def later(x):
        return x

    with pytest.raises(TypeError, match="later is a coroutine function: a call of it runs nothing"):
        profiler.profile_operation(later, numpy.ones(3), repeatable=True)


def test_an_operation_that_raises_at_a_later_call_says_so(profiler):
    calls = []

    def tires(x):
        calls.append(0)
        if len(calls) == 50:
            raise ValueError("fifty")
        return x + 1

    with pytest.raises(gpubench.OperationFailed, match=r"ran once, and failed when it was called again.*\(repeatable=False does not\): ValueError: fifty$"):
        profiler.profile_operation(tires, numpy.ones(3), repeatable=True)
    assert profiler.profile_operation(numpy.add, numpy.ones(3), 1, repeatable=True)["runtime_ms"] > 0


def counted_point(confidence, **counters):
    verdict = {"regime": "memory" if counters else "latency", "confidence": confidence}
    return gpubench.Point({"measurement": {"counters": [{"name": name, "value": value} for name, value in counters.items()]}, "verdict": verdict})


BRIEF, WHOLE, COUNTED = (None, True), (None, False), ("core,units", False)


@pytest.mark.parametrize("metrics, seconds, told, points, asked, regime_of", [
    ("auto", 1e-5, True, [counted_point(0.99)], [BRIEF], "latency"),
    ("auto", 1.0, True, [counted_point(0.99)], [WHOLE], "latency"),
    ("auto", 1e-5, False, [counted_point(0.99), counted_point(0.9, dram_busy=90.0)], [BRIEF, COUNTED], "memory"),
    ("auto", 1e-5, True, [counted_point(0.7), counted_point(0.9, dram_busy=90.0)], [BRIEF, COUNTED], "memory"),
    ("auto", 1e-5, True, [counted_point(0.7), counted_point(0.7)], [BRIEF, COUNTED], "latency"),
    (None, 1e-5, True, [counted_point(0.7)], [BRIEF], "latency"),
    ("core", 1e-5, True, [counted_point(0.7)], [("core", False)], "latency")])
def test_counters_are_read_where_the_verdict_is_not_sure(profiler, monkeypatch, metrics, seconds, told, points, asked, regime_of):
    seen, left = [], list(points)
    monkeypatch.setattr(profiler, "_on_gpu", lambda: True)
    monkeypatch.setattr(profiler, "_measured", lambda call, work, metrics, brief: seen.append((metrics, brief)) or left.pop(0))
    profiler._metrics, profiler.last_run = metrics, None
    work = Work()
    work.operators, work.untold = ["mul", "cube"], "" if told else "cube"
    assert profiler._surest(None, work, seconds).regime == regime_of and seen == asked
    if COUNTED in asked and not points[-1].counters:
        assert profiler._metrics is None, "what cannot be read is not asked for again"


def test_the_command_says_how_it_is_used(capsys):
    assert regime.main([]) == 64 and "--visualize" in capsys.readouterr().out
    assert regime.main(["--profile", "sin"]) == 64 and "See gpu-profile --help." in capsys.readouterr().err
    pytest.importorskip("torch")
    assert regime.main(["--profile", "cos", "--device", "cuda:99"]) == 2 and "no device 'cuda:99'" in capsys.readouterr().err


IMPORTS_WHILE_TIMED = """
import sys, torch, gpubench
from gpubench import regime
regime.calibration = lambda device: gpubench.Calibration.load(%r)
plain, new = regime.GPUProfiler._timed, []
def timed(self, call):
    before = set(sys.modules)
    result = plain(self, call)
    new.extend(set(sys.modules) - before)
    return result
regime.GPUProfiler._timed = timed
profile = regime.GPUProfiler("cpu", verbose=False).profile_operation(torch.ones(8).add_, 1)
assert "watched" in profile["method"], profile["method"]
print("imported", len(new), *new)
"""


class TestWork:
    """Bytes and FLOP of PyTorch's operators."""

    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch")

    def of(self, function):
        return watch(function)[1]

    def test_elementwise(self):
        x = self.torch.ones(1000)
        work = self.of(lambda: self.torch.cos(x))
        assert (work.bytes_read, work.bytes_written, work.flops) == (4000, 4000, {"fp32": 1000})
        assert work.operators == ["cos"] and work.why_not_repeatable == "" and work.footprint == 8000

    def test_matrix_product_of_a_type(self):
        a = self.torch.ones(30, 40, dtype=self.torch.float64)
        work = self.of(lambda: a @ a.T)
        assert work.flops == {"fp64": 2 * 30 * 40 * 30} and work.bytes_read == 2 * 8 * 1200

    def test_a_product_of_complex_numbers_is_four_of_real_ones(self):
        a = self.torch.ones(30, 40, dtype=self.torch.complex64)
        assert self.of(lambda: a @ a.T).flops == {"fp32": 8 * 30 * 40 * 30}

    def test_each_operator_has_an_empty_call(self, profiler):
        x = self.torch.ones(8)
        profiler.profile_operation(lambda: (x + 1) * 2 - x)
        assert self.of(profiler._empty_call).operators == ["add"] * 3

    def test_flop_of_operators_of_all_kinds(self):
        torch = self.torch
        a, v, z = torch.ones(30, 40), torch.ones(40), torch.ones(40, dtype=torch.complex64)
        for function, flops in ((lambda: a @ v, {"fp32": 2 * 30 * 40}), (lambda: v @ v, {"fp32": 80}), (lambda: z + z, {"fp32": 80}),
                                (lambda: torch._foreach_add([v, a], 1.0), {"fp32": 1240}), (lambda: torch._foreach_mul_([v, a], 1.0), {"fp32": 1240})):
            assert self.of(function).flops == flops
        bytes_ = torch.ones(32, 32, dtype=torch.int8)
        assert sum(self.of(lambda: torch._int_mm(bytes_, bytes_)).flops.values()) == 2 * 32**3

    def test_what_is_not_known_of_an_operator_is_not_made_up(self, profiler):
        torch = self.torch
        a = torch.eye(40)
        assert self.of(lambda: torch.linalg.inv(a)).untold == "linalg_inv_ex" and self.of(lambda: torch.linalg.norm(a)).untold == ""

        @torch.library.custom_op("gpubench_tests::cube", mutates_args=())
        def cube(x: torch.Tensor) -> torch.Tensor:
            return x.clone() @ x @ x

        profile = profiler.profile_operation(lambda: cube(a) + 1)
        assert profile["flops_utilization"] is None and profile["achieved_flops"] is None and profile["achieved_bandwidth"] > 0
        if profile["regime"] == "UNDECIDED":
            assert "the FLOP of cube are not known" in profile["evidence"], profile

    def test_a_tensor_that_is_given_twice_is_read_once(self):
        a = self.torch.ones(1000)
        assert self.of(lambda: a + a).bytes_read == 4000

    def test_recurrent_layers_multiply_matrices(self):
        lstm, x = self.torch.nn.LSTM(32, 64), self.torch.ones(20, 8, 32)
        products = 2 * 20 * 8 * 4 * 64 * (32 + 64)
        assert products <= self.of(lambda: lstm(x)).flops["fp32"] < 1.1 * products
        loss = lstm(x)[0].sum()
        assert 2 * products <= self.of(loss.backward).flops["fp32"] < 2.2 * products

    def test_fourier_transforms_calculate(self):
        x = self.torch.ones(3, 1024)
        for transform, flops in ((self.torch.fft.rfft, 2.5), (self.torch.fft.irfft, 2.5), (self.torch.fft.fft, 5)):
            given = self.torch.fft.rfft(x) if transform is self.torch.fft.irfft else x.cfloat() if flops == 5 else x
            assert self.of(lambda: transform(given)).flops == {"fp32": flops * 3 * 1024 * 10}
        assert self.of(lambda: self.torch.fft.rfft2(x[:2])).flops == {"fp32": 2.5 * 2048 * 11}

    def test_broadcast_counts_what_is_there(self):
        a, b = self.torch.ones(1000, 1000), self.torch.ones(1000)
        assert self.of(lambda: a + b.expand(1000, 1000)).bytes_read == 4_000_000 + 4_000

    def test_embedding_reads_rows_not_the_table(self):
        table, index = self.torch.ones(100_000, 64), self.torch.zeros(10, dtype=self.torch.int64)
        work = self.of(lambda: self.torch.nn.functional.embedding(index, table))
        assert work.bytes_read == 10 * 64 * 4 + 80 and work.random_reads == 0 and work.flops == {}
        for gathered in (lambda: table[index], lambda: table.index_select(0, index), lambda: table.take(index)):
            assert self.of(gathered).flops == {}, "it calculates nothing"

    def test_adding_rows_in_place_touches_no_others(self):
        table, index, rows = self.torch.ones(100_000, 64), self.torch.zeros(10, dtype=self.torch.int64), self.torch.ones(10, 64)
        work = self.of(lambda: table.index_add_(0, index, rows))
        assert (work.bytes_read, work.bytes_written, work.flops) == (2 * 2560 + 80, 2560, {"fp32": 640})
        assert self.of(lambda: table.index_add(0, index, rows)).bytes_written == 25_600_000

    def test_gather_reads_at_random_places(self):
        x, index = self.torch.ones(1000), self.torch.zeros(50, dtype=self.torch.int64)
        work = self.of(lambda: x.gather(0, index))
        assert work.random_reads == 50 and work.random_bytes == 4000

    @pytest.mark.parametrize("call, read, written", [
        ("narrow_copy(m, 0, 3, 8)", 8192, 8192), ("slice_copy(m, 0, 3, 11)", 8192, 8192), ("select_copy(m, 0, 3)", 1024, 1024),
        ("diagonal_copy(m)", 1024, 1024), ("expand_copy(m[:1], (1024, 1024))", 1024, 1 << 20), ("unfold_copy(m[0], 0, 64, 1)", 1024, 961 * 64),
        ("narrow(m, 0, 3, 8).clone()", 8192, 8192), ("select(m, 0, 3).clone()", 1024, 1024), ("clone(m[:1].expand(1024, 1024))", 1024, 1 << 20),
        ("index_copy(m, 0, i, m[:2])", 1024 * 1026 + 4, 1 << 20), ("empty(1024, 1024).index_copy_(0, i, m[:2])", 2048 + 4, 2048),
        ("empty(1024, 1024).copy_(m)", 1 << 20, 1 << 20), ("zeros_like(m)", 0, 1 << 20), ("empty(1024, 1024).zero_()", 0, 1 << 20),
        ("empty(1024, 1024).index_fill_(0, i, 2.)", 4, 2048), ("searchsorted(m.view(-1), m[0])", 3072, 2048),
        ("_foreach_copy_([torch.empty(1024, 1024)], [m])", 1 << 20, 1 << 20)])
    def test_what_moves_a_part_reads_that_alone_and_calculates_nothing(self, call, read, written):
        m, i = self.torch.ones(1024, 1024), self.torch.zeros(2, dtype=self.torch.int64)
        work = self.of(lambda: eval("torch." + call, {"torch": self.torch, "m": m, "i": i}))
        assert (work.bytes_read, work.bytes_written, work.flops) == (4 * read, 4 * written, {})
        assert work.random_updates == 0, "it writes whole rows"

    def test_a_bag_adds_its_rows(self):
        table, index = self.torch.ones(100_000, 64), self.torch.zeros(2, 5, dtype=self.torch.int64)
        work = self.of(lambda: self.torch.nn.functional.embedding_bag(index, table, mode="sum"))
        assert work.bytes_read < 3000 and work.flops == {"fp32": 640}

    def test_views_move_nothing(self):
        x = self.torch.ones(10, 10)
        assert not self.of(lambda: x.T.reshape(-1, 1).T.view(10, 10) if False else x.T).known

    def test_what_cannot_be_repeated_is_told(self):
        x = self.torch.ones(10)
        assert "add_ changes" in self.of(lambda: x.add_(1)).why_not_repeatable
        assert self.of(lambda: x.clone().add_(1).mul_(2)).why_not_repeatable == "", "what it has made itself may change"
        assert "add_ changes" in self.of(lambda: x.view(2, 5)[0].add_(1)).why_not_repeatable
        weight = self.torch.ones(10, requires_grad=True)
        assert "gradients" in self.of(lambda: (weight * x).sum().backward()).why_not_repeatable
        assert self.of(lambda: self.torch.add(x, 1, out=x.clone())).why_not_repeatable == ""

    def test_attention_draws_numbers_only_for_dropout(self):
        attention, q = self.torch.nn.functional.scaled_dot_product_attention, self.torch.ones(1, 2, 16, 8)
        assert self.of(lambda: attention(q, q, q)).draws_random == ""
        assert self.of(lambda: attention(q, q, q, dropout_p=0.5)).draws_random != ""

    def test_random_numbers_go_on_as_after_one_call(self, profiler):
        x = self.torch.ones(1000)
        self.torch.manual_seed(1)
        expected, after = self.torch.nn.functional.dropout(x), self.torch.rand(3)
        self.torch.manual_seed(1)
        result, profile = profiler.profile_with_result(self.torch.nn.functional.dropout, x)
        assert profile["called_once_because"] == "" and (profile["confidence"] is None) == (profile["regime"] == "UNDECIDED")
        assert (result == expected).all() and (self.torch.rand(3) == after).all()

    def test_what_a_closure_holds_is_seen(self, profiler):
        layer, x = self.torch.nn.Linear(64, 64), self.torch.ones(8, 64)
        profile = profiler.profile_operation(lambda: layer(x))
        assert profile["operators"] == ["addmm"] and profile["called_once_because"] == ""

    def test_ceilings_that_a_quick_calibration_lacks_are_named(self, profiler):
        a = self.torch.ones(16, 16, dtype=self.torch.float16)
        assert any("fp16" in each and "mode='full'" in each for each in profiler.profile_operation(self.torch.cos, a)["advice"])
        assert not any("calibrate" in each for each in profiler.profile_operation(self.torch.cos, a.float())["advice"])

    def test_sparse_and_nested_tensors_are_no_hindrance(self, profiler):
        eye = self.torch.eye(10).to_sparse()
        nested = self.torch.nested.nested_tensor([self.torch.ones(2), self.torch.ones(3)])
        for operation, arguments in ((self.torch.sparse.mm, (eye, self.torch.ones(10, 3))), (self.torch.cos, (nested,))):
            assert profiler.profile_operation(operation, *arguments)["runtime_ms"] > 0
        with pytest.raises(TypeError, match="give the bytes as a number"):
            gpubench.harness.bytes_of(eye)

    def test_tensors_without_data_are_of_no_device(self, profiler):
        with pytest.raises(gpubench.WrongDevice, match="are on meta, and this profiler is for cpu. Move them there.$"):
            profiler.profile_operation(self.torch.cos, self.torch.ones(3, device="meta"))

    def test_nothing_is_imported_while_one_call_is_timed(self):
        done = subprocess.run([sys.executable, "-c", IMPORTS_WHILE_TIMED % str(CALIBRATION)], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout.split() == ["imported", "0"], done.stdout + done.stderr

    def test_one_call_that_was_asked_for_is_not_certain_either(self, profiler):
        profile = profiler.profile_operation(self.torch.add, self.torch.ones(9), 1, repeatable=False)
        assert profile["confidence"] is None and profile["called_once_because"] == "repeatable=False says so"

    def test_in_place_is_called_once(self, profiler):
        x = self.torch.zeros(1000)
        result, profile = profiler.profile_with_result(self.torch.Tensor.add_, x, 1)
        assert (x == 1).all() and "add_ changes" in profile["called_once_because"]


@pytest.mark.gpu
def test_on_a_gpu_the_result_is_right_and_lightweight_waits_for_nothing():
    torch = pytest.importorskip("torch")
    profiler = regime.GPUProfiler("cuda:0", verbose=False)
    a = torch.randn(512, 512, device="cuda")
    result, profile = profiler.profile_with_result(torch.matmul, a, a)
    assert torch.allclose(result, a @ a) and profile["regime"] in regime.REGIMES.values()
    assert 0 < profile["flops_utilization"] < 1.2 and profile["device_ms"] > 0
    torch.cos(a)  # what a first call loads waits for the GPU
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    _, light = profiler.profile_with_result(torch.cos, a, lightweight=True)
    assert not torch.cuda.current_stream().query(), "the stream is still at work"
    assert light["runtime_ms"] > 0
    again = [profiler.profile_with_result(torch.cos, a, lightweight=True)[1] for _ in range(3)]
    assert all(each["runtime_ms"] > 0 for each in again), "kept profiles keep their events"
