// SPDX-License-Identifier: Apache-2.0
#include "profile/recording_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "profile/graph_nodes.h"
#include "profile/recording_format.h"
#include "timeline/input/common.h"

namespace gpubench::profile {
namespace {

using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;
using timeline::TrackKind;

/// The kernel with which CUPTI's range profiler waits.
constexpr std::string_view waiting_kernel = "WaitNs";
constexpr std::uint32_t max_values_of_a_launch = 1024;

/// Times further than this from the recording's start are damage: 36 years. Files of traces hold no longer slices than
/// twice that.
constexpr std::int64_t max_distance_ns = timeline::max_time_ns / 2;

/// As it is called, without the version that CUPTI adds: "cudaMemcpy" for "cudaMemcpy_v3020".
std::string_view call_name(std::string_view name) {
  const auto version = name.rfind("_v");
  const bool is_one = version != std::string_view::npos && version + 2 < name.size() &&
                      name.find_first_not_of("0123456789", version + 2) == std::string_view::npos;
  return is_one ? name.substr(0, version) : name;
}

class Reader {
 public:
  Reader(std::string_view bytes, std::string origin, bool goes_on, Recordings& recordings)
      : bytes_(bytes),
        origin_(std::move(origin)),
        goes_on_(goes_on),
        recordings_(recordings),
        timeline_(recordings.timeline) {}

  void read() {
    RecordingHeader header;
    if (!take(header) || header.magic != recording_magic)
      throw RecordingError(fmt::format("{} is no recording of gpubench, or of another version.", origin_));
    process_ = static_cast<std::uint32_t>(timeline_.processes.size());
    timeline_.processes.emplace_back().id = header.process;
    if (timeline_.base_ns == 0 && header.start_ns > 0) timeline_.base_ns = header.start_ns;
    while (at_ < bytes_.size() && !ended_) {
      if (!record()) {
        warn("is cut off or damaged after {} of {} bytes; what comes before is kept", at_, bytes_.size());
        break;
      }
    }
    finish();
  }

 private:
  template <class... Values>
  void warn(fmt::format_string<const Values&...> what, const Values&... values) {
    timeline_.warnings.push_back(
        fmt::format("The recording of process {} {}.", timeline_.processes[process_].id, fmt::format(what, values...)));
  }

  template <class Record>
  bool take(Record& record) {
    if (bytes_.size() - at_ < sizeof record) return false;
    std::memcpy(&record, bytes_.data() + at_, sizeof record);
    at_ += sizeof record;
    return true;
  }

  /// False, with nothing taken, where the bytes are no whole and sound record.
  bool record() {
    const std::size_t before = at_;
    if (one()) return true;
    at_ = before;
    return false;
  }

  bool one() {
    const auto kind = static_cast<RecordKind>(bytes_[at_]);
    if (kind == RecordKind::overhead || kind == RecordKind::synchronization) return taken<CallRecord>();
    return one_of<KernelRecord, CallRecord, CommandRecord, NameRecord, ShapeRecord, PropertyRecord, MarkerRecord,
                  MemoryRecord, PoolRecord, CountedRecord, NoteRecord, DroppedRecord, CostRecord, EndRecord,
                  GraphNodeRecord, OfNodeRecord>(kind);
  }

  template <class... Records>
  bool one_of(RecordKind kind) {
    return ((kind == Records{}.kind && taken<Records>()) || ...);
  }

  template <class Record>
  bool taken() {
    Record record;
    return take(record) && add(record);
  }

  bool add(const NameRecord& record) {
    if (record.bytes > max_name_bytes || bytes_.size() - at_ < record.bytes || record.number != names_.size())
      return false;
    names_.push_back(timeline_.names.number(bytes_.substr(at_, record.bytes)));
    calls_.push_back(std::nullopt);
    at_ += record.bytes;
    return true;
  }

  [[nodiscard]] bool knows(std::uint32_t name) const { return name < names_.size(); }
  [[nodiscard]] const std::string& text(std::uint32_t name) const { return timeline_.names.text(names_[name]); }

