// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/steps/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "timeline/analyses/ranks/ranks.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/statistics/breakdown.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t max_parts = 10'000;  // in files
constexpr std::int64_t pause_ns = 50'000;  // a thread that does nothing for longer may have waited for another

/// What a thread did in one stretch: operators and calls without gap.
struct Stretch {
  std::int64_t start, end;
};

class Walk {
 public:
  Walk(const Linked& linked, bool by_range) : linked_(linked), by_range_(by_range) { gather(); }

  CriticalPath path() {
    std::optional<std::uint32_t> last_work;
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i)
      if (works(i) && (!last_work || slice(i).end_ns() > slice(*last_work).end_ns())) last_work = i;
    std::uint32_t last_thread = none;
    std::int64_t host_end = never;
    for (std::uint32_t thread = 0; thread < stretches_.size(); ++thread)
      if (!stretches_[thread].empty() && stretches_[thread].back().end > host_end) {
        host_end = stretches_[thread].back().end;
        last_thread = thread;
      }
    if (!last_work && last_thread == none) return {};
    now_ = path_.end_ns = last_work ? std::max(slice(*last_work).end_ns(), host_end) : host_end;
    if (last_work && slice(*last_work).end_ns() >= host_end)
      work_ = *last_work;
    else
      thread_ = last_thread;
    // Each step goes back in time, or from a wait or a stretch to what was before it.
    for (std::size_t left = 4 * timeline_.slices.size() + 16; left > 0 && (work_ != none || thread_ != none); --left)
      work_ != none ? from_work() : from_thread();
    path_.start_ns = now_;
    std::ranges::reverse(path_.parts);
    for (const PathPart& part : path_.parts)
      path_.by_kind[static_cast<std::size_t>(part.kind)] += part.end_ns - part.start_ns;
    sum_up();
    return std::move(path_);
  }

 private:
  [[nodiscard]] const Slice& slice(std::uint32_t i) const { return timeline_.slices[i]; }
  [[nodiscard]] bool works(std::uint32_t i) const { return linked_.works(slice(i)); }

  void gather() {
    by_end_.resize(links_.gpus.size());
    before_.assign(timeline_.slices.size(), none);
    stretches_.resize(links_.threads.size());
    waits_.resize(links_.threads.size());
    track_of_thread_.assign(links_.threads.size(), 0);
    std::vector<std::uint32_t> last(timeline_.tracks.size(), none);
    const std::vector<bool> python = timeline_.names.where(is_python_frame);
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& here = slice(i);
      if (works(i)) {
        by_end_[links_.gpu_of_track[here.track]].push_back(i);
        // The one before it that has ended; work of a graph may overlap on one stream.
        std::uint32_t before = last[here.track];
        for (int k = 0; k < 16 && before != none && slice(before).end_ns() > here.start_ns; ++k)
          before = before_[before];
        if (before != none && slice(before).end_ns() <= here.start_ns) before_[i] = before;
        last[here.track] = i;
        continue;
      }
      const std::uint32_t thread = links_.thread_of_track[here.track];
      if (thread == none || timeline_.tracks[here.track].kind != TrackKind::thread || here.kind == SliceKind::range ||
          here.kind == SliceKind::overhead)
        continue;
      if (here.kind == SliceKind::other && python[here.name]) continue;
      track_of_thread_[thread] = here.track;
      auto& stretches = stretches_[thread];
      if (!stretches.empty() && here.start_ns <= stretches.back().end)
        stretches.back().end = std::max(stretches.back().end, here.end_ns());
      else
        stretches.push_back({here.start_ns, here.end_ns()});
      if (links_.host_waits[i]) waits_[thread].push_back(i);
    }
    for (auto& works : by_end_)
      std::ranges::sort(works, {}, [&](std::uint32_t i) { return std::pair(slice(i).end_ns(), i); });
    for (Collective& one : stragglers(timeline_).collectives) {
      const std::uint32_t last_in = one.slices[one.last];
      for (const std::uint32_t i : one.slices) last_in_[i] = last_in;
    }
  }

  /// The work of a GPU that ended last, no later than `time` and after `after`.
  [[nodiscard]] std::uint32_t ended_by(std::uint32_t gpu, std::int64_t time, std::int64_t after) const {
    const auto& works = by_end_[gpu];
    const auto next = std::ranges::upper_bound(works, time, {}, [&](std::uint32_t i) { return slice(i).end_ns(); });
    if (next == works.begin() || slice(*(next - 1)).end_ns() <= after) return none;
    return *(next - 1);
  }
  [[nodiscard]] std::uint32_t ended_in_process(std::uint32_t process, std::int64_t time, std::int64_t after) const {
    std::uint32_t latest = none;
    for (std::uint32_t gpu = 0; gpu < by_end_.size(); ++gpu) {
      if (links_.gpus[gpu].first != process) continue;
      const std::uint32_t here = ended_by(gpu, time, after);
      if (here != none && (latest == none || slice(here).end_ns() > slice(latest).end_ns())) latest = here;
    }
    return latest;
  }

  void put(PathKind kind, std::int64_t from, std::uint32_t of, std::uint32_t track) {
    if (from >= now_) return;
    PathPart* const next = path_.parts.empty() ? nullptr : &path_.parts.back();
    if (kind == PathKind::host && next != nullptr && next->kind == kind && next->track == track)
      next->start_ns = from;
    else
      path_.parts.push_back({kind, from, now_, of, track});
    now_ = from;
  }
  void to_work(std::uint32_t work) {
    work_ = work;
    thread_ = none;
  }
  void to_thread(std::uint32_t thread) {
    work_ = none;
    thread_ = thread;
  }

  /// `now_` is the end of work_, or the moment at which something else stopped to hold the path up.
  void from_work() {
    const std::uint32_t here = work_;
    const PathKind kind = slice(here).kind == SliceKind::kernel          ? PathKind::compute
                          : slice(here).kind == SliceKind::communication ? PathKind::communication
                                                                         : PathKind::memory;
    if (const auto last = last_in_.find(here); last != last_in_.end() && last->second != here) {
      const Slice& other = slice(last->second);
      if (other.start_ns > slice(here).start_ns && other.start_ns < now_) {
        put(kind, other.start_ns, here, slice(here).track);
        return before_start(last->second);
      }
    }
    put(kind, slice(here).start_ns, here, slice(here).track);
    before_start(here);
  }

  void before_start(std::uint32_t here) {
    const Slice& work = slice(here);
    const std::uint32_t call = links_.call_of[here];
    const std::int64_t called = call == none ? never : std::min(slice(links_.calls[call].slice).start_ns, now_);
    const std::uint32_t before = before_[here];
    const std::int64_t ended = before == none ? never : slice(before).end_ns();
    const std::int64_t latest = std::max(called, ended);
    if (latest < now_ - short_gap_ns) {
      const std::uint32_t other = ended_by(links_.gpu_of_track[work.track], now_, latest);
      if (other != none && slice(other).start_ns < now_) {
        put(PathKind::dependency, slice(other).end_ns(), here, work.track);
        return to_work(other);
      }
    }
    if (latest == never) {
      to_work(none);
      const std::uint32_t other = ended_by(links_.gpu_of_track[work.track], now_, never);
      if (other == none || other == here || slice(other).start_ns >= now_) return;
      put(PathKind::unknown, slice(other).end_ns(), here, work.track);
      return to_work(other);
    }
    if (called >= ended) {
      put(PathKind::launch, called, links_.calls[call].slice, slice(links_.calls[call].slice).track);
      return to_thread(links_.thread_of_track[slice(links_.calls[call].slice).track]);
    }
    put(PathKind::queue, ended, here, work.track);
    to_work(before);
  }

  void host(std::int64_t from) { put(PathKind::host, from, 0, track_of_thread_[thread_]); }

  /// `now_` is a moment at which thread_ did something.
  void from_thread() {
    const auto& stretches = stretches_[thread_];
    auto next = std::ranges::lower_bound(stretches, now_, {}, &Stretch::start);
    const bool inside = next != stretches.begin() && (next - 1)->end >= now_;
    const std::int64_t begin = inside ? (next - 1)->start : now_;
    const auto& waits = waits_[thread_];
    const auto wait = std::ranges::lower_bound(waits, now_, {}, [&](std::uint32_t i) { return slice(i).start_ns; });
    if (wait != waits.begin() && slice(*(wait - 1)).end_ns() > begin) {
      const std::uint32_t waited = *(wait - 1);
      host(std::min(slice(waited).end_ns(), now_));
      const std::uint32_t work = ended_in_process(links_.threads[thread_].first, now_, slice(waited).start_ns);
      if (work != none) {
        put(PathKind::wait, slice(work).end_ns(), waited, slice(waited).track);
        return to_work(work);
      }
      put(PathKind::wait, slice(waited).start_ns, waited, slice(waited).track);
      return;
    }
    host(begin);
    // Nothing is recorded of this thread just before. Another one of the process may have started it.
    const std::int64_t ended = inside ? (next - 1 == stretches.begin() ? never : (next - 2)->end)
                                      : (next == stretches.begin() ? never : (next - 1)->end);
    std::uint32_t starter = none;
    std::int64_t until = ended;
    const bool paused = ended == never || ended < now_ - pause_ns;
    for (std::uint32_t other = 0; other < stretches_.size() && paused; ++other) {
      if (other == thread_ || links_.threads[other].first != links_.threads[thread_].first) continue;
      const auto& theirs = stretches_[other];
      const auto after = std::ranges::lower_bound(theirs, now_, {}, &Stretch::start);
      if (after == theirs.begin()) continue;
      const std::int64_t end = std::min((after - 1)->end, now_);
      if (end > until) {
        until = end;
        starter = other;
      }
    }
    if (until == never) {
      to_work(none);
      return;
    }
    host(until);
    if (starter != none) to_thread(starter);
  }

  /// Names of host parts: the innermost slice that is open on the thread, ranges and Python frames included. By ranges
  /// that of all parts on a thread, and of work that at its call.
  void sum_up() {
    std::map<std::pair<PathKind, std::uint32_t>, PathSum> sums;
    const auto add = [&](PathKind kind, std::uint32_t name, std::int64_t ns, std::int64_t count) {
      PathSum& sum = sums[{kind, name}];
      sum.kind = kind;
      sum.name = name;
      sum.total_ns += ns;
      sum.count += count;
    };
    std::vector<std::vector<std::uint32_t>> of_thread(links_.threads.size());  // parts that are named by it
    struct Launched {
      std::int64_t called, ns;
      PathKind kind;
    };
    std::vector<std::vector<Launched>> launched(of_thread.size());
    for (std::uint32_t i = 0; i < path_.parts.size(); ++i) {
      const PathPart& part = path_.parts[i];
      const std::uint32_t thread = links_.thread_of_track[part.track];
      if (part.kind == PathKind::host || (by_range_ && thread != none)) {
        of_thread[thread].push_back(i);
      } else if (const std::uint32_t call = by_range_ ? links_.call_of[part.slice] : none; call != none) {
        const Slice& from = slice(links_.calls[call].slice);
        launched[links_.thread_of_track[from.track]].push_back({from.start_ns, part.end_ns - part.start_ns, part.kind});
      } else {
        add(part.kind, by_range_ ? 0 : slice(part.slice).name, part.end_ns - part.start_ns, 1);
      }
    }
    for (auto& works : launched) std::ranges::stable_sort(works, {}, &Launched::called);
    std::vector<std::size_t> next_launched(of_thread.size());
    struct Open {
      std::uint32_t name;
      std::int64_t end;
      bool counted = false;
    };
    std::vector<std::vector<Open>> stacks(of_thread.size());
    std::vector<std::size_t> next(of_thread.size());
    std::vector<std::int64_t> done(of_thread.size(), never);
    // All time of a thread up to `time` that is not yet done belongs to its innermost slice.
    const auto pass = [&](std::uint32_t thread, std::int64_t time) {
      auto& stack = stacks[thread];
      while (done[thread] < time) {
        while (!stack.empty() && stack.back().end <= done[thread]) stack.pop_back();
        const std::int64_t until = stack.empty() ? time : std::min(time, stack.back().end);
        const std::uint32_t name = stack.empty() ? 0 : stack.back().name;
        // A slice counts once, however many pieces of it are on the path.
        const auto times = [&] { return stack.empty() || !std::exchange(stack.back().counted, true) ? 1 : 0; };
        for (auto& k = next[thread]; k < of_thread[thread].size(); ++k) {
          const PathPart& part = path_.parts[of_thread[thread][k]];
          const std::int64_t from = std::max(part.start_ns, done[thread]), to = std::min(part.end_ns, until);
          if (to > from) add(part.kind, name, to - from, by_range_ ? 1 : times());
          if (part.end_ns > until) break;
        }
        auto& works = launched[thread];
        for (auto& k = next_launched[thread]; k < works.size() && works[k].called < until; ++k)
          add(works[k].kind, name, works[k].ns, 1);
        done[thread] = until;
      }
    };
    const auto first_of = [&](std::uint32_t thread) {
      return launched[thread].empty() ? path_.start_ns : std::min(path_.start_ns, launched[thread].front().called);
    };
    for (const Slice& here : timeline_.slices) {
      const std::uint32_t thread = links_.thread_of_track[here.track];
      if (thread == none || (of_thread[thread].empty() && launched[thread].empty()) ||
          here.kind == SliceKind::overhead || (by_range_ && here.kind != SliceKind::range))
        continue;
      if (done[thread] == never) done[thread] = std::min(here.start_ns, first_of(thread));
      pass(thread, here.start_ns);
      stacks[thread].push_back({here.name, here.end_ns()});
    }
    for (std::uint32_t thread = 0; thread < of_thread.size(); ++thread)
      if (!of_thread[thread].empty() || !launched[thread].empty()) {
        if (done[thread] == never) done[thread] = first_of(thread);
        pass(thread, path_.end_ns + 1);
      }
    for (auto& [key, sum] : sums) path_.sums.push_back(sum);
    std::ranges::stable_sort(path_.sums, std::ranges::greater(), &PathSum::total_ns);
  }

  const Linked& linked_;
  const bool by_range_;
  const Timeline& timeline_ = linked_.timeline;
  const Correlations& links_ = linked_.links;
  CriticalPath path_;
  std::int64_t now_ = 0;
  std::uint32_t work_ = none, thread_ = none;       // where the walk is: one of them
  std::vector<std::vector<std::uint32_t>> by_end_;  // of each GPU its work
  std::vector<std::uint32_t> before_;               // of each piece of work the one before it on its stream
  std::vector<std::vector<Stretch>> stretches_;     // of each thread
  std::vector<std::vector<std::uint32_t>> waits_;   // of each thread, by time
  std::vector<std::uint32_t> track_of_thread_;
  std::unordered_map<std::uint32_t, std::uint32_t> last_in_;  // of a collective's slice, that of the last rank to enter
};

}  // namespace

