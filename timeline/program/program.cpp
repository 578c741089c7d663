// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "core/model/device.h"
#include "timeline/breakdown.h"
#include "timeline/names.h"
#include "timeline/program/findings.h"
#include "timeline/program/memory.h"
#include "timeline/program/overview.h"

namespace gpubench::timeline {
namespace {

constexpr std::int64_t other_work_ns = 1'000'000;  // a host that only launches comes back within this

struct Span {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  void add(const Slice& slice) {
    start = std::min(start, slice.start_ns);
    end = std::max(end, slice.end_ns());
  }
};

/// Time of a process that its recording took: how much of it lies in an interval.
class Recording {
 public:
  void add(std::int64_t from, std::int64_t to) {
    if (!parts_.empty() && from <= parts_.back().end)
      parts_.back().end = std::max(parts_.back().end, to);
    else if (to > from)
      parts_.push_back({from, to});
  }
  [[nodiscard]] std::int64_t within(std::int64_t from, std::int64_t to) const {
    std::int64_t sum = 0;
    for (auto part = std::ranges::upper_bound(parts_, from, {}, &Span::end); part != parts_.end() && part->start < to;
         ++part)
      sum += std::min(to, part->end) - std::max(from, part->start);
    return sum;
  }

 private:
  std::vector<Span> parts_;
};

/// The middle one, the upper of two; absent for none.
std::optional<std::int64_t> median_of(std::vector<std::int64_t> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::optional<double> maybe_seconds(std::optional<std::int64_t> nanoseconds) {
  return nanoseconds ? std::optional(seconds_of(*nanoseconds)) : std::nullopt;
}

struct Gpu {
  std::int64_t first_work = never, busy_until = never;
  std::array<std::int64_t, idle_cause_names.size()> idle = {};
  std::array<std::int64_t, idle_cause_names.size()> gaps = {};
  std::array<std::vector<std::int64_t>, 2> latencies;  // of launches on an idle GPU: single ones, graphs
  std::array<std::int64_t, 2> latency = {};
  std::int64_t launches = 0;
  std::vector<std::int64_t> call_ns, period_ns;

  void add_idle(IdleCause cause, std::int64_t nanoseconds) {
    idle[static_cast<std::size_t>(cause)] += nanoseconds;
    if (nanoseconds > 0) ++gaps[static_cast<std::size_t>(cause)];
  }
};

class Times {
 public:
  Times(const Linked& linked, const AnalysisOptions& options)
      : linked_(linked),
        gpus_(links_.gpus.size()),
        spans_(timeline_.processes.size()),
        recordings_(timeline_.processes.size()) {
    first_pass();
    for (Gpu& gpu : gpus_)
      for (std::size_t i = 0; i < gpu.latencies.size(); ++i)
        gpu.latency[i] = median_of(std::exchange(gpu.latencies[i], {})).value_or(0);
    if (options.launch_latency_seconds)
      for (Gpu& gpu : gpus_) gpu.latency[0] = static_cast<std::int64_t>(*options.launch_latency_seconds * 1e9);
    second_pass();
    launches();
  }

  std::vector<GpuTime> result() {
    std::vector<GpuTime> times;
    for (std::size_t i = 0; i < gpus_.size(); ++i) times.push_back(time_of(gpus_[i], spans_[links_.gpus[i].first]));
    for (const Breakdown& of : breakdowns(linked_)) {
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
  /// Unions, spans, and how long launches on an idle GPU take.
  void first_pass() {
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      const std::uint32_t process = timeline_.tracks[slice.track].process;
      spans_[process].add(slice);
      // A launch around which counters are read takes a millisecond, nearly all of it for them.
      if (slice.kind == SliceKind::overhead || (slice.counted && slice.kind == SliceKind::launch))
        recordings_[process].add(slice.start_ns, slice.end_ns());
      Gpu* const gpu = gpu_of(slice);
      if (gpu == nullptr) continue;
      if (const Slice* call = linked_.call_of(i))
        if (gpu->busy_until <= call->start_ns && slice.start_ns >= call->start_ns)
          gpu->latencies[slice.in_graph ? 1 : 0].push_back(slice.start_ns - call->start_ns);
      if (gpu->first_work == never) gpu->first_work = slice.start_ns;
      gpu->busy_until = std::max(gpu->busy_until, slice.end_ns());
    }
  }

  void second_pass() {
    std::vector<std::int64_t> ends(gpus_.size(), std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      Gpu* const gpu = gpu_of(slice);
      if (gpu == nullptr) continue;
      std::int64_t& end = ends[static_cast<std::size_t>(gpu - gpus_.data())];
      if (end != std::numeric_limits<std::int64_t>::min() && slice.start_ns > end) add_gap(*gpu, end, i);
      end = std::max(end, slice.end_ns());
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const Span& span = spans_[links_.gpus[i].first];
      if (ends[i] == std::numeric_limits<std::int64_t>::min()) continue;
      gpus_[i].add_idle(IdleCause::edges, gpus_[i].first_work - span.start);
      gpus_[i].add_idle(IdleCause::edges, span.end - ends[i]);
    }
  }

  /// The gap from `from` to the start of this slice.
  void add_gap(Gpu& gpu, std::int64_t from, std::size_t next) const {
    const Slice& work = timeline_.slices[next];
    const std::int64_t to = work.start_ns;
    const Slice* const started = linked_.call_of(next);
    if (started == nullptr) return gpu.add_idle(IdleCause::unknown, to - from);
    if (to - from < short_gap_ns && started->start_ns < from) return gpu.add_idle(IdleCause::device, to - from);
    const Recording& recording = recordings_[timeline_.tracks[work.track].process];
    const std::int64_t call = std::clamp(started->start_ns, from, to);
    const std::int64_t latency = gpu.latency[work.in_graph ? 1 : 0];
    const std::int64_t due = std::clamp(std::max(started->start_ns + latency, started->end_ns()), call, to);
    const std::int64_t recorded = recording.within(from, call);
    const std::int64_t recorded_in_call = recording.within(call, due);
    const Call& starter = links_.calls[links_.call_of[next]];
    const IdleCause cause = cause_before(starter, from);
    const std::int64_t host = call - from - recorded;
    const std::int64_t launch = due - call - recorded_in_call;
    // Of a wait's own part the host was free again after it: what is long then is other work.
    const std::int64_t waited = cause == IdleCause::launch
                                    ? 0
                                    : std::clamp(timeline_.slices[starter.wait].end_ns() - from, std::int64_t{0}, host);
    if (host - waited > other_work_ns) {
      gpu.add_idle(cause, waited);
      gpu.add_idle(IdleCause::host, host - waited);
      gpu.add_idle(IdleCause::launch, launch);
    } else if (cause == IdleCause::launch) {
      gpu.add_idle(cause, host + launch);
    } else {
      gpu.add_idle(cause, host);
      gpu.add_idle(IdleCause::launch, launch);
    }
    gpu.add_idle(IdleCause::recording, recorded + recorded_in_call);
    gpu.add_idle(IdleCause::device, to - due);
  }

  /// What kept the host from this call while the GPU had been idle since `from`.
  [[nodiscard]] IdleCause cause_before(const Call& call, std::int64_t from) const {
    if (call.wait == none || timeline_.slices[call.wait].end_ns() < from) return IdleCause::launch;
    return timeline_.slices[call.wait].kind == SliceKind::transfer ? IdleCause::copy : IdleCause::synchronization;
  }

  void launches() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> last;  // by GPU and thread
    for (const Call& call : links_.calls) {
      const Slice& slice = timeline_.slices[call.slice];
      if (slice.kind != SliceKind::launch || call.gpu == Call::no_gpu) continue;
      Gpu& gpu = gpus_[call.gpu];
      ++gpu.launches;
      gpu.call_ns.push_back(slice.duration_ns);
      const auto [before, first] =
          last.emplace(std::pair(std::uint32_t{call.gpu}, links_.thread_of_track[slice.track]), slice.start_ns);
      if (!first) gpu.period_ns.push_back(slice.start_ns - std::exchange(before->second, slice.start_ns));
    }
  }

  static GpuTime time_of(Gpu& gpu, const Span& span) {
    GpuTime time;
    if (span.end > span.start) time.wall_seconds = seconds_of(span.end - span.start);
    for (std::size_t i = 0; i < gpu.idle.size(); ++i)
      if (gpu.idle[i] > 0) time.idle.push_back({static_cast<IdleCause>(i), seconds_of(gpu.idle[i]), gpu.gaps[i]});
    std::ranges::stable_sort(time.idle, std::ranges::greater(), &Idle::seconds);
    time.launches = gpu.launches;
    time.launch_call_seconds = maybe_seconds(median_of(std::move(gpu.call_ns)));
    time.launch_period_seconds = maybe_seconds(median_of(std::move(gpu.period_ns)));
    return time;
  }

  [[nodiscard]] Gpu* gpu_of(const Slice& slice) {
    const std::uint32_t gpu = linked_.gpu_of(slice);
    return gpu == none ? nullptr : &gpus_[gpu];
  }

  const Linked& linked_;
  const Timeline& timeline_ = linked_.timeline;
  const Correlations& links_ = linked_.links;
  std::vector<Gpu> gpus_;
  std::vector<Span> spans_;
  std::vector<Recording> recordings_;
};

std::string device_name(std::int64_t device) { return device < 0 ? "gpu" : gpu_id(device); }

}  // namespace

Program analyze(const Linked& linked, const AnalysisOptions& options) {
  const Timeline& timeline = linked.timeline;
  const auto labels = process_labels(timeline);
  Program program;
  Span span;
  for (const Slice& slice : timeline.slices) {
    span.add(slice);
    if (slice.kind == SliceKind::kernel || slice.kind == SliceKind::communication) ++program.kernel_launches;
  }
  for (const MemoryEvent& event : timeline.memory) {
    span.start = std::min(span.start, event.time_ns);
    span.end = std::max(span.end, event.time_ns);
  }
  if (span.end < span.start) span = {0, 0};
  program.wall_seconds = seconds_of(span.end - span.start);
  program.dropped_records = timeline.dropped;
  program.gpus = Times(linked, options).result();
  for (std::size_t i = 0; i < program.gpus.size(); ++i) {
    program.gpus[i].device = device_name(linked.links.gpus[i].second);
    program.gpus[i].process = labels[linked.links.gpus[i].first];
  }
  std::erase_if(program.gpus, [](const GpuTime& gpu) { return gpu.idle.empty() && gpu.busy_seconds == 0.0; });
  RangeTree tree = range_tree(linked);
  const MemoryChanges changes(timeline);
  add_memory(tree, timeline, changes);
  program.ranges = ranges_of(tree, labels);
  add_memory(timeline, changes, span.start, labels, program);
  add_overview(linked, labels, span.start, span.end, program);
  program.findings = findings(linked, program);
  return program;
}

}  // namespace gpubench::timeline
