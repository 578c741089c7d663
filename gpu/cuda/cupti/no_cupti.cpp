// SPDX-License-Identifier: Apache-2.0
// What a build lacks without CUPTI's headers: each is refused with the reason.
#include "gpu/cuda/cupti/cupti_sources.h"

namespace gpubench::bench {
namespace {
constexpr const char* reason =
    "gpubench was built without CUPTI's headers; install the toolkit's cuda-cupti-dev package and build again";
}

std::unique_ptr<MetricSource> open_cupti_metric_source() { throw MetricsUnavailable(reason); }
ChipMetrics open_chip_metrics(int) { throw MetricsUnavailable(reason); }
std::unique_ptr<ActivitySource> open_cupti_activity() { throw MetricsUnavailable(reason); }

}  // namespace gpubench::bench
