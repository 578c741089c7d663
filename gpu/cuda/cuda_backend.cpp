// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cuda_backend.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include "gpu/cuda/cuda_gpu.h"
#include "gpu/cuda/cupti/cupti_sources.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/cuda/nvml.h"
#include "gpu/libraries.h"
#include "gpu/memory/memory.h"

namespace gpubench::bench {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

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
  static const Nvml kept(bus_id);  // NVML counts its users: while one is there, others start at once
  add_nvml_properties(Nvml(bus_id), device.properties);
  return device;
}

/// Where an operation has chosen another device, this one is the current one again.
class CudaMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    select_working_device();
    void* pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, bytes);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // this one is not sticky; leaving it would fail the next launch check
      return nullptr;
    }
    check_cuda(error, "cudaMalloc");
    return pointer;
  }
  void release(void* pointer) noexcept override { (void)cudaFree(pointer); }
  [[nodiscard]] Left left() override {
    Left left;
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&left.free, &left.total));
    return left;
  }
  void wait() override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, working_stream()));
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
  }
  void copy_from_host(void* device, const void* host, std::size_t bytes) override {
    GPUBENCH_CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  }
  void set(void* pointer, int value, std::size_t bytes) override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(pointer, value, bytes, working_stream()));
  }
  void draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
            std::uint64_t seed) override {
    select_working_device();
    GPUBENCH_CUDA_CHECK(bench::draw(pointer, kind, filling, bytes, count, seed, working_stream()));
  }
  std::uint64_t fingerprint(const void* pointer, std::size_t bytes) override {
    return bench::fingerprint(pointer, bytes, working_stream());
  }
};

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view prefix() const override { return gpu_prefix; }
  [[nodiscard]] std::vector<Device> devices() const override {
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
  [[nodiscard]] std::string why_none() const override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess) return count > 0 ? "" : "CUDA shows no GPU";
    (void)cudaGetLastError();
    // Without any, CUDA says that the driver is too old.
    if (int driver = 0; cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "no NVIDIA driver";
    const std::string_view remedy = cuda_remedy(cudaGetErrorName(error));
    return fmt::format("CUDA shows no GPU: {}{}{}", cudaGetErrorString(error), remedy.empty() ? "" : "; ", remedy);
  }
  [[nodiscard]] std::unique_ptr<Gpu> open(const Device& device) const override {
    return open_cuda_gpu(device, index_of(device));
  }
  [[nodiscard]] DeviceMemory& memory() const override {
    static CudaMemory memory;
    return memory;
  }
  [[nodiscard]] DeviceReadings readings(const Device& device) const override { return read_all(nvml_of(device)); }
  [[nodiscard]] std::map<std::string, std::string> connections(const Device& device) const override {
    std::map<std::string, std::string> found;
    const Nvml nvml = nvml_of(device);
    if (const auto links = nvml.nvlinks(); links.value) found["nvlinks"] = *links.value;
    if (const auto pcie = nvml.pcie(); pcie.value) found["pcie"] = *pcie.value;
    return found;
  }
  [[nodiscard]] Reading<std::string> path_between(const Device& from, const Device& to) const override {
    return nvml_of(from).path_to(nvml_of(to));
  }
  [[nodiscard]] std::optional<int> built_with() const override { return CUDART_VERSION; }
  [[nodiscard]] std::unique_ptr<MetricSource> metrics(const Device&) const override {
    return open_cupti_metric_source();
  }
  [[nodiscard]] ChipMetrics chip_metrics(const Device& device) const override {
    return open_chip_metrics(index_of(device));
  }
  [[nodiscard]] std::unique_ptr<ActivitySource> activity() const override { return open_cupti_activity(); }
  void begin_profiler_range(const std::string& name) const override {
    (void)cudaProfilerStart();
    nvtxRangePushA(name.c_str());
  }
  void end_profiler_range() const override {
    nvtxRangePop();
    (void)cudaProfilerStop();
  }

 private:
  static Nvml nvml_of(const Device& device) { return Nvml(device.property("pci_bus_id")); }
  static int index_of(const Device& device) {
    const auto index = gpu_number(device.id);
    if (!index) throw GpuError(fmt::format("'{}' is not a CUDA device; they are named cuda:0, cuda:1, ...", device.id));
    return *index;
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace gpubench::bench
