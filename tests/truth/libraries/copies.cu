// SPDX-License-Identifier: Apache-2.0
// Commands without a kernel of one's own: copies and fills.
#include <memory>

#include "common.h"

namespace libraries {
namespace {

struct FreeHost {
  void operator()(void* memory) const { (void)cudaFreeHost(memory); }
};
std::unique_ptr<void, FreeHost> pinned(std::int64_t bytes) {
  void* memory = nullptr;
  if (cudaMallocHost(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    (void)cudaGetLastError();
    throw gpubench::OutOfMemory("the host has no " + std::to_string(bytes) + " bytes of pinned memory");
  }
  return std::unique_ptr<void, FreeHost>(memory);
}

void copy_device_to_device(State& state) {
  const auto bytes = state.range(0);
  auto from = state.device_vector<std::byte>(bytes);
  auto to = state.device_vector<std::byte>(bytes);
  state.reads(bytes);
  state.writes(bytes);
  state.measure([&](cudaStream_t stream) {
    LIBRARIES_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
  });
}
GPU_BENCHMARK(copy_device_to_device)->ArgName("bytes")->RangeMultiplier(32)->Range(4 * kibi, 4 * gibi);

void copy_with_host(State& state, cudaMemcpyKind kind) {
  const auto bytes = state.range(0);
  auto device = state.device_vector<std::byte>(bytes);
  const auto host = pinned(bytes);
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  if (to_host)
    state.reads(bytes);
  else
    state.writes(bytes);
  state.measure([&](cudaStream_t stream) {
    void* const other = device.data();
    LIBRARIES_CHECK(cudaMemcpyAsync(to_host ? host.get() : other, to_host ? other : host.get(),
                                    static_cast<std::size_t>(bytes), kind, stream));
  });
}
void copy_host_to_device(State& state) { copy_with_host(state, cudaMemcpyHostToDevice); }
GPU_BENCHMARK(copy_host_to_device)->ArgName("bytes")->RangeMultiplier(64)->Range(4 * kibi, gibi);
void copy_device_to_host(State& state) { copy_with_host(state, cudaMemcpyDeviceToHost); }
GPU_BENCHMARK(copy_device_to_host)->ArgName("bytes")->RangeMultiplier(64)->Range(4 * kibi, gibi);

void fill(State& state) {
  auto x = state.device_vector<std::byte>(state.range(0));
  state.writes(x.bytes());
  state.measure([&](cudaStream_t stream) { LIBRARIES_CHECK(cudaMemsetAsync(x.data(), 1, x.bytes(), stream)); });
}
GPU_BENCHMARK(fill)->ArgName("bytes")->RangeMultiplier(32)->Range(4 * kibi, 4 * gibi);

}  // namespace
}  // namespace libraries
