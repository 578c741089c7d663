// SPDX-License-Identifier: Apache-2.0
// What a profiled program leaves on disk: one file for each of its processes, of small records, written as it runs.
// Knows no CUDA, so that recorded recordings are read, tested and judged anywhere.
//
// A recording is a header and then records, little-endian, each beginning with its kind. Texts are written once, as names
// with numbers, before the first record that uses them; launch shapes likewise. A kernel takes 28 bytes and the call
// that launched it 28 more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::profile {

inline constexpr std::array<char, 8> recording_magic = {'G', 'P', 'S', 'P', 'O', 'O', 'L', '1'};
inline constexpr std::string_view recording_extension = ".gpspool";
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
  synchronization
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

/// Appends to one recording. Threads may share it. Never throws: a full disk or the limit end the recording, once, and what
/// was written stays.
class RecordingWriter {
 public:
  /// Creates the file, readable by this user alone. Not `open` on failure.
  RecordingWriter(const std::filesystem::path& file, const RecordingHeader& header, std::uint64_t max_bytes);
  ~RecordingWriter();
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  /// False once nothing more is kept.
  [[nodiscard]] bool open() const { return file_ >= 0 && !full_; }

  /// Several calls that belong together hold one of these.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // With the lock held:
  std::uint32_t name(std::string_view text);
  std::uint32_t shape(std::uint8_t device, std::uint32_t name, const timeline::LaunchShape& shape);
  template <class Record>
  void add(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record> && alignof(Record) <= 4);
    hold(&record, sizeof record);
    flush_if_much();
  }
  void counted(std::uint32_t correlation, const std::vector<std::pair<std::uint32_t, double>>& values);
  void note(std::string_view sentence, bool about_counters = false);
  /// Hands over to the system what is still held.
  void flush();

 private:
  void hold(const void* bytes, std::size_t count);
  void flush_if_much();  ///< between whole records alone

  std::mutex mutex_;
  int file_ = -1;
  bool full_ = false;
  bool ending_ = false;
  std::uint32_t disk_full_ = 0;  ///< the number of the sentence that says so: a full disk has no room for it
  std::uint64_t written_ = 0;
  std::uint64_t max_bytes_;
  std::vector<std::uint8_t> held_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::map<std::pair<std::pair<std::uint8_t, std::uint32_t>, timeline::LaunchShape>, std::uint32_t> shapes_;
};

/// Around one launch, by metric.
struct CountedLaunch {
  std::uint32_t process = 0;  ///< in Timeline::processes
  std::uint32_t correlation = 0;
  std::vector<std::pair<std::uint32_t, double>> values;  ///< number of the metric's name in Timeline::names
};

/// A GPU as one process saw it, by the properties it wrote.
struct RecordedDevice {
  std::uint32_t process = 0;
  int index = 0;
  std::map<std::string, std::string> properties;  ///< "name", "uuid", "multiprocessors", "architecture", ...
};

/// All that the processes of one program left.
struct Recordings {
  timeline::Timeline timeline;
  std::vector<RecordedDevice> devices;
  std::vector<CountedLaunch> counted;
  std::vector<std::string> counter_notes;            ///< why there are no counters, or fewer
  std::vector<std::vector<std::uint32_t>> noted_by;  ///< of each of these notes the processes
  struct Cost {
    std::string what;
    std::int64_t count = 0;
    double seconds = 0.0;
  };
  std::vector<Cost> costs;
  std::int64_t kernels = 0;
  std::vector<std::uint32_t> shape_names;   ///< of each of the timeline's shapes, its kernel's name
  std::vector<std::int16_t> shape_devices;  ///< and its GPU, as an index of the process
};

/// A recording that cannot be read; what() is one sentence.
struct RecordingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads recordings, and all in folders. Files are hostile: what is cut off is said in a warning and the rest kept; what is
/// no recording throws RecordingError. None at all gives an empty timeline.
Recordings read_recordings(const std::vector<std::filesystem::path>& places);
inline Recordings read_recordings(const std::filesystem::path& folder) { return read_recordings(std::vector{folder}); }
/// Adds one file.
void read_recording(const std::filesystem::path& file, Recordings& recordings);

using timeline::kind_of_call;

}  // namespace gpubench::profile
