// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/gaps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::timeline {
namespace {

constexpr std::int64_t other_work_ns = 1'000'000;  // a host that only launches comes back within this

class Gaps {
 public:
  Gaps(const Linked& linked, std::optional<double> launch_latency_seconds,
       const std::function<void(const IdleGap&)>& take)
      : linked_(linked),
        take_(take),
        gpus_(links_.gpus.size()),
        spans_(process_spans(timeline_)),
        recordings_(recordings_of(timeline_)) {
    first_pass();
    for (Gpu& gpu : gpus_)
      for (std::size_t i = 0; i < gpu.latencies.size(); ++i)
        gpu.latency[i] = statistics::upper_median(std::exchange(gpu.latencies[i], {})).value_or(0);
    if (launch_latency_seconds)
      for (Gpu& gpu : gpus_) gpu.latency[0] = static_cast<std::int64_t>(*launch_latency_seconds * 1e9);
    second_pass();
  }

 private:
  struct Gpu {
    std::int64_t busy_until = never;
    std::array<std::vector<std::int64_t>, 2> latencies;  // of launches on an idle GPU: single ones, graphs
    std::array<std::int64_t, 2> latency = {};
  };

  /// How long launches on an idle GPU take.
  void first_pass() {
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      const std::uint32_t number = linked_.gpu_of(slice);
      if (number == none) continue;
      Gpu& gpu = gpus_[number];
      if (const Slice* call = linked_.call_of(i))
        if (gpu.busy_until <= call->start_ns && slice.start_ns >= call->start_ns)
          gpu.latencies[slice.in_graph ? 1 : 0].push_back(slice.start_ns - call->start_ns);
      gpu.busy_until = std::max(gpu.busy_until, slice.end_ns());
    }
  }

  void second_pass() {
    for (Gpu& gpu : gpus_) gpu.busy_until = never;
    for (std::uint32_t i = 0; i < timeline_.slices.size(); ++i) {
      const Slice& slice = timeline_.slices[i];
      const std::uint32_t gpu = linked_.gpu_of(slice);
      if (gpu == none) continue;
      std::int64_t& end = gpus_[gpu].busy_until;
      if (end == never)
        edge(gpu, spans_[links_.gpus[gpu].first].from, slice.start_ns, i);
      else if (slice.start_ns > end)
        take_(gap(gpu, end, i));
      end = std::max(end, slice.end_ns());
    }
    for (std::uint32_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i].busy_until != never) edge(i, gpus_[i].busy_until, spans_[links_.gpus[i].first].to, none);
  }

  void edge(std::uint32_t gpu, std::int64_t from, std::int64_t to, std::uint32_t next) {
    IdleGap gap{.gpu = gpu, .next = next, .from = from, .to = to};
    gap.by_cause[static_cast<std::size_t>(IdleCause::edges)] = to - from;
    if (to > from) take_(gap);
  }

  /// The gap from `from` to the start of this slice.
  [[nodiscard]] IdleGap gap(std::uint32_t number, std::int64_t from, std::uint32_t next) const {
    const Gpu& gpu = gpus_[number];
    const Slice& work = timeline_.slices[next];
    const std::int64_t to = work.start_ns;
    const Slice* const started = linked_.call_of(next);
    IdleGap gap{.gpu = number, .next = next, .from = from, .to = to};
    const auto add = [&](IdleCause cause, std::int64_t ns) { gap.by_cause[static_cast<std::size_t>(cause)] += ns; };
    if (started == nullptr) {
      add(IdleCause::unknown, to - from);
      return gap;
    }
    if (to - from < short_gap_ns && started->start_ns < from) {
      add(IdleCause::device, to - from);
      return gap;
    }
    const Windows& recording = recordings_[timeline_.tracks[work.track].process];
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
      add(cause, waited);
      add(IdleCause::host, host - waited);
      add(IdleCause::launch, launch);
    } else if (cause == IdleCause::launch) {
      add(cause, host + launch);
    } else {
      add(cause, host);
      add(IdleCause::launch, launch);
    }
    add(IdleCause::recording, recorded + recorded_in_call);
    add(IdleCause::device, to - due);
    return gap;
  }

  /// What kept the host from this call while the GPU had been idle since `from`.
  [[nodiscard]] IdleCause cause_before(const Call& call, std::int64_t from) const {
    if (call.wait == none || timeline_.slices[call.wait].end_ns() < from) return IdleCause::launch;
    return timeline_.slices[call.wait].kind == SliceKind::transfer ? IdleCause::copy : IdleCause::synchronization;
  }

  const Linked& linked_;
  const Timeline& timeline_ = linked_.timeline;
  const Correlations& links_ = linked_.links;
  const std::function<void(const IdleGap&)>& take_;
  std::vector<Gpu> gpus_;
  std::vector<TimeWindow> spans_;
  WindowsOf recordings_;
};

}  // namespace

std::vector<TimeWindow> process_spans(const Timeline& timeline) {
  std::vector<TimeWindow> spans(timeline.processes.size(), {std::numeric_limits<std::int64_t>::max(), never});
  for (const Slice& slice : timeline.slices) {
    TimeWindow& span = spans[timeline.tracks[slice.track].process];
    span = {std::min(span.from, slice.start_ns), std::max(span.to, slice.end_ns())};
  }
  return spans;
}

WindowsOf recordings_of(const Timeline& timeline) {
  WindowsOf recordings(timeline.processes.size());
  for (const Slice& slice : timeline.slices)
    // A launch around which counters are read takes a millisecond, nearly all of it for them.
    if (slice.kind == SliceKind::overhead || (slice.counted && slice.kind == SliceKind::launch))
      recordings[timeline.tracks[slice.track].process].add(slice.start_ns, slice.end_ns());
  return recordings;
}

void for_each_gap(const Linked& linked, std::optional<double> launch_latency_seconds,
                  const std::function<void(const IdleGap&)>& take) {
  Gaps(linked, launch_latency_seconds, take);
}

}  // namespace gpubench::timeline
