# SPDX-License-Identifier: Apache-2.0
"""Where arrays lie in the memory that the judge and the candidate's process share. Both sides import this file, so it knows nothing else."""
from __future__ import annotations

import math
from typing import Any

_TOO_DEEP = "it is nested too deeply, or holds itself"
NUMBERS = (bool, int, float, complex)
GUARD_BYTES = 256  #: before and after each array
ALIGNMENT = 64
#: Where an array of a megabyte on a GPU begins, and what is passed with it. PyTorch lets such begin on bounds of a page, too: 8 KiB off, a product of
#: 2048 x 2048 takes 2 % longer or 1 % less on an H200; from 64 KiB on there is no difference.
PAGE_BYTES = 1 << 16
_LARGE_BYTES = 1 << 20
#: Types that NumPy lacks, by their bits.
_WIDE = {"bfloat16": "uint16", **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"), "uint8")}


def is_array(thing: Any) -> bool:
    """Whether it is an array or a tensor."""
    return not isinstance(thing, type) and hasattr(thing, "dtype") and getattr(thing, "shape", None) is not None


def framework_of(thing: Any) -> str:
    """ "torch" or "numpy"."""
    return "torch" if type(thing).__module__.split(".")[0] == "torch" else "numpy"


def flatten(tree: Any) -> tuple[Any, list[Any]]:
    """A structure of tuples, lists and dicts: its skeleton, which JSON can hold, and the arrays in their order, those of dicts by keys."""
    leaves: list[Any] = []

    def walk(node: Any) -> Any:
        if is_array(node):
            leaves.append(node)
            return {"a": len(leaves) - 1}
        if hasattr(node, "_fields"):
            raise TypeError("a named tuple would lose its names: give a tuple or a dict")
        if isinstance(node, (tuple, list)):
            return {"t" if isinstance(node, tuple) else "l": [walk(each) for each in node]}
        if isinstance(node, dict):
            odd = [key for key in node if key is not None and not isinstance(key, (bool, int, float, str))]
            if odd:
                raise TypeError(f"a dict has a {type(odd[0]).__name__} as a key: give texts or numbers")
            walked = {key: walk(node[key]) for key in sorted(node, key=str)}
            return {"d": [[key, walked[key]] for key in node]}
        if node is None or isinstance(node, (bool, int, float, str)):
            return {"v": node}
        raise TypeError(f"a {type(node).__name__} is neither an array nor a number, text, tuple, list or dict of these")

    try:
        return walk(tree), leaves
    except RecursionError:
        raise TypeError(_TOO_DEEP) from None


def flatten_result(tree: Any) -> tuple[list[list[str]], list[Any]]:
    """Arrays and numbers of a result, those of dicts by keys, and the keys that lead to each; beside arrays on a GPU, these alone. Throws TypeError for what nothing
    is compared with."""
    found: list[tuple[list[str], Any]] = []

    def walk(node: Any, path: list[str]) -> None:
        if is_array(node) or type(node) in NUMBERS:
            found.append((path, node))
        elif isinstance(node, (tuple, list)):
            for each in node:
                walk(each, path)
        elif isinstance(node, dict):
            for key in sorted(node, key=str):
                walk(node[key], [*path, str(key)])
        elif node is not None:
            raise TypeError(f"a {type(node).__name__} is neither an array nor a number, tuple, list or dict of these")

    try:
        walk(tree, [])
    except RecursionError:
        raise TypeError(_TOO_DEEP) from None
    if any(is_array(leaf) and device_of(leaf) for _, leaf in found):
        found = [each for each in found if is_array(each[1])]
    return [path for path, _ in found], [leaf for _, leaf in found]


def unflatten(skeleton: Any, leaves: list[Any]) -> Any:
    """The structure again."""
    (kind, value), = skeleton.items()
    if kind == "a":
        return leaves[value]
    if kind == "v":
        return value
    if kind == "d":
        return {key: unflatten(each, leaves) for key, each in value}
    parts = [unflatten(each, leaves) for each in value]
    return tuple(parts) if kind == "t" else parts


def device_of(array: Any) -> str:
    """ "cuda" of a tensor on a GPU, else nothing."""
    return "cuda" if framework_of(array) == "torch" and array.is_cuda else ""


def spec_of(array: Any) -> dict[str, Any]:
    """Type and shape of an array or tensor; its strides, in elements, where it is not contiguous. Throws TypeError where its elements are no numbers."""
    framework = framework_of(array)
    if framework == "numpy" and array.dtype.kind not in "biufc":
        raise TypeError(f"an array of {array.dtype} holds neither numbers nor truth values")
    if framework == "torch" and str(array.layout) != "torch.strided":
        raise TypeError("a sparse tensor has no plain memory: give its parts, as `values()` and `indices()`")
    spec = {"dtype": str(array.dtype).removeprefix("torch."), "shape": [int(each) for each in array.shape], "framework": framework}
    if device_of(array):
        spec["device"] = device_of(array)
    dense = array.is_contiguous() if framework == "torch" else array.flags.c_contiguous
    if not dense:
        strides = list(array.stride()) if framework == "torch" else [each // array.itemsize for each in array.strides]
        if all(each >= 0 for each in strides):
            spec["strides"] = strides
    return spec


def element_bytes(spec: dict[str, Any]) -> int:
    """Of one element."""
    import numpy as np
    return int(np.dtype(_WIDE.get(spec["dtype"], spec["dtype"])).itemsize)


def extent(spec: dict[str, Any]) -> int:
    """Elements from its first to its last, holes included."""
    if 0 in spec["shape"]:
        return 0
    if "strides" in spec:
        return int(1 + sum((size - 1) * stride for size, stride in zip(spec["shape"], spec["strides"])))
    return math.prod(spec["shape"])


def extent_bytes(spec: dict[str, Any]) -> int:
    """Of these elements."""
    return extent(spec) * element_bytes(spec)


def place(specs: list[dict[str, Any]], offset: int) -> tuple[list[dict[str, Any]], int]:
    """The specs with their offsets, each between guard zones, and where the next may begin."""
    placed = []
    alignment = PAGE_BYTES if any("device" in spec and extent_bytes(spec) >= _LARGE_BYTES for spec in specs) else ALIGNMENT
    for spec in specs:
        offset = -(-(offset + GUARD_BYTES) // alignment) * alignment
        placed.append({**spec, "offset": offset})
        offset += extent_bytes(spec) + GUARD_BYTES
    return placed, offset


def view(buffer: Any, spec: dict[str, Any]) -> Any:
    """The NumPy array of a placed spec in a buffer; types that NumPy lacks are shown as their bits."""
    import numpy as np
    dtype = np.dtype(_WIDE.get(spec["dtype"], spec["dtype"]))
    flat = np.frombuffer(buffer, dtype, extent(spec), spec["offset"])
    if "strides" in spec:
        return np.lib.stride_tricks.as_strided(flat, spec["shape"], [each * dtype.itemsize for each in spec["strides"]],
                                               writeable=flat.flags.writeable)
    return flat.reshape(spec["shape"])


def as_framework(array: Any, spec: dict[str, Any]) -> Any:
    """The same memory as what the problem's framework calls an array."""
    if spec["framework"] == "numpy" or framework_of(array) == "torch":
        return array
    import warnings

    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the array is read-only is the point of it
        tensor = torch.from_numpy(array)
    return tensor.view(getattr(torch, spec["dtype"])) if spec["dtype"] in _WIDE else tensor


def on_device(array: Any, spec: dict[str, Any]) -> Any:
    """A tensor of host memory where its spec has it: a copy on a GPU, or itself."""
    return array.to(spec["device"]) if "device" in spec and hasattr(array, "to") else array


def as_numpy(array: Any) -> Any:
    """The NumPy array of an array or tensor on the CPU; types that NumPy lacks as their bits."""
    if framework_of(array) == "numpy":
        return array
    import torch
    tensor = array.detach().cpu()
    name = str(tensor.dtype).removeprefix("torch.")
    return (tensor.view(getattr(torch, _WIDE[name])) if name in _WIDE else tensor).numpy()
