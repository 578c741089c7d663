// SPDX-License-Identifier: Apache-2.0
// GPU counters through CUPTI's Range Profiler.
#pragma once

#include <memory>

#include "bench/metrics/metric_source.h"
#include "gpubench/device.h"

namespace gpubench::bench {

/// `device` must be the current one of this thread. Throws MetricsUnavailable with the remedy where CUPTI is missing,
/// refused, busy or was not known to the build.
std::unique_ptr<MetricSource> open_cupti_source(const Device& device);

}  // namespace gpubench::bench
