# SPDX-License-Identifier: Apache-2.0
"""A candidate's file as a module, in its own process."""
from __future__ import annotations

import importlib.util
import sys
from typing import Any, Sequence


def module_at(file: str, name: str) -> Any:
    """Runs a Python file as a module of this name."""
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise ImportError("it is no Python file, and no description in TOML")
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
    raise AttributeError(f"it has no {' and no '.join(f'`{name}`' for name in dict.fromkeys(names))}")
