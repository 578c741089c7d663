// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "timeline/analyses/steps/iterations.h"
#include "timeline/names.h"
#include "timeline/program/gaps.h"
#include "timeline/statistics/breakdown.h"
#include "timeline/structure/range_tree.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t shown_above_roof = 8;  // kernels of a step by name
constexpr double min_steady_share = 0.5;     // of the time of all kernels
constexpr std::size_t max_phases = 24;
constexpr double min_phase_share = 0.01;           // of the whole
constexpr std::int64_t min_pause_ns = 20'000'000;  // in which code is made and loaded

/// When the work of ranges of one process ran: from the end of what was launched before to that of its own. `joined`:
/// what lies between two of them counts to the first.
std::vector<TimeWindow> windows_of_ranges(const Linked& linked, std::uint32_t process,
                                          const std::vector<TimeWindow>& ranges, bool joined) {
  struct Work {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = never;
  };
  std::vector<Work> own(ranges.size());
  std::vector<std::int64_t> all_until(ranges.size() + 1, never);  // of work launched before that range began
  for (std::uint32_t i = 0; i < linked.timeline.slices.size(); ++i) {
    const Slice& slice = linked.timeline.slices[i];
    if (!linked.works(slice) || linked.timeline.tracks[slice.track].process != process) continue;
    const Slice* const call = linked.call_of(i);
    const std::int64_t launched = call == nullptr ? slice.start_ns : call->start_ns;
    const auto next = std::ranges::upper_bound(ranges, launched, {}, &TimeWindow::from);
    const auto begun = static_cast<std::size_t>(next - ranges.begin());  // ranges before the launch
    all_until[begun] = std::max(all_until[begun], slice.end_ns());
    if (begun == 0 || (next - 1)->to <= launched) continue;
    own[begun - 1].first = std::min(own[begun - 1].first, slice.start_ns);
    own[begun - 1].last = std::max(own[begun - 1].last, slice.end_ns());
  }
  std::vector<TimeWindow> result;
  std::int64_t until = never;
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    until = std::max(until, all_until[k]);
    const std::int64_t from = std::min(std::max(ranges[k].from, until), std::max(ranges[k].from, own[k].first));
    const std::int64_t begin = result.empty() ? from : std::max(from, result.back().from);
    if (!result.empty()) result.back().to = std::min(result.back().to, begin);
    result.push_back({begin, std::max({begin, ranges[k].to, own[k].last})});
  }
  if (result.empty() || !joined) return result;
  // What lies between two steps is part of the loop, unless it is long.
  std::vector<std::int64_t> periods;
  for (std::size_t k = 1; k < result.size(); ++k) periods.push_back(result[k].from - result[k - 1].from);
  const auto median = static_cast<double>(statistics::upper_median(periods).value_or(0));
  for (std::size_t k = 0; k + 1 < result.size(); ++k)
    if (static_cast<double>(periods[k]) <= Iterations::slow_factor * median) result[k].to = result[k + 1].from;
  return result;
}

/// The last of several turns that follow one another ends as long after its start as others do, as far as nothing else
/// ran.
std::vector<TimeWindow> windows_of_work(const Linked& linked, std::uint32_t process,
                                        const std::vector<TimeWindow>& turns) {
  std::vector<std::int64_t> whole;
  for (std::size_t k = 0; k + 1 < turns.size(); ++k)
    if (turns[k].to == turns[k + 1].from) whole.push_back(turns[k].length());
  const std::int64_t median = statistics::upper_median(whole).value_or(0);
  const std::int64_t end = process_spans(linked.timeline)[process].to;
  std::vector<TimeWindow> result = turns;
  for (std::size_t k = 0; k < result.size(); ++k) {
    if (k + 1 < result.size() && result[k].to == result[k + 1].from) continue;
    std::int64_t next = end;
    const auto behind = std::ranges::lower_bound(linked.timeline.slices, result[k].to, {}, &Slice::start_ns);
    for (auto slice = behind; slice != linked.timeline.slices.end(); ++slice)
      if (linked.works(*slice) && linked.timeline.tracks[slice->track].process == process) {
        next = slice->start_ns;
        break;
      }
    result[k].to = std::max(result[k].to, std::min(next, result[k].from + median));
  }
  return result;
}

