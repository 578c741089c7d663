// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/launches.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "timeline/analyses/parts.h"

namespace gpubench::timeline {
namespace {

bool works(const Slice& slice, const Correlations& links) {
  return occupies_gpu(slice.kind) && links.gpu_of_track[slice.track] != none;
}

const Slice* call_of(const Timeline& timeline, const Correlations& links, std::size_t work) {
  const std::uint32_t call = links.call_of[work];
  return call == none ? nullptr : &timeline.slices[links.calls[call].slice];
}

/// "Memcpy HtoD" of "Memcpy HtoD (Pageable -> Device)", "Memset" of "Memset (Device)".
std::string direction_of(const std::string& name) {
  const auto bracket = name.find(" (");
  return name.substr(0, bracket);
}

}  // namespace

std::vector<LaunchTimes> launch_times(const Timeline& timeline, const Correlations& links) {
  struct Values {
    std::vector<std::int64_t> calls, works, delays;
  };
  std::vector<Values> values(links.gpus.size());
  std::vector<LaunchTimes> times(links.gpus.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!works(work, links)) continue;
    const std::uint32_t gpu = links.gpu_of_track[work.track];
    const Slice* const call = call_of(timeline, links, i);
    if (call == nullptr) {
      ++times[gpu].without_call;
      continue;
    }
    const std::int64_t delay = std::max<std::int64_t>(work.start_ns - call->end_ns(), 0);
    values[gpu].calls.push_back(call->duration_ns);
    values[gpu].works.push_back(work.duration_ns);
    values[gpu].delays.push_back(delay);
    if (work.duration_ns < call->duration_ns) ++times[gpu].shorter_work;
    if (call->duration_ns > slow_call_ns) ++times[gpu].slow_calls;
    if (delay > late_start_ns) ++times[gpu].late_starts;
  }
  std::vector<LaunchTimes> result;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (values[i].calls.empty() && times[i].without_call == 0) continue;
    result.push_back(times[i]);
    result.back().process = links.gpus[i].first;
    result.back().device = links.gpus[i].second;
    result.back().call_ns = distribution_of(std::move(values[i].calls));
    result.back().work_ns = distribution_of(std::move(values[i].works));
    result.back().delay_ns = distribution_of(std::move(values[i].delays));
  }
  return result;
}

std::vector<LaunchTimes> launch_times(const Timeline& timeline) { return launch_times(timeline, link(timeline)); }

std::vector<QueueLength> queue_lengths(const Timeline& timeline) {
  const Correlations links = link(timeline);
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> changes(timeline.tracks.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    const Slice* const call = works(work, links) ? call_of(timeline, links, i) : nullptr;
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
    queue.at_steps = distribution_of(std::move(lengths));
    queue.steps = std::move(steps);
    result.push_back(std::move(queue));
  }
  return result;
}

std::vector<LaunchBound> launch_bound(const Timeline& timeline, const Correlations& links) {
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
    if (!works(work, links)) continue;
    const std::uint32_t gpu = links.gpu_of_track[work.track];
    const Slice* const call = call_of(timeline, links, i);
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

std::vector<LaunchBound> launch_bound(const Timeline& timeline) { return launch_bound(timeline, link(timeline)); }

std::vector<CopyTimes> copy_times(const Timeline& timeline, const Correlations& links) {
  struct Values {
    CopyTimes times;
    std::vector<double> rates;
    std::vector<std::pair<std::int64_t, double>> changes;
  };
  std::map<std::pair<std::uint32_t, std::string>, Values> all;  // by GPU and direction
  std::vector<std::string> directions(timeline.names.size());
  for (const Slice& slice : timeline.slices) {
    if ((slice.kind != SliceKind::copy && slice.kind != SliceKind::fill) || !works(slice, links)) continue;
    std::string& direction = directions[slice.name];
    if (direction.empty()) direction = direction_of(timeline.names.text(slice.name));
    Values& values = all[{links.gpu_of_track[slice.track], direction}];
    ++values.times.count;
    values.times.time_ns += slice.duration_ns;
    if (slice.detail < 0) {
      ++values.times.without_bytes;
      continue;
    }
    values.times.bytes += slice.detail;
    if (slice.duration_ns <= 0) continue;
    const double rate = static_cast<double>(slice.detail) / seconds_of(slice.duration_ns);
    values.rates.push_back(rate);
    values.changes.emplace_back(slice.start_ns, rate);
    values.changes.emplace_back(slice.end_ns(), -rate);
  }
  std::vector<CopyTimes> result;
  for (auto& [key, values] : all) {
    CopyTimes& times = values.times;
    times.process = links.gpus[key.first].first;
    times.device = links.gpus[key.first].second;
    times.name = key.second;
    times.bytes_per_second = distribution_of(std::move(values.rates));
    std::ranges::stable_sort(values.changes, {}, &std::pair<std::int64_t, double>::first);
    double rate = 0.0;
    std::int64_t running = 0;
    for (const auto& [time, change] : values.changes) {
      running += change > 0.0 ? 1 : -1;
      rate = running == 0 ? 0.0 : rate + change;  // sums of floating-point numbers do not come back to 0
      times.steps.emplace_back(time, rate);
    }
    result.push_back(std::move(times));
  }
  std::ranges::stable_sort(result, std::ranges::greater(), &CopyTimes::time_ns);
  return result;
}

std::vector<CopyTimes> copy_times(const Timeline& timeline) { return copy_times(timeline, link(timeline)); }

}  // namespace gpubench::timeline
