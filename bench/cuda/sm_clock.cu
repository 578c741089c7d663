// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cuda_error.h"
#include "bench/cuda/sm_clock.h"

namespace gpubench::bench {
namespace {

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

}  // namespace

SmClock::SmClock(cudaStream_t stream) : stream_(stream), host_notes_(max_multiprocessors) {
  int device = 0;
  int multiprocessors = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDevice(&device));
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  blocks_ = static_cast<unsigned>(multiprocessors);
  void* memory = nullptr;
  GPUBENCH_CUDA_CHECK(cudaMalloc(&memory, max_multiprocessors * sizeof(SmNotes)));
  device_notes_ = static_cast<SmNotes*>(memory);
  try {
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(device_notes_, 0, max_multiprocessors * sizeof(SmNotes), stream_));
    begin();
    end();
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  } catch (...) {
    (void)cudaFree(device_notes_);
    throw;
  }
}

SmClock::~SmClock() { (void)cudaFree(device_notes_); }

void SmClock::begin() {
  ++number_;
  note_kernel<<<blocks_, 1, 0, stream_>>>(device_notes_, number_, true);
  check_launch("the kernel that notes the clock");
}

void SmClock::end() {
  note_kernel<<<blocks_, 1, 0, stream_>>>(device_notes_, number_, false);
  check_launch("the kernel that notes the clock");
}

std::optional<double> SmClock::hertz() {
  GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(host_notes_.data(), device_notes_, host_notes_.size() * sizeof(SmNotes),
                                      cudaMemcpyDeviceToHost, stream_));
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  return clock_of_sample(host_notes_, number_);
}

}  // namespace gpubench::bench
