# SPDX-License-Identifier: Apache-2.0
"""A candidate's file as a module, in its own process."""
from __future__ import annotations

import difflib
import importlib.util
import sys
from typing import Any, Sequence


class Unusable(Exception):
    """What the judge itself says of a candidate's file."""


def module_at(file: str, name: str) -> Any:
    """Runs a Python file as a module of this name."""
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise Unusable("It is no Python file, and no description in TOML.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def module_of(file: str) -> Any:
    """Runs a Python file as the module `candidate`."""
    return module_at(file, "candidate")


def callable_of(file: str, names: Sequence[str], folders: Sequence[str] = ()) -> Any:
    """The first of these that the file has and that can be called; `folders`: where its imports are looked up first."""
    sys.path[:0] = folders
    module = module_of(file)
    for name in names:
        if callable(getattr(module, name, None)):
            return getattr(module, name)
    known = next((name for name in names if hasattr(module, name)), None)
    if known is not None:
        raise Unusable(f"Its `{known}` is a {type(getattr(module, known)).__name__}, which cannot be called.")
    meant = [close for name in names for close in difflib.get_close_matches(name, [each for each, value in vars(module).items() if callable(value)], 1, 0.8)]
    raise Unusable(f"It has no {' and no '.join(f'`{name}`' for name in dict.fromkeys(names))}{f'; is `{meant[0]}` meant?' if meant else '.'}")
