// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "calibrate/check/health.h"
#include "calibrate/gpu/gpu_calibration.h"
#include "core/base/text.h"

namespace gpubench::calibrate {
namespace {

/// How a probe is counted.
struct Counting {
  std::size_t probe = 0;  ///< its place on the context
  std::string names;      ///< "dram_read_bytes + dram_write_bytes"
  std::vector<bench::ResolvedMetric::Term> terms;
  std::vector<std::string> counters;  ///< of the terms
};

/// By the first of its ways that this chip has; nothing, with the reason in `confirmation`, when it has none.
std::optional<Counting> counting_of(bench::MetricSource& source, const std::vector<Probe>& probes, std::size_t index,
                                    Confirmation& confirmation) {
  for (const auto& names : probes[index].counted) {
    const auto resolution =
        bench::resolve(names, source.chip(), [&](const std::string& counter) { return source.unit(counter); });
    if (!resolution.absent.empty()) {
      confirmation.reason = resolution.absent.front().reason;
      continue;
    }
    Counting counting{index, joined(names, " + "), {}, {}};
    for (const auto& metric : resolution.metrics)
      for (const auto& term : metric.terms) {
        counting.terms.push_back(term);
        counting.counters.push_back(term.counter);
      }
    return counting;
  }
  return std::nullopt;
}

Confirmation confirmation_of(const Probe& probe, const Counting& counting, const bench::MetricValues& counted) {
  double sum = 0.0;
  for (const auto& [factor, counter] : counting.terms) {
    const auto value = counted.values.find(counter);
    if (value == counted.values.end()) {
      const auto why = counted.absent.find(counter);
      return {"", std::nullopt, why == counted.absent.end() ? "it was not counted" : why->second};
    }
    sum += factor * value->second;
  }
  return {counting.names, probe.counted_factor * sum / *probe.ceiling.work_per_run, ""};
}

void note(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  for (auto& ceiling : calibration.ceilings)
    if (ceiling.resource == resource || ceiling.resource == resource + "-sustained")
      ceiling.confirmation = confirmation;
}

/// For a probe whose declared work is a bound only.
void take_counted_work(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  const auto ceiling = std::ranges::find(calibration.ceilings, resource, &Ceiling::resource);
  if (ceiling == calibration.ceilings.end()) return;
  if (confirmation.ratio && *confirmation.ratio > 0.0 && *confirmation.ratio <= 1.0 + tolerated_count_difference) {
    ceiling->method += fmt::format("; bytes as {} counted them, {:.1f} % of those that threads asked for",
                                   confirmation.counter, 100.0 * *confirmation.ratio);
    for (double* const figure : {&ceiling->value, &ceiling->ci95.low, &ceiling->ci95.high})
      *figure *= *confirmation.ratio;
    for (auto* const figure : {&ceiling->work_per_run, &ceiling->rate_per_clock})
      if (*figure) **figure *= *confirmation.ratio;
    ceiling->confirmation = Confirmation{confirmation.counter, 1.0, ""};
    return;
  }
  calibration.absent.push_back(
      {resource, confirmation.ratio
                     ? fmt::format("rejected: {} counted {:.3f} times the bytes that threads ask for",
                                   confirmation.counter, *confirmation.ratio)
                     : "only counters tell which requests the GPU merged on their way: " + confirmation.reason});
  calibration.ceilings.erase(ceiling);
}

/// Counts probes that have one set of counters, and reads them out together. `counted`: how many were counted before.
void count(GpuCalibration& bench, bench::MetricSource& source, const std::vector<Counting>& group, double deadline,
           std::size_t& counted, std::vector<Confirmation>& confirmations) {
  try {
    source.begin(group.front().counters);
  } catch (const bench::MetricsUnavailable& error) {
    for (const Counting& each : group) confirmations[each.probe].reason = error.what();
    return;
  }
  for (const Counting& each : group) {
    const std::size_t probe = each.probe;
    bench.step("counters", static_cast<double>(counted++) / static_cast<double>(bench.probes.size()));
    if (bench.gpu->now() > deadline) {
      confirmations[probe].reason = "the time for counting was over";
      continue;
    }
    bench::Replay replay = {[&bench] { bench.gpu->wait_for_all(); },
                            [&bench, probe] {
                              bench.probes[probe].enqueue();
                              bench.gpu->wait();
                            }};
    replay.point = probe;
    try {
      source.count(probe, replay);
    } catch (const std::runtime_error& error) {  // MetricsUnavailable, GpuError
      confirmations[probe].reason = error.what();
    }
  }
  const auto values_of = source.read();
  for (const Counting& each : group)
    if (const auto values = values_of.find(each.probe); values != values_of.end())
      confirmations[each.probe] = confirmation_of(bench.probes[each.probe], each, values->second);
}

}  // namespace

void confirm(GpuCalibration& bench, double seconds) {
  const double deadline = bench.gpu->now() + seconds;
  std::unique_ptr<bench::MetricSource> source;
  std::string reason;
  try {
    source = bench::open_metric_source(bench.device);
  } catch (const bench::MetricsUnavailable& error) {
    reason = error.what();
  }
  const auto is_counted = [&](const Probe& probe) {
    return !probe.counted.empty() && probe.enqueue && bench.calibration.find(probe.ceiling.resource) != nullptr;
  };
  std::vector<Confirmation> confirmations(bench.probes.size(), Confirmation{"", std::nullopt, reason});
  // By passes and by what is counted: points of one pass cost a thirtieth of the others, so they come first.
  std::map<std::pair<std::size_t, std::vector<std::string>>, std::vector<Counting>> groups;
  for (std::size_t i = 0; source && i < bench.probes.size(); ++i)
    if (is_counted(bench.probes[i]))
      if (const auto counting = counting_of(*source, bench.probes, i, confirmations[i]))
        groups[{source->passes(counting->counters).value_or(0), counting->counters}].push_back(*counting);
  std::size_t counted = 0;
  for (const auto& [key, group] : groups) count(bench, *source, group, deadline, counted, confirmations);
  for (std::size_t i = 0; i < bench.probes.size(); ++i)
    if (is_counted(bench.probes[i])) {
      const auto record = bench.probes[i].work_is_as_counted ? take_counted_work : note;
      record(bench.calibration, bench.probes[i].ceiling.resource, confirmations[i]);
    }
}

}  // namespace gpubench::calibrate
