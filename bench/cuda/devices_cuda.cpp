// SPDX-License-Identifier: Apache-2.0
// The GPUs that CUDA shows, with what NVML knows of them.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>

#include "bench/cuda/cuda_error.h"
#include "bench/cuda/nvml.h"
#include "bench/gpu.h"

namespace gpubench::bench {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

Device describe(int index) {
  cudaDeviceProp properties{};
  GPUBENCH_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  Device device;
  device.id = fmt::format("cuda:{}", index);
  device.kind = DeviceKind::cuda;
  device.name = properties.name;
  device.architecture = fmt::format("sm_{}{}", properties.major, properties.minor);
  device.units = properties.multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.last_level_cache_bytes = properties.l2CacheSize;
  if (const int kilohertz = attribute(cudaDevAttrClockRate, index); kilohertz > 0)
    device.max_clock_hz = 1e3 * kilohertz;
  const int memory_kilohertz = attribute(cudaDevAttrMemoryClockRate, index);
  const int bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  if (memory_kilohertz > 0 && bus_bits > 0)  // two transfers a clock, as CUDA counts the clock of all its memory types
    device.memory_bandwidth_limit = 2.0 * 1e3 * memory_kilohertz * bus_bits / 8.0;

  int version = 0;
  GPUBENCH_CUDA_CHECK(cudaRuntimeGetVersion(&version));
  device.properties["cuda_runtime"] = version_text(version);
  GPUBENCH_CUDA_CHECK(cudaDriverGetVersion(&version));
  device.properties["cuda_driver"] = version_text(version);
  device.properties["ecc"] = properties.ECCEnabled != 0 ? "on" : "off";
  const auto* bytes = reinterpret_cast<const unsigned char*>(properties.uuid.bytes);
  std::string uuid = "GPU-";
  for (int i = 0; i < 16; ++i) {
    uuid += fmt::format("{:02x}", bytes[i]);
    if (i == 3 || i == 5 || i == 7 || i == 9) uuid += '-';
  }
  device.properties["uuid"] = uuid;

  char bus_id[32] = {};
  GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), index));
  device.properties["pci_bus_id"] = bus_id;
  add_nvml_properties(Nvml(bus_id), device.properties);
  return device;
}

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
  return fmt::format("CUDA shows no GPU: {}", cudaGetErrorString(error));
}

}  // namespace gpubench::bench