  bool add(const ShapeRecord& record) {
    if (!knows(record.name) || record.number != shapes_.size()) return false;
    const std::string& kernel = text(record.name);
    shapes_.push_back({.place = static_cast<std::int64_t>(timeline_.shapes.size()),
                       .name = names_[record.name],
                       .device = record.device,
                       .kind = kernel == waiting_kernel ? SliceKind::overhead : timeline::kind_of_kernel(kernel)});
    timeline_.shapes.push_back(record.shape);
    return true;
  }

  bool add(const PropertyRecord& record) {
    if (!knows(record.key) || !knows(record.value)) return false;
    if (record.device == 255) {
      of_process(text(record.key), text(record.value));
      return true;
    }
    auto place = std::ranges::find_if(recordings_.devices, [&](const RecordedDevice& device) {
      return device.process == process_ && device.index == record.device;
    });
    if (place == recordings_.devices.end())
      place = recordings_.devices.insert(recordings_.devices.end(),
                                         {.process = process_, .index = record.device, .properties = {}});
    place->properties[text(record.key)] = text(record.value);
    if (text(record.key) == "name") timeline_.gpus.push_back({process_, record.device, text(record.value)});
    return true;
  }

  void of_process(const std::string& key, const std::string& value) {
    timeline::Process& process = timeline_.processes[process_];
    const auto number = value.size() > 9 || value.starts_with('-') ? std::nullopt : number_in<std::int64_t>(value);
    if (key == "command") process.name = value;
    if (key == "rank") process.rank = number;
    if (key == "local rank") process.local_rank = number;
  }

  /// On the timeline; absent where it is damage.
  [[nodiscard]] std::optional<std::int64_t> time_of(const std::array<std::uint32_t, 2>& time) const {
    std::int64_t distance = 0;
    const bool is_far = __builtin_sub_overflow(whole(time), timeline_.base_ns, &distance) ||
                        distance < -max_distance_ns || distance > max_distance_ns;
    return is_far ? std::nullopt : std::optional(distance);
  }

  bool add(const GraphNodeRecord& record) {
    const auto time = time_of(record.time);
    if (time) graph_nodes_.add(record, *time);
    return time.has_value();
  }

  /// The record of the work follows.
  bool add(const OfNodeRecord& record) {
    node_ = whole(record.node);
    return true;
  }

  /// Adds it; false where the record is damaged.
  template <class Record>
  bool add_slice(const Record& record, SliceKind kind, std::uint32_t name, std::uint32_t track,
                 std::int64_t detail = -1, bool in_graph = false) {
    const auto start = time_of(record.start);
    if (!start) return false;
    if (const std::uint64_t node = std::exchange(node_, 0); node != 0 && in_graph)
      graph_nodes_.add_work(node, static_cast<std::uint32_t>(timeline_.slices.size()));
    timeline_.slices.push_back({.start_ns = *start,
                                .name = name,
                                .track = track,
                                .duration_ns = duration_of(record),
                                .correlation = record.correlation,
                                .kind = kind,
                                .in_graph = in_graph,
                                .detail = detail});
    return true;
  }

  std::uint32_t track(TrackKind kind, std::int64_t device, std::uint32_t id) {
    const auto key = std::tuple(kind, device, id);
    if (last_track_ && last_track_->first == key) return last_track_->second;
    const auto [place, fresh] = tracks_.try_emplace(key, static_cast<std::uint32_t>(timeline_.tracks.size()));
    if (fresh) {
      const std::string name = kind == TrackKind::stream   ? fmt::format("stream {}", id)
                               : kind == TrackKind::ranges ? fmt::format("ranges of thread {}", id)
                               : kind == TrackKind::other && id == timeline::synchronization_track
                                   ? std::string("synchronisation")
                                   : fmt::format("thread {}", id);
      timeline_.tracks.push_back({.kind = kind, .process = process_, .device = device, .id = id, .name = name});
    }
    last_track_ = {key, place->second};
    return place->second;
  }

