// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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
PinnedMemory::PinnedMemory(std::size_t bytes, int numa_node) : mapped_(bytes) {
  constexpr int bind = 2, strictly = 1;  // MPOL_BIND and MPOL_MF_STRICT of linux/mempolicy.h
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 16> nodes{};
  const auto node = static_cast<std::size_t>(numa_node);
  require(node < nodes.size() * bits, "memory of this NUMA node");
  nodes[node / bits] |= 1UL << node % bits;
  memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) throw GpuError(std::string("host memory: ") + std::strerror(errno));
  const auto give_up = [&](const std::string& why) {
    (void)munmap(memory_, bytes);
    throw GpuError(why);
  };
  if (syscall(SYS_mbind, memory_, bytes, bind, nodes.data(), nodes.size() * bits, strictly) != 0)
    give_up("memory of NUMA node " + std::to_string(numa_node) + " is refused: " + std::strerror(errno));
  std::memset(memory_, 1, bytes);
  if (const cudaError_t error = cudaHostRegister(memory_, bytes, cudaHostRegisterMapped); error != cudaSuccess) {
    (void)cudaGetLastError();
    give_up(std::string("cudaHostRegister failed: ") + cudaGetErrorString(error));
  }
}
PinnedMemory::~PinnedMemory() {
  if (mapped_ == 0) {
    (void)cudaFreeHost(memory_);
    return;
  }
  (void)cudaHostUnregister(memory_);
  (void)munmap(memory_, mapped_);
}
std::byte* PinnedMemory::on_device() const {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, memory_, 0), "cudaHostGetDevicePointer");
  return static_cast<std::byte*>(address);
}

}  // namespace gpubench::probes
