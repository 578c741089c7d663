// SPDX-License-Identifier: Apache-2.0
#include "gpubench/detail/buffers.h"

#include <fmt/format.h>

#include <limits>

#include "bench/memory/host_memory.h"
#include "gpu/memory/memory.h"

namespace gpubench::detail {
namespace {

// A GPU's L2 fetches up to two lines of 128 bytes at once; a CPU's prefetchers stay within a page.
constexpr std::size_t device_stride = 256;
constexpr std::size_t host_stride = 4096;

void* allocate(Memory memory, std::size_t bytes) {
  return memory == Memory::device ? allocate_device(bytes) : allocate_host(bytes);
}

void release(Memory memory, void* pointer, std::size_t bytes) noexcept {
  if (memory == Memory::device)
    free_device(pointer, bytes);
  else
    free_host(pointer, bytes);
}

}  // namespace

std::shared_ptr<Buffer> make_buffer(Memory memory, std::size_t count, std::size_t element_bytes) {
  if (count > std::numeric_limits<std::size_t>::max() / element_bytes)
    throw OutOfMemory(fmt::format("no memory holds {} elements of {} bytes", count, element_bytes));
  return std::make_shared<Buffer>(memory, count * element_bytes);
}

Buffer::Buffer(Memory memory, std::size_t bytes)
    : memory_(memory), bytes_(bytes), original_(allocate(memory, bytes)), current_(original_) {}

Buffer::~Buffer() {
  drop_copies();
  release(memory_, original_, bytes_);
}

std::size_t Buffer::copy_stride() const {
  const std::size_t unit = memory_ == Memory::device ? device_stride : host_stride;
  return (bytes_ + unit - 1) / unit * unit;
}

void Buffer::make_copies(std::int64_t count) {
  drop_copies();
  if (bytes_ == 0) return;
  stride_ = copy_stride();
  copies_bytes_ = static_cast<std::size_t>(count - 1) * stride_;
  copies_ = static_cast<std::byte*>(allocate(memory_, copies_bytes_));
  const auto repeat = memory_ == Memory::device ? repeat_on_device : repeat_on_host;
  repeat(copies_, original_, bytes_, stride_, count - 1);
}

void Buffer::drop_copies() noexcept {
  current_ = original_;
  if (copies_ != nullptr) release(memory_, copies_, copies_bytes_);
  copies_ = nullptr;
}

void Buffers::add(const std::shared_ptr<Buffer>& buffer) {
  buffer->asked_ = false;  // filling it was no execution
  buffers_.emplace_back(buffer);
}

std::vector<std::shared_ptr<Buffer>> Buffers::all() const {
  std::vector<std::shared_ptr<Buffer>> result;
  for (const auto& each : buffers_)
    if (auto buffer = each.lock()) result.push_back(std::move(buffer));
  return result;
}

std::vector<std::shared_ptr<Buffer>> Buffers::all(Memory memory) const {
  auto result = all();
  std::erase_if(result, [memory](const auto& buffer) { return buffer->memory() != memory; });
  return result;
}

void Buffers::mark_kept() {
  for (const auto& buffer : all()) buffer->kept_ = buffer->asked_;
}

std::vector<BufferUse> Buffers::uses_of(Memory memory, const std::function<void()>& execution) {
  for (const auto& buffer : all()) buffer->asked_ = false;
  execution();
  std::vector<BufferUse> uses;
  for (const auto& buffer : all(memory))
    uses.push_back({buffer->memory(), buffer->bytes(), buffer->copy_stride(), buffer->asked_, buffer->kept_});
  return uses;
}

void Buffers::make_copies(Memory memory, std::int64_t count) {
  drop_copies();
  if (count < 2) return;
  in_turn_ = all(memory);
  try {
    for (const auto& buffer : in_turn_) buffer->make_copies(count);
  } catch (...) {
    drop_copies();
    throw;
  }
  copies_ = count;
}

void Buffers::drop_copies() noexcept {
  for (const auto& buffer : in_turn_) buffer->drop_copies();
  in_turn_.clear();
  copies_ = 1;
  current_ = 0;
}

void Buffers::turn() {
  current_ = current_ + 1 == copies_ ? 0 : current_ + 1;
  for (const auto& buffer : in_turn_) buffer->turn_to(current_);
}

}  // namespace gpubench::detail
