// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>

#include "core/statistics/statistics.h"
#include "gpu/cuda/harness_kernels.h"

namespace gpubench::bench {
namespace {

__device__ unsigned long long global_nanoseconds() {
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

__global__ void hold_kernel(StreamBlocker::Shared* shared, std::uint32_t number, unsigned long long limit_nanoseconds) {
  const unsigned long long start = global_nanoseconds();
  while (shared->released < number) {
    if (global_nanoseconds() - start > limit_nanoseconds) {
      shared->timed_out = number;
      __threadfence_system();
      return;
    }
  }
}

/// %smid may be as large as %nsmid - 1, which may be more than the multiprocessors in use.
constexpr unsigned max_multiprocessors = 1024;

__global__ void note_kernel(SmNotes* notes, std::uint32_t number, bool at_begin) {
  unsigned multiprocessor = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= max_multiprocessors) return;
  SmNotes& note = notes[multiprocessor];
  // Two blocks may share a multiprocessor: the first one notes.
  if (atomicExch(at_begin ? &note.begin_number : &note.end_number, number) == number) return;
  unsigned long long nanoseconds = 0;
  long long cycles = 0;
  asm volatile("mov.u64 %0, %%globaltimer;\n\tmov.u64 %1, %%clock64;" : "=l"(nanoseconds), "=l"(cycles));
  (at_begin ? note.begin_cycles : note.end_cycles) = cycles;
  (at_begin ? note.begin_nanoseconds : note.end_nanoseconds) = nanoseconds;
}

/// Returns the cycles that have passed: a few more than asked for.
__device__ __forceinline__ long long wait(long long cycles) {
  const long long start = clock64();
  long long now = start;
  while (now - start < cycles) now = clock64();
  return now - start;
}

__global__ void idle_kernel(long long cycles) { wait(cycles); }

__global__ void idle_noting_kernel(long long cycles, unsigned long long* longest) {
  const auto waited = static_cast<unsigned long long>(wait(cycles));
  if (threadIdx.x % 32 == 0) atomicMax(longest, waited);
}

dim3 dim3_of(const Extent& extent) { return {extent.x, extent.y, extent.z}; }

template <class... Arguments>
void launch(void (*kernel)(Arguments...), const LaunchShape& shape, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3_of(shape.grid);
  config.blockDim = dim3_of(shape.block);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  if (shape.cluster != Extent{}) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.cluster.x;
    attribute.val.clusterDim.y = shape.cluster.y;
    attribute.val.clusterDim.z = shape.cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  if (shape.shared_bytes > 48U * 1024U)
    GPUBENCH_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes)));
  GPUBENCH_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

constexpr unsigned read_threads = 256;
constexpr std::size_t l2_sizes = 4;

/// 16 bytes a thread. The memory holds zeros, so that nothing is ever stored; the compiler does not know.
__global__ void __launch_bounds__(read_threads) read_kernel(const uint4* __restrict__ data, std::uint32_t* sink) {
  const uint4 value = __ldcg(data + std::size_t{blockIdx.x} * read_threads + threadIdx.x);
  if ((value.x | value.y | value.z | value.w) != 0) *sink = value.x;
}

std::size_t blocks_for(std::size_t l2_bytes) {
  constexpr std::size_t block_bytes = read_threads * sizeof(uint4);
  return std::max<std::size_t>((l2_sizes * l2_bytes + block_bytes - 1) / block_bytes, 1);
}

__global__ void timer_steps_kernel(std::uint64_t* values, int count) {
  // Some GPUs step their timer by a microsecond: the bound on reads is generous, yet it ends.
  constexpr int max_reads = 1 << 20;
  int seen = 0;
  std::uint64_t last = 0;
  for (int read = 0; read < max_reads && seen < count; ++read) {
    const std::uint64_t now = global_nanoseconds();
    if (now == last) continue;
    last = now;
    values[seen++] = now;
  }
  while (seen < count) values[seen++] = 0;
}

}  // namespace

