# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs: profiled as a whole, their memory, flame graphs, timelines, and what torch.compile makes of them.

    from gpubench.torch import UnifiedProfiler

    profiler = UnifiedProfiler(output_dir="./profiles")
    with profiler.profile("step") as session:
        loss = model(batch).sum()
        loss.backward()
    print(session.cuda_time_ms, session.bottlenecks)

Needs PyTorch where something runs; traces alone (FlameGraphGenerator, TimelineGenerator, HTAAnalyzer) do not.
"""
from .compiling import CompileBreak, CompileReport, TorchCompileAnalyzer
from .memory import MemoryProfiler, MemorySnapshot
from .sessions import KernelInfo, ProfileSession, UnifiedProfiler
from .traces import FlameGraphGenerator, HTAAnalyzer, HTAReport, TimelineData, TimelineGenerator

__all__ = ["CompileBreak", "CompileReport", "FlameGraphGenerator", "HTAAnalyzer", "HTAReport", "KernelInfo",
           "MemoryProfiler", "MemorySnapshot", "ProfileSession", "TimelineData", "TimelineGenerator",
           "TorchCompileAnalyzer", "UnifiedProfiler"]
