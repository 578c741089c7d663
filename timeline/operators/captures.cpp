// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "timeline/input/common.h"
#include "timeline/names.h"
#include "timeline/statistics/breakdown.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_list_bytes = std::size_t{1} << 20;
constexpr std::size_t max_captures = 256;                // traces that are read
constexpr std::size_t max_tries = std::size_t{1} << 26;  // works and captured calls that are compared
constexpr std::size_t max_depth_of_operators = 64;

/// What was captured between the begin and the end of one capture, in order.
struct CaptureWindow {
  std::vector<std::string_view> works;  ///< what its works are called; empty where that is not told
  std::vector<std::uint32_t> calls;     ///< the call of each, in Correlations::calls
  /// Of each the modules and operators around it, the outer ones first.
  std::vector<std::vector<std::uint32_t>> makers;
};

struct Capture {
  fs::path file;
  std::int64_t batch = 0;
  bool is_read = false;
  Timeline own;
  std::vector<CaptureWindow> windows;
  std::size_t next = 0;  ///< the window that a program's next launch is likely of
};

/// Copies and fills have other names than the calls that start them, and on AMD's GPUs may be kernels.
std::string_view name_of_work(const Timeline& timeline, const Slice& work) {
  const std::string_view name = timeline.names.text(work.name);
  if (work.kind == SliceKind::copy || contains(name, "copyBuffer")) return "copy";
  return work.kind == SliceKind::fill || contains(name, "fillBuffer") ? "fill" : name;
}

bool begins_capture(std::string_view name) { return contains(name, "StreamBeginCapture"); }

void find_windows(const Linked& linked, std::vector<CaptureWindow>& windows) {
  const Timeline& timeline = linked.timeline;
  const auto begins = timeline.names.where(begins_capture);
  const auto ends = timeline.names.where([](std::string_view name) { return contains(name, "StreamEndCapture"); });
  const auto fills = timeline.names.where([](std::string_view name) { return contains(name, "Memset"); });
  const auto others = timeline.names.where(
      [](std::string_view name) { return is_python_frame(name) && !name.starts_with("nn.Module: "); });
  struct Thread {
    std::size_t window = SIZE_MAX;  // that is open
    std::vector<std::uint32_t> makers;
  };
  std::vector<Thread> threads(linked.links.threads.size());
  auto call = linked.links.calls.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const bool is_call = call != linked.links.calls.end() && call->slice == i;
    if (is_call) ++call;
    if (linked.links.thread_of_track[slice.track] == none) continue;
    Thread& thread = threads[linked.links.thread_of_track[slice.track]];
    auto& makers = thread.makers;
    while (!makers.empty() && timeline.slices[makers.back()].end_ns() <= slice.start_ns) makers.pop_back();
    if (slice.kind == SliceKind::other && !others[slice.name] && makers.size() < max_depth_of_operators)
      makers.push_back(i);
    if (begins[slice.name]) {
      thread.window = windows.size();
      windows.emplace_back();
    }
    if (ends[slice.name]) thread.window = SIZE_MAX;
    if (!is_call || thread.window == SIZE_MAX) continue;
    CaptureWindow& window = windows[thread.window];
    window.works.emplace_back(slice.kind == SliceKind::transfer ? (fills[slice.name] ? "fill" : "copy")
                              : slice.detail < 0                ? std::string_view()
                                                 : timeline.names.text(static_cast<std::uint32_t>(slice.detail)));
    window.calls.push_back(static_cast<std::uint32_t>(call - linked.links.calls.begin() - 1));
    window.makers.push_back(makers);
  }
}

/// Of each work its place in the window: the next of its name. Where names are not told, the order alone decides.
std::optional<std::vector<std::size_t>> fitted_places(const std::vector<std::string_view>& works,
                                                      const CaptureWindow& window, bool exact) {
  if (window.works.size() < works.size() || (exact && window.works.size() != works.size())) return std::nullopt;
  const bool named = std::ranges::none_of(window.works, &std::string_view::empty);
  std::vector<std::size_t> result;
  if (!named) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const std::string_view made = window.works[i];
      if (made.empty() ? works[i] == "copy" || works[i] == "fill" : made != works[i]) return std::nullopt;
      result.push_back(i);
    }
    return exact ? std::optional(result) : std::nullopt;
  }
  std::unordered_map<std::string_view, std::vector<std::size_t>> of_name;  // the first of them last
  for (std::size_t i = window.works.size(); i-- > 0;) of_name[window.works[i]].push_back(i);
  for (const std::string_view work : works) {
    const auto left = of_name.find(work);
    if (left == of_name.end() || left->second.empty()) return std::nullopt;
    result.push_back(left->second.back());
    left->second.pop_back();
  }
  return result;
}

