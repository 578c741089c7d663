// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "traces/readers.h"

namespace gpubench::traces {
namespace {

namespace json = simdjson::ondemand;
using storage::ReadError;

constexpr std::int64_t max_time_ns = std::int64_t{1} << 61;  // 73 years: sums of two stay in range
constexpr std::size_t max_tracks = 100'000;
constexpr std::size_t max_name = 4096;

[[noreturn]] void fail(std::string_view origin, std::string_view why, std::string_view what_to_do) {
  throw ReadError(fmt::format("{}: {}; {}", origin, why, what_to_do));
}

/// Microseconds as written, "4491036073229.465", in nanoseconds: no double holds them. Absent for what is no number,
/// and beyond 73 years.
std::optional<std::int64_t> nanoseconds_in(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  if (token.size() > 1 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  const bool negative = token.starts_with('-');
  const std::string_view digits = token.substr(negative ? 1 : 0);
  if (const auto odd = digits.find_first_not_of("0123456789."); odd != std::string_view::npos || digits.empty()) {
    const auto number = number_in<double>(token);  // with an exponent
    if (!number || !(std::abs(*number) * 1e3 < static_cast<double>(max_time_ns))) return std::nullopt;
    return std::llround(*number * 1e3);
  }
  const auto point = std::min(digits.find('.'), digits.size());
  std::string whole(digits.substr(0, point));
  std::string fraction(point < digits.size() ? digits.substr(point + 1, 4) : "");
  if (fraction.find('.') != std::string::npos) return std::nullopt;
  fraction.resize(4, '0');
  const auto number = number_in<std::int64_t>(whole.empty() ? fraction : whole + fraction);
  if (!number || *number / 10 > max_time_ns) return std::nullopt;
  const std::int64_t rounded = (*number + 5) / 10;
  return negative ? -rounded : rounded;
}

/// One event, as far as it is used. Texts last until the next event is read.
struct Event {
  char phase = 0;
  std::string_view name, category, thread_text, process_text;
  std::optional<std::int64_t> time, length, process, thread;
  std::optional<std::int64_t> correlation, device, stream, bytes, address, device_type, sort_index;
  std::string_view given_name;  // args.name of metadata
  LaunchShape shape;
  bool has_shape = false, in_graph = false, counted = false;
};

std::optional<std::int64_t> whole(json::value value) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return number;
  std::uint64_t big = 0;
  if (value.get_uint64().get(big) == simdjson::SUCCESS) return static_cast<std::int64_t>(big >> 1);
  return std::nullopt;
}

std::string_view text_of(json::value value) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return {};
  return text;
}

std::uint32_t small(std::optional<std::int64_t> number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.value_or(0), 0, 0xFFFFFFFF));
}

void read_extents(json::value value, std::array<std::uint32_t, 3>& extents) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return;
  std::size_t i = 0;
  for (auto element : array)
    if (i < extents.size()) extents[i++] = small(whole(element.value()));
}

void read_arguments(json::object arguments, Event& event) {
  for (auto field : arguments) {
    const std::string_view key = field.unescaped_key();
    json::value value = field.value();
    if (key == "correlation") {
      event.correlation = whole(value);
    } else if (key == "device" || key == "Device Id") {
      event.device = whole(value);
    } else if (key == "stream") {
      event.stream = whole(value);
    } else if (key == "bytes" || key == "Bytes") {
      event.bytes = whole(value);
    } else if (key == "Addr") {
      event.address = whole(value);
    } else if (key == "Device Type") {
      event.device_type = whole(value);
    } else if (key == "name") {
      event.given_name = text_of(value);
    } else if (key == "grid") {
      event.has_shape = true;
      read_extents(value, event.shape.grid);
    } else if (key == "block") {
      read_extents(value, event.shape.block);
    } else if (key == "registers per thread") {
      event.shape.registers = small(whole(value));
    } else if (key == "shared memory") {
      event.shape.dynamic_shared_bytes = small(whole(value));
    } else if (key == "graph node id") {
      event.in_graph = whole(value).value_or(0) > 0;
    } else if (key == "in graph") {
      event.in_graph = true;
    } else if (key == "counted") {
      event.counted = true;
    }
  }
}

