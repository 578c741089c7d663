# SPDX-License-Identifier: Apache-2.0
"""Is this code right, and is it really that fast? Candidates against a reference; `gpubench.judge` is the function, `gpubench judge` the command."""
from .contest import judge, rank
from .problem import Problem
from .settings import Settings
from .verdict import REASONS, Interval, Result

__all__ = ["REASONS", "Interval", "Problem", "Result", "Settings", "judge", "rank"]
