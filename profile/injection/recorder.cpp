// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/recorder.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "core/base/text.h"
#include "gpu/cuda/cupti/cupti_buffers.h"

namespace gpubench::profile {
namespace {

Recorder* recorder = nullptr;  // CUPTI's callbacks are bare functions

/// Kinds that are on while the program is recorded. KERNEL without CONCURRENT would run kernels one by one.
constexpr std::array recorded_kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                       CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                                       CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER,
                                       CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

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
    if (contains(text, part)) return true;
  return false;
}

std::uint32_t size(std::int32_t value) { return value < 0 ? 0U : static_cast<std::uint32_t>(value); }
std::uint8_t device_number(std::uint32_t device) { return static_cast<std::uint8_t>(device < 255 ? device : 254); }

}  // namespace

Recorder::Recorder(std::shared_ptr<const bench::CuptiLibrary> library, RecordingWriter& recording)
    : library_(std::move(library)), recording_(recording) {
  recorder = this;
}

void Recorder::attach(std::span<const CUpti_ActivityKind> kinds) {
  (void)library_->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  bench::register_activity_buffers(
      *library_, [](CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes) {
        try {
          recorder->read(context, stream, buffer, bytes);
        } catch (...) {  // out of memory: nothing can be said of it here
        }
      });
  (void)library_->cuptiActivityEnableAllocationSource(1);
  for (const CUpti_ActivityKind kind : kinds) enable(kind);
  attached_.assign(kinds.begin(), kinds.end());
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

void Recorder::detach() {
  stop();
  flush(true);
  for (const CUpti_ActivityKind kind : std::exchange(attached_, {})) (void)library_->cuptiActivityDisable(kind);
  flush(true);  // no buffer stays behind, for another user to be handed
}

void Recorder::forget_names() { call_names_.clear(); }

void Recorder::enable(CUpti_ActivityKind kind) {
  const CUptiResult result = library_->cuptiActivityEnable(kind);
  if (result == CUPTI_SUCCESS) return;
  refusal_ = library_->error_text(result, "cuptiActivityEnable");
  const auto lock = recording_.lock();
  recording_.note(fmt::format("Some of what the program did is not recorded: {}.", refusal_));
}

void Recorder::flush(bool forced) noexcept {
  (void)library_->cuptiActivityFlushAll(static_cast<std::uint32_t>(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
}

void Recorder::read(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes) {
  const std::uint64_t start = now_ns();
  auto lock = recording_.lock();
  try {
    bench::for_each_record(*library_, buffer, bytes, [&](const gpu::RecordedActivity& activity) {
      std::visit(gpu::ByKind{[&](const auto& one) { record(one); }, [](std::monostate) {}}, activity);
      if (++records_read_ % 64 != 0) return;
      lock.unlock();  // so that a range of the program does not wait for all of them
      lock.lock();
    });
  } catch (const bench::MetricsUnavailable& error) {
    if (!std::exchange(refused_, true))
      recording_.note(fmt::format("Some of what the program did is not recorded: {}.", error.what()));
  }
  std::size_t lost = 0;
  if (library_->cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS && lost > 0)
    recording_.add(DroppedRecord{.count = static_cast<std::uint32_t>(lost)});
  recording_.flush();
  nanoseconds_ += now_ns() - start;
}

/// Work without times counts as lost.
template <class Record>
void Recorder::add_work(Record kept, const gpu::RecordedWork& work) {
  if (!work.is_timed()) return recording_.add(DroppedRecord{.count = 1});
  kept.in_graph = static_cast<std::uint8_t>(work.graph_node != 0);
  if (work.graph_node != 0) saw_graphs_ = true;
  if (work.graph_node != 0) recording_.add(OfNodeRecord{.node = halves(work.graph_node)});
  kept.correlation = work.correlation;
  kept.start = halves(work.start_ns);
  kept.stream = work.stream;
  set_duration(kept, work.end_ns - work.start_ns);
  recording_.add(kept);
}

void Recorder::record(const gpu::RecordedKernel& kernel) {
  const timeline::LaunchShape shape = {.grid = {size(kernel.grid[0]), size(kernel.grid[1]), size(kernel.grid[2])},
                                       .block = {size(kernel.block[0]), size(kernel.block[1]), size(kernel.block[2])},
                                       .registers = kernel.registers,
                                       .static_shared_bytes = size(kernel.static_shared_bytes),
                                       .dynamic_shared_bytes = size(kernel.dynamic_shared_bytes),
                                       .local_bytes = kernel.local_bytes};
  if (gpus_.size() < 2) gpus_.insert(kernel.device);
  const std::uint32_t name = recording_.name(kernel.name == nullptr ? "a kernel without a name" : kernel.name);
  add_work(KernelRecord{.shape = recording_.shape(device_number(kernel.device), name, shape)}, kernel);
}

void Recorder::record(const gpu::RecordedCopy& copy) {
  const std::string name =
      fmt::format("copy, {} to {}", names_of(copy.from).in_copies,
                  copy.is_to_peer ? std::string_view("another device") : names_of(copy.to).in_copies);
  add_work(CommandRecord{.name = recording_.name(name), .device = copy.device, .bytes = halves(copy.bytes)}, copy);
}

void Recorder::record(const gpu::RecordedMemset& memset) {
  add_work(CommandRecord{.name = recording_.name("fill"), .device = memset.device, .bytes = halves(memset.bytes)},
           memset);
}

void Recorder::add_call(CallRecord kept, const gpu::RecordedSpan& span) {
  if (span.end_ns < span.start_ns) return;
  kept.correlation = span.correlation;
  kept.start = halves(span.start_ns);
  set_duration(kept, span.end_ns - span.start_ns);
  recording_.add(kept);
}

void Recorder::record(const gpu::RecordedSynchronization& wait) {
  if (!wait.is_timed()) return;
  const auto& names = timeline::synchronization_names;
  const std::size_t type = wait.type < names.size() ? wait.type : 0;
  add_call({.kind = RecordKind::synchronization,
            .type = static_cast<std::uint8_t>(type),
            .name = recording_.name(names[type])},
           wait);
}

void Recorder::record(const gpu::RecordedCall& call) {
  if (call.thread == passed_over_.load(std::memory_order_relaxed)) return;
  if (threads_.size() < 2) threads_.insert(call.thread);
  const CUpti_CallbackDomain domain = call.is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  auto& name = call_names_[(std::uint64_t{domain} << 32U) | call.function];
  if (name == 0) {
    const char* text = nullptr;
    (void)library_->cuptiGetCallbackName(domain, call.function, &text);
    name = recording_.name(text == nullptr ? fmt::format("call {}", call.function) : text);
  }
  add_call({.name = name, .thread = call.thread}, call);
}

void Recorder::record(const gpu::RecordedOverhead& overhead) {
  add_call({.kind = RecordKind::overhead, .name = recording_.name(overhead.what), .thread = overhead.thread}, overhead);
}

void Recorder::record(const gpu::RecordedMarker& marker) {
  // NCCL ends ranges of its communicators by nvtxRangePopPayload, which CUPTI does not tell: they would hold all that
  // follows on the thread.
  if (marker.name != nullptr && std::string_view(marker.name).starts_with("ncclComm")) return;
  recording_.add(MarkerRecord{.phase = static_cast<MarkerPhase>(marker.phase),
                              .number = marker.number,
                              .time = halves(marker.time_ns),
                              .thread = marker.thread,
                              .name = marker.name == nullptr ? 0 : recording_.name(marker.name)});
}

void Recorder::record(const gpu::RecordedAllocation& allocation) {
  const auto kind = [&] {
    if (allocation.is_stream_ordered || allocation.is_of_pool) return timeline::MemoryKind::pool;
    switch (allocation.kind) {
      case gpu::MemoryKind::device:
      case gpu::MemoryKind::device_static: return timeline::MemoryKind::device;
      case gpu::MemoryKind::managed:
      case gpu::MemoryKind::managed_static: return timeline::MemoryKind::managed;
      case gpu::MemoryKind::pinned: return timeline::MemoryKind::pinned;
      default: return timeline::MemoryKind::other;
    }
  }();
  std::string_view source = allocation.source == nullptr ? "" : allocation.source;
  source = source.substr(source.rfind('/') + 1);
  recording_.add(MemoryRecord{.freed = static_cast<std::uint8_t>(allocation.is_release),
                              .memory = kind,
                              .device = device_number(allocation.device),
                              .source = recording_.name(source),
                              .time = halves(allocation.time_ns),
                              .address = halves(allocation.address),
                              .bytes = halves(allocation.bytes)});
}

void Recorder::record(const gpu::RecordedPool& pool) {
  recording_.add(PoolRecord{.device = device_number(pool.device),
                            .time = halves(pool.time_ns),
                            .address = halves(pool.address),
                            .reserved = halves(pool.reserved_bytes),
                            .used = halves(pool.used_bytes)});
}

void Recorder::graph_node(std::uint64_t node, std::uint64_t copy_of) {
  const auto lock = recording_.lock();
  recording_.add(GraphNodeRecord{.node = halves(node),
                                 .copy_of = halves(copy_of),
                                 .time = halves(static_cast<std::uint64_t>(utc_nanoseconds())),
                                 .thread = static_cast<std::uint32_t>(gettid())});
}

void Recorder::write_cost() {
  const auto lock = recording_.lock();
  recording_.add(CostRecord{.name = recording_.name("a record, written on CUPTI's own thread"),
                            .count = records_read_,
                            .nanoseconds = halves(nanoseconds_)});
}

}  // namespace gpubench::profile
