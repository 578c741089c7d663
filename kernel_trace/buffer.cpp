// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "kernel_trace/probes.h"
#include "kernel_trace/recording.h"

namespace gpubench::kernel_trace {

namespace {

/// Memory of the GPU, or of the host.
using Allocation = std::unique_ptr<void, cudaError_t (*)(void*)>;

Allocation allocate(std::uint64_t bytes, bool host) {
  void* memory = nullptr;
  const cudaError_t error =
      host ? cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable) : cudaMalloc(&memory, bytes);
  if (error == cudaSuccess) return {memory, host ? cudaFreeHost : cudaFree};
  (void)cudaGetLastError();
  const std::string what = fmt::format("a buffer of events needs {} of {} memory",
                                       format_bytes(static_cast<double>(bytes)), host ? "pinned" : "the GPU's");
  if (error == cudaErrorMemoryAllocation)
    throw OutOfMemory(what + ", which is not free: give it fewer events, launches, blocks or warps.");
  throw CudaError(what + ", and CUDA gave none: " + cuda_text(error) + ".");
}

}  // namespace

struct Buffer::Contents {
  Options options;
  std::uint64_t bytes = 0;
  std::uint32_t slice_offset = 0;
  Allocation memory{nullptr, cudaFree}, copied{nullptr, cudaFree};
  bool has_copy = false;
  std::vector<std::string> names, kernels;
  std::optional<Rate> rate;
  std::vector<HostMoment> host;
  [[nodiscard]] char* at(std::uint64_t offset) const { return static_cast<char*>(memory.get()) + offset; }
};

Buffer::Buffer(const Options& options) : contents_(std::make_unique<Contents>()) {
  Contents& c = *contents_;
  c.options = options;
  c.bytes = kernel_trace::bytes(options);
  c.slice_offset = header_of(options).slice_offset;
  if (!options.enabled) return;
  c.memory = allocate(c.bytes, options.memory == Memory::pinned);
  const BufferHeader header = header_of(options);
  GPUBENCH_TRACE_CHECK(cudaMemset(c.memory.get(), 0, c.bytes));
  GPUBENCH_TRACE_CHECK(cudaMemcpy(c.memory.get(), &header, sizeof header, cudaMemcpyDefault));
  c.rate = measure_rate();
  if (const auto moment = measure_host_clock()) c.host.push_back(*moment);
}

Buffer::~Buffer() = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;

std::uint64_t Buffer::bytes() const { return contents_->options.enabled ? contents_->bytes : 0; }
void* Buffer::device_memory() const { return contents_->memory.get(); }

Buffer& Buffer::name(std::uint32_t id, std::string_view text) {
  if (id >= max_ids) throw std::invalid_argument(fmt::format("ids of events are below {}, not {}.", max_ids, id));
  if (contents_->names.size() <= id) contents_->names.resize(id + 1);
  contents_->names[id] = text;
  return *this;
}

View Buffer::view(std::string_view kernel) {
  Contents& c = *contents_;
  c.kernels.emplace_back(kernel);
  if (!c.options.enabled) return {};
  const Options& o = c.options;
  return {.memory = c.memory.get(),
          .slice_offset = c.slice_offset,
          .blocks = o.blocks,
          .warps = o.warps,
          .slots = o.events,
          .launches = o.launches,
          .launch = static_cast<std::uint32_t>(c.kernels.size() - 1),
          .sampled = o.every_block != 1 || o.every_warp != 1 || o.first_sm != 0 || o.last_sm != Options().last_sm,
          .every_block = o.every_block,
          .every_warp = o.every_warp,
          .first_sm = o.first_sm,
          .last_sm = o.last_sm,
          .block_inverse = 0xFFFFFFFFU / o.every_block,
          .warp_inverse = 0xFFFFFFFFU / o.every_warp};
}

void Buffer::reset(Stream stream) {
  Contents& c = *contents_;
  c.has_copy = false;
  if (!c.options.enabled) return;
  GPUBENCH_TRACE_CHECK(cudaMemsetAsync(c.at(offsetof(BufferHeader, refused)), 0, sizeof(std::uint64_t), stream));
  GPUBENCH_TRACE_CHECK(cudaMemsetAsync(c.at(sizeof(BufferHeader)), 0, c.bytes - sizeof(BufferHeader), stream));
}

void Buffer::copy(Stream stream) {
  Contents& c = *contents_;
  if (!c.options.enabled) return;
  if (!c.copied) c.copied = allocate(c.bytes, true);
  GPUBENCH_TRACE_CHECK(cudaMemcpyAsync(c.copied.get(), c.memory.get(), c.bytes, cudaMemcpyDefault, stream));
  c.has_copy = true;
}

Trace Buffer::read(Stream stream) {
  Contents& c = *contents_;
  DecodeOptions options = {.names = c.names, .kernels = c.kernels, .rate = c.rate, .host = c.host};
  if (!c.options.enabled) {
    Recording nothing;
    nothing.names = c.names;
    nothing.warnings.emplace_back("The buffer was made with enabled = false: nothing was recorded.");
    return Trace(std::make_shared<Recording>(std::move(nothing)));
  }
  const void* bytes = c.memory.get();
  std::string failure;
  if (c.options.memory == Memory::pinned && !c.has_copy) {
    if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) failure = cuda_text(error);
  } else {
    if (!c.has_copy) copy(stream);
    GPUBENCH_TRACE_CHECK(cudaStreamSynchronize(stream));
    bytes = c.copied.get();
    c.has_copy = false;
  }
  if (failure.empty())
    if (const auto moment = measure_host_clock()) options.host.push_back(*moment);
  Recording recording = decode({static_cast<const std::byte*>(bytes), c.bytes}, options);
  if (!failure.empty())
    recording.warnings.insert(recording.warnings.begin(),
                              "The GPU's work ended with " + failure + ": what was recorded until then is shown.");
  if (options.host.empty())
    recording.warnings.emplace_back("The GPU did not answer in a second: times are those of its own timer.");
  return Trace(std::make_shared<Recording>(std::move(recording)));
}

AddedTime measure_added_time(Buffer& buffer, const std::function<void(const View&)>& launch, Stream stream,
                             int repeats) {
  struct Events {
    cudaEvent_t start = nullptr, stop = nullptr;
    Events() {
      GPUBENCH_TRACE_CHECK(cudaEventCreate(&start));
      GPUBENCH_TRACE_CHECK(cudaEventCreate(&stop));
    }
    ~Events() {
      (void)cudaEventDestroy(start);
      (void)cudaEventDestroy(stop);
    }
  } events;
  std::vector<double> times[2];
  const View view = buffer.view();
  for (int i = -2; i < 2 * std::max(repeats, 1); ++i) {
    const bool with = i % 2 != 0;
    buffer.reset(stream);
    GPUBENCH_TRACE_CHECK(cudaEventRecord(events.start, stream));
    launch(with ? view : View());
    GPUBENCH_TRACE_CHECK(cudaEventRecord(events.stop, stream));
    GPUBENCH_TRACE_CHECK(cudaEventSynchronize(events.stop));
    float milliseconds = 0.0F;
    GPUBENCH_TRACE_CHECK(cudaEventElapsedTime(&milliseconds, events.start, events.stop));
    if (i >= 0) times[with ? 1 : 0].push_back(static_cast<double>(milliseconds) * 1000.0);
  }
  return {.with_us = statistics::median(times[1]), .without_us = statistics::median(times[0])};
}

}  // namespace gpubench::kernel_trace
