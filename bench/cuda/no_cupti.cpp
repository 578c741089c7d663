// SPDX-License-Identifier: Apache-2.0
// What counting and recording are in a build without CUPTI's headers: refused, with the reason.
#include "bench/cuda/cupti_activity.h"
#include "bench/cuda/cupti_metric_source.h"

namespace gpubench::bench {
namespace {
constexpr const char* without_cupti =
    "gpubench was built without CUPTI's headers; install the toolkit's cuda-cupti-dev package and build again";
}

std::unique_ptr<MetricSource> open_cupti_metric_source(const Device&) { throw MetricsUnavailable(without_cupti); }
std::unique_ptr<ActivitySource> open_cupti_activity() { throw MetricsUnavailable(without_cupti); }

}  // namespace gpubench::bench
