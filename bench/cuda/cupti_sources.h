// SPDX-License-Identifier: Apache-2.0
// GPU counters through CUPTI's Range Profiler, and records of kernels, copies and fills through its Activity API.
#pragma once

#include <memory>

#include "bench/activity/activity_source.h"
#include "bench/counters/metric_source.h"
#include "core/model/device.h"

struct CUctx_st;  // CUDA's own declaration of what a CUcontext points to

namespace gpubench::bench {

/// Counters of a device, which must be the current one of this thread. Throws MetricsUnavailable with the remedy where
/// CUPTI is missing, refuses, is busy or was not known to the build.
std::unique_ptr<MetricSource> open_cupti_metric_source(const Device& device);

/// The same for a context that is already known, by the index of its device.
std::unique_ptr<MetricSource> open_cupti_metric_source(int device_index, CUctx_st* context);

/// Records of all GPUs of this process. Throws MetricsUnavailable as above.
std::unique_ptr<ActivitySource> open_cupti_activity();

}  // namespace gpubench::bench