  bool add(const KernelRecord& record) {
    if (record.shape >= shapes_.size()) return false;
    const Shape& shape = shapes_[record.shape];
    const bool sound = add_slice(record, shape.kind, shape.name, track(TrackKind::stream, shape.device, record.stream),
                                 shape.place, record.in_graph != 0);
    recordings_.kernels += sound && shape.kind != SliceKind::overhead ? 1 : 0;
    return sound;
  }

  bool add(const CommandRecord& record) {
    if (!knows(record.name) || record.device > 1024) return false;
    const auto bytes = std::min<std::uint64_t>(whole(record.bytes), std::numeric_limits<std::int64_t>::max());
    return add_slice(record, text(record.name).starts_with("fill") ? SliceKind::fill : SliceKind::copy,
                     names_[record.name], track(TrackKind::stream, record.device, record.stream),
                     static_cast<std::int64_t>(bytes), record.in_graph != 0);
  }

  bool add(const CallRecord& record) {
    constexpr std::uint8_t stream_waits = 2;  // CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT: not the host
    if (!knows(record.name)) return false;
    const std::uint32_t name = names_[record.name];
    if (record.kind == RecordKind::synchronization)
      return add_slice(record, record.type == stream_waits ? SliceKind::other : SliceKind::synchronization, name,
                       track(TrackKind::other, -1, timeline::synchronization_track));
    if (record.kind == RecordKind::overhead)
      return add_slice(record, SliceKind::overhead, name, track(TrackKind::other, -1, record.thread));
    auto& known = calls_[record.name];
    if (!known)
      known = {timeline::kind_of_call(text(record.name)), timeline_.names.number(call_name(text(record.name)))};
    return add_slice(record, known->first, known->second, track(TrackKind::thread, -1, record.thread));
  }

  bool add(const MarkerRecord& record) {
    const auto time = time_of(record.time);
    if (!knows(record.name) || !time) return false;
    if (record.phase != MarkerPhase::end) {
      const bool opens = record.phase == MarkerPhase::begin;
      if (opens) open_[record.number] = timeline_.slices.size();
      timeline_.slices.push_back({.start_ns = *time,
                                  .name = names_[record.name],
                                  .track = track(TrackKind::ranges, -1, record.thread),
                                  .kind = SliceKind::range,
                                  .open = opens});
    } else if (const auto place = open_.find(record.number); place != open_.end()) {
      Slice& slice = timeline_.slices[place->second];
      slice.duration_ns = std::max<std::int64_t>(*time - slice.start_ns, 0);
      slice.open = false;
      open_.erase(place);
    }
    return true;
  }

  bool add(const MemoryRecord& record) {
    const auto time = time_of(record.time);
    if ((record.source != 0 && !knows(record.source)) || !time ||
        static_cast<std::size_t>(record.memory) >= timeline::memory_kind_names.size() ||
        whole(record.bytes) > std::uint64_t{1} << 60U)
      return false;
    const auto bytes = static_cast<std::int64_t>(whole(record.bytes));
    timeline_.memory.push_back({.time_ns = *time,
                                .address = whole(record.address),
                                .bytes = record.freed != 0 ? -bytes : bytes,
                                .process = process_,
                                .source = names_[record.source],
                                .device = static_cast<std::int16_t>(record.device == 255 ? -1 : record.device),
                                .kind = record.memory});
    return true;
  }

  bool add(const PoolRecord& record) {
    const auto time = time_of(record.time);
    if (!time) return false;
    for (const auto& [what, bytes] : {std::pair{"reserved", record.reserved}, std::pair{"in use", record.used}}) {
      const std::string name = fmt::format("memory pool {:x}, {}", whole(record.address), what);
      const auto [place, fresh] = counters_.try_emplace(name, timeline_.counters.size());
      if (fresh) timeline_.counters.push_back({.process = process_, .name = name, .unit = "bytes", .samples = {}});
      timeline_.counters[place->second].samples.push_back({*time, static_cast<double>(whole(bytes))});
    }
    return true;
  }

