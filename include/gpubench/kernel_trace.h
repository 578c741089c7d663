// SPDX-License-Identifier: Apache-2.0
// The host's side of events inside kernels (gpubench/kernel_trace.cuh). Link gpubench::kernel_trace.
//
//   gpubench::kernel_trace::Buffer buffer({.blocks = 132, .warps = 8, .events = 4096});
//   buffer.name(load, "load").name(compute, "compute");
//   kernel<<<132, 256, 0, stream>>>(buffer.view("kernel"));
//   const auto trace = buffer.read(stream);
//   std::cout << trace.table();
//   trace.write("kernel.perfetto-trace");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpubench/detail/kernel_trace_layout.h"
#include "gpubench/stream.h"

namespace gpubench::kernel_trace {

/// What a kernel is handed, by value. One without memory records nothing.
struct View {
  void* memory = nullptr;                    ///< of the buffer, on the device; null: nothing is recorded
  std::uint32_t slice_offset = 0;            ///< bytes from there to the first warp's slice
  std::uint32_t blocks = 0;                  ///< that have slices
  std::uint32_t warps = 0;                   ///< of a block that have slices
  std::uint32_t slots = 0;                   ///< events of a slice
  std::uint32_t launches = 0;                ///< that are kept
  std::uint32_t launch = 0;                  ///< the number of this launch
  std::uint32_t sampled = 0;                 ///< only some blocks, warps or SMs record
  std::uint32_t every_block = 1;             ///< as in Options
  std::uint32_t every_warp = 1;              ///< as in Options
  std::uint32_t first_sm = 0;                ///< as in Options
  std::uint32_t last_sm = 0xFFFF;            ///< as in Options
  std::uint32_t block_inverse = 0xFFFFFFFF;  ///< (2^32 - 1) / every_block
  std::uint32_t warp_inverse = 0xFFFFFFFF;   ///< (2^32 - 1) / every_warp
};

enum class Memory {
  device,
  pinned  ///< the host's: slower, but what was written can be read after a kernel that trapped
};

/// What a buffer holds, and what is recorded into it.
struct Options {
  std::uint32_t blocks = 0;        ///< of the largest launch
  std::uint32_t warps = 0;         ///< of a block
  std::uint32_t events = 1024;     ///< of a warp in one launch; a value takes two, a place three
  std::uint32_t launches = 1;      ///< that are kept, those of replayed graphs too
  std::uint32_t every_block = 1;   ///< records blocks 0, n, 2 n, ...
  std::uint32_t every_warp = 1;    ///< records warps 0, n, 2 n, ... of a block
  std::uint32_t first_sm = 0;      ///< records what runs on these SMs
  std::uint32_t last_sm = 0xFFFF;  ///< the last of them
  Memory memory = Memory::device;  ///< where the buffer lies
  bool enabled = true;             ///< false: views record nothing, and no memory is taken
};

/// The memory that a buffer takes. Throws std::invalid_argument for what no buffer can be.
std::uint64_t bytes(const Options& options);

/// Times of one range, in nanoseconds.
struct RangeStatistics {
  std::string name;        ///< of the range's id
  std::int64_t count = 0;  ///< ranges that ended
  double total_ns = 0.0;   ///< of all warps
  double mean_ns = 0.0;    ///< of one
  double p50_ns = 0.0;     ///< half of them are shorter
  double p99_ns = 0.0;     ///< 99 of 100 are shorter
  double max_ns = 0.0;     ///< the longest
};
/// The time of one range on one SM, or in one block.
struct PlaceStatistics {
  std::int64_t place = 0;   ///< the SM or the block
  std::int64_t launch = 0;  ///< its number
  std::string name;         ///< of the range's id
  std::int64_t count = 0;   ///< ranges that ended
  double total_ns = 0.0;    ///< of all warps there
};
/// How unevenly a range's time is spread over the warps that have it.
struct Imbalance {
  std::string name;     ///< of the range's id
  double sms = 1.0;     ///< the most of an SM over the mean of SMs
  double blocks = 1.0;  ///< of blocks
  double warps = 1.0;   ///< of warps
};
/// How far apart the warps of a block begin the same range: what a barrier makes them wait.
struct Gap {
  std::string name;        ///< of the range's id
  std::int64_t count = 0;  ///< beginnings that all warps of their block have
  double mean_ns = 0.0;    ///< from the first warp's to the last one's
  double max_ns = 0.0;     ///< the longest
};
/// The warp that ended last in a launch.
struct CriticalWarp {
  std::int64_t launch = 0;  ///< its number
  std::string kernel;       ///< its name
  std::int64_t block = 0;   ///< of the grid
  std::int64_t warp = 0;    ///< of the block
  std::int64_t sm = 0;      ///< that it ran on
  double end_ns = 0.0;      ///< after the launch's first opening
  double median_ns = 0.0;   ///< that of all warps
};
/// What a trace comes to.
struct Statistics {
  std::vector<RangeStatistics> ranges;    ///< by falling total
  std::vector<PlaceStatistics> by_sm;     ///< of each range on each SM
  std::vector<PlaceStatistics> by_block;  ///< of each range in each block
  std::vector<Imbalance> imbalance;       ///< of each range
  std::vector<Gap> gaps;                  ///< of each range
  std::vector<CriticalWarp> critical;     ///< of each launch
  double warps_ns = 0.0;                  ///< from opening to end, of all warps
  std::int64_t events = 0;                ///< recorded
  std::int64_t dropped = 0;               ///< events that did not fit, or that newer ones overwrote
  double event_ns = 0.0;                  ///< taken off each range for each event in it; 0: nothing was taken off
  double scope_ns = 0.0;                  ///< taken off each scope; 0: nothing was taken off
  std::vector<std::string> warnings;      ///< a sentence each
};

/// In an operation of GPU_BENCHMARK: shows beside the verdict what share of its warps' time each range takes.
template <class State>
void show_phases(State& state, const Statistics& statistics) {
  if (!(statistics.warps_ns > 0.0)) return;
  for (const RangeStatistics& range : statistics.ranges) {
    double uneven = 1.0;
    for (const Imbalance& one : statistics.imbalance)
      if (one.name == range.name) uneven = one.sms > 1.0 ? one.sms : 1.0;
    state.phase(range.name, range.total_ns / statistics.warps_ns, range.mean_ns * 1e-9, range.count, uneven);
  }
}

struct Recording;

/// What was recorded, decoded.
class Trace {
 public:
  /// Of what Buffer::read and decode_bytes made.
  explicit Trace(std::shared_ptr<const Recording> recording) : recording_(std::move(recording)) {}

