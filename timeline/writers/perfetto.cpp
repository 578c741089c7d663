// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf, by hand.
#include "timeline/input/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "timeline/input/common.h"
#include "timeline/names.h"
#include "timeline/writers.h"
#include "timeline/writers/common.h"

namespace gpubench::timeline {
namespace {

using namespace perfetto;

/// A message of protocol buffers: fields as they are put. Most are short, and need no memory of their own.
class Message {
 public:
  Message& put(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    return varint(value);
  }
  Message& put(std::uint32_t field, std::string_view text) {
    varint(std::uint64_t{field} << 3 | 2).varint(text.size());
    bytes_.append(text.data(), text.data() + text.size());
    return *this;
  }
  Message& put(std::uint32_t field, const Message& message) { return put(field, message.bytes()); }
  Message& put_fixed(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    bytes_.append(bytes.data(), bytes.data() + bytes.size());
    return *this;
  }
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  Message& varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<char>((value & 127U) | 128U));
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  fmt::basic_memory_buffer<char, 104> bytes_;
};

/// Packets whose times are in order, and whose texts have numbers of their own.
class Sequence {
 public:
  explicit Sequence(std::uint64_t id) : id_(id) {}

  /// The number of a text, by its kind and a key; the next packet defines it where it is new.
  std::uint64_t number(std::uint32_t kind, std::uint32_t key, std::string_view text) {
    flags_ |= packet::needs_state;
    const auto [place, added] = numbers_.emplace(std::pair(kind, key), numbers_.size() + 1);
    if (added)
      definitions_.put(kind, Message().put(interned::number, place->second).put(interned::text, printable(text)));
    return place->second;
  }

  void put(std::string& to, std::uint32_t field, const Message& what, std::optional<std::int64_t> time = {}) {
    Message packet;
    if (time) packet.put(packet::timestamp, static_cast<std::uint64_t>(*time));
    packet.put(field, what);
    if (!definitions_.bytes().empty()) packet.put(packet::interned, std::exchange(definitions_, {}));
    packet.put(packet::sequence, id_);
    if (flags_ != 0) packet.put(packet::flags, std::exchange(flags_, 0));
    to += Message().put(1, packet).bytes();
  }

 private:
  std::uint64_t id_, flags_ = packet::state_cleared;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers_;
  Message definitions_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const Sink& sink)
      : timeline_(timeline), sink_(sink), arrows_(timeline), messages_(timeline), processes_(processes_of(timeline)) {
    if (const std::int64_t first = first_time(timeline); first != std::numeric_limits<std::int64_t>::max())
      first_ = first;
  }

  void write() {
    head();
    slices();
    // In a sequence of their own: they lie between the begins and ends of their tracks.
    const std::uint64_t of_marks = processes_.size() + 1;
    Sequence marks(of_marks);
    for (const Instant& mark : timeline_.marks) {
      Message event = event_of(event::instant, lane_number(mark.track, 0));
      event.put(event::name, marks.number(interned::names, mark.name, timeline_.names.text(mark.name)));
      put(marks, event, mark.time_ns);
    }
    std::uint64_t track = of_marks + 1;
    Sequence memory(track);
    for (const MemoryEvent& one : timeline_.memory) {
      if (one.process >= processes_.size()) continue;
      Message event = event_of(event::instant, one.process + 1);
      event.put(event::name, memory.number(interned::names, 0, annotation::memory));
      std::uint32_t key = 0;
      annotate(event, memory, ++key, annotation::address, static_cast<std::int64_t>(one.address));
      annotate(event, memory, ++key, annotation::bytes, one.bytes);
      annotate(event, memory, ++key, annotation::device, std::int64_t{one.device});
      annotate(event, memory, ++key, annotation::memory_kind, memory_kind_names[static_cast<std::size_t>(one.kind)]);
      annotate(event, memory, ++key, annotation::library, printable(timeline_.names.text(one.source)));
      put(memory, event, one.time_ns);
    }
    for (const CounterTrack& counter : counters_of(timeline_)) write(counter, ++track);
    sink_(text_);
  }

 private:
  void put(Sequence& sequence, const Message& event, std::int64_t time) {
    sequence.put(text_, packet::track_event, event, time - first_);
    if (text_.size() >= part_bytes) sink_(std::exchange(text_, {}));
  }

