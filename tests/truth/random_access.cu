// SPDX-License-Identifier: Apache-2.0
// Random accesses by the probes of a calibration and by two published patterns, one after the other in one process:
// HPCC RandomAccess, whose places come from a shift register, and gathers through an array of indices, as libraries for
// sparse matrices do them. Prints a table in Markdown. Fails where the probe is over 5 % slower than the better of
// them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/cuda/handles.h"
#include "gpubench/vectors.h"
#include "kernels/probes/access_order.h"
#include "kernels/probes/cuda/memory.h"
#include "tests/truth/gpu_main.h"

namespace gpubench {
namespace {

using probes::RandomAccess;
using probes::sector_bytes;

constexpr int threads = 256;
constexpr int blocks_of_multiprocessor = 8;
constexpr int in_flight = 8;
constexpr double sample_seconds = 4e-3;
constexpr int samples = 9;
constexpr double tolerated = 0.95;
constexpr double mebibyte = 1024.0 * 1024.0;

/// The next number of HPCC's stream: times x modulo x^64 + x^2 + x + 1 over GF(2).
__host__ __device__ constexpr std::uint64_t next(std::uint64_t ran) { return ran << 1 ^ (ran >> 63 != 0 ? 7U : 0U); }

__host__ __device__ constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  for (; b != 0; b >>= 1, a = next(a))
    if ((b & 1) != 0) sum ^= a;
  return sum;
}

/// The number after so many steps: x to their power.
__host__ __device__ constexpr std::uint64_t stream_at(std::uint64_t steps) {
  std::uint64_t result = 1;
  for (std::uint64_t power = 2; steps != 0; steps >>= 1, power = product(power, power))
    if ((steps & 1) != 0) result = product(result, power);
  return result;
}
static_assert(stream_at(0) == 1 && stream_at(64) == 7 && next(stream_at(1000)) == stream_at(1001));

__global__ void starts_kernel(std::uint64_t* starts, std::uint64_t steps_of_thread) {
  const std::uint64_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  starts[thread] = stream_at(thread * steps_of_thread);
}

template <RandomAccess access>
__global__ void __launch_bounds__(threads)
    hpcc_kernel(unsigned long long* table, std::uint64_t mask, const std::uint64_t* starts, std::int64_t loops,
                unsigned long long* sink) {
  std::uint64_t ran = starts[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned long long sum = 0;
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    unsigned long long v[in_flight] = {};
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      ran = next(ran);
      if constexpr (access == RandomAccess::update)
        atomicXor(table + (ran & mask), ran);
      else
        v[k] = table[ran & mask];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) sum ^= v[k];
  }
  if (access == RandomAccess::read && sum == 0x9E3779B97F4A7C15U) *sink = sum;
}

__global__ void indices_kernel(std::uint32_t* indices, std::uint32_t count, std::uint32_t elements) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    indices[i] = probes::random_sector(i, elements);
}

/// Indices 16 bytes at a time, their elements 4 bytes each.
__global__ void __launch_bounds__(threads)
    gather_kernel(const float* __restrict__ data, const uint4* __restrict__ indices, std::uint32_t quads,
                  std::int64_t loops, float* sink) {
  float sum = 0.0F;
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop)
#pragma unroll 2
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
      const uint4 at = indices[i];
      sum += (data[at.x] + data[at.y]) + (data[at.z] + data[at.w]);
    }
  if (sum == 1.2345678e30F) *sink = sum;
}

