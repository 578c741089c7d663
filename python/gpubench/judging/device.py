# SPDX-License-Identifier: Apache-2.0
"""The GPU as the judge uses it: memory that it shares, its own clocks, and whether others work on it."""
from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from .cell import accelerator, layout
from .process import parts_without_which_cuda_starts
from .verdict import Trouble

Spec = dict[str, Any]
_FLUSH_BYTES = 256 << 20  #: several times the L2 of any GPU there is


class Block:
    """Memory of a GPU, which the processes that have its descriptor can map."""

    def __init__(self, device: Device, size: int):
        self._accelerator = device.accelerator
        self.address, self.size, self.descriptor = self._accelerator.create(size)
        self.bytes = self._accelerator.array(self.address, self.size, 1)

    def view(self, spec: Spec) -> Any:
        """The array of a placed spec."""
        if spec["offset"] + layout.extent_bytes(spec) > self.size:
            raise ValueError(f"an array of shape {tuple(spec['shape'])} does not fit into the shared memory of {self.size >> 20} MiB")
        return self._accelerator.view(self.address, spec, layout.extent(spec), layout.element_bytes(spec))

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.bytes = self.bytes[:0]
            with contextlib.suppress(accelerator.Refused):  # of a context that has failed
                self._accelerator.release(self.address, self.size)
        self.descriptor = -1


class Device:
    """The first GPU, by PyTorch. Throws accelerator.Refused where memory cannot be shared."""

    name = "cuda:0"
    turns_of = "cuda:0"  #: what judges of this GPU take turns by: processes may see different GPUs as their first
    accelerator_file = str(Path(accelerator.__file__))

    def __init__(self) -> None:
        import torch
        self._torch: Any = torch
        self.release_cached()  # which others cannot use, and blocks are made without PyTorch
        free, total = torch.cuda.mem_get_info()
        self.taken_bytes = int(total - free)  #: by whatever uses the GPU, before the judge did
        self.accelerator = accelerator.Accelerator()
        self.turns_of = str(getattr(torch.cuda.get_device_properties(0), "uuid", self.name))
        self._scratch = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
        self._nap_cycles = 2_000_000  # about a millisecond
        Block(self, 1).close()

    def harness_options(self) -> Mapping[str, Any]:
        """Of gpubench.run, for the device's time of calls."""
        return {"device": self.name, "time": "device"}

    def cache_bytes(self) -> int:
        """Of its L2."""
        return int(self._torch.cuda.get_device_properties(0).L2_cache_size)

    def left_out(self) -> dict[str, str]:
        """Parts of the shutting in, without which alone CUDA starts in a candidate's process."""
        return parts_without_which_cuda_starts()

    def block(self, size: int) -> Block:
        return Block(self, size)

    def mark(self) -> Any:
        """A moment on the GPU's own clock."""
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds_between(self, first: Any, last: Any) -> float:
        last.synchronize()
        return float(first.elapsed_time(last)) * 1e-3

    def synchronize(self) -> None:
        self._torch.cuda.synchronize()

    def flush(self) -> None:
        """Leaves nothing of what was filled in the cache."""
        self._scratch.zero_()

    def free_bytes(self) -> int:
        return int(self._torch.cuda.mem_get_info()[0])

    def release_cached(self) -> None:
        with contextlib.suppress(RuntimeError):  # of a context that has failed
            self._torch.cuda.empty_cache()

    def wait_seconds(self, times: int = 5) -> float:
        """How long the smallest of works takes, from launch to end, when this process has nothing else to do: long where other processes work on the GPU.
        The longest of some."""
        longest = 0.0
        self.synchronize()
        for _ in range(times):
            start = time.perf_counter()
            self.accelerator.touch()
            self.synchronize()
            longest = max(longest, time.perf_counter() - start)
        return longest

    def copy_seconds(self, sources: Sequence[Any], targets: Sequence[Sequence[Any]]) -> float:
        """What copying the outputs of a call takes the GPU, one after the other without a gap. They have just been written, so the cache has a part of them: into
        the first target, where there are several, and what that takes alone is subtracted."""
        def row(written: Sequence[Any], copied: Sequence[Sequence[Any]], copies: bool) -> float:
            self._torch.cuda._sleep(self._nap_cycles * (1 + len(copied) // 32))
            start = self.mark()
            for each in copied:
                for place, source in zip(written, sources):
                    place.copy_(source)
                for target, place in zip(each, written or sources) if copies else ():
                    target.copy_(place)
            return self.seconds_between(start, self.mark()) / len(copied)

        if len(targets) < 2:
            return float(np.median([row((), targets, True) for _ in range(3)])) if targets else 0.0
        first, *others = targets
        return max(0.0, float(np.median([row(first, others, True) - row(first, others, False) for _ in range(5)])))


def trouble_of(error: Exception) -> Trouble | None:
    """What a failure of the GPU in the judge's own process says of the candidate that runs beside it; None of other failures."""
    words = f"{type(error).__name__}: {error}"
    if "out of memory" in words.lower() or "OUT_OF_MEMORY" in words:
        return Trouble("memory", "It left the judge too little of the GPU's memory.")
    return None


def asks_beyond_the_gpu(text: str) -> bool:
    """Whether PyTorch's words on a failed allocation tell of more than the whole GPU has: then it is not for what others hold."""
    units = {"bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30}
    told = [re.search(rf"{words} ([\d.]+) (bytes|[KMG]iB)", text) for words in ("Tried to allocate", "total capacity of")]
    asked, has = (float(each[1]) * 2 ** units[each[2]] if each else 0.0 for each in told)
    return asked > has > 0.0


def is_broken(error: BaseException) -> bool:
    """Whether this process can use its GPU no more."""
    words = str(error)
    return "CUDA error" in words and "out of memory" not in words
