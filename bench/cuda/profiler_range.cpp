// SPDX-License-Identifier: Apache-2.0
#include "bench/profiler_range.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

namespace gpubench::bench {

ProfilerRange::ProfilerRange(const std::string& name) {
  (void)cudaProfilerStart();
  nvtxRangePushA(name.c_str());
}

ProfilerRange::~ProfilerRange() {
  nvtxRangePop();
  (void)cudaProfilerStop();
}

}  // namespace gpubench::bench