  template <class Value>
  static void annotate(Message& event, Sequence& sequence, std::uint32_t key, std::string_view name,
                       const Value& value) {
    Message annotated;
    annotated.put(annotation::name, sequence.number(interned::annotations, key, name));
    if constexpr (std::is_integral_v<Value>)
      annotated.put(std::is_signed_v<Value> ? annotation::negative : annotation::whole,
                    static_cast<std::uint64_t>(value));
    else
      annotated.put(annotation::words, value);
    event.put(event::annotation, annotated);
  }

  static Message event_of(std::uint64_t type, std::uint64_t track) {
    Message event;
    event.put(event::type, type).put(event::track, track);
    return event;
  }

  /// Times count from the first; the snapshot says when that was. The tracks of processes are numbered from 1 on.
  void head() {
    Sequence sequence(1);
    const auto real = static_cast<std::uint64_t>(std::max<std::int64_t>(timeline_.base_ns + first_, 0));
    sequence.put(text_, packet::clock_snapshot,
                 Message()
                     .put(snapshot::clocks,
                          Message().put(snapshot::id, snapshot::boot_time).put(snapshot::time, std::uint64_t{0}))
                     .put(snapshot::clocks, Message().put(snapshot::id, snapshot::real_time).put(snapshot::time, real))
                     .put(snapshot::primary, snapshot::boot_time));
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Message process;
      process.put(descriptor::pid, static_cast<std::uint64_t>(processes_[i].id))
          .put(descriptor::process_name, printable(processes_[i].name));
      sequence.put(text_, packet::track_descriptor,
                   Message().put(descriptor::uuid, i + 1).put(descriptor::process, process));
    }
  }

  /// Track by track, on all cores: none needs what another one has.
  void slices() {
    std::vector<std::vector<std::uint32_t>> slices(timeline_.tracks.size());
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) slices[timeline_.slices[i].track].push_back(i);
    std::vector<char> is_thread;
    std::set<std::pair<std::uint32_t, std::int64_t>> threads;
    for (const Track& track : timeline_.tracks)
      is_thread.push_back(track.kind == TrackKind::thread && track.id > 0 &&
                          threads.emplace(track.process, track.id).second);
    std::vector<std::string> texts(slices.size());
    for_each_in_parallel(texts.size(), 1, [&](std::size_t track) {
      texts[track] = track_text(static_cast<std::uint32_t>(track), is_thread[track], slices[track]);
    });
    for (std::string& text : texts) {
      text_ += std::exchange(text, {});
      if (text_.size() >= part_bytes) sink_(std::exchange(text_, {}));
    }
  }

  /// Apart from those of processes, counters and marks.
  static std::uint64_t lane_number(std::uint32_t track, std::size_t lane) {
    return (std::uint64_t{track} + 1) * 256 + lane + (std::uint64_t{1} << 31);
  }

  std::string track_text(std::uint32_t track, bool is_thread, const std::vector<std::uint32_t>& slices) const {
    const Track& here = timeline_.tracks[track];
    std::string text;
    std::vector<Sequence> sequences;  // of each lane
    const auto describe = [&] {
      const std::size_t lane = sequences.size();
      const std::string name = printable(track_name(here, lane));
      Message described;
      described.put(descriptor::uuid, lane_number(track, lane))
          .put(descriptor::name, name)
          .put(descriptor::parent, std::uint64_t{here.process} + 1);
      if (const std::string model = gpu_model(timeline_, here.process, here.device);
          here.kind == TrackKind::stream && !model.empty())
        described.put(descriptor::description, printable(model));
      if (is_thread && lane == 0)
        described.put(descriptor::thread,
                      Message()
                          .put(descriptor::pid, static_cast<std::uint64_t>(processes_[here.process].id))
                          .put(descriptor::tid, static_cast<std::uint64_t>(here.id))
                          .put(descriptor::thread_name, name));
      sequences.emplace_back(lane_number(track, lane)).put(text, packet::track_descriptor, described);
    };
    const auto end = [&](std::size_t lane, std::int64_t at) {
      sequences[lane].put(text, packet::track_event, event_of(event::end, lane_number(track, lane)), at - first_);
    };
    describe();
    Lanes lanes;
    for (const std::uint32_t place : slices) {
      const std::size_t lane = lanes.place(timeline_.slices[place], end);
      if (lane == sequences.size()) describe();
      sequences[lane].put(text, packet::track_event, begin(place, lane_number(track, lane), sequences[lane]),
                          timeline_.slices[place].start_ns - first_);
    }
    lanes.finish(end);
    return text;
  }

  Message begin(std::uint32_t place, std::uint64_t track, Sequence& sequence) const {
    const Slice& slice = timeline_.slices[place];
    Message begun = event_of(event::begin, track);
    begun.put(event::name, sequence.number(interned::names, slice.name, timeline_.names.text(slice.name)));
    begun.put(event::category,
              sequence.number(interned::categories, static_cast<std::uint32_t>(slice.kind), name_of(slice.kind)));
    std::uint32_t key = 0;  // of the next annotation
    const auto add = [&]<class Value>(bool present, std::string_view name, const Value& value) {
      ++key;
      if (present) annotate(begun, sequence, key, name, value);
    };
    add(slice.correlation != 0, "correlation", std::uint64_t{slice.correlation});
    add(slice.in_graph, "in graph", std::uint64_t{1});
    add(slice.counted, "counted", std::uint64_t{1});
    if (const std::string_view name = detail_text(timeline_, slice); !name.empty())
      annotate(begun, sequence, slice.kind == SliceKind::other ? 101 : 102, name,
               printable(timeline_.names.text(static_cast<std::uint32_t>(slice.detail))));
    add(is_command(slice.kind) && slice.detail >= 0, "bytes", static_cast<std::uint64_t>(slice.detail));
    if (is_kernel(slice.kind) && slice.detail >= 0 &&
        static_cast<std::size_t>(slice.detail) < timeline_.shapes.size()) {
      const LaunchShape& shape = timeline_.shapes[static_cast<std::size_t>(slice.detail)];
      for (const auto& [name, extents] : annotation::extents)
        add(true, name, fmt::format("{}", fmt::join(shape.*extents, ",")));
      for (const auto& [name, of] : annotation::numbers) add(shape.*of != 0, name, std::uint64_t{shape.*of});
    }
    if (const timeline::Message* const message = messages_.of(slice)) {
      key = 100;  // whatever came before
      for (const auto& [name, of] : message_texts) add(true, name, printable(timeline_.names.text(message->*of)));
      for (const auto& [name, of] : message_numbers) add(true, name, message->*of);
    }
    arrows_.visit(place, [&](std::uint64_t id, bool ends, std::uint32_t flow) {
      // A graph's kernels follow one another.
      begun.put_fixed(ends && (flow != none || !slice.in_graph) ? event::ending_flow : event::flow, id);
    });
    return begun;
  }

  void write(const CounterTrack& counter, std::uint64_t track) {
    Sequence sequence(track);
    Message unit;
    if (counter.unit == "bytes")
      unit.put(descriptor::unit, descriptor::unit_bytes);
    else
      unit.put(descriptor::unit_name, printable(counter.unit));
    sequence.put(text_, packet::track_descriptor,
                 Message()
                     .put(descriptor::uuid, track)
                     .put(descriptor::name, printable(counter.name))
                     .put(descriptor::parent, std::uint64_t{counter.process} + 1)
                     .put(descriptor::counter, unit));
    for (const CounterSample& sample : counter.samples) {
      Message event = event_of(event::value, track);
      if (counter.unit == "bytes" && std::abs(sample.value) < 1e15)
        event.put(event::counter, static_cast<std::uint64_t>(std::llround(sample.value)));
      else
        event.put_fixed(event::double_counter, std::bit_cast<std::uint64_t>(sample.value));
      put(sequence, event, sample.time_ns);
    }
  }

  const Timeline& timeline_;
  const Sink& sink_;
  Arrows arrows_;
  Messages messages_;
  std::vector<Process> processes_;
  std::int64_t first_ = 0;
  std::string text_;
};

}  // namespace

void write_perfetto(const Timeline& timeline, const Sink& sink) { PerfettoWriter(timeline, sink).write(); }

}  // namespace gpubench::timeline
