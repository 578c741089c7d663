# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Functions for Triton's kernels that record events (gpubench.kernel_trace).

    @triton.jit
    def kernel(x, buffer):
        profiler = profiler_init(buffer)
        profiler_event_start(profiler, tl.program_id(0), 0, LOAD)
        ...
        profiler_event_end(profiler, tl.program_id(0), 0, LOAD)

Each event is one read and two writes of the program's first thread, without atomics. Events of blocks, groups and numbers that
the buffer has no place for are not written.
"""
# Triton reads the source of these functions: annotations would be part of it.
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid


@triton.jit
def _record(buffer, block, group, event_no, kind: tl.constexpr):
    blocks = tl.load(buffer)
    groups = tl.load(buffer + 1)
    capacity = tl.load(buffer + 2)
    place = block * groups + group
    fits = (block < blocks) & (group < groups) & (capacity > 0)
    counter = buffer + 8 + place
    slot = tl.load(counter, mask=fits, other=0)
    writes = fits & (slot < capacity)
    record = buffer + 8 + blocks * groups + (place * capacity + slot) * 2
    what = smid().to(tl.int64) * 256 + (event_no % 32) * 4 + kind
    tl.store(record, globaltimer(), mask=writes)
    tl.store(record + 1, what, mask=writes)
    tl.store(counter, slot + 1, mask=fits)


@triton.jit
def profiler_init(buffer):
    """What the other functions take: the buffer of SmProfiler.get_buffer()."""
    return buffer


@triton.jit
def profiler_event_start(profiler, block, group, event_no):
    """A range of this number begins."""
    _record(profiler, block, group, event_no, 0)


@triton.jit
def profiler_event_end(profiler, block, group, event_no):
    """The newest range of this number that is open ends."""
    _record(profiler, block, group, event_no, 1)


@triton.jit
def profiler_event_instant(profiler, block, group, event_no):
    """Something happens now."""
    _record(profiler, block, group, event_no, 2)
