// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti/cupti_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/time.h"

namespace gpubench::bench {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{2} << 20U;
constexpr std::size_t max_free_buffers = 16;

/// Pages of their own: what the heap is given back it may keep, between allocations of the program.
std::uint8_t* new_buffer() {
  void* const pages = ::mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(pages);
}
void release(void* buffer) { (void)::munmap(buffer, buffer_bytes); }

/// CUPTI's callbacks are bare functions and know no object, so there is one of this in a process, as there is one
/// CUPTI; they come from threads of its own.
struct Buffers {
  std::mutex mutex;
  BufferReader read = nullptr;
  std::set<std::uint8_t*> given;  ///< that CUPTI fills. Others are of another user, such as PyTorch's profiler
  std::vector<std::uint8_t*> free;
  std::vector<FilledBuffer> filled;
};

/// Never destroyed: CUPTI may hand over a last buffer while the process ends.
Buffers& buffers() {
  static auto* const all = new Buffers;
  return *all;
}

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) noexcept {
  const std::lock_guard lock(buffers().mutex);
  if (buffers().free.empty()) {
    *buffer = new_buffer();
  } else {
    *buffer = buffers().free.back();
    buffers().free.pop_back();
  }
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *max_records = 0;  // as many as it holds
  if (*buffer != nullptr) buffers().given.insert(*buffer);
}

/// What another user gave before is neither ours to read nor to release.
void CUPTIAPI take(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                   std::size_t bytes) noexcept {
  std::unique_lock lock(buffers().mutex);
  if (buffers().given.erase(buffer) == 0) return;
  const BufferReader read = buffers().read;
  if (read == nullptr) {
    buffers().filled.push_back({{buffer, release}, bytes});
    return;
  }
  lock.unlock();
  read(context, stream, buffer, bytes);
  lock.lock();
  if (buffers().free.size() < max_free_buffers)
    buffers().free.push_back(buffer);
  else
    release(buffer);
}

/// Another user may have left a clock of its own: PyTorch's profiler leaves one that counts the processor's cycles.
void use_system_clock(const CuptiLibrary& library) {
  constexpr std::uint64_t near_ns = 1'000'000'000;
  std::uint64_t time = 0;
  GPUBENCH_CUPTI_CALL(library, cuptiGetTimestamp, &time);
  const auto system = static_cast<std::uint64_t>(utc_nanoseconds());
  if (std::max(time, system) - std::min(time, system) < near_ns) return;
  GPUBENCH_CUPTI_CALL(library, cuptiActivityRegisterTimestampCallback,
                      [] { return static_cast<std::uint64_t>(utc_nanoseconds()); });
}

}  // namespace

/// Each time: another user of this process may have put callbacks of its own there since.
void register_activity_buffers(const CuptiLibrary& library, BufferReader read) {
  {
    const std::lock_guard lock(buffers().mutex);
    buffers().read = read;
  }
  use_system_clock(library);
  GPUBENCH_CUPTI_CALL(library, cuptiActivityRegisterCallbacks, give, take);
}

void release_buffers(bool left) {
  const std::lock_guard lock(buffers().mutex);
  for (std::uint8_t* const buffer : std::exchange(buffers().free, {})) release(buffer);
  if (!left) return;
  for (std::uint8_t* const buffer : std::exchange(buffers().given, {})) release(buffer);
}

std::size_t missing_buffers() {
  const std::lock_guard lock(buffers().mutex);
  return buffers().given.size();
}

std::vector<FilledBuffer> take_filled_buffers() {
  const std::lock_guard lock(buffers().mutex);
  return std::exchange(buffers().filled, {});
}

}  // namespace gpubench::bench
