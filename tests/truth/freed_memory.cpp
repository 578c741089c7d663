// SPDX-License-Identifier: Apache-2.0
// How long a GPU's memory is slower after some of it was freed, because the driver clears it in the background: copies
// in DRAM, one after the other, from the moment of the cudaFree on. Prints Markdown.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/cuda/handles.h"
#include "gpu/memory/memory.h"
#include "gpu/memory/scrubbing.h"
#include "tests/truth/gpu_main.h"

namespace gpubench {
namespace {

constexpr std::size_t gibibyte = std::size_t{1} << 30;
constexpr std::size_t copied_bytes = gibibyte / 2;
constexpr int copies_each = 4;  ///< about a millisecond on an H200
constexpr double watched_seconds = 0.4;
constexpr double noticeable = 0.96;

class Memory {
 public:
  explicit Memory(std::size_t bytes) {
    GPUBENCH_CUDA_CHECK(cudaMalloc(&memory_, bytes));
    const cudaError_t error = cudaMemset(memory_, 1, bytes);
    if (error != cudaSuccess) (void)cudaFree(memory_);
    check_cuda(error, "cudaMemset");
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  }
  ~Memory() { free(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void free() {
    (void)cudaFree(memory_);
    memory_ = nullptr;
  }
  [[nodiscard]] void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

struct Sample {
  double seconds;  ///< since the watch began
  double bytes_per_second;
};

class Watch {
 public:
  Watch() : from_(copied_bytes), to_(copied_bytes) {}
  std::vector<Sample> now(double seconds) {
    std::vector<Sample> samples;
    const double begin = steady_seconds();
    while (steady_seconds() < begin + seconds) {
      const double at = steady_seconds() - begin;
      start_.record(stream_.get());
      for (int i = 0; i < copies_each; ++i)
        GPUBENCH_CUDA_CHECK(
            cudaMemcpyAsync(to_.get(), from_.get(), copied_bytes, cudaMemcpyDeviceToDevice, stream_.get()));
      stop_.record(stream_.get());
      stop_.wait();
      samples.push_back({at, 2.0 * copies_each * static_cast<double>(copied_bytes) / stop_.seconds_since(start_)});
    }
    return samples;
  }

 private:
  Memory from_;
  Memory to_;
  bench::OwnedStream stream_;
  bench::CudaEvent start_;
  bench::CudaEvent stop_;
};

double median_rate(const std::vector<Sample>& samples, double from, double to) {
  std::vector<double> rates;
  for (const Sample& sample : samples)
    if (sample.seconds >= from && sample.seconds < to) rates.push_back(sample.bytes_per_second);
  return rates.empty() ? 0.0 : statistics::median(rates);
}

void print() {
  Watch watch;
  (void)watch.now(0.05);
  const double quiet = median_rate(watch.now(0.2), 0.0, 1.0);
  fmt::print(
      "Copies of 512 MiB within DRAM, bytes read and written, median: {:.3f} TB/s with nothing freed.\n\n"
      "| freed, GiB | slower for, ms | TB/s meanwhile | of the quiet rate | TB/s after | cleared at, TB/s "
      "| gpubench waits, ms |\n|---|---|---|---|---|---|---|\n",
      1e-12 * quiet);
  for (const std::size_t gibibytes : {4U, 12U, 32U, 64U}) {
    const std::size_t bytes = gibibytes * gibibyte;
    try {
      Memory memory(bytes);
      memory.free();
    } catch (const CudaError& error) {
      (void)cudaGetLastError();
      fmt::print("| {} | not tried: {} | | | | | |\n", gibibytes, error.what());
      continue;
    }
    const auto samples = watch.now(watched_seconds);
    double end = 0.0;
    for (const Sample& sample : samples)
      if (sample.bytes_per_second < noticeable * quiet && sample.seconds < end + 0.02) end = sample.seconds;
    const double after = median_rate(samples, std::max(end, 0.75 * watched_seconds), watched_seconds);
    const double waited = 1e3 * static_cast<double>(bytes) / bench::Scrubbing::bytes_per_second;
    if (end == 0.0)
      fmt::print("| {} | not seen to be slower | | | {:.3f} | | {:.0f} |\n", gibibytes, 1e-12 * after, waited);
    else
      fmt::print("| {} | {:.0f} | {:.3f} | {:.1f} % | {:.3f} | {:.2f} | {:.0f} |\n", gibibytes, 1e3 * end,
                 1e-12 * median_rate(samples, 0.0, end), 100.0 * median_rate(samples, 0.0, end) / quiet, 1e-12 * after,
                 1e-12 * static_cast<double>(bytes) / end, waited);
  }
}

}  // namespace
}  // namespace gpubench

int main() {
  return gpubench::truth::gpu_main("freed_memory", [] {
    gpubench::print();
    return 0;
  });
}
