# SPDX-License-Identifier: Apache-2.0
"""As sm_profiler."""
from ...kernel_trace import SmProfiler

__all__ = ["SmProfiler"]
