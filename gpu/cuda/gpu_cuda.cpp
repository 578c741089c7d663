// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "bench/memory/memory.h"
#include "core/base/time.h"
#include "gpu/cuda/device_timing.h"
#include "gpu/cuda/nvml.h"

namespace gpubench::bench {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string pci_bus_id(int index) {
  char text[32] = {};
  GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), index));
  return text;
}

Device describe(int index) {
  cudaDeviceProp properties{};
  GPUBENCH_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  Device device;
  device.id = fmt::format("cuda:{}", index);
  device.kind = DeviceKind::gpu;
  device.name = properties.name;
  device.architecture = fmt::format("sm_{}{}", properties.major, properties.minor);
  device.units = properties.multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.last_level_cache_bytes = properties.l2CacheSize;
  if (const int kilohertz = device_attribute(cudaDevAttrClockRate, index); kilohertz > 0)
    device.max_clock_hz = 1e3 * kilohertz;
  const int memory_kilohertz = device_attribute(cudaDevAttrMemoryClockRate, index);
  const int bus_bits = device_attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  if (memory_kilohertz > 0 && bus_bits > 0)  // two transfers a clock, as CUDA counts the clock of all its memory types
    device.memory_bandwidth_limit = 2.0 * 1e3 * memory_kilohertz * bus_bits / 8.0;

  int version = 0;
  GPUBENCH_CUDA_CHECK(cudaRuntimeGetVersion(&version));
  device.properties["cuda_runtime"] = version_text(version);
  GPUBENCH_CUDA_CHECK(cudaDriverGetVersion(&version));
  device.properties["cuda_driver"] = version_text(version);
  device.properties["ecc"] = properties.ECCEnabled != 0 ? "on" : "off";
  device.properties["uuid"] = uuid_text(properties.uuid.bytes);

  const std::string bus_id = pci_bus_id(index);
  device.properties["pci_bus_id"] = bus_id;
  add_nvml_properties(Nvml(bus_id), device.properties);
  return device;
}

/// The steady clock from before the launch until the stream has run dry. Asks how long one waits for a result.
class LatencyClock final : public Timer {
 public:
  LatencyClock(cudaStream_t stream, DeviceBatch batch, std::function<void()> before = {})
      : stream_(stream), batch_(std::move(batch)), before_(std::move(before)) {}

