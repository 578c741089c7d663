// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti/cupti_records.h"

#include <fmt/format.h>

#include <cstring>

#include "core/model/measurement.h"

namespace gpubench::bench {
namespace {

using namespace gpu;

// An older or newer CUPTI than the build's may be loaded, with shorter or longer records. Read are only members that
// lie at the same place in all of them: kernels of CUDA 11.0 to 13, memory of 12.6 to 13, the rest since ever.
#if CUPTI_API_VERSION >= 130000
#define GPUBENCH_SAME_PLACE(Old, New, member) static_assert(offsetof(Old, member) == offsetof(New, member))
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, start);
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, blockZ);
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, localMemoryPerThread);
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, correlationId);
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, name);
GPUBENCH_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, graphNodeId);
#undef GPUBENCH_SAME_PLACE
#endif

template <class Activity, class Record>
Activity span_of(const Record& record) {
  Activity result;
  result.start_ns = record.start;
  result.end_ns = record.end;
  result.correlation = record.correlationId;
  return result;
}

template <class Activity, class Record>
Activity work_of(const Record& record) {
  auto result = span_of<Activity>(record);
  result.device = record.deviceId;
  result.stream = record.streamId;
  result.graph_node = record.graphNodeId;
  return result;
}

MemoryKind memory_kind(std::uint32_t kind) {
  static_assert(static_cast<int>(MemoryKind::pageable) == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
                static_cast<int>(MemoryKind::pinned) == CUPTI_ACTIVITY_MEMORY_KIND_PINNED &&
                static_cast<int>(MemoryKind::device) == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
                static_cast<int>(MemoryKind::array) == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY &&
                static_cast<int>(MemoryKind::managed) == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED &&
                static_cast<int>(MemoryKind::device_static) == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC &&
                static_cast<int>(MemoryKind::managed_static) == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
  return kind < memory_kinds.size() ? static_cast<MemoryKind>(kind) : MemoryKind::unknown;
}

std::uint32_t thread_of(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId& id) {
  return kind == CUPTI_ACTIVITY_OBJECT_THREAD ? id.pt.threadId : 0;
}

RecordedActivity kernel(const CUpti_ActivityKernel9& record) {
  auto result = work_of<RecordedKernel>(record);
  result.name = record.name;
  result.grid = {record.gridX, record.gridY, record.gridZ};
  result.block = {record.blockX, record.blockY, record.blockZ};
  result.registers = record.registersPerThread;
  result.static_shared_bytes = record.staticSharedMemory;
  result.dynamic_shared_bytes = record.dynamicSharedMemory;
  result.local_bytes = record.localMemoryPerThread;
  return result;
}

template <class Record>
RecordedActivity copy(const Record& record) {
  auto result = work_of<RecordedCopy>(record);
  result.bytes = record.bytes;
  result.from = memory_kind(record.srcKind);
  result.to = memory_kind(record.dstKind);
  result.is_to_peer = std::is_same_v<Record, CUpti_ActivityMemcpyPtoP4>;
  switch (record.copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: result.name = command_name::host_to_device; break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: result.name = command_name::device_to_host; break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: result.name = command_name::device_to_device; break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: result.name = "copy, host to host"; break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: result.name = "copy, GPU to GPU"; break;
    default: result.name = command_name::copy;
  }
  return result;
}

RecordedActivity memset_of(const CUpti_ActivityMemset4& record) {
  auto result = work_of<RecordedMemset>(record);
  result.bytes = record.bytes;
  return result;
}

RecordedActivity call(const CUpti_ActivityAPI& record) {
  auto result = span_of<RecordedCall>(record);
  result.function = record.cbid;
  result.thread = record.threadId;
  result.is_driver = record.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  return result;
}

RecordedActivity synchronization(const CUpti_ActivitySynchronization& record) {
  auto result = span_of<RecordedSynchronization>(record);
  result.type = static_cast<std::uint32_t>(record.type);
  return result;
}

RecordedActivity overhead(const CUpti_ActivityOverhead3& record) {
  RecordedOverhead result;
  result.start_ns = record.start;
  result.end_ns = record.end;
  result.thread = thread_of(record.objectKind, record.objectId);
  switch (record.overheadKind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: result.what = "compiling PTX"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: result.what = "flushing records"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: result.what = "preparing kernels for records"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: result.what = "creating the recorder's resources"; break;
    default: result.what = "recording"; break;
  }
  return result;
}

RecordedActivity marker(const CUpti_ActivityMarker2& record) {
  const auto has = [&](CUpti_ActivityFlag flag) { return (record.flags & flag) != 0; };
  using Phase = RecordedMarker::Phase;
  return RecordedMarker{.phase = has(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) ? Phase::instant
                                 : has(CUPTI_ACTIVITY_FLAG_MARKER_END)         ? Phase::end
                                                                               : Phase::begin,
                        .number = record.id,
                        .time_ns = record.timestamp,
                        .thread = thread_of(record.objectKind, record.objectId),
                        .name = has(CUPTI_ACTIVITY_FLAG_MARKER_END) ? nullptr : record.name};
}

RecordedActivity allocation(const CUpti_ActivityMemory4& record) {
  if (record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID) return {};
  return RecordedAllocation{
      .time_ns = record.timestamp,
      .correlation = record.correlationId,
      .is_release = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
      .is_stream_ordered = record.isAsync != 0,
      .is_of_pool = record.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID,
      .kind = memory_kind(static_cast<std::uint32_t>(record.memoryKind)),
      .device = record.deviceId,
      .address = record.address,
      .bytes = record.bytes,
      .source = record.source};
}

RecordedActivity pool(const CUpti_ActivityMemoryPool2& record) {
  return RecordedPool{.time_ns = record.timestamp,
                      .device = record.deviceId,
                      .address = record.address,
                      .reserved_bytes = record.size,
                      .used_bytes = record.utilizedSize};
}

/// `needed`: bytes up to the last member that is read. What lies beyond the buffer is not read, and is zero.
template <class Record, RecordedActivity (*decode)(const Record&)>
RecordedActivity checked(std::span<const std::uint8_t> bytes, std::size_t needed) {
  if (bytes.size() < needed) throw_unknown_layout();
  Record record{};
  std::memcpy(&record, bytes.data(), std::min(sizeof record, bytes.size()));
  return decode(record);
}

struct Decoder {
  CUpti_ActivityKind kind;
  std::size_t needed;
  RecordedActivity (*decode)(std::span<const std::uint8_t>, std::size_t);
};
#define GPUBENCH_DECODER(kind, Record, last, decode) \
  { CUPTI_ACTIVITY_KIND_##kind, offsetof(Record, last) + sizeof(Record::last), checked<Record, decode> }
constexpr auto decoders = std::to_array<Decoder>({
    GPUBENCH_DECODER(CONCURRENT_KERNEL, CUpti_ActivityKernel9, graphNodeId, kernel),
    GPUBENCH_DECODER(KERNEL, CUpti_ActivityKernel9, graphNodeId, kernel),
    GPUBENCH_DECODER(RUNTIME, CUpti_ActivityAPI, correlationId, call),
    GPUBENCH_DECODER(DRIVER, CUpti_ActivityAPI, correlationId, call),
    GPUBENCH_DECODER(MEMCPY, CUpti_ActivityMemcpy5, graphNodeId, copy<CUpti_ActivityMemcpy5>),
    GPUBENCH_DECODER(MEMCPY2, CUpti_ActivityMemcpyPtoP4, graphNodeId, copy<CUpti_ActivityMemcpyPtoP4>),
    GPUBENCH_DECODER(MEMSET, CUpti_ActivityMemset4, graphNodeId, memset_of),
    GPUBENCH_DECODER(SYNCHRONIZATION, CUpti_ActivitySynchronization, correlationId, synchronization),
    GPUBENCH_DECODER(OVERHEAD, CUpti_ActivityOverhead3, end, overhead),
    GPUBENCH_DECODER(MARKER, CUpti_ActivityMarker2, name, marker),
    GPUBENCH_DECODER(MEMORY2, CUpti_ActivityMemory4, memoryPoolConfig, allocation),
    GPUBENCH_DECODER(MEMORY_POOL, CUpti_ActivityMemoryPool2, utilizedSize, pool),
});
#undef GPUBENCH_DECODER

}  // namespace

void throw_unknown_layout() {
  throw MetricsUnavailable(fmt::format(
      "CUPTI lays its records out in another way than version {}, which gpubench was built with; set GPUBENCH_CUPTI to "
      "the libcupti of that toolkit",
      CUPTI_API_VERSION));
}

RecordedActivity decode_record(std::span<const std::uint8_t> bytes) {
  std::underlying_type_t<CUpti_ActivityKind> kind{};
  if (bytes.size() < sizeof kind) throw_unknown_layout();
  std::memcpy(&kind, bytes.data(), sizeof kind);
  for (const Decoder& decoder : decoders)
    if (decoder.kind == kind) return decoder.decode(bytes, decoder.needed);
  return {};
}

}  // namespace gpubench::bench
