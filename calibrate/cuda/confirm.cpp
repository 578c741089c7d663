// SPDX-License-Identifier: Apache-2.0
// Whether the GPU's own counters see the work that probes declare.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/counters/metric_names.h"
#include "bench/counters/metric_source.h"
#include "bench/cuda/cuda_error.h"
#include "calibrate/check/rejection.h"
#include "calibrate/cuda/workbench.h"
#include "core/base/time.h"

namespace gpubench::calibrate {
namespace {

/// How a probe is counted: the first of its ways that this chip has.
struct CountingWay {
  std::vector<std::string> names;
  std::vector<bench::ResolvedMetric> metrics;
  std::vector<std::string> counters;
};

/// Nothing, with the reason in `confirmation`, when the chip has none.
std::optional<CountingWay> way_of(bench::MetricSource& source, const Probe& probe, Confirmation& confirmation) {
  for (const auto& names : probe.counted) {
    const auto resolution =
        bench::resolve(names, source.chip(), [&](const std::string& counter) { return source.unit(counter); });
    if (!resolution.absent.empty()) {
      confirmation.reason = resolution.absent.front().reason;
      continue;
    }
    CountingWay way{names, resolution.metrics, {}};
    for (const auto& metric : resolution.metrics)
      for (const auto& term : metric.terms) way.counters.push_back(term.counter);
    return way;
  }
  return std::nullopt;
}

Confirmation confirmation_of(const Probe& probe, const CountingWay& way, const bench::MetricValues& counted) {
  Confirmation confirmation;
  double sum = 0.0;
  for (const auto& metric : way.metrics)
    for (const auto& term : metric.terms) {
      const auto value = counted.values.find(term.counter);
      if (value == counted.values.end()) {
        const auto why = counted.absent.find(term.counter);
        confirmation.reason = why == counted.absent.end() ? "it was not counted" : why->second;
        return confirmation;
      }
      sum += term.factor * value->second;
    }
  confirmation.counter = fmt::format("{}", fmt::join(way.names, " + "));
  confirmation.ratio = probe.counted_factor * sum / *probe.ceiling.work_per_run;
  return confirmation;
}

void note(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  for (auto& ceiling : calibration.ceilings)
    if (ceiling.resource == resource || ceiling.resource == resource + "-sustained")
      ceiling.confirmation = confirmation;
}

/// For a probe whose declared work is a bound only.
void take_counted_work(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  const auto ceiling =
      std::ranges::find_if(calibration.ceilings, [&](const Ceiling& each) { return each.resource == resource; });
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

struct Counting {
  std::size_t probe;
  CountingWay way;
};

/// Counts probes that have one set of counters, and reads them out together. `counted`: how many were counted before.
void count(Workbench& bench, bench::MetricSource& source, const std::vector<Counting>& group, double deadline,
           std::size_t& counted, std::vector<Confirmation>& confirmations) {
  try {
    source.begin(group.front().way.counters);
  } catch (const bench::MetricsUnavailable& error) {
    for (const Counting& each : group) confirmations[each.probe].reason = error.what();
    return;
  }
  for (const auto& [probe, way] : group) {
    bench.step("counters", static_cast<double>(counted++) / static_cast<double>(bench.probes.size()));
    if (steady_seconds() > deadline) {
      confirmations[probe].reason = "the time for counting was over";
      continue;
    }
    bench::Replay replay = {[] { GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize()); },
                            [&bench, index = probe] {
                              bench.probes[index].enqueue();
                              GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench.stream));
                            }};
    replay.point = probe;
    try {
      source.count(probe, replay);
    } catch (const bench::MetricsUnavailable& error) {
      confirmations[probe].reason = error.what();
    } catch (const CudaError& error) {
      confirmations[probe].reason = error.what();
    }
  }
  const auto values_of = source.read();
  for (const auto& [probe, way] : group)
    if (const auto values = values_of.find(probe); values != values_of.end())
      confirmations[probe] = confirmation_of(bench.probes[probe], way, values->second);
}

}  // namespace

void confirm(Workbench& bench, double seconds) {
  const double deadline = steady_seconds() + seconds;
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
      if (const auto way = way_of(*source, bench.probes[i], confirmations[i]))
        groups[{source->passes(way->counters).value_or(0), way->counters}].push_back({i, *way});
  std::size_t counted = 0;
  for (const auto& [key, group] : groups) count(bench, *source, group, deadline, counted, confirmations);
  for (std::size_t i = 0; i < bench.probes.size(); ++i)
    if (is_counted(bench.probes[i])) {
      const auto record = bench.probes[i].work_is_as_counted ? take_counted_work : note;
      record(bench.calibration, bench.probes[i].ceiling.resource, confirmations[i]);
    }
}

}  // namespace gpubench::calibrate
