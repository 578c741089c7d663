// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf, a packet at a time: track events, by the numbers of its public schema
// (protos/perfetto/trace/perfetto_trace.proto). What else a trace holds, as the kernel's scheduler, is passed over.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "timeline/correlations.h"
#include "timeline/input/bytes.h"
#include "timeline/input/common.h"
#include "timeline/input/perfetto_clocks.h"
#include "timeline/input/protobuf.h"
#include "timeline/reader.h"
#include "timeline/readers.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t packets_window = std::size_t{1} << 20;
constexpr std::size_t max_packet_bytes = std::size_t{1} << 28;

class PerfettoReader {
 public:
  PerfettoReader(Bytes& bytes, std::string_view origin) : bytes_(bytes), window_(bytes), origin_(origin) {}

  Timeline read() {
    packets();
    const std::string cut = bytes_.cut();
    if (packets_ == 0)
      throw storage::ReadError(fmt::format("{}: is no Perfetto trace that can be read ({}); record it again", origin_,
                                           !cut.empty()      ? cut
                                           : broken_.empty() ? "it is empty"
                                                             : broken_));
    finish();
    if (!broken_.empty() || !cut.empty())
      timeline_.warnings.push_back(
          fmt::format("{} ends in the middle or is damaged after {} packets ({}); what came before is kept.", origin_,
                      format_count(static_cast<double>(packets_)), cut.empty() ? broken_ : cut));
    if (odd_ > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} without a usable time, name or begin {} left out, the first in "
                      "the packet at byte {}.",
                      origin_, plural(odd_, "event"), odd_ == 1 ? "was" : "were", first_odd_));
    return std::move(timeline_);
  }

 private:
  void packets() {
    for (;;) {
      window_.fill(packets_window);
      if (window_.size() == 0) return;
      byte_ = window_.offset();
      std::string_view text = window_.text();
      const auto key = varint_in(text);
      const auto size = key && (*key & 7U) == 2 ? varint_in(text) : std::nullopt;
      if (!size || *size > max_packet_bytes) {
        const bool cut = window_.ended() && window_.size() < 12 && (!key || (*key & 7U) == 2);
        broken_ = cut ? fmt::format("the packet at byte {} is not whole", byte_)
                      : fmt::format("byte {} begins no packet", byte_);
        return;
      }
      const std::size_t head = window_.size() - text.size();
      window_.fill(head + *size);
      if (window_.size() < head + *size) {
        broken_ = fmt::format("the packet at byte {} is not whole", byte_);
        return;
      }
      if (*key >> 3 == 1) {
        packet(window_.text().substr(head, *size));
        ++packets_;
      }
      window_.pass(head + *size);
    }
  }

  void odd() {
    if (odd_++ == 0) first_odd_ = byte_;
  }

  // --- packets -------------------------------------------------------------------------------------------------

  struct Sequence {
    std::unordered_map<std::uint64_t, std::uint32_t> names, categories, annotations, strings;
    std::uint32_t clock = 0;
    std::uint64_t track = 0;
    bool ready = false;
  };

  void packet(std::string_view bytes, bool inner = false) {
    std::uint64_t sequence_id = 0, flags = 0, time = 0;
    std::uint32_t clock = 0;
    bool cleared = false, timed = false;
    std::string_view event, interned, defaults, clocks;
    each_field(bytes, [&](const MessageField& field) {
      switch (field.number) {
        case 6: clocks = field.bytes; break;
        case 8:
          time = field.value;
          timed = true;
          break;
        case 10: sequence_id = field.value; break;
        case 11: event = field.bytes; break;
        case 12: interned = field.bytes; break;
        case 13: flags = field.value; break;
        case 41: cleared = field.value != 0; break;
        case 42: timeline_.dropped += field.value != 0 ? 1 : 0; break;
        case 50:
          if (!inner) compressed(field.bytes);
          break;
        case 58: clock = static_cast<std::uint32_t>(field.value); break;
        case 59: defaults = field.bytes; break;
        case 60: descriptor(field.bytes); break;
        default: break;
      }
    });
    if (sequences_.size() >= max_tracks && !sequences_.contains(sequence_id)) return odd();
    Sequence& sequence = sequences_[sequence_id];
    if (cleared || (flags & 1U) != 0) {
      sequence = {};
      sequence.ready = true;
    }
    if (!defaults.empty())
      each_field(defaults, [&](const MessageField& field) {
        if (field.number == 58) sequence.clock = static_cast<std::uint32_t>(field.value);
        if (field.number == 11)
          each_field(field.bytes, [&](const MessageField& one) {
            if (one.number == 11) sequence.track = one.value;
          });
      });
    if (!interned.empty()) intern(interned, sequence);
    if (!clocks.empty()) clocks_.snapshot(clocks, sequence_id);
    if (event.empty()) return;
    if ((flags & 2U) != 0 && !sequence.ready) {
      ++timeline_.dropped;  // the texts that it names were lost
      return;
    }
    const auto now = timed ? clocks_.time_of(time, clock != 0 ? clock : sequence.clock, sequence_id) : std::nullopt;
    if (!now) return odd();
    track_event(event, *now, sequence);
  }

  /// Packets that were packed together.
  void compressed(std::string_view packed) {
    std::string text;
    std::vector<char> part(std::size_t{1} << 20);
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return odd();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    int state = Z_OK;
    while (state == Z_OK && text.size() < max_packet_bytes) {
      stream.next_out = reinterpret_cast<Bytef*>(part.data());
      stream.avail_out = static_cast<uInt>(part.size());
      state = inflate(&stream, Z_NO_FLUSH);
      const std::size_t got = part.size() - stream.avail_out;
      text.append(part.data(), got);
      if (got == 0) break;
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END) odd();
    each_field(text, [&](const MessageField& field) {
      if (field.number == 1) packet(field.bytes, true);
    });
  }

  void intern(std::string_view data, Sequence& sequence) {
    each_field(data, [&](const MessageField& kind) {
      auto* const map = kind.number == 1    ? &sequence.categories
                        : kind.number == 2  ? &sequence.names
                        : kind.number == 3  ? &sequence.annotations
                        : kind.number == 29 ? &sequence.strings
                                            : nullptr;
      if (map == nullptr) return;
      std::uint64_t iid = 0;
      std::string_view text;
      each_field(kind.bytes, [&](const MessageField& field) {
        if (field.number == 1) iid = field.value;
        if (field.number == 2) text = field.bytes.substr(0, max_name_bytes);
      });
      (*map)[iid] = (kind.number == 2 ? timeline_.names : texts_).number(text);
    });
  }

  // --- tracks --------------------------------------------------------------------------------------------------

  struct Described {
    std::uint64_t parent = 0;
    std::string name;
    std::optional<std::int64_t> process, thread;
    bool is_counter = false, incremental = false;
    double unit_size = 1.0;
    std::string unit;
    std::uint32_t track = none;      // in Timeline::tracks
    std::size_t counter = SIZE_MAX;  // in Timeline::counters
    double sum = 0.0;
    std::vector<std::uint32_t> open;
  };

  static std::string text_of(std::string_view bytes) { return printable(bytes.substr(0, max_name_bytes)); }

  void descriptor(std::string_view bytes) {
    std::uint64_t uuid = 0;
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 1) uuid = field.value;
    });
    if (described_.size() >= max_tracks && !described_.contains(uuid)) return odd();
    Described& track = described_[uuid];
    each_field(bytes, [&](const MessageField& field) {
      switch (field.number) {
        case 2:
        case 10:
        case 13: track.name = text_of(field.bytes); break;
        case 5: track.parent = field.value; break;
        case 3:
          each_field(field.bytes, [&](const MessageField& one) {
            if (one.number == 1) track.process = static_cast<std::int32_t>(one.value);
          });
          each_field(field.bytes, [&](const MessageField& one) {
            if (one.number == 6 && track.process) process_names_[*track.process] = text_of(one.bytes);
          });
          break;
        case 4:
          each_field(field.bytes, [&](const MessageField& one) {
            if (one.number == 1) track.process = static_cast<std::int32_t>(one.value);
            if (one.number == 2) track.thread = static_cast<std::int64_t>(one.value);
            if (one.number == 5 && track.name.empty()) track.name = text_of(one.bytes);
          });
          break;
        case 8:
          track.is_counter = true;
          each_field(field.bytes, [&](const MessageField& one) {
            constexpr std::array<std::string_view, 4> units = {"", "ns", "", "bytes"};
            if (one.number == 3 && one.value < units.size()) track.unit = units[one.value];
            if (one.number == 4 && one.value != 0)
              track.unit_size = static_cast<double>(static_cast<std::int64_t>(one.value));
            if (one.number == 5) track.incremental = one.value != 0;
            if (one.number == 6) track.unit = text_of(one.bytes);
          });
          break;
        default: break;
      }
    });
  }

  // --- events --------------------------------------------------------------------------------------------------

  void track_event(std::string_view bytes, std::int64_t now, const Sequence& sequence) {
    std::uint64_t type = 0, uuid = sequence.track;
    double value = 0.0;
    std::uint32_t name = 0;
    SliceKind kind = SliceKind::other;
    std::string_view own_name, own_category;
    std::uint32_t category = 0;
    flows_.clear();
    arguments_ = {};
    const auto lookup = [](const auto& map, std::uint64_t iid) {
      const auto place = map.find(iid);
      return place == map.end() ? 0U : place->second;
    };
    each_field(bytes, [&](const MessageField& field) {
      switch (field.number) {
        case 3:
          if (category == 0) category = lookup(sequence.categories, field.value);
          break;
        case 4: annotation(field.bytes, sequence); break;
        case 9: type = field.value; break;
        case 10: name = lookup(sequence.names, field.value); break;
        case 11: uuid = field.value; break;
        case 22:
          if (own_category.empty()) own_category = field.bytes;
          break;
        case 23: own_name = field.bytes.substr(0, max_name_bytes); break;
        case 30: value = static_cast<double>(static_cast<std::int64_t>(field.value)); break;
        case 44: value = field.real(); break;
        case 36:
        case 47: flows_.emplace_back(field.value, false); break;
        case 42:
        case 48: flows_.emplace_back(field.value, true); break;
        default: break;
      }
    });
    if (!own_name.empty()) name = timeline_.names.number(own_name);
    if (described_.size() >= max_tracks && !described_.contains(uuid)) return odd();
    Described& track = described_[uuid];
    switch (type) {
      case 1:
        kind = kind_of_category(own_category.empty() ? std::string_view(texts_.text(category)) : own_category,
                                timeline_.names.text(name));
        return begin(track, now, name, kind);
      case 2:
        if (!close_slice(timeline_.slices, track.open, now)) return odd();
        last_ns_ = std::max(last_ns_, now);
        return;
      case 3: return mark(track, now, name);
      case 4: return count(track, now, value);
      default: return odd();
    }
  }

  /// As our own writer names them, and CUPTI.
  struct Arguments {
    LaunchShape shape;
    bool has_shape = false, counted = false, in_graph = false;
    std::uint32_t correlation = 0;
    std::int64_t bytes = -1;
  };

  void annotation(std::string_view bytes, const Sequence& sequence) {
    std::string_view name, text;
    std::uint64_t value = 0;
    each_field(bytes, [&](const MessageField& field) {
      if (field.number == 1)
        if (const auto place = sequence.annotations.find(field.value); place != sequence.annotations.end())
          name = texts_.text(place->second);
      if (field.number == 10) name = field.bytes;
      if (field.number == 2 || field.number == 3 || field.number == 4) value = field.value;
      if (field.number == 6) text = field.bytes;
    });
    const auto extents = [&](std::array<std::uint32_t, 3>& to) {
      for (auto& extent : to) {
        const auto end = text.find(',');
        extent = to_uint32(number_in<std::int64_t>(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      }
      arguments_.has_shape = true;
    };
    const std::uint32_t small = to_uint32(static_cast<std::int64_t>(value & 0x7FFFFFFFFFFFFFFFU));
    if (name == "grid") extents(arguments_.shape.grid);
    if (name == "block") extents(arguments_.shape.block);
    if (name == "registers of a thread") arguments_.shape.registers = small;
    if (name == "static shared bytes") arguments_.shape.static_shared_bytes = small;
    if (name == "dynamic shared bytes") arguments_.shape.dynamic_shared_bytes = small;
    if (name == "local bytes of a thread") arguments_.shape.local_bytes = small;
    if (name == "bytes") arguments_.bytes = static_cast<std::int64_t>(value);
    if (name == "correlation") arguments_.correlation = small;
    if (name == "counted") arguments_.counted = value != 0;
    if (name == "in graph") arguments_.in_graph = value != 0;
  }

  std::optional<std::uint32_t> place_of(Described& track) {
    if (track.track == none) {
      if (timeline_.tracks.size() >= max_tracks) return std::nullopt;
      track.track = static_cast<std::uint32_t>(timeline_.tracks.size());
      timeline_.tracks.emplace_back();
    }
    return track.track;
  }

  void begin(Described& track, std::int64_t now, std::uint32_t name, SliceKind kind) {
    const auto place = timeline_.slices.size() < max_slices ? place_of(track) : std::nullopt;
    if (!place) return odd();
    Slice slice;
    slice.start_ns = now;
    slice.name = name;
    slice.track = *place;
    slice.kind = kind;
    slice.correlation = arguments_.correlation;
    slice.counted = arguments_.counted;
    slice.in_graph = arguments_.in_graph;
    if ((kind == SliceKind::kernel || kind == SliceKind::communication) && arguments_.has_shape) {
      const auto [known, added] = shapes_.emplace(arguments_.shape, static_cast<std::int64_t>(timeline_.shapes.size()));
      if (added) timeline_.shapes.push_back(arguments_.shape);
      slice.detail = known->second;
    } else if (kind == SliceKind::copy || kind == SliceKind::fill) {
      slice.detail = std::max<std::int64_t>(arguments_.bytes, -1);
    }
    for (const auto& [id, ends] : flows_)
      points_.push_back({id, now, static_cast<std::uint32_t>(timeline_.slices.size()), ends});
    first_ns_ = std::min(first_ns_, now);
    last_ns_ = std::max(last_ns_, now);
    timeline_.slices.push_back(slice);
    open_slice(timeline_.slices, track.open);
  }

  void mark(Described& track, std::int64_t now, std::uint32_t name) {
    if (const auto place = place_of(track)) {
      timeline_.marks.push_back({now, name, *place});
      first_ns_ = std::min(first_ns_, now);
    }
  }

  void count(Described& track, std::int64_t now, double value) {
    if (track.counter == SIZE_MAX) {
      track.counter = timeline_.counters.size();
      timeline_.counters.emplace_back();
    }
    value *= track.unit_size;
    if (track.incremental) value = track.sum += value;
    if (!std::isfinite(value)) return odd();
    timeline_.counters[track.counter].samples.push_back({now, value});
    first_ns_ = std::min(first_ns_, now);
  }

  // --- at the end ----------------------------------------------------------------------------------------------

  std::uint32_t process_of(const Described* track) {
    for (int depth = 0; depth < 32 && !track->process; ++depth) {
      const auto parent = described_.find(track->parent);
      if (parent == described_.end()) break;
      track = &parent->second;
    }
    const std::int64_t id = track->process.value_or(0);
    const auto [place, added] = processes_.emplace(id, static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added) {
      Process process;
      process.id = id;
      if (const auto name = process_names_.find(id); name != process_names_.end()) process.name = name->second;
      take_rank(process);
      timeline_.processes.push_back(std::move(process));
    }
    return place->second;
  }

  void finish() {
    for (auto& [uuid, track] : described_) {
      if (track.counter != SIZE_MAX) {
        CounterTrack& counter = timeline_.counters[track.counter];
        counter.process = process_of(&track);
        counter.name = track.name;
        counter.unit = track.unit;
      }
      if (track.track == none) continue;
      Track& to = timeline_.tracks[track.track];
      to.process = process_of(&track);
      to.name = track.name;
      to.id = track.thread.value_or(0);
      to.kind = track.thread ? TrackKind::thread : TrackKind::other;
    }
    kinds_of_tracks();
    for (Slice& slice : timeline_.slices)
      if (slice.open) slice.duration_ns = last_ns_ - slice.start_ns;
    add_flows();
    if (first_ns_ != std::numeric_limits<std::int64_t>::max()) {
      timeline_.base_ns = clocks_.base_ns.value_or(0);
      move_times(timeline_, -first_ns_);
    }
    sort(timeline_);
    if (clocks_.unknown > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} of clocks that it does not tie to its own; their times may be off.", origin_,
                      plural(clocks_.unknown, "event")));
  }

  void kinds_of_tracks() {
    for (const Slice& slice : timeline_.slices) {
      TrackKind& kind = timeline_.tracks[slice.track].kind;
      if (occupies_gpu(slice.kind))
        kind = TrackKind::stream;
      else if (slice.kind == SliceKind::range && kind != TrackKind::stream)
        kind = TrackKind::ranges;
      else if (slice.kind < SliceKind::range && kind == TrackKind::other)
        kind = TrackKind::thread;
    }
    for (Track& track : timeline_.tracks) name_stream(track);
    tie_ranges(timeline_);
    std::vector<bool> lanes;
    for (const Track& track : timeline_.tracks) lanes.push_back(track.id == 0 || track.kind != TrackKind::thread);
    join_lanes(timeline_, lanes);
  }

  /// Along the points of each arrow. What leads from a call to its work is the correlation.
  void add_flows() {
    std::ranges::stable_sort(points_, {}, &Point::time_ns);
    std::unordered_map<std::uint64_t, std::uint32_t> last;
    std::unordered_map<std::uint32_t, std::uint32_t> given;  // by call
    std::uint32_t next = 0;
    for (const Slice& slice : timeline_.slices) next = std::max(next, slice.correlation);
    const std::uint32_t arrow = timeline_.names.number("flow");
    for (const Point& point : points_) {
      const auto [place, first] = last.emplace(point.id, point.slice);
      if (!first) {
        const std::uint32_t before = place->second;
        Slice &from = timeline_.slices[before], &to = timeline_.slices[point.slice];
        const bool call = from.kind == SliceKind::launch || from.kind == SliceKind::transfer;
        const bool graph = occupies_gpu(from.kind) && from.in_graph;
        if ((call || graph) && occupies_gpu(to.kind) && to.correlation == 0 && next < none - 1) {
          if (from.correlation == 0) from.correlation = ++next;
          to.correlation = from.correlation;
        } else if (before != point.slice &&
                   !((call || graph) && from.correlation == to.correlation && to.correlation != 0)) {
          timeline_.flows.push_back({before, point.slice, arrow});
        }
        place->second = point.slice;
      }
      if (point.ends) last.erase(place);
    }
  }

  struct Point {
    std::uint64_t id;
    std::int64_t time_ns;
    std::uint32_t slice;
    bool ends;
  };

  Bytes& bytes_;
  Window window_;
  std::string_view origin_;
  Timeline timeline_;
  StringPool texts_;  // categories, names of arguments
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  PerfettoClocks clocks_;
  std::map<std::uint64_t, Described> described_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::int64_t, std::uint32_t> processes_;
  std::map<LaunchShape, std::int64_t> shapes_;
  std::vector<std::pair<std::uint64_t, bool>> flows_;  // of the event: number, and whether it ends there
  Arguments arguments_;
  std::vector<Point> points_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(),
               last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t byte_ = 0, packets_ = 0, first_odd_ = 0;
  long long odd_ = 0;
  std::string broken_;
};

}  // namespace

Timeline perfetto_trace(Bytes& bytes, std::string_view origin) { return PerfettoReader(bytes, origin).read(); }

extern const Reader perfetto_reader{
    "a Perfetto trace", [](std::string_view start) { return start.starts_with('\n') && !is_xspace(start); },
    [](const std::filesystem::path& file) { return perfetto_trace(*open_bytes(file), file.string()); }};

}  // namespace gpubench::timeline
