// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/activity_source.h"

#include "bench/counters/metric_source.h"
#include "bench/cuda/cupti_activity.h"

namespace gpubench::bench {

std::unique_ptr<ActivitySource> open_activity_source(const Device& device) {
  if (device.kind == DeviceKind::cpu) throw MetricsUnavailable("a CPU has no activity records; use --check on a GPU");
  return open_cupti_activity();
}

}  // namespace gpubench::bench
