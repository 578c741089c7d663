# SPDX-License-Identifier: Apache-2.0
"""Memory that the judge shares with one process: inputs that it can only read, outputs that are poisoned before and guarded around."""
from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from typing import Any

import numpy as np

from . import arrays
from .cell import layout

Spec = dict[str, Any]
_SIZE_SEALS, _WRITE_SEAL = 0x0001 | 0x0002 | 0x0004, 0x0010  # F_SEAL_SEAL, _SHRINK and _GROW; _FUTURE_WRITE
NANS = {"float16": 0x7D00, "bfloat16": 0x7FA0, "float32": 0x7FA00000, "float64": 0x7FF4000000000000}  #: NaNs that no calculation makes


MEMORY_NAME = "gpubench"  #: as /proc shows it


class Region:
    """An anonymous file in memory, whose size is for good: who reads beyond a shorter one is ended. What is `sealed` can be written through this object
    alone: no other mapping of it, and no write, is let in."""

    def __init__(self, size: int, sealed: bool):
        self.size = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.descriptor = os.memfd_create(MEMORY_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.size)
        self._map = mmap.mmap(self.descriptor, self.size)
        self.bytes = np.frombuffer(self._map, np.uint8)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SIZE_SEALS | (_WRITE_SEAL if sealed else 0))

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
        self._guard = secrets.randbits(7) | 1  # bytes on a GPU have a sign
        self._bits = secrets.randbits(63)

    def value(self, spec: Spec) -> int:
        """The bits of one element that was not written."""
        size = min(layout.element_bytes(spec), 8)
        nan = NANS.get(spec["dtype"], 0)
        free = (1 << (8 * size - 14 if nan and size > 2 else 5 if nan else 8 * size - 1)) - 1
        return nan | (self._bits & free) | 1

    def fill(self, row: Any, specs: list[Spec]) -> Any:
        """Fills the bytes of one call's outputs with what lies around them, and returns the places among them of what is no output."""
        row[...] = self._guard
        around, upto = [], 0
        for spec in specs:
            start, size = spec["offset"] - specs[0]["offset"] + layout.GUARD_BYTES, layout.extent_bytes(spec)
            arrays.whole_numbers(row[start:start + size], min(layout.element_bytes(spec), 8))[...] = self.value(spec)
            around.append(np.arange(upto, start))
            upto = start + size
        return np.concatenate([*around, np.arange(upto, len(row))])

    def element(self, spec: Spec) -> Any:
        """The bytes of one element that was not written."""
        size = layout.element_bytes(spec)
        return np.tile(np.frombuffer(self.value(spec).to_bytes(min(size, 8), "little"), np.uint8), -(-size // 8))

    def unwritten(self, array: Any, spec: Spec) -> float:
        """The share of elements that still are poison."""
        bits = arrays.bits(array)
        return int((bits == self.value(spec)).sum()) / arrays.count_of(bits) if arrays.count_of(bits) else 0.0


class Rows:
    """The places of a batch's outputs: one row of memory a call, poisoned before and looked at afterwards."""

    def __init__(self, region: Any, slots: list[dict[str, Any]], stride: int, poison: Poison):
        self._specs = specs = slots[0]["outputs"]
        start = specs[0]["offset"] - layout.GUARD_BYTES
        self._rows = region.bytes[start:start + stride * len(slots)].reshape(len(slots), stride)
        self._poison = poison
        self._row = arrays.copied(self._rows[0])
        self._around = arrays.like(self._rows, poison.fill(self._row, specs))

    def poison(self) -> None:
        self._rows[...] = self._row

    def guards_hold(self) -> bool:
        """Whether nothing was written around the outputs of any call."""
        return bool((self._rows[:, self._around] == self._row[self._around]).all())

    def sample(self, count: int) -> Sample:
        """Of random elements of the outputs, and the last one of the last call."""
        return Sample(self._rows, self._poison, self._specs, count)


class Sample:
    """Random elements of a batch's outputs, which the judge looks at before it stops its clock: what is not written then was not done in time."""

    def __init__(self, rows: Any, poison: Poison, specs: list[Spec], count: int):
        random = np.random.default_rng()
        calls, stride = (int(each) for each in rows.shape)
        places, starts, expected, at = [], [], [], 0
        for spec in specs:
            elements, size = layout.extent(spec), layout.element_bytes(spec)
            if not elements:
                continue
            call, element = (np.append(random.integers(0, most, count), most - 1) for most in (calls, elements))
            inside = (spec["offset"] - specs[0]["offset"] + layout.GUARD_BYTES + element * size)[:, None] + np.arange(size)
            places.append((call[:, None] * stride + inside).ravel())
            expected.append(np.tile(poison.element(spec), len(element)))
            starts.append(at + size * np.arange(len(element)))
            at += size * len(element)
        self._bytes = rows.reshape(-1)
        self._expected, self._starts = (np.concatenate(each) if each else np.zeros(0, np.int64) for each in (expected, starts))
        self._places = arrays.like(rows, np.concatenate(places) if places else np.zeros(0, np.int64))

    def look(self) -> Any:
        """What is there now; on a GPU the host waits for it."""
        return arrays.on_host(self._bytes[self._places]).view(np.uint8)

    def unwritten(self, seen: Any) -> Any:
        """Which of the elements were not written."""
        return np.logical_and.reduceat(seen == self._expected, self._starts) if len(self._starts) else np.zeros(0, bool)

    def changed(self, seen: Any, now: Any) -> Any:
        """Which of them are others."""
        return np.logical_or.reduceat(seen != now, self._starts) if len(self._starts) else np.zeros(0, bool)