void split_warm_up(Steps& steps) {
  std::vector<std::int64_t> lengths;
  for (const TimeWindow& one : steps.all) lengths.push_back(one.length());
  const auto median = static_cast<double>(statistics::upper_median(lengths).value_or(0));
  const auto steady = std::ranges::find_if(steps.all, [&](const TimeWindow& one) {
    return static_cast<double>(one.length()) <= Iterations::slow_factor * median;
  });
  steps.warm_up.assign(steps.all.begin(), steady);
  steps.all.erase(steps.all.begin(), steady);
}

/// Steps in which the GPU waited for the recording say little of others: what the host had launched ahead has run out.
void split_held_up(const Linked& linked, std::vector<Steps>& steps) {
  constexpr double max_held_up = 0.05;
  constexpr std::size_t min_left = 3;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> held;  // nanoseconds by process and start of the step
  for_each_gap(linked, std::nullopt, [&](const IdleGap& gap) {
    if (gap[IdleCause::recording] == 0) return;
    for (const Steps& one : steps) {
      if (linked.links.gpus[gap.gpu].first != one.process) continue;
      for (auto step = std::ranges::upper_bound(one.all, gap.from, {}, &TimeWindow::to);
           step != one.all.end() && step->from < gap.to; ++step)
        held[{one.process, step->from}] += gap[IdleCause::recording] *
                                           (std::min(gap.to, step->to) - std::max(gap.from, step->from)) /
                                           (gap.to - gap.from);
    }
  });
  for (Steps& one : steps) {
    const auto is_held = [&](const TimeWindow& step) {
      const auto by = held.find({one.process, step.from});
      return by != held.end() && static_cast<double>(by->second) > max_held_up * static_cast<double>(step.length());
    };
    if (one.all.size() < min_left + static_cast<std::size_t>(std::ranges::count_if(one.all, is_held))) continue;
    std::ranges::copy_if(one.all, std::back_inserter(one.held_up), is_held);
    std::erase_if(one.all, is_held);
  }
}

bool loads_code(std::string_view name) { return contains(name, "ModuleLoad") || contains(name, "LibraryLoad"); }

/// Before the steps: pauses of the GPU, and work between them.
class PhasesBefore {
 public:
  PhasesBefore(const Linked& linked, std::uint32_t process, TimeWindow span, std::int64_t first_step)
      : min_ns_(static_cast<std::int64_t>(min_phase_share * static_cast<double>(span.length()))) {
    const Timeline& timeline = linked.timeline;
    const auto loading = timeline.names.where(loads_code);
    bool loaded = false;
    std::int64_t busy_until = never;
    for (const Slice& slice : timeline.slices) {
      if (slice.start_ns >= first_step) break;
      if (timeline.tracks[slice.track].process != process) continue;
      if (slice.kind == SliceKind::call && loading[slice.name]) loaded = true;
      if (!linked.works(slice)) continue;
      if (busy_until == never) {
        add(PhaseKind::start, span.from, slice.start_ns);
        work_from_ = slice.start_ns;
      } else if (slice.start_ns - busy_until >= std::max(min_pause_ns, min_ns_)) {
        pause(busy_until, slice.start_ns, loaded);
      }
      if (is_kernel(slice.kind))
        kernel_ns_ += slice.duration_ns;
      else
        copy_ns_ += slice.duration_ns;
      busy_until = std::max(busy_until, slice.end_ns());
      loaded = false;
    }
    if (busy_until == never) {
      add(PhaseKind::start, span.from, first_step);
      return;
    }
    if (first_step - busy_until >= std::max(min_pause_ns, min_ns_)) pause(busy_until, first_step, loaded);
    work(first_step);
  }
  std::vector<std::pair<PhaseKind, TimeWindow>> take() { return std::move(all_); }

