// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf, by hand: the fields that are used here, numbered as in its public schema
// (protos/perfetto/trace/perfetto_trace.proto).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "timeline/correlations.h"
#include "timeline/names.h"
#include "timeline/writers.h"
#include "timeline/writers/common.h"

namespace gpubench::timeline {
namespace {

/// A message of protocol buffers: fields as they are put. Most are short, and need no memory of their own.
class Message {
 public:
  Message& put(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  Message& put(std::uint32_t field, std::string_view text) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(text.size());
    add(text);
    return *this;
  }
  Message& put(std::uint32_t field, const Message& message) { return put(field, message.bytes()); }
  Message& put_fixed(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    std::array<char, 8> bytes{};
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> 8 * i & 255U);
    add({bytes.data(), bytes.size()});
    return *this;
  }
  [[nodiscard]] std::string_view bytes() const {
    return large_.empty() ? std::string_view(small_.data(), size_) : std::string_view(large_);
  }

 private:
  void varint(std::uint64_t value) {
    std::array<char, 10> bytes;  // set as far as it is used
    std::size_t size = 0;
    for (; value >= 128 && size < 9; value >>= 7) bytes[size++] = static_cast<char>((value & 127U) | 128U);
    bytes[size++] = static_cast<char>(value);
    add({bytes.data(), size});
  }
  void add(std::string_view more) {
    if (large_.empty() && size_ + more.size() <= small_.size()) {
      std::ranges::copy(more, small_.data() + size_);
      size_ += more.size();
      return;
    }
    if (large_.empty()) large_.assign(small_.data(), size_);
    large_ += more;
  }
  std::array<char, 104> small_;  // set as far as `size_` says
  std::size_t size_ = 0;
  std::string large_;  // all of it, where it is long
};

namespace packet {
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11, interned = 12, flags = 13,
                        track_descriptor = 60;
}
namespace descriptor {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
}
namespace event {
constexpr std::uint32_t categories = 3, annotations = 4, type = 9, name = 10, track = 11, counter = 30,
                        double_counter = 44, flows = 47, ending_flows = 48;
constexpr std::uint64_t begin = 1, end = 2, instant = 3, value = 4;
}  // namespace event
namespace interned {
constexpr std::uint32_t categories = 1, names = 2, annotations = 3;
}
constexpr std::uint64_t clock_realtime = 1, clock_boottime = 6;
constexpr std::uint64_t state_cleared = 1, needs_state = 2;

/// Texts have numbers of their own in each sequence.
struct SequenceTexts {
  std::map<std::uint32_t, std::uint64_t> names, categories, annotations;
  bool begun = false;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const Sink& sink)
      : timeline_(timeline),
        sink_(sink),
        links_(link(timeline)),
        flow_ends_(timeline),
        numbers_(process_numbers(timeline)),
        first_lanes_(timeline.tracks.size(), 0) {}

  void write() {
    first_ = timeline_.slices.empty() ? 0 : timeline_.slices.front().start_ns;
    if (!timeline_.memory.empty()) first_ = std::min(first_, timeline_.memory.front().time_ns);
    if (!timeline_.marks.empty()) first_ = std::min(first_, timeline_.marks.front().time_ns);
    for (const CounterTrack& counter : timeline_.counters)
      if (!counter.samples.empty()) first_ = std::min(first_, counter.samples.front().time_ns);
    start();
    processes();
    slices();
    // In a sequence of their own: they lie between the begins and ends of their tracks.
    const std::uint64_t sequence = next_track_++;
    for (const Instant& one : timeline_.marks) mark(one, sequence);
    memory();
    counters();
    sink_(text_);
  }

 private:
  [[nodiscard]] std::uint64_t time(std::int64_t ns) const { return static_cast<std::uint64_t>(ns - first_); }

  /// A sequence for each track, so that the times of each are in order.
  static void append(std::string& text, SequenceTexts& texts, std::uint64_t sequence, Message&& packet,
                     std::uint64_t flags) {
    packet.put(packet::sequence, sequence);
    if (!std::exchange(texts.begun, true)) flags |= state_cleared;
    if (flags != 0) packet.put(packet::flags, flags);
    text += Message().put(1, packet).bytes();
  }

  void emit(std::uint64_t sequence, Message packet, std::uint64_t flags = 0) {
    append(text_, texts_[sequence], sequence, std::move(packet), flags);
    if (text_.size() < part_bytes) return;
    sink_(text_);
    text_.clear();
  }

