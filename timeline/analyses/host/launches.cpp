// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/host/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"

namespace gpubench::timeline {
std::vector<LaunchTimes> launch_times(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  struct Values {
    LaunchTimes times;
    std::vector<std::int64_t> calls, works, delays, of_call;
  };
  std::vector<Values> values(links.gpus.size());
  struct Started {
    std::int64_t works = 0, work_ns = 0;
  };
  std::vector<Started> started(links.calls.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    const std::uint32_t gpu = linked.gpu_of(work);
    if (gpu == none) continue;
    const std::uint32_t number = links.call_of[i];
    if (number == none) {
      ++values[gpu].times.without_call;
      continue;
    }
    ++values[gpu].times.works;
    values[gpu].works.push_back(work.duration_ns);
    started[number].work_ns += work.duration_ns;
    if (started[number].works++ > 0) continue;  // of a graph's call the first work tells its delay
    const Slice& call = timeline.slices[links.calls[number].slice];
    const std::int64_t delay = std::max<std::int64_t>(work.start_ns - call.end_ns(), 0);
    values[gpu].calls.push_back(call.duration_ns);
    values[gpu].delays.push_back(delay);
    if (call.duration_ns > slow_call_ns) ++values[gpu].times.slow_calls;
    if (delay > late_start_ns) ++values[gpu].times.late_starts;
  }
  for (std::size_t i = 0; i < started.size(); ++i) {
    const Call& call = links.calls[i];
    if (started[i].works == 0 || call.gpu == Call::no_gpu) continue;
    values[call.gpu].of_call.push_back(started[i].works);
    if (started[i].work_ns < timeline.slices[call.slice].duration_ns) ++values[call.gpu].times.shorter_work;
  }
  std::vector<LaunchTimes> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& [times, calls, works, delays, of_call] = values[i];
    if (calls.empty() && times.without_call == 0) continue;
    times.process = links.gpus[i].first;
    times.device = links.gpus[i].second;
    times.call_ns = distribution_of(calls);
    times.work_ns = distribution_of(works);
    times.delay_ns = distribution_of(delays);
    times.works_of_call = distribution_of(of_call);
    result.push_back(times);
  }
  return result;
}

std::vector<QueueLength> queue_lengths(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> changes(timeline.tracks.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    const Slice* const call = linked.works(work) ? linked.call_of(i) : nullptr;
    if (call == nullptr) continue;
    // Where clocks differ work may start before its call.
    changes[work.track].emplace_back(std::min(call->start_ns, work.start_ns - 1), 1);
    changes[work.track].emplace_back(work.start_ns, -1);
  }
  std::vector<QueueLength> result;
  for (std::uint32_t track = 0; track < changes.size(); ++track) {
    auto& steps = changes[track];
    if (steps.empty()) continue;
    std::ranges::sort(steps);
    QueueLength queue;
    queue.track = track;
    std::vector<std::int64_t> lengths;
    std::int64_t length = 0, empty = 0;
    double area = 0.0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      length += steps[i].second;
      steps[i].second = length;
      lengths.push_back(length);
      if (i + 1 == steps.size()) break;
      const std::int64_t until = steps[i + 1].first - steps[i].first;
      area += static_cast<double>(length) * static_cast<double>(until);
      if (length == 0) empty += until;
    }
    if (const auto time = static_cast<double>(steps.back().first - steps.front().first); time > 0.0) {
      queue.mean = area / time;
      queue.empty_share = static_cast<double>(empty) / time;
    }
    queue.at_steps = distribution_of(lengths);
    queue.steps = std::move(steps);
    result.push_back(std::move(queue));
  }
  return result;
}

