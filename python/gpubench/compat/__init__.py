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
    """Finds what nobody else found, here."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.split(".")[0] not in ROOTS or importlib.util.find_spec(f"{__name__}.{fullname}") is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(f"{__name__}.{spec.name}")

    def exec_module(self, module: ModuleType) -> None:
        pass  # it ran as gpubench.compat's


def install() -> None:
    """From now on `import gmp_python`, and the others, find the modules of this folder where no others are installed."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.append(_Finder())
