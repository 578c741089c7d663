// SPDX-License-Identifier: Apache-2.0
// What a profiled program leaves on disk: one file for each of its processes, of small records, written as it runs.
// Knows no CUDA, so that recorded recordings are read, tested and judged anywhere.
//
// A recording is a header and then records, little-endian, each beginning with its kind. Texts are written once, as
// names with numbers, before the first record that uses them; launch shapes likewise. A kernel takes 28 bytes and the
// call that launched it 28 more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "timeline/timeline.h"

namespace gpubench::profile {

inline constexpr std::array<char, 8> recording_magic = {'G', 'P', 'S', 'P', 'O', 'O', 'L', '1'};
inline constexpr std::string_view recording_extension = ".gprec";
/// Whether a file is a recording by its extension, the one of earlier versions included.
inline bool has_recording_extension(const std::filesystem::path& file) {
  return file.extension() == recording_extension || file.extension() == ".gpspool";
}
/// The file of the options in the folder of the recordings.
inline constexpr const char* recording_options_file = "options";
/// Names the folder of the recordings to the injected library.
inline constexpr const char* recording_folder_variable = "GPUBENCH_RECORDING_FOLDER";
inline constexpr std::size_t max_name_bytes = 4096;

enum class RecordKind : std::uint8_t {
  name = 1,
  shape,
  property,
  kernel,
  command,
  call,
  marker,
  memory,
  pool,
  overhead,
  counted,
  note,
  dropped,
  cost,
  end,
  synchronization,
  graph_node,
  of_node
};

/// `T` begins with a RecordKind and holds no padding.
struct RecordingHeader {
  std::array<char, 8> magic = recording_magic;
  std::int64_t start_ns = 0;  ///< since 1970, as all times
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
};
struct NameRecord {  ///< and its bytes
  RecordKind kind = RecordKind::name;
  std::array<std::uint8_t, 3> unused = {};
  std::uint32_t number = 0;
  std::uint32_t bytes = 0;
};
struct ShapeRecord {
  RecordKind kind = RecordKind::shape;
  std::uint8_t device = 0;
  std::array<std::uint8_t, 2> unused = {};
  std::uint32_t number = 0;
  std::uint32_t name = 0;
  timeline::LaunchShape shape;
};
/// Of the process (device 255) or of one of its GPUs, as two names.
struct PropertyRecord {
  RecordKind kind = RecordKind::property;
  std::uint8_t device = 255;
  std::array<std::uint8_t, 2> unused = {};
  std::uint32_t key = 0;
  std::uint32_t value = 0;
};
/// Durations have 48 bits: 78 hours.
struct KernelRecord {
  RecordKind kind = RecordKind::kernel;
  std::uint8_t in_graph = 0;
  std::uint16_t duration_high = 0;
  std::uint32_t correlation = 0;
  std::array<std::uint32_t, 2> start = {};
  std::uint32_t duration_low = 0;
  std::uint32_t shape = 0;
  std::uint32_t stream = 0;
};
struct CommandRecord {  ///< a copy or a fill
  RecordKind kind = RecordKind::command;
  std::uint8_t in_graph = 0;
  std::uint16_t duration_high = 0;
  std::uint32_t correlation = 0;
  std::array<std::uint32_t, 2> start = {};
  std::uint32_t duration_low = 0;
  std::uint32_t name = 0;
  std::uint32_t stream = 0;
  std::uint32_t device = 0;
  std::array<std::uint32_t, 2> bytes = {};
};
/// Of the CUDA API; as RecordKind::overhead what recording cost; as RecordKind::synchronization the host's wait within
/// the call of this correlation, or a stream's (`type` is CUPTI's).
struct CallRecord {
  RecordKind kind = RecordKind::call;
  std::uint8_t type = 0;
  std::uint16_t duration_high = 0;
  std::uint32_t correlation = 0;
  std::array<std::uint32_t, 2> start = {};
  std::uint32_t duration_low = 0;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
};
enum class MarkerPhase : std::uint8_t { begin, end, instant };
struct MarkerRecord {  ///< one end of a range
  RecordKind kind = RecordKind::marker;
  MarkerPhase phase = MarkerPhase::begin;
  std::array<std::uint8_t, 2> unused = {};
  std::uint32_t number = 0;  ///< the same at both ends
  std::array<std::uint32_t, 2> time = {};
  std::uint32_t thread = 0;
  std::uint32_t name = 0;
};
struct MemoryRecord {
  RecordKind kind = RecordKind::memory;
  std::uint8_t freed = 0;
  timeline::MemoryKind memory = timeline::MemoryKind::device;
  std::uint8_t device = 255;
  std::uint32_t source = 0;
  std::array<std::uint32_t, 2> time = {};
  std::array<std::uint32_t, 2> address = {};
  std::array<std::uint32_t, 2> bytes = {};
};
struct PoolRecord {  ///< what a memory pool holds, and what of it is in use
  RecordKind kind = RecordKind::pool;
  std::array<std::uint8_t, 2> unused = {};
  std::uint8_t device = 255;
  std::array<std::uint32_t, 2> time = {};
  std::array<std::uint32_t, 2> address = {};
  std::array<std::uint32_t, 2> reserved = {};
  std::array<std::uint32_t, 2> used = {};
};
struct CountedRecord {  ///< and for each value the number of its metric's name and a double
  RecordKind kind = RecordKind::counted;
  std::uint8_t unused = 0;
  std::uint16_t values = 0;
  std::uint32_t correlation = 0;
};
/// A sentence for the user: what was left out, or went wrong.
struct NoteRecord {
  RecordKind kind = RecordKind::note;
  std::uint8_t about_counters = 0;  ///< why there are none
  std::array<std::uint8_t, 2> unused = {};
  std::uint32_t name = 0;
};
struct DroppedRecord {
  RecordKind kind = RecordKind::dropped;
  std::array<std::uint8_t, 3> unused = {};
  std::uint32_t count = 0;
};
struct CostRecord {  ///< what the recording itself took in the program
  RecordKind kind = RecordKind::cost;
  std::array<std::uint8_t, 3> unused = {};
  std::uint32_t name = 0;
  std::uint32_t count = 0;
  std::array<std::uint32_t, 2> nanoseconds = {};  ///< of all together
};
/// A node of a CUDA graph: made by the call that this thread was in, or by instantiating another one's graph.
struct GraphNodeRecord {
  RecordKind kind = RecordKind::graph_node;
  std::array<std::uint8_t, 3> unused = {};
  std::array<std::uint32_t, 2> node = {};
  std::array<std::uint32_t, 2> copy_of = {};  ///< the other node; 0: it was made by a call
  std::array<std::uint32_t, 2> time = {};
  std::uint32_t thread = 0;
};
/// Which node the kernel or command was launched by that the next record holds.
struct OfNodeRecord {
  RecordKind kind = RecordKind::of_node;
  std::array<std::uint8_t, 3> unused = {};
  std::array<std::uint32_t, 2> node = {};
};
struct EndRecord {  ///< the process ended in order
  RecordKind kind = RecordKind::end;
  std::array<std::uint8_t, 3> unused = {};
};

constexpr std::array<std::uint32_t, 2> halves(std::uint64_t value) {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32U)};
}
constexpr std::uint64_t whole(const std::array<std::uint32_t, 2>& value) {
  return value[0] | (static_cast<std::uint64_t>(value[1]) << 32U);
}
template <class Record>
void set_duration(Record& record, std::uint64_t nanoseconds) {
  record.duration_low = static_cast<std::uint32_t>(nanoseconds);
  record.duration_high = static_cast<std::uint16_t>(nanoseconds >> 32U);
}
template <class Record>
std::int64_t duration_of(const Record& record) {
  return static_cast<std::int64_t>(record.duration_low | (static_cast<std::uint64_t>(record.duration_high) << 32U));
}

}  // namespace gpubench::profile
