// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf, a packet at a time: track events. What else a trace holds, as the kernel's scheduler, is passed
// over.
#include "timeline/input/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "timeline/input/bytes.h"
#include "timeline/input/common.h"
#include "timeline/input/protobuf.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {
namespace {

using namespace perfetto;

constexpr std::size_t packets_window = std::size_t{1} << 20, max_packet_bytes = std::size_t{1} << 28;

/// The clocks of a trace, tied together by its snapshots.
class Clocks {
 public:
  void take(std::string_view bytes, std::uint64_t sequence) {
    std::vector<std::pair<std::uint32_t, Clock>> clocks;
    const auto add = [&](const MessageField& field) {
      auto& [id, clock] = clocks.emplace_back();
      take_fields(field.bytes, snapshot::id, id, snapshot::time, clock.last, snapshot::incremental, clock.incremental,
                  snapshot::unit, clock.unit);
    };
    take_fields(bytes, snapshot::clocks, add, snapshot::primary, primary_);
    const auto of_primary = std::ranges::find(clocks, primary_, [](const auto& one) { return one.first; });
    if (of_primary == clocks.end()) return;
    const auto now = static_cast<std::int64_t>(of_primary->second.last * of_primary->second.unit);
    for (auto& [id, clock] : clocks) {
      if (__builtin_sub_overflow(now, static_cast<std::int64_t>(clock.last * clock.unit), &clock.offset)) continue;
      if (id == snapshot::real_time && !base_ns) base_ns = -clock.offset;
      clocks_[key(id, sequence)] = clock;
    }
  }

  /// On the trace's own clock; absent beyond 73 years.
  std::optional<std::int64_t> time_of(std::uint64_t time, std::uint32_t id, std::uint64_t sequence) {
    if (id == 0) id = primary_;
    std::int64_t sum = 0;
    if (const auto known = clocks_.find(key(id, sequence)); known != clocks_.end()) {
      Clock& clock = known->second;
      if (clock.incremental) time = clock.last += time;
      if (__builtin_mul_overflow(time, clock.unit, &time)) return std::nullopt;
      sum = clock.offset;
    } else if (id != snapshot::boot_time && id != primary_) {
      ++unknown;
    }
    if (__builtin_add_overflow(sum, time, &sum) || sum < -max_time_ns || sum > max_time_ns) return std::nullopt;
    return sum;
  }

  std::optional<std::int64_t> base_ns;  ///< since 1970, of the trace's own clock
  long long unknown = 0;                ///< times of clocks that no snapshot ties to it

