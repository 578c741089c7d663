// SPDX-License-Identifier: Apache-2.0
// What a build lacks without CUDA, or without CUPTI's headers: each says why.
#include "profile/range_profiler/sources.h"

namespace gpubench::profile {

#ifndef GPUBENCH_WITH_CUDA
namespace {

constexpr const char* reason = "gpubench was built without CUDA; build it with a CUDA toolkit";

}  // namespace

std::unique_ptr<EventSource> open_events() { return open_host_events(); }
DeviceMemory device_memory() {
  DeviceMemory memory;
  memory.reason = reason;
  return memory;
}
std::unique_ptr<bench::MetricSource> open_counters() { throw bench::MetricsUnavailable(reason); }
void push_nvtx(const std::string&) noexcept {}
void pop_nvtx() noexcept {}
std::unique_ptr<RecordSource> open_records(RecordingWriter&, bool) { throw bench::MetricsUnavailable(reason); }
#else
std::unique_ptr<RecordSource> open_records(RecordingWriter&, bool) {
  throw bench::MetricsUnavailable(
      "gpubench was built without CUPTI's headers; install the toolkit's cuda-cupti-dev package and build again");
}
#endif

}  // namespace gpubench::profile
