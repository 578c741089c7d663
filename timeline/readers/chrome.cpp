// SPDX-License-Identifier: Apache-2.0
// Chrome's JSON as PyTorch (Kineto), TensorFlow and XLA, viztracer, Perfetto and our own writer write it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "timeline/input/bytes.h"
#include "timeline/input/chrome_events.h"
#include "timeline/input/chrome_xla.h"
#include "timeline/input/common.h"
#include "timeline/input/json_window.h"
#include "timeline/operators/operator_work.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_inputs = 100'000;  ///< different shapes of operators' inputs
constexpr std::array input_lists = {&ChromeEvent::input_dims, &ChromeEvent::input_types, &ChromeEvent::input_strides,
                                    &ChromeEvent::input_values};

/// A thread as a trace names it: by two numbers, or by texts, which have numbers of their own.
struct ThreadKey {
  std::int64_t process = 0, thread = 0;
  std::uint8_t texts = 0;  // bits: the process is a text, the thread is, it is a series of async events
  friend auto operator<=>(const ThreadKey&, const ThreadKey&) = default;
};
struct HashThread {
  std::size_t operator()(const ThreadKey& key) const {
    const auto mixed = (static_cast<std::uint64_t>(key.process) * 0x9E3779B97F4A7C15U) ^
                       (static_cast<std::uint64_t>(key.thread) * 0xC2B2AE3D27D4EB4FU) ^ key.texts;
    return mixed ^ (mixed >> 29U);
  }
};

/// Of three texts that name something together.
std::uint64_t hash_of(std::string_view a, std::string_view b, std::string_view c) {
  const std::hash<std::string_view> hash;
  return (hash(a) * 31 + hash(b)) * 0x9E3779B97F4A7C15U + hash(c);
}

class ChromeReader {
 public:
  ChromeReader(Bytes& bytes, std::string_view origin, std::size_t window)
      : bytes_(bytes), window_bytes_(window), origin_(origin) {}

  Timeline read() {
    const std::string broken =
        read_chrome_events(bytes_, origin_, window_bytes_, fields_, event_,
                           {[this] { take(); }, [this](std::uint64_t byte) { odd_at(byte); }, [this] { reserve(); },
                            [this](std::string text) { timeline_.warnings.push_back(std::move(text)); }});
    timeline_.dropped = fields_.dropped;
    finish();
    if (!broken.empty()) timeline_.warnings.push_back(broken);
    return std::move(timeline_);
  }

 private:
  // --- the events ----------------------------------------------------------------------------------------------

  void odd_at(std::uint64_t byte) {
    if (odd_++ == 0) first_odd_ = byte;
  }
  void odd() { odd_at(event_.byte); }

  /// Once a part is read, room for the rest as it seems, and half as much again: growing would hold twice as much for a
  /// while, and what is not used is only addresses.
  void reserve() {
    const std::size_t many = std::size_t{1} << 16;
    if (reserved_ || timeline_.slices.size() < many) return;
    reserved_ = true;
    const double share = std::clamp(bytes_.share(), 1e-3, 1.0);
    const double expected = static_cast<double>(timeline_.slices.size()) / share * 1.5;
    try {
      timeline_.slices.reserve(static_cast<std::size_t>(std::min(expected, 4e9)));
    } catch (const std::bad_alloc&) {  // it may be fewer than it seems
    }
  }

  void take() {
    switch (event_.phase) {
      case 'X': return complete();
      case 'B': return begin();
      case 'E': return end();
      case 'b':
      case 'S': return begin_async();
      case 'e':
      case 'F': return end_async();
      case 's':
      case 't':
      case 'f': return flow(event_.phase, event_.id);
      case 'C': return counter();
      case 'i':
      case 'I':
      case 'n':
      case 'R': return instant();
      case 'M': return metadata();
      default: return;
    }
  }

  [[nodiscard]] bool has_place() const { return event_.process || !event_.process_text.empty(); }

  void complete() {
    if (event_.category == "Trace") return;  // Kineto's span of the recording
    if (!event_.time || !event_.length || *event_.length < 0 || !has_place()) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (!add(thread, *event_.length, kind_of())) return;
    if (event_.flow_out) flow('s', event_.bind_id);
    if (event_.flow_in) flow('t', event_.bind_id);
  }

