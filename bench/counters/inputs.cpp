// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/inputs.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "bench/memory/allocation.h"
#include "bench/memory/contents.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {

std::vector<std::uint64_t> fingerprints(const std::vector<BufferPlace>& buffers) {
  std::vector<std::uint64_t> result;
  result.reserve(buffers.size());
  for (const auto& [pointer, bytes, device] : buffers)
    result.push_back(device ? device_fingerprint(pointer, bytes) : host_fingerprint(pointer, bytes));
  return result;
}

void copy(void* to, const void* from, std::size_t bytes, bool device) {
  if (device)
    copy_within_device(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace

std::vector<BufferPlace> places_of(const detail::Buffers& buffers) {
  std::vector<BufferPlace> places;
  for (const auto& buffer : buffers.all())
    places.push_back({buffer->place(), buffer->bytes(), buffer->memory() == detail::Memory::device});
  return places;
}

std::shared_ptr<void> Inputs::allocate(std::size_t bytes, bool device) {
  if (device) return {detail::allocate_device(bytes), [bytes](void* pointer) { detail::free_device(pointer, bytes); }};
  return {detail::allocate_host(bytes), [bytes](void* pointer) { detail::free_host(pointer, bytes); }};
}

std::optional<std::string> Inputs::keep(const std::function<void()>& once, int executions) {
  const auto round = [&] {
    for (int i = 0; i < executions; ++i) once();
  };
  round();
  const auto before = fingerprints(buffers_);
  round();
  const auto after = fingerprints(buffers_);
  try {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (before[i] == after[i]) continue;
      copies_.push_back({buffers_[i], allocator_(buffers_[i].bytes, buffers_[i].device)});
    }
  } catch (const OutOfMemory& error) {
    copies_.clear();  // part of the inputs would be a state that never was
    return fmt::format("no memory for copies of what each execution changes: {}", error.what());
  }
  for (const auto& [original, contents] : copies_)
    copy(contents.get(), original.pointer, original.bytes, original.device);
  return std::nullopt;
}

void Inputs::restore() const {
  for (const auto& [original, contents] : copies_)
    copy(original.pointer, contents.get(), original.bytes, original.device);
}

}  // namespace gpubench::bench
