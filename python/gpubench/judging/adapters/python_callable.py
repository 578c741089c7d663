# SPDX-License-Identifier: Apache-2.0
"""A Python callable beside a reference callable. The problem's file has

    def reference(a, b): ...                # what is right
    def inputs(random, **case): ...         # its arguments; `random` is a numpy.random.Generator

and may have `cases` and `hidden_cases` (lists of dicts for `inputs`), `contents`, `strides`, `mutable`, `tolerance` (relative, absolute), `precision`,
`compare(inputs, outputs)` and `work(*inputs)`. A candidate's file has a function `candidate`, or one of the problem's `entry`."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

_NEARLY = 0.85  #: of its letters, by which a name is taken for a misspelt one
TAKEN = ("cases", "hidden_cases", "contents", "strides", "mutable", "tolerance", "precision", "compare", "nan_equal")


def matches(path: Path, names: set[str]) -> bool:
    return {"reference", "inputs"} <= names


def problem(path: Path) -> Any:
    from . import folders_of, run_problem
    module, files = run_problem(path)
    return of_names(files, path.stem, vars(module), folders_of(path))


def of_names(files: Sequence[str], name: str, names: Mapping[str, Any], folders: Sequence[str] = ()) -> Any:
    """A problem by the names that the first of its files has; `folders`: where the reference imports from. Throws UsageError where one is misspelt."""
    import difflib
    import inspect
    import types

    import numpy as np

    from ... import _core
    from ..problem import Problem
    file = files[0]
    for each in ("reference", "inputs"):
        if not callable(names[each]):
            raise _core.UsageError(f"`{each}` of {file} is to be a function, and is {str(names[each])[:80]!r}.")
    words = (*TAKEN, "work", "entry")
    for each, value in names.items():
        meant = difflib.get_close_matches(each, words, 1, _NEARLY)
        if meant and meant[0] not in names and not isinstance(value, types.ModuleType):
            raise _core.UsageError(f"`{each}` of {file} says nothing to the judge; write `{meant[0]}` if that is meant, or give it another name.")
    given = {each: names[each] for each in TAKEN if each in names}
    work = names.get("work")
    try:
        parameters = list(inspect.signature(names["reference"]).parameters)
    except ValueError:  # of a builtin
        parameters = []

    def make(case: Any, seed: int) -> Any:
        made = names["inputs"](np.random.default_rng(seed), **case)
        return made if isinstance(made, tuple) else (made,)

    return Problem(name=name, file=file, adapter=__file__, make=make, reference_facts={"names": ["reference"], "folders": list(folders)},
                   candidate_facts={"names": ["candidate", names.get("entry", name)], "parameters": parameters},
                   work=None if work is None else lambda tree: work(*tree), hidden_files=files, **given)


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import loading
    return loading.callable_of(file, facts["names"], facts.get("folders", ()))  # type: ignore[no-any-return]