class Bench {
 public:
  explicit Bench(std::size_t largest)
      : multiprocessors_(device_attribute(cudaDevAttrMultiProcessorCount)),
        data_(largest),
        clock_(static_cast<std::size_t>(multiprocessors_ * probes::max_blocks)),
        sink_(2),
        starts_(static_cast<std::size_t>(grid()) * threads),
        indices_(std::size_t{1} << 27) {
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(data_.data(), 0, data_.bytes(), stream_.get()));
    starts_kernel<<<grid(), threads, 0, stream_.get()>>>(starts_.data(), std::uint64_t{1} << 32);
    check_launch("starts_kernel");
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  }

  /// Accesses a second of the fastest shape, as a calibration chooses it.
  double probe(RandomAccess access, std::size_t bytes) {
    double best = 0.0;
    for (const auto shape : probes::random_shapes(access))
      best =
          std::max(best, rate([&](std::int64_t loops) {
                     return probes::launch_random(access, shape, data_.data(), bytes,
                                                  {loops, multiprocessors_, clock_.data(), sink_.data(), stream_.get()})
                         .work;
                   }));
    return best;
  }

  double hpcc(RandomAccess access, std::size_t bytes) {
    const auto kernel =
        access == RandomAccess::read ? hpcc_kernel<RandomAccess::read> : hpcc_kernel<RandomAccess::update>;
    return rate([&](std::int64_t loops) {
      kernel<<<grid(), threads, 0, stream_.get()>>>(reinterpret_cast<unsigned long long*>(data_.data()),
                                                    bytes / sizeof(std::uint64_t) - 1, starts_.data(), loops,
                                                    reinterpret_cast<unsigned long long*>(sink_.data()));
      check_launch("hpcc_kernel");
      return static_cast<double>(in_flight) * grid() * threads * static_cast<double>(loops);
    });
  }

  /// `small`: few enough indices that they stay in L2 beside the data.
  double gather(std::size_t bytes, bool small) {
    const auto count = static_cast<std::uint32_t>(small ? indices_.size() / 64 : indices_.size());
    indices_kernel<<<grid(), threads, 0, stream_.get()>>>(indices_.data(), count,
                                                          static_cast<std::uint32_t>(bytes / sizeof(float)));
    check_launch("indices_kernel");
    return rate([&](std::int64_t loops) {
      gather_kernel<<<grid(), threads, 0, stream_.get()>>>(reinterpret_cast<const float*>(data_.data()),
                                                           reinterpret_cast<const uint4*>(indices_.data()), count / 4,
                                                           loops, reinterpret_cast<float*>(sink_.data()));
      check_launch("gather_kernel");
      return static_cast<double>(count) * static_cast<double>(loops);
    });
  }

 private:
  [[nodiscard]] unsigned grid() const { return static_cast<unsigned>(multiprocessors_ * blocks_of_multiprocessor); }

  /// Accesses a second, the median of some samples of at least 4 ms. `launch` does so many loops and tells its
  /// accesses.
  double rate(const std::function<double(std::int64_t)>& launch) {
    std::int64_t loops = 1;
    const auto once = [&] {
      start_.record(stream_.get());
      const double accesses = launch(loops);
      stop_.record(stream_.get());
      stop_.wait();
      return std::pair(accesses, stop_.seconds_since(start_));
    };
    once();
    while (once().second < sample_seconds) loops *= 2;
    std::vector<double> rates;
    for (int i = 0; i < samples; ++i) {
      const auto [accesses, seconds] = once();
      rates.push_back(accesses / seconds);
    }
    std::ranges::nth_element(rates, rates.begin() + samples / 2);
    return rates[samples / 2];
  }

  bench::OwnedStream stream_;
  bench::CudaEvent start_;
  bench::CudaEvent stop_;
  int multiprocessors_;
  DeviceVector<std::byte> data_;
  DeviceVector<probes::ClockReading> clock_;
  DeviceVector<double> sink_;
  DeviceVector<std::uint64_t> starts_;
  DeviceVector<std::uint32_t> indices_;
};

std::string text(const char* format, const std::optional<double>& value) {
  if (!value) return "-";
  std::array<char, 32> buffer{};
  (void)std::snprintf(buffer.data(), buffer.size(), format, *value);
  return buffer.data();
}

int run() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  const auto l2 = static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize));
  const std::size_t large = std::bit_floor(std::min(std::size_t{8} << 30, free_bytes / 2));
  std::vector<std::size_t> sets = {std::bit_floor(l2 / 8), std::bit_floor(l2 / 2), l2 / 2, large};
  sets.erase(std::ranges::unique(sets).begin(), sets.end());
  Bench bench(large);
  bool good = true;
  std::puts("Sectors of 32 bytes from random places, GB/s, and updates of 8 bytes, 10^9/s; medians of 9.\n");
  std::puts("| working set | access | probe | HPCC RandomAccess | gather by indices | probe / best |");
  std::puts("|---|---|---|---|---|---|");
  for (const std::size_t bytes : sets)
    for (const auto access : {RandomAccess::read, RandomAccess::update}) {
      const bool reads = access == RandomAccess::read;
      const double factor = reads ? 1e-9 * sector_bytes : 1e-9;
      const double probe = factor * bench.probe(access, bytes);
      std::optional<double> hpcc;
      std::optional<double> gather;
      if (std::has_single_bit(bytes)) hpcc = factor * bench.hpcc(access, bytes);
      if (reads) gather = factor * bench.gather(bytes, bytes <= l2);
      const double best = std::max(hpcc.value_or(0.0), gather.value_or(0.0));
      good = good && probe >= tolerated * best;
      std::printf("| %.0f MiB | %s | %.1f | %s | %s | %s |\n", static_cast<double>(bytes) / mebibyte,
                  reads ? "read" : "update", probe, text("%.1f", hpcc).c_str(), text("%.1f", gather).c_str(),
                  text("%.3f", best > 0.0 ? std::optional(probe / best) : std::nullopt).c_str());
    }
  if (!good) std::puts("\nThe probe is more than 5 % slower than a published pattern.");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gpubench

int main() { return gpubench::truth::gpu_main("random_access", gpubench::run); }
