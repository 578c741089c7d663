// SPDX-License-Identifier: Apache-2.0
// GPU operations of 5 us and more whose device time GPUBENCH_PLANTED=1.02 makes 2 % more: a slow-down that is known.
// tests/truth/gate/gate_experiment.py compares processes with and without it.
#include <cuda_runtime.h>
#include <gpubench/gpubench.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace {

using gpubench::State;

constexpr int threads = 256;

double planted() {
  const char* const text = std::getenv("GPUBENCH_PLANTED");
  const double factor = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return factor >= 1.0 && factor <= 10.0 ? factor : 1.0;
}

std::int64_t scaled(double work) { return std::llround(work * planted()); }

double clock_hz() {
  int device = 0;
  int kilohertz = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device) != cudaSuccess)
    return 0.0;
  return 1e3 * kilohertz;
}

__global__ void spin_for(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Waits for so many microseconds by the clock "device". What a launch adds to a stream slot is not scaled.
void spin(State& state) {
  const double seconds = static_cast<double>(state.range(0)) * 1e-6 * planted();
  const auto cycles = static_cast<long long>(seconds * clock_hz());
  state.measure([&](cudaStream_t stream) { spin_for<<<1, 32, 0, stream>>>(cycles); });
}
GPU_BENCHMARK(spin)->ArgName("us")->Arg(5)->Arg(10)->Arg(20)->Arg(50)->Arg(100);

__global__ void multiply_add(float* out, std::int64_t steps) {
  float a = static_cast<float>(threadIdx.x);
  float b = 1.0F;
  for (std::int64_t i = 0; i < steps; ++i) {
    a = fmaf(a, 0.9999F, 0.5F);
    b = fmaf(b, 0.9998F, 0.25F);
  }
  if (a + b == -1.0F) out[threadIdx.x] = a;
}

void arithmetic(State& state) {
  auto out = state.device_vector<float>(threads);
  const std::int64_t steps = scaled(static_cast<double>(state.range(0)));
  constexpr int blocks = 264;
  state.flops(gpubench::fp32, 4 * state.range(0) * blocks * threads);
  state.measure([&](cudaStream_t stream) { multiply_add<<<blocks, threads, 0, stream>>>(out.data(), steps); });
}
GPU_BENCHMARK(arithmetic)->ArgName("steps")->Arg(20000)->Arg(50000)->Arg(200000);

__global__ void copy_elements(std::int64_t n, const float4* from, float4* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

void traffic(State& state) {
  const auto n = static_cast<double>(state.range(0));
  auto from = state.device_vector<float>(static_cast<std::int64_t>(n * 4 * 1.5));
  auto to = state.device_vector<float>(static_cast<std::int64_t>(n * 4 * 1.5));
  const std::int64_t count = std::min(scaled(n), static_cast<std::int64_t>(1.5 * n));
  state.reads(static_cast<std::size_t>(state.range(0)) * sizeof(float4));
  state.writes(static_cast<std::size_t>(state.range(0)) * sizeof(float4));
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  state.measure([&](cudaStream_t stream) {
    copy_elements<<<blocks, threads, 0, stream>>>(count, reinterpret_cast<const float4*>(from.data()),
                                                  reinterpret_cast<float4*>(to.data()));
  });
}
GPU_BENCHMARK(traffic)->ArgName("n")->Arg(4 << 20)->Arg(16 << 20)->Arg(32 << 20);

}  // namespace