  /// Takes `event_ns` off each range for each event from its beginning to its end, of which a scope in it is two, and
  /// `scope_ns` off each scope. Nothing is taken off otherwise.
  [[nodiscard]] Trace corrected(double event_ns, double scope_ns = 0.0) const;

  /// Times of ranges, and how they are spread.
  [[nodiscard]] Statistics statistics() const;
  /// As text for a terminal.
  [[nodiscard]] std::string table() const;
  /// The statistics of ranges, one a line.
  [[nodiscard]] std::string csv() const;
  /// All statistics.
  [[nodiscard]] std::string json() const;
  /// A timeline (.perfetto-trace or .json), or statistics (.csv, .stats.json, .txt), as the name ends. Throws
  /// std::runtime_error.
  void write(const std::filesystem::path& file) const;
  /// Lives as long as the trace.
  [[nodiscard]] const Recording& recording() const& { return *recording_; }
  const Recording& recording() const&& = delete;

 private:
  std::shared_ptr<const Recording> recording_;
};

/// For buffers whose memory is another's, such as a tensor's: the 64 bytes with which it begins; all others are 0.
std::vector<std::byte> header_bytes(const Options& options);
/// What such a buffer holds, copied to the host. Throws std::invalid_argument for bytes that no buffer holds.
Trace decode_bytes(std::span<const std::byte> buffer, const std::vector<std::string>& names,
                   const std::vector<std::string>& kernels);

/// Memory for events, and the names of their ids. Not to be used by several threads at once. All calls throw
/// std::runtime_error where CUDA fails.
class Buffer {
 public:
  /// Takes the memory. Throws std::invalid_argument for what no buffer can be.
  explicit Buffer(const Options& options);
  ~Buffer();
  /// The other holds nothing any more.
  Buffer(Buffer&& other) noexcept;
  /// The other holds nothing any more.
  Buffer& operator=(Buffer&& other) noexcept;

  /// The memory that it takes.
  [[nodiscard]] std::uint64_t bytes() const;

  /// What events of this id are called. Throws std::invalid_argument for an id from 4095 on.
  Buffer& name(std::uint32_t id, std::string_view text);

  /// For a launch of this name, under an id of its own. A view may serve several launches, also those of a graph: they
  /// are told apart by time.
  [[nodiscard]] View view(std::string_view kernel = "kernel");

  /// Forgets all events, in the order of the stream. May be captured into a graph.
  void reset(Stream stream = nullptr);
  /// Begins to copy what there is to the host, in the order of the stream.
  void copy(Stream stream = nullptr);
  /// What the last copy brought, or where there was none what there is now: waits for the stream.
  [[nodiscard]] Trace read(Stream stream = nullptr);

  /// Where the buffer begins, for kernels that read its header.
  [[nodiscard]] void* device_memory() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

/// What an event costs a warp on this GPU, where each SM has so many warps that record: measured now, in under 50 ms.
struct EventCost {
  double event_ns = 0.0;     ///< what one event adds to its warp's time
  double interval_ns = 0.0;  ///< between the stamps of two events that follow one another
  double scope_ns = 0.0;     ///< what a scope shows with nothing in it
  int warps = 0;             ///< on each SM
};
EventCost measure_event_cost(int warps_on_each_sm, Stream stream = nullptr);

/// The time that tracing adds to what `launch` enqueues: it is called in turn with a view that records and with one
/// that does not.
struct AddedTime {
  double with_us = 0.0;     ///< median, by CUDA events
  double without_us = 0.0;  ///< likewise
  /// 0.03: 3 % longer.
  [[nodiscard]] double share() const { return with_us / without_us - 1.0; }
};
AddedTime measure_added_time(Buffer& buffer, const std::function<void(const View&)>& launch, Stream stream = nullptr,
                             int repeats = 21);

}  // namespace gpubench::kernel_trace
