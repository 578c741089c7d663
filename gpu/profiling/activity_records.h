// SPDX-License-Identifier: Apache-2.0
// What a vendor's profiler recorded, one struct for each kind of record, as the rest of the house reads it. Times are
// nanoseconds on the clock of the records. Texts belong to the profiler, and stay as long as it is loaded.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

namespace gpubench::gpu {

enum class MemoryKind : std::uint8_t {
  unknown,
  pageable,
  pinned,
  device,
  array,
  managed,
  device_static,
  managed_static
};

/// What memory of a kind is called.
struct MemoryKindNames {
  MemoryKind kind = MemoryKind::unknown;
  std::string_view name = "unknown";
  std::string_view in_copies = "device";  ///< as one side of a copy: "copy, host to device"
};
inline constexpr auto memory_kinds = std::to_array<MemoryKindNames>({
    {MemoryKind::unknown, "unknown", "device"},
    {MemoryKind::pageable, "pageable", "pageable"},
    {MemoryKind::pinned, "pinned", "host"},
    {MemoryKind::device, "device", "device"},
    {MemoryKind::array, "array", "array"},
    {MemoryKind::managed, "managed", "managed"},
    {MemoryKind::device_static, "device, static", "device"},
    {MemoryKind::managed_static, "managed, static", "device"},
});
constexpr const MemoryKindNames& names_of(MemoryKind kind) { return memory_kinds[static_cast<std::size_t>(kind)]; }

/// From start to end, of what has both.
struct RecordedSpan {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;  ///< the same in the call and in what it started
  /// Whether the profiler has given times.
  [[nodiscard]] bool is_timed() const { return end_ns != 0 && end_ns >= start_ns; }
};
/// Work of the GPU.
struct RecordedWork : RecordedSpan {
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t graph_node = 0;  ///< of the executable graph that launched it; 0: none did
};
struct RecordedKernel : RecordedWork {
  const char* name = nullptr;  ///< mangled
  std::array<std::int32_t, 3> grid = {};
  std::array<std::int32_t, 3> block = {};
  std::uint32_t registers = 0;  ///< of a thread
  std::int32_t static_shared_bytes = 0;
  std::int32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes = 0;  ///< of a thread
  /// False where no kernel can be so: the record was not read where it lies.
  [[nodiscard]] bool is_possible() const {
    constexpr std::int64_t max_threads = 1024;
    for (std::size_t i = 0; i < 3; ++i)
      if (grid[i] < 1 || block[i] < 1) return false;
    return std::int64_t{block[0]} * block[1] * block[2] <= max_threads && static_shared_bytes >= 0 &&
           dynamic_shared_bytes >= 0;
  }
};
struct RecordedCopy : RecordedWork {
  std::uint64_t bytes = 0;
  std::string_view name;  ///< "copy, host to device"
  MemoryKind from = MemoryKind::unknown;
  MemoryKind to = MemoryKind::unknown;
  bool is_to_peer = false;  ///< recorded as a copy between GPUs
};
struct RecordedMemset : RecordedWork {
  std::uint64_t bytes = 0;
};
/// Of the runtime, or of the driver below it.
struct RecordedCall : RecordedSpan {
  std::uint32_t function = 0;  ///< its number
  std::uint32_t thread = 0;
  bool is_driver = false;
};
struct RecordedSynchronization : RecordedSpan {
  std::uint32_t type = 0;  ///< an index of timeline::synchronization_names where it is one
};
/// What recording cost.
struct RecordedOverhead : RecordedSpan {
  std::string_view what;
  std::uint32_t thread = 0;  ///< 0 where it is of none
};
/// One end of a range.
struct RecordedMarker {
  enum class Phase : std::uint8_t { begin, end, instant };
  Phase phase = Phase::begin;
  std::uint32_t number = 0;  ///< the same at both ends
  std::uint64_t time_ns = 0;
  std::uint32_t thread = 0;    ///< 0 where it is of none
  const char* name = nullptr;  ///< at the begin
};
/// An allocation or a release.
struct RecordedAllocation {
  std::uint64_t time_ns = 0;
  std::uint32_t correlation = 0;
  bool is_release = false;
  bool is_stream_ordered = false;
  bool is_of_pool = false;
  MemoryKind kind = MemoryKind::unknown;
  std::uint32_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  const char* source = nullptr;  ///< the library that asked
};
struct RecordedPool {
  std::uint64_t time_ns = 0;
  std::uint32_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
};

/// monostate: of a kind that nothing here reads.
using RecordedActivity =
    std::variant<std::monostate, RecordedKernel, RecordedCopy, RecordedMemset, RecordedCall, RecordedSynchronization,
                 RecordedOverhead, RecordedMarker, RecordedAllocation, RecordedPool>;

/// For std::visit: one function for each kind of record.
template <class... Functions>
struct ByKind : Functions... {
  using Functions::operator()...;
};

}  // namespace gpubench::gpu
