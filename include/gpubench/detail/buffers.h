// SPDX-License-Identifier: Apache-2.0
// The memory behind vectors. Where caches are to be cold it has copies, and each execution finds another of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gpubench::detail {

enum class Memory { host, device };

/// One piece of memory, and perhaps copies of it.
class Buffer {
 public:
  /// Throws OutOfMemory or GpuError.
  Buffer(Memory memory, std::size_t bytes);
  ~Buffer();
  Buffer& operator=(Buffer&&) = delete;  ///< not copied, not moved

  /// Where the contents are now. Notes that somebody asked.
  [[nodiscard]] void* data() {
    if (!asked_.load(std::memory_order_relaxed)) asked_.store(true, std::memory_order_relaxed);
    return current_;
  }
  /// The same without the note, for what does not keep the pointer.
  [[nodiscard]] void* place() const { return current_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Memory memory() const { return memory_; }
  /// From one copy to the next, so that they share neither cache lines nor prefetches.
  [[nodiscard]] std::size_t copy_stride() const;

 private:
  friend class Buffers;
  void make_copies(std::int64_t count);  ///< the original is the first of them
  void drop_copies() noexcept;
  void turn_to(std::int64_t copy) {
    const bool original = copy == 0 || copies_ == nullptr;
    current_ = original ? original_ : copies_ + static_cast<std::size_t>(copy - 1) * stride_;
  }

  Memory memory_;
  std::size_t bytes_;
  void* original_;
  void* current_;
  std::byte* copies_ = nullptr;
  std::size_t copies_bytes_ = 0;
  std::size_t stride_ = 0;
  std::atomic<bool> asked_ = false;
  bool kept_ = false;  ///< asked for before the execution that is watched
};

/// What one execution did with a buffer.
struct BufferUse {
  Memory memory = Memory::device;
  std::size_t bytes = 0;
  std::size_t copy_stride = 0;
  bool asked = false;  ///< it called data(): the next execution will find the next copy
  bool kept = false;   ///< data() was called before it, so that it may have used a pointer of then
};

/// The buffers that one State handed out and that still exist, in that order.
class Buffers {
 public:
  void add(const std::shared_ptr<Buffer>& buffer);
  [[nodiscard]] std::vector<std::shared_ptr<Buffer>> all() const;
  [[nodiscard]] std::vector<std::shared_ptr<Buffer>> all(Memory memory) const;

  /// Called before each execution: the next copy's turn, where there are copies.
  void next() {
    if (copies_ > 1) turn();
  }

  /// The operation may have kept pointers given out before this.
  void mark_kept();
  /// Runs one execution and tells how it used the buffers in one memory.
  [[nodiscard]] std::vector<BufferUse> uses_of(Memory memory, const std::function<void()>& execution);

  /// Makes `count` copies of every buffer in one memory, the original among them. Throws OutOfMemory or GpuError.
  void make_copies(Memory memory, std::int64_t count);
  /// Back to the originals.
  void drop_copies() noexcept;

 private:
  void turn();

  std::vector<std::weak_ptr<Buffer>> buffers_;
  std::vector<std::shared_ptr<Buffer>> in_turn_;
  std::int64_t copies_ = 1;
  std::int64_t current_ = 0;
};

/// The memory of a vector. Throws OutOfMemory.
std::shared_ptr<Buffer> make_buffer(Memory memory, std::size_t count, std::size_t element_bytes);

void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);

}  // namespace gpubench::detail
