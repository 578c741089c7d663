// SPDX-License-Identifier: Apache-2.0
// Thrust on the stream given. transform_reduce hands its result to the host, so it waits for the GPU.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include "common.h"

namespace libraries {
namespace {

/// Hands out one piece of memory again and again, as callers do who know that cudaMalloc is slow.
struct Arena {
  using value_type = char;
  char* memory;
  std::size_t size;
  std::size_t used = 0;
  Arena(gpubench::DeviceVector<char>& vector) : memory(vector.data()), size(vector.size()) {}  // NOLINT
  char* allocate(std::ptrdiff_t bytes) {
    const std::size_t start = used;
    used += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    if (used > size) throw gpubench::OutOfMemory("Thrust wants more temporary memory than the suite gives it");
    return memory + start;
  }
  void deallocate(char* /*memory*/, std::size_t /*bytes*/) { used = 0; }  // each call here allocates once
};

struct Square {
  __device__ float operator()(float x) const { return x * x; }
};
void thrust_transform_reduce(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto memory = state.device_vector<char>(mebi, gpubench::none);
  Arena arena(memory);
  state.reads(n * 4);
  state.measure([&](cudaStream_t stream) {
    const thrust::device_ptr<float> begin(x.data());
    float norm = thrust::transform_reduce(thrust::cuda::par(arena).on(stream), begin, begin + n, Square(), 0.0F,
                                          thrust::plus<float>());
    gpubench::keep(norm);
  });
}
GPU_BENCHMARK(thrust_transform_reduce)->ArgName("n")->Arg(4 * kibi)->Arg(4 * mebi)->Arg(64 * mebi)->Arg(512 * mebi);

void thrust_sort_by_key(State& state) {
  const auto n = state.range(0);
  const auto input = state.device_vector<std::int32_t>(n);
  auto keys = state.device_vector<std::int32_t>(n);
  auto values = state.device_vector<float>(n);
  auto memory = state.device_vector<char>(9 * n + 16 * mebi, gpubench::none);
  Arena arena(memory);
  state.items(n);
  state.reads(n * 8);
  state.writes(n * 8);
  state.reset([&](cudaStream_t stream) {
    LIBRARIES_CHECK(cudaMemcpyAsync(keys.data(), input.data(), input.bytes(), cudaMemcpyDeviceToDevice, stream));
  });
  state.measure([&](cudaStream_t stream) {
    const thrust::device_ptr<std::int32_t> begin(keys.data());
    thrust::sort_by_key(thrust::cuda::par_nosync(arena).on(stream), begin, begin + n,
                        thrust::device_ptr<float>(values.data()));
  });
}
GPU_BENCHMARK(thrust_sort_by_key)->ArgName("n")->Arg(16 * kibi)->Arg(2 * mebi)->Arg(64 * mebi);

template <bool scatter>
void move_by_index(State& state) {
  const auto n = state.range(0);
  auto places = indices<std::int32_t>(state, n, n);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(n * 8);
  state.writes(n * 4);
  if constexpr (scatter)
    random_updates(state, n, y.bytes());
  else
    random_reads(state, n, x.bytes());
  state.measure([&](cudaStream_t stream) {
    const auto policy = thrust::cuda::par_nosync.on(stream);
    const thrust::device_ptr<std::int32_t> map(places.data());
    const thrust::device_ptr<float> from(x.data());
    const thrust::device_ptr<float> to(y.data());
    if constexpr (scatter)
      thrust::scatter(policy, from, from + n, map, to);
    else
      thrust::gather(policy, map, map + n, from, to);
  });
}
void thrust_gather(State& state) { move_by_index<false>(state); }
GPU_BENCHMARK(thrust_gather)->ArgName("n")->Arg(4 * kibi)->Arg(4 * mebi)->Arg(128 * mebi);
void thrust_scatter(State& state) { move_by_index<true>(state); }
GPU_BENCHMARK(thrust_scatter)->ArgName("n")->Arg(4 * kibi)->Arg(4 * mebi)->Arg(128 * mebi);

}  // namespace
}  // namespace libraries