  bool add(const CountedRecord& record) {
    if (record.values > max_values_of_a_launch) return false;
    CountedLaunch launch{.process = process_, .correlation = record.correlation, .values = {}};
    for (int i = 0; i < record.values; ++i) {
      std::uint32_t metric = 0;
      double value = 0.0;
      if (!take(metric) || !take(value) || !knows(metric)) return false;
      if (std::isfinite(value)) launch.values.emplace_back(names_[metric], value);
    }
    recordings_.counted.push_back(std::move(launch));
    return true;
  }

  bool add(const NoteRecord& record) {
    if (!knows(record.name)) return false;
    const std::string& note = text(record.name);
    if (record.about_counters != 0)
      recordings_.noted_by[note].insert(process_);
    else if (!contains(timeline_.warnings, note))
      timeline_.warnings.push_back(note);
    return true;
  }

  bool add(const DroppedRecord& record) {
    timeline_.dropped += record.count;
    return true;
  }

  bool add(const CostRecord& record) {
    if (!knows(record.name)) return false;
    auto place = std::ranges::find(recordings_.costs, text(record.name), &Recordings::Cost::what);
    if (place == recordings_.costs.end())
      place = recordings_.costs.insert(recordings_.costs.end(), {text(record.name)});
    place->count += record.count;
    place->seconds += static_cast<double>(whole(record.nanoseconds)) * 1e-9;
    return true;
  }

  bool add(const EndRecord&) { return ended_ = true; }

  /// Ranges that never ended end with the recording.
  void finish() {
    if (!ended_ && !goes_on_)
      warn("has no end: the process was killed, crashed or left with _exit; its last moments may be missing");
    if (!open_.empty()) {
      std::int64_t last = 0;
      for (const Slice& slice : timeline_.slices) last = std::max(last, slice.end_ns());
      for (const auto& [number, place] : open_)
        timeline_.slices[place].duration_ns = std::max<std::int64_t>(last - timeline_.slices[place].start_ns, 0);
    }
    graph_nodes_.tie(timeline_, process_);
    drop_own_waits();
  }

  /// A wait in no call of the program is gpubench's own, while it reads counters.
  void drop_own_waits() {
    const auto place = tracks_.find({TrackKind::other, -1, timeline::synchronization_track});
    if (place == tracks_.end()) return;
    const auto waits = [&](const Slice& slice) { return slice.track == place->second; };
    std::unordered_map<std::uint32_t, bool> called;
    for (const Slice& slice : timeline_.slices)
      if (waits(slice)) called.emplace(slice.correlation, false);
    for (const Slice& slice : timeline_.slices)
      if (const auto& track = timeline_.tracks[slice.track];
          track.kind == TrackKind::thread && track.process == process_)
        if (const auto found = called.find(slice.correlation); found != called.end()) found->second = true;
    std::vector<std::uint32_t> gone;
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i)
      if (const Slice& slice = timeline_.slices[i]; waits(slice) && !called[slice.correlation]) gone.push_back(i);
    std::erase_if(timeline_.slices, [&](const Slice& slice) { return waits(slice) && !called[slice.correlation]; });
    const auto moved = [&](std::uint32_t slice) {
      return slice - static_cast<std::uint32_t>(std::ranges::lower_bound(gone, slice) - gone.begin());
    };
    for (timeline::Flow& flow : timeline_.flows) flow = {moved(flow.from), moved(flow.to), flow.name};
  }

