// SPDX-License-Identifier: Apache-2.0
// Random numbers by cuRAND's host interface.
#include <curand.h>

#include "common.h"

namespace libraries {
namespace {

void curand(State& state, bool normal) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n, gpubench::none);
  Owned<curandGenerator_t, curandDestroyGenerator> generator;
  LIBRARIES_CHECK(curandCreateGenerator(&generator.handle, state.text("generator") == "xorwow"
                                                               ? CURAND_RNG_PSEUDO_XORWOW
                                                               : CURAND_RNG_PSEUDO_PHILOX4_32_10));
  LIBRARIES_CHECK(curandGenerateSeeds(generator.handle));  // else the first call does, with an allocation
  LIBRARIES_CHECK(cudaDeviceSynchronize());
  state.writes(n * 4);
  state.items(n);
  state.measure([&](cudaStream_t stream) {
    generator.on(stream, [&] { LIBRARIES_CHECK(curandSetStream(generator.handle, stream)); });
    const auto count = static_cast<std::size_t>(n);
    LIBRARIES_CHECK(normal ? curandGenerateNormal(generator.handle, x.data(), count, 0.0F, 1.0F)
                           : curandGenerateUniform(generator.handle, x.data(), count));
  });
}
void curand_uniform(State& state) { curand(state, false); }
GPU_BENCHMARK_TEXTS(curand_uniform, generator, xorwow, philox)
    ->ArgName("n")
    ->Arg(16 * kibi)
    ->Arg(4 * mebi)
    ->Arg(256 * mebi);
void curand_normal(State& state) { curand(state, true); }
GPU_BENCHMARK_TEXTS(curand_normal, generator, xorwow, philox)->ArgName("n")->Arg(64 * kibi)->Arg(256 * mebi);

}  // namespace
}  // namespace libraries