std::vector<LaunchBound> launch_bound(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  std::vector<LaunchBound> result;
  std::vector<LaunchBound> open(links.gpus.size());
  std::vector<std::int64_t> ends(links.gpus.size(), never);
  const auto close = [&](std::size_t gpu) {
    LaunchBound& here = open[gpu];
    if (here.works >= launch_bound_works &&
        static_cast<double>(here.idle_ns) >
            launch_bound_idle_share * static_cast<double>(here.end_ns - here.start_ns)) {
      here.process = links.gpus[gpu].first;
      here.device = links.gpus[gpu].second;
      result.push_back(here);
    }
    here = {};
  };
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    const std::uint32_t gpu = linked.gpu_of(work);
    if (gpu == none) continue;
    const Slice* const call = linked.call_of(i);
    const std::int64_t before = ends[gpu];
    ends[gpu] = std::max(before, work.end_ns());
    const bool found_idle = call != nullptr && before != never && call->start_ns >= before;
    if (!found_idle) {
      close(gpu);
      continue;
    }
    LaunchBound& here = open[gpu];
    if (here.works == 0) here.start_ns = before;
    here.idle_ns += work.start_ns - before;
    here.end_ns = ends[gpu];
    ++here.works;
  }
  for (std::size_t gpu = 0; gpu < open.size(); ++gpu) close(gpu);
  std::ranges::stable_sort(result, std::ranges::greater(), &LaunchBound::idle_ns);
  return result;
}

namespace {

std::vector<ResultTable> launch_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  ResultTable launches{
      "launches",
      columns_of(
          "gpu=launches on; count=count; works:count=works; :seconds=a call; :seconds=then waits; :seconds=a work; "
          "work_shorter_than_call:count=shorter than its call~1; slow_calls; "
          "late_starts:count=started late~2; work_without_call")};
  for (const char* const what : {"call", "work", "delay"}) add_columns(launches, what, "seconds");
  add_columns(launches, "works_of_call", "count");
  launches.none = "The trace has no calls that launched work on a GPU. Record the calls of the host, too.";
  for (const LaunchTimes& one : launch_times(linked)) {
    if (one.call_ns.count == 0) continue;
    auto& row = launches.add({gpu_name(timeline, one.process, one.device), one.call_ns.count, one.works,
                              one.call_ns.p50 / 1e9, one.delay_ns.p50 / 1e9, one.work_ns.p50 / 1e9, one.shorter_work,
                              one.slow_calls, one.late_starts, one.without_call});
    for (const Distribution* const of : {&one.call_ns, &one.work_ns, &one.delay_ns}) add_values(row, *of, 1e9);
    add_values(row, one.works_of_call, 1.0);
  }
  if (!launches.rows.empty())
    launches.notes = {fmt::format("Times are medians. Late: more than {} after the call.",
                                  format_seconds(seconds_of(late_start_ns)))};
  ResultTable bound{"launch_bound", columns_of("gpu=bound by launches; start_seconds=from; seconds=for; "
                                               "works:count=works; idle_seconds; idle_share; :share=idle")};
  bound.shown = 8;
  for (const LaunchBound& one : launch_bound(linked)) {
    const double share = static_cast<double>(one.idle_ns) / static_cast<double>(one.end_ns - one.start_ns);
    bound.add({gpu_name(timeline, one.process, one.device), seconds_of(one.start_ns),
               seconds_of(one.end_ns - one.start_ns), one.works, seconds_of(one.idle_ns), share, share});
  }
  ResultTable queues{"queues", columns_of("gpu; stream; mean; empty_share")};
  add_columns(queues, "at_steps", "length");
  ResultTable steps{"queue_steps", columns_of("gpu; stream; time_seconds; length")};
  queues.shown = steps.shown = 0;
  for (const QueueLength& queue : queue_lengths(linked)) {
    const Track& track = timeline.tracks[queue.track];
    const std::string gpu = gpu_name(timeline, track.process, track.device);
    add_values(queues.add({gpu, track.id, queue.mean, queue.empty_share}), queue.at_steps, 1.0);
    for (std::size_t i = 0; i < queue.steps.size(); ++i)
      if (is_kept_step(i, queue.steps.size()))
        steps.add({gpu, track.id, seconds_of(queue.steps[i].first), queue.steps[i].second});
  }
  return {std::move(launches), std::move(bound), std::move(queues), std::move(steps)};
}

}  // namespace

extern const Analysis launches_analysis{
    .name = "launches", .what = "Say how the host keeps the GPUs in work", .tables = launch_tables, .needs_gpu = true};

}  // namespace gpubench::timeline
