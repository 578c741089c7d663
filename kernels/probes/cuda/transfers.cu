// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/probes/cuda/launch.cuh"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::probes {
namespace {

cudaMemcpyKind kind_of(Direction direction) {
  return direction == Direction::to_gpu     ? cudaMemcpyHostToDevice
         : direction == Direction::from_gpu ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
}

}  // namespace

void wait_for_gpu() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
void enqueue_copy(void* to, const void* from, std::size_t bytes, Direction direction, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream), "cudaMemcpyAsync");
}
void copy_pageable(void* to, const void* from, std::size_t bytes, Direction direction) {
  check(cudaMemcpy(to, from, bytes, kind_of(direction)), "cudaMemcpy");
}
void enqueue_fill(void* memory, int value, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(memory, value, bytes, stream), "cudaMemsetAsync");
}
SideStream::SideStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
SideStream::~SideStream() { (void)cudaStreamDestroy(stream_); }

PinnedMemory::PinnedMemory(std::size_t bytes) {
  check(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  std::memset(memory_, 1, bytes);
}
PinnedMemory::~PinnedMemory() { (void)cudaFreeHost(memory_); }
std::byte* PinnedMemory::on_device() const {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, memory_, 0), "cudaHostGetDevicePointer");
  return static_cast<std::byte*>(address);
}

}  // namespace gpubench::probes
