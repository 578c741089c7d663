// SPDX-License-Identifier: Apache-2.0
// What happened in a program and when, from whatever source: tracks of slices on one clock. Times are nanoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpubench::timeline {

/// Each text once. Number 0 is the empty text.
class StringPool {
 public:
  StringPool();
  std::uint32_t number(std::string_view text);
  [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts_.at(number); }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  /// Of each text, whether it is so.
  template <class Is>
  [[nodiscard]] std::vector<bool> where(const Is& is) const {
    std::vector<bool> result;
    for (const std::string& text : texts_) result.push_back(is(text));
    return result;
  }

 private:
  std::deque<std::string> texts_;  // keeps its addresses, which the keys point into
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

/// What a slice is. Those up to `fill` occupy the GPU.
enum class SliceKind : std::uint8_t {
  kernel,
  communication,  ///< a kernel or copy between GPUs, of NCCL
  copy,
  fill,
  launch,           ///< the host launches a kernel or a graph
  transfer,         ///< the host starts a copy or a fill, and waits for it where it is synchronous
  synchronization,  ///< the host waits for the GPU; on a track that is no thread the wait within a call
  call,             ///< any other call of the CUDA API
  range,            ///< named by the program's author
  overhead,         ///< of the recording itself
  other
};
inline constexpr auto slice_kind_names =
    std::to_array<std::string_view>({"kernel", "communication", "copy", "fill", "launch", "transfer", "synchronization",
                                     "call", "range", "overhead", "other"});
constexpr std::string_view name_of(SliceKind kind) { return slice_kind_names[static_cast<std::size_t>(kind)]; }
constexpr bool occupies_gpu(SliceKind kind) { return kind <= SliceKind::fill; }
constexpr bool is_kernel(SliceKind kind) { return kind == SliceKind::kernel || kind == SliceKind::communication; }
constexpr bool is_command(SliceKind kind) { return kind == SliceKind::copy || kind == SliceKind::fill; }

/// Kinds of CUPTI's records of synchronisation, by number, and the track that they have beside the calls that wait.
inline constexpr auto synchronization_names =
    std::to_array<std::string_view>({"synchronization", "event synchronization", "stream wait for event",
                                     "stream synchronization", "context synchronization"});
inline constexpr std::uint32_t synchronization_track = 0xFFFF'FFFF;

/// How a kernel was launched; each shape stands once in its timeline.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  std::uint32_t registers = 0;  ///< of a thread
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes = 0;  ///< of a thread
  friend auto operator<=>(const LaunchShape&, const LaunchShape&) = default;
};

/// 40 bytes. Slices of one track may nest and overlap.
struct Slice {
  std::int64_t start_ns = 0;     ///< from Timeline::base_ns on
  std::uint32_t name = 0;        ///< in Timeline::names
  std::uint32_t track = 0;       ///< in Timeline::tracks
  std::int64_t duration_ns = 0;  ///< never negative
  /// Ties a call of the host to what it starts on the GPU, within one process; 0 where there is nothing.
  std::uint32_t correlation = 0;
  SliceKind kind = SliceKind::other;
  bool in_graph = false;  ///< part of a CUDA graph's launch
  bool counted = false;   ///< a kernel launch around which counters were read: its time is not its own
  bool open = false;      ///< never ended: its end is that of the recording
  /// Of a kernel its place in Timeline::shapes, of a copy or fill its bytes, of a launch its kernel in Timeline::names,
  /// where the source tells it, of an operator its inputs in Timeline::names ("[[8, 256], []][\"float\", \"\"]":
  /// shapes, types and more, as `operator_work` takes them); -1 where that is not known.
  std::int64_t detail = -1;
  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};
static_assert(sizeof(Slice) == 40);

enum class TrackKind : std::uint8_t {
  stream,
  thread,
  ranges,
  operators,  ///< those that were captured into a graph, over what its launch made of them on the stream of this number
  path,       ///< the critical path, for pages
  other
};

struct Track {
  TrackKind kind = TrackKind::other;
  std::uint32_t process = 0;  ///< in Timeline::processes
  std::int64_t device = -1;   ///< index of the GPU of a stream; -1: none
  std::int64_t id = 0;        ///< the stream's or the thread's own
  std::string name;           ///< as shown: "stream 7"
};

