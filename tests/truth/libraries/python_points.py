#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch and Triton as points of the library suite. Scored by tests/truth/library_truth.py, as its C++ points are.

    python_points.py RUN.json [--metrics=core,units]   measures them through the package and writes the run
    python_points.py --once --filter=REGEX             runs each once in an NVTX range of its name: library_truth.py profile calls this

What an operation moves is not declared: PyTorch's user would not either."""
import argparse
import re

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

KIBI, MEBI = 1 << 10, 1 << 20
F32, BF16 = torch.float32, torch.bfloat16


def rand(*shape, dtype=F32):
    return torch.randn(*shape, device="cuda").to(dtype)


def places(n, below):
    return torch.randint(below, (n,), device="cuda")


def into(function, *inputs):
    """With an output of its own, so that nothing is allocated while it is timed."""
    out = function(*inputs)
    return lambda: function(*inputs, out=out)


if triton:
    @triton.jit
    def _add(x, y, out, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def _softmax(x, out, columns, block: tl.constexpr):
        at = tl.arange(0, block)
        row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
        row = tl.exp(row - tl.max(row, axis=0))
        tl.store(out + tl.program_id(0) * columns + at, row / tl.sum(row, axis=0), mask=at < columns)

    @triton.jit
    def _product(a, b, c, n, tile: tl.constexpr, depth: tl.constexpr):
        rows = tl.program_id(0) * tile + tl.arange(0, tile)
        columns = tl.program_id(1) * tile + tl.arange(0, tile)
        inner = tl.arange(0, depth)
        total = tl.zeros((tile, tile), dtype=tl.float32)
        for k in range(0, n, depth):
            left = tl.load(a + rows[:, None] * n + (k + inner)[None, :])
            total = tl.dot(left, tl.load(b + (k + inner)[:, None] * n + columns[None, :]), total)
        tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16))

    @triton.jit
    def _polynomial(x, out, degree, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        value = tl.load(x + at)
        total = value
        for _ in range(degree):
            total = total * value + 0.5
        tl.store(out + at, total)

    def triton_add(n):
        x, y = rand(n), rand(n)
        out = torch.empty_like(x)
        return lambda: _add[(triton.cdiv(n, 1024),)](x, y, out, n, block=1024)

    def triton_softmax(rows, columns=2048):
        x = rand(rows, columns)
        out = torch.empty_like(x)
        return lambda: _softmax[(rows,)](x, out, columns, block=2048)

    def triton_product(n):
        a, b = rand(n, n, dtype=BF16), rand(n, n, dtype=BF16)
        c = torch.empty_like(a)
        return lambda: _product[(n // 128, n // 128)](a, b, c, n, tile=128, depth=64, num_warps=8)

    def triton_polynomial(n, degree=512):
        x = rand(n)
        out = torch.empty_like(x)
        return lambda: _polynomial[(n // 1024,)](x, out, degree, block=1024)


def scatter_add(n, below):
    out, at, x = torch.zeros(below, device="cuda"), places(n, below), rand(n)
    return lambda: out.index_add_(0, at, x)


def attention(length):
    q, k, v = (rand(8, 16, length, 64, dtype=BF16) for _ in range(3))
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)


def convolution(edge):
    x, w = rand(32, 64, edge, edge, dtype=BF16), rand(64, 64, 3, 3, dtype=BF16)
    return lambda: torch.nn.functional.conv2d(x, w, padding=1)


def norm(rows, columns=4096):
    x, w = rand(rows, columns), rand(columns)
    return lambda: torch.nn.functional.layer_norm(x, (columns,), w, w)


# Name: how it is set up from n, and the n of its points.
POINTS = {
    "torch_add": (lambda n: into(torch.add, rand(n), rand(n)), [4 * KIBI, 4 * MEBI, 256 * MEBI]),
    "torch_exp": (lambda n: into(torch.exp, rand(n)), [16 * KIBI, 256 * MEBI]),
    "torch_gelu_bf16": (lambda n: (lambda x: lambda: torch.nn.functional.gelu(x))(rand(n, dtype=BF16)), [MEBI, 256 * MEBI]),
    "torch_sum": (lambda n: (lambda x: lambda: x.sum())(rand(n)), [64 * KIBI, 512 * MEBI]),
    "torch_softmax": (lambda n: (lambda x: lambda: torch.softmax(x, -1))(rand(n, 2048)), [64, 64 * KIBI]),
    "torch_layer_norm": (norm, [64, 32 * KIBI]),
    "torch_cumsum": (lambda n: into(lambda x, out=None: torch.cumsum(x, 0, out=out), rand(n)), [16 * KIBI, 64 * MEBI]),
    "torch_transpose": (lambda n: (lambda x: lambda: x.t().contiguous())(rand(n, n)), [512, 16 * KIBI]),
    "torch_gather": (lambda n: into(torch.take, rand(64 * MEBI), places(n, 64 * MEBI)), [16 * KIBI, 32 * MEBI]),
    "torch_index_add_few": (lambda n: scatter_add(n, 4), [16 * KIBI, 4 * MEBI]),
    "torch_index_add_many": (lambda n: scatter_add(n, 16 * MEBI), [4 * MEBI]),
    "torch_embedding": (lambda n: into(lambda t, i, out=None: torch.index_select(t, 0, i, out=out), rand(50000, 1024), places(n, 50000)),
                        [64, 64 * KIBI]),
    "torch_matmul_fp32": (lambda n: into(torch.matmul, rand(n, n), rand(n, n)), [128, 4096]),
    "torch_matmul_bf16": (lambda n: into(torch.matmul, rand(n, n, dtype=BF16), rand(n, n, dtype=BF16)), [128, 1024, 8192]),
    "torch_bmm_bf16": (lambda n: into(torch.bmm, rand(n, 64, 64, dtype=BF16), rand(n, 64, 64, dtype=BF16)), [64, 32 * KIBI]),
    "torch_mv": (lambda n: into(torch.mv, rand(n, n), rand(n)), [512, 16 * KIBI]),
    "torch_conv2d": (convolution, [16, 128]),
    "torch_attention": (attention, [128, 4096]),
    "torch_dropout": (lambda n: (lambda x: lambda: torch.bernoulli(x))(torch.full((n,), 0.5, device="cuda")), [64 * MEBI]),
    "torch_sort": (lambda n: (lambda x: lambda: torch.sort(x))(rand(n)), [4 * KIBI, 16 * MEBI]),
}
if triton:
    POINTS |= {
        "triton_add": (triton_add, [4 * KIBI, 256 * MEBI]),
        "triton_softmax": (triton_softmax, [64, 64 * KIBI]),
        "triton_product": (triton_product, [256, 4096]),
        "triton_polynomial": (triton_polynomial, [16 * KIBI, 64 * MEBI]),
    }


def once(pattern):
    runtime = torch.cuda.cudart()
    for name, (set_up, sizes) in POINTS.items():
        for n in sizes:
            point = f"{name}/n:{n}"
            if not re.search(pattern, point):
                continue
            operation = set_up(n)
            for _ in range(3):
                operation()
            torch.cuda.synchronize()
            runtime.cudaProfilerStart()
            torch.cuda.nvtx.range_push(point)
            operation()
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()
            runtime.cudaProfilerStop()
            del operation
            torch.cuda.empty_cache()


def run(file, metrics, budget, pattern):
    import gpubench

    def benchmark(name, set_up, sizes):
        def body(state, n):
            operation = set_up(n)
            operation()
            state.measure(operation)
        return gpubench.benchmark(name=name, n=sizes)(body)

    result = gpubench.run(*(benchmark(name, *how) for name, how in POINTS.items()), device="cuda:0", metrics=metrics, check="activity",
                          time_budget=budget, drift_check=False, progress=False, filter=pattern)
    result.save(file)
    print(f"{len(result)} points, {len(result.failures)} failures: {result.failures}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--device", default="cuda:0")  # library_truth.py gives it
    parser.add_argument("--filter", default=".")
    parser.add_argument("--metrics", default="core,units")
    parser.add_argument("--time-budget", type=float, default=0.02)
    options = parser.parse_args()
    if options.once:
        once(options.filter)
    else:
        run(options.out, options.metrics, options.time_budget, None if options.filter == "." else options.filter)