  double time(std::int64_t executions) override {
    double sum = 0.0;
    for (std::int64_t i = 0; i < executions; ++i) {
      if (before_) {
        before_();
        GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
      }
      const double start = steady_seconds();
      batch_(stream_, 1);
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
      sum += steady_seconds() - start;
    }
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    return sum;
  }
  [[nodiscard]] double min_batch_seconds() const override { return 1000.0 * steady_quantum_seconds(); }
  [[nodiscard]] TimingMode clock() const override { return TimingMode::latency; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override {
    return fmt::format("steady clock of the host from launch to synchronised stream, mean of {} a sample{}",
                       executions_per_sample, before_ ? "; inputs reset before each, untimed" : "");
  }

 private:
  cudaStream_t stream_;
  DeviceBatch batch_;
  std::function<void()> before_;
};

/// Of the current context, another after each cudaDeviceReset; 0 where the driver does not tell.
unsigned long long context_id() {
  static const auto get = driver_function<decltype(&cuCtxGetId)>("cuCtxGetId");
  unsigned long long id = 0;
  return cudaFree(nullptr) == cudaSuccess && get(nullptr, &id) == CUDA_SUCCESS ? id : 0;
}

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int index) : selected_(index), index_(index), nvml_(pci_bus_id(index)), context_id_(context_id()) {}

  [[nodiscard]] cudaStream_t stream() const override { return stream_.get(); }
  void settle() override {
    GPUBENCH_CUDA_CHECK(cudaSetDevice(index_));  // the operation may have chosen another
    if (context_id() != context_id_)
      throw CudaError("the operation reset the GPU (cudaDeviceReset), which ends all measuring in this process");
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    see_free_memory();
    std::this_thread::sleep_for(std::chrono::duration<double>(scrubbing().seconds_left(steady_seconds())));
  }
  void synchronize() override {
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    see_free_memory();  // what the execution took, others may give back before the next point
  }
  DeviceTiming timing(TimingMode clock, TimedExecutions executions) override {
    if (clock == TimingMode::device) return device_timing(std::move(executions));
    auto& [batch, before, turns] = executions;
    DeviceTiming timing;
    if (clock == TimingMode::latency)
      timing.clock = std::make_unique<LatencyClock>(stream_.get(), std::move(batch), std::move(before));
    else
      timing.clock = stream_clock(std::move(batch), std::move(before), stream_.get(), blocker());
    return timing;
  }
  LaunchedKernels launched_by(const DeviceBatch& batch) override {
    const auto graph = capture(batch, 1, stream_.get());
    if (!graph) return {};
    const GraphContent content = content_of(graph->get());
    return {launches_of(content, device_attribute(cudaDevAttrMultiProcessorCount, index_)), common_grid_of(content),
            content.kernels.empty() && content.other_nodes == 0, grids_of(content), content.only_command};
  }
  std::function<void()> chain(const DeviceBatch& batch, std::int64_t executions) override {
    const auto one = capture(batch, 1, stream_.get());
    const auto graph =
        one && content_of(one->get()).commands == 0 ? capture(batch, executions, stream_.get()) : std::nullopt;
    const auto in_graph = graph ? std::make_shared<GraphExec>(*graph) : nullptr;
    return [batch, executions, in_graph, this] {
      if (in_graph)
        in_graph->launch(stream_.get());
      else
        batch(stream_.get(), executions);
      synchronize();
    };
  }
  KnownKernel known_kernel() override {
    // A quarter of a megabyte, read by 64 blocks in half a microsecond.
    const auto memory = std::make_shared<CacheFlush>(std::size_t{64} << 10, stream_.get());
    const DeviceBatch batch = [memory](cudaStream_t stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) memory->enqueue(stream);
    };
    blocker();  // makes the overheads, too
    return {[batch, this] {
              batch(stream_.get(), 1);
              synchronize();
            },
            [batch, this](std::int64_t executions) { return chain(batch, executions); },
            kernel_overheads_->device_seconds(batch)};
  }
  std::optional<double> kernel_overhead(const DeviceBatch& batch) override {
    blocker();  // makes the overheads, too
    return kernel_overheads_->anew(batch);
  }
  ClockNotes clock_notes() override {
    if (!sm_clock_) sm_clock_.emplace(stream_.get());
    return {[this] { sm_clock_->begin(); }, [this] { sm_clock_->end(); }, [this] { return sm_clock_->hertz(); }};
  }
  void flush_cache() override {
    if (!flush_)
      flush_.emplace(static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize, index_)), stream_.get());
    flush_->enqueue(stream_.get());
  }
  void launch_nothing(cudaStream_t stream) override { GPUBENCH_CUDA_CHECK(bench::launch_nothing(stream)); }
  double free_bytes() override {
    flush_cache();  // what it takes is not free
    return static_cast<double>(detail::free_device_bytes());
  }
  DeviceConditions conditions() override { return read_conditions(nvml_); }
  void add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions) override {
    add_gpu_share(nvml_, since, conditions);
  }
  bool lost() override {
    // A failed launch is forgotten once read; an error that the context keeps comes back from the next call.
    (void)cudaGetLastError();
    see_free_memory();
    // The operation before may have chosen another device, or have reset this one, which ends our stream.
    return cudaSetDevice(index_) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess ||
           context_id() != context_id_;
  }

 private:
  static void see_free_memory() {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
      scrubbing().saw_free(static_cast<double>(free_bytes), steady_seconds());
    else
      (void)cudaGetLastError();
  }
  Blocker& blocker() {
    if (!blocker_) {
      blocker_.emplace(stream_.get());
      kernel_overheads_.emplace(stream_.get(), *blocker_);
    }
    return *blocker_;
  }

  /// Selects the device before the stream is made on it.
  struct Selected {
    explicit Selected(int index) { GPUBENCH_CUDA_CHECK(cudaSetDevice(index)); }
  };

  DeviceTiming device_timing(TimedExecutions executions) {
    ColdExecutions cold;
    const bool is_cold = executions.before || executions.turns != nullptr;
    if (executions.before) {
      executions.before();  // nothing is to be allocated or loaded while a stream is held
      launch_nothing(stream_.get());
      cold.flush = std::move(executions.before);
      cold.before_idle = [this] { launch_nothing(stream_.get()); };
      cold.note = "inputs reset before each, untimed";
    } else if (executions.turns != nullptr) {
      flush_cache();  // likewise
      cold.turns = *executions.turns;
      cold.flush = [this] { flush_cache(); };
    }
    Blocker& held = blocker();
    return bench::device_timing(std::move(executions.batch), stream_.get(), held, *kernel_overheads_,
                                is_cold ? &cold : nullptr);
  }

  Selected selected_;
  int index_;
  OwnedStream stream_;
  WorkingStream working_{stream_.get(), index_};
  std::optional<Blocker> blocker_;  ///< made when first needed, as are the next
  std::optional<KernelOverheads> kernel_overheads_;
  std::optional<CacheFlush> flush_;
  std::optional<SmClock> sm_clock_;
  Nvml nvml_;
  unsigned long long context_id_;
};

}  // namespace

std::vector<Device> gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) devices.push_back(describe(index));
  return devices;
}

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) return count > 0 ? "" : "CUDA shows no GPU";
  (void)cudaGetLastError();
  const std::string_view remedy = cuda_remedy(cudaGetErrorName(error));
  return fmt::format("CUDA shows no GPU: {}{}{}", cudaGetErrorString(error), remedy.empty() ? "" : "; ", remedy);
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

ProfilerRange::ProfilerRange(const std::string& name) {
  (void)cudaProfilerStart();
  nvtxRangePushA(name.c_str());
}

ProfilerRange::~ProfilerRange() {
  nvtxRangePop();
  (void)cudaProfilerStop();
}

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
