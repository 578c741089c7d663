// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "kernels/probes/cuda_memory.h"

namespace gpubench::probes {
namespace {

constexpr std::array steps = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256};
constexpr int threads = 256;
constexpr int loads = 4;

template <int multiply_adds>
__global__ void __launch_bounds__(threads)
    intensity_kernel(const float4* __restrict__ data, float factor, float* sink) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * threads * loads + threadIdx.x;
  float4 v[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) v[k] = data[first + static_cast<std::size_t>(k) * threads];
    // v = v factor + v, as the arithmetic probe.
#pragma unroll
  for (int i = 0; i < multiply_adds; ++i) {
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      v[k].x = fmaf(v[k].x, factor, v[k].x);
      v[k].y = fmaf(v[k].y, factor, v[k].y);
      v[k].z = fmaf(v[k].z, factor, v[k].z);
      v[k].w = fmaf(v[k].w, factor, v[k].w);
    }
  }
  // A maximum keeps all values and costs no multiply-add.
  float max = 0.0F;
#pragma unroll
  for (int k = 0; k < loads; ++k) max = fmaxf(fmaxf(max, fmaxf(v[k].x, v[k].y)), fmaxf(v[k].z, v[k].w));
  if (max == 1.2345678e30F) *sink = max;  // never so
}

struct Arguments {
  const float4* data;
  unsigned blocks;
  float* sink;
  cudaStream_t stream;
};

template <int multiply_adds>
bool launch_if(int wanted, const Arguments& arguments) {
  if (wanted != multiply_adds) return false;
  intensity_kernel<multiply_adds>
      <<<arguments.blocks, threads, 0, arguments.stream>>>(arguments.data, 1e-12F, arguments.sink);
  return true;
}

template <std::size_t... i>
bool launch_one_of(int wanted, const Arguments& arguments, std::index_sequence<i...>) {
  return (launch_if<steps[i]>(wanted, arguments) || ...);
}

}  // namespace

std::span<const int> intensity_steps() { return steps; }

cudaError_t launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink,
                             cudaStream_t stream) {
  constexpr std::size_t tile = std::size_t{threads} * loads * 4;
  if (count == 0 || count % tile != 0) return cudaErrorInvalidValue;
  const Arguments arguments = {reinterpret_cast<const float4*>(data), static_cast<unsigned>(count / tile), sink,
                               stream};
  if (!launch_one_of(multiply_adds, arguments, std::make_index_sequence<steps.size()>())) return cudaErrorInvalidValue;
  return cudaGetLastError();
}

}  // namespace gpubench::probes