StreamBlocker::StreamBlocker(cudaStream_t stream)
    : stream_(stream),
      memory_(made<void*>(
          [](void** memory) {
            return cudaHostAlloc(memory, sizeof(Shared), cudaHostAllocMapped | cudaHostAllocPortable);
          },
          "cudaHostAlloc")),
      shared_(new (memory_.get()) Shared()) {
  void* device = nullptr;
  GPUBENCH_CUDA_CHECK(cudaHostGetDevicePointer(&device, memory_.get(), 0));
  device_shared_ = static_cast<Shared*>(device);
  hold_kernel<<<1, 1, 0, stream_>>>(device_shared_, 0, 0);
  check_launch("the kernel that holds a stream");
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

StreamBlocker::~StreamBlocker() {
  release();
  (void)cudaStreamSynchronize(stream_);  // a kernel that still spins reads the memory freed next
}

void StreamBlocker::release() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  shared_->released = number_;
}

void StreamBlocker::block_while(const std::function<void()>& enqueue) {
  ++number_;
  hold_kernel<<<1, 1, 0, stream_>>>(device_shared_, number_, static_cast<unsigned long long>(limit_seconds * 1e9));
  check_launch("the kernel that holds a stream");
  try {
    enqueue();
  } catch (...) {
    release();
    throw;
  }
  release();
}

void StreamBlocker::check() const {
  if (number_ == 0 || shared_->timed_out != number_) return;
  throw GpuError("the stream was held for " + std::to_string(static_cast<int>(limit_seconds)) +
                 " s: the operation waits for the GPU, or fills its queue, while it is enqueued, so that its time on "
                 "the GPU cannot be separated from the host's; use --time=latency, which times both together");
}

SmClock::SmClock(cudaStream_t stream)
    : stream_(stream),
      blocks_(static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount))),
      device_notes_(max_multiprocessors),
      host_notes_(max_multiprocessors) {
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(device_notes_.data(), 0, device_notes_.bytes(), stream_));
  begin();
  end();
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

void SmClock::begin() {
  ++sample_;
  note_kernel<<<blocks_, 1, 0, stream_>>>(device_notes_.data(), sample_, true);
  check_launch("the kernel that notes the clock");
}

void SmClock::end() {
  note_kernel<<<blocks_, 1, 0, stream_>>>(device_notes_.data(), sample_, false);
  check_launch("the kernel that notes the clock");
}

std::optional<double> SmClock::hertz() {
  GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(host_notes_.data(), device_notes_.data(), host_notes_.size() * sizeof(SmNotes),
                                      cudaMemcpyDeviceToHost, stream_));
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  return clock_of_sample(host_notes_, sample_);
}

void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  launch(idle_kernel, shape, stream, cycles);
}

double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  constexpr int launches = 9;
  DeviceArray<unsigned long long> longest(launches);
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(longest.data(), 0, longest.bytes(), stream));
  for (int i = 0; i < launches; ++i) launch(idle_noting_kernel, shape, stream, cycles, longest.data() + i);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<double> over;
  for (const auto waited : longest.to_host()) over.push_back(static_cast<double>(waited) - static_cast<double>(cycles));
  return statistics::median(over);
}

CacheFlush::CacheFlush(std::size_t l2_bytes, cudaStream_t stream)
    : memory_(blocks_for(l2_bytes) * read_threads * sizeof(uint4) / sizeof(std::uint32_t)), sink_(1) {
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream));
  enqueue(stream);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void CacheFlush::enqueue(cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(memory_.bytes() / (read_threads * sizeof(uint4)));
  read_kernel<<<blocks, read_threads, 0, stream>>>(reinterpret_cast<const uint4*>(memory_.data()), sink_.data());
  check_launch("the kernel that flushes the L2");
}

cudaError_t read_timer_steps(std::uint64_t* values, int count, cudaStream_t stream) {
  timer_steps_kernel<<<1, 1, 0, stream>>>(values, count);
  return cudaGetLastError();
}

}  // namespace gpubench::bench
