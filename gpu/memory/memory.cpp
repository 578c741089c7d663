// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/time.h"
#include "core/base/units.h"
#include "gpu/backend.h"
#include "gpu/memory/kept_memory.h"
#include "gpu/memory/scrubbing.h"

namespace gpubench {
namespace {

bench::DeviceMemory& memory() { return bench::backend_in_use().memory(); }

}  // namespace

namespace detail {

void* allocate_device(std::size_t bytes) {
  auto* const kept = bench::KeptMemory::current();
  void* pointer = kept != nullptr ? kept->take(bytes) : nullptr;
  if (pointer != nullptr) return pointer;
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  pointer = memory().allocate(wanted);
  if (pointer == nullptr && kept != nullptr && kept->clear()) pointer = memory().allocate(wanted);
  if (pointer == nullptr) {
    const auto [free, total] = memory().left();
    throw OutOfMemory(fmt::format("the GPU has {} of {} free, and {} are needed",
                                  format_bytes(static_cast<double>(free)), format_bytes(static_cast<double>(total)),
                                  format_bytes(static_cast<double>(bytes))));
  }
  bench::scrubbing().allocated(static_cast<double>(bytes));
  return pointer;
}

void free_device(void* pointer, std::size_t bytes) noexcept {
  if (auto* const kept = bench::KeptMemory::current(); kept != nullptr) {
    try {
      memory().wait();           // as giving it back would
    } catch (const GpuError&) {  // which later calls meet again
    }
    if (kept->keep(pointer, bytes)) return;
  }
  memory().release(pointer);
  bench::scrubbing().freed(static_cast<double>(bytes), steady_seconds());
}

void copy_from_device(void* host, const void* device, std::size_t bytes) {
  // The harness works on a stream that the default stream does not wait for.
  memory().wait();
  memory().copy_to_host(host, device, bytes);
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  memory().wait();
  memory().copy_from_host(device, host, bytes);
  // From pageable memory the call may return before the bytes have arrived, and the harness's stream would not wait.
  memory().wait();
}

void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed) {
  if (filling == Filling::zeros) return fill_bytes_device(pointer, 0, bytes * count);
  memory().draw(pointer, kind, filling, bytes, count, seed);
  memory().wait();
}

void draw_normal_device(void* pointer, NumberFormat format, std::size_t count, std::uint64_t seed) {
  using enum ElementKind;
  constexpr std::array kinds = {float64, float32, float32, float16, bfloat16, fp8_e4m3, integer, integer};
  draw_device(pointer, kinds[static_cast<std::size_t>(format)], Filling::normal, bytes_of(format), count, seed);
}

void fill_bytes_device(void* pointer, int value, std::size_t bytes) {
  memory().set(pointer, value, bytes);
  memory().wait();
}

void repeat_on_device(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count) {
  if (count < 1) return;
  memory().wait();
  memory().copy(target, source, bytes);
  // Thousands of small copies take as many calls as their number has binary digits.
  for (std::int64_t done = 1; done < count; done *= 2) {
    const auto more = static_cast<std::size_t>(std::min(done, count - done));
    memory().copy(static_cast<std::byte*>(target) + static_cast<std::size_t>(done) * stride, target, more * stride);
  }
  memory().wait();
}

std::size_t free_device_bytes() { return memory().left().free; }

}  // namespace detail

namespace bench {

std::uint64_t device_fingerprint(const void* pointer, std::size_t bytes) {
  if (bytes == 0) return 0;
  memory().wait();  // the harness works on a stream that the default stream does not wait for
  return memory().fingerprint(pointer, bytes);
}

void copy_within_device(void* to, const void* from, std::size_t bytes) {
  memory().wait();
  memory().copy(to, from, bytes);
  memory().wait();
}

}  // namespace bench
}  // namespace gpubench
