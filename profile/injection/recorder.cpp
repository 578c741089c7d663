// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/recorder.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <new>

#include "gpu/devices.h"

namespace gpubench::profile {
namespace {

constexpr std::size_t buffer_alignment = 8;  // CUPTI's own demand
constexpr std::size_t buffer_bytes = std::size_t{2} << 20U;
constexpr std::size_t max_kept_buffers = 16;

Recorder* recorder = nullptr;  // CUPTI's callbacks are bare functions

/// Buffers to be used again. Never destroyed: CUPTI may ask while the process ends.
struct Buffers {
  std::mutex mutex;
  std::vector<std::uint8_t*> free;
};
Buffers& buffers() {
  static auto* const all = new Buffers;
  return *all;
}

/// Kinds that are on while the program is recorded. KERNEL without CONCURRENT would run kernels one by one.
constexpr std::array recorded_kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                       CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                                       CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER,
                                       CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
/// On from the beginning: what lives across the edges of a recording, and costs little.
constexpr std::array lasting_kinds = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_MARKER,
                                      CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL};

/// Calls that frameworks make before each launch, which take no time and wait for nothing.
constexpr auto silent_calls = std::to_array<CUpti_CallbackId>(
    {CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
     CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
     CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_v11030,
     CUPTI_RUNTIME_TRACE_CBID_cudaFuncGetAttributes_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaFuncSetAttribute_v9000,
     CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessor_v6050,
     CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000,
     CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
     CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaPointerGetAttributes_v4000});

/// Of the driver's own calls those that launch, copy, wait or allocate: a program that uses it directly makes few, but
/// the runtime makes many for itself.
bool is_driver_call_of_interest(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  for (const std::string_view part :
       {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "Synchronize", "cuMemAlloc", "cuMemFree"})
    if (text.find(part) != std::string_view::npos) return true;
  return false;
}

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

std::uint32_t size(std::int32_t value) { return value < 0 ? 0U : static_cast<std::uint32_t>(value); }
std::uint8_t device_number(std::uint32_t device) { return static_cast<std::uint8_t>(device < 255 ? device : 254); }

}  // namespace

Recorder::Recorder(std::shared_ptr<const bench::CuptiLibrary> library, RecordingWriter& recording)
    : library_(std::move(library)), recording_(recording) {
  recorder = this;
}

void Recorder::attach() {
  (void)library_->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  GPUBENCH_CUPTI_CALL(*library_, cuptiActivityRegisterCallbacks, give, take);
  (void)library_->cuptiActivityEnableAllocationSource(1);
  for (const CUpti_ActivityKind kind : lasting_kinds) enable(kind);
}

void Recorder::start() {
  if (active_) return;
  for (const CUpti_ActivityKind kind : recorded_kinds) enable(kind);
  for (const CUpti_CallbackId call : silent_calls) (void)library_->cuptiActivityEnableRuntimeApi(call, 0);
  for (CUpti_CallbackId call = 1; call < CUPTI_DRIVER_TRACE_CBID_SIZE; ++call) {
    const char* name = nullptr;
    if (library_->cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, call, &name) == CUPTI_SUCCESS &&
        !is_driver_call_of_interest(name))
      (void)library_->cuptiActivityEnableDriverApi(call, 0);
  }
  active_ = true;
}

void Recorder::stop() {
  if (!active_) return;
  active_ = false;
  flush(true);  // what CUPTI holds of a kind is lost with the kind
  for (const CUpti_ActivityKind kind : recorded_kinds) (void)library_->cuptiActivityDisable(kind);
}

void Recorder::enable(CUpti_ActivityKind kind) {
  const CUptiResult result = library_->cuptiActivityEnable(kind);
  if (result == CUPTI_SUCCESS) return;
  const auto lock = recording_.lock();
  recording_.note(fmt::format("Some of what the program did is not recorded: {}.",
                          library_->error_text(result, "cuptiActivityEnable")));
}

