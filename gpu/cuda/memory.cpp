// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/memory.h"

#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"

namespace gpubench::bench {
namespace {

/// Where an operation has chosen another device, this one is the current one again.
class CudaMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    select_working_device();
    void* pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, bytes);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // this one is not sticky; leaving it would fail the next launch check
      return nullptr;
    }
    check_cuda(error, "cudaMalloc");
    return pointer;
  }
  void release(void* pointer) noexcept override { (void)cudaFree(pointer); }
  [[nodiscard]] Left left() override {
    Left left;
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&left.free, &left.total));
    return left;
  }
  void wait() override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, working_stream()));
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
  }
  void copy_from_host(void* device, const void* host, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  }
  void set(void* pointer, int value, std::size_t bytes) override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(pointer, value, bytes, working_stream()));
  }
  void draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
            std::uint64_t seed) override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(bench::draw(pointer, kind, filling, bytes, count, seed, working_stream()));
  }
  std::uint64_t fingerprint(const void* pointer, std::size_t bytes) override {
    return bench::fingerprint(pointer, bytes, working_stream());
  }
};

}  // namespace

DeviceMemory& cuda_memory() {
  static CudaMemory memory;
  return memory;
}

}  // namespace gpubench::bench