 private:
  void pause(std::int64_t from, std::int64_t to, bool loaded) {
    work(from);
    add(loaded ? PhaseKind::compilation : PhaseKind::setup, from, to);
    work_from_ = to;
  }
  void work(std::int64_t to) {
    add(copy_ns_ > kernel_ns_ ? PhaseKind::weights : PhaseKind::setup, work_from_, to);
    copy_ns_ = kernel_ns_ = 0;
  }
  void add(PhaseKind kind, std::int64_t from, std::int64_t to) {
    if (to <= from) return;
    if (!all_.empty() && (all_.back().first == kind || to - from < min_ns_))
      all_.back().second.to = to;
    else
      all_.push_back({kind, {from, to}});
  }

  std::int64_t min_ns_, work_from_ = 0, kernel_ns_ = 0, copy_ns_ = 0;
  std::vector<std::pair<PhaseKind, TimeWindow>> all_;
};

/// A piece of work of a GPU within the steps, cut off at their ends.
struct StepWork {
  TimeWindow ran;
  std::int64_t call_ns = never;
  double at_roof = 1.0;  ///< of its time
  bool in_graph = false;
  std::array<std::int64_t, idle_cause_names.size()> gap = {};  ///< before it
  [[nodiscard]] std::int64_t operator[](IdleCause cause) const { return gap[static_cast<std::size_t>(cause)]; }
};

/// Between work that is queued, the GPU's own; within a graph it takes longer.
std::int64_t queued_ns(const StepWork& work) {
  constexpr std::int64_t short_graph_gap_ns = 5000;
  const std::int64_t device = work[IdleCause::device];
  return device < (work.in_graph ? short_graph_gap_ns : short_gap_ns) ? device : 0;
}

/// Launches work again: with kernels at their roofs, without launch gaps, or both.
class Replay {
 public:
  Replay(std::int64_t start_ns, bool at_roof, bool free_launches)
      : at_roof_(at_roof), free_launches_(free_launches), end_(start_ns), new_end_(static_cast<double>(start_ns)) {}

  void add(const StepWork& work) {
    const auto running = running_.upper_bound(work.ran.from);
    if (running != running_.begin()) done_ = *std::prev(running);
    running_.erase(running_.begin(), running);
    const auto ns = [&](IdleCause cause) { return static_cast<double>(work[cause]); };
    const auto from = static_cast<double>(work.ran.from);
    double begin = from;
    bool by_host = false;
    if (work.ran.from > end_) {
      const double waited = ns(IdleCause::synchronization) + ns(IdleCause::copy),
                   other = waited + ns(IdleCause::host) + ns(IdleCause::edges);
      const auto queued = free_launches_ ? static_cast<double>(queued_ns(work)) : 0.0;
      if (waited > 0.0) earlier_ = static_cast<double>(end_) - new_end_;
      earlier_ += ns(IdleCause::recording) + (free_launches_ ? ns(IdleCause::launch) : 0.0);
      begin = new_end_ + ns(IdleCause::device) + ns(IdleCause::unknown) - queued;
      by_host = other > 0.0 || (!free_launches_ && ns(IdleCause::launch) + ns(IdleCause::recording) > 0.0);
      // A host that does nothing but launch keeps up where launches are free.
      if (free_launches_ && !by_host) earlier_ = from - begin;
    } else if (done_) {
      begin = from - static_cast<double>(done_->first) + done_->second;  // as long after what had ended last
    }
    if (by_host)
      begin = std::max(begin, from - earlier_);
    else if (!free_launches_ && work.call_ns != never)
      begin = std::max(begin, std::min(from, static_cast<double>(work.call_ns)) - earlier_);
    const double end = begin + static_cast<double>(work.ran.length()) * (at_roof_ ? work.at_roof : 1.0);
    running_.emplace(work.ran.to, end);
    end_ = std::max(end_, work.ran.to);
    new_end_ = std::max(new_end_, end);
  }
  [[nodiscard]] double end_ns() const { return new_end_; }