  std::string_view bytes_;
  std::string origin_;
  bool goes_on_;
  Recordings& recordings_;
  Timeline& timeline_;
  std::size_t at_ = 0;
  std::uint32_t process_ = 0;
  bool ended_ = false;
  std::vector<std::uint32_t> names_ = {0};  ///< of the recording's numbers those of the timeline
  std::vector<std::optional<std::pair<SliceKind, std::uint32_t>>> calls_ = {std::pair{SliceKind::call, 0U}};
  struct Shape {
    std::int64_t place;  // in Timeline::shapes
    std::uint32_t name;
    std::uint8_t device;
    SliceKind kind;
  };
  std::vector<Shape> shapes_;
  std::map<std::tuple<TrackKind, std::int64_t, std::uint32_t>, std::uint32_t> tracks_;
  std::optional<std::pair<std::tuple<TrackKind, std::int64_t, std::uint32_t>, std::uint32_t>> last_track_;
  std::unordered_map<std::uint32_t, std::size_t> open_;
  GraphNodes graph_nodes_;
  std::uint64_t node_ = 0;  ///< of the work that follows
  std::map<std::string, std::size_t> counters_;
};

/// Kernels around which counters were read, and their launches.
void mark_counted(Recordings& recordings) {
  std::unordered_set<std::uint64_t> counted;
  for (const CountedLaunch& launch : recordings.counted)
    counted.insert((std::uint64_t{launch.process} << 32U) | launch.correlation);
  if (counted.empty()) return;
  for (Slice& slice : recordings.timeline.slices)
    if (slice.kind == SliceKind::kernel || slice.kind == SliceKind::launch)
      slice.counted =
          counted.contains((std::uint64_t{recordings.timeline.tracks[slice.track].process} << 32U) | slice.correlation);
}

/// Which ranks or processes have no counters, where others have them.
void name_processes_of_notes(Recordings& recordings) {
  const auto& processes = recordings.timeline.processes;
  for (const auto& [note, by] : recordings.noted_by) {
    const bool ranks = std::ranges::all_of(by, [&](std::uint32_t one) { return processes[one].rank.has_value(); });
    std::set<std::int64_t> numbers;
    for (const std::uint32_t one : by) numbers.insert(ranks ? *processes[one].rank : processes[one].id);
    const std::string_view ending = by.size() == 1 ? "" : ranks ? "s" : "es";
    const std::string who =
        fmt::format("{}{} {}: ", ranks ? "rank" : "process", ending,
                    joined(numbers, ", ", [](std::int64_t number) { return std::to_string(number); }));
    recordings.counter_notes.push_back((by.size() == processes.size() ? "" : who) + note);
  }
}

}  // namespace

std::string RecordedDevice::text(std::string_view property) const {
  const auto found = properties.find(property);
  return found == properties.end() ? std::string() : found->second;
}

std::optional<std::int64_t> RecordedDevice::number(std::string_view property) const {
  return number_in<std::int64_t>(text(property));
}

void read_recording(const std::filesystem::path& file, Recordings& recordings, bool goes_on) {
  const MappedFile mapping(file);
  if (!mapping.error().empty()) throw RecordingError(mapping.error());
  // The least of a record that becomes a slice. To grow step by step would hold all of them twice at times.
  auto& slices = recordings.timeline.slices;
  slices.reserve(slices.size() + mapping.bytes().size() / std::min(sizeof(KernelRecord), sizeof(MarkerRecord)));
  Reader(mapping.bytes(), file.filename().string(), goes_on, recordings).read();
}

bool is_recording(const std::filesystem::path& file) {
  std::array<char, recording_magic.size()> magic = {};
  std::ifstream(file, std::ios::binary).read(magic.data(), magic.size());
  return magic == recording_magic;
}

std::optional<Timeline> timeline_of_recording(const std::filesystem::path& file) {
  if (!is_recording(file)) return std::nullopt;
  Recordings recordings;
  try {
    read_recording(file, recordings);
  } catch (const RecordingError& error) {
    throw storage::ReadError(error.what());
  }
  timeline::sort(recordings.timeline);
  return std::move(recordings.timeline);
}

Recordings read_recordings(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place, error))
      if (has_recording_extension(entry.path())) files.push_back(entry.path());
    if (error) throw RecordingError(fmt::format("{} cannot be read: {}.", place.string(), error.message()));
  }
  std::ranges::sort(files);
  Recordings recordings;
  for (const auto& file : files) {
    try {
      read_recording(file, recordings);
    } catch (const RecordingError& failure) {
      recordings.timeline.warnings.emplace_back(failure.what());
    }
  }
  mark_counted(recordings);
  name_processes_of_notes(recordings);
  timeline::sort(recordings.timeline);
  return recordings;
}

}  // namespace gpubench::profile
