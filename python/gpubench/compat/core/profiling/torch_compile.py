# SPDX-License-Identifier: Apache-2.0
"""As core.profiling.torch_compile."""
from ...._compile import CompileBreak, CompileReport, TorchCompileAnalyzer

__all__ = ["CompileBreak", "CompileReport", "TorchCompileAnalyzer"]
