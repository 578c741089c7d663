// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "timeline/names.h"
#include "timeline/structure/correlations.h"
#include "timeline/writers.h"
#include "timeline/writers/common.h"

namespace gpubench::timeline {
namespace {

/// "-1234.567": nanoseconds as microseconds.
void append_microseconds(std::string& text, std::int64_t nanoseconds) {
  const auto size = nanoseconds < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(nanoseconds)
                                    : static_cast<std::uint64_t>(nanoseconds);
  if (nanoseconds < 0) text += '-';
  const fmt::format_int whole(size / 1000);
  text.append(whole.data(), whole.size());
  const auto digit = [&](std::uint64_t unit) { return static_cast<char>('0' + size / unit % 10); };
  const std::array<char, 4> rest = {'.', digit(100), digit(10), digit(1)};
  text.append(rest.data(), rest.size());
}

void append_number(std::string& text, std::int64_t number) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

class ChromeWriter {
 public:
  ChromeWriter(const Timeline& timeline, const Sink& sink)
      : timeline_(timeline),
        sink_(sink),
        arrows_(timeline),
        messages_(timeline),
        processes_(processes_of(timeline)),
        lanes_(timeline.tracks.size()),
        threads_(timeline.tracks.size()) {
    for (std::uint32_t i = 0; i < timeline.names.size(); ++i)
      names_.push_back(storage::json_string(timeline.names.text(i)));
  }

  void write() {
    put("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"writer\":\"gpubench\",\"base_ns\":\"{}\",\"dropped\":\"{}\"}},"
        "\n\"deviceProperties\":[{}],\n"
        "\"traceEvents\":[\n{{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"tid\":0,\"args\":{{}}}}",
        timeline_.base_ns, timeline_.dropped, joined(timeline_.gpus, ",", [](const GpuModel& gpu) {
          return fmt::format("{{\"id\":{},\"name\":{}}}", gpu.device, storage::json_string(gpu.name));
        }));
    for (const Process& process : processes_)
      put(",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}", process.id,
          storage::json_string(process.name));
    slices();
    for (const CounterTrack& counter : counters_of(timeline_))
      for (const CounterSample& sample : counter.samples)
        event("C", processes_.at(counter.process).id, 0, sample.time_ns, ",\"name\":{},\"args\":{{{}:{}}}",
              storage::json_string(counter.name), storage::json_string(counter.unit.empty() ? "value" : counter.unit),
              sample.value);
    for (const Instant& mark : timeline_.marks)
      event("i", processes_[timeline_.tracks[mark.track].process].id, thread_of(mark.track, 0), mark.time_ns,
            ",\"s\":\"t\",\"name\":{}", names_[mark.name]);
    for (const MemoryEvent& one : timeline_.memory)
      if (one.process < processes_.size())
        event(
            "i", processes_[one.process].id, 0, one.time_ns,
            ",\"s\":\"p\",\"name\":\"[memory]\",\"args\":{{\"Device Type\":1,\"Device Id\":{},\"Addr\":{},\"Bytes\":{},"
            "\"memory kind\":\"{}\",\"library\":{}}}",
            one.device, static_cast<std::int64_t>(one.address), one.bytes,
            memory_kind_names[static_cast<std::size_t>(one.kind)], names_[one.source]);
    put("\n]}}\n");
    sink_(text_);
  }

