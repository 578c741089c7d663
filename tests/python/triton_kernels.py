# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton for tests; they must lie in a file, whose source Triton reads."""
import triton
import triton.language as tl


@triton.jit
def _add(x, y, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def add(x, y, out, block=1024):
    """out = x + y"""
    _add[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), block)


from gpubench.triton import profiler_event_end, profiler_event_instant, profiler_event_start, profiler_init  # noqa: E402

EVT_COMPUTE = tl.constexpr(0)
EVT_SYNC = tl.constexpr(2)


@triton.jit
def _traced_add(x, out, buffer, block: tl.constexpr):
    profiler = profiler_init(buffer)
    program = tl.program_id(0)
    at = program * block + tl.arange(0, block)
    profiler_event_start(profiler, program, 0, EVT_COMPUTE)
    tl.store(out + at, tl.load(x + at) + 1)
    profiler_event_end(profiler, program, 0, EVT_COMPUTE)
    profiler_event_instant(profiler, program, 0, EVT_SYNC)


def traced_add(x, buffer, block=1024):
    """x + 1, with events."""
    import torch
    out = torch.empty_like(x)
    _traced_add[(x.numel() // block,)](x, out, buffer, block)
    return out


@triton.jit
def _clock():
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def _traced_spin(buffer, clocks, times):
    profiler = profiler_init(buffer)
    program = tl.program_id(0)
    for i in range(times):
        profiler_event_start(profiler, program, 0, i)
        start = _clock()
        now = start
        while now - start < clocks:
            now = _clock()
        profiler_event_end(profiler, program, 0, i)
        profiler_event_instant(profiler, program, 0, 7)


def traced_spin(buffer, programs, clocks, times):
    """Spins, each of so many clocks."""
    _traced_spin[(programs,)](buffer, clocks, times)
