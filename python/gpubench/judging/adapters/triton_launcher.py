# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel with its launcher: a Python file that imports triton and has a function `launch`, which takes the reference's arguments and returns
what the reference returns. It needs a GPU."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable


def matches(file: Path) -> bool:
    from ... import _core
    from . import names_of
    try:
        return {"triton", "launch"} <= names_of(file)
    except _core.UsageError:  # it will be said of the candidate when it is loaded
        return False


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import loading
    try:
        import torch
        has_gpu = torch.cuda.is_available()
    except ImportError:
        has_gpu = False
    if not has_gpu:
        error = RuntimeError("a Triton kernel needs PyTorch and a GPU, and there is none here")
        error.judge_code = "device"  # type: ignore[attr-defined]
        raise error
    return loading.callable_of(file, ["launch"])  # type: ignore[no-any-return]
