// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cuda_gpu.h"

#include <cuda.h>

#include <chrono>
#include <thread>

#include "core/base/time.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/cuda/nvml.h"
#include "gpu/memory/scrubbing.h"

namespace gpubench::bench {
namespace {

/// Of the current context, another after each cudaDeviceReset; 0 where the driver does not tell.
unsigned long long context_id() {
  static const auto get = driver_function<decltype(&cuCtxGetId)>("cuCtxGetId");
  unsigned long long id = 0;
  return cudaFree(nullptr) == cudaSuccess && get(nullptr, &id) == CUDA_SUCCESS ? id : 0;
}

class CudaGraph final : public Graph {
 public:
  CudaGraph(CapturedGraph graph, Stream stream) : graph_(std::move(graph)), stream_(stream) {}
  [[nodiscard]] GraphContent content() const override { return content_of(graph_.get()); }
  void launch() override {
    if (!exec_) exec_.emplace(graph_);
    exec_->launch(stream_);
  }

 private:
  CapturedGraph graph_;
  std::optional<GraphExec> exec_;
  Stream stream_;
};

class CudaGpu final : public Gpu {
 public:
  CudaGpu(const Device& device, int index)
      : Gpu(device), selected_(index), index_(index), nvml_(pci_bus_id(index)), context_id_(context_id()) {}

  [[nodiscard]] bool resume() override {
    if (is_gone()) return false;
    working_.emplace(stream_.get(), index_);
    return true;
  }
  void rest() override { working_.reset(); }
  void use_several_streams() override {
    constexpr int changes = 32;  // twelve do (driver 580)
    for (int i = 0; i < changes; ++i) launch_nothing(i % 2 == 0 ? nullptr : stream_.get());
    wait_for_all();
  }
  [[nodiscard]] Stream stream() const override { return stream_.get(); }
  void wait_for_all() override { GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize()); }
  void settle() override {
    GPUBENCH_CUDA_CHECK(cudaSetDevice(index_));  // the operation may have chosen another
    if (context_id() != context_id_)
      throw GpuError("the operation reset the GPU (cudaDeviceReset), which ends all measuring in this process");
    wait_for_all();
    see_free_memory(known_for_seconds);
    std::this_thread::sleep_for(std::chrono::duration<double>(scrubbing().seconds_left(steady_seconds())));
  }
  void check_launches() override { GPUBENCH_CUDA_CHECK(cudaGetLastError()); }
  void wait() override { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_.get())); }
  void synchronize() override {
    check_launches();
    wait();
    see_free_memory(known_for_seconds);  // what the execution took, others may give back before the next point
  }
  [[nodiscard]] std::unique_ptr<Event> event() override { return std::make_unique<CudaEvent>(); }
  std::unique_ptr<Graph> capture(const Batch& batch, std::int64_t executions) override {
    auto captured = bench::capture(batch, executions, stream_.get());
    return captured ? std::make_unique<CudaGraph>(std::move(*captured), stream_.get()) : nullptr;
  }
  void block_while(const std::function<void()>& enqueue) override {
    if (!blocker_) blocker_.emplace(stream_.get());
    blocker_->block_while(enqueue);
  }
  void check_blocked() override {
    if (blocker_) blocker_->check();
  }
  ClockNotes clock_notes() override {
    if (!clock_) clock_.emplace(stream_.get());
    return {[this] { clock_->begin(); }, [this] { clock_->end(); }, [this] { return clock_->hertz(); }};
  }
  Batch short_reads() override {
    // A quarter of a megabyte, read by 64 blocks in half a microsecond.
    const auto memory = std::make_shared<CacheFlush>(std::size_t{64} << 10, stream_.get());
    return [memory](Stream stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) memory->enqueue(stream);
    };
  }
  void flush_cache() override {
    if (!flush_)
      flush_.emplace(static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize, index_)), stream_.get());
    flush_->enqueue(stream_.get());
  }
  void launch_nothing(Stream stream) override { GPUBENCH_CUDA_CHECK(bench::launch_nothing(stream)); }
  void launch_idle(const LaunchShape& shape, long long cycles, Stream stream) override {
    bench::launch_idle(shape, cycles, stream);
  }
  double overstay_cycles(const LaunchShape& shape, long long cycles) override {
    return bench::overstay_cycles(shape, cycles, stream_.get());
  }
  std::vector<std::uint64_t> timer_readings(int count) override {
    DeviceArray<std::uint64_t> values(static_cast<std::size_t>(count));
    GPUBENCH_CUDA_CHECK(read_timer_steps(values.data(), count, stream_.get()));
    wait();
    return values.to_host();
  }
  double free_bytes() override {
    flush_cache();  // what it takes is not free
    return static_cast<double>(detail::free_device_bytes());
  }
  DeviceConditions conditions() override { return read_conditions(nvml_); }
  std::uint64_t throttle() override { return nvml_.throttle_reasons().value.value_or(0); }
  std::optional<double> temperature() override { return nvml_.read(nvml::temperature).value; }
  std::optional<double> power() override { return nvml_.read(nvml::power).value; }
  void add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions) override {
    add_gpu_share(nvml_, since, conditions);
  }
  bool lost() override {
    // A failed launch is forgotten once read; an error that the context keeps comes back from the next call.
    (void)cudaGetLastError();
    see_free_memory(0.0);
    return is_gone();
  }

 private:
  /// The operation before may have chosen another device, or have reset this one, which ends our stream.
  bool is_gone() {
    return cudaSetDevice(index_) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess ||
           context_id() != context_id_;
  }
  /// To ask takes as long as dozens of short calls. What is taken and given back within a millisecond is cleared within
  /// one, too.
  static constexpr double known_for_seconds = 1e-3;
  void see_free_memory(double known_for) {
    const double now = steady_seconds();
    if (now - free_seen_ < known_for) return;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
      scrubbing().saw_free(static_cast<double>(free_bytes), now);
    else
      (void)cudaGetLastError();
    free_seen_ = now;
  }

  /// Selects the device before the stream is made on it.
  struct Selected {
    explicit Selected(int index) { GPUBENCH_CUDA_CHECK(cudaSetDevice(index)); }
  };

  Selected selected_;
  int index_;
  OwnedStream stream_;
  std::optional<WorkingStream> working_{std::in_place, stream_.get(), index_};
  std::optional<StreamBlocker> blocker_;  ///< made when first needed, as are the next two
  std::optional<SmClock> clock_;
  std::optional<CacheFlush> flush_;
  Nvml nvml_;
  unsigned long long context_id_;
  double free_seen_ = -1e9;  ///< when free memory was asked for
};

}  // namespace

