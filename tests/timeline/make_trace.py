#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a trace as PyTorch's profiler does, of any size: make_trace.py FILE [SLICES [EXTRA]]. 10 000 000 slices (the default)
are 2 GB; EXTRA ns longer is every third kernel, so that two traces differ."""
import sys

STEP = 600  # slices: but for the range around them 100 times four operators, a launch and a kernel
OPERATORS = [f"aten::{name}{suffix}" for name in ("linear", "addmm", "layer_norm", "gelu", "softmax", "dropout", "view", "transpose")
             for suffix in ("", "_backward", "_")]
KERNELS = [f"void at::native::vectorized_elementwise_kernel<{width}, at::native::{name}_kernel_cuda(at::TensorIteratorBase&)"
           "::{lambda(float)#1}, std::array<char*, 2ul> >(int)" for width in (2, 4, 8) for name in ("gelu", "add", "mul", "tanh", "exp")]


def step_of(number, extra, out):
    base = 4_491_036_073_229_465 + number * 100 * 25_000  # ns
    correlation = number * 100 + 1
    us = lambda ns: f"{ns // 1000}.{ns % 1000:03d}"
    out.append(f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{number}","pid":2777,"tid":2777,"ts":{us(base)},"dur":{us(100 * 25_000)},"args":{{}}}}')
    for i in range(100):
        start = base + i * 25_000
        for k in range(4):
            out.append(f'{{"ph":"X","cat":"cpu_op","name":"{OPERATORS[(i + k) % len(OPERATORS)]}","pid":2777,"tid":2777,"ts":{us(start + k * 900)},'
                       f'"dur":{us(17_500 - k * 1700)},"args":{{"External id":{correlation + i},"Ev Idx":{number * 400 + i * 4 + k}}}}}')
        out.append(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":2777,"tid":2777,"ts":{us(start + 5_000)},"dur":4.733,'
                   f'"args":{{"External id":{correlation + i},"cbid":211,"correlation":{correlation + i}}}}}')
        out.append(f'{{"ph":"s","id":{correlation + i},"pid":2777,"tid":2777,"ts":{us(start + 5_000)},"cat":"ac2g","name":"ac2g"}}')
        out.append(f'{{"ph":"X","cat":"kernel","name":"{KERNELS[i % len(KERNELS)]}","pid":0,"tid":7,"ts":{us(start + 60_000)},"dur":{us(20_000 + i * 7 + (extra if i % 3 == 0 else 0))},'
                   f'"args":{{"device":0,"context":1,"stream":7,"correlation":{correlation + i},"registers per thread":32,"shared memory":0,'
                   f'"grid":[{i % 8 + 1},1,1],"block":[128,1,1],"est. achieved occupancy %":97}}}}')
        out.append(f'{{"ph":"f","id":{correlation + i},"pid":0,"tid":7,"ts":{us(start + 60_000)},"cat":"ac2g","name":"ac2g","bp":"e"}}')


def main():
    slices = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    extra = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write('{"schemaVersion":1,"baseTimeNanoseconds":1790857026000000000,"traceEvents":[\n')
        for number in range(max(slices // STEP, 1)):
            out = []
            step_of(number, extra, out)
            file.write((",\n" if number else "") + ",\n".join(out))
        file.write('\n],"traceName":"made"}\n')


main()
