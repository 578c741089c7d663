# SPDX-License-Identifier: Apache-2.0
"""Kernels written by hand for problems of KernelBench's level 1, as honest candidates of the judge: in Triton, and in CUDA by CuPy and by PyTorch's load_inline."""
from __future__ import annotations

_HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


"""

#: Between a kernel and its launch, for a result of the input's shape.
_MODULE = """

class ModelNew(nn.Module):
    def __init__(self, *words):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
"""

_ELEMENTWISE = _HEAD + """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, {expression}, mask=at < n)
""" + _MODULE + """        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""

_ROWS = _HEAD + """@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    {body}
""" + _MODULE + """        n = x.shape[-1]
        kernel[(x.numel() // n,)](x, y, n, BLOCK=min(triton.next_power_of_2(n), 8192), num_warps=8)
        return y
"""

_SOFTMAX = """top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n, other=float("-inf"))
        new = tl.maximum(top, v)
        total = total * tl.where(top == float("-inf"), 0.0, tl.exp(top - new)) + tl.where(v == float("-inf"), 0.0, tl.exp(v - new))
        top = new
    highest = tl.max(top, 0)
    total = tl.sum(tl.where(top == float("-inf"), 0.0, total * tl.exp(top - highest)), 0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n)
        tl.store(y + row + at, {result}, mask=at < n)"""

#: Each row by what its terms add up to.
_NORM = """total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n, other=0.0)
        total += {term}
    whole = tl.sum(total, 0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(y + row + at, tl.load(x + row + at, mask=at < n) / {scale}, mask=at < n)"""

_LAYER_NORM = _HEAD + """@triton.jit
def kernel(x, weight, bias, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    count = tl.zeros((BLOCK,), tl.float32)
    mean = tl.zeros((BLOCK,), tl.float32)
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):  # Welford's, a lane each
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        v = tl.load(x + row + at, mask=inside, other=0.0)
        count += tl.where(inside, 1.0, 0.0)
        apart = tl.where(inside, v - mean, 0.0)
        mean += apart / tl.maximum(count, 1.0)
        square += tl.where(inside, apart * (v - mean), 0.0)
    middle = tl.sum(mean * count, 0) / n
    variance = tl.sum(square + count * (mean - middle) * (mean - middle), 0) / n
    scale = 1.0 / tl.sqrt(variance + 1e-5)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + at, mask=at < n)
        w, b = tl.load(weight + at, mask=at < n), tl.load(bias + at, mask=at < n)
        tl.store(y + row + at, (v - middle) * scale * w + b, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=shape)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = self.ln.weight.numel()
        kernel[(x.numel() // n,)](x, self.ln.weight, self.ln.bias, y, n, BLOCK=4096, num_warps=8)
        return y
"""

_MIDDLE = _HEAD + """@triton.jit
def kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    found = tl.full((BLOCK,), {start}, tl.float32)
    for row in range(rows):
        v = tl.load(x + (batch * rows + row) * columns + at, mask=at < columns, other=0.0)
        found = {step}
    tl.store(y + batch * columns + at, {end}, mask=at < columns)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty(x.shape[0], x.shape[2], device=x.device, dtype=x.dtype)
        kernel[(x.shape[0], triton.cdiv(x.shape[2], 256))](x, y, x.shape[1], x.shape[2], BLOCK=256)
        return y{shape}
"""

_MATMUL = _HEAD + """@triton.jit
def kernel(a, b, c, m, n, k, am, ak, bk, bn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        left = tl.load(a + rows[:, None].to(tl.int64) * am + at[None, :] * ak, mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None].to(tl.int64) * bk + columns[None, :] * bn, mask=(at[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None].to(tl.int64) * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


class ModelNew(nn.Module):
    def forward(self, A, B):
        {views}
        (m, k), n = A.shape, B.shape[1]
        C = torch.empty(m, n, device=A.device, dtype=A.dtype)
        kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](A, B, C, m, n, k, *A.stride(), *B.stride(), M=64, N=64, K=32)
        return C
"""

_KERNEL = """__global__ void kernel(const float* x, float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    float v = x[i];
    y[i] = EXPRESSION;
  }
}
"""

_CUDA = """import cupy
import torch
import torch.nn as nn

kernel = cupy.RawKernel(r'''extern "C" """ + _KERNEL + """''', "kernel")
""" + _MODULE + """        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            kernel((132 * 8,), (256,), (x.data_ptr(), y.data_ptr(), x.numel()))
        return y
"""

_INLINE = """import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <torch/types.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

""" + _KERNEL + """
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  kernel<<<132 * 8, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
'''
module = load_inline(name="elementwise", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"], extra_cuda_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, *words):
        super().__init__()

    def forward(self, x):
        return module.run(x.contiguous())
"""

