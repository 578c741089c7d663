# SPDX-License-Identifier: Apache-2.0
"""What PyTorch and CuPy say of streams and memory, where a program uses them. Nothing here imports them."""
from __future__ import annotations

import os
import sys
from typing import Any


def torch_on_gpu() -> Any:
    """torch, where the program has it and has used a GPU with it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized() else None


def current_stream() -> int:
    """The stream on which this thread's framework launches now, as a number; 0 for the default one."""
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        handle = int(cupy.cuda.get_current_stream().ptr)
        if handle:
            return handle
    torch = torch_on_gpu()
    return int(torch.cuda.current_stream().cuda_stream) if torch is not None else 0


def handle_of(stream: Any) -> int:
    """A stream of any framework as a number; None is the one at hand."""
    if stream is None:
        return current_stream()
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "cuda_stream"):  # PyTorch's, by the shortest way
        return int(stream.cuda_stream)
    if hasattr(stream, "__cuda_stream__"):  # (version, handle); a property in cuda.core before 0.2
        protocol = stream.__cuda_stream__
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise TypeError(f"{type(stream).__name__} has version {version} of the protocol __cuda_stream__; gpubench knows version 0")
        return int(handle)
    for name in ("ptr", "handle"):  # CuPy's, Numba's
        if hasattr(stream, name):
            value = getattr(stream, name)
            return int(getattr(value, "value", value) or 0)  # Numba's may be a ctypes.c_void_p
    raise TypeError("a stream is a number, or a stream of PyTorch, CuPy, Numba or cuda.core (anything with __cuda_stream__), not a "
                    f"{type(stream).__name__}")


def allocator_counts() -> dict[str, int] | None:
    """What PyTorch's allocator counted since the program began; None without it."""
    torch = torch_on_gpu()
    if torch is None:
        return None
    stats = torch.cuda.memory_stats()
    return {
        "allocations": int(stats.get("allocation.all.allocated", 0)),
        "allocated_bytes": int(stats.get("allocated_bytes.all.allocated", 0)),
        "releases": int(stats.get("allocation.all.freed", 0)),
        "freed_bytes": int(stats.get("allocated_bytes.all.freed", 0)),
    }


def pool_lines(width: int) -> list[str]:
    """What the frameworks' pools hold, in MB of 10^6 bytes."""
    rows = []
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        pool = cupy.get_default_memory_pool()
        rows += [("CuPy Memory Pool Used", pool.used_bytes()), ("CuPy Memory Pool Total", pool.total_bytes())]
    torch = torch_on_gpu()
    if torch is not None:
        rows += [("PyTorch Allocated", torch.cuda.memory_allocated()), ("PyTorch Allocated Peak", torch.cuda.max_memory_allocated()),
                 ("PyTorch Reserved", torch.cuda.memory_reserved())]
    return [f"{name:<{width}} {size / 1e6:<12.3f} MB" for name, size in rows]


def resident_bytes() -> int:
    """Memory that the process holds now."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
