# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Functions for Triton's kernels that record events (gpubench.kernel_trace).

    @triton.jit
    def kernel(x, buffer):
        profiler = profiler_init(buffer)
        profiler_event_start(profiler, tl.program_id(0), 0, LOAD)
        ...
        profiler_event_end(profiler, tl.program_id(0), 0, LOAD)

The program's first thread writes what a CUDA kernel writes (include/gpubench/detail/kernel_trace_layout.h), and takes each
slot from the group's counter with one atomic addition. What the buffer has no place for is counted, and not written.
"""
# Triton reads the source of these functions: annotations would be part of it.
try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise ImportError("gpubench.triton needs Triton: pip install triton, or gpubench[triton]") from error

# $1: the buffer, $2: block, $3: group, $4: the event's second word; $0 is not used. The clock is read first, so that the
# rest does not count; at the beginning of a range it is read again, last.
_RECORD = tl.constexpr("""{
.reg .pred out, more;
.reg .b32 t, n, magic, version, blocks, warps, slots, launches, enabled, offset, kind;
.reg .b64 base, slice, wide, ns, clock;
mov.u32 $0, 0;
mov.u32 t, %tid.x;
setp.ne.u32 out, t, 0;
@out bra gpubench_done;
mov.u64 clock, %clock64;
mov.u64 ns, %globaltimer;
mov.u64 base, $1;
ld.global.v4.u32 {magic, version, blocks, warps}, [base];
ld.global.v4.u32 {slots, launches, enabled, offset}, [base+16];
setp.ne.u32 out, magic, 0x544B4247;
setp.eq.or.u32 out, enabled, 0, out;
@out bra gpubench_done;
setp.ge.u32 out, $2, blocks;
setp.ge.or.u32 out, $3, warps, out;
@out bra gpubench_refused;
mad.lo.u32 t, $2, warps, $3;
mad.lo.u32 n, slots, 8, 127;
and.b32 n, n, 0xFFFFFFC0;
mul.wide.u32 slice, t, n;
cvt.u64.u32 wide, offset;
add.u64 slice, slice, wide;
add.u64 slice, slice, base;
atom.global.add.u32 n, [slice+48], 1;
setp.ne.u32 more, n, 0;
@more bra gpubench_opened;
mov.u32 t, %smid;
shl.b32 t, t, 16;
or.b32 t, t, $3;
st.global.v2.u64 [slice], {ns, clock};
st.global.v4.u32 [slice+32], {$2, 0, t, 9};
st.global.u32 [slice+52], blocks;
st.global.u32 [slice+56], 1;
gpubench_opened:
and.b32 kind, $4, 15;
setp.ne.u32 more, kind, 1;
@more bra gpubench_timed;
mov.u64 clock, %clock64;
mov.u64 ns, %globaltimer;
gpubench_timed:
st.global.v2.u64 [slice+16], {ns, clock};
setp.ge.u32 out, n, slots;
@out bra gpubench_done;
mul.wide.u32 wide, n, 8;
add.u64 slice, slice, wide;
cvt.u32.u64 t, clock;
st.global.v2.u32 [slice+64], {t, $4};
bra gpubench_done;
gpubench_refused:
red.global.add.u64 [base+32], 1;
gpubench_done:
}""")


@triton.jit
def _record(buffer, block, group, event_no, kind: tl.constexpr):
    number = tl.minimum(tl.cast(event_no, tl.uint32), 4095)
    tl.inline_asm_elementwise(_RECORD, "=r,l,r,r,r",
                              [buffer.to(tl.uint64), tl.cast(block, tl.int32), tl.cast(group, tl.int32), number * 16 + kind],
                              dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def profiler_init(buffer):
    """What the other functions take: the buffer of SmProfiler.get_buffer()."""
    return buffer


@triton.jit
def profiler_event_start(profiler, block, group, event_no):
    """A range of this number begins."""
    _record(profiler, block, group, event_no, 1)


@triton.jit
def profiler_event_end(profiler, block, group, event_no):
    """The newest range of this number that is open ends."""
    _record(profiler, block, group, event_no, 2)


@triton.jit
def profiler_event_instant(profiler, block, group, event_no):
    """Something happens now."""
    _record(profiler, block, group, event_no, 4)
