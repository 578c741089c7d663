# SPDX-License-Identifier: Apache-2.0
"""As core.profiling."""
from ....pytorch import (FlameGraphGenerator, HTAAnalyzer, HTAReport, KernelInfo, MemoryProfiler, MemorySnapshot,
                       ProfileSession, TimelineData, TimelineGenerator, UnifiedProfiler)

__all__ = ["FlameGraphGenerator", "HTAAnalyzer", "HTAReport", "KernelInfo", "MemoryProfiler", "MemorySnapshot",
           "ProfileSession", "TimelineData", "TimelineGenerator", "UnifiedProfiler"]
