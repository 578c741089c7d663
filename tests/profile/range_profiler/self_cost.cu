// SPDX-License-Identifier: Apache-2.0
// What ranges and timers cost on this machine: a table on stdout. Ends with 77 without a GPU, as a skipped test.
#include <gpubench/profile.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "gpu/cuda/handles.h"
#include "gpu/devices.h"

namespace {

namespace profile = gpubench::profile;

/// The least of some rounds, ns a call.
template <class Call>
double cost(int calls, const Call& call) {
  double least = 1e30;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call(i);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    least = std::min(least, spent.count() / calls);
  }
  return least;
}

void print(const char* what, double nanoseconds, const char* goal) {
  std::printf("%-52s %9.1f ns   %s\n", what, nanoseconds, goal);
}

__global__ void nothing() {}

}  // namespace

int main() {
  if (gpubench::bench::gpus().empty()) {
    std::printf("no CUDA device: %s\n", gpubench::bench::why_no_gpu().c_str());
    return 77;
  }
  const gpubench::bench::OwnedStream stream;
  constexpr int calls = 400;
  const auto launch = [&](int) { nothing<<<1, 32, 0, stream.get()>>>(); };
  const auto drain = [&] { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream.get())); };
  const double plain_launch = cost(calls, launch);
  drain();
  gpubench::bench::CudaEvent event;
  print("cudaEventRecord", cost(calls, [&](int) { event.record(stream.get()); }), "");
  drain();

  profile::KernelTimer timer;
  double start = 1e30;
  double stop = 1e30;
  for (int round = 0; round < 20; ++round) {
    start = std::min(start, [&] {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) timer.start("a kernel of mine", stream.get());
      return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
    }());
    stop = std::min(stop, [&] {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) timer.stop("a kernel of mine", stream.get());
      return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
    }());
    (void)timer.timing("a kernel of mine");
  }
  print("KernelTimer::start", start, "goal 1250");
  print("KernelTimer::stop", stop, "goal 1250");

  profile::Profiler profiler;
  profiler.disable();
  print("Profiler::profile_kernel, disabled",
        cost(100'000, [&](int) { const auto scope = profiler.profile_kernel("a kernel of mine"); }), "goal 5");
  print("Range, disabled", cost(100'000, [&](int) { const profile::Range range("a range of mine"); }), "goal 5");

  const profile::Status status = profile::enable();
  std::fputs(status.text().c_str(), stdout);
  print("Range, enabled, records on", cost(10'000, [&](int) { const profile::Range range("a range of mine"); }),
        "goal 300");
  print("  inside another range, sixth of its siblings",
        cost(10'000,
             [&](int i) {
               static constexpr const char* names[] = {"one", "two", "three", "four", "five", "six"};
               const profile::Range range(names[i < 6 ? i : 5]);
             }),
        "goal 300");
  print("launch of an empty kernel, plain", plain_launch, "");
  print("launch of an empty kernel, records on", cost(calls, launch), "");
  drain();
  profile::disable();
  print("launch of an empty kernel, records off again", cost(calls, launch), "");
  drain();
  std::printf("%s", profile::ranges_text().c_str());
  return 0;
}
