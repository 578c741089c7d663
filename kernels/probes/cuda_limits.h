// SPDX-License-Identifier: Apache-2.0
// What a multiprocessor can do in a clock at most, by compute capability. Pure tables; 0 where it is not known here.
#pragma once

#include "kernels/probes/cuda_compute.h"
#include "kernels/probes/cuda_tensor.h"

namespace gpubench::probes {

/// Operations of a vector pipe, two for a multiply-add, from the CUDA C++ Programming Guide, table "Throughput of
/// Native Arithmetic Instructions". None for divisions, which are sequences.
int vector_limit(VectorOperation operation, int major, int minor);
/// FLOPs of dense matrix products with FP32 (FP64, INT32) accumulation by the tensor cores, from datasheets:
///   T4    65 TFLOP/s FP16 = 40 x 1.59 GHz x 1024            A100 312 TFLOP/s FP16 = 108 x 1.410 GHz x 2048
///   A40   149.7 TFLOP/s FP16 = 84 x 1.74 GHz x 1024         L40S 362 TFLOP/s FP16 = 142 x 2.52 GHz x 1012
///   H100 SXM 989.4 TFLOP/s FP16 = 132 x 1.830 GHz x 4096    B200 2250 TFLOP/s FP16 = 148 x 1.85 GHz x 8218
/// and the other types from the same sheets in whole multiples of these.
int tensor_limit(NumberFormat type, int major, int minor);
/// Bytes that the load and store unit brings from L1 or shared memory: 32 banks of 4 bytes, 128, since Volta (CUDA C++
/// Programming Guide, "Shared Memory" of each compute capability).
int local_bytes_limit(int major, int minor);

}  // namespace gpubench::probes
