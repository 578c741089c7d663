# SPDX-License-Identifier: Apache-2.0
"""Profilers of PyTorch programs. What needs PyTorch is skipped without it; traces alone need none."""
import json
import math
import subprocess
import sys

import pytest

import gpubench
from gpubench.torch import (FlameGraphGenerator, HTAAnalyzer, MemoryProfiler, ProfileSession, TimelineGenerator,
                            UnifiedProfiler)


def event(name, category, start, length, tid=1, **arguments):
    return {"ph": "X", "name": name, "cat": category, "pid": 0 if category == "kernel" else 10, "tid": tid, "ts": start,
            "dur": length, "args": arguments}


@pytest.fixture
def trace(tmp_path):
    """A launch by an operator, and two kernels of which one overlaps the host: all figures are known."""
    gpu = {"device": 0, "stream": 7, "context": 1}
    events = [
        event("aten::mm", "cpu_op", 100, 50), event("cudaLaunchKernel", "cuda_runtime", 110, 10, correlation=1),
        event("gemm", "kernel", 130, 60, 7, correlation=1, **gpu),
        event("aten::add", "cpu_op", 160, 20), event("cudaLaunchKernel", "cuda_runtime", 165, 5, correlation=2),
        event("add", "kernel", 250, 50, 7, correlation=2, **gpu),
    ]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"traceEvents": events}))
    return file


def test_timeline_counts_nothing_twice(trace, tmp_path):
    generator = TimelineGenerator(min_duration_us=8.0)
    timeline = generator.from_chrome_trace(trace)
    assert timeline.total_time_us == 200 and timeline.gpu_active_time_us == 110
    assert timeline.cpu_active_time_us == 70 and timeline.overlap_time_us == 20 + 20
    generator.export_chrome_trace(timeline, tmp_path / "again.json")
    names = [each["name"] for each in json.loads((tmp_path / "again.json").read_text())["traceEvents"] if each.get("ph") == "X"]
    assert "gemm" in names and names.count("cudaLaunchKernel") == 1, "that of 5 us is left out"
    page = generator.generate_html_viewer(timeline, tmp_path / "timeline.html").read_text()
    assert "gemm" in page and "<script" in page and "src=" not in page


def test_flame_puts_kernels_below_what_launched_them(trace, tmp_path):
    generator = FlameGraphGenerator(group_small_kernels=False)
    flame = generator.from_chrome_trace(trace)
    assert flame["value"] == 110

    def path_to(node, name, above=()):
        here = (*above, node["name"])
        return here if node["name"] == name else next(
            (found for child in node.get("children", ()) if (found := path_to(child, name, here))), None)

    assert path_to(flame, "gemm")[-3:] == ("aten::mm", "cudaLaunchKernel", "gemm")
    assert generator.from_chrome_trace(trace, weight="host")["value"] >= 70
    assert json.loads(generator.export(flame, tmp_path / "f.json").read_text()) == flame
    assert "gemm" in generator.export(flame, tmp_path / "f.html", format="html").read_text()
    assert "aten::mm;cudaLaunchKernel;gemm 60000" in generator.export(flame, tmp_path / "f.folded").read_text()
    with pytest.raises(gpubench.UsageError):
        generator.export(flame, tmp_path / "f.docx")


def test_names_cannot_leave_the_script_of_a_page(tmp_path):
    events = [event("</script><b>", "cpu_op", 0, 10), event("</script><b>", "cuda_runtime", 1, 5)]
    (tmp_path / "t.json").write_text(json.dumps(events))
    generator = FlameGraphGenerator()
    flame = generator.from_chrome_trace(tmp_path / "t.json")
    assert "</script><b>" not in generator.export(flame, tmp_path / "f.html").read_text()
    with pytest.raises(gpubench.UsageError, match="not from a copy"):
        generator.export(dict(flame), tmp_path / "f.html")


def test_a_timeline_is_read_whatever_wrote_it(trace, tmp_path):
    gpubench.Timeline(trace).write(tmp_path / "t.perfetto-trace")
    assert gpubench.Timeline(tmp_path / "t.perfetto-trace").kernels == gpubench.Timeline(trace).kernels
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    for rank in (0, 1):
        (ranks / f"rank{rank}.json").write_bytes(trace.read_bytes())
    assert len(gpubench.Timeline(ranks).breakdown) == len(gpubench.Timeline(*sorted(ranks.iterdir())).breakdown) == 2