  /// Times count from the first; the snapshot says when that was.
  void start() {
    const auto clock = [](std::uint64_t id, std::uint64_t now) { return Message().put(1, id).put(2, now); };
    const auto real = static_cast<std::uint64_t>(std::max<std::int64_t>(timeline_.base_ns + first_, 0));
    emit(next_track_,
         Message().put(
             packet::clock_snapshot,
             Message().put(1, clock(clock_boottime, 0)).put(1, clock(clock_realtime, real)).put(2, clock_boottime)));
  }

  void processes() {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Process& process = timeline_.processes[i];
      std::string name = printable(process.name);
      if (process.rank) name += " (rank " + std::to_string(*process.rank) + ")";
      process_track_.push_back(next_track_);
      emit(next_track_,
           Message().put(
               packet::track_descriptor,
               Message()
                   .put(descriptor::uuid, next_track_)
                   .put(descriptor::process, Message().put(1, static_cast<std::uint64_t>(numbers_[i])).put(6, name))));
      ++next_track_;
    }
  }

  /// The number of a text, and its definition for the packet that uses it first.
  static std::uint64_t number(std::map<std::uint32_t, std::uint64_t>& known, std::uint32_t key, std::uint32_t kind,
                              std::string_view text, Message& definitions, bool& defines) {
    const auto [place, added] = known.emplace(key, known.size() + 1);
    if (added) {
      definitions.put(kind, Message().put(1, place->second).put(2, text));
      defines = true;
    }
    return place->second;
  }

  /// Track by track, on all cores: none needs what another one has.
  void slices() {
    const auto tracks = static_cast<std::uint32_t>(timeline_.tracks.size());
    std::vector<std::uint32_t> first(std::size_t{tracks} + 1, 0), order(timeline_.slices.size());
    for (const Slice& slice : timeline_.slices) ++first[slice.track + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    {
      std::vector<std::uint32_t> next = first;
      for (std::uint32_t i = 0; i < order.size(); ++i) order[next[timeline_.slices[i].track]++] = i;
    }
    std::vector<bool> is_thread(tracks);
    std::set<std::pair<std::uint32_t, std::int64_t>> threads;
    for (std::uint32_t i = 0; i < tracks; ++i) {
      const Track& track = timeline_.tracks[i];
      is_thread[i] = track.kind == TrackKind::thread && track.id > 0 && threads.emplace(track.process, track.id).second;
    }
    // Tracks with few slices go together; a part of the file is what so many pieces fill.
    constexpr std::uint32_t slices_of_piece = 1 << 15;
    constexpr std::size_t pieces_at_once = 32;
    std::vector<std::uint32_t> pieces = {0};  // their first tracks
    for (std::uint32_t track = 1; track <= tracks; ++track)
      if (track == tracks || first[track] - first[pieces.back()] >= slices_of_piece) pieces.push_back(track);
    sink_(std::exchange(text_, {}));  // what is before them
    std::vector<std::string> made;    // handed over while the next ones are made
    for (std::size_t from = 0; from + 1 < pieces.size() || !made.empty(); from += pieces_at_once) {
      std::vector<std::string> parts(from + 1 < pieces.size() ? std::min(pieces_at_once, pieces.size() - 1 - from) : 0);
      for_each_in_parallel(parts.size() + 1, 1, [&](std::size_t job) {
        if (job == 0) {
          for (std::string& part : made) sink_(std::exchange(part, {}));
          return;
        }
        const std::size_t i = job - 1;
        for (std::uint32_t track = pieces[from + i]; track < pieces[from + i + 1]; ++track) {
          if (first[track] == first[track + 1]) continue;
          TrackText out(*this, track, is_thread[track], parts[i]);
          for (std::uint32_t at = first[track]; at < first[track + 1]; ++at) out.slice(order[at]);
          out.finish();
        }
      });
      made = std::move(parts);
    }
    for (std::uint32_t track = 0; track < tracks; ++track)
      if (first[track] < first[track + 1]) first_lanes_[track] = lane_number(track, 0);
  }

  /// Apart from those of processes, counters and marks.
  static std::uint64_t lane_number(std::uint32_t track, std::size_t lane) {
    return (std::uint64_t{track} + 1) * 256 + lane + (std::uint64_t{1} << 31);
  }

  /// Describes a lane, and gives its number.
  std::uint64_t describe(std::uint32_t track, std::size_t lane, bool is_thread, SequenceTexts& texts,
                         std::string& to) const {
    const Track& here = timeline_.tracks[track];
    const std::string name = printable(track_name(here, lane));
    Message described, packet;
    described.put(descriptor::uuid, lane_number(track, lane))
        .put(descriptor::name, name)
        .put(descriptor::parent, process_track_[here.process]);
    if (is_thread && lane == 0)
      described.put(descriptor::thread, Message()
                                            .put(1, static_cast<std::uint64_t>(numbers_[here.process]))
                                            .put(2, static_cast<std::uint64_t>(here.id))
                                            .put(5, name));
    packet.put(packet::track_descriptor, described);
    append(to, texts, lane_number(track, lane), std::move(packet), 0);
    return lane_number(track, lane);
  }

  /// What becomes of one track's slices.
  class TrackText {
   public:
    TrackText(const PerfettoWriter& writer, std::uint32_t track, bool is_thread, std::string& text)
        : writer_(writer), track_(track), is_thread_(is_thread), text_(text) {}

    void slice(std::size_t place) {
      const Timeline& timeline_ = writer_.timeline_;
      const Slice& slice = timeline_.slices[place];
      const std::size_t lane = lanes_.place(slice, [&](std::size_t of, std::int64_t ended) { end(of, ended); });
      if (lane == texts_.size()) (void)writer_.describe(track_, lane, is_thread_, texts_.emplace_back(), text_);
      const std::uint64_t track = lane_number(track_, lane);
      SequenceTexts& texts = texts_[lane];
      Message definitions;
      bool defines = false;
      const auto text = [&](std::uint32_t name) { return printable(timeline_.names.text(name)); };
      Message begun;
      begun.put(event::type, event::begin).put(event::track, track);
      begun.put(event::name, number(texts.names, slice.name, interned::names,
                                    texts.names.contains(slice.name) ? "" : text(slice.name), definitions, defines));
      const auto kind = static_cast<std::uint32_t>(slice.kind);
      begun.put(event::categories,
                number(texts.categories, kind, interned::categories, name_of(slice.kind), definitions, defines));
      constexpr std::uint32_t whole = 3, words = 6;  // fields of an annotation
      const auto annotate = [&](std::uint32_t key, std::string_view name, std::uint32_t field, const auto& value) {
        begun.put(event::annotations,
                  Message()
                      .put(1, number(texts.annotations, key, interned::annotations, name, definitions, defines))
                      .put(field, value));
      };
      if (slice.correlation != 0) annotate(0, "correlation", whole, std::uint64_t{slice.correlation});
      const bool is_kernel = slice.kind == SliceKind::kernel || slice.kind == SliceKind::communication;
      if (is_kernel && slice.detail >= 0 && static_cast<std::size_t>(slice.detail) < timeline_.shapes.size()) {
        const LaunchShape& shape = timeline_.shapes[static_cast<std::size_t>(slice.detail)];
        const auto extents = [](const std::array<std::uint32_t, 3>& of) {
          return std::to_string(of[0]) + "," + std::to_string(of[1]) + "," + std::to_string(of[2]);
        };
        annotate(1, "grid", words, std::string_view(extents(shape.grid)));
        annotate(2, "block", words, std::string_view(extents(shape.block)));
        annotate(3, "registers of a thread", whole, std::uint64_t{shape.registers});
        annotate(4, "static shared bytes", whole, std::uint64_t{shape.static_shared_bytes});
        annotate(5, "dynamic shared bytes", whole, std::uint64_t{shape.dynamic_shared_bytes});
        if (shape.local_bytes != 0) annotate(6, "local bytes of a thread", whole, std::uint64_t{shape.local_bytes});
      } else if ((slice.kind == SliceKind::copy || slice.kind == SliceKind::fill) && slice.detail >= 0) {
        annotate(7, "bytes", whole, static_cast<std::uint64_t>(slice.detail));
      }
      if (slice.in_graph) annotate(8, "in graph", whole, std::uint64_t{1});
      if (slice.counted) annotate(9, "counted", whole, std::uint64_t{1});
      flows(place, begun);
      Message packet;
      packet.put(packet::timestamp, writer_.time(slice.start_ns)).put(packet::track_event, begun);
      if (defines) packet.put(packet::interned, definitions);
      append(text_, texts, track, std::move(packet), needs_state);
    }

    void finish() {
      lanes_.finish([&](std::size_t lane, std::int64_t time) { end(lane, time); });
    }

   private:
    /// From a call to what it starts; a graph's kernels follow one another.
    void flows(std::size_t place, Message& begun) const {
      const Correlations& links = writer_.links_;
      const auto call = std::ranges::lower_bound(links.calls, place, {}, &Call::slice);
      if (call != links.calls.end() && call->slice == place && call->gpu != Call::no_gpu)
        begun.put_fixed(event::flows, static_cast<std::uint64_t>(call - links.calls.begin()) + 1);
      if (links.call_of[place] != none)
        begun.put_fixed(writer_.timeline_.slices[place].in_graph ? event::flows : event::ending_flows,
                        links.call_of[place] + 1);
      const auto id = [&](std::uint32_t number) { return links.calls.size() + number + 1; };
      writer_.flow_ends_.visit(
          place, [&](std::uint32_t number) { begun.put_fixed(event::flows, id(number)); },
          [&](std::uint32_t number) { begun.put_fixed(event::ending_flows, id(number)); });
    }

    void end(std::size_t lane, std::int64_t at) {
      Message packet, ended;
      ended.put(event::type, event::end).put(event::track, lane_number(track_, lane));
      packet.put(packet::timestamp, writer_.time(at)).put(packet::track_event, ended);
      append(text_, texts_[lane], lane_number(track_, lane), std::move(packet), 0);
    }

    const PerfettoWriter& writer_;
    std::uint32_t track_;
    bool is_thread_;
    std::string& text_;
    Lanes lanes_;
    std::deque<SequenceTexts> texts_;  // of each lane
  };

  void mark(const Instant& mark, std::uint64_t sequence) {
    Message definitions;
    bool defines = false;
    Message instant;
    instant.put(event::type, event::instant).put(event::track, first_lane_of(mark.track));
    instant.put(event::name, number(texts_[sequence].names, mark.name, interned::names,
                                    printable(timeline_.names.text(mark.name)), definitions, defines));
    Message packet;
    packet.put(packet::timestamp, time(mark.time_ns)).put(packet::track_event, instant);
    if (defines) packet.put(packet::interned, definitions);
    emit(sequence, std::move(packet), needs_state);
  }

  std::uint64_t first_lane_of(std::uint32_t track) {
    std::uint64_t& lane = first_lanes_[track];
    if (lane == 0) {
      SequenceTexts texts;
      lane = describe(track, 0, false, texts, text_);
    }
    return lane;
  }

  std::uint64_t counter_track(std::uint32_t process, std::string_view name, const Message& unit) {
    const std::uint64_t track = next_track_++;
    emit(track, Message().put(packet::track_descriptor, Message()
                                                            .put(descriptor::uuid, track)
                                                            .put(descriptor::name, printable(name))
                                                            .put(descriptor::parent, process_track_.at(process))
                                                            .put(descriptor::counter, unit)));
    return track;
  }

  void memory() {
    constexpr std::uint64_t unit_bytes = 3;
    std::map<std::pair<std::uint32_t, MemoryKind>, std::uint64_t> tracks;
    for (const LiveMemory& live : live_memory(timeline_)) {
      const auto [place, added] = tracks.emplace(std::pair(live.process, live.kind), 0);
      if (added)
        place->second =
            counter_track(live.process, std::string(memory_kind_names[static_cast<std::size_t>(live.kind)]) + " memory",
                          Message().put(3, unit_bytes));
      emit(place->second,
           Message()
               .put(packet::timestamp, time(live.time_ns))
               .put(packet::track_event, Message()
                                             .put(event::type, event::value)
                                             .put(event::track, place->second)
                                             .put(event::counter, static_cast<std::uint64_t>(live.bytes))));
    }
  }

  void counters() {
    for (const CounterTrack& counter : timeline_.counters) {
      const std::uint64_t track =
          counter_track(counter.process, counter.name, Message().put(6, printable(counter.unit)));
      for (const CounterSample& sample : counter.samples)
        if (std::isfinite(sample.value))
          emit(track, Message()
                          .put(packet::timestamp, time(sample.time_ns))
                          .put(packet::track_event,
                               Message()
                                   .put(event::type, event::value)
                                   .put(event::track, track)
                                   .put_fixed(event::double_counter, std::bit_cast<std::uint64_t>(sample.value))));
    }
  }

  const Timeline& timeline_;
  const Sink& sink_;
  Correlations links_;
  FlowEnds flow_ends_;
  std::int64_t first_ = 0;
  std::uint64_t next_track_ = 1;
  std::vector<std::uint64_t> process_track_;
  std::vector<std::int64_t> numbers_;             // of the processes
  std::vector<std::uint64_t> first_lanes_;        // of each track, once it is described
  std::map<std::uint64_t, SequenceTexts> texts_;  // of each sequence but those of slices
  std::string text_;
};

}  // namespace

void write_perfetto(const Timeline& timeline, const Sink& sink) { PerfettoWriter(timeline, sink).write(); }

}  // namespace gpubench::timeline
