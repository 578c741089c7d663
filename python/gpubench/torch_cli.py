# SPDX-License-Identifier: Apache-2.0
"""Commands over PyTorch programs and their traces: python -m gpubench.torch_cli profile|memory|flame|timeline|hta|compile"""
from __future__ import annotations

import argparse
import json
import math
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any, Sequence

from . import _core
from ._arguments import Parser
from .pytorch import (FlameGraphGenerator, HTAAnalyzer, MemoryProfiler, TimelineGenerator, TorchCompileAnalyzer,
                      UnifiedProfiler)

__all__ = ["main"]


def _is_there(script: str) -> None:
    if not Path(script).is_file():
        raise _core.ReadError(f"There is no script {script}; check the name.")


def _run_script(words: Sequence[str]) -> int:
    """A Python script with its arguments, as python3 runs it. Returns its exit code: what it did until then is known all the same."""
    before = sys.argv, sys.path[:]
    sys.argv = list(words)
    sys.path.insert(0, str(Path(words[0]).resolve().parent))
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code:
            print(f"{words[0]} ended with {end.code}", file=sys.stderr)
        return code
    except Exception as error:  # noqa: BLE001: the script's own
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != words[0]:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace or error.__traceback__)
        return 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


def _profile(chosen: Any) -> int:
    _is_there(chosen.script[0])
    profiler = UnifiedProfiler(chosen.output, enable_flame_graph=False)
    with profiler.profile(Path(chosen.script[0]).stem) as session:
        code = _run_script(chosen.script)
    if chosen.json:
        print(json.dumps(session.to_dict()))
        return code
    print(f"total {session.total_time_ms:.2f} ms, GPU {_text(session.cuda_time_ms, ' ms')}, CPU {_text(session.cpu_time_ms, ' ms')}, "
          f"peak memory {_text(session.peak_memory_mb, ' MB')}")
    for kernel in session.kernels[:10]:
        print(f"  {kernel.cuda_time_us:12.1f} us  {100 * kernel.share:5.1f} %  {kernel.count:6d} x  {kernel.name}")
    for text in session.bottlenecks:
        print(f"- {text}")
    for text in session.notes:
        print(f"note: {text}")
    print(f"trace: {session.trace_path}")
    return code


def _text(value: float, unit: str = "") -> str:
    return "not known" if math.isnan(value) else f"{value:.2f}{unit}"


def _memory(chosen: Any) -> int:
    _is_there(chosen.script[0])
    profiler = MemoryProfiler(chosen.interval)
    with profiler.track(Path(chosen.script[0]).stem):
        code = _run_script(chosen.script)
    peak = profiler.get_peak_analysis()
    print(f"peak {peak['peak_allocated_mb']:.1f} MB after {peak['peak_time_ms']:.1f} ms, {peak['grown_mb']:+.1f} MB at the end "
          f"({peak['source']})")
    if chosen.output:
        print(f"wrote {profiler.export(chosen.output)}")
    return code


def _flame(chosen: Any) -> None:
    generator = FlameGraphGenerator(chosen.min_duration_us, chosen.max_depth)
    file = generator.export(generator.from_chrome_trace(chosen.trace), chosen.output or "flame.html",
                            "json" if chosen.json else None)
    print(f"wrote {file}")


def _timeline(chosen: Any) -> None:
    generator = TimelineGenerator(chosen.min_duration_us)
    timeline = generator.from_chrome_trace(chosen.trace)
    output = chosen.output or "timeline.html"
    is_page = output.endswith(".html")
    file = generator.generate_html_viewer(timeline, output) if is_page else generator.export_chrome_trace(timeline, output)
    print(f"total {timeline.total_time_us / 1e3:.3f} ms, CPU {timeline.cpu_active_time_us / 1e3:.3f} ms, GPU "
          f"{timeline.gpu_active_time_us / 1e3:.3f} ms, both {timeline.overlap_time_us / 1e3:.3f} ms\nwrote {file}")