def test_hta_is_a_breakdown_of_the_gpu(trace, tmp_path):
    analyzer = HTAAnalyzer(output_dir=tmp_path / "hta")
    report = analyzer.analyze_trace(trace)
    assert report.gpu_idle_time_pct == pytest.approx(100 * 60 / 170)
    assert report.compute_time_pct == pytest.approx(100 * 110 / 170) and report.communication_time_pct == 0
    assert [(each["name"], each["time_us"]) for each in report.top_kernels] == [("gemm", 60), ("add", 50)]
    assert analyzer.export_report(report, "hta.json").parent == tmp_path / "hta"
    assert "gemm" in analyzer.export_report(report, tmp_path / "hta.html").read_text()


def test_a_trace_without_a_gpu_has_no_percentages(tmp_path):
    (tmp_path / "cpu.json").write_text(json.dumps([event("aten::mm", "cpu_op", 0, 10)]))
    report = HTAAnalyzer(tmp_path).analyze_trace(tmp_path / "cpu.json")
    assert math.isnan(report.gpu_idle_time_pct) and "No GPU worked" in report.notes[-1]
    assert f"{report.gpu_idle_time_pct:.1f} %, {ProfileSession().cuda_time_ms:8.2f} ms" == "not known %, not known ms"


def test_what_is_no_trace_is_refused(tmp_path):
    with pytest.raises(gpubench.ReadError):
        HTAAnalyzer().analyze_trace(tmp_path / "none.json")
    with pytest.raises(TypeError, match="torch.profiler.profile"):
        FlameGraphGenerator().from_profiler(3)


def test_sessions_are_compared_with_an_interval():
    samples = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0]
    base = ProfileSession("a", 10.0, peak_memory_mb=300.0, samples_ms=samples)
    fast = ProfileSession("b", 5.0, peak_memory_mb=100.0, samples_ms=[each / 2 for each in samples])
    compared = UnifiedProfiler().compare_sessions(base, fast)
    assert compared["speedup"] == 2.0 and compared["memory_diff"]["peak_mb"] == 200.0 and compared["certain"]
    assert compared["speedup_ci95"][0] < 2.0 < compared["speedup_ci95"][1]
    # A first call that loads, among few: the interval is that of the medians, as the speed-up is.
    slow = ProfileSession(total_time_ms=36.8, samples_ms=[30.0, 36.0, 36.5, 36.8, 37.0, 38.0, 40.0])
    fast = ProfileSession(total_time_ms=1.0, samples_ms=[90.0, 0.9, 0.95, 1.0, 1.0, 1.1, 60.0])
    compared = UnifiedProfiler().compare_sessions(slow, fast)
    assert compared["speedup"] == pytest.approx(36.8)
    assert compared["speedup_ci95"][0] < 36.8 < compared["speedup_ci95"][1] and compared["certain"] is False
    unknown = UnifiedProfiler().compare_sessions(ProfileSession("a", 1.0), ProfileSession("b", 1.0))
    assert unknown["speedup_ci95"] is None and math.isnan(unknown["memory_diff"]["peak_mb"])
    with pytest.raises(ValueError):
        UnifiedProfiler().compare_sessions(base, ProfileSession())


def test_allocator_history_becomes_a_curve():
    profiler = MemoryProfiler()
    start = 1_000_000_000
    at = lambda ms, action, size: {"action": action, "size": size, "time_us": start // 1000 + ms * 1000}  # noqa: E731
    profiler._from_history([at(1, "segment_alloc", 4_000_000), at(1, "alloc", 3_000_000), at(2, "free_requested", 3_000_000),
                            at(3, "free_completed", 3_000_000)], start, start + 5_000_000, 1_000_000, 2_000_000)
    assert [(p["time_ms"], p["allocated_mb"], p["reserved_mb"]) for p in profiler.get_timeline()] == [
        (0.0, 1.0, 2.0), (1.0, 1.0, 6.0), (1.0, 4.0, 6.0), (3.0, 1.0, 6.0), (5.0, 1.0, 6.0)]
    peak = profiler.get_peak_analysis()
    assert (peak["peak_allocated_mb"], peak["peak_time_ms"], peak["grown_mb"]) == (4.0, 1.0, 0.0)
    with pytest.raises(gpubench.UsageError):
        MemoryProfiler().get_peak_analysis()
    with pytest.raises(ValueError):
        MemoryProfiler(sample_interval_ms=0)


@pytest.mark.parametrize("command", [["flame", "-o", "flame.html"], ["flame", "--json", "-o", "flame.json"],
                                     ["timeline", "-o", "timeline.html"], ["timeline", "-o", "t.json"],
                                     ["hta", "-o", "hta.json", "--json"]])
def test_commands_write_what_they_are_asked_for(trace, tmp_path, command):
    done = subprocess.run([sys.executable, "-m", "gpubench.torch_cli", command[0], str(trace), *command[1:]],
                          capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0 and "wrote" in done.stdout, done.stderr
    assert any((tmp_path / word).exists() for word in command[1:])


def test_commands_refuse_in_words(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gpubench.torch_cli", "hta", "none.json"], capture_output=True, text=True,
                          cwd=tmp_path, check=False)
    assert done.returncode == 2 and "none.json" in done.stderr and "Traceback" not in done.stderr
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-m", "gpubench.torch_cli", "profile", "none.py"], capture_output=True, text=True,
                          cwd=tmp_path, check=False)
    assert done.returncode == 2 and "There is no script none.py" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command, script, code, said", [
    (["profile"], "raise SystemExit(3)", 3, "own.py ended with 3"), (["memory"], "1/0", 1, "ZeroDivisionError"),
    (["compile"], "raise SystemExit(3)", 64, "ended with 3 before"), (["compile", "--backend", "nope"], "model, sample_input = abs, 1", 64, "no backend 'nope'"),
    (["memory", "--interval", "0"], "", 64, "above 0, not 0. See python -m gpubench.torch_cli memory --help."),
    (["wrong"], "", 64, "invalid choice: 'wrong'")])
