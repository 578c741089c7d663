// SPDX-License-Identifier: Apache-2.0
// Divisions and roots, which --use_fast_math of the base makes approximate.
#include <gpubench/gpubench.h>
__global__ void divide(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    for (int k = 0; k < 64; ++k) v = v / (1.0f + v * 0.37f) + sqrtf(v + 1.0f);
    x[i] = v;
  }
}
void flag(gpubench::State& state) {
  const int n = 1 << 22;
  auto x = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) { divide<<<n / 256, 256, 0, s>>>(x.data(), n); });
}
GPU_BENCHMARK(flag);
