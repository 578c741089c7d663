// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/kept_memory.h"

#include <utility>

namespace gpubench::bench {

static KeptMemory* kept_memory = nullptr;

KeptMemory::KeptMemory(std::size_t max_bytes, Release release) : max_bytes_(max_bytes), release_(std::move(release)) {
  kept_memory = this;
}

KeptMemory::~KeptMemory() {
  kept_memory = nullptr;
  clear();
}

KeptMemory* KeptMemory::current() noexcept { return kept_memory; }

void* KeptMemory::take(std::size_t bytes) {
  const auto block = blocks_.extract(bytes);
  if (block.empty()) return nullptr;
  bytes_ -= bytes;
  return block.mapped();
}

bool KeptMemory::keep(void* pointer, std::size_t bytes) noexcept {
  if (pointer == nullptr || bytes > max_bytes_ - bytes_) return false;
  blocks_.emplace(bytes, pointer);
  bytes_ += bytes;
  return true;
}

bool KeptMemory::clear() {
  const auto blocks = std::exchange(blocks_, {});
  bytes_ = 0;
  auto* const before = std::exchange(kept_memory, nullptr);
  for (const auto& [bytes, pointer] : blocks) release_(pointer, bytes);
  kept_memory = before;
  return !blocks.empty();
}

}  // namespace gpubench::bench
