// SPDX-License-Identifier: Apache-2.0
// Memory for the host probes.
#pragma once

#include <cstddef>
#include <optional>

namespace gpubench::probes {

/// Page-aligned memory on huge pages where the system has them; pages come into being where they are first touched.
class HostBuffer {
 public:
  /// Throws std::bad_alloc when it cannot be had.
  explicit HostBuffer(std::size_t bytes);
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
