# SPDX-License-Identifier: Apache-2.0
"""Modules named as in other profilers, so that their scripts run with another import line:

    from gpubench.compat import gmp_python
    from gpubench.compat.gpu_regime_profiler import GPUProfiler
    from gpubench.compat.core.profiling import UnifiedProfiler
    from gpubench.compat.smatrix_2d.gpu.profiling import KernelTimer
    from gpubench.compat.sm_profiler import SmProfiler

After `gpubench.compat.install()` even the import lines stay: modules that are not installed are found here.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Sequence

#: What each module has the names of, in gpubench.
MODULES = {"gmp_python": "compat.gmp_python", "gpu_regime_profiler": "regime", "sm_profiler": "kernel_trace", "sm_profiler.triton_ops": "triton",
           "core": "", "core.profiling": "torch", "core.profiling.torch_compile": "torch",
           "smatrix_2d": "", "smatrix_2d.gpu": "", "smatrix_2d.gpu.profiling": "profile"}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes these modules: as gpubench.compat's, or by their bare names where nobody else has them."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        root = fullname.split(".")[0]
        if not fullname.startswith(self._prefix) or fullname.removeprefix(self._prefix) not in MODULES:
            return None
        if root == fullname:
            others = (each.find_spec(fullname, path, target) for each in sys.meta_path if each is not self)
            if any(found is not None and found.origin is not None for found in others):  # a mere folder of the name has no origin
                return None
        elif not self._prefix and getattr(sys.modules[root].__spec__, "loader", None) is not self:
            return None  # that of somebody else
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        source = MODULES[module.__name__.removeprefix(self._prefix)]
        if source:
            names = vars(importlib.import_module(f"gpubench.{source}"))
            vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


sys.meta_path.append(_Finder(__name__ + "."))
_bare_names = _Finder("")


def install() -> None:
    """From now on `import gmp_python`, and the others, find these modules where no others are installed."""
    if _bare_names not in sys.meta_path:
        sys.meta_path.insert(0, _bare_names)
