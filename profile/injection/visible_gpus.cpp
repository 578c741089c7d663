// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/visible_gpus.h"

#include <algorithm>

#include "profile/injection/driver.h"

namespace gpubench::profile {
namespace {

constexpr int max_gpus = 254;  // recordings number them in a byte

struct Fact {
  CUdevice_attribute attribute;
  int VisibleGpu::*member;
};
constexpr Fact facts[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &VisibleGpu::capability_major},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &VisibleGpu::capability_minor},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &VisibleGpu::multiprocessors},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &VisibleGpu::l2_bytes},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &VisibleGpu::max_threads},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &VisibleGpu::threads_of_a_warp},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &VisibleGpu::max_blocks},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &VisibleGpu::max_registers},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &VisibleGpu::max_shared_bytes},
};

}  // namespace

std::vector<VisibleGpu> visible_gpus() {
  const auto get_count = driver<decltype(&cuDeviceGetCount)>("cuDeviceGetCount");
  const auto get_name = driver<decltype(&cuDeviceGetName)>("cuDeviceGetName");
  const auto get_uuid = driver<decltype(&cuDeviceGetUuid)>("cuDeviceGetUuid_v2");
  const auto get_bytes = driver<decltype(&cuDeviceTotalMem)>("cuDeviceTotalMem_v2");
  const auto get_attribute = driver<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  int count = 0;
  if (get_count == nullptr || get_name == nullptr || get_uuid == nullptr || get_bytes == nullptr ||
      get_attribute == nullptr || get_count(&count) != CUDA_SUCCESS)
    return {};
  std::vector<VisibleGpu> gpus;
  for (int number = 0; number < std::min(count, max_gpus); ++number) {
    VisibleGpu gpu;
    gpu.number = static_cast<std::uint8_t>(number);
    char name[256] = {};
    CUuuid uuid{};
    std::size_t bytes = 0;
    if (get_name(name, sizeof name - 1, number) != CUDA_SUCCESS || get_uuid(&uuid, number) != CUDA_SUCCESS ||
        get_bytes(&bytes, number) != CUDA_SUCCESS)
      continue;
    gpu.name = name;
    std::ranges::copy(uuid.bytes, gpu.uuid.begin());
    gpu.memory_bytes = static_cast<std::int64_t>(bytes);
    for (const Fact& fact : facts)
      if (get_attribute(&(gpu.*fact.member), fact.attribute, number) != CUDA_SUCCESS) gpu.*fact.member = 0;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace gpubench::profile
