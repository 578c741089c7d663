// SPDX-License-Identifier: Apache-2.0
// GPU operations that do what no operation should, between two that behave. gpu_troubles_test.py says what becomes of
// each.
#include <cuda_runtime.h>
#include <gpubench/gpubench.h>

#include <stdexcept>

namespace {

using gpubench::State;
constexpr int count = 1 << 16;

__global__ void fill(float* values, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] = 1.0F;
}

void launch(float* values, cudaStream_t stream) { fill<<<count / 256, 256, 0, stream>>>(values, count); }

void good(State& state) {
  auto values = state.device_vector<float>(count);
  state.writes(values.bytes());
  state.measure([&](cudaStream_t stream) { launch(values.data(), stream); });
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, auto operation) {
    gpubench::register_operation(name, gpubench::DeviceKind::gpu, operation);
  };
  add("first", good);
  add("default_stream", [](State& state) {
    auto values = state.device_vector<float>(count);
    state.measure([&](cudaStream_t) { launch(values.data(), nullptr); });
  });
  add("own_stream", [](State& state) {
    auto values = state.device_vector<float>(count);
    cudaStream_t own = nullptr;
    if (cudaStreamCreate(&own) != cudaSuccess) throw std::runtime_error("no stream");
    state.measure([&](cudaStream_t) { launch(values.data(), own); });
  });
  add("nowhere", [](State& state) { state.measure([](cudaStream_t) {}); });
  add("blocking_copy", [](State& state) {
    auto values = state.device_vector<float>(count);
    float first = 0.0F;
    state.measure([&](cudaStream_t) { cudaMemcpy(&first, values.data(), sizeof(first), cudaMemcpyDeviceToHost); });
  });
  add("synchronises", [](State& state) {
    auto values = state.device_vector<float>(count);
    state.measure([&](cudaStream_t stream) {
      launch(values.data(), stream);
      cudaStreamSynchronize(stream);
    });
  });
  add("throws_inside", [](State& state) { state.measure([](cudaStream_t) { throw 42; }); });
  add("throws_later", [](State& state) {
    auto values = state.device_vector<float>(count);
    int left = 20;
    state.measure([&](cudaStream_t stream) {
      if (--left == 0) throw std::runtime_error("the pool is empty");
      launch(values.data(), stream);
    });
  });
  add("leaves_an_error", [](State& state) {
    good(state);
    void* nothing = nullptr;
    (void)cudaMalloc(&nothing, ~std::size_t{0} / 2);
  });
  add("after_an_error", good);
  add("no_memory_in_verify", [](State& state) {
    state.verify([&state] {
      (void)state.device_vector<double>(std::int64_t{1} << 44);
      return gpubench::Check(true);
    });
    good(state);
  });
  add("no_memory_in_variant", [](State& state) {
    state.ablation(gpubench::less_arithmetic, 0.5, [](cudaStream_t stream) {
      void* nothing = nullptr;
      if (cudaMallocAsync(&nothing, std::size_t{1} << 50, stream) != cudaSuccess) throw std::bad_alloc();
    });
    good(state);
  });
  add("takes_the_memory", [](State& state) {
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    void* most = nullptr;
    if (cudaMalloc(&most, free / 20 * 19) != cudaSuccess) throw std::runtime_error("less memory than was free");
    good(state);
    cudaFree(most);
  });
  // With one GPU these two are as good as any.
  const auto choose_another = [] {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 1) (void)cudaSetDevice(1);
  };
  add("leaves_another_device", [choose_another](State& state) {
    good(state);
    choose_another();
  });
  add("after_another_device", good);
  add("works_on_another_device", [choose_another](State& state) {
    choose_another();
    good(state);
  });
  add("after_work_on_another_device", good);
  add("resets_the_device", [](State& state) {
    good(state);
    cudaDeviceReset();
  });
  add("last", good);
  return true;
}();

}  // namespace
