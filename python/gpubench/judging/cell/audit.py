# SPDX-License-Identifier: Apache-2.0
"""What a candidate has replaced in its own process. It is measured and checked from outside, so that gains at most the copy of its results: but who replaces a clock
does not mean well."""
from __future__ import annotations

import gc
import os
import sys
import threading
from types import ModuleType
from typing import Any

_WATCHED = ("__main__", "audit", "layout", "loading", "accelerator", "builtins", "time", "timeit", "math", "json", "struct", "socket", "mmap", "os", "importlib.util",
            "numpy", "numpy.linalg", "numpy.testing", "torch", "torch.cuda", "torch.testing", "triton.testing")
_WATCHED_CLASSES = (("__main__", "Cell"), ("accelerator", "Accelerator"), ("socket", "socket"), ("torch.cuda", "Event"), ("torch", "Tensor"), ("numpy", "ndarray"))


Seen = dict[tuple[str, str], tuple[Any, ...]]


def _parts(value: Any) -> tuple[Any, ...]:
    """What makes a function what it is: the function may stay where its code is replaced."""
    return value, *(getattr(value, each, None) for each in ("__code__", "__defaults__", "__kwdefaults__"))


def _callables(owner: Any, name: str) -> Seen:
    """And the modules that the harness uses."""
    return {(name, each): _parts(value) for each, value in list(vars(owner).items()) if callable(value) or (name == "__main__" and isinstance(value, ModuleType))}


def snapshot() -> Seen:
    """The functions and classes of what was imported."""
    seen: Seen = {}
    for name in _WATCHED:
        if name in sys.modules:
            seen.update(_callables(sys.modules[name], name))
    for module, name in _WATCHED_CLASSES:
        owner = getattr(sys.modules.get(module), name, None)
        if owner is not None:
            seen.update(_callables(owner, f"{module}.{name}"))
    return seen


def hooks() -> set[str]:
    """What runs unseen."""
    found = {f"an import hook ({type(each).__name__ if not isinstance(each, type) else each.__name__})" for each in sys.meta_path}
    found |= {f"a hook of the garbage collector ({getattr(each, '__name__', 'unnamed')})" for each in gc.callbacks}
    if sys.gettrace() is not None:
        found.add("a trace function")
    if sys.getprofile() is not None:
        found.add("a profile function")
    for name in ("trace", "profile"):
        if getattr(threading, f"_{name}_hook", None) is not None:
            found.add(f"a {name} function of threads")
    torch = sys.modules.get("torch")
    if torch is not None:
        found |= _of_torch(torch)
    if hasattr(sys, "monitoring"):
        found |= {f"a monitor of the interpreter ({sys.monitoring.get_tool(each)})" for each in range(6) if sys.monitoring.get_tool(each) is not None}
    return found


_FOR_COMPILING = ("FuncTorch", "Functionalize")  #: by which nothing is copied, and which torch.compile may bring


def _of_torch(torch: Any) -> set[str]:
    """Modes through which all its calls go, but for that of a default device, and kernels by which results are copied; nothing of versions that cannot tell."""
    usual = getattr(sys.modules.get("torch.utils._device"), "DeviceContext", None)
    try:
        modes = [*torch.overrides._get_current_function_mode_stack(), *torch.utils._python_dispatch._get_current_dispatch_mode_stack()]
        found = {f"a mode of PyTorch ({type(each).__name__})" for each in modes if type(each) is not usual}
        kernels = [line.partition(" ::")[0] for line in torch._C._dispatch_dump("aten::copy_").splitlines()]
        return found | {f"a copy of PyTorch's ({each})" for each in kernels if not each.startswith(_FOR_COMPILING) and "Meta" not in each}
    except AttributeError:
        return set()


_LIBRARIES = ("numpy", "torch", "triton")
#: What a library is known to replace in itself, and no clock and no comparison rests on. Of all else a file's name, which a candidate can forge, excuses nothing.
_REPLACED_BY_ITSELF = (("torch", "manual_seed"),)  # by torch.compile


def is_of_library(value: Any, owner: str, name: str) -> bool:
    """Whether a library has replaced its own function, as torch.compile does with torch.manual_seed: the code lies in the library's folder."""
    library = owner.split(".")[0]
    file = getattr(sys.modules.get(library), "__file__", None)
    code = getattr(value, "__code__", None)
    return bool(library in _LIBRARIES and file and code is not None and getattr(value, "__name__", "") == name
                and code.co_filename.startswith(os.path.dirname(file) + os.sep))


def changes(before: Seen, hooks_before: set[str]) -> list[str]:
    """What is not as it was."""
    after = snapshot()
    replaced = [f"{owner.replace('__main__', 'the harness')}.{name}" for (owner, name), value in before.items()
                if any(new is not old for new, old in zip(after.get((owner, name), (None, None)), value))
                and not ((owner, name) in _REPLACED_BY_ITSELF and is_of_library(after.get((owner, name), (None,))[0], owner, name))]
    harness = before.get(("__main__", "Cell"), (None,))[0]
    replaced += [f"the harness.{name}" for each in gc.get_objects() if type(each) is harness for name in vars(each) if callable(getattr(harness, name, None))]
    classes = {".".join(each) for each in _WATCHED_CLASSES}
    replaced += [f"{owner.replace('__main__', 'the harness')}.{name}" for owner, name in after
                 if owner in classes and (owner, name) not in before]
    return sorted(replaced) + sorted(hooks() - hooks_before)