 private:
  bool at_roof_, free_launches_;
  std::int64_t end_;
  double new_end_;
  double earlier_ = 0.0;                                 ///< than it was, the host comes to its calls
  std::multimap<std::int64_t, double> running_;          ///< new ends by end
  std::optional<std::pair<std::int64_t, double>> done_;  ///< what ended last before the work that is added
};

/// The sums of one GPU.
class OneGpu {
 public:
  OneGpu(const Linked& linked, const Steps& steps, std::uint32_t gpu, const Roofs* roofs)
      : linked_(linked), steps_(steps), windows_(steps.windows()), gpu_(gpu), roofs_(roofs) {}

  void gap(const IdleGap& gap) {
    // Of a gap that reaches out of a step each cause has the same part within.
    const auto& parts = windows_.parts();
    for (auto at = std::ranges::upper_bound(parts, gap.from, {}, &TimeWindow::to);
         at != parts.end() && at->from < gap.to; ++at) {
      const TimeWindow& part = *at;
      const std::int64_t within = std::min(gap.to, part.to) - std::max(gap.from, part.from);
      StepWork& work = gap.next != none && gap.to < part.to ? gaps_[gap.next] : at_end_[part.to];
      work.in_graph = gap.next != none && linked_.timeline.slices[gap.next].in_graph;
      for (std::size_t i = 0; i < gap.by_cause.size(); ++i)
        work.gap[i] += static_cast<std::int64_t>(static_cast<double>(gap.by_cause[i]) * static_cast<double>(within) /
                                                 static_cast<double>(gap.to - gap.from));
    }
  }

