// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records and nothing else, as CUDA_INJECTION64_PATH: what gpubench's own recording is held against.
#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace {

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = std::size_t{2} << 20U;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
}

void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

}  // namespace

extern "C" int InitializeInjection() {
  bool well = cuptiActivityRegisterCallbacks(give, take) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_MEMORY2,
        CUPTI_ACTIVITY_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION})
    well = cuptiActivityEnable(kind) == CUPTI_SUCCESS && well;
  return well ? 1 : 0;
}
