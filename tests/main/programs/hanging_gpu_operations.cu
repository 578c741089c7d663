// SPDX-License-Identifier: Apache-2.0
// A benchmark program of which one kernel never ends. To be run with --isolate.
#include <gpubench/gpubench.h>

namespace {

__global__ void spin_while_zero(const volatile float* flag) {
  while (*flag == 0.0F) {
  }
}

__global__ void clear(float* flag) { *flag = 0.0F; }

void works(gpubench::State& state) {
  auto value = state.device_vector<float>(1);
  state.measure([&](cudaStream_t stream) { clear<<<1, 1, 0, stream>>>(value.data()); });
}

void never_ends(gpubench::State& state) {
  if (state.range(0) != 2) return works(state);
  auto flag = state.device_vector<float>(1);
  state.measure([&](cudaStream_t stream) {
    clear<<<1, 1, 0, stream>>>(flag.data());
    spin_while_zero<<<1, 1, 0, stream>>>(flag.data());
  });
}
GPU_BENCHMARK(never_ends)->DenseRange(1, 3);

void comes_after(gpubench::State& state) { works(state); }
GPU_BENCHMARK(comes_after);

}  // namespace
