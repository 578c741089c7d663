# SPDX-License-Identifier: Apache-2.0
"""A Python callable beside a reference callable. The problem's file has

    def reference(a, b): ...                # what is right
    def inputs(random, **case): ...         # its arguments; `random` is a numpy.random.Generator

and may have `cases` and `hidden_cases` (lists of dicts for `inputs`), `contents`, `strides`, `mutable`, `tolerance` (relative, absolute), `precision`,
`compare(inputs, outputs)` and `work(*inputs)`. A candidate's file has a function `candidate`, or one of the problem's `entry`."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

_TAKEN = ("cases", "hidden_cases", "contents", "strides", "mutable", "tolerance", "precision", "compare", "nan_equal")


def matches(path: Path, names: set[str]) -> bool:
    return {"reference", "inputs"} <= names


def problem(path: Path) -> Any:
    import inspect

    import numpy as np

    from ..problem import Problem
    from . import run_problem
    module = run_problem(path)
    given = {name: getattr(module, name) for name in _TAKEN if hasattr(module, name)}
    work = getattr(module, "work", None)

    def make(case: Any, seed: int) -> Any:
        made = module.inputs(np.random.default_rng(seed), **case)
        return made if isinstance(made, tuple) else (made,)

    return Problem(name=path.stem, file=str(path), adapter=__file__, make=make, reference_facts={"names": ["reference"]},
                   candidate_facts={"names": ["candidate", getattr(module, "entry", path.stem)],
                                    "parameters": list(inspect.signature(module.reference).parameters)},
                   work=None if work is None else lambda tree: work(*tree), hidden_files=[str(path)], **given)


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import loading
    return loading.callable_of(file, facts["names"])  # type: ignore[no-any-return]
