# SPDX-License-Identifier: Apache-2.0
"""As gmp_python; results are also written to output/result.csv."""
from __future__ import annotations

from typing import Any

from .. import profile
from ..profile import (GmpProfiler, get_memory_activity, print_memory_activity, print_profiler_ranges, print_results,
                       profile_function, profile_memory, profile_range)

__all__ = ["GmpProfiler", "create_profiler", "get_memory_activity", "init_global_profiler", "print_memory_activity",
           "print_profiler_ranges", "print_results", "profile_function", "profile_memory", "profile_range"]

RESULT = "output/result.csv"


def create_profiler(**options: Any) -> GmpProfiler:
    """A profiler that writes its ranges to output/result.csv when it prints them."""
    return profile.create_profiler(output=options.pop("output", RESULT), **options)


def init_global_profiler(**options: Any) -> GmpProfiler:
    """The same behind the functions of this module, started."""
    return profile.init_global_profiler(output=options.pop("output", RESULT), **options)
