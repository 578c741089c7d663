// SPDX-License-Identifier: Apache-2.0
// Kernels and memory by CUPTI's activity records, ranges by external correlation: CUPTI notes for each call of CUDA's
// API the range of its thread, and kernels and memory name the call that made them. That needs records of the API too.
#include <algorithm>
#include <utility>

#include "bench/cuda/cupti_library.h"
#include "bench/cuda/handles.h"
#include "bench/devices.h"
#include "profile/api/sources.h"

namespace gpubench::profile {
namespace {

using bench::CuptiLibrary;
using bench::MetricsUnavailable;

// Read are only members that lie at the same place in the records of CUPTI 12.6 to 13 (bench/cuda/cupti_activity.cpp).
using KernelRecord = CUpti_ActivityKernel9;
using MemoryRecord = CUpti_ActivityMemory3;
using CorrelationRecord = CUpti_ActivityExternalCorrelation;
#if CUPTI_API_VERSION >= 130000
static_assert(offsetof(KernelRecord, correlationId) == offsetof(CUpti_ActivityKernel10, correlationId) &&
              offsetof(KernelRecord, start) == offsetof(CUpti_ActivityKernel10, start) &&
              offsetof(MemoryRecord, correlationId) == offsetof(CUpti_ActivityMemory4, correlationId) &&
              offsetof(MemoryRecord, timestamp) == offsetof(CUpti_ActivityMemory4, timestamp) &&
              offsetof(MemoryRecord, isAsync) == offsetof(CUpti_ActivityMemory4, isAsync));
#endif
constexpr auto external_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;  // PyTorch has 0 and 1

const char* name_of(CUpti_ActivityMemoryKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE: return "pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return "pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE: return "device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: return "array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED: return "managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC: return "device, static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC: return "managed, static";
    default: return "unknown";
  }
}

class CuptiRecords final : public RecordSource {
 public:
  explicit CuptiRecords(bool memory) : library_(bench::load_cupti()) {
    bench::register_activity_buffers(*library_);
    (void)bench::take_filled_buffers();
    std::size_t before = 0;
    (void)library_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &before);
    try {
      for (const CUpti_ActivityKind kind :
           {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
        enable(kind);
      if (memory) enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    } catch (...) {
      disable();
      throw;
    }
  }
  ~CuptiRecords() override { disable(); }
  CuptiRecords& operator=(CuptiRecords&&) = delete;  ///< not copied, not moved

  void push(std::uint32_t range) noexcept override {
    (void)library_->cuptiActivityPushExternalCorrelationId(external_kind, range);
  }
  void pop() noexcept override { (void)library_->cuptiActivityPopExternalCorrelationId(external_kind, nullptr); }

  RecordBatch take(bool all) override {
    if (all) flush();
    RecordBatch batch;
    for (const bench::FilledBuffer& buffer : bench::take_filled_buffers()) read(buffer, batch);
    std::size_t dropped = 0;
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityGetNumDroppedRecords, nullptr, 0, &dropped);
    batch.dropped = static_cast<std::int64_t>(dropped);
    return batch;
  }

  void stop() override {
    flush();
    disable();
  }

 private:
  void enable(CUpti_ActivityKind kind) {
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityEnable, kind);
    kinds_.push_back(kind);
  }
  void disable() noexcept {
    for (const CUpti_ActivityKind kind : std::exchange(kinds_, {})) (void)library_->cuptiActivityDisable(kind);
  }
  /// A GPU that failed has no more records, and its error belongs to the program.
  void flush() {
    (void)cudaDeviceSynchronize();
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  void read(const bench::FilledBuffer& buffer, RecordBatch& batch) const {
    bench::for_each_record(*library_, buffer, [&](const CUpti_Activity* record, std::size_t left) {
      switch (record->kind) {
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
          const auto& it = as<CorrelationRecord>(record, left, sizeof(CorrelationRecord));
          if (it.externalKind == external_kind)
            batch.calls.push_back({it.correlationId, static_cast<std::uint32_t>(it.externalId)});
          break;
        }
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        case CUPTI_ACTIVITY_KIND_KERNEL: {
          const auto& it = as<KernelRecord>(record, left, offsetof(KernelRecord, name));
          batch.kernels.push_back({it.correlationId, it.end > it.start ? it.end - it.start : 0});
          break;
        }
        case CUPTI_ACTIVITY_KIND_MEMORY2: {
          const auto& it = as<MemoryRecord>(record, left, offsetof(MemoryRecord, memoryPoolConfig));
          if (it.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID)
            batch.memory.push_back({it.correlationId,
                                    it.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                                    it.isAsync != 0, name_of(it.memoryKind), it.address, it.bytes, it.timestamp});
          break;
        }
        default: break;  // the API's own, and what another session of this process left
      }
    });
  }

  template <class Record>
  static const Record& as(const CUpti_Activity* record, std::size_t left, std::size_t needed) {
    if (left < needed)
      throw MetricsUnavailable("CUPTI's records are shorter than gpubench knows them; use the CUPTI of its toolkit");
    return *reinterpret_cast<const Record*>(record);
  }

  std::shared_ptr<const CuptiLibrary> library_;
  std::vector<CUpti_ActivityKind> kinds_;
};

}  // namespace

std::unique_ptr<RecordSource> open_cupti_records(bool memory) { return std::make_unique<CuptiRecords>(memory); }

std::unique_ptr<RecordSource> open_records(bool memory) {
  if (const std::string why = bench::why_no_gpu(); !why.empty()) throw MetricsUnavailable(why);
  return open_cupti_records(memory);
}

}  // namespace gpubench::profile