 private:
  struct Clock {
    std::uint64_t unit = 1, last = 0;  // in ns; in units
    bool incremental = false;
    std::int64_t offset = 0;  // to the trace's clock
  };
  /// Clocks from 64 to 127 belong to a sequence.
  static std::pair<std::uint64_t, std::uint32_t> key(std::uint32_t id, std::uint64_t sequence) {
    return {id >= 64 && id < 128 ? sequence : 0, id};
  }
  std::map<std::pair<std::uint64_t, std::uint32_t>, Clock> clocks_;
  std::uint32_t primary_ = snapshot::boot_time;
};

std::string short_text(std::string_view bytes) { return printable(bytes.substr(0, max_name_bytes)); }

class PerfettoReader {
 public:
  PerfettoReader(Bytes& bytes, std::string_view origin) : bytes_(bytes), window_(bytes), builder_(std::string(origin)) {
    std::string broken = packets();
    if (std::string cut = bytes_.cut(); !cut.empty()) broken = std::move(cut);
    if (packets_ == 0)
      throw storage::ReadError(fmt::format("{}: is no Perfetto trace that can be read ({}); record it again", origin,
                                           broken.empty() ? "it is empty" : broken));
    finish();
    if (!broken.empty())
      timeline_.warnings.push_back(
          fmt::format("{} ends in the middle or is damaged after {} packets ({}); what came before is kept.", origin,
                      format_count(static_cast<double>(packets_)), broken));
    if (clocks_.unknown > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} of clocks that it does not tie to its own; their times may be off.", origin,
                      plural(clocks_.unknown, "event")));
  }
  Timeline take() { return builder_.take(); }

 private:
  /// Reads all that there are, and says why they are not all.
  std::string packets() {
    for (;;) {
      window_.fill(packets_window);
      if (window_.size() == 0) return {};
      std::string_view text = window_.text();
      const auto key = varint_in(text), size = varint_in(text);
      if (key && ((*key & 7U) != 2 || size.value_or(0) > max_packet_bytes))
        return fmt::format("byte {} begins no packet", window_.offset());
      const std::size_t head = window_.size() - text.size(), end = head + size.value_or(0);
      if (!size || !window_.fill(end)) return fmt::format("the packet at byte {} is not whole", window_.offset());
      if (*key >> 3 == 1) {
        packet(window_.text().substr(head, *size));
        ++packets_;
      }
      window_.pass(end);
    }
  }

  struct Sequence {
    std::unordered_map<std::uint64_t, std::uint32_t> texts;  // in Timeline::names, by kind and number
    std::uint32_t clock = 0;
    std::uint64_t track = 0;
    bool ready = false;

    [[nodiscard]] std::uint32_t text(std::uint64_t kind, std::uint64_t number) const {
      const auto place = texts.find(number << 2 | kind);
      return place == texts.end() ? 0 : place->second;
    }
  };

  void packet(std::string_view bytes, bool inner = false) {
    std::uint64_t id = 0, flags = 0;
    std::optional<std::uint64_t> time;
    std::uint32_t clock = 0;
    bool cleared = false, lost = false;
    std::string_view event, interned, defaults, default_event, clocks, compressed, description;
    take_fields(bytes, packet::clock_snapshot, clocks, packet::timestamp, time, packet::sequence, id,
                packet::track_event, event, packet::interned, interned, packet::flags, flags, packet::cleared, cleared,
                packet::lost, lost, packet::compressed, compressed, packet::clock, clock, packet::defaults, defaults,
                packet::track_descriptor, description);
    if (!compressed.empty() && !inner) unpack(compressed);
    if (!description.empty()) describe(description);
    if (sequences_.size() >= max_tracks && !sequences_.contains(id)) return builder_.leave_out();
    Sequence& sequence = sequences_[id];
    if (cleared || (flags & packet::state_cleared) != 0)
      sequence = {.texts = {}, .clock = 0, .track = 0, .ready = true};
    take_fields(defaults, packet::clock, sequence.clock, packet::track_event, default_event);
    take_fields(default_event, event::track, sequence.track);
    each_field(interned, [&](const MessageField& kind) {
      if (kind.number < interned::categories || kind.number > interned::annotations) return;
      std::uint64_t number = 0;
      std::string_view text;
      take_fields(kind.bytes, interned::number, number, interned::text, text);
      sequence.texts[number << 2 | kind.number] = timeline_.names.number(text.substr(0, max_name_bytes));
    });
    clocks_.take(clocks, id);
    const bool unnamed =
        !event.empty() && (flags & packet::needs_state) != 0 && !sequence.ready;  // its texts were lost
    timeline_.dropped += (lost ? 1 : 0) + (unnamed ? 1 : 0);
    if (event.empty() || unnamed) return;
    const auto now = time ? clocks_.time_of(*time, clock != 0 ? clock : sequence.clock, id) : std::nullopt;
    if (!now || !track_event(event, *now, sequence)) builder_.leave_out();
  }

  /// Packets that were packed together.
  void unpack(std::string_view packed) {
    const auto bytes = unpacked(packed);
    const std::string text = read_whole(*bytes, max_packet_bytes);
    if (!bytes->cut().empty()) builder_.leave_out();
    const auto each = [&](const MessageField& field) { packet(field.bytes, true); };
    take_fields(text, 1, each);
  }

  struct Described {
    std::uint64_t parent = 0;
    std::string name;
    std::optional<std::int32_t> process;
    std::optional<std::int64_t> thread;
    bool incremental = false;
    std::int64_t unit_size = 1;
    std::string unit, description;
    std::uint32_t track = none;  // in Timeline::tracks
    std::vector<CounterSample> samples;
    std::vector<MemoryEvent> memory;
    std::vector<std::uint32_t> open;
  };

  /// Null where there are too many.
  Described* described(std::uint64_t uuid) {
    if (described_.size() >= max_tracks && !described_.contains(uuid)) return nullptr;
    return &described_[uuid];
  }

  void describe(std::string_view bytes) {
    std::uint64_t uuid = 0, unit = 0;
    std::string_view name, process, process_name, thread, thread_name, counter, unit_name, description;
    take_fields(bytes, descriptor::uuid, uuid);
    Described* const track = described(uuid);
    if (track == nullptr) return builder_.leave_out();
    take_fields(bytes, descriptor::name, name, descriptor::static_name, name, descriptor::atrace_name, name,
                descriptor::parent, track->parent, descriptor::process, process, descriptor::thread, thread,
                descriptor::counter, counter, descriptor::description, description);
    take_fields(process, descriptor::pid, track->process, descriptor::process_name, process_name);
    take_fields(thread, descriptor::pid, track->process, descriptor::tid, track->thread, descriptor::thread_name,
                thread_name);
    take_fields(counter, descriptor::unit, unit, descriptor::unit_size, track->unit_size, descriptor::incremental,
                track->incremental, descriptor::unit_name, unit_name);
    if (name.empty() && track->name.empty()) name = thread_name;
    if (!name.empty()) track->name = short_text(name);
    if (track->process && !process_name.empty()) process_names_[*track->process] = short_text(process_name);
    if (unit_name.empty())
      unit_name = unit == descriptor::unit_ns ? "ns" : unit == descriptor::unit_bytes ? "bytes" : "";
    if (!unit_name.empty()) track->unit = short_text(unit_name);
    if (!description.empty()) track->description = short_text(description);
  }

  /// False for what cannot stand.
  bool track_event(std::string_view bytes, std::int64_t now, const Sequence& sequence) {
    std::uint64_t type = 0, uuid = sequence.track, name = 0, category = 0;
    std::int64_t whole = 0;
    double value = 0.0;
    std::string_view own_name, own_category;
    Annotated all;
    auto& [slice, shape, message, memory, text] = all;
    memory.time_ns = now;
    std::vector<Point> points;
    const auto annotate = [&](const MessageField& field) { annotation(field.bytes, sequence, all); };
    const auto point = [&](const MessageField& field) {
      const bool ends = field.number == event::ending_flow || field.number == event::old_ending_flow;
      points.push_back({field.value, static_cast<std::uint32_t>(timeline_.slices.size()), ends});
    };
    take_fields(bytes, event::category, category, event::annotation, annotate, event::type, type, event::name, name,
                event::track, uuid, event::own_category, own_category, event::own_name, own_name, event::counter, whole,
                event::double_counter, value, event::flow, point, event::old_flow, point, event::ending_flow, point,
                event::old_ending_flow, point);
    Described* const track = described(uuid);
    if (track == nullptr) return false;
    if (type == event::end) {
      if (!close_slice(timeline_.slices, track->open, now)) late_ends_.emplace_back(now, uuid);
      return true;
    }
    slice.name = own_name.empty() ? sequence.text(interned::names, name)
                                  : timeline_.names.number(own_name.substr(0, max_name_bytes));
    if (type == event::instant && memory.bytes != 0 && timeline_.names.text(slice.name) == annotation::memory) {
      track->memory.push_back(memory);
      return true;
    }
    if (type == event::value) return count(*track, now, value + static_cast<double>(whole));
    if (type == event::begin ? timeline_.slices.size() >= max_slices : type != event::instant) return false;
    if (track->track == none) {
      if (timeline_.tracks.size() >= max_tracks) return false;
      track->track = static_cast<std::uint32_t>(timeline_.tracks.size());
      timeline_.tracks.emplace_back();
    }
    if (type == event::instant) {
      timeline_.marks.push_back({now, slice.name, track->track});
      return true;
    }
    if (own_category.empty()) own_category = timeline_.names.text(sequence.text(interned::categories, category));
    slice.start_ns = now;
    slice.track = track->track;
    slice.kind = kind_of_category(own_category, timeline_.names.text(slice.name));
    if (is_kernel(slice.kind))
      slice.detail = shape == LaunchShape{} ? -1 : builder_.shape(shape);
    else if (slice.kind > SliceKind::fill)
      slice.detail = slice.kind == SliceKind::other || slice.kind == SliceKind::launch ? text : -1;
    points_.insert(points_.end(), points.begin(), points.end());
    timeline_.slices.push_back(slice);
    if (slice.kind == SliceKind::communication && message.collective != 0 && slice.correlation != 0) {
      message.process = slice.track;  // of that track, in the end
      message.correlation = slice.correlation;
      timeline_.messages.push_back(message);
    }
    open_slice(timeline_.slices, track->open);
    return true;
  }

  /// Those that our own writer makes.
  struct Annotated {
    Slice slice;
    LaunchShape shape;
    Message message;
    MemoryEvent memory;
    std::int64_t text = -1;  ///< in Timeline::names
  };
  void annotation(std::string_view bytes, const Sequence& sequence, Annotated& to) {
    auto& [slice, shape, message, memory, detail] = to;
    std::uint64_t number = 0;
    std::int64_t value = 0;
    std::string_view name, text;
    take_fields(bytes, annotation::name, number, annotation::boolean, value, annotation::whole, value,
                annotation::negative, value, annotation::words, text, annotation::own_name, name);
    if (name.empty()) name = timeline_.names.text(sequence.text(interned::annotations, number));
    for (const auto& [known, extents] : annotation::extents) {
      if (name != known) continue;
      for (std::uint32_t& extent : shape.*extents) extent = to_uint32(number_in<std::int64_t>(taken_until(',', text)));
    }
    for (const auto& [known, of] : annotation::numbers)
      if (name == known) shape.*of = to_uint32(value);
    for (const auto& [known, of] : message_texts)
      if (name == known) message.*of = timeline_.names.number(text.substr(0, max_name_bytes));
    for (const auto& [known, of] : message_numbers)
      if (name == known) message.*of = value;
    if (name == operator_inputs || name == launched_kernel)
      detail = timeline_.names.number(text.substr(0, 4 * max_name_bytes));
    if (name == annotation::address) memory.address = static_cast<std::uint64_t>(value);
    if (name == annotation::device)
      memory.device = static_cast<std::int16_t>(std::clamp<std::int64_t>(value, -1, INT16_MAX));
    if (name == annotation::library) memory.source = timeline_.names.number(text.substr(0, max_name_bytes));
    if (const auto kind = std::ranges::find(memory_kind_names, text);
        name == annotation::memory_kind && kind != memory_kind_names.end())
      memory.kind = static_cast<MemoryKind>(kind - memory_kind_names.begin());
    if (name == annotation::bytes) {
      memory.bytes = value;
      slice.detail = std::max<std::int64_t>(value, -1);
    }
    if (name == "correlation") slice.correlation = to_uint32(value);
    if (name == "counted") slice.counted = value != 0;
    if (name == "in graph") slice.in_graph = value != 0;
  }

  static bool count(Described& track, std::int64_t now, double value) {
    value *= static_cast<double>(track.unit_size);
    if (track.incremental && !track.samples.empty()) value += track.samples.back().value;
    if (std::isfinite(value)) track.samples.push_back({now, value});
    return std::isfinite(value);
  }

  std::uint32_t process_of(const Described* track) {
    for (int depth = 0; depth < 32 && !track->process; ++depth) {
      const auto parent = described_.find(track->parent);
      if (parent == described_.end()) break;
      track = &parent->second;
    }
    const std::int32_t id = track->process.value_or(0);
    const auto [place, added] = processes_.emplace(id, static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added) {
      timeline_.processes.push_back({.id = id, .rank = {}, .local_rank = {}, .name = process_names_[id]});
      take_rank(timeline_.processes.back());
    }
    return place->second;
  }

  void finish() {
    std::ranges::sort(late_ends_);  // those that stood before their begins, as threads share a track
    for (const auto& [time_ns, uuid] : late_ends_)
      if (!close_slice(timeline_.slices, described_[uuid].open, time_ns)) builder_.leave_out();
    for (auto& [uuid, track] : described_) {
      if (!track.samples.empty())
        timeline_.counters.push_back({process_of(&track), track.name, track.unit, std::move(track.samples)});
      for (MemoryEvent& event : track.memory) {
        event.process = process_of(&track);
        timeline_.memory.push_back(event);
      }
      if (track.track != none)
        timeline_.tracks[track.track] = {track.thread ? TrackKind::thread : TrackKind::other, process_of(&track), -1,
                                         track.thread.value_or(0), track.name};
    }
    std::int64_t last = never;
    for (const Slice& slice : timeline_.slices) {
      last = std::max(last, slice.end_ns());
      TrackKind& kind = timeline_.tracks[slice.track].kind;
      if (occupies_gpu(slice.kind))
        kind = TrackKind::stream;
      else if (slice.kind == SliceKind::range && kind != TrackKind::stream)
        kind = TrackKind::ranges;
      else if (slice.kind < SliceKind::range && kind == TrackKind::other)
        kind = TrackKind::thread;
    }
    for (Slice& slice : timeline_.slices)
      if (slice.open) slice.duration_ns = last - slice.start_ns;
    for (Track& track : timeline_.tracks) name_stream(track);
    for (Message& message : timeline_.messages) message.process = timeline_.tracks[message.process].process;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> models;
    for (const auto& [uuid, described] : described_)
      if (described.track != none && !described.description.empty()) {
        const Track& track = timeline_.tracks[described.track];
        models.emplace(std::pair(timeline_.processes[track.process].id, track.device), described.description);
      }
    note_gpus(timeline_, [&](std::int64_t process, std::int64_t device) { return models[{process, device}]; });
    tie_ranges(timeline_);
    join_lanes(timeline_, false);
    add_flows();
    timeline_.base_ns = clocks_.base_ns.value_or(0);
  }

  /// Along the points of each arrow. What leads from a call to its work is the correlation.
  void add_flows() {
    std::ranges::stable_sort(points_, {}, [&](const Point& one) { return timeline_.slices[one.slice].start_ns; });
    std::unordered_map<std::uint64_t, std::uint32_t> last;
    std::uint32_t next = 0;
    for (const Slice& slice : timeline_.slices) next = std::max(next, slice.correlation);
    for (const Point& point : points_) {
      const auto [place, first] = last.emplace(point.id, point.slice);
      const std::uint32_t before = std::exchange(place->second, point.slice);
      if (point.ends) last.erase(place);
      if (before == point.slice) continue;
      Slice &from = timeline_.slices[before], &to = timeline_.slices[point.slice];
      const bool starts = from.kind == SliceKind::launch || from.kind == SliceKind::transfer || from.in_graph;
      if (starts && occupies_gpu(to.kind) && to.correlation == 0) {
        if (from.correlation == 0) from.correlation = ++next;
        to.correlation = from.correlation;
      } else if (!starts || from.correlation != to.correlation) {
        timeline_.flows.push_back({before, point.slice, timeline_.names.number("flow")});
      }
    }
  }

  struct Point {
    std::uint64_t id;
    std::uint32_t slice;
    bool ends;
  };

  Bytes& bytes_;
  Window window_;
  Builder builder_;
  Timeline& timeline_ = builder_.timeline;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  Clocks clocks_;
  std::map<std::uint64_t, Described> described_;
  std::map<std::int32_t, std::string> process_names_;
  std::map<std::int32_t, std::uint32_t> processes_;
  std::vector<Point> points_;
  std::vector<std::pair<std::int64_t, std::uint64_t>> late_ends_;  // time and track
  std::uint64_t packets_ = 0;
};

}  // namespace

Timeline perfetto_trace(Bytes& bytes, std::string_view origin) { return PerfettoReader(bytes, origin).take(); }

extern const Reader perfetto_reader{
    "a Perfetto trace", [](std::string_view start) { return start.starts_with('\n') && !is_xspace(start); },
    [](const std::filesystem::path& file) { return perfetto_trace(*open_bytes(file), file.string()); }};

}  // namespace gpubench::timeline