std::optional<CapturedGraph> capture(const Batch& batch, std::int64_t executions, Stream stream) {
  // Thread-local: only what this thread does on other streams breaks the capture, not what libraries do elsewhere.
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool threw = false;
  std::exception_ptr foreign;
  try {
    batch(stream, executions);
  } catch (const GpuError&) {
    threw = true;  // a call that capture forbids: the operation's own check says so
  } catch (...) {
    foreign = std::current_exception();  // so may a library's check, in its own words
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  CapturedGraph owned(graph);
  (void)cudaGetLastError();                                              // what capture forbids is not sticky
  if (foreign && error == cudaSuccess) std::rethrow_exception(foreign);  // nothing that capture forbids was called
  if (threw || error != cudaSuccess || graph == nullptr) {
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
    return std::nullopt;
  }
  return owned;
}

std::string pci_bus_id(int index) {
  char text[32] = {};
  GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), index));
  return text;
}

static thread_local std::vector<std::pair<cudaStream_t, int>> working_streams;  // with their devices

cudaStream_t working_stream() { return working_streams.empty() ? nullptr : working_streams.back().first; }
void select_working_device() {
  if (!working_streams.empty()) GPUBENCH_CUDA_CHECK(cudaSetDevice(working_streams.back().second));
}
WorkingStream::WorkingStream(cudaStream_t stream, int device) : stream_(stream) {
  working_streams.emplace_back(stream, device);
}
WorkingStream::~WorkingStream() {
  std::erase_if(working_streams, [this](const auto& entry) { return entry.first == stream_; });
}

std::unique_ptr<Gpu> open_cuda_gpu(const Device& device, int index) { return std::make_unique<CudaGpu>(device, index); }

}  // namespace gpubench::bench