/// The number behind a word; absent where the name has none.
std::optional<std::int64_t> number_behind(std::string_view name, std::string_view word) {
  const auto at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + word.size());
  return number_in<std::int64_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
}

/// The batch that an iteration's range names: vLLM's "execute_32_context_0(...)_generation_32(...)" and
/// "execute_context_2(128)_generation_3(3)", SGLang's "step[DECODE bs=32]", ATOM's "decode[bs=30/32 tok=30]".
std::optional<std::int64_t> batch_in(std::string_view name) {
  if (name.starts_with("execute_context_")) {
    std::int64_t sum = 0;
    for (auto at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1))
      sum += std::clamp<std::int64_t>(number_behind(name.substr(at), "(").value_or(0), 0, 1 << 30);
    return sum;
  }
  if (name.starts_with("execute_")) return number_behind(name, "execute_");
  if (!name.starts_with("step[") && !name.starts_with("decode[") && !name.starts_with("prefill[")) return std::nullopt;
  for (const std::string_view word : {" g_sq=", " tok=", " toks=", " bs=", "[bs="})
    if (const auto number = number_behind(name, word)) return number;
  return std::nullopt;
}

/// What the list names; files elsewhere are not read.
std::vector<Capture> listed(const fs::path& list, std::optional<std::int64_t> rank,
                            std::vector<std::string>& warnings) {
  std::error_code error;
  if (fs::file_size(list, error) > max_list_bytes || error) return {};
  const auto json = storage::parsed_json(storage::read_text(list));
  std::vector<Capture> captures;
  bool of_rank = false, is_missing = false;
  for (const auto& one : json.is_array() ? json : decltype(json)::array()) {
    if (!one.is_object() || !one.contains("file") || !one["file"].is_string()) continue;
    const fs::path name = one["file"].get<std::string>();
    if (name != name.filename() || name.empty() || name == "." || name == "..") continue;
    if (!fs::is_regular_file(list.parent_path() / name, error)) {
      if (!std::exchange(is_missing, true))
        warnings.push_back(fmt::format("{} names {}, which is not beside it: its operators are not known.",
                                       list.string(), printable(name.string())));
      continue;
    }
    const auto batch = one.find("batch_size");
    Capture capture;
    capture.file = list.parent_path() / name;
    capture.batch = batch != one.end() && batch->is_number_integer() ? batch->get<std::int64_t>() : 0;
    auto named = number_behind(name.string(), "rank_");
    if (!named) named = number_behind(name.string(), "rank");
    if (rank && named == rank && !std::exchange(of_rank, true)) captures.clear();
    if (!of_rank || named == rank) captures.push_back(std::move(capture));
    if (captures.size() == max_captures) break;
  }
  return captures;
}

/// A launch of a graph with its works, by time.
struct GraphLaunch {
  std::vector<std::uint32_t> works;
  std::vector<std::string_view> names;
  std::optional<std::int64_t> batch;
};

std::map<std::uint32_t, GraphLaunch> graph_launches(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  std::map<std::uint32_t, GraphLaunch> launches;  // by their slices
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!work.in_graph || !linked.works(work) || linked.links.call_of[i] == none) continue;
    GraphLaunch& launch = launches[linked.links.calls[linked.links.call_of[i]].slice];
    launch.works.push_back(i);
    launch.names.push_back(name_of_work(timeline, work));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> open(timeline.processes.size(), {never, 0});  // end and batch
  auto launch = launches.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size() && launch != launches.end(); ++i) {
    const Slice& slice = timeline.slices[i];
    auto& around = open[timeline.tracks[slice.track].process];
    if (slice.kind == SliceKind::range)
      if (const auto batch = batch_in(timeline.names.text(slice.name))) around = {slice.end_ns(), *batch};
    if (launch->first != i) continue;
    if (around.first >= slice.end_ns()) launch->second.batch = around.second;
    ++launch;
  }
  return launches;
}

/// Where the works of a launch were captured in the trace itself.
struct Fit {
  const CaptureWindow* window = nullptr;
  std::vector<std::size_t> places;
};

