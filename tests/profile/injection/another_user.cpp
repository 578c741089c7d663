// SPDX-License-Identifier: Apache-2.0
// Uses CUPTI as torch.profiler does: linked to it, and registered anew for each trace.
#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <cstdint>
#include <cstdlib>

namespace {
int records = 0;
void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *bytes = 1 << 16U;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *max_records = 0;
}
void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t bytes) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) ++records;
  std::free(buffer);
}
void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
}  // namespace

extern "C" {
int another_user_starts() {
  const CUptiResult registered = cuptiActivityRegisterCallbacks(give, take);
  return registered != CUPTI_SUCCESS ? registered : cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}
/// How many records it got.
int another_user_stops() {
  (void)cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return records;
}
int another_user_subscribes() {
  CUpti_SubscriberHandle subscriber = nullptr;
  return cuptiSubscribe(&subscriber, on_call, nullptr);
}
}