Event read_event(json::object object) {
  Event event;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    json::value value = field.value();
    if (key == "ph") {
      const std::string_view phase = text_of(value);
      event.phase = phase.size() == 1 ? phase.front() : '\0';
    } else if (key == "name") {
      event.name = text_of(value).substr(0, max_name);
    } else if (key == "cat") {
      event.category = text_of(value);
    } else if (key == "ts") {
      event.time = nanoseconds_in(value.raw_json_token());
    } else if (key == "dur") {
      event.length = nanoseconds_in(value.raw_json_token());
    } else if (key == "pid") {
      event.process = whole(value);
      if (!event.process) event.process_text = text_of(value);
    } else if (key == "tid") {
      event.thread = whole(value);
      if (!event.thread) event.thread_text = text_of(value);
    } else if (key == "args") {
      json::object arguments;
      if (value.get_object().get(arguments) == simdjson::SUCCESS) read_arguments(arguments, event);
    }
  }
  return event;
}

bool starts(std::string_view text, std::initializer_list<std::string_view> with) {
  return std::ranges::any_of(with, [&](std::string_view one) { return text.starts_with(one); });
}

SliceKind kind_of(const Event& event) {
  const std::string_view category = event.category;
  if (category == "kernel")
    return starts(event.name, {"nccl", "ncclDevKernel"}) ? SliceKind::communication : SliceKind::kernel;
  if (category == "gpu_memcpy") return SliceKind::copy;
  if (category == "gpu_memset") return SliceKind::fill;
  if (category == "cuda_runtime" || category == "cuda_driver") return kind_of_call(event.name);
  if (category == "user_annotation") return SliceKind::range;
  const auto own = std::ranges::find(slice_kind_names, category);
  return own == slice_kind_names.end() ? SliceKind::other : static_cast<SliceKind>(own - slice_kind_names.begin());
}

class ChromeReader {
 public:
  ChromeReader(std::string_view origin) : origin_(origin) {}

  Timeline read(const simdjson::padded_string_view& text) {
    json::parser parser;
    try {
      json::document document = parser.iterate(text);
      if (document.type() == json::json_type::array) {
        events(document.get_array());
      } else {
        for (auto field : document.get_object()) top(field.unescaped_key(), field.value());
      }
    } catch (const simdjson::simdjson_error& error) {
      broken_ = error.what();
    }
    if (count_ == 0 && !broken_.empty())
      fail(origin_, fmt::format("is not JSON that can be read ({})", broken_), "give a trace in Chrome's JSON format");
    if (!seen_events_)
      fail(origin_, "holds no \"traceEvents\"",
           "give a trace in Chrome's JSON format, as PyTorch's profiler writes it");
    finish();
    return std::move(timeline_);
  }

 private:
  void top(std::string_view key, json::value value) {
    if (key == "traceEvents") {
      events(value.get_array());
    } else if (key == "baseTimeNanoseconds") {
      base_ = whole(value).value_or(0);
    } else if (key == "otherData") {
      json::object other;
      if (value.get_object().get(other) != simdjson::SUCCESS) return;
      for (auto field : other) {
        const std::string_view name = field.unescaped_key();
        const auto number = number_in<std::int64_t>(text_of(field.value()));
        if (name == "base_ns") base_ = number.value_or(0);
        if (name == "dropped") timeline_.dropped = std::max<std::int64_t>(number.value_or(0), 0);
      }
    } else if (key == "distributedInfo") {
      json::object information;
      if (value.get_object().get(information) != simdjson::SUCCESS) return;
      for (auto field : information) {
        const std::string_view name = field.unescaped_key();
        if (name == "rank") rank_ = whole(field.value());
      }
    }
  }

  void events(json::array array) {
    seen_events_ = true;
    for (auto element : array) {
      json::object object;
      json::value value = element.value();
      if (value.get_object().get(object) != simdjson::SUCCESS) {
        ++odd_;
        continue;
      }
      take(read_event(object));
      ++count_;
    }
  }

  void take(const Event& event) {
    switch (event.phase) {
      case 'X': return complete(event);
      case 'B': return begin(event);
      case 'E': return end(event);
      case 'i':
      case 'I': return instant(event);
      case 'M': return metadata(event);
      default: return;  // flows, counters, async and object events
    }
  }

  void complete(const Event& event) {
    if (event.category == "Trace") return;  // Kineto's span of the recording
    if (!event.time || !event.length || *event.length < 0 || !(event.process || !event.process_text.empty())) {
      ++odd_;
      return;
    }
    add(event, *event.time, *event.length, kind_of(event));
  }

