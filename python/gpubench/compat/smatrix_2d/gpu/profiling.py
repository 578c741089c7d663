# SPDX-License-Identifier: Apache-2.0
"""As smatrix_2d.gpu.profiling."""
from ....profile import KernelTimer, MemoryTracker, Profiler

__all__ = ["KernelTimer", "MemoryTracker", "Profiler"]