CriticalPath critical_path(const Linked& linked, bool by_range) { return Walk(linked, by_range).path(); }

void add_path_track(Timeline& timeline, const CriticalPath& path) {
  if (path.parts.empty()) return;
  constexpr std::array<SliceKind, path_kind_names.size()> kinds = {
      SliceKind::kernel, SliceKind::communication,   SliceKind::copy, SliceKind::launch, SliceKind::other,
      SliceKind::other,  SliceKind::synchronization, SliceKind::call, SliceKind::other};
  const auto track = static_cast<std::uint32_t>(timeline.tracks.size());
  timeline.tracks.push_back({.kind = TrackKind::path, .process = 0, .device = -1, .id = 0, .name = "critical path"});
  for (const PathPart& part : path.parts) {
    const Slice of = part.kind == PathKind::host ? Slice() : timeline.slices[part.slice];
    const std::string name = fmt::format(
        "{}: {}", name_of(part.kind),
        part.kind == PathKind::host ? track_name(timeline.tracks[part.track]) : timeline.names.text(of.name));
    timeline.slices.push_back({.start_ns = part.start_ns,
                               .name = timeline.names.number(name),
                               .track = track,
                               .duration_ns = part.end_ns - part.start_ns,
                               .correlation = of.correlation,
                               .kind = kinds[static_cast<std::size_t>(part.kind)]});
  }
  sort(timeline);
}

