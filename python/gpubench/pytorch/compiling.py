# SPDX-License-Identifier: Apache-2.0
"""What torch.compile makes of a model: time to compile, graph breaks, kernels before and after, speed-up."""
from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from .. import _core
from ..runs import PathLike
from ..timelines import Timeline
from ._common import NOT_KNOWN, export_report, pytorch, speedup_of, synchronize, text_page, times_of, trace_file


@dataclass
class CompileBreak:
    """A place where the graph ends."""

    reason: str
    suggestion: str
    location: str = ""  #: "model.py:12", as far as Dynamo tells


@dataclass
class CompileReport:
    """A model compiled, beside the same model as it is. What could not be found is not a number or None,
    and `notes` says why."""

    speedup: float = NOT_KNOWN
    speedup_ci95: tuple[float, float] | None = None
    compile_time_ms: float = NOT_KNOWN  #: of the first call, less one that is compiled
    eager_time_ms: float = NOT_KNOWN
    compiled_time_ms: float = NOT_KNOWN
    graph_breaks: list[CompileBreak] = field(default_factory=list)
    total_graph_breaks: int = 0
    graphs: int = 0
    fusion_ratio: float = NOT_KNOWN  #: operators of the graphs over kernels of a compiled call
    ops_before_fusion: int = 0
    ops_after_fusion: int | None = None  #: kernels of a compiled call
    kernels_before: int | None = None  #: of a call as it is
    recompilations: int | None = None
    correct: bool | None = None  #: whether both give the same result
    largest_difference: float = NOT_KNOWN
    mode: str = "default"
    backend: str = "inductor"
    recommendations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _suggestion(reason: str) -> str:
    hints = [line.strip()[5:].strip() for line in reason.splitlines() if line.strip().startswith("Hint:")]
    if hints:
        return " ".join(hints)
    return "Look at this line with TORCH_LOGS=graph_breaks, and write it with operators that can be traced."


def _location(reason: Any) -> str:
    """Of the user's frame."""
    stack = list(getattr(reason, "user_stack", None) or ())
    for frame in reversed(stack):
        if "/torch/" not in str(getattr(frame, "filename", "")):
            return f"{frame.filename}:{frame.lineno}"
    return f"{stack[-1].filename}:{stack[-1].lineno}" if stack else ""


def _difference(torch: Any, some: Sequence[Any], others: Sequence[Any]) -> tuple[bool | None, float]:
    """Whether results agree (None: they hold no tensor), and by how much they differ at most."""
    right, worst = None, 0.0
    for one, other in zip(some, others):
        if not isinstance(one, torch.Tensor):
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            right = False
            continue
        difference = (one.double() - other.double()).abs()
        worst = max(worst, float(difference.max()) if difference.numel() else 0.0)
        tolerance = {torch.float32: 1e-3, torch.float64: 1e-7}.get(one.dtype, 2e-2)
        right = right is not False and bool(torch.allclose(one.double(), other.double(), rtol=tolerance, atol=tolerance, equal_nan=True))
    return right, worst


