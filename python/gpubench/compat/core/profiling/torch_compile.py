# SPDX-License-Identifier: Apache-2.0
"""As core.profiling.torch_compile."""
from ....pytorch import CompileBreak, CompileReport, TorchCompileAnalyzer

__all__ = ["CompileBreak", "CompileReport", "TorchCompileAnalyzer"]
