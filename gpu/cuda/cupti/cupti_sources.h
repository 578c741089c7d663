// SPDX-License-Identifier: Apache-2.0
// What CUPTI counts and records.
#pragma once

#include <memory>

#include "gpu/profiling/activity_source.h"
#include "gpu/profiling/metric_source.h"

struct CUctx_st;  // CUDA's own declaration of what a CUcontext points to

namespace gpubench::bench {

/// Counters of the current device. Throws MetricsUnavailable with the remedy where CUPTI is missing, refuses, is busy
/// or was not known to the build.
std::unique_ptr<MetricSource> open_cupti_metric_source();
/// The same for a context that is already known, by the index of its device.
std::unique_ptr<MetricSource> open_cupti_metric_source(int device_index, CUctx_st* context);
/// Without a context, by the index of the device. Throws MetricsUnavailable as above.
ChipMetrics open_chip_metrics(int device_index);
/// Records of all GPUs of this process. Throws MetricsUnavailable as above.
std::unique_ptr<ActivitySource> open_cupti_activity();

}  // namespace gpubench::bench
