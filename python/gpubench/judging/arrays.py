# SPDX-License-Identifier: Apache-2.0
"""What the judge does with arrays alike: those of NumPy in this host's memory, and PyTorch's on a GPU."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .cell import layout


def namespace_of(array: Any) -> Any:
    """The module whose functions take it."""
    if layout.framework_of(array) == "numpy":
        return np
    import torch
    return torch


def count_of(array: Any) -> int:
    """Elements."""
    return math.prod(int(each) for each in array.shape)


def itemsize_of(array: Any) -> int:
    return int(array.itemsize if layout.framework_of(array) == "numpy" else array.element_size())


def bytes_of(array: Any) -> int:
    return count_of(array) * itemsize_of(array)


def copied(array: Any) -> Any:
    return np.array(array) if layout.framework_of(array) == "numpy" else array.clone()


def filled(array: Any, value: float) -> Any:
    """One like it, with this value everywhere."""
    made = copied(array)
    made[...] = value
    return made


def bits(array: Any) -> Any:
    """Elements as whole numbers; those of 16 bytes as two."""
    size = min(itemsize_of(array), 8)
    if layout.framework_of(array) == "numpy":
        return array.view("u1" if array.dtype.kind == "b" else f"u{size}")
    torch = namespace_of(array)
    return (torch.view_as_real(array) if array.is_complex() else array).view(getattr(torch, f"int{8 * size}"))


def whole_numbers(array: Any, size: int) -> Any:
    """Bytes as whole numbers of this size."""
    return array.view(f"u{size}" if layout.framework_of(array) == "numpy" else getattr(namespace_of(array), f"int{8 * size}"))


def are_same(a: Any, b: Any) -> bool:
    """Whether the same bits are in both."""
    if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype or layout.framework_of(a) != layout.framework_of(b):
        return False
    if layout.framework_of(a) == "numpy":
        return bool(a.tobytes() == b.tobytes())
    return bool(namespace_of(a).equal(bits(a.contiguous()), bits(b.contiguous())))


_DIGEST_ELEMENTS = 1 << 16


def digest(array: Any) -> int:
    """By which equal contents are known; of large ones on a GPU by a sample, and the sum of all."""
    if layout.framework_of(array) == "numpy":
        return hash(array.tobytes())
    flat = bits(array.contiguous()).reshape(-1)
    step = max(1, flat.shape[0] // _DIGEST_ELEMENTS)
    return hash((flat[::step].cpu().numpy().tobytes(), int(flat.sum())))


def like(template: Any, values: Any) -> Any:
    """NumPy's whole numbers where `template` lies."""
    if layout.framework_of(template) == "numpy":
        return values
    return namespace_of(template).as_tensor(values, device=template.device)


def cast(array: Any, other: Any) -> Any:
    """In the other's type."""
    return array.astype(other.dtype) if layout.framework_of(array) == "numpy" else array.to(other.dtype)


def on_host(array: Any) -> Any:
    """As NumPy's."""
    return np.asarray(array) if layout.framework_of(array) == "numpy" else array.cpu().numpy()
