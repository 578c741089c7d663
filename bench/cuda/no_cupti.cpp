// SPDX-License-Identifier: Apache-2.0
// What counting is in a build without CUPTI's headers: refused, with the reason.
#include "bench/cuda/cupti_source.h"

namespace gpubench::bench {

std::unique_ptr<MetricSource> open_cupti_source(const Device&) {
  throw MetricsUnavailable(
      "gpubench was built without CUPTI's headers; install the toolkit's cuda-cupti-dev package and build again");
}

}  // namespace gpubench::bench