  StepTime time(const Breakdown& busy) {
    std::int64_t wall = 0;
    for (const TimeWindow& part : windows_.parts()) wall += part.length();
    const auto count = static_cast<double>(steps_.all.size());
    std::array<std::int64_t, step_part_kind_names.size()> sums = {};
    const auto sum = [&](StepPartKind kind) -> std::int64_t& { return sums[static_cast<std::size_t>(kind)]; };
    std::map<std::uint32_t, double> above;  // by group
    kernels(sums, above);
    sum(StepPartKind::collectives) = busy.by_work_ns[communicating] + busy.by_work_ns[communicating | moving];
    sum(StepPartKind::copies) = busy.by_work_ns[moving];
    std::int64_t recording = 0;
    const auto add_idle = [&](const StepWork& work) {
      const std::int64_t queued = queued_ns(work);
      sum(StepPartKind::launch) += work[IdleCause::launch] + queued;
      sum(StepPartKind::host) += work[IdleCause::host] + work[IdleCause::edges];
      sum(StepPartKind::waiting) +=
          work[IdleCause::synchronization] + work[IdleCause::copy] + work[IdleCause::device] - queued;
      sum(StepPartKind::unknown) += work[IdleCause::unknown];
      recording += work[IdleCause::recording];
    };
    for (const auto& [next, work] : gaps_) add_idle(work);
    for (const auto& [to, work] : at_end_) add_idle(work);
    StepTime result;
    result.by = steps_.by;
    result.steps = static_cast<std::int64_t>(steps_.all.size());
    result.seconds = seconds_of(wall - recording) / count;
    result.recording_seconds = seconds_of(recording) / count;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto kind = static_cast<StepPartKind>(i);
      if (kind == StepPartKind::above_roof)
        add_above(above, count, result.parts);
      else if (sums[i] > 0)
        result.parts.push_back({kind, "", seconds_of(sums[i]) / count});
    }
    result.free_launch_seconds = again(false, true) / count;
    if (roofs_ == nullptr) {
      result.roof_reason = "the ceilings of this GPU are not known; --calibration=FILE gives them";
    } else if (sum(StepPartKind::roof) == 0) {
      result.roof_reason = "no kernel of the step has a verdict";
    } else {
      result.at_roof_seconds = again(true, false) / count;
      result.both_seconds = again(true, true) / count;
    }
    return result;
  }

 private:
  [[nodiscard]] std::uint32_t group_of(std::uint32_t slice) const {
    return roofs_ == nullptr || slice >= roofs_->of_slice.size() ? none : roofs_->of_slice[slice];
  }

  /// Works of the steps, and what kernels add up to.
  void kernels(std::array<std::int64_t, step_part_kind_names.size()>& sums, std::map<std::uint32_t, double>& above) {
    std::int64_t end = never;
    double at_roof = 0.0;
    for (std::uint32_t i = 0; i < linked_.timeline.slices.size(); ++i) {
      const Slice& slice = linked_.timeline.slices[i];
      if (linked_.gpu_of(slice) != gpu_) continue;
      std::optional<double> share;
      const std::uint32_t group = group_of(i);
      if (group != none && slice.kind == SliceKind::kernel) share = roofs_->groups[group].share;
      if (slice.kind == SliceKind::kernel) {
        const std::int64_t alone = windows_.within(std::max(slice.start_ns, end), slice.end_ns());
        end = std::max(end, slice.end_ns());
        if (!share) {
          sums[static_cast<std::size_t>(StepPartKind::no_verdict)] += alone;
        } else {
          at_roof += static_cast<double>(alone) * *share;
          above[group] += static_cast<double>(alone) * (1.0 - *share);
        }
      }
      const auto& parts = windows_.parts();
      for (auto part = std::ranges::upper_bound(parts, slice.start_ns, {}, &TimeWindow::to);
           part != parts.end() && part->from < slice.end_ns(); ++part) {
        const TimeWindow ran{std::max(slice.start_ns, part->from), std::min(slice.end_ns(), part->to)};
        StepWork work{.ran = ran, .at_roof = share.value_or(1.0), .in_graph = slice.in_graph};
        if (const Slice* const call = linked_.call_of(i)) work.call_ns = call->start_ns;
        if (const auto gap = gaps_.find(i); gap != gaps_.end() && ran.from == slice.start_ns)
          work.gap = gap->second.gap;
        works_[part->from].push_back(work);
      }
    }
    sums[static_cast<std::size_t>(StepPartKind::roof)] = static_cast<std::int64_t>(at_roof);
  }

  void add_above(const std::map<std::uint32_t, double>& above, double count, std::vector<StepPart>& parts) const {
    std::map<std::string_view, double> by_name;  // one kernel in many modules is one
    for (const auto& [group, ns] : above) by_name[roofs_->groups[group].name] += ns;
    std::vector<std::pair<double, std::string_view>> order;
    for (const auto& [name, ns] : by_name)
      if (ns > 0.0) order.emplace_back(ns, name);
    std::ranges::sort(order, std::ranges::greater());
    double rest = 0.0;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (k < shown_above_roof)
        parts.push_back({StepPartKind::above_roof, std::string(order[k].second), order[k].first / 1e9 / count});
      else
        rest += order[k].first;
    if (rest > 0.0) parts.push_back({StepPartKind::above_roof, "", rest / 1e9 / count});
  }

  /// Seconds of all steps.
  [[nodiscard]] double again(bool at_roof, bool free_launches) const {
    double ns = 0.0;
    for (const TimeWindow& part : windows_.parts()) {
      Replay replay(part.from, at_roof, free_launches);
      if (const auto works = works_.find(part.from); works != works_.end())
        for (const StepWork& work : works->second) replay.add(work);
      StepWork last{.ran = {part.to, part.to}};
      if (const auto gap = at_end_.find(part.to); gap != at_end_.end()) last.gap = gap->second.gap;
      replay.add(last);
      ns += replay.end_ns() - static_cast<double>(part.from);
    }
    return ns / 1e9;
  }

  const Linked& linked_;
  const Steps& steps_;
  Windows windows_;
  std::uint32_t gpu_;
  const Roofs* roofs_;
  std::unordered_map<std::uint32_t, StepWork> gaps_;     // by the work behind
  std::map<std::int64_t, StepWork> at_end_;              // by the end of the window that they reach
  std::map<std::int64_t, std::vector<StepWork>> works_;  // by the start of the window
};

}  // namespace

std::vector<TimeWindow> Steps::steady() const {
  std::vector<TimeWindow> result;
  std::ranges::merge(all, held_up, std::back_inserter(result), {}, &TimeWindow::from, &TimeWindow::from);
  return result;
}

