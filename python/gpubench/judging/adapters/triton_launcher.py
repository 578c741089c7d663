# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel with its launcher: a Python file that imports triton and has a function `launch`, which takes the reference's arguments and returns
what the reference returns. It needs a GPU."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable


def matches(file: Path) -> bool:
    """By the text alone: a candidate is not parsed in the judge's process."""
    with open(file, encoding="utf-8", errors="replace") as stream:
        text = stream.read(1 << 20)
    return bool(re.search(r"^(import|from) triton\b", text, re.M) and re.search(r"^def launch\b", text, re.M))


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import loading
    try:
        import torch
        why = "" if torch.cuda.is_available() else "there is no GPU here"
    except ImportError:
        why = "there is no PyTorch here"
    if why:
        error = RuntimeError(f"a Triton kernel needs PyTorch and a GPU, and {why}")
        error.judge_code = "device"  # type: ignore[attr-defined]
        raise error
    return loading.callable_of(file, ["launch"])  # type: ignore[no-any-return]