void Recorder::flush(bool forced) noexcept {
  (void)library_->cuptiActivityFlushAll(static_cast<std::uint32_t>(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
}

void Recorder::give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) noexcept {
  *buffer = nullptr;
  {
    const std::lock_guard lock(buffers().mutex);
    if (!buffers().free.empty()) {
      *buffer = buffers().free.back();
      buffers().free.pop_back();
    }
  }
  if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *max_records = 0;  // as many as it holds
}

void Recorder::take(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                    std::size_t bytes) noexcept {
  try {
    recorder->read(context, stream, buffer, bytes);
  } catch (...) {  // out of memory: nothing can be said of it here
  }
  const std::lock_guard lock(buffers().mutex);
  if (buffers().free.size() < max_kept_buffers)
    buffers().free.push_back(buffer);
  else
    std::free(buffer);
}

void Recorder::read(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes) {
  const std::uint64_t start = now_ns();
  const auto lock = recording_.lock();
  CUpti_Activity* next = nullptr;
  while (library_->cuptiActivityGetNextRecord(buffer, bytes, &next) == CUPTI_SUCCESS) {
    record(*next);
    ++records_read_;
  }
  std::size_t lost = 0;
  if (library_->cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS && lost > 0)
    recording_.add(DroppedRecord{.count = static_cast<std::uint32_t>(lost)});
  recording_.flush();
  nanoseconds_ += now_ns() - start;
}

void Recorder::record(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: return kernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return copy(record, false);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return copy(record, true);
    case CUPTI_ACTIVITY_KIND_MEMSET: return fill(record);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return call(record, CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER: return call(record, CUPTI_CB_DOMAIN_DRIVER_API);
    case CUPTI_ACTIVITY_KIND_MARKER: return marker(record);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return memory(record);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return pool(record);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return overhead(record);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return synchronization(record);
    case CUPTI_ACTIVITY_KIND_DEVICE: return device(record);
    default: return;
  }
}

void Recorder::kernel(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityKernel9>(activity);  // longer ones of newer versions begin like it
  if (record.end < record.start || record.end == 0) {
    recording_.add(DroppedRecord{.count = 1});
    return;
  }
  const std::uint32_t name = recording_.name(record.name == nullptr ? "a kernel without a name" : record.name);
  const timeline::LaunchShape shape = {.grid = {size(record.gridX), size(record.gridY), size(record.gridZ)},
                                     .block = {size(record.blockX), size(record.blockY), size(record.blockZ)},
                                     .registers = record.registersPerThread,
                                     .static_shared_bytes = size(record.staticSharedMemory),
                                     .dynamic_shared_bytes = size(record.dynamicSharedMemory),
                                     .local_bytes = record.localMemoryPerThread};
  KernelRecord kept{.in_graph = static_cast<std::uint8_t>(record.graphNodeId != 0),
                    .correlation = record.correlationId,
                    .start = halves(record.start),
                    .shape = recording_.shape(device_number(record.deviceId), name, shape),
                    .stream = record.streamId};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::copy(const CUpti_Activity& activity, bool between_gpus) {
  // Both kinds of records have these members at these places.
  const auto& record = as<CUpti_ActivityMemcpy5>(activity);
  if (record.end < record.start || record.end == 0) {
    recording_.add(DroppedRecord{.count = 1});
    return;
  }
  const auto& peer = as<CUpti_ActivityMemcpyPtoP4>(activity);
  const auto memory = [](std::uint8_t kind) -> std::string_view {
    switch (kind) {
      case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE: return "pageable";
      case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return "host";
      case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED: return "managed";
      case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: return "array";
      default: return "device";
    }
  };
  CommandRecord kept{.in_graph = static_cast<std::uint8_t>((between_gpus ? peer.graphNodeId : record.graphNodeId) != 0),
                     .correlation = between_gpus ? peer.correlationId : record.correlationId,
                     .start = halves(record.start),
                     .name = recording_.name(fmt::format("copy, {} to {}", memory(record.srcKind),
                                                     between_gpus ? "another device" : memory(record.dstKind))),
                     .stream = record.streamId,
                     .device = record.deviceId,
                     .bytes = halves(record.bytes)};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::fill(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityMemset4>(activity);
  if (record.end < record.start || record.end == 0) {
    recording_.add(DroppedRecord{.count = 1});
    return;
  }
  CommandRecord kept{.in_graph = static_cast<std::uint8_t>(record.graphNodeId != 0),
                     .correlation = record.correlationId,
                     .start = halves(record.start),
                     .name = recording_.name("fill"),
                     .stream = record.streamId,
                     .device = record.deviceId,
                     .bytes = halves(record.bytes)};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::synchronization(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivitySynchronization>(activity);  // a longer one of newer versions begins like it
  if (record.end < record.start || record.end == 0) return;
  const auto type = static_cast<std::size_t>(record.type);
  const auto& names = timeline::synchronization_names;
  CallRecord kept{.kind = RecordKind::synchronization,
                  .type = static_cast<std::uint8_t>(type < names.size() ? type : 0),
                  .correlation = record.correlationId,
                  .start = halves(record.start),
                  .name = recording_.name(names[type < names.size() ? type : 0])};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::call(const CUpti_Activity& activity, CUpti_CallbackDomain domain) {
  const auto& record = as<CUpti_ActivityAPI>(activity);
  if (record.end < record.start || record.threadId == passed_over_.load(std::memory_order_relaxed)) return;
  auto& name = call_names_[(std::uint64_t{domain} << 32U) | record.cbid];
  if (name == 0) {
    const char* text = nullptr;
    (void)library_->cuptiGetCallbackName(domain, record.cbid, &text);
    name = recording_.name(text == nullptr ? fmt::format("call {}", record.cbid) : text);
  }
  CallRecord kept{
      .correlation = record.correlationId, .start = halves(record.start), .name = name, .thread = record.threadId};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::marker(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityMarker2>(activity);
  const bool instant = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) != 0;
  const bool ends = (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  recording_.add(MarkerRecord{.phase = instant ? MarkerPhase::instant
                                   : ends  ? MarkerPhase::end
                                           : MarkerPhase::begin,
                          .number = record.id,
                          .time = halves(record.timestamp),
                          .thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? record.objectId.pt.threadId : 0,
                          .name = ends || record.name == nullptr ? 0 : recording_.name(record.name)});
}

void Recorder::memory(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityMemory4>(activity);
  const auto kind = [&] {
    if (record.isAsync != 0 || record.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID)
      return timeline::MemoryKind::pool;
    switch (record.memoryKind) {
      case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC: return timeline::MemoryKind::device;
      case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC: return timeline::MemoryKind::managed;
      case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return timeline::MemoryKind::pinned;
      default: return timeline::MemoryKind::other;
    }
  }();
  const bool freed = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  std::string_view source = record.source == nullptr ? "" : record.source;
  source = source.substr(source.rfind('/') + 1);
  recording_.add(MemoryRecord{.freed = static_cast<std::uint8_t>(freed),
                          .memory = kind,
                          .device = device_number(record.deviceId),
                          .source = recording_.name(source),
                          .time = halves(record.timestamp),
                          .address = halves(record.address),
                          .bytes = halves(record.bytes)});
}

void Recorder::pool(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityMemoryPool2>(activity);
  recording_.add(PoolRecord{.device = device_number(record.deviceId),
                        .time = halves(record.timestamp),
                        .address = halves(record.address),
                        .reserved = halves(record.size),
                        .used = halves(record.utilizedSize)});
}

void Recorder::overhead(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityOverhead3>(activity);
  if (record.end < record.start) return;
  const auto name = [&]() -> const char* {
    switch (record.overheadKind) {
      case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: return "compiling PTX";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: return "flushing records";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: return "preparing kernels for records";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: return "creating the recorder's resources";
      default: return "recording";
    }
  }();
  CallRecord kept{.kind = RecordKind::overhead,
                  .correlation = 0,
                  .start = halves(record.start),
                  .name = recording_.name(name),
                  .thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? record.objectId.pt.threadId : 0};
  set_duration(kept, record.end - record.start);
  recording_.add(kept);
}

void Recorder::device(const CUpti_Activity& activity) {
  const auto& record = as<CUpti_ActivityDevice4>(activity);
  if (!devices_.insert(record.id).second) return;
  const auto put = [&](std::string_view key, std::string_view value) {
    const std::uint32_t key_number = recording_.name(key);
    recording_.add(PropertyRecord{.device = device_number(record.id), .key = key_number, .value = recording_.name(value)});
  };
  put("name", record.name == nullptr ? "" : record.name);
  put("uuid", bench::uuid_text(record.uuid.bytes));
  put("architecture", fmt::format("sm_{}{}", record.computeCapabilityMajor, record.computeCapabilityMinor));
  put("multiprocessors", fmt::format("{}", record.numMultiprocessors));
  put("memory bytes", fmt::format("{}", record.globalMemorySize));
  put("l2 bytes", fmt::format("{}", record.l2CacheSize));
  put("max warps", fmt::format("{}", record.maxWarpsPerMultiprocessor));
  put("max blocks", fmt::format("{}", record.maxBlocksPerMultiprocessor));
  put("registers", fmt::format("{}", record.maxRegistersPerMultiprocessor));
  put("shared bytes", fmt::format("{}", record.maxSharedMemoryPerMultiprocessor));
}

void Recorder::write_cost() {
  const auto lock = recording_.lock();
  recording_.add(CostRecord{.name = recording_.name("a record, written on CUPTI's own thread"),
                        .count = records_read_,
                        .nanoseconds = halves(nanoseconds_)});
}

}  // namespace gpubench::profile