Windows Steps::windows() const {
  Windows result;
  for (const TimeWindow& one : all) result.add(one.from, one.to);
  return result;
}

std::int64_t Steps::total_ns() const {
  std::int64_t sum = 0;
  for (const TimeWindow& one : all) sum += one.length();
  return sum;
}

std::vector<Steps> steps(const Linked& linked) {
  std::vector<Steps> result;
  for (const Iterations& found : iterations(linked)) {
    std::vector<TimeWindow> turns;
    for (const Iteration& one : found.all) turns.push_back({one.start_ns, one.end_ns});
    if (std::ranges::all_of(found.all, [](const Iteration& one) { return one.works == 0; })) continue;
    Steps& added =
        result.emplace_back(Steps{.process = found.process, .by = found.by, .all = {}, .warm_up = {}, .held_up = {}});
    added.all = found.of_work ? windows_of_work(linked, found.process, turns)
                              : windows_of_ranges(linked, found.process, turns, true);
    split_warm_up(added);
  }
  split_held_up(linked, result);
  return result;
}

std::vector<Steps> steps_in_ranges(const Linked& linked, std::string_view name) {
  const Timeline& timeline = linked.timeline;
  std::vector<std::vector<TimeWindow>> ranges(timeline.processes.size());
  const std::vector<bool> meant = ranges_named(timeline, name);
  for (const Slice& slice : timeline.slices) {
    if (slice.kind != SliceKind::range || linked.links.thread_of_track[slice.track] == none || !meant[slice.name])
      continue;
    // Of ranges that overlap, on threads or within one another, the first counts.
    auto& of_process = ranges[timeline.tracks[slice.track].process];
    if (of_process.empty() || slice.start_ns >= of_process.back().to)
      of_process.push_back({slice.start_ns, slice.end_ns()});
  }
  std::vector<Steps> result;
  for (std::uint32_t process = 0; process < ranges.size(); ++process) {
    if (ranges[process].empty()) continue;
    result.push_back({.process = process,
                      .by = fmt::format("range {}", name),
                      .all = windows_of_ranges(linked, process, ranges[process], false),
                      .warm_up = {},
                      .held_up = {}});
  }
  return result;
}

SteadyWindows steady_windows(const Linked& linked, const std::vector<Steps>& steps, bool asked) {
  const Timeline& timeline = linked.timeline;
  SteadyWindows result;
  if (steps.empty()) {
    result.why_not = asked ? "There is no range of this name." : "Nothing repeats itself often enough to be steps.";
    return result;
  }
  result.windows.resize(timeline.processes.size());
  std::vector<bool> has_steps(result.windows.size());
  WindowsOf steady(result.windows.size());
  for (const Steps& one : steps) {
    result.windows[one.process] = one.windows();
    for (const TimeWindow& step : one.steady()) steady[one.process].add(step.from, step.to);
    has_steps[one.process] = true;
  }
  const auto spans = process_spans(timeline);
  for (std::size_t i = 0; i < spans.size() && !asked; ++i)
    if (!has_steps[i]) result.windows[i].add(spans[i].from, spans[i].to);
  double all = 0.0, within = 0.0, with_held_up = 0.0;
  for (const Slice& slice : timeline.slices) {
    // Communication lasts until the last rank is there, for seconds where that one starts late.
    if (slice.kind != SliceKind::kernel || !linked.works(slice)) continue;
    const std::uint32_t process = timeline.tracks[slice.track].process;
    all += static_cast<double>(slice.duration_ns);
    if (!has_steps[process]) continue;
    within += static_cast<double>(result.windows[process].within(slice.start_ns, slice.end_ns()));
    with_held_up += static_cast<double>(steady[process].within(slice.start_ns, slice.end_ns()));
  }
  result.kernel_share = all > 0.0 ? within / all : 0.0;
  if (const double share = all > 0.0 ? with_held_up / all : 0.0; !asked && share < min_steady_share) {
    result.why_not = fmt::format("{} have {} of the kernels' time, too little to stand for the whole.",
                                 plural(steps.front().steady().size(), "step"), format_percent(share));
    result.windows.clear();
  }
  return result;
}

