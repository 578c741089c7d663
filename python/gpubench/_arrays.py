# SPDX-License-Identifier: Apache-2.0
"""What arrays, tensors and types of all frameworks are: bytes, places, names and the pipes that calculate with them."""
from __future__ import annotations

import math
import numbers
from typing import Any, Iterable

_PIPES = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "double": "fp64", "float": "fp32",
    "complex64": "fp32", "complex128": "fp64", "float8_e4m3fn": "fp16", "float8_e5m2": "fp16",
}
_MATRIX_PIPES = {
    "float64": "tensor-fp64", "float32": "fp32", "float16": "tensor-fp16", "bfloat16": "tensor-bf16", "int8": "tensor-int8",
    "uint8": "tensor-int8", "float8_e4m3fn": "tensor-fp8", "float8_e5m2": "tensor-fp8", "complex64": "fp32", "complex128": "tensor-fp64",
}


def text_of(value: Any) -> str:
    """How a value of an axis is shown: "float32" for torch.float32, numpy.float32 and "float32" alike."""
    if isinstance(value, bool):
        text = str(value).lower()
    else:
        text = getattr(value, "__name__", str(value)) if callable(value) else str(value)
    return text.removeprefix("torch.").replace("/", "|").strip() or "none"


def pipe_of(dtype: Any, matrix: bool = False) -> str:
    """The execution pipe that calculates in a type: "fp32" for torch.float32; with `matrix` that of matrix products."""
    name = text_of(getattr(dtype, "name", dtype))
    return (_MATRIX_PIPES if matrix else _PIPES).get(name, "int32" if "int" in name or name == "bool" else name)


def is_array(thing: Any) -> bool:
    """Whether it is an array or tensor that lies in memory as a whole; sparse and nested ones do not."""
    try:
        return hasattr(thing, "nbytes") and hasattr(thing, "shape")
    except RuntimeError:  # as PyTorch says it
        return False


def distinct(things: Iterable[Any]) -> Iterable[Any]:
    """Each once, however often it is given."""
    return {id(each): each for each in things}.values()


def bytes_of(thing: Any) -> int:
    """Bytes of an array or tensor, once where elements share memory (broadcast ones); a number stands for itself, NumPy's too, which have nbytes."""
    try:
        nbytes = thing if isinstance(thing, numbers.Real) else getattr(thing, "nbytes", thing)
        if isinstance(steps := getattr(thing, "strides", None), tuple) and nbytes is not thing and nbytes:  # NumPy's, in bytes
            nbytes = min(nbytes, nbytes // math.prod(thing.shape) + sum((length - 1) * abs(step) for length, step in zip(thing.shape, steps)))
    except RuntimeError as error:
        raise TypeError(f"it is not known how many bytes this {type(thing).__name__} has ({str(error).split('.')[0]}); give the bytes as a number") from None
    if not isinstance(nbytes, numbers.Real):
        raise TypeError(f"reads() and writes() take bytes, arrays and tensors, not {type(thing).__name__}")
    return int(round(nbytes))


def address_of(thing: Any) -> int | None:
    """Where an array or tensor lies; None where that is not known."""
    for name in ("data_ptr", "unsafe_buffer_pointer"):  # PyTorch's, JAX's
        if hasattr(thing, name):
            try:
                return int(getattr(thing, name)())
            except RuntimeError:  # a tensor without memory of its own
                return None
    for name in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(thing, name, None)
        if isinstance(interface, dict):
            return int(interface["data"][0])
    return None