struct Process {
  std::int64_t id = 0;
  std::optional<std::int64_t> rank;  ///< of a distributed program
  std::optional<std::int64_t> local_rank;
  std::string name;  ///< "python3 train.py"
  friend bool operator==(const Process&, const Process&) = default;
};

enum class MemoryKind : std::uint8_t { device, pool, managed, pinned, other };
inline constexpr auto memory_kind_names =
    std::to_array<std::string_view>({"device", "pool", "managed", "pinned", "other"});

/// Memory that was taken or given back.
struct MemoryEvent {
  std::int64_t time_ns = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  ///< taken where positive, given back where negative
  std::uint32_t process = 0;
  std::uint32_t source = 0;  ///< the library that did it, in Timeline::names; 0 where it is not known
  std::int16_t device = -1;
  MemoryKind kind = MemoryKind::device;
};

struct CounterSample {
  std::int64_t time_ns = 0;
  double value = 0.0;
};

/// How the counters begin in which PyTorch's allocator says what it has handed out, and what it holds.
inline constexpr std::string_view allocated_counter = "PyTorch allocated";
inline constexpr std::string_view reserved_counter = "PyTorch reserved";

struct CounterTrack {
  std::uint32_t process = 0;
  std::string name;
  std::string unit;
  std::vector<CounterSample> samples;  ///< by time
};

/// An arrow between two slices, by their places in Timeline::slices: beside what Slice::correlation ties.
struct Flow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t name = 0;
};

/// Chrome's JSON knows threads alone: what gpubench writes there of a track that is none.
inline constexpr std::string_view no_thread = "gpubench_no_thread";
/// What our writers call an operator's inputs and a launch's kernel.
inline constexpr std::string_view operator_inputs = "inputs", launched_kernel = "kernel";
/// How flows are called from the call that made a node of a graph to the work that the node launched.
inline constexpr std::string_view capture_flow = "captured";

/// What happened at one moment.
struct Instant {
  std::int64_t time_ns = 0;
  std::uint32_t name = 0;
  std::uint32_t track = 0;
};

/// What a collective between GPUs was given, where the source tells: of the work with this correlation.
struct Message {
  std::uint32_t process = 0;
  std::uint32_t correlation = 0;
  std::uint32_t collective = 0, type = 0, group = 0;  ///< in Timeline::names: "allreduce", "BFloat16", "0 [0, 1]"
  std::int64_t elements_in = -1, elements_out = -1;   ///< of each rank; -1 where that is not known
  std::int64_t ranks = 0;                             ///< of the group; 0 where that is not known
};
/// What PyTorch calls them in its traces, and our writers too.
inline constexpr std::pair<std::string_view, std::uint32_t Message::*> message_texts[] = {
    {"Collective name", &Message::collective}, {"dtype", &Message::type}, {"Process Group Name", &Message::group}};
inline constexpr std::pair<std::string_view, std::int64_t Message::*> message_numbers[] = {
    {"In msg nelems", &Message::elements_in},
    {"Out msg nelems", &Message::elements_out},
    {"Group size", &Message::ranks}};

/// What a GPU is called, "NVIDIA H200", where the source tells.
struct GpuModel {
  std::uint32_t process = 0;  ///< in Timeline::processes, which numbers GPUs by itself
  std::int64_t device = 0;
  std::string name;
};

struct Timeline {
  std::int64_t base_ns = 0;  ///< what all times count from, since 1970 where the source tells
  StringPool names;
  std::vector<Process> processes;
  std::vector<Track> tracks;
  std::vector<Slice> slices;  ///< sorted by start, the longer first, once `sort` was called
  std::vector<LaunchShape> shapes;
  std::vector<Flow> flows;
  std::vector<Instant> marks;  ///< by time
  std::vector<CounterTrack> counters;
  std::vector<MemoryEvent> memory;  ///< by time
  std::vector<GpuModel> gpus;
  std::vector<Message> messages;
  std::int64_t dropped = 0;           ///< records that the source lost
  std::vector<std::string> warnings;  ///< what is missing or was left out, a sentence each
};

/// The kind of a call by its name in the API: "cudaLaunchKernel_v7000", "cuMemcpyHtoDAsync_v2".
SliceKind kind_of_call(std::string_view name);

/// Sorts slices, marks, counters and memory by time. Flows keep their slices.
void sort(Timeline& timeline);

}  // namespace gpubench::timeline
