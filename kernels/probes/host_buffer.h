// SPDX-License-Identifier: Apache-2.0
// Memory for the host probes.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace gpubench::probes {

/// Page-aligned memory on huge pages where the system has them; pages come into being where they are first touched.
/// Movable, not copyable.
class HostBuffer {
 public:
  HostBuffer() = default;
  /// Throws std::bad_alloc when it cannot be had.
  explicit HostBuffer(std::size_t bytes);
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer();

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The share of a buffer's memory that lies on huge pages, 0 to 1; absent when the system does not tell.
std::optional<double> huge_page_share(const HostBuffer& buffer);

/// Bytes that can be allocated now without swapping; 0 when the system does not say.
std::size_t available_memory_bytes();

}  // namespace gpubench::probes
