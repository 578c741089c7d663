#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A matrix product in Triton, with events inside: each program computes one tile. Writes triton_matmul.json and
triton_matmul.perfetto-trace."""
import torch
import triton
import triton.language as tl

from gpubench.kernel_trace import SmProfiler
from gpubench.triton import profiler_event_end, profiler_event_start, profiler_init

LOAD, COMPUTE, STORE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def matmul(a, b, c, n, buffer, tile: tl.constexpr, step: tl.constexpr):
    profiler = profiler_init(buffer)
    program = tl.program_id(0)
    tiles = n // tile
    rows = program // tiles * tile + tl.arange(0, tile)
    columns = program % tiles * tile + tl.arange(0, tile)
    inner = tl.arange(0, step)
    total = tl.zeros((tile, tile), dtype=tl.float32)
    for k in range(0, n, step):
        profiler_event_start(profiler, program, 0, LOAD)
        left = tl.load(a + rows[:, None] * n + k + inner[None, :])
        right = tl.load(b + (k + inner[:, None]) * n + columns[None, :])
        profiler_event_end(profiler, program, 0, LOAD)
        profiler_event_start(profiler, program, 0, COMPUTE)
        total = tl.dot(left, right, total)
        profiler_event_end(profiler, program, 0, COMPUTE)
    profiler_event_start(profiler, program, 0, STORE)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))
    profiler_event_end(profiler, program, 0, STORE)


def main():
    n, tile, step = 2048, 128, 32
    a = torch.randn(n, n, device="cuda", dtype=torch.float16)
    b = torch.randn(n, n, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    programs = (n // tile) ** 2
    profiler = SmProfiler(programs, 1, 2 * n // step + 1, name="matmul")
    for number, name in ((LOAD, "load"), (COMPUTE, "compute"), (STORE, "store")):
        profiler.register_event(number, name)
    for _ in range(2):  # the first launch compiles
        profiler.init_buffer()
        matmul[(programs,)](a, b, c, n, profiler.get_buffer(), tile, step)
    torch.testing.assert_close(c, a @ b, atol=0.5, rtol=0.02)
    profiler.print_stats()
    profiler.export("triton_matmul.json")
    profiler.export("triton_matmul.perfetto-trace")


if __name__ == "__main__":
    main()