namespace {

std::vector<ResultTable> path_tables(const Linked& linked, std::string_view by) {
  constexpr std::array<std::string_view, path_kind_names.size()> words = {"kernels",
                                                                          "communication",
                                                                          "copies and fills",
                                                                          "launches",
                                                                          "between queued work",
                                                                          "waiting for another stream",
                                                                          "from work to the waiting host",
                                                                          "other work of the host",
                                                                          "not known"};
  const CriticalPath path = critical_path(linked, by == "range");
  const auto name_in = [&](std::uint32_t name) { return linked.timeline.names.text(name); };
  const auto whole = static_cast<double>(path.end_ns - path.start_ns);
  const auto share = [&](std::int64_t ns) {
    return whole > 0.0 ? Value(static_cast<double>(ns) / whole) : Absent{"no time"};
  };
  ResultTable facts{"", columns_of("start_seconds; end_seconds; part_count")};
  facts.add({seconds_of(path.start_ns), seconds_of(path.end_ns), static_cast<std::int64_t>(path.parts.size())});
  ResultTable kinds{"kinds", columns_of("kind; =on the critical path; seconds=time; share=share")};
  kinds.none = "The trace holds no work and no call.";
  for (const std::size_t i : statistics::places_by(
           path.parts.empty() ? 0 : path.by_kind.size(), [&](std::size_t i) { return path.by_kind[i]; },
           std::ranges::greater()))
    if (path.by_kind[i] > 0)
      kinds.add({std::string(path_kind_names[i]), std::string(words[i]), seconds_of(path.by_kind[i]),
                 share(path.by_kind[i])});
  if (!path.parts.empty())
    kinds.notes = {
        fmt::format("{} from the first call to the end, in {}. What is not on this path could take longer for free.",
                    format_seconds(whole / 1e9), plural(path.parts.size(), "part"))};
  ResultTable sums{"sums", columns_of(std::string(by == "range" ? "name=range|(outside ranges)"
                                                                : "name:kernel=what|(nothing recorded)") +
                                      "; kind=kind; count=times~1; seconds=time; share=share")};
  for (const PathSum& sum : path.sums)
    sums.add(
        {name_in(sum.name), std::string(name_of(sum.kind)), sum.count, seconds_of(sum.total_ns), share(sum.total_ns)});
  ResultTable parts{"parts", columns_of("kind; start_seconds; seconds; name; track")};
  parts.shown = 0;
  for (const PathPart& part : path.parts) {
    if (parts.rows.size() == max_parts) break;
    parts.add({std::string(name_of(part.kind)), seconds_of(part.start_ns), seconds_of(part.end_ns - part.start_ns),
               part.kind == PathKind::host ? "" : name_in(linked.timeline.slices[part.slice].name),
               linked.timeline.tracks[part.track].name});
  }
  return {std::move(kinds), std::move(sums), std::move(parts), std::move(facts)};
}

}  // namespace

extern const Analysis critical_path_analysis{
    "critical-path", "Name the work and the waits that made up the time", path_tables, "name|range",
    "What to sum up by: the kernel, call or operator; or the range in which the program launched or did it."};

}  // namespace gpubench::timeline
