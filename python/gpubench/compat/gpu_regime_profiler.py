# SPDX-License-Identifier: Apache-2.0
"""As gpu_regime_profiler."""
from ..regime import GPUProfiler, create_performance_plots, main

__all__ = ["GPUProfiler", "create_performance_plots", "main"]
