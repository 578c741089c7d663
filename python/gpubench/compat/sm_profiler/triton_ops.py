# SPDX-License-Identifier: Apache-2.0
"""As sm_profiler.triton_ops."""
from ...triton import profiler_event_end, profiler_event_instant, profiler_event_start, profiler_init

__all__ = ["profiler_event_end", "profiler_event_instant", "profiler_event_start", "profiler_init"]
