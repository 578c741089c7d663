// SPDX-License-Identifier: Apache-2.0
// Memory on a GPU that is given back stays, for who next asks for as much.
#pragma once

#include <cstddef>
#include <functional>
#include <map>

#include "gpu/memory/memory.h"

namespace gpubench::bench {

/// While one of these lives, device memory that is given back stays, and whoever next asks for as many bytes gets it.
/// So a point that is set up again and again has no memory cleared, and waits for none. One at a time; not safe between
/// threads.
class KeptMemory {
 public:
  using Release = std::function<void(void* pointer, std::size_t bytes)>;
  /// More than `max_bytes` do not stay.
  explicit KeptMemory(std::size_t max_bytes, Release release = detail::free_device);
  ~KeptMemory();
  KeptMemory& operator=(KeptMemory&&) = delete;  ///< not copied, not moved

  /// The one that lives, or null.
  static KeptMemory* current() noexcept;
  /// Null where there is none of this size.
  [[nodiscard]] void* take(std::size_t bytes);
  /// Whether it stays. No work may use it any more.
  [[nodiscard]] bool keep(void* pointer, std::size_t bytes) noexcept;
  /// Gives all of it back. Whether there was any.
  bool clear();

 private:
  std::size_t max_bytes_;
  Release release_;
  std::size_t bytes_ = 0;
  std::multimap<std::size_t, void*> blocks_;
};

}  // namespace gpubench::bench