 private:
  template <class... Values>
  void put(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  /// The fields that each event has.
  static void begin_event(std::string& text, std::string_view phase, std::int64_t process, std::int64_t thread,
                          std::int64_t time) {
    text.append(",\n{\"ph\":\"").append(phase).append("\",\"pid\":");
    append_number(text, process);
    text.append(",\"tid\":");
    append_number(text, thread);
    text.append(",\"ts\":");
    append_microseconds(text, time);
  }

  /// All after the fields that each event has.
  template <class... Values>
  void event(std::string_view phase, std::int64_t process, std::int64_t thread, std::int64_t time,
             fmt::format_string<Values...> format, Values&&... values) {
    begin_event(text_, phase, process, thread, time);
    put(format, std::forward<Values>(values)...);
    text_ += '}';
    if (text_.size() < part_bytes) return;
    sink_(text_);
    text_.clear();
  }

  /// The lane's number as a thread, named when it is first used. Threads keep their own number where they can.
  std::int64_t thread_of(std::uint32_t track, std::size_t lane) {
    std::vector<std::int64_t>& lanes = threads_[track];
    if (lanes.size() <= lane) lanes.resize(lane + 1, 0);
    std::int64_t& number = lanes[lane];
    if (number != 0) return number;
    const Track& here = timeline_.tracks[track];
    const std::int64_t process = processes_[here.process].id;
    number = here.kind == TrackKind::thread && lane == 0 && here.id > 0 ? here.id : next_thread_++;
    while (!used_.emplace(process, number).second) number = next_thread_++;
    const std::string args = fmt::format("\"pid\":{},\"tid\":{},\"args\":", process, number);
    put(",\n{{\"ph\":\"M\",\"name\":\"thread_name\",{}{{\"name\":{}}}}}", args,
        storage::json_string(track_name(here, lane)));
    if (here.kind == TrackKind::other) put(",\n{{\"ph\":\"M\",\"name\":\"{}\",{}{{}}}}", no_thread, args);
    put(",\n{{\"ph\":\"M\",\"name\":\"thread_sort_index\",{}{{\"sort_index\":{}}}}}", args,
        std::size_t{track} * 100 + std::min<std::size_t>(lane, 99));
    return number;
  }

  /// Some hundred thousand slices at a time: lanes and threads go by order, the texts are made on all cores.
  void slices() {
    constexpr std::size_t of_piece = 1 << 13, of_round = of_piece << 5;
    std::vector<std::pair<std::int64_t, std::int64_t>> places;  // process and thread
    std::vector<std::string> texts(of_round / of_piece);
    for (std::size_t first = 0; first < timeline_.slices.size(); first += of_round) {
      places.clear();
      for (std::size_t i = first; i < std::min(first + of_round, timeline_.slices.size()); ++i) {
        const Slice& slice = timeline_.slices[i];
        const std::size_t lane = lanes_[slice.track].place(slice, [](std::size_t, std::int64_t) {});
        places.emplace_back(processes_[timeline_.tracks[slice.track].process].id, thread_of(slice.track, lane));
      }
      for_each_in_parallel(texts.size(), 1, [&](std::size_t piece) {
        texts[piece].clear();
        for (std::size_t i = piece * of_piece; i < std::min((piece + 1) * of_piece, places.size()); ++i)
          slice(first + i, places[i].first, places[i].second, texts[piece]);
      });
      sink_(std::exchange(text_, {}));  // with names of new threads
      for (const std::string& text : texts) sink_(text);
    }
  }

  void slice(std::size_t place, std::int64_t process, std::int64_t thread, std::string& text) const {
    const Slice& slice = timeline_.slices[place];
    begin_event(text, "X", process, thread, slice.start_ns);
    text.append(",\"dur\":");
    append_microseconds(text, slice.duration_ns);
    text.append(",\"cat\":\"").append(name_of(slice.kind)).append("\",\"name\":").append(names_[slice.name]);
    append_arguments(text, slice);
    text += '}';
    arrows_.visit(place, [&](std::uint64_t id, bool ends, std::uint32_t flow) {
      begin_event(text, ends ? "f" : "s", process, thread, slice.start_ns);
      fmt::format_to(std::back_inserter(text), "{},\"cat\":\"{}\",\"name\":{},\"id\":{}}}", ends ? ",\"bp\":\"e\"" : "",
                     flow == none ? "launch" : "flow", flow == none ? "\"launch\"" : names_[timeline_.flows[flow].name],
                     id);
    });
  }

  void append_arguments(std::string& text, const Slice& slice) const {
    bool any = false;
    const auto add = [&](std::string_view name, const auto& value) {
      fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", any ? "," : ",\"args\":{", name, value);
      any = true;
    };
    if (slice.correlation != 0) add("correlation", slice.correlation);
    if (is_kernel(slice.kind) && slice.detail >= 0 &&
        static_cast<std::size_t>(slice.detail) < timeline_.shapes.size()) {
      const LaunchShape& shape = timeline_.shapes[static_cast<std::size_t>(slice.detail)];
      add("grid", fmt::format("[{},{},{}]", shape.grid[0], shape.grid[1], shape.grid[2]));
      add("block", fmt::format("[{},{},{}]", shape.block[0], shape.block[1], shape.block[2]));
      add("registers per thread", shape.registers);
      add("shared memory", std::uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes);
      if (shape.static_shared_bytes != 0) add("static shared B", shape.static_shared_bytes);
      if (shape.local_bytes != 0) add("local B a thread", shape.local_bytes);
    } else if (is_command(slice.kind) && slice.detail >= 0) {
      add("bytes", slice.detail);
    }
    if (const std::string_view name = detail_text(timeline_, slice); !name.empty())
      add(name, names_[static_cast<std::size_t>(slice.detail)]);
    if (const Message* const message = messages_.of(slice)) {
      for (const auto& [name, of] : message_texts) add(name, names_[message->*of]);
      for (const auto& [name, of] : message_numbers) add(name, message->*of);
    }
    if (slice.in_graph) add("in graph", "true");
    if (slice.counted) add("counted", "true");
    if (any) text += '}';
  }

  const Timeline& timeline_;
  const Sink& sink_;
  Arrows arrows_;
  Messages messages_;
  std::vector<Process> processes_;
  std::vector<std::string> names_;
  std::vector<Lanes> lanes_;
  std::vector<std::vector<std::int64_t>> threads_;  ///< of each track and lane; 0: not named yet
  std::set<std::pair<std::int64_t, std::int64_t>> used_;
  std::int64_t next_thread_ = first_free_number;
  std::string text_;
};

}  // namespace

void write_chrome_json(const Timeline& timeline, const Sink& sink) { ChromeWriter(timeline, sink).write(); }

void write(const Timeline& timeline, const std::filesystem::path& file) {
  storage::write_file(file, [&](const storage::Sink& sink) {
    if (file.extension() == ".perfetto-trace")
      write_perfetto(timeline, sink);
    else
      write_chrome_json(timeline, sink);
  });
}

}  // namespace gpubench::timeline
