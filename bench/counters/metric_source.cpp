// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/metric_source.h"

#include "bench/cuda/cupti_metric_source.h"

namespace gpubench::bench {

std::unique_ptr<MetricSource> open_metric_source(const Device& device) {
  if (device.kind == DeviceKind::cpu)
    throw MetricsUnavailable("counters of the CPU are not supported; use --metrics on a GPU");
  return open_cupti_metric_source(device);
}

MetricValues count_alone(MetricSource& source, const std::vector<std::string>& metrics, const Replay& replay) {
  source.begin(metrics);
  source.count(replay.point, replay);
  MetricValues values = source.read().at(replay.point);
  if (!values.lost.empty()) throw MetricsUnavailable(values.lost);
  return values;
}

}  // namespace gpubench::bench
