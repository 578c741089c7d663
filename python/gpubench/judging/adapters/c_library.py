# SPDX-License-Identifier: Apache-2.0
"""A C function, or one of CUDA, described in TOML:

    symbol = "saxpy"
    source = "saxpy.c"             # compiled by `compiler` with `flags`; or library = "saxpy.so", as it is
    arguments = ["a", "x", "y", "out", {size = "x"}]

An argument is a parameter of the reference (an array as its pointer, a whole number as int64_t, another number as double), "out" or "out0", "out1", ...
for the outputs, {size = "x"} for an array's elements, {shape = "x", axis = 0} for one extent (both int64_t). A result other than 0 of `returns = "int"`
is an error.

A source that ends with .cu is compiled by nvcc: the function is called on the host, pointers are of the GPU's memory, and it launches what it needs."""
from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Callable

_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([\w.-]+\.(?:h|hh|hpp|cuh|inc))"', re.M)
_MAX_SOURCE_BYTES = 4 << 20
_MAX_BYTES, _MAX_DOTS = 1 << 16, 1000  #: of a description; a key of many parts takes minutes to read
_KEYS = {"symbol", "source", "library", "arguments", "compiler", "flags", "returns"}


def description(file: Path) -> dict[str, Any]:
    """Reads one. Throws ValueError with what is wrong."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef]
        except ImportError:
            raise ValueError("reading TOML needs Python 3.11, or the package tomli") from None
    if file.stat().st_size > _MAX_BYTES:
        raise ValueError(f"its description has over {_MAX_BYTES >> 10} KiB")
    text = file.read_text(encoding="utf-8")
    if text.count(".") > _MAX_DOTS:
        raise ValueError(f"its description has over {_MAX_DOTS} dots")
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("its description is nested too deeply") from None
    unknown = sorted(set(found) - _KEYS)
    if unknown:
        raise ValueError(f"its description has {unknown[0]!r}, which is none of {', '.join(sorted(_KEYS))}")
    if not isinstance(found.get("symbol"), str) or not isinstance(found.get("arguments"), list):
        raise ValueError("its description needs `symbol`, a text, and `arguments`, a list")
    if not isinstance(found.get("flags", []), list):
        raise ValueError("`flags` in its description is to be a list of texts")
    if isinstance(found.get("source"), str) == isinstance(found.get("library"), str):
        raise ValueError("its description needs one of `source` and `library`")
    if "/" in str(found.get("source", "")):
        raise ValueError(f"its source is {found['source']!r}, and has to lie beside its description; give a file's name")
    return found


def _included(source: Path) -> list[str]:
    with open(source, encoding="utf-8", errors="replace") as stream:
        return _INCLUDED.findall(stream.read(_MAX_SOURCE_BYTES))


def files(file: Path) -> list[Path]:
    """What must lie beside the description: its source with the headers that this includes, or its library."""
    try:
        found = description(file)
        names, beside = [str(found.get("source") or found.get("library"))], []
        for name in names:
            one = (file.parent / name).resolve()
            if one.is_file() and one.parent == file.parent.resolve() and one not in beside:
                beside.append(one)
                names += _included(one) if "source" in found else []
        return beside
    except (ValueError, OSError, RuntimeError):  # also of names that no file can have, and of links in a circle
        return []  # said when it is loaded


def _compiled(file: Path, found: dict[str, Any]) -> Path:
    import subprocess
    if "library" in found:
        return file.parent / str(found["library"])
    library, source = file.parent / "compiled.so", str(found["source"])
    compiler, usual, shared = ("nvcc", ["-O3", "-arch=native"], ["-shared", "-Xcompiler", "-fPIC"]) if source.endswith(".cu") else (
        "cc", ["-O3", "-march=native"], ["-shared", "-fPIC"])
    compiler = str(found.get("compiler", compiler))
    flags = [str(each) for each in found.get("flags", usual)]
    try:
        result = subprocess.run([compiler, *shared, *flags, "-o", str(library), str(file.parent / source), "-lm"], capture_output=True, text=True, check=False)
    except OSError as error:
        missing = ValueError(f"its compiler {compiler} cannot be run: {error.strerror}")
        if source.endswith(".cu"):
            missing.judge_code = "device"  # type: ignore[attr-defined]
        raise missing from None
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines() or ["no message"]
        raise ValueError(f"it does not compile: {errors[0].replace(str(file.parent) + '/', '')[:300]}")
    return library


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import ctypes
    found = description(Path(file))
    library = ctypes.CDLL(str(_compiled(Path(file), found)))
    try:
        function = getattr(library, found["symbol"])
    except AttributeError:
        raise ValueError(f"it has no function {found['symbol']!r}; C++ and CUDA functions need `extern \"C\"`") from None
    function.restype = ctypes.c_int if found.get("returns") == "int" else None
    return _Call(function, found, facts["parameters"])


def _address(array: Any) -> int:
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data)


class _Call:
    """The function over arrays; it writes into the outputs that it is given."""

    def __init__(self, function: Any, found: dict[str, Any], parameters: list[str]):
        self._function = function
        self._checks = found.get("returns") == "int"
        self._makers = [self._maker(each, parameters) for each in found["arguments"]]

    @staticmethod
    def _maker(argument: Any, parameters: list[str]) -> Callable[[Any, Any], Any]:
        import ctypes

        import numpy as np

        def place(name: Any) -> int:
            if name not in parameters:
                raise ValueError(f"the reference has no parameter {name!r}; it has {', '.join(parameters)}")
            return parameters.index(name)

        def shape_of(inputs: Any, index: int) -> Any:
            if not hasattr(inputs[index], "shape"):
                raise ValueError(f"{parameters[index]!r} is no array, and has no size")
            return inputs[index].shape

        def extent(shape: Any, axis: int) -> int:
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"there is no axis {axis} of the shape {tuple(shape)}")
            return int(shape[axis])

        def output(outputs: Any, which: int) -> Any:
            if which >= len(outputs):
                raise ValueError(f"there is no out{which}: the reference returns {len(outputs)} array{'' if len(outputs) == 1 else 's'}")
            return outputs[which]

        if isinstance(argument, dict):
            if set(argument) == {"size"}:
                index = place(argument["size"])
                return lambda inputs, outputs: ctypes.c_int64(math.prod(shape_of(inputs, index)))
            if set(argument) == {"shape", "axis"}:
                index, axis = place(argument["shape"]), int(argument["axis"])
                return lambda inputs, outputs: ctypes.c_int64(extent(shape_of(inputs, index), axis))
            raise ValueError(f"it has the argument {argument}; write {{size = \"x\"}} or {{shape = \"x\", axis = 0}}")
        text = str(argument)
        if re.fullmatch("out[0-9]*", text) and text not in parameters:
            which = int(text[3:] or 0)
            return lambda inputs, outputs: ctypes.c_void_p(_address(output(outputs, which)))
        index = place(text)

        def value(inputs: Any, outputs: Any) -> Any:
            thing = inputs[index]
            if isinstance(thing, (bool, int)):
                return ctypes.c_int64(thing)
            if isinstance(thing, float):
                return ctypes.c_double(thing)
            dense = thing.contiguous() if hasattr(thing, "data_ptr") else np.ascontiguousarray(thing)
            pointer = ctypes.c_void_p(_address(dense))
            pointer.kept = dense  # type: ignore[attr-defined]  # as long as the call
            return pointer

        return value

    def __call__(self, inputs: Any, outputs: Any) -> None:
        result = self._function(*(make(inputs, outputs) for make in self._makers))
        if self._checks and result != 0:
            raise RuntimeError(f"it returns {result}")