/// Looks for launches in the captures of their own trace, which mostly does not tell what captured kernels are called.
/// So several may fit; then one of them stands for all, if `same` says of each place that they made the same.
class OwnCaptures {
 public:
  using Same = std::function<bool(const CaptureWindow&, std::size_t, const CaptureWindow&, std::size_t)>;
  OwnCaptures(const std::vector<CaptureWindow>& windows, Same same) : windows_(windows), same_(std::move(same)) {}

  /// Null where none fits, or it is not sure which.
  const Fit* find(const std::vector<std::string_view>& works) {
    const auto [known, fresh] = known_.try_emplace(works);
    Fit& found = known->second;
    if (fresh) look(works, found);
    return found.window == nullptr ? nullptr : &found;
  }

 private:
  void look(const std::vector<std::string_view>& works, Fit& found) {
    for (const CaptureWindow& window : windows_) {
      if (window.works.size() != works.size() || tries_ > max_tries) continue;
      tries_ += works.size();
      auto places = fitted_places(works, window, true);
      if (!places) continue;
      if (found.window == nullptr) {
        found = {&window, std::move(*places)};
        continue;
      }
      for (std::size_t i = 0; i < works.size(); ++i)
        if (!same_(*found.window, found.places[i], window, (*places)[i])) {
          found = {};
          return;
        }
    }
  }

  const std::vector<CaptureWindow>& windows_;
  Same same_;
  std::map<std::vector<std::string_view>, Fit> known_;
  std::size_t tries_ = 0;
};

bool has_captures(const Timeline& timeline) {
  const auto begins = timeline.names.where(begins_capture);
  return std::ranges::any_of(timeline.slices, [&](const Slice& slice) { return begins[slice.name]; });
}

class Joiner {
 public:
  explicit Joiner(Timeline& timeline) : timeline_(timeline) {}

  /// `places` in the window of the launch's works.
  void add(const GraphLaunch& launch, const Timeline& captured, const CaptureWindow& window,
           const std::vector<std::size_t>& places) {
    struct Open {
      std::uint32_t made;  // in the capture
      std::size_t slice;
    };
    std::map<std::uint32_t, std::vector<Open>> open;  // by stream
    for (std::size_t i = 0; i < launch.works.size() && timeline_.slices.size() < max_slices; ++i) {
      const Slice work = timeline_.slices[launch.works[i]];
      const auto& chain = window.makers[places[i]];
      auto& stack = open[work.track];
      std::size_t same = 0;
      while (same < std::min(stack.size(), chain.size()) && stack[same].made == chain[same]) ++same;
      stack.resize(same);
      for (std::size_t k = same; k < chain.size(); ++k) {
        const Slice made = captured.slices[chain[k]];  // of this timeline, which grows, it may be
        const bool has_inputs = made.detail >= 0 && made.detail < static_cast<std::int64_t>(captured.names.size());
        const std::int64_t inputs = has_inputs ? std::int64_t{name_of(captured, made.detail)} : -1;
        stack.push_back({chain[k], timeline_.slices.size()});
        timeline_.slices.push_back({.start_ns = work.start_ns,
                                    .name = name_of(captured, made.name),
                                    .track = track_of(work.track),
                                    .duration_ns = work.duration_ns,
                                    .correlation = work.correlation,
                                    .detail = inputs});
      }
      for (const Open& one : stack) {
        Slice& slice = timeline_.slices[one.slice];
        slice.duration_ns = std::max(slice.duration_ns, work.end_ns() - slice.start_ns);
      }
    }
  }

 private:
  std::uint32_t name_of(const Timeline& from, std::int64_t number) {
    return timeline_.names.number(from.names.text(static_cast<std::uint32_t>(number)));
  }
  std::uint32_t track_of(std::uint32_t stream) {
    const auto [place, added] = tracks_.emplace(stream, static_cast<std::uint32_t>(timeline_.tracks.size()));
    if (added) {
      Track track = timeline_.tracks[stream];
      track.name = "operators of " + track_name(track);
      track.kind = TrackKind::operators;
      timeline_.tracks.push_back(std::move(track));
    }
    return place->second;
  }

  Timeline& timeline_;
  std::map<std::uint32_t, std::uint32_t> tracks_;  // by stream
};

/// As the source tells them.
std::unordered_map<std::uint32_t, std::uint32_t> told_calls(const Linked& linked) {
  std::unordered_map<std::uint32_t, std::uint32_t> result;
  const auto told = linked.timeline.names.where([](std::string_view name) { return name == capture_flow; });
  for (const Flow& flow : linked.timeline.flows) {
    if (!told[flow.name] || !linked.timeline.slices[flow.to].in_graph) continue;
    const auto call = std::ranges::lower_bound(linked.links.calls, flow.from, {}, &Call::slice);
    if (call != linked.links.calls.end() && call->slice == flow.from)
      result.emplace(flow.to, static_cast<std::uint32_t>(call - linked.links.calls.begin()));
  }
  return result;
}

}  // namespace