def _hta(chosen: Any) -> None:
    analyzer = HTAAnalyzer(".")
    report = analyzer.analyze_trace(chosen.trace)
    file = analyzer.export_report(report, chosen.output or "hta_report.html", "json" if chosen.json else None)
    print(f"GPU idle {_text(report.gpu_idle_time_pct, ' %')}, compute {_text(report.compute_time_pct, ' %')}, communication "
          f"{_text(report.communication_time_pct, ' %')}\nwrote {file}")


def _compile(chosen: Any) -> None:
    _is_there(chosen.script)
    try:
        names = runpy.run_path(chosen.script, run_name="gpubench_compile")
    except SystemExit as end:
        raise _core.UsageError(f"{chosen.script} ended with {end.code} before it could define `model` and `sample_input`.") from None
    missing = [name for name in ("model", "sample_input") if name not in names]
    if missing:
        raise _core.UsageError(f"{chosen.script} must define `model` and `sample_input`; it has no {' and no '.join(missing)}.")
    analyzer = TorchCompileAnalyzer(chosen.backend, chosen.mode)
    report = analyzer.analyze(names["model"], names["sample_input"])
    print(f"speed-up {_text(report.speedup)}, compiled in {_text(report.compile_time_ms, ' ms')}, {report.total_graph_breaks} graph "
          f"breaks, fusion ratio {_text(report.fusion_ratio)}, same result: {report.correct}")
    for each in report.graph_breaks:
        print(f"- {each.location or 'somewhere'}: {each.reason}\n  {each.suggestion}")
    for text in report.notes:
        print(f"note: {text}")
    if chosen.output:
        print(f"wrote {analyzer.export_report(report, chosen.output)}")


def _above_0(text: str) -> float:
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"takes a number above 0, not {text}")
    return value


def main(words: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    parser = Parser("python -m gpubench.torch_cli", description="Profiles PyTorch programs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, words: str, takes: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words)
        added.add_argument("-o", "--output", help="where to write")
        if takes == "trace":
            added.add_argument("trace", help="a trace of torch.profiler: .json, .json.gz")
        elif takes == "module":
            added.add_argument("script", help="a Python script")
        else:
            added.add_argument("script", nargs=argparse.REMAINDER, help="a Python script and its arguments")
        added.set_defaults(run=run, takes=takes)
        return added

    profile = command("profile", _profile, "Profile a script: trace, kernels, findings", "script")
    profile.set_defaults(output="./profiles")
    profile.add_argument("--json", action="store_true", help="print the session as JSON")
    command("memory", _memory, "Track the GPU memory of a script", "script").add_argument(
        "--interval", type=_above_0, default=1.0, help="milliseconds between samples, where they are needed (default: 1)")
    flame = command("flame", _flame, "Draw a flame graph of a trace", "trace")
    flame.add_argument("--json", action="store_true", help="write JSON")
    flame.add_argument("--min-duration-us", type=float, default=0.0, help="leave shorter frames to their parents")
    flame.add_argument("--max-depth", type=int, default=512, help="frames below a thread")
    command("timeline", _timeline, "Draw CPU and GPU of a trace over time", "trace").add_argument(
        "--min-duration-us", type=float, default=0.0, help="leave out shorter events")
    command("hta", _hta, "Say what the GPUs of a trace did", "trace").add_argument(
        "--json", action="store_true", help="write JSON")
    compiled = command("compile", _compile, "Say what torch.compile makes of a script's `model` with its `sample_input`", "module")
    compiled.add_argument("--backend", default="inductor", help="of torch.compile")
    compiled.add_argument("--mode", default="default", help="of torch.compile")
    try:
        chosen = parser.parse_args(words)
        if chosen.takes == "script":
            if chosen.script[:1] == ["--"]:
                chosen.script = chosen.script[1:]
            if not chosen.script:
                parser.error("give a Python script")
        return int(chosen.run(chosen) or 0)
    except (_core.Error, ImportError) as error:
        print(f"gpubench: {error}", file=sys.stderr)
        return 64 if isinstance(error, _core.UsageError) else 2


if __name__ == "__main__":
    sys.exit(main())
