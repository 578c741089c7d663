# SPDX-License-Identifier: Apache-2.0
"""gpubench: what limits your GPU code, measured on your GPU.

    import gpubench, torch

    @gpubench.benchmark(n=gpubench.sizes(2**10, 2**26, step=4))
    def add(state, n):
        a, b, out = (torch.empty(n, device=state.device) for _ in range(3))
        state.reads(a, b)
        state.writes(out)
        state.measure(lambda: torch.add(a, b, out=out))

    run = gpubench.run(add)
    print(run)
    run.report("add.html")

Names load what they need when they are first used, so that the import itself is quick.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import compat, judging, kernel_trace, profile, profiling, pytorch, regime, torch, torch_cli, triton
    from ._core import (ChartError, CudaError, Error, FlagError, MetricNameError, NoSuchDevice, ReadError, UsageError,
                        WriteError)
    from .harness import Benchmark, State, Stream, benchmark, benchmarks, run, sizes
    from .runs import (Calibration, Comparison, OperationFailed, Point, Run, WrongDevice, calibrate, calibration,
                       compare, devices, doctor, load, program)
    from .judging import judge
    from .timelines import Timeline

_PLACES = ("runs", "timelines", "harness", "_core", "judging")  # in which names are looked for: a run is runs.Run before _core.Run
_MODULES = ("compat", "judging", "kernel_trace", "profile", "profiling", "pytorch", "regime", "torch", "torch_cli", "triton")

__all__ = [  # noqa: F822: found by __getattr__
    "Benchmark", "Calibration", "ChartError", "Comparison", "CudaError", "Error", "FlagError", "MetricNameError",
    "NoSuchDevice", "OperationFailed", "Point", "ReadError", "Run", "State", "Stream", "Timeline", "UsageError",
    "WriteError", "WrongDevice", "benchmark", "benchmarks", "calibrate", "calibration", "compare", "devices",
    "doctor", "judge", "load", "program", "run", "sizes"
]


if TYPE_CHECKING:
    __version__: str
else:  # a checker shall find misspelt names

    def __getattr__(name):
        if name == "__version__":
            return importlib.import_module("._core", __name__).version
        if name in __all__:
            places = (importlib.import_module("." + place, __name__) for place in _PLACES)
            value = globals()[name] = next(getattr(place, name) for place in places if hasattr(place, name))
            return value
        if name in _MODULES:
            return importlib.import_module("." + name, __name__)
        import difflib
        near = difflib.get_close_matches(name, __dir__(), 1)
        raise AttributeError(f"module 'gpubench' has no attribute '{name}'" + (f"; did you mean {near[0]}?" if near else ""))


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
