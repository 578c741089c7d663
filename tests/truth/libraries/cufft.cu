// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by cuFFT: powers of two, primes, and products of few and of large primes.
#include <cufft.h>

#include <cmath>

#include "common.h"

namespace libraries {
namespace {

template <cufftType type>
void transform(State& state) {
  constexpr bool real = type == CUFFT_R2C;
  const auto length = state.range(0);
  const auto batch = state.range(1);
  const auto spectrum = real ? length / 2 + 1 : length;
  Owned<cufftHandle, cufftDestroy> plan;
  LIBRARIES_CHECK(cufftPlan1d(&plan.handle, static_cast<int>(length), type, static_cast<int>(batch)));
  auto x = state.device_vector<float>(length * batch * (real ? 1 : 2));
  auto y = state.device_vector<float>(spectrum * batch * 2);
  state.reads(x.bytes());
  state.writes(y.bytes());
  const double count = 5.0 * static_cast<double>(length) * std::log2(static_cast<double>(length));
  state.flops(gpubench::fp32, static_cast<std::int64_t>(count / (real ? 2.0 : 1.0)) * batch);
  state.measure([&](cudaStream_t stream) {
    plan.on(stream, [&] { LIBRARIES_CHECK(cufftSetStream(plan.handle, stream)); });
    auto* const to = reinterpret_cast<cufftComplex*>(y.data());
    if constexpr (real)
      LIBRARIES_CHECK(cufftExecR2C(plan.handle, x.data(), to));
    else
      LIBRARIES_CHECK(cufftExecC2C(plan.handle, reinterpret_cast<cufftComplex*>(x.data()), to, CUFFT_FORWARD));
  });
}

void cufft_c2c(State& state) { transform<CUFFT_C2C>(state); }
GPU_BENCHMARK(cufft_c2c)
    ->ArgNames({"length", "batch"})
    ->Args({256, 1})
    ->Args({256, 256 * kibi})
    ->Args({4096, 16})
    ->Args({4096, 16384})
    ->Args({mebi, 1})
    ->Args({64 * mebi, 1})
    ->Args({1009, 16})      // prime
    ->Args({1009, 32768})   // prime
    ->Args({10007, 1024})   // prime
    ->Args({30030, 1024});  // 2 x 3 x 5 x 7 x 11 x 13

void cufft_r2c(State& state) { transform<CUFFT_R2C>(state); }
GPU_BENCHMARK(cufft_r2c)
    ->ArgNames({"length", "batch"})
    ->Args({1024, 16})
    ->Args({4096, 512})
    ->Args({4096, 32768})
    ->Args({1021, 32768});  // prime

}  // namespace
}  // namespace libraries
