// SPDX-License-Identifier: Apache-2.0
#include <gpubench/profile.h>

#include <cstdio>

// Stand for calls that launch kernels on the stream, and for memory of the GPU.
void attention(cudaStream_t) {}
void softmax(cudaStream_t) {}
float* weights = nullptr;

// --8<-- [start:ranges]
void step(cudaStream_t stream) {
  GPUBENCH_PROFILE_FUNCTION();  // the range "step"
  const gpubench::profile::Range range("attention");
  attention(stream);
}

void profile_ten_steps(cudaStream_t stream) {
  gpubench::profile::enable();
  for (int i = 0; i < 10; ++i) step(stream);
  gpubench::profile::print_ranges();
  gpubench::profile::disable();
}
// --8<-- [end:ranges]

// --8<-- [start:results]
void list_ranges() {
  using gpubench::profile::Reduction;
  for (const auto& range : gpubench::profile::results(Reduction::max))
    if (!range.metrics.empty() && range.metrics[0].inclusive)
      std::printf("%s: longest kernel %.0f ns\n", range.path.c_str(), *range.metrics[0].inclusive);
  const std::string why = gpubench::profile::write_ranges("out/ranges.csv");  // or .json
  if (!why.empty()) std::puts(why.c_str());
}
// --8<-- [end:results]

// --8<-- [start:memory]
void watch_allocations() {
  {
    const gpubench::profile::Range range("buffers", gpubench::profile::RangeType::memory);
    // cudaMalloc, cudaMallocAsync, ...
  }
  gpubench::profile::print_memory_activity();
}
// --8<-- [end:memory]

// --8<-- [start:counters]
void count(cudaStream_t stream) {
  const auto status = gpubench::profile::enable({.metrics = {"dram_read_bytes", "dram_write_bytes", "instructions"}});
  if (!status.counters) std::puts(status.text().c_str());
  step(stream);
  gpubench::profile::print_ranges();
}
// --8<-- [end:counters]

// --8<-- [start:timer]
void time_kernels(cudaStream_t stream) {
  gpubench::profile::KernelTimer timer;
  timer.start("attention", stream);
  attention(stream);
  timer.start("softmax", stream);  // inside: TOTAL counts its time once
  softmax(stream);
  timer.stop("softmax");
  timer.stop("attention");
  if (const auto timing = timer.timing("softmax")) std::printf("p99: %.3f ms\n", timing->p99_ms);
  std::puts(timer.report().c_str());
}
// --8<-- [end:timer]

// --8<-- [start:profiler]
void profile_one_class(cudaStream_t stream) {
  gpubench::profile::Profiler profiler;
  profiler.track("weights", weights, {4096, 4096});
  {
    const auto scope = profiler.profile_kernel("attention", stream);
    attention(stream);
  }
  std::puts(profiler.full_report().c_str());
  profiler.disable();  // scopes cost one branch from here on
}
// --8<-- [end:profiler]
