// SPDX-License-Identifier: Apache-2.0
// What moves bytes without kernels between the host and the current GPU. And calls that wait. All throw GpuError.
#pragma once

#include <cstddef>

#include "kernels/probes/cuda/clock.h"

namespace gpubench::probes {

/// Waits for everything on the current GPU.
void wait_for_gpu();

enum class Direction { to_gpu, from_gpu, within_gpu };
void enqueue_copy(void* to, const void* from, std::size_t bytes, Direction direction, Stream stream);
/// The same of ordinary host memory, on the default stream.
void copy_pageable(void* to, const void* from, std::size_t bytes, Direction direction);
void enqueue_fill(void* memory, int value, std::size_t bytes, Stream stream);

/// A stream beside the GPU's own.
class SideStream {
 public:
  SideStream();
  ~SideStream();
  SideStream& operator=(SideStream&&) = delete;  ///< not copied, not moved
  [[nodiscard]] Stream get() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

/// Pinned and mapped host memory, every page touched.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);
  /// On a NUMA node of the host. Throws GpuError where the system does not put it there.
  PinnedMemory(std::size_t bytes, int numa_node);
  ~PinnedMemory();
  PinnedMemory& operator=(PinnedMemory&&) = delete;  ///< not copied, not moved
  [[nodiscard]] std::byte* on_host() const { return static_cast<std::byte*>(memory_); }
  /// The same memory as kernels address it.
  [[nodiscard]] std::byte* on_device() const;

 private:
  void* memory_ = nullptr;
  std::size_t mapped_ = 0;  ///< bytes of a mapping of our own; 0: the driver's
};

}  // namespace gpubench::probes