std::vector<ProgramPhase> phases(const Linked& linked, const Steps& steps) {
  if (steps.all.empty()) return {};
  const Timeline& timeline = linked.timeline;
  const TimeWindow span = process_spans(timeline)[steps.process];
  const std::string label = process_labels(timeline)[steps.process];
  std::int64_t start = span.from;
  for (const Slice& slice : timeline.slices) start = std::min(start, slice.start_ns);
  const std::int64_t longest_pause = steps.all[steps.all.size() / 2].length() / 100;
  std::vector<ProgramPhase> result;
  const auto add = [&](PhaseKind kind, TimeWindow of, std::int64_t count = 0) {
    if (of.length() <= 0) return;
    // Steps whose ranges do not touch have next to nothing between them.
    const bool is_tiny = kind == PhaseKind::between && of.length() < longest_pause;
    if (!result.empty() && (result.back().kind == kind || is_tiny)) {
      result.back().seconds += seconds_of(of.length());
      result.back().steps += count;
    } else {
      result.push_back({kind, label, seconds_of(of.from - start), seconds_of(of.length()), count});
    }
  };
  const std::int64_t first = (steps.warm_up.empty() ? steps.all : steps.warm_up).front().from;
  for (const auto& [kind, of] : PhasesBefore(linked, steps.process, span, first).take()) add(kind, of);
  std::int64_t until = first;
  for (const auto& [kind, list] :
       {std::pair(PhaseKind::warm_up, steps.warm_up), std::pair(PhaseKind::steady, steps.steady())})
    for (const TimeWindow& one : list) {
      add(PhaseKind::between, {until, one.from});
      add(kind, one, 1);
      until = one.to;
    }
  add(PhaseKind::end, {until, span.to});
  if (result.size() <= max_phases) return result;
  // Steps and other work by turns: each of them as one.
  std::vector<ProgramPhase> summed;
  for (const ProgramPhase& phase : result) {
    const auto same = std::ranges::find(summed, phase.kind, &ProgramPhase::kind);
    if (same == summed.end() || phase.kind < PhaseKind::steady || phase.kind == PhaseKind::end) {
      summed.push_back(phase);
    } else {
      same->seconds += phase.seconds;
      same->steps += phase.steps;
    }
  }
  return summed;
}

std::vector<StepTime> step_times(const Linked& linked, const std::vector<Steps>& steps, const Roofs* roofs) {
  const Timeline& timeline = linked.timeline;
  const auto labels = process_labels(timeline);
  WindowsOf windows(timeline.processes.size());
  std::vector<OneGpu> sums;
  std::unordered_map<std::uint32_t, std::size_t> place;  // by GPU
  for (const Steps& one : steps) {
    windows[one.process] = one.windows();
    for (std::uint32_t gpu = 0; gpu < linked.links.gpus.size(); ++gpu)
      if (linked.links.gpus[gpu].first == one.process && !one.all.empty()) {
        place.emplace(gpu, sums.size());
        sums.emplace_back(linked, one, gpu, roofs);
      }
  }
  for_each_gap(linked, std::nullopt, [&](const IdleGap& gap) {
    if (const auto of = place.find(gap.gpu); of != place.end()) sums[of->second].gap(gap);
  });
  std::vector<StepTime> result;
  for (const Breakdown& busy : breakdowns(linked, windows)) {
    const auto gpu = static_cast<std::uint32_t>(
        std::ranges::find(linked.links.gpus, std::pair(busy.process, busy.device)) - linked.links.gpus.begin());
    const auto of = place.find(gpu);
    if (of == place.end() || busy.busy_ns() == 0) continue;
    StepTime time = sums[of->second].time(busy);
    time.device = gpu_name(busy.device);
    time.process = labels[busy.process];
    result.push_back(std::move(time));
  }
  return result;
}

}  // namespace gpubench::timeline
