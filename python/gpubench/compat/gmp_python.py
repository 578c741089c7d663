# SPDX-License-Identifier: Apache-2.0
"""As gmp_python; results are also written to output/result.csv."""
from functools import partial

from .. import profile
from ..profile import (GmpProfiler, get_memory_activity, print_memory_activity, print_profiler_ranges, print_results,
                       profile_function, profile_memory, profile_range)

__all__ = ["GmpProfiler", "create_profiler", "get_memory_activity", "init_global_profiler", "print_memory_activity",
           "print_profiler_ranges", "print_results", "profile_function", "profile_memory", "profile_range"]

create_profiler = partial(profile.create_profiler, output="output/result.csv")
init_global_profiler = partial(profile.init_global_profiler, output="output/result.csv")
