// SPDX-License-Identifier: Apache-2.0
// The memory that an operation was handed, for those who look after it around executions.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace gpubench::detail {

/// Where a piece of it is.
struct BufferPlace {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  bool device = false;  ///< in the GPU's memory, else in the host's
};

/// What State handed out and what is still there, in the order handed out.
class BufferRegistry {
 public:
  void add(const BufferPlace& place) { places_.push_back(place); }
  void remove(const void* pointer) noexcept {
    std::erase_if(places_, [&](const BufferPlace& place) { return place.pointer == pointer; });
  }
  [[nodiscard]] const std::vector<BufferPlace>& places() const { return places_; }

 private:
  std::vector<BufferPlace> places_;
};

/// A vector's entry in a registry, there for as long as the vector owns the memory. The memory stays where it is when
/// its vector moves. Shares the registry, because an operation may keep a vector for longer than its State lives.
class BufferEntry {
 public:
  BufferEntry() = default;
  BufferEntry(std::shared_ptr<BufferRegistry> registry, const BufferPlace& place)
      : registry_(std::move(registry)), pointer_(place.pointer) {
    registry_->add(place);
  }
  ~BufferEntry() {
    if (registry_) registry_->remove(pointer_);
  }
  BufferEntry(BufferEntry&& other) noexcept
      : registry_(std::move(other.registry_)), pointer_(std::exchange(other.pointer_, nullptr)) {}
  BufferEntry& operator=(BufferEntry&& other) noexcept {
    std::swap(registry_, other.registry_);
    std::swap(pointer_, other.pointer_);
    return *this;
  }

 private:
  std::shared_ptr<BufferRegistry> registry_;
  const void* pointer_ = nullptr;
};

}  // namespace gpubench::detail
