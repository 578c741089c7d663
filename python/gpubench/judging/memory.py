# SPDX-License-Identifier: Apache-2.0
"""Memory that the judge shares with one process: inputs that it can only read, outputs that are poisoned before and guarded around."""
from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from typing import Any

import numpy as np

from .cell import layout

Spec = dict[str, Any]
_SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0010  # F_SEAL_SEAL, _SHRINK, _GROW, _FUTURE_WRITE
_NANS = {"float16": 0x7D00, "bfloat16": 0x7FA0, "float32": 0x7FA00000, "float64": 0x7FF4000000000000}  #: NaNs that no calculation makes


class Region:
    """An anonymous file in memory. What is `sealed` can be written through this object alone: no other mapping of it, and no write, is let in."""

    def __init__(self, size: int, sealed: bool):
        self.size = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.descriptor = os.memfd_create("gpubench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.size)
        self._map = mmap.mmap(self.descriptor, self.size)
        self.bytes = np.frombuffer(self._map, np.uint8)
        if sealed:
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)

    def view(self, spec: Spec) -> Any:
        """The array of a placed spec."""
        return layout.view(self._map, spec)

    def close(self) -> None:
        """Gives it back once no array of it is left."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
        self.bytes = np.empty(0, np.uint8)


class Poison:
    """What outputs and the guard zones around them hold before a call. The values are drawn anew by each judge."""

    def __init__(self) -> None:
        self._guard = secrets.randbits(8) | 1
        self._bits = secrets.randbits(63)

    def value(self, spec: Spec) -> int:
        """The bits of one element that was not written."""
        size = layout.element_bytes(spec)
        nan = _NANS.get(spec["dtype"], 0)
        free = (1 << (8 * size - 14 if nan and size > 2 else 5 if nan else 8 * size - 1)) - 1
        return nan | (self._bits & free) | 1

    def bits(self, array: Any, spec: Spec) -> Any:
        """An array's elements as whole numbers."""
        return array.view(f"u{layout.element_bytes(spec)}") if array.dtype.kind != "b" else array.view("u1")

    def apply(self, region: Region, specs: list[Spec]) -> None:
        """Poisons the outputs of one call."""
        for spec in specs:
            start, size = spec["offset"], layout.extent(spec) * layout.element_bytes(spec)
            region.bytes[start - layout.GUARD_BYTES:start] = self._guard
            region.bytes[start + size:start + size + layout.GUARD_BYTES] = self._guard
            if size:
                self.bits(region.view(spec), spec)[...] = self.value(spec)

    def guards_hold(self, region: Region, specs: list[Spec]) -> bool:
        """Whether nothing was written around the outputs."""
        for spec in specs:
            start, size = spec["offset"], layout.extent(spec) * layout.element_bytes(spec)
            for zone in (region.bytes[start - layout.GUARD_BYTES:start], region.bytes[start + size:start + size + layout.GUARD_BYTES]):
                if (zone != self._guard).any():
                    return False
        return True

    def unwritten(self, array: Any, spec: Spec) -> float:
        """The share of elements that still are poison."""
        return float((self.bits(array, spec) == self.value(spec)).mean()) if array.size else 0.0
