// SPDX-License-Identifier: Apache-2.0
// Records of kernels, copies and fills through CUPTI's Activity API.
#pragma once

#include <memory>

#include "bench/activity/activity_source.h"

namespace gpubench::bench {

/// For all GPUs of this process. Throws MetricsUnavailable with the remedy where CUPTI is missing, refuses, or was not
/// known to the build.
std::unique_ptr<ActivitySource> open_cupti_activity();

}  // namespace gpubench::bench