class TorchCompileAnalyzer:
    """Compiles models, and says what came of it."""

    def __init__(self, backend: str = "inductor", mode: str = "default"):
        self.backend = backend
        self.mode = mode

    def analyze(self, model: Callable[..., Any], sample_input: Any, warmup: int = 3, iterations: int = 10) -> CompileReport:
        """`sample_input`: an argument, a tuple of arguments, or a dictionary of named ones."""
        torch = pytorch()
        if isinstance(self.backend, str) and self.backend not in torch._dynamo.list_backends(exclude_tags=()):
            raise _core.UsageError(f"torch.compile has no backend '{self.backend}' here; it has eager, {', '.join(torch._dynamo.list_backends())}.")
        arguments, keywords = _arguments(sample_input)
        report = CompileReport(mode=self.mode, backend=self.backend)
        torch._dynamo.reset()
        self._explain(torch, model, arguments, keywords, report)
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

        def eager() -> Any:
            return model(*arguments, **keywords)

        mode = None if self.mode == "default" else self.mode
        compiled_model = torch.compile(model, backend=self.backend, mode=mode) if self.backend == "inductor" else torch.compile(
            model, backend=self.backend)

        def compiled() -> Any:
            return compiled_model(*arguments, **keywords)

        try:
            first = _seconds(torch, compiled)
            stats = dict(torch._dynamo.utils.counters.get("stats", {}))
            report.ops_before_fusion = int(stats.get("calls_captured", report.ops_before_fusion))
            for _ in range(max(warmup, 2)):
                compiled()
            again = statistics.median(_seconds(torch, compiled) for _ in range(3))
        except Exception as error:  # noqa: BLE001: whatever the compiler says is the finding
            report.notes.append(f"It could not be compiled: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
            report.recommendations.append("Compile with backend='eager' to see whether tracing or code generation fails.")
            return report
        report.compile_time_ms = max(0.0, first - again) * 1e3
        for _ in range(warmup):
            eager()
        base, new = times_of(eager, iterations, torch), times_of(compiled, iterations, torch)
        report.eager_time_ms, report.compiled_time_ms = statistics.median(base) * 1e3, statistics.median(new) * 1e3
        report.speedup, report.speedup_ci95 = speedup_of(base, new)
        self._compare_results(torch, eager, compiled, report)
        report.kernels_before, report.ops_after_fusion = _kernels(torch, eager), _kernels(torch, compiled)
        if report.ops_after_fusion is None:
            report.notes.append("No kernels are known without a GPU, so there is no fusion ratio.")
        elif report.ops_before_fusion and report.ops_after_fusion:
            report.fusion_ratio = report.ops_before_fusion / report.ops_after_fusion
        now = dict(torch._dynamo.utils.counters.get("stats", {}))
        if "unique_graphs" in stats and "unique_graphs" in now:
            report.recompilations = int(now["unique_graphs"]) - int(stats["unique_graphs"])
        self._recommend(report)
        return report

    def _explain(self, torch: Any, model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any],
                 report: CompileReport) -> None:
        try:
            explained = torch._dynamo.explain(model)(*arguments, **keywords)
        except Exception as error:  # noqa: BLE001
            report.notes.append(f"Dynamo could not explain it: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
            return
        report.graphs = int(explained.graph_count)
        report.total_graph_breaks = int(explained.graph_break_count)
        report.ops_before_fusion = int(explained.op_count)
        for each in explained.break_reasons:
            reason = str(each.reason).strip()
            report.graph_breaks.append(CompileBreak(reason.splitlines()[0] if reason else "not said", _suggestion(reason),
                                                    _location(each)))

    @staticmethod
    def _compare_results(torch: Any, eager: Callable[[], Any], compiled: Callable[[], Any], report: CompileReport) -> None:
        from torch.utils._pytree import tree_flatten

        def results(call: Callable[[], Any]) -> list[Any]:  # without gradients it would be compiled once more
            return [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in tree_flatten(call())[0]]

        def seeded(call: Callable[[], Any]) -> list[Any]:
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                torch.manual_seed(0)
                return results(call)

        right, worst = _difference(torch, seeded(eager), seeded(compiled))
        if right is None:
            report.notes.append("The result holds no tensor, so that it was not compared.")
        elif not right and not _difference(torch, results(eager), results(eager))[0]:
            report.notes.append("Two calls without compiling differ, too: it draws random numbers or changes its input, so that results were not compared.")
        else:
            report.correct, report.largest_difference = right, worst

    @staticmethod
    def _recommend(report: CompileReport) -> None:
        for each in report.graph_breaks:
            if each.suggestion not in report.recommendations:
                report.recommendations.append(each.suggestion)
        if report.correct is False:
            report.recommendations.append(f"The compiled result differs by up to {report.largest_difference:.3g}: compile with backend='eager' to see whether "
                                          "code generation is at fault.")
        if report.recompilations:
            report.recommendations.append(f"It was compiled {report.recompilations} more time{'s' * (report.recompilations > 1)}: pad inputs to few shapes, or "
                                          "compile with dynamic=True.")
        if report.speedup < 1.05 and not report.graph_breaks:
            report.recommendations.append("Compiling gains little: profile the model to see what its time goes to; for small "
                                          "kernels try mode='reduce-overhead', for matrix products mode='max-autotune'.")

    def compare_modes(self, model: Callable[..., Any], sample_input: Any,
                      modes: Sequence[str] = ("default", "reduce-overhead", "max-autotune"), warmup: int = 3,
                      iterations: int = 10) -> dict[str, CompileReport]:
        """A report for each mode; nothing compiled for one serves another."""
        return {mode: TorchCompileAnalyzer(self.backend, mode).analyze(model, sample_input, warmup, iterations)
                for mode in modes}

    def export_report(self, report: CompileReport | Mapping[str, CompileReport], file: PathLike,
                      format: str | None = None) -> Path:  # noqa: A002
        """Writes one report, or those of compare_modes, as "html" or "json"."""
        return export_report(report, Path(file), format, lambda: text_page(report, "What torch.compile made of it"))


def _arguments(sample_input: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(sample_input, dict):
        return (), sample_input
    return (tuple(sample_input) if isinstance(sample_input, (tuple, list)) else (sample_input,)), {}


def _seconds(torch: Any, call: Callable[[], Any]) -> float:
    synchronize(torch)
    start = time.perf_counter()
    call()
    synchronize(torch)
    return time.perf_counter() - start


def _kernels(torch: Any, call: Callable[[], Any]) -> int | None:
    """Of one call; None without a GPU."""
    if not torch.cuda.is_available():
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    with trace_file(profiler) as file:
        return int(sum(each["count"] for each in Timeline(file).kernels if each["kind"] == "kernel"))
