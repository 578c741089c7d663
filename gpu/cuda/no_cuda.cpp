// SPDX-License-Identifier: Apache-2.0
// What a build lacks without CUPTI's headers, and without the CUDA toolkit at all: each is refused with the reason.
#include "bench/activity/activity_pass.h"
#include "bench/counters/post_timing_pass.h"
#include "gpu/devices.h"
#include "bench/memory/memory.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {
constexpr const char* without_cupti =
    "gpubench was built without CUPTI's headers; install the toolkit's cuda-cupti-dev package and build again";
}

std::unique_ptr<MetricSource> open_cupti_metric_source(const Device&) { throw MetricsUnavailable(without_cupti); }
ChipMetrics open_chip_metrics(int) { throw MetricsUnavailable(without_cupti); }
std::unique_ptr<ActivitySource> open_cupti_activity() { throw MetricsUnavailable(without_cupti); }

}  // namespace gpubench::bench

#ifndef GPUBENCH_WITH_CUDA
namespace gpubench {
namespace bench {
namespace {
constexpr const char* reason = "gpubench was built without CUDA";
}

std::vector<Device> gpus() { return {}; }
std::string why_no_gpu() { return reason; }
std::unique_ptr<Gpu> open_gpu(const Device&) { throw CudaError(reason); }
std::vector<Cost> measure_costs(Gpu&) { throw CudaError(reason); }
ProfilerRange::ProfilerRange(const std::string&) {}
ProfilerRange::~ProfilerRange() = default;
std::optional<int> built_with_cuda() { return std::nullopt; }
std::uint64_t device_fingerprint(const void*, std::size_t) { throw CudaError(reason); }
void copy_within_device(void*, const void*, std::size_t) { throw CudaError(reason); }

}  // namespace bench

namespace detail {

void* allocate_device(std::size_t) { throw CudaError(bench::reason); }
void free_device(void*, std::size_t) noexcept {}
void copy_from_device(void*, const void*, std::size_t) { throw CudaError(bench::reason); }
void copy_to_device(void*, const void*, std::size_t) { throw CudaError(bench::reason); }
void draw_device(void*, ElementKind, Filling, std::size_t, std::size_t, std::uint64_t) {
  throw CudaError(bench::reason);
}
void fill_bytes_device(void*, int, std::size_t) { throw CudaError(bench::reason); }
void repeat_on_device(void*, const void*, std::size_t, std::size_t, std::int64_t) { throw CudaError(bench::reason); }
std::size_t free_device_bytes() { throw CudaError(bench::reason); }

}  // namespace detail
}  // namespace gpubench
#endif
