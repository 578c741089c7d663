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
import importlib.util
import sys
from types import ModuleType
from typing import Sequence

ROOTS = ("gmp_python", "gpu_regime_profiler", "sm_profiler", "core", "smatrix_2d")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else finds, here: the modules of this folder under their own names."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        root = fullname.split(".")[0]
        if root not in ROOTS:
            return None
        if root == fullname:
            others = (each.find_spec(fullname, path, target) for each in sys.meta_path if each is not self)
            if any(found is not None and found.origin is not None for found in others):  # a mere folder of the name has no origin
                return None
        elif not sys.modules[root].__name__.startswith(__name__):
            return None  # that of somebody else
        if importlib.util.find_spec(f"{__name__}.{fullname}") is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"{__name__}.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:  # it ran as gpubench.compat's, and is that still
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """From now on `import gmp_python`, and the others, find the modules of this folder where no others are installed."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
