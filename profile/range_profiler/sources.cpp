// SPDX-License-Identifier: Apache-2.0
// Events, memory and NVTX by CUDA's runtime.
#include "profile/range_profiler/sources.h"

#include <nvtx3/nvToolsExt.h>

#include "bench/counters/counter_pass.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"

namespace gpubench::profile {
namespace {

std::string error_text(cudaError_t error) {
  (void)cudaGetLastError();
  return cuda_error_text(cudaGetErrorName(error), cudaGetErrorString(error));
}

cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

/// Calls that make and ask events do not disturb another stream of this thread that is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture& operator=(RelaxedCapture&&) = delete;  ///< not copied, not moved

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

class CudaEvents final : public EventSource {
 public:
  int device() override {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) (void)cudaGetLastError();  // `create` tells why
    return device;
  }
  std::string create(std::size_t count, std::vector<Event>& events) override {
    const RelaxedCapture relaxed;
    for (std::size_t i = 0; i < count; ++i) {
      cudaEvent_t event = nullptr;
      if (const cudaError_t error = cudaEventCreate(&event); error != cudaSuccess) return error_text(error);
      events.push_back(event);
    }
    return "";
  }
  void destroy(Event event) override { (void)cudaEventDestroy(event_of(event)); }
  std::string record(Event event, Stream stream) override {
    const cudaError_t error = cudaEventRecord(event_of(event), stream);
    return error == cudaSuccess ? std::string() : error_text(error);
  }
  Elapsed elapsed(Event start, Event stop, bool wait) override {
    const RelaxedCapture relaxed;
    cudaError_t error = wait ? cudaEventSynchronize(event_of(stop)) : cudaSuccess;
    float milliseconds = 0.0F;
    if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, event_of(start), event_of(stop));
    if (error == cudaSuccess) return {Outcome::done, static_cast<double>(milliseconds), {}};
    if (error == cudaErrorCapturedEvent) {
      (void)cudaGetLastError();
      return {Outcome::failed, 0.0, "its stream was being captured into a CUDA graph; time launches of the graph"};
    }
    if (error == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return {};
    }
    return {Outcome::failed, 0.0, error_text(error)};
  }
};

}  // namespace

std::unique_ptr<EventSource> open_events() {
  if (!bench::why_no_gpu().empty()) return open_host_events();
  return std::make_unique<CudaEvents>();
}

DeviceMemory device_memory() {
  DeviceMemory memory;
  if (memory.reason = bench::why_no_gpu(); !memory.reason.empty()) return memory;
  const auto note = [&](cudaError_t error) {
    if (error != cudaSuccess && memory.reason.empty()) memory.reason = error_text(error);
    return error == cudaSuccess;
  };
  std::size_t free = 0;
  std::size_t total = 0;
  if (note(cudaMemGetInfo(&free, &total))) {
    memory.total = total;
    memory.used = total - free;
  }
  int device = 0;
  cudaMemPool_t pool = nullptr;
  if (!note(cudaGetDevice(&device)) || !note(cudaDeviceGetDefaultMemPool(&pool, device))) return memory;
  for (const auto& [attribute, value] : {std::pair{cudaMemPoolAttrUsedMemCurrent, &memory.pool_used},
                                         {cudaMemPoolAttrUsedMemHigh, &memory.pool_used_peak},
                                         {cudaMemPoolAttrReservedMemCurrent, &memory.pool_reserved},
                                         {cudaMemPoolAttrReservedMemHigh, &memory.pool_reserved_peak}}) {
    std::uint64_t bytes = 0;
    if (note(cudaMemPoolGetAttribute(pool, attribute, &bytes))) *value = bytes;
  }
  return memory;
}

std::unique_ptr<bench::MetricSource> open_counters() {
  int index = 0;
  if (const std::string why = bench::why_no_gpu(); !why.empty()) throw bench::MetricsUnavailable(why);
  if (const cudaError_t error = cudaGetDevice(&index); error != cudaSuccess)
    throw bench::MetricsUnavailable(error_text(error));
  if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess)  // there must be a context to count in
    throw bench::MetricsUnavailable(error_text(error));
  return bench::open_metric_source(bench::gpus().at(static_cast<std::size_t>(index)));
}

void push_nvtx(const std::string& name) noexcept { (void)nvtxRangePushA(name.c_str()); }
void pop_nvtx() noexcept { (void)nvtxRangePop(); }

}  // namespace gpubench::profile