def test_commands_end_as_the_script_does(tmp_path, command, script, code, said):
    pytest.importorskip("torch")
    (tmp_path / "own.py").write_text(script)
    done = subprocess.run([sys.executable, "-m", "gpubench.torch_cli", command[0], *command[1:], "own.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == code and said in done.stderr, done.stdout + done.stderr
    assert "runpy" not in done.stderr
    if code in (1, 3):
        assert done.stdout.startswith(("total", "peak")), "what was known until then"


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch")

    def test_a_block_is_a_session(self, tmp_path):
        profiler = UnifiedProfiler(output_dir=tmp_path)
        x = self.torch.ones(200, 200)
        with profiler.profile("my step") as session:
            (x @ x).sum()
        assert session.total_time_ms > 0 and session.cpu_time_ms > 0
        assert session.trace_path == tmp_path / "my_step.trace.json" and session.trace_path.exists()
        assert session.flame_graph_data["value"] > 0 and json.dumps(session.to_dict())
        if not self.torch.cuda.is_available():
            assert math.isnan(session.cuda_time_ms) and math.isnan(session.peak_memory_mb) and session.notes

    def test_a_block_that_raises_leaves_no_profiler_on(self, tmp_path):
        profiler = UnifiedProfiler(output_dir=tmp_path, enable_trace=False)
        with pytest.raises(KeyError):
            with profiler.profile("fails"):
                raise KeyError("x")
        with profiler.profile("works") as session:
            pass
        assert session.trace_path is None and not list(tmp_path.iterdir())

    def test_a_session_within_another_is_refused(self, tmp_path):
        profiler = UnifiedProfiler(tmp_path)
        with profiler.profile("outer") as outer:
            with pytest.raises(gpubench.UsageError, match="a second one is begun"), profiler.profile("inner"):
                pass
        assert outer.total_time_ms > 0

    def test_a_function_is_timed_without_the_profiler(self, tmp_path):
        calls = []
        session = UnifiedProfiler(tmp_path).profile_function(lambda x: calls.append(x), 3, name="f", warmup=2, iterations=6)
        assert calls == [3] * 9 and len(session.samples_ms) == 6 and session.name == "f"
        with pytest.raises(ValueError):
            UnifiedProfiler(tmp_path).profile_function(print, iterations=0)

    def test_memory_is_sampled_at_least(self, tmp_path):
        profiler = MemoryProfiler(sample_interval_ms=0.5)
        with profiler.track("step"):
            kept = [self.torch.ones(1000, 1000) for _ in range(5)]
        assert profiler.get_timeline() and profiler.get_peak_analysis()["peak_allocated_mb"] > 0 and kept
        assert json.loads(profiler.export(tmp_path / "new" / "m.json").read_text())["name"] == "step"

    def test_traces_of_the_profiler_itself(self):
        with self.torch.profiler.profile() as profiler:
            self.torch.ones(100, 100).sum()
        assert FlameGraphGenerator().from_profiler(profiler)["value"] > 0
        assert TimelineGenerator().from_profiler(profiler).cpu_active_time_us > 0

    def test_compile_tells_breaks_and_results(self, tmp_path):
        from gpubench.torch import TorchCompileAnalyzer

        def model(x):
            y = x.cos()
            self.torch._dynamo.graph_break()
            return y.sin() + 1

        analyzer = TorchCompileAnalyzer(backend="eager")
        report = analyzer.analyze(model, self.torch.ones(100), warmup=1, iterations=6)
        assert report.total_graph_breaks == 1 and report.graphs == 2 and report.correct
        assert "graph_break" in report.graph_breaks[0].suggestion and "test_torch.py" in report.graph_breaks[0].location
        assert report.speedup > 0 and report.compile_time_ms > 0 and report.ops_before_fusion >= 3
        assert "graph_breaks" in analyzer.export_report(report, tmp_path / "r.html").read_text()
        results = analyzer.compare_modes(model, self.torch.ones(10), modes=["default"], iterations=5)
        assert set(results) == {"default"} and analyzer.export_report(results, tmp_path / "r.json").exists()

    def test_results_that_differ_by_themselves_are_not_called_wrong(self):
        from gpubench.torch import TorchCompileAnalyzer

        dropout = TorchCompileAnalyzer(backend="eager").analyze(lambda y: self.torch.nn.functional.dropout(y), self.torch.ones(1000))
        assert dropout.correct is True, "random numbers are drawn alike"
        counts = TorchCompileAnalyzer(backend="eager").analyze(lambda y: y.add_(1) * 1, self.torch.ones(1000))
        assert counts.correct is None and any("Two calls without compiling differ" in each for each in counts.notes)

    def test_comparing_results_is_no_recompilation(self):
        from gpubench.torch import TorchCompileAnalyzer
        report = TorchCompileAnalyzer(backend="eager").analyze(self.torch.nn.Linear(4, 4), self.torch.ones(2, 4), warmup=1, iterations=6)
        assert report.recompilations == 0 and report.correct and not [each for each in report.recommendations if "pad inputs" in each]

    def test_a_model_that_cannot_be_compiled_has_a_note(self):
        from gpubench.torch import TorchCompileAnalyzer

        def broken(graph, inputs):
            raise ValueError("no code for this")

        report = TorchCompileAnalyzer(backend=broken).analyze(lambda x: x + 1, self.torch.ones(3))
        assert math.isnan(report.speedup) and any("could not be compiled" in note for note in report.notes)


@pytest.mark.gpu
class TestOnAGpu:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch")

    def test_a_training_step_is_accounted_for(self, tmp_path):
        model = self.torch.nn.Linear(4096, 4096, device="cuda")
        x = self.torch.randn(4096, 4096, device="cuda")
        profiler = UnifiedProfiler(output_dir=tmp_path)

        def step():
            model(x).sum().backward()

        step()
        with profiler.profile("step") as session:
            step()
        print(session.total_time_ms, session.cuda_time_ms, session.kernels[:3], session.bottlenecks, session.notes)
        assert 0 < session.cuda_time_ms <= session.total_time_ms and session.peak_memory_mb > 64
        assert sum(each.share for each in session.kernels) == pytest.approx(1.0) and session.kernels[0].count >= 1
        report = HTAAnalyzer(tmp_path).analyze_trace(session.trace_path)
        print(report)
        timed = profiler.profile_function(step, warmup=1, iterations=5)
        assert len(timed.samples_ms) == 5 and timed.total_time_ms > 0
        assert profiler.compare_sessions(timed, timed)["speedup"] == 1.0

    def test_memory_is_exact_to_the_byte(self):
        profiler = MemoryProfiler()
        self.torch.cuda.empty_cache()
        before = self.torch.cuda.memory_allocated()
        with profiler.track("step"):
            kept = self.torch.empty(50_000_000, device="cuda")
            gone = self.torch.empty(25_000_000, device="cuda")
            del gone
        analysis = profiler.get_peak_analysis()
        print(profiler.source, analysis)
        assert profiler.source == "allocator history" and kept is not None
        assert analysis["peak_allocated_mb"] == pytest.approx((before + 300_000_000) / 1e6, abs=2.1)

    def test_compiling_fuses_and_is_correct(self, tmp_path):
        from gpubench.torch import TorchCompileAnalyzer
        x = self.torch.randn(2**24, device="cuda")
        analyzer = TorchCompileAnalyzer()
        report = analyzer.analyze(lambda x: (x.cos() + 1).sin() * 2, x, warmup=1, iterations=6)
        print(report)
        assert report.correct and report.total_graph_breaks == 0 and report.ops_after_fusion < report.kernels_before
        assert analyzer.export_report(report, tmp_path / "r.html").exists()
