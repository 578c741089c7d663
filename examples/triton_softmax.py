#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The softmax of rows, in Triton, with events inside: a program takes one row after another. Writes triton_softmax.json
and triton_softmax.perfetto-trace."""
import torch
import triton
import triton.language as tl

from gpubench.kernel_trace import SmProfiler
from gpubench.triton import profiler_event_end, profiler_event_start, profiler_init

LOAD, COMPUTE, STORE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def softmax(values, out, rows, columns, buffer, block: tl.constexpr):
    profiler = profiler_init(buffer)
    program = tl.program_id(0)
    at = tl.arange(0, block)
    for row in range(program, rows, tl.num_programs(0)):
        profiler_event_start(profiler, program, 0, LOAD)
        x = tl.load(values + row * columns + at, at < columns, other=-float("inf"))
        highest = tl.max(x, axis=0)  # waits for the load
        profiler_event_end(profiler, program, 0, LOAD)
        profiler_event_start(profiler, program, 0, COMPUTE)
        power = tl.exp(x - highest)
        result = power / tl.sum(power, axis=0)
        profiler_event_end(profiler, program, 0, COMPUTE)
        profiler_event_start(profiler, program, 0, STORE)
        tl.store(out + row * columns + at, result, at < columns)
        profiler_event_end(profiler, program, 0, STORE)


def main():
    rows, columns = 4096, 8192
    programs = 2 * torch.cuda.get_device_properties(0).multi_processor_count
    values = torch.randn(rows, columns, device="cuda")
    out = torch.empty_like(values)
    profiler = SmProfiler(programs, 1, 3 * triton.cdiv(rows, programs), name="softmax")
    for number, name in ((LOAD, "load"), (COMPUTE, "compute"), (STORE, "store")):
        profiler.register_event(number, name)
    for _ in range(2):  # the first launch compiles
        profiler.init_buffer()
        softmax[(programs,)](values, out, rows, columns, profiler.get_buffer(), triton.next_power_of_2(columns))
    torch.testing.assert_close(out, torch.softmax(values, dim=1))
    profiler.print_stats()
    profiler.export("triton_softmax.json")
    profiler.export("triton_softmax.perfetto-trace")


if __name__ == "__main__":
    main()