_POINTWISE = {
    "19_ReLU": ("tl.maximum(v, 0.0)", "v > 0.f ? v : 0.f"),
    "20_LeakyReLU": ("tl.where(v > 0.0, v, 0.01 * v)", "v > 0.f ? v : 0.01f * v"),
    "21_Sigmoid": ("1.0 / (1.0 + tl.exp(-v))", "1.f / (1.f + expf(-v))"),
    "22_Tanh": ("libdevice.tanh(v)", "tanhf(v)"),
    "25_Swish": ("v / (1.0 + tl.exp(-v))", "v / (1.f + expf(-v))"),
    "26_GELU_": ("0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))", "0.5f * v * (1.f + erff(v * 0.70710678f))"),
    "27_SELU_": ("1.0507009873554805 * tl.where(v > 0.0, v, 1.6732632423543772 * libdevice.expm1(v))", "1.0507009873554805f * (v > 0.f ? v : 1.6732632423543772f * expm1f(v))"),
    "28_HardSigmoid": ("tl.minimum(tl.maximum(v / 6.0 + 0.5, 0.0), 1.0)", "fminf(fmaxf(v / 6.f + 0.5f, 0.f), 1.f)"),
    "29_Softplus": ("tl.where(v > 20.0, v, libdevice.log1p(tl.exp(v)))", "v > 20.f ? v : log1pf(expf(v))"),
    "30_Softsign": ("v / (1.0 + tl.abs(v))", "v / (1.f + fabsf(v))"),
    "31_ELU": ("tl.where(v > 0.0, v, libdevice.expm1(v))", "v > 0.f ? v : expm1f(v)"),
    "32_HardTanh": ("tl.minimum(tl.maximum(v, -1.0), 1.0)", "fminf(fmaxf(v, -1.f), 1.f)"),
    "88_MinGPTNewGelu": ("0.5 * v * (1.0 + libdevice.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))", "0.5f * v * (1.f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)))"),
}

#: Candidates by problem and kind.
WRITTEN: dict[str, dict[str, str]] = {name: {"triton": _ELEMENTWISE.replace("{expression}", triton),
                                             **({"cuda": _CUDA.replace("EXPRESSION", cuda), "inline": _INLINE.replace("EXPRESSION", cuda)} if cuda else {})}
                                      for name, (triton, cuda) in _POINTWISE.items()}
WRITTEN |= {name: {"triton": text} for name, text in {
    "23_Softmax": _ROWS.replace("{body}", _SOFTMAX.replace("{result}", "tl.exp(v - highest) / total")),
    "24_LogSoftmax": _ROWS.replace("{body}", _SOFTMAX.replace("{result}", "v - highest - tl.log(total)")),
    "38_L1Norm_": _ROWS.replace("{body}", _NORM.replace("{term}", "tl.abs(v)").replace("{scale}", "(whole / n)")),
    "39_L2Norm_": _ROWS.replace("{body}", _NORM.replace("{term}", "v * v").replace("{scale}", "tl.sqrt(whole)")),
    "40_LayerNorm": _LAYER_NORM,
    "47_Sum_reduction_over_a_dimension": _MIDDLE.replace("{start}", "0.0").replace("{step}", "found + v").replace("{end}", "found").replace("{shape}", ".unsqueeze(1)"),
    "48_Mean_reduction_over_a_dimension": _MIDDLE.replace("{start}", "0.0").replace("{step}", "found + v").replace("{end}", "found / rows").replace("{shape}", ""),
    "49_Max_reduction_over_a_dimension": _MIDDLE.replace("{start}", 'float("-inf")').replace("{step}", "tl.maximum(found, v)").replace("{end}", "found").replace("{shape}", ""),
    "53_Min_reduction_over_a_dimension": _MIDDLE.replace("{start}", 'float("inf")').replace("{step}", "tl.minimum(found, v)").replace("{end}", "found").replace("{shape}", ""),
    **dict.fromkeys(("1_Square_matrix_multiplication_", "2_Standard_matrix_multiplication_", "6_Matmul_with_large_K_dimension_", "7_Matmul_with_small_K_dimension_",
                     "8_Matmul_with_irregular_shapes_", "9_Tall_skinny_matrix_multiplication_", "13_Matmul_for_symmetric_matrices"), _MATMUL.replace("{views}", "pass")),
    "16_Matmul_with_transposed_A": _MATMUL.replace("{views}", "A = A.T"),
    "18_Matmul_with_transposed_both": _MATMUL.replace("{views}", "A, B = A.T, B.T"),
    "17_Matmul_with_transposed_B": _MATMUL.replace("{views}", "B = B.T"),
}.items()}