void add_captured_operators(Timeline& timeline, const fs::path& trace,
                            const std::function<Timeline(const fs::path&)>& read) {
  std::error_code error;
  fs::path list = trace.parent_path() / captures_list;
  if (!fs::is_regular_file(list, error)) list = trace.parent_path() / captures_folder / captures_list;
  const bool has_list = fs::is_regular_file(list, error);
  const bool has_own = has_captures(timeline);
  if (!has_list && !has_own) return;
  const Linked linked(timeline);
  const auto launches = graph_launches(linked);
  if (launches.empty()) return;
  std::optional<std::int64_t> rank;
  for (const Process& process : timeline.processes)
    if (process.rank) rank = process.rank;
  std::vector<Capture> captures;
  if (has_list) captures = listed(list, rank, timeline.warnings);
  std::vector<CaptureWindow> windows;
  if (has_own) find_windows(linked, windows);
  const auto name_of = [&](std::uint32_t slice) { return timeline.slices[slice].name; };
  OwnCaptures own(windows, [&](const CaptureWindow& a, std::size_t i, const CaptureWindow& b, std::size_t k) {
    return std::ranges::equal(a.makers[i], b.makers[k], {}, name_of, name_of);
  });
  if (captures.empty() && windows.empty()) return;
  std::size_t tries = 0, unmatched = 0;
  Joiner joiner(timeline);
  for (const auto& [slice, launch] : launches) {
    // Batches are padded to the next that was captured.
    std::vector<Capture*> order;
    for (Capture& capture : captures) order.push_back(&capture);
    const auto distance = [batch = launch.batch](const Capture* one) {
      const std::int64_t more = batch && one->batch >= 0 ? one->batch - *batch : 0;
      return std::pair(more < 0, more < 0 ? -more : more);
    };
    std::ranges::stable_sort(order, {}, distance);
    const Fit* const fit_here = own.find(launch.names);
    if (fit_here != nullptr) joiner.add(launch, timeline, *fit_here->window, fit_here->places);
    bool found = fit_here != nullptr;
    for (Capture* const capture : order) {
      if (found) break;
      if (!std::exchange(capture->is_read, true)) try {
          capture->own = read(capture->file);
          find_windows(Linked(capture->own), capture->windows);
        } catch (const storage::ReadError& problem) {
          timeline.warnings.push_back(fmt::format("Left out: {}.", problem.what()));
        }
      const std::size_t windows = capture->windows.size();
      for (const bool exact : {true, false})
        for (std::size_t k = 0; k < windows && !found && tries < max_tries; ++k) {
          const std::size_t place = (capture->next + k) % windows;
          const CaptureWindow& window = capture->windows[place];
          const auto fit = fitted_places(launch.names, window, exact);
          tries += 16 + (window.works.size() == launch.names.size() ? launch.names.size() : 0);
          if (!fit) continue;
          found = true;
          capture->next = (place + 1) % windows;
          joiner.add(launch, capture->own, window, *fit);
        }
    }
    if (!found) ++unmatched;
  }
  sort(timeline);
  if (unmatched > 0)
    timeline.warnings.push_back(
        fmt::format("{}: of {} launches of graphs {} fit no capture in {}; their operators are not known.",
                    trace.string(), launches.size(), unmatched, has_list ? list.string() : "the trace"));
}

std::unordered_map<std::uint32_t, std::uint32_t> captured_calls(
    const Linked& linked, const std::function<bool(std::uint32_t, std::uint32_t)>& same) {
  std::unordered_map<std::uint32_t, std::uint32_t> result = told_calls(linked);
  if (!has_captures(linked.timeline)) return result;
  std::vector<CaptureWindow> windows;
  find_windows(linked, windows);
  OwnCaptures own(windows, [&](const CaptureWindow& a, std::size_t i, const CaptureWindow& b, std::size_t k) {
    return same(a.calls[i], b.calls[k]);
  });
  for (const auto& [slice, launch] : graph_launches(linked))
    if (const Fit* const fit = own.find(launch.names))
      for (std::size_t i = 0; i < launch.works.size(); ++i)
        result.emplace(launch.works[i], fit->window->calls[fit->places[i]]);
  return result;
}

}  // namespace gpubench::timeline