  Slice* add(const Event& event, std::int64_t time, std::int64_t length, SliceKind kind) {
    if (length > max_time_ns) {
      ++odd_;
      return nullptr;
    }
    const auto track = track_of(event, kind);
    if (!track) {
      ++odd_;
      return nullptr;
    }
    Slice slice;
    slice.start_ns = time;
    slice.duration_ns = length;
    slice.name = timeline_.names.number(event.name);
    slice.track = *track;
    slice.kind = kind;
    slice.correlation = small(event.correlation);
    slice.in_graph = event.in_graph;
    slice.counted = event.counted;
    const bool is_kernel = kind == SliceKind::kernel || kind == SliceKind::communication;
    if (is_kernel && event.has_shape) {
      const auto [place, added] = shapes_.emplace(event.shape, static_cast<std::int64_t>(timeline_.shapes.size()));
      if (added) timeline_.shapes.push_back(event.shape);
      slice.detail = place->second;
    } else if (!is_kernel && occupies_gpu(kind)) {
      slice.detail = event.bytes.value_or(-1);
    }
    timeline_.slices.push_back(slice);
    return &timeline_.slices.back();
  }

  void begin(const Event& event) {
    if (!event.time) {
      ++odd_;
      return;
    }
    if (Slice* const slice = add(event, *event.time, 0, kind_of(event)); slice != nullptr) {
      slice->open = true;
      open_[thread_key(event)].push_back(timeline_.slices.size() - 1);
    }
  }

  void end(const Event& event) {
    auto& open = open_[thread_key(event)];
    if (!event.time || open.empty() || timeline_.slices[open.back()].start_ns > *event.time) {
      ++odd_;
      return;
    }
    Slice& slice = timeline_.slices[open.back()];
    slice.duration_ns = *event.time - slice.start_ns;
    slice.open = false;
    open.pop_back();
  }

  /// PyTorch's own allocator tells what it hands out.
  void instant(const Event& event) {
    constexpr std::int64_t cuda = 1;
    if (event.name != "[memory]" || event.device_type != cuda || !event.time || !event.bytes) return;
    if (!memory_source_) memory_source_ = timeline_.names.number("PyTorch");
    timeline_.memory.push_back({.time_ns = *event.time,
                                .address = static_cast<std::uint64_t>(event.address.value_or(0)),
                                .bytes = *event.bytes,
                                .process = process_of(event),
                                .source = *memory_source_,
                                .device = static_cast<std::int16_t>(std::clamp<std::int64_t>(
                                    event.device.value_or(-1), -1, std::numeric_limits<std::int16_t>::max())),
                                .kind = MemoryKind::pool});
  }

  void metadata(const Event& event) {
    if (event.given_name.empty()) return;
    if (event.name == "process_name")
      process_names_[process_key(event)] = printable(event.given_name.substr(0, max_name));
    if (event.name == "thread_name") thread_names_[thread_key(event)] = printable(event.given_name.substr(0, max_name));
  }

  using ProcessKey = std::pair<std::int64_t, std::string>;
  static ProcessKey process_key(const Event& event) {
    return {event.process.value_or(-1), std::string(event.process_text)};
  }
  using ThreadKey = std::tuple<std::int64_t, std::string, std::int64_t, std::string>;
  static ThreadKey thread_key(const Event& event) {
    return {event.process.value_or(-1), std::string(event.process_text), event.thread.value_or(0),
            std::string(event.thread_text)};
  }

  std::uint32_t process_of(const Event& event) {
    const auto [place, added] =
        processes_.emplace(process_key(event), static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added)
      timeline_.processes.push_back(
          {.id = event.process.value_or(0), .rank = {}, .local_rank = {}, .name = std::string(event.process_text)});
    return place->second;
  }