  SliceKind kind_of() {
    if (event_.category.empty())  // XLA's calls have no category
      return event_.correlation && event_.name.starts_with("cu") ? kind_of_call(event_.name) : SliceKind::other;
    return kind_of_category(event_.category, event_.name);
  }

  /// As Kineto writes them, whatever formatted the file.
  static std::string one_line(std::string_view json) {
    std::string line;
    bool quoted = false, escaped = false;
    for (const char c : json) {
      if (!quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
      line += c;
      if (!quoted && c == ',') line += ' ';
      if (c == '"' && !escaped) quoted = !quoted;
      escaped = c == '\\' && !escaped;
    }
    return line;
  }

  std::int64_t inputs_number() {
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (std::string_view& list = event_.*input_lists[i]; contains(list, '\n')) list = lines_[i] = one_line(list);
    const auto list = [](std::string_view text) { return text.size() > max_name_bytes ? std::string_view() : text; };
    inputs_text_.assign(list(event_.input_dims)).append(list(event_.input_types));
    const bool needs_values = work_needs_values(event_.name);
    const std::string_view values = list(event_.input_values), strides = list(event_.input_strides);
    if (needs_values || !strides.empty()) inputs_text_.append(needs_values && !values.empty() ? values : "[]");
    if (!strides.empty()) inputs_text_.append(strides).append(needs_values ? "" : values);
    const std::size_t before = timeline_.names.size();
    const std::uint32_t number = timeline_.names.number(inputs_text_);
    if (timeline_.names.size() > before) ++inputs_;
    return number;
  }

  bool add(std::uint32_t thread, std::int64_t length, SliceKind kind) {
    const auto track =
        length > max_time_ns || timeline_.slices.size() >= max_slices ? std::nullopt : track_of(thread, kind);
    if (!track) {
      odd();
      return false;
    }
    Slice slice;
    slice.start_ns = *event_.time;
    slice.duration_ns = length;
    slice.name = timeline_.names.number(event_.name);
    slice.track = *track;
    slice.kind = kind;
    slice.correlation = to_uint32(event_.correlation);
    slice.in_graph = event_.in_graph;
    slice.counted = event_.counted;
    const bool xla = !event_.kernel_details.empty();
    if (xla) read_xla_details(event_.kernel_details, event_.shape);
    if (const auto size = event_.copy.find("size:"); size != std::string_view::npos) {
      const std::string_view rest = event_.copy.substr(size + 5);
      event_.bytes = number_in<std::int64_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
      slice.detail = event_.bytes.value_or(-1);
    }
    // Kineto's sum; ours says what of it is static.
    event_.shape.dynamic_shared_bytes -= std::min(event_.shape.dynamic_shared_bytes, event_.static_shared);
    if (event_.static_shared > 0) event_.shape.static_shared_bytes = event_.static_shared;
    if ((is_kernel(kind) && event_.has_shape) || xla)
      slice.detail = builder_.shape(event_.shape);
    else if (kind == SliceKind::other && !event_.input_dims.empty() && inputs_ < max_inputs)
      slice.detail = inputs_number();
    else if (kind == SliceKind::other && fields_.own && !event_.inputs.empty())
      slice.detail = timeline_.names.number(event_.inputs.substr(0, input_lists.size() * max_name_bytes));
    else if (kind == SliceKind::launch && !event_.kernel.empty())
      slice.detail = timeline_.names.number(event_.kernel.substr(0, max_name_bytes));
    else if (is_command(kind))
      slice.detail = event_.bytes.value_or(-1);
    if (kind == SliceKind::communication && !event_.collective_texts[0].empty() && slice.correlation != 0)
      message(*track, slice.correlation);
    if (event_.name.empty()) ++unnamed_;
    last_ns_ = std::max(last_ns_, slice.end_ns());
    timeline_.slices.push_back(slice);
    return true;
  }

  void message(std::uint32_t track, std::uint32_t correlation) {
    Message message{.process = track, .correlation = correlation};  // of that track, in the end
    for (std::size_t i = 0; i < std::size(message_texts); ++i) {
      std::string text(event_.collective_texts[i].substr(0, max_name_bytes));
      if (message_texts[i].second == &Message::group && !event_.group_ranks.empty())
        text.append(text.empty() ? "" : " ").append(event_.group_ranks.substr(0, max_name_bytes));
      message.*message_texts[i].second = timeline_.names.number(text);
    }
    for (std::size_t i = 0; i < std::size(message_numbers); ++i)
      if (event_.collective_numbers[i]) message.*message_numbers[i].second = *event_.collective_numbers[i];
    timeline_.messages.push_back(message);
  }

  bool close(std::vector<std::uint32_t>& open, std::int64_t time) {
    if (!close_slice(timeline_.slices, open, time)) return false;
    last_ns_ = std::max(last_ns_, time);
    return true;
  }

  void begin() {
    if (!event_.time || !has_place()) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (add(thread, 0, kind_of())) open_slice(timeline_.slices, threads_[thread].open);
  }

  void end() {
    if (!event_.time) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (!close(threads_[thread].open, *event_.time)) ends_.push_back({thread, *event_.time, event_.byte});
  }

  /// Async events are slices of a track for each category of each process.
  std::uint32_t async_thread() {
    ThreadKey key = thread_key();
    key.thread = texts_.number(event_.category);
    key.texts = static_cast<std::uint8_t>((key.texts & 1U) | 4U);
    const std::uint32_t thread = thread_of(key);
    if (threads_[thread].name.empty())
      threads_[thread].name = "async " + printable(event_.category.substr(0, max_name_bytes));
    return thread;
  }

  void begin_async() {
    if (!event_.time || !has_place()) return odd();
    if (add(async_thread(), 0, SliceKind::other)) open_slice(timeline_.slices, async_[async_key()]);
  }

  void end_async() {
    if (!event_.time || !close(async_[async_key()], *event_.time)) odd();
  }

  [[nodiscard]] std::uint64_t async_key() const {
    return hash_of(event_.category, event_.id, "") ^ static_cast<std::uint64_t>(event_.process.value_or(0));
  }

  /// Kineto's and our own arrows from launches repeat what the correlation tells.
  void flow(char phase, std::string_view id) {
    if (event_.category == "ac2g" || event_.category == "launch") return;
    if (!event_.time || id.empty() || !has_place()) return odd();
    const bool bound = event_.phase == 'X';
    points_.push_back({.id = bound ? hash_of("", "", id) : hash_of(event_.category, event_.name, id),
                       .time_ns = *event_.time,
                       .thread = thread_of(thread_key()),
                       .name = timeline_.names.number(event_.name),
                       .phase = phase,
                       .enclosing = event_.enclosing || bound || phase != 'f'});
  }

  void counter() {
    if (!event_.time || !has_place()) return odd();
    const std::uint32_t process = process_of(thread_key());
    for (const auto& [key, value] : event_.numbers) {
      std::string name = printable(event_.name);
      if (!event_.id.empty()) name += fmt::format(" {}", printable(unquoted(event_.id)));
      const bool plain = fields_.own || key == "value" || event_.numbers.size() == 1;
      if (!plain) name += fmt::format(" {}", printable(key));
      CounterTrack* const to = counter_of(process, name, fields_.own && key != "value" ? key : "");
      if (to == nullptr) return odd();
      to->samples.push_back({*event_.time, value});
    }
  }

  /// Null where there are too many.
  CounterTrack* counter_of(std::uint32_t process, const std::string& name, std::string_view unit) {
    if (counters_.size() >= max_tracks && !counters_.contains({process, name})) return nullptr;
    const auto [place, added] = counters_.emplace(std::pair(process, name), timeline_.counters.size());
    if (added) timeline_.counters.push_back({process, name, std::string(unit), {}});
    return &timeline_.counters[place->second];
  }

  /// PyTorch's own allocator tells what it hands out.
  void instant() {
    if (event_.name != "[memory]") {
      if (event_.time && has_place())
        timeline_.marks.push_back({*event_.time, timeline_.names.number(event_.name), thread_of(thread_key())});
      return;
    }
    constexpr std::int64_t cuda = 1;
    if (event_.device_type != cuda || !event_.time || !event_.bytes) return;
    const auto kind = std::ranges::find(memory_kind_names, event_.memory_kind);  // PyTorch's own events have none
    const bool own = kind != memory_kind_names.end();
    timeline_.memory.push_back(
        {.time_ns = *event_.time,
         .address = static_cast<std::uint64_t>(event_.address.value_or(0)),
         .bytes = *event_.bytes,
         .process = process_of(thread_key()),
         .source = timeline_.names.number(own ? event_.library : "PyTorch"),
         .device = static_cast<std::int16_t>(
             std::clamp<std::int64_t>(event_.device.value_or(-1), -1, std::numeric_limits<std::int16_t>::max())),
         .kind = own ? static_cast<MemoryKind>(kind - memory_kind_names.begin()) : MemoryKind::pool});
    if (event_.allocated) allocator_says(allocated_counter, *event_.allocated);
    if (event_.reserved) allocator_says(reserved_counter, *event_.reserved);
  }

  void allocator_says(std::string_view what, std::int64_t bytes) {
    if (CounterTrack* const to =
            counter_of(process_of(thread_key()), fmt::format("{} on cuda:{}", what, event_.device.value_or(0)), "B"))
      to->samples.push_back({*event_.time, static_cast<double>(bytes)});
  }

  void metadata() {
    if (event_.name == no_thread) threads_[thread_of(thread_key())].is_thread = false;
    if (event_.given_name.empty()) return;
    const std::string name = printable(event_.given_name.substr(0, max_name_bytes));
    const ThreadKey key = thread_key();
    if (event_.name == "process_name") process_names_[process_key(key)] = name;
    if (event_.name == "thread_name") threads_[thread_of(key)].name = name;
  }

  // --- who ------------------------------------------------------------------------------------------------------

  ThreadKey thread_key() {
    ThreadKey key{event_.process.value_or(-1), event_.thread.value_or(0), 0};
    if (!event_.process_text.empty()) {
      key.process = texts_.number(event_.process_text);
      key.texts |= 1U;
    }
    if (!event_.thread_text.empty()) {
      key.thread = texts_.number(event_.thread_text);
      key.texts |= 2U;
    }
    return key;
  }
  static ThreadKey process_key(const ThreadKey& key) {
    return {key.process, 0, static_cast<std::uint8_t>(key.texts & 1U)};
  }

  struct Thread {
    ThreadKey key;
    std::array<std::uint32_t, 6> tracks = {none, none, none, none, none, none};  // by TrackKind
    std::string name;
    bool is_thread = true;
    std::vector<std::uint32_t> open;  // slices
  };

  std::uint32_t thread_of(const ThreadKey& key) {
    if (last_thread_ != none && threads_[last_thread_].key == key) return last_thread_;
    const auto [place, added] = thread_numbers_.emplace(key, static_cast<std::uint32_t>(threads_.size()));
    if (added) threads_.push_back({.key = key, .name = {}, .open = {}});
    return last_thread_ = place->second;
  }

  std::uint32_t process_of(const ThreadKey& key) {
    const auto [place, added] =
        processes_.emplace(process_key(key), static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added) {
      const bool text = (key.texts & 1U) != 0;
      timeline_.processes.push_back({.id = text ? 0 : std::max<std::int64_t>(key.process, 0),
                                     .rank = {},
                                     .local_rank = {},
                                     .name = text ? texts_.text(static_cast<std::uint32_t>(key.process)) : ""});
    }
    return place->second;
  }

  /// Kineto's events of a GPU have its number as their process; they belong to the one that launches most.
  std::optional<std::uint32_t> track_of(std::uint32_t thread, SliceKind kind) {
    const bool of_kineto = occupies_gpu(kind) && event_.stream;
    const bool of_nobody = !fields_.own && (of_kineto || event_.category == "overhead" ||
                                            event_.category == "gpu_user_annotation" || event_.category == "cuda_sync");
    const ThreadKey key = threads_[thread].key;
    const TrackKind type = occupies_gpu(kind)                          ? TrackKind::stream
                           : kind == SliceKind::range                  ? TrackKind::ranges
                           : kind == SliceKind::other && event_.stream ? TrackKind::other
                           : of_nobody || kind == SliceKind::overhead  ? TrackKind::other
                           : (key.texts & 4U) != 0                     ? TrackKind::other
                           : !threads_[thread].is_thread               ? TrackKind::other
                                                                       : TrackKind::thread;
    std::uint32_t& place = threads_[thread].tracks[static_cast<std::size_t>(type)];
    if (place != none) return place;
    if (timeline_.tracks.size() >= max_tracks) return std::nullopt;
    place = static_cast<std::uint32_t>(timeline_.tracks.size());
    Track track;
    track.kind = type;
    track.process = of_nobody ? 0 : process_of(key);
    track.device =
        type == TrackKind::stream ? event_.device.value_or(of_kineto ? event_.process.value_or(-1) : -1) : -1;
    track.id = of_kineto ? *event_.stream : (key.texts & 6U) != 0 ? 0 : key.thread;
    timeline_.tracks.push_back(track);
    thread_of_track_.push_back(thread);
    of_nobody_.push_back(of_nobody);
    return place;
  }

  // --- at the end -----------------------------------------------------------------------------------------------

  void finish() {
    place_marks();
    for (const auto& [key, process] : processes_)
      if (const auto name = process_names_.find(key); name != process_names_.end())
        timeline_.processes[process].name = name->second;
    for (Process& process : timeline_.processes) take_rank(process);
    close_late();
    std::vector<std::string_view> threads;
    for (const std::uint32_t thread : thread_of_track_) threads.push_back(threads_[thread].name);
    if (const auto became = take_xla_devices(timeline_, threads, of_nobody_))
      for (auto& [key, process] : processes_) process = (*became)[process];
    if (timeline_.processes.empty() && !timeline_.tracks.empty()) timeline_.processes.push_back({});
    const std::uint32_t main = gather();
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) name_track(timeline_.tracks[i], i, main);
    for (Message& message : timeline_.messages) message.process = timeline_.tracks[message.process].process;
    tie_ranges(timeline_);
    note_gpus(timeline_, [&](std::int64_t, std::int64_t device) {
      const auto gpu = fields_.gpus.find(device);
      return gpu == fields_.gpus.end() ? std::string() : gpu->second;
    });
    if (fields_.rank && !timeline_.processes.empty()) timeline_.processes[main].rank = fields_.rank;
    demangle_kernels(timeline_);
    rebase();
    if (fields_.own) join();
    sort(timeline_);
    bind_flows(timeline_, points_, thread_of_track_);
    if (odd_ > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} without a usable time, length or place {} left out, the first at byte {}.", origin_,
                      plural(odd_, "event"), odd_ == 1 ? "was" : "were", first_odd_));
    if (unnamed_ > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} no name.", origin_, plural(unnamed_, "slice has", "slices have")));
  }

  /// On the tracks of their threads. What Kineto says of itself, in processes that are none, is left out.
  void place_marks() {
    event_ = {};
    std::erase_if(timeline_.marks, [&](Instant& mark) {
      const Thread& thread = threads_[mark.track];
      const auto known = std::ranges::find_if(thread.tracks, [](std::uint32_t one) { return one != none; });
      if (known == thread.tracks.end() && (thread.key.texts & 1U) != 0 && !processes_.contains(process_key(thread.key)))
        return true;
      const auto place = known == thread.tracks.end() ? track_of(mark.track, SliceKind::other) : *known;
      mark.track = place.value_or(none);
      return !place;
    });
  }

  /// Ends that stood before their begins.
  void close_late() {
    std::ranges::stable_sort(ends_, {}, &End::time_ns);
    for (const End& end : ends_) {
      if (!close(threads_[end.thread].open, end.time_ns)) odd_at(end.byte);
    }
  }

  /// One pass over all slices; returns the process that launches most.
  std::uint32_t gather() {
    std::vector<std::size_t> launches(timeline_.processes.size());
    const std::vector<bool> is_graph =
        timeline_.names.where([](std::string_view name) { return contains(name, "GraphLaunch"); });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> graphs;  // process and correlation
    for (Slice& slice : timeline_.slices) {
      if (slice.open) slice.duration_ns = last_ns_ - slice.start_ns;
      if (slice.kind != SliceKind::launch && slice.kind != SliceKind::transfer) continue;
      const Track& track = timeline_.tracks[slice.track];
      if (!of_nobody_[slice.track]) ++launches[track.process];
      if (is_graph[slice.name] && slice.kind == SliceKind::launch)
        graphs.emplace_back(track.process, slice.correlation);
    }
    const auto main = static_cast<std::uint32_t>(std::ranges::max_element(launches) - launches.begin());
    const auto launching = std::ranges::count_if(launches, [](std::size_t count) { return count > 0; });
    bool is_kinetos = false;
    for (std::size_t i = 0; i < of_nobody_.size(); ++i)
      is_kinetos = is_kinetos || (of_nobody_[i] && timeline_.tracks[i].kind == TrackKind::stream);
    if (launching > 1 && is_kinetos)
      timeline_.warnings.push_back(fmt::format(
          "{}: {} processes launch work, and the trace does not say whose each kernel is: all is taken for that of "
          "process {}. Give one file of each process.",
          origin_, launching, timeline_.processes[main].id));
    // Kineto does not say which kernels a graph launched; their launch does.
    std::unordered_set<std::uint32_t> of_main;
    for (const auto& [process, correlation] : graphs)
      if (process == main && correlation != 0) of_main.insert(correlation);
    if (!of_main.empty())
      for (Slice& slice : timeline_.slices)
        if (occupies_gpu(slice.kind) && of_main.contains(slice.correlation)) slice.in_graph = true;
    return main;
  }

  void name_track(Track& track, std::size_t place, std::uint32_t main) {
    if (of_nobody_[place]) track.process = main;
    const Thread& thread = threads_[thread_of_track_[place]];
    track.name = thread.name;
    if (track.name.empty() && (thread.key.texts & 2U) != 0)
      track.name = printable(texts_.text(static_cast<std::uint32_t>(thread.key.thread)));
    while (track.name.ends_with(' ')) track.name.pop_back();
    if (fields_.own && track.kind == TrackKind::stream) track.id = 0;
    name_stream(track);
    if (track.kind == TrackKind::ranges && !track.name.starts_with("ranges"))
      track.name = "ranges of " + (track.name.empty() ? fmt::format("thread {}", track.id) : track.name);
  }

  void rebase() {
    const std::int64_t first = first_time(timeline_);
    if (first == std::numeric_limits<std::int64_t>::max()) return;
    timeline_.base_ns = fields_.base_ns;
    move_times(timeline_, -first);
    for (FlowPoint& point : points_) point.time_ns -= first;
  }

  /// Our own writer's lanes.
  void join() {
    const std::vector<std::uint32_t> before = thread_of_track_;
    const auto place = join_lanes(timeline_, true);
    thread_of_track_.assign(timeline_.tracks.size(), none);
    for (std::size_t i = 0; i < place.size(); ++i)
      if (thread_of_track_[place[i]] == none) thread_of_track_[place[i]] = before[i];
    std::unordered_map<std::uint32_t, std::uint32_t> thread_of_lane;
    for (std::size_t i = 0; i < place.size(); ++i) thread_of_lane[before[i]] = thread_of_track_[place[i]];
    for (FlowPoint& point : points_)
      if (const auto lane = thread_of_lane.find(point.thread); lane != thread_of_lane.end())
        point.thread = lane->second;
  }

  struct End {
    std::uint32_t thread;
    std::int64_t time_ns;
    std::uint64_t byte;
  };

  Bytes& bytes_;
  std::size_t window_bytes_;
  std::string_view origin_;
  Builder builder_{std::string(origin_)};
  Timeline& timeline_ = builder_.timeline;
  ChromeFields fields_;
  ChromeEvent event_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  StringPool texts_;  // that stand for processes, threads and categories
  std::vector<Thread> threads_;
  std::unordered_map<ThreadKey, std::uint32_t, HashThread> thread_numbers_;
  std::uint32_t last_thread_ = none;
  std::map<ThreadKey, std::uint32_t> processes_;
  std::map<ThreadKey, std::string> process_names_;
  std::vector<std::uint32_t> thread_of_track_;
  std::vector<bool> of_nobody_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> counters_;
  std::string inputs_text_;
  std::array<std::string, input_lists.size()> lines_;
  std::size_t inputs_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> async_;
  std::vector<End> ends_;
  std::vector<FlowPoint> points_;
  std::uint64_t odd_ = 0, first_odd_ = 0;
  long long unnamed_ = 0;
  bool reserved_ = false;
};

}  // namespace

Timeline chrome_json(Bytes& bytes, std::string_view origin, std::size_t window_bytes) {
  return ChromeReader(bytes, origin, window_bytes).read();
}

Timeline chrome_json(std::string_view text, std::string_view origin) { return chrome_json(*bytes_of(text), origin); }

Timeline read_chrome_json(const std::filesystem::path& file) { return chrome_json(*open_bytes(file), file.string()); }

extern const Reader chrome_reader{"Chrome's JSON (PyTorch, XLA, viztracer)",
                                  [](std::string_view start) {
                                    if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
                                    const auto first = start.find_first_not_of(" \n\r\t");
                                    return first != std::string_view::npos &&
                                           (start[first] == '{' || start[first] == '[') && !is_rocprof(start);
                                  },
                                  read_chrome_json};

}  // namespace gpubench::timeline
