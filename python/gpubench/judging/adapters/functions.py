# SPDX-License-Identifier: Apache-2.0
"""Functions and classes of a running program or a notebook, as files: a candidate runs in a process of its own, which has nothing of the program's. What is
handed over is the source of the function and of all that it uses: other functions and classes, modules of installed packages, and plain values."""
from __future__ import annotations

import ast
import builtins
import dis
import inspect
import sys
import tempfile
import textwrap
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Callable, Iterator, Mapping

from ... import _core

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def _is_plain(thing: Any) -> bool:
    return isinstance(thing, _PLAIN) or (isinstance(thing, (tuple, list)) and all(map(_is_plain, thing)))


def _is_installed(module: str) -> bool:
    """Whether another process can import it, too."""
    top = module.split(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    return top in sys.builtin_module_names or top in sys.stdlib_module_names or (file is not None and bool({"site-packages", "dist-packages"} & set(Path(file).parts)))


def _used(code: CodeType) -> Iterator[str]:
    """Names that a piece of source takes from around it."""
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield each.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _used(inner)


def _around(thing: Any) -> Mapping[str, Any]:
    """What the names in a function or class mean."""
    if isinstance(thing, type):
        return {key: value for each in vars(thing).values() if inspect.isfunction(each) for key, value in _around(each).items()} | vars(sys.modules[thing.__module__])
    closed = inspect.getclosurevars(thing).nonlocals
    return {**thing.__globals__, **closed}


class _Source:
    """The text of one file."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self.parts: list[str] = []

    def add(self, name: str, thing: Any, user: str) -> None:
        """Makes `name` mean `thing` in the file, and what that needs."""
        if name in self._known:
            if self._known[name] is not thing:
                raise _core.UsageError(f"{user} and what it calls mean two things by `{name}`; rename one, or give a file.")
            return
        self._known[name] = thing
        if isinstance(thing, ModuleType):
            if not _is_installed(thing.__name__):
                raise _core.UsageError(f"{user} uses the module `{name}`, which is of no installed package; give a file, or import its functions by name.")
            self.parts.append(f"import {thing.__name__} as {name}")
        elif _is_plain(thing):
            self.parts.append(f"{name} = {thing!r}")
        elif repr(thing).startswith("torch.") and hasattr(sys.modules.get("torch"), repr(thing)[6:]):  # a type of elements
            self.parts.append(f"from torch import {repr(thing)[6:]} as {name}")
        else:
            self._add_code(name, thing, user)

    def _add_code(self, name: str, thing: Any, user: str) -> None:
        inner = inspect.unwrap(thing) if callable(thing) else thing
        inner = getattr(inner, "fn", inner)  # of Triton
        module = getattr(inner, "__module__", None)
        called = getattr(thing, "__name__", None)
        if module is not None and called is not None and _is_installed(module):
            self.parts.append(f"from {module} import {called} as {name}")
            return
        if not (inspect.isfunction(inner) or isinstance(inner, type)):
            raise _core.UsageError(f"{user} uses `{name}`, a {type(thing).__name__}, which no other process can be given as text; make it in the function, or give a file.")
        try:
            text = textwrap.dedent(inspect.getsource(inner))
            node = ast.parse(text).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            node, text = None, ""
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            raise _core.UsageError(f"The source of `{name}` is not known, or is no `def` and no `class`; give a file.")
        if inner is not thing and not node.decorator_list:
            raise _core.UsageError(f"`{name}` is wrapped in what its source does not show; write that as a decorator, or give a file.")
        meaning = _around(inner)
        for each in dict.fromkeys(_used(compile(text, "candidate", "exec", dont_inherit=True))):
            if each in meaning and each != node.name:
                self.add(each, meaning[each], f"`{name}`")
            elif each not in meaning and each not in vars(builtins) and each != node.name and not each.startswith("__"):
                continue  # made in the source itself; else its process says so
        self.parts.append(text.rstrip() + (f"\n\n\n{name} = {node.name}" if name != node.name else ""))


def source_of(thing: Callable[..., Any], name: str) -> str:
    """A file in which `name` is that function or class. Throws UsageError where it needs what cannot be written down."""
    source = _Source()
    called = str(getattr(thing, "__name__", name))
    source.add(called if called.isidentifier() else name, thing, f"`{called}`")
    return "\n\n\n".join(source.parts) + ("" if called == name else f"\n\n\n{name} = {called}") + "\n"


def write(folder: Path, thing: Callable[..., Any], name: str) -> Path:
    """The file of a function, named as it, in a folder of its own."""
    called = "".join(each if each.isalnum() else "_" for each in str(getattr(thing, "__name__", name)))
    file = Path(tempfile.mkdtemp(dir=folder)) / f"{called}.py"
    file.write_text(source_of(thing, name), encoding="utf-8")
    return file


def problem(folder: Path, reference: Callable[..., Any], names: Mapping[str, Any]) -> Any:
    """A problem by a reference, and by what else a problem's file has."""
    from . import python_callable
    if not callable(names.get("inputs")):
        raise _core.UsageError("A problem that is a function needs `inputs`: a function of a numpy.random.Generator that returns its arguments.")
    unknown = sorted(set(names) - {"inputs", "work", "entry", *python_callable.TAKEN})
    if unknown:
        raise _core.UsageError(f"judge() takes no `{unknown[0]}`, and a problem has none; it may have {', '.join(('inputs', 'work', *python_callable.TAKEN))}.")
    return python_callable.of_names([str(write(folder, reference, "reference"))], getattr(reference, "__name__", "reference"), {"reference": reference, **names})
