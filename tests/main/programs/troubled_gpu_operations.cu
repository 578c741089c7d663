// SPDX-License-Identifier: Apache-2.0
// A benchmark program whose operations meet a GPU's troubles. The last two: one that ruins the CUDA context, one after
// it.
#include <gpubench/gpubench.h>

#include <cstdint>

namespace {

__global__ void fill(float* values, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) values[i] = 1.0F;
}

void measure_fill(gpubench::State& state, float* values, std::int64_t count, unsigned threads) {
  state.writes(count * static_cast<std::int64_t>(sizeof(float)));
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  state.measure([=](cudaStream_t stream) { fill<<<blocks, threads, 0, stream>>>(values, count); });
}

void works(gpubench::State& state) {
  auto values = state.device_vector<float>(state.range(0));
  measure_fill(state, values.data(), state.range(0), 256);
}
GPU_BENCHMARK(works)->Arg(1024)->Arg(4096);

void too_many_threads(gpubench::State& state) {
  auto values = state.device_vector<float>(4096);
  measure_fill(state, values.data(), 4096, 2048);
}
GPU_BENCHMARK(too_many_threads);

void too_large(gpubench::State& state) {
  auto values = state.device_vector<float>(state.range(0));
  measure_fill(state, values.data(), 1024, 256);
}
GPU_BENCHMARK(too_large)->Arg(1024)->Arg(std::int64_t{1} << 46)->Arg(2048);

/// Works when it is called for the first time, to be timed, and not when it is called again, to be counted.
void fails_when_counted(gpubench::State& state) {
  static int calls = 0;
  auto values = state.device_vector<float>(4096);
  measure_fill(state, ++calls == 1 ? values.data() : nullptr, 4096, 256);
}
GPU_BENCHMARK(fails_when_counted);

void works_as_well(gpubench::State& state) { works(state); }
GPU_BENCHMARK(works_as_well)->Arg(1024);

void illegal_address(gpubench::State& state) { measure_fill(state, nullptr, 4096, 256); }
GPU_BENCHMARK(illegal_address);

void comes_after(gpubench::State& state) { works(state); }
GPU_BENCHMARK(comes_after)->Arg(1024);

}  // namespace
