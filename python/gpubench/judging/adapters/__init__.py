# SPDX-License-Identifier: Apache-2.0
"""The forms that problems and candidates come in, one a file.

Each has `matches(path, names)`, whether a file is a problem of this form by the names at its top level; `problem(path)`, which reads it in the judge's
process; and `load(file, facts)`, which the candidate's process calls with the file alone. So these files import nothing of the judge at their top."""
from __future__ import annotations

import ast
import glob
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Sequence

from ... import _core

_PROBLEM_FORMS = ("kernelbench", "gpu_mode", "python_callable")
MAX_SOURCE_BYTES = 4 << 20
_MAX_LIBRARY_BYTES = 256 << 20
_SOURCES = (".py", ".toml", ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".cuh", ".inc")


def names_of(path: Path) -> set[str]:
    """The names at the top level of a Python file, which is not run."""
    try:
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise _core.UsageError(f"{path} has over {MAX_SOURCE_BYTES >> 20} MiB; give a Python source.")
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _core.UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _core.UsageError(f"{path} is no Python that can be read: {error}.") from None
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names.update(each.id for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                         for each in ast.walk(target) if isinstance(each, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((each.asname or each.name).split(".")[0] for each in node.names)
    return names


def max_bytes(file: Path) -> int:
    """Of a file of a candidate; larger ones are not judged."""
    return MAX_SOURCE_BYTES if file.suffix in _SOURCES else _MAX_LIBRARY_BYTES


def adapter(name: str) -> ModuleType:
    return importlib.import_module("." + name, __name__)


def problem_of(path: Path) -> Any:
    """The problem in a file, or in a folder of GPU MODE."""
    if os.path.isdir(path):
        path = path / "reference.py"
    if not os.path.isfile(path):
        raise _core.UsageError(f"There is no problem {path}; give a Python file, or a folder with reference.py.")
    names = names_of(path)
    for form in _PROBLEM_FORMS:
        module = adapter(form)
        if module.matches(path, names):
            try:
                return module.problem(path.resolve())
            except _core.Error:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001: of the problem's own functions
                raise _core.UsageError(f"The problem {path} does not work: {type(error).__name__}: {str(error).rstrip('.')}.") from None
    raise _core.UsageError(f"{path} is no problem: it has neither `reference` and `inputs`, nor `Model` and `get_inputs`, nor `generate_input` and "
                           "`check_implementation`.")


def with_bytecode(files: Sequence[str]) -> list[str]:
    """And what Python has compiled of them, which says the same."""
    found = []
    for each in map(Path, files):
        cached = Path(importlib.util.cache_from_source(str(each)))
        found += [str(each), *map(str, cached.parent.glob(f"{glob.escape(each.stem)}.*.pyc"))]
    return found


def folders_of(path: Path) -> list[str]:
    """Where a problem's imports are looked up first."""
    return [str(path.parent), str(path.parent.parent)]


def run_problem(path: Path) -> tuple[ModuleType, list[str]]:
    """A problem's module, and its files: itself and those beside it that it imports. It is the user's own, and runs in the judge's process."""
    specification = importlib.util.spec_from_file_location("gpubench_problem", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    kept, kept_writing = sys.path[:], sys.dont_write_bytecode
    folders = folders_of(path)
    sys.path[:0] = folders
    sys.dont_write_bytecode = True  # candidates could read it
    # What lies beside other problems has the same names
    beside = {each.stem for folder in folders for each in Path(folder).glob("*.py")} - sys.stdlib_module_names
    others = {name: module for name, module in sys.modules.items() if name.split(".")[0] in beside}
    for name in others:
        del sys.modules[name]
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001: the problem's own
        raise _core.UsageError(f"The problem {path} does not import: {type(error).__name__}: {error}.") from None
    finally:
        sys.path[:], sys.dont_write_bytecode = kept, kept_writing
        imported = [getattr(each, "__file__", None) for name, each in sys.modules.items() if name in beside]
        for name in [each for each in sys.modules if each.split(".")[0] in beside]:
            del sys.modules[name]
        sys.modules.update(others)
    return module, [str(path), *(each for each in imported if each and os.path.dirname(each) in folders)]


def libraries_of(file: Path) -> list[str]:
    """Those that it may import, by its text: what they change at their import is no change by the candidate."""
    with open(file, encoding="utf-8", errors="replace") as stream:
        return ["torch"] if re.search(r"^\s*(import|from) torch\b", stream.read(MAX_SOURCE_BYTES), re.M) else []


def candidate_adapter(file: Path, problem: Any) -> tuple[str, dict[str, Any]]:
    """The file of the adapter that loads a candidate, and what it needs to know."""
    if file.suffix == ".toml":
        return str(adapter("c_library").__file__), dict(problem.candidate_facts)
    if file.suffix == ".py" and adapter("triton_launcher").matches(file):
        return str(adapter("triton_launcher").__file__), dict(problem.candidate_facts)
    return problem.adapter, dict(problem.candidate_facts)
