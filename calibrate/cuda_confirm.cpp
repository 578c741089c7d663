// SPDX-License-Identifier: Apache-2.0
// Whether the GPU's own counters see the work that probes declare.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cuda/check.h"
#include "bench/host_clock.h"
#include "bench/metrics/metric_names.h"
#include "bench/metrics/metric_source.h"
#include "calibrate/cuda_workbench.h"

namespace gpubench::calibrate {
namespace {

/// The first way of counting that this chip has.
Confirmation count(bench::MetricSource& source, const Probe& probe, cudaStream_t stream) {
  Confirmation confirmation;
  for (const auto& names : probe.counted) {
    const auto resolution =
        bench::resolve(names, source.chip(), [&](const std::string& counter) { return source.unit(counter); });
    if (!resolution.absent.empty()) {
      confirmation.reason = resolution.absent.front().reason;
      continue;
    }
    std::vector<std::string> counters;
    for (const auto& metric : resolution.metrics)
      for (const auto& term : metric.terms) counters.push_back(term.counter);
    const bench::Replay replay = {[] { GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize()); },
                                  [&] {
                                    probe.enqueue();
                                    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
                                  }};
    const auto counted = source.count(counters, replay);
    double sum = 0.0;
    for (const auto& metric : resolution.metrics)
      for (const auto& term : metric.terms) {
        const auto value = counted.values.find(term.counter);
        if (value == counted.values.end()) {
          const auto why = counted.absent.find(term.counter);
          confirmation.reason = why == counted.absent.end() ? "it was not counted" : why->second;
          return confirmation;
        }
        sum += term.factor * value->second;
      }
    confirmation.counter = fmt::format("{}", fmt::join(names, " + "));
    confirmation.reason.clear();
    confirmation.ratio = probe.counted_factor * sum / *probe.ceiling.work_per_run;
    return confirmation;
  }
  return confirmation;
}

void note(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  for (auto& ceiling : calibration.ceilings)
    if (ceiling.resource == resource || ceiling.resource == resource + "-sustained")
      ceiling.confirmation = confirmation;
}

}  // namespace

void confirm(Workbench& bench, double seconds) {
  const double deadline = bench::steady_seconds() + seconds;
  std::unique_ptr<bench::MetricSource> source;
  std::string reason;
  try {
    source = bench::open_metric_source(bench.device);
  } catch (const bench::MetricsUnavailable& error) {
    reason = error.what();
  }
  for (std::size_t i = 0; i < bench.probes.size(); ++i) {
    const Probe& probe = bench.probes[i];
    if (probe.counted.empty() || !probe.enqueue || bench.calibration.find(probe.ceiling.resource) == nullptr) continue;
    bench.step("counters", static_cast<double>(i) / static_cast<double>(bench.probes.size()));
    Confirmation confirmation{"", std::nullopt, reason};
    if (source && bench::steady_seconds() > deadline) {
      confirmation.reason = fmt::format("the {:.0f} s for counting were over", seconds);
    } else if (source) {
      try {
        confirmation = count(*source, probe, bench.stream);
      } catch (const bench::MetricsUnavailable& error) {
        confirmation.reason = error.what();
      } catch (const CudaError& error) {
        confirmation.reason = error.what();
      }
    }
    note(bench.calibration, probe.ceiling.resource, confirmation);
  }
}

}  // namespace gpubench::calibrate