  /// Kineto's events of a GPU have its number as their process; they belong to the one that launches most.
  std::optional<std::uint32_t> track_of(const Event& event, SliceKind kind) {
    const bool of_kineto = occupies_gpu(kind) && event.stream;
    const bool of_nobody = of_kineto || event.category == "overhead" || event.category == "gpu_user_annotation";
    const TrackKind type = occupies_gpu(kind)                         ? TrackKind::stream
                           : kind == SliceKind::range                 ? TrackKind::ranges
                           : kind == SliceKind::other && event.stream ? TrackKind::other
                           : of_nobody || kind == SliceKind::overhead ? TrackKind::other
                                                                      : TrackKind::thread;
    const auto [place, added] = tracks_.emplace(std::pair(thread_key(event), type), 0);
    if (!added) return place->second;
    if (timeline_.tracks.size() >= max_tracks) {
      tracks_.erase(place);
      return std::nullopt;
    }
    place->second = static_cast<std::uint32_t>(timeline_.tracks.size());
    Track track;
    track.kind = type;
    track.process = of_nobody ? 0 : process_of(event);
    track.device = type == TrackKind::stream ? event.device.value_or(of_kineto ? event.process.value_or(-1) : -1) : -1;
    track.id = of_kineto ? *event.stream : event.thread.value_or(0);
    timeline_.tracks.push_back(track);
    keys_.push_back(thread_key(event));
    of_nobody_.push_back(of_nobody);
    return place->second;
  }

  void finish() {
    if (timeline_.processes.empty() && !timeline_.tracks.empty()) timeline_.processes.push_back({});
    std::vector<std::size_t> launches(timeline_.processes.size());
    for (const Slice& slice : timeline_.slices)
      if ((slice.kind == SliceKind::launch || slice.kind == SliceKind::transfer) && !of_nobody_[slice.track])
        ++launches[timeline_.tracks[slice.track].process];
    const auto main = static_cast<std::uint32_t>(std::ranges::max_element(launches) - launches.begin());
    for (const auto& [key, process] : processes_)
      if (const auto name = process_names_.find(key); name != process_names_.end())
        timeline_.processes[process].name = name->second;
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) name_track(timeline_.tracks[i], i, main);
    if (rank_ && !timeline_.processes.empty()) timeline_.processes[main].rank = rank_;
    mark_graphs(main);
    close_open();
    rebase();
    sort(timeline_);
    if (!broken_.empty())
      timeline_.warnings.push_back(fmt::format("{} breaks off after {} events ({}); what came before is kept.", origin_,
                                               format_count(static_cast<double>(count_)), broken_));
    if (odd_ > 0)
      timeline_.warnings.push_back(fmt::format("{}: {} without a usable time, length or place {} left out.", origin_,
                                               plural(static_cast<long long>(odd_), "event"),
                                               odd_ == 1 ? "was" : "were"));
  }

  void name_track(Track& track, std::size_t place, std::uint32_t main) {
    if (of_nobody_[place]) track.process = main;
    const auto name = thread_names_.find(keys_[place]);
    if (name != thread_names_.end()) track.name = name->second;
    while (track.name.ends_with(' ')) track.name.pop_back();
    if (track.kind == TrackKind::stream && track.device < 0 && track.name.starts_with("cuda:")) {
      const auto space = track.name.find(' ');
      track.device = number_in<std::int64_t>(std::string_view(track.name).substr(5, space - 5)).value_or(-1);
      if (space != std::string::npos) track.name.erase(0, space + 1);
    }
    if (track.kind == TrackKind::ranges && !track.name.starts_with("ranges"))
      track.name = "ranges of " + (track.name.empty() ? fmt::format("thread {}", track.id) : track.name);
  }

  /// Kineto does not say which kernels a graph launched; their launch does.
  void mark_graphs(std::uint32_t main) {
    std::set<std::uint32_t> graphs;
    for (const Slice& slice : timeline_.slices)
      if (slice.kind == SliceKind::launch && timeline_.tracks[slice.track].process == main &&
          timeline_.names.text(slice.name).find("GraphLaunch") != std::string::npos)
        graphs.insert(slice.correlation);
    for (Slice& slice : timeline_.slices)
      if (occupies_gpu(slice.kind) && slice.correlation != 0 && graphs.contains(slice.correlation))
        slice.in_graph = true;
  }

  void close_open() {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const Slice& slice : timeline_.slices) last = std::max(last, slice.end_ns());
    for (Slice& slice : timeline_.slices)
      if (slice.open) slice.duration_ns = last - slice.start_ns;
  }

  void rebase() {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const Slice& slice : timeline_.slices) first = std::min(first, slice.start_ns);
    for (const MemoryEvent& event : timeline_.memory) first = std::min(first, event.time_ns);
    if (first == std::numeric_limits<std::int64_t>::max()) return;
    for (Slice& slice : timeline_.slices) slice.start_ns -= first;
    for (MemoryEvent& event : timeline_.memory) event.time_ns -= first;
    // Of a hostile file the sum may not fit.
    if (__builtin_add_overflow(base_, first, &timeline_.base_ns)) timeline_.base_ns = 0;
  }

  std::string_view origin_;
  Timeline timeline_;
  std::int64_t base_ = 0;
  std::optional<std::int64_t> rank_;
  std::optional<std::uint32_t> memory_source_;
  std::map<ProcessKey, std::uint32_t> processes_;
  std::map<ProcessKey, std::string> process_names_;
  std::map<ThreadKey, std::string> thread_names_;
  std::map<std::pair<ThreadKey, TrackKind>, std::uint32_t> tracks_;
  std::vector<ThreadKey> keys_;
  std::vector<bool> of_nobody_;
  std::map<LaunchShape, std::int64_t> shapes_;
  std::map<ThreadKey, std::vector<std::size_t>> open_;
  std::size_t count_ = 0, odd_ = 0;
  bool seen_events_ = false;
  std::string broken_;
};

