// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <new>
#include <string>

#include "bench/cuda/blocker.h"
#include "bench/cuda/cuda_error.h"

namespace gpubench::bench {
namespace {

__device__ unsigned long long global_nanoseconds() {
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void hold_kernel(Blocker::Shared* shared, std::uint32_t number, unsigned long long limit_nanoseconds) {
  const unsigned long long start = global_nanoseconds();
  while (shared->released < number) {
    if (global_nanoseconds() - start > limit_nanoseconds) {
      shared->timed_out = number;
      __threadfence_system();
      return;
    }
  }
}

}  // namespace

Blocker::Blocker(cudaStream_t stream) : stream_(stream) {
  void* memory = nullptr;
  GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory, sizeof(Shared), cudaHostAllocMapped | cudaHostAllocPortable));
  shared_ = new (memory) Shared();
  void* device = nullptr;
  cudaError_t error = cudaHostGetDevicePointer(&device, memory, 0);
  device_shared_ = static_cast<Shared*>(device);
  if (error == cudaSuccess) {
    hold_kernel<<<1, 1, 0, stream_>>>(device_shared_, 0, 0);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream_);
  if (error != cudaSuccess) {
    (void)cudaFreeHost(memory);
    check_cuda(error, "preparing the kernel that holds a stream");
  }
}

Blocker::~Blocker() {
  release();
  (void)cudaStreamSynchronize(stream_);  // a kernel that still spins reads the memory freed next
  (void)cudaFreeHost(shared_);
}

void Blocker::hold() {
  ++number_;
  hold_kernel<<<1, 1, 0, stream_>>>(device_shared_, number_, static_cast<unsigned long long>(limit_seconds * 1e9));
  check_launch("the kernel that holds a stream");
}

void Blocker::release() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  shared_->released = number_;
}

void Blocker::hold_while(const std::function<void()>& enqueue) {
  hold();
  try {
    enqueue();
  } catch (...) {
    release();
    throw;
  }
  release();
}

void Blocker::check() const {
  if (number_ == 0 || shared_->timed_out != number_) return;
  throw CudaError("the stream was held for " + std::to_string(static_cast<int>(limit_seconds)) +
                  " s: the operation waits for the GPU, or fills its queue, while it is being enqueued, so that its "
                  "time on the GPU cannot be told from the host's; --time=latency times the two together");
}

}  // namespace gpubench::bench
