// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/visible_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/libraries.h"
#include "profile/injection/driver.h"

namespace gpubench::profile {
namespace {

constexpr int max_gpus = 254;  // recordings number them in a byte

struct Fact {
  std::string_view name;
  CUdevice_attribute attribute;
};
constexpr Fact facts[] = {
    {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"l2 bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"max blocks", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {"registers", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {"shared bytes", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
};

}  // namespace

std::vector<GpuProperties> visible_gpus() {
  const auto get_count = driver<decltype(&cuDeviceGetCount)>("cuDeviceGetCount");
  const auto get_name = driver<decltype(&cuDeviceGetName)>("cuDeviceGetName");
  const auto get_uuid = driver<decltype(&cuDeviceGetUuid)>("cuDeviceGetUuid_v2");
  const auto get_bytes = driver<decltype(&cuDeviceTotalMem)>("cuDeviceTotalMem_v2");
  const auto get_attribute = driver<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  int count = 0;
  if (get_count == nullptr || get_name == nullptr || get_uuid == nullptr || get_bytes == nullptr ||
      get_attribute == nullptr || get_count(&count) != CUDA_SUCCESS)
    return {};
  std::vector<GpuProperties> gpus(static_cast<std::size_t>(std::clamp(count, 0, max_gpus)));
  for (int number = 0; GpuProperties & gpu : gpus) {
    const CUdevice device = number++;
    const auto value_of = [&](CUdevice_attribute attribute) {
      int value = 0;
      return get_attribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
    };
    char name[256] = {};
    CUuuid uuid{};
    std::size_t bytes = 0;
    if (get_name(name, sizeof name - 1, device) != CUDA_SUCCESS || get_uuid(&uuid, device) != CUDA_SUCCESS ||
        get_bytes(&bytes, device) != CUDA_SUCCESS)
      continue;
    gpu = {{"name", name},
           {"uuid", bench::uuid_text(uuid.bytes)},
           {"architecture", fmt::format("sm_{}{}", value_of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                        value_of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))},
           {"memory bytes", fmt::format("{}", bytes)},
           {"max warps", fmt::format("{}", value_of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) /
                                               std::max(value_of(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 1))}};
    for (const Fact& fact : facts) gpu.emplace_back(fact.name, fmt::format("{}", value_of(fact.attribute)));
  }
  return gpus;
}

}  // namespace gpubench::profile
