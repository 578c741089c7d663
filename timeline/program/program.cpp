// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/program.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "timeline/names.h"
#include "timeline/program/findings.h"
#include "timeline/program/gaps.h"
#include "timeline/program/memory.h"
#include "timeline/program/overview.h"
#include "timeline/statistics/breakdown.h"

namespace gpubench::timeline {
namespace {

/// A part of `ns` as large as `part` is of `whole`.
std::int64_t scaled(std::int64_t ns, std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(static_cast<double>(ns) * static_cast<double>(part) / static_cast<double>(whole));
}

std::optional<double> maybe_seconds(std::optional<std::int64_t> nanoseconds) {
  return nanoseconds ? std::optional(seconds_of(*nanoseconds)) : std::nullopt;
}

struct Gpu {
  std::array<std::int64_t, idle_cause_names.size()> idle = {};
  std::array<std::int64_t, idle_cause_names.size()> gaps = {};
  std::int64_t launches = 0;
  std::vector<std::int64_t> call_ns, period_ns;
};

class Times {
 public:
  Times(const Linked& linked, const AnalysisOptions& options)
      : linked_(linked), windows_(options.windows), gpus_(links_.gpus.size()), spans_(process_spans(timeline_)) {
    for_each_gap(linked, options.launch_latency_seconds, [&](const IdleGap& gap) { add(gap); });
    launches();
  }

  std::vector<GpuTime> result() {
    std::vector<GpuTime> times;
    for (std::size_t i = 0; i < gpus_.size(); ++i) times.push_back(time_of(gpus_[i], wall_of(links_.gpus[i].first)));
    for (const Breakdown& of : breakdowns(linked_, windows_)) {
      const auto place = std::ranges::find(links_.gpus, std::pair(of.process, of.device)) - links_.gpus.begin();
      GpuTime& time = times[static_cast<std::size_t>(place)];
      time.busy_seconds = seconds_of(of.busy_ns());
      time.compute_seconds = seconds_of(of.compute_ns());
      time.memory_seconds = seconds_of(of.memory_ns());
      time.communication_seconds = seconds_of(of.communication_ns());
      time.memory_overlap_seconds = seconds_of(of.with(computing | moving));
      time.communication_overlap_seconds = seconds_of(of.overlap_ns());
    }
    return times;
  }

 private:
  /// Of a gap that reaches out of the windows each cause has the same part within.
  void add(const IdleGap& gap) {
    Gpu& gpu = gpus_[gap.gpu];
    const std::int64_t length = gap.to - gap.from;
    const std::int64_t within =
        windows_.empty() ? length : windows_[links_.gpus[gap.gpu].first].within(gap.from, gap.to);
    for (std::size_t i = 0; i < gap.by_cause.size(); ++i) {
      if (gap.by_cause[i] <= 0 || within <= 0) continue;
      gpu.idle[i] += within == length ? gap.by_cause[i] : scaled(gap.by_cause[i], within, length);
      ++gpu.gaps[i];
    }
  }

  [[nodiscard]] std::int64_t wall_of(std::uint32_t process) const {
    const TimeWindow& span = spans_[process];
    if (span.to <= span.from) return 0;  // nothing of it was recorded
    return windows_.empty() ? span.length() : windows_[process].within(span.from, span.to);
  }

  void launches() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> last;  // by GPU and thread
    for (const Call& call : links_.calls) {
      const Slice& slice = timeline_.slices[call.slice];
      if (slice.kind != SliceKind::launch || call.gpu == Call::no_gpu ||
          !holds(windows_, timeline_.tracks[slice.track].process, slice.start_ns))
        continue;
      Gpu& gpu = gpus_[call.gpu];
      ++gpu.launches;
      gpu.call_ns.push_back(slice.duration_ns);
      const auto [before, first] =
          last.emplace(std::pair(std::uint32_t{call.gpu}, links_.thread_of_track[slice.track]), slice.start_ns);
      if (!first) gpu.period_ns.push_back(slice.start_ns - std::exchange(before->second, slice.start_ns));
    }
  }

  static GpuTime time_of(Gpu& gpu, std::int64_t wall_ns) {
    GpuTime time;
    if (wall_ns > 0) time.wall_seconds = seconds_of(wall_ns);
    for (std::size_t i = 0; i < gpu.idle.size(); ++i)
      if (gpu.idle[i] > 0) time.idle.push_back({static_cast<IdleCause>(i), seconds_of(gpu.idle[i]), gpu.gaps[i]});
    std::ranges::stable_sort(time.idle, std::ranges::greater(), &Idle::seconds);
    time.launches = gpu.launches;
    time.launch_call_seconds = maybe_seconds(statistics::upper_median(std::move(gpu.call_ns)));
    time.launch_period_seconds = maybe_seconds(statistics::upper_median(std::move(gpu.period_ns)));
    return time;
  }

  const Linked& linked_;
  const Timeline& timeline_ = linked_.timeline;
  const Correlations& links_ = linked_.links;
  const WindowsOf& windows_;
  std::vector<Gpu> gpus_;
  std::vector<TimeWindow> spans_;
};

}  // namespace

Program analyze(const Linked& linked, const AnalysisOptions& options) {
  const Timeline& timeline = linked.timeline;
  const auto labels = process_labels(timeline);
  Program program;
  TimeWindow span{std::numeric_limits<std::int64_t>::max(), never};
  for (const Slice& slice : timeline.slices) {
    span = {std::min(span.from, slice.start_ns), std::max(span.to, slice.end_ns())};
    if (is_kernel(slice.kind)) ++program.kernel_launches;
  }
  for (const MemoryEvent& event : timeline.memory) {
    span = {std::min(span.from, event.time_ns), std::max(span.to, event.time_ns)};
  }
  if (span.to < span.from) span = {0, 0};
  program.wall_seconds = seconds_of(span.length());
  program.dropped_records = timeline.dropped;
  program.gpus = Times(linked, options).result();
  for (std::size_t i = 0; i < program.gpus.size(); ++i) {
    program.gpus[i].device = gpu_name(linked.links.gpus[i].second);
    program.gpus[i].process = labels[linked.links.gpus[i].first];
  }
  std::erase_if(program.gpus, [&](const GpuTime& gpu) {
    return (gpu.idle.empty() || !options.windows.empty()) && gpu.busy_seconds == 0.0;
  });
  RangeTree tree = range_tree(linked, true, options.windows);
  const MemoryChanges changes(timeline);
  add_memory(tree, timeline, changes);
  program.ranges = ranges_of(tree, labels);
  add_memory(timeline, changes, span.from, labels, program);
  add_overview(linked, labels, span.from, span.to, program);
  program.findings = findings(linked, program, options.windows);
  return program;
}

}  // namespace gpubench::timeline
