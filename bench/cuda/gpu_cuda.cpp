// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "bench/cuda/check.h"
#include "bench/cuda/fill.h"
#include "bench/cuda/nvml.h"
#include "bench/gpu.h"
#include "bench/host_clock.h"

namespace gpubench::bench {
namespace {

class Stream {
 public:
  Stream() { GPUBENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { GPUBENCH_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Two events around a batch. Asks what each execution costs when they follow each other on one stream, launches
/// included.
class StreamClock final : public Clock {
 public:
  StreamClock(cudaStream_t stream, DeviceBatch batch) : stream_(stream), batch_(std::move(batch)) {}

  double time(std::int64_t executions) override {
    GPUBENCH_CUDA_CHECK(cudaEventRecord(start_.get(), stream_));
    batch_(stream_, executions);
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    GPUBENCH_CUDA_CHECK(cudaEventRecord(stop_.get(), stream_));
    GPUBENCH_CUDA_CHECK(cudaEventSynchronize(stop_.get()));
    float milliseconds = 0.0F;
    GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return static_cast<double>(milliseconds) * 1e-3;
  }
  /// An event pair around nothing costs 1 to 6 us on current GPUs: below 0.5 % of two milliseconds.
  [[nodiscard]] double least_batch_seconds() const override { return 2e-3; }
  double now() override { return steady_seconds(); }
  [[nodiscard]] std::string_view question() const override { return "stream"; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override {
    return fmt::format("CUDA events around {} back-to-back execution{} a sample", executions_per_sample,
                       executions_per_sample == 1 ? "" : "s");
  }

 private:
  cudaStream_t stream_;
  DeviceBatch batch_;
  Event start_;
  Event stop_;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int index) : selected_(index), nvml_(pci_bus_id(index)) {}

  [[nodiscard]] cudaStream_t stream() const override { return stream_.get(); }
  void synchronize() override {
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  }
  std::unique_ptr<Clock> stream_clock(DeviceBatch batch) override {
    return std::make_unique<StreamClock>(stream_.get(), std::move(batch));
  }
  void launch_nothing(cudaStream_t stream) override { GPUBENCH_CUDA_CHECK(bench::launch_nothing(stream)); }
  std::optional<double> sm_clock_hz() override { return nvml_.sm_clock_hz(); }
  bool lost() override {
    // A failed launch is forgotten once read; an error that the context keeps comes back from the next call.
    (void)cudaGetLastError();
    return cudaDeviceSynchronize() != cudaSuccess;
  }

 private:
  static std::string pci_bus_id(int index) {
    char text[32] = {};
    GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), index));
    return text;
  }

  /// Selects the device before the stream is made on it.
  struct Selected {
    explicit Selected(int index) { GPUBENCH_CUDA_CHECK(cudaSetDevice(index)); }
  };

  Selected selected_;
  Stream stream_;
  Nvml nvml_;
};

}  // namespace

std::unique_ptr<Gpu> open_gpu(const Device& device) {
  constexpr std::string_view head = "cuda:";
  int index = -1;
  if (device.id.starts_with(head))
    std::from_chars(device.id.data() + head.size(), device.id.data() + device.id.size(), index);
  if (index < 0)
    throw CudaError(fmt::format("'{}' is not a CUDA device; they are named cuda:0, cuda:1, ...", device.id));
  return std::make_unique<CudaGpu>(index);
}

}  // namespace gpubench::bench