/// All of a file's text, unpacked where gzip packed it.
std::string text_in(const std::filesystem::path& file, bool& cut_short) {
  struct Close {
    void operator()(gzFile_s* opened) const { gzclose(opened); }
  };
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    fail(file.string(), "cannot be read: No such file or directory", "check the name");
  if (!std::filesystem::is_regular_file(file, error))
    fail(file.string(), "is not a regular file", "give a trace in Chrome's JSON format");
  const std::unique_ptr<gzFile_s, Close> input(gzopen(file.c_str(), "rb"));  // reads what is not packed as it is
  if (!input) fail(file.string(), "cannot be read", "check the file and its permissions");
  constexpr std::size_t step = std::size_t{1} << 22;
  gzbuffer(input.get(), 1U << 18);
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    if (size > max_trace_bytes)
      fail(file.string(), fmt::format("holds more than {} of text", format_bytes(static_cast<double>(max_trace_bytes))),
           "record for a shorter time");
    text.resize(size + step);
    const int count = gzread(input.get(), text.data() + size, static_cast<unsigned>(step));
    text.resize(size + static_cast<std::size_t>(std::max(count, 0)));
    if (count == 0 && gzeof(input.get()) != 0) {
      int state = Z_OK;
      gzerror(input.get(), &state);
      cut_short = state == Z_BUF_ERROR;
      return text;
    }
    if (count < 0) {
      int state = Z_OK;
      const std::string why = gzerror(input.get(), &state);
      if (text.empty()) fail(file.string(), "cannot be unpacked: " + why, "make the file anew");
      cut_short = true;
      return text;
    }
  }
}

}  // namespace

Timeline chrome_json(std::string text, std::string_view origin) {
  if (text.size() > max_trace_bytes)
    fail(origin, fmt::format("holds {} of text", format_bytes(static_cast<double>(text.size()))),
         "record for a shorter time");
  const std::size_t size = text.size();
  text.resize(size + simdjson::SIMDJSON_PADDING, ' ');
  const auto read = [&](std::size_t length) {
    return ChromeReader(origin).read(simdjson::padded_string_view(text.data(), length, text.size()));
  };
  const auto last = text.find_last_not_of(" \n\r\t");
  const bool whole = last != std::string::npos && (text[last] == '}' || text[last] == ']');
  try {
    if (whole) return read(size);
  } catch (const ReadError&) {
    // A text that ends in the middle is read again up to its last whole event.
  }
  const auto cut = text.rfind("},", size);
  if (whole || cut == std::string::npos) return read(size);
  const bool array = text.find_first_not_of(" \n\r\t") < size && text[text.find_first_not_of(" \n\r\t")] == '[';
  const std::string_view close = array ? "}]" : "}]}";
  text.replace(cut, close.size(), close);
  Timeline timeline = read(cut + close.size());
  timeline.warnings.push_back(fmt::format("{} ends in the middle, {} before its end; what came before is kept.", origin,
                                          format_bytes(static_cast<double>(size - cut))));
  return timeline;
}

Timeline read_chrome_json(const std::filesystem::path& file) {
  bool cut_short = false;
  std::string text = text_in(file, cut_short);
  Timeline timeline = chrome_json(std::move(text), file.string());
  if (cut_short) timeline.warnings.push_back(fmt::format("{} ends in the middle of its packed data.", file.string()));
  return timeline;
}

}  // namespace gpubench::traces
