// SPDX-License-Identifier: Apache-2.0
// Equal inputs for executions that are counted in several passes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/detail/buffers.h"

namespace gpubench::bench {

/// A piece of memory that State handed out.
struct BufferPlace {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  bool device = false;  ///< in the GPU's memory, else in the host's
};
/// What is still there.
std::vector<BufferPlace> places_of(const detail::Buffers& buffers);

/// An operation that works in place (y += a x, a sort) does other work in each pass, unless each starts from the same
/// contents. This puts them back: those of the memory that State handed out. What an operation allocates by itself is
/// not known here.
class Inputs {
 public:
  /// Memory for a copy, on the device or the host. Throws OutOfMemory.
  using Allocator = std::function<std::shared_ptr<void>(std::size_t bytes, bool device)>;
  static std::shared_ptr<void> allocate(std::size_t bytes, bool device);

  explicit Inputs(std::vector<BufferPlace> buffers, Allocator allocator = allocate)
      : buffers_(std::move(buffers)), allocator_(std::move(allocator)) {}

  /// To be called before the first of several passes, of `executions` each. Runs the operation that often twice over,
  /// and copies whatever the second round changed: an operation that comes to the same result every time needs no copy,
  /// and so no memory. Returns why contents cannot be put back; then passes differ as the operation makes them differ.
  std::optional<std::string> keep(const std::function<void()>& once, int executions);
  /// Puts back what was kept.
  void restore() const;

 private:
  struct Copy {
    BufferPlace original;
    std::shared_ptr<void> contents;
  };

  std::vector<BufferPlace> buffers_;
  Allocator allocator_;
  std::vector<Copy> copies_;
};

}  // namespace gpubench::bench
