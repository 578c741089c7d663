// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "kernel_trace/cost_loop.cuh"
#include "kernel_trace/probes.h"

namespace gpubench::kernel_trace {
namespace {

/// Memory of both, freed at the end.
template <class T>
class Shared {
 public:
  explicit Shared(std::size_t count) {
    GPUBENCH_TRACE_CHECK(cudaHostAlloc(&memory_, count * sizeof(T), cudaHostAllocMapped));
    std::fill_n(memory_, count, T());
  }
  ~Shared() { (void)cudaFreeHost(memory_); }
  Shared& operator=(Shared&&) = delete;  ///< not copied, not moved
  [[nodiscard]] T* data() const { return memory_; }
  [[nodiscard]] T read(std::size_t at) const { return *static_cast<volatile T*>(memory_ + at); }
  void write(std::size_t at, T value) { *static_cast<volatile T*>(memory_ + at) = value; }

 private:
  T* memory_ = nullptr;
};

class OwnStream {
 public:
  OwnStream() { GPUBENCH_TRACE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~OwnStream() { (void)cudaStreamDestroy(stream_); }
  OwnStream& operator=(OwnStream&&) = delete;  ///< not copied, not moved
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

__global__ void two_readings(detail::ClockPair* pairs, std::uint64_t apart_ns) {
  (void)detail::read_clocks();
  const detail::ClockPair first = detail::read_clocks();
  detail::ClockPair last = first;
  while (last.ns - first.ns < apart_ns) last = detail::read_clocks();
  pairs[0] = first;
  pairs[1] = last;
}

/// How far apart the two stamps of an empty scope are.
__global__ void empty_scopes(std::uint64_t* clocks) {
  std::uint64_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < cost_iterations; ++i) {
    const std::uint32_t start = detail::clock_low();
    sum += detail::clock_low() - start;
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = sum;
}

constexpr unsigned rounds = 50, leave = 1U << 31;

/// Answers each call with the timer. The host's memory is asked again and again, so it must be volatile.
__global__ void answer(volatile unsigned* call, volatile unsigned long long* answers) {
  for (unsigned i = 0; i < rounds; ++i) {
    unsigned asked = *call;
    while (asked <= i) asked = *call;
    if (asked == leave) return;
    answers[i] = detail::global_ns();
    __threadfence_system();
  }
}

std::int64_t host_ns() {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The least of several launches, of which others may disturb any.
template <class Warp, CostOf what>
double least_clocks(Buffer& buffer, int blocks, int threads, Shared<std::uint64_t>& clocks, cudaStream_t stream) {
  double best = INFINITY;
  const View view = buffer.view();
  for (int i = 0; i < 5; ++i) {
    buffer.reset(stream);
    cost_loop<Warp, what>
        <<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(view, clocks.data(), nullptr);
    GPUBENCH_TRACE_CHECK(cudaGetLastError());
    GPUBENCH_TRACE_CHECK(cudaStreamSynchronize(stream));
    best = std::min(best, mean_clocks_of_sms({clocks.data(), static_cast<std::size_t>(3 * blocks * threads / 32)}));
  }
  return best;
}

}  // namespace

std::optional<Rate> measure_rate() {
  const OwnStream stream;
  const Shared<detail::ClockPair> pairs(2);
  two_readings<<<1, 1, 0, stream.get()>>>(pairs.data(), 1'000'000);
  GPUBENCH_TRACE_CHECK(cudaGetLastError());
  GPUBENCH_TRACE_CHECK(cudaStreamSynchronize(stream.get()));
  const detail::ClockPair first = pairs.data()[0], last = pairs.data()[1];
  if (last.clock <= first.clock || last.ns <= first.ns) return std::nullopt;
  const double ticks = static_cast<double>(last.clock - first.clock);
  return Rate{.ns_per_tick = static_cast<double>(last.ns - first.ns) / ticks, .error = 32.0 / std::sqrt(6.0) / ticks};
}

std::optional<HostMoment> measure_host_clock() {
  const OwnStream stream;
  Shared<unsigned> call(1);
  const Shared<unsigned long long> answers(rounds);
  answer<<<1, 1, 0, stream.get()>>>(call.data(), answers.data());
  GPUBENCH_TRACE_CHECK(cudaGetLastError());
  std::optional<HostMoment> best;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (unsigned i = 0; i < rounds; ++i) {
    const std::int64_t before = host_ns();
    call.write(0, i + 1);
    unsigned long long at = 0;
    while ((at = answers.read(i)) == 0 && std::chrono::steady_clock::now() < deadline) {
    }
    const std::int64_t after = host_ns();
    if (at == 0) break;
    const HostMoment moment = {static_cast<std::int64_t>(at), before + (after - before) / 2, (after - before + 1) / 2};
    if (!best || moment.error_ns < best->error_ns) best = moment;
  }
  call.write(0, leave);
  GPUBENCH_TRACE_CHECK(cudaStreamSynchronize(stream.get()));
  return best;
}

EventCost measure_event_cost(int warps_on_each_sm, cudaStream_t stream) {
  int device = 0, sms = 0, max_warps = 0;
  GPUBENCH_TRACE_CHECK(cudaGetDevice(&device));
  GPUBENCH_TRACE_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  GPUBENCH_TRACE_CHECK(cudaDeviceGetAttribute(&max_warps, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  max_warps /= 32;
  const int warps = std::clamp(warps_on_each_sm, 1, max_warps);
  const int blocks_of_sm = (warps + 31) / 32, warps_of_block = (warps + blocks_of_sm - 1) / blocks_of_sm;
  const int blocks = sms * blocks_of_sm, threads = warps_of_block * 32;
  Buffer buffer({.blocks = static_cast<std::uint32_t>(blocks),
                 .warps = static_cast<std::uint32_t>(warps_of_block),
                 .events = 2 * cost_iterations});
  Shared<std::uint64_t> clocks(3 * static_cast<std::size_t>(blocks) * static_cast<std::size_t>(warps_of_block));
  const double with = least_clocks<BasicWarp<true>, CostOf::begin_and_end>(buffer, blocks, threads, clocks, stream);
  const double without = least_clocks<NoWarp, CostOf::begin_and_end>(buffer, blocks, threads, clocks, stream);
  const double alone = least_clocks<BasicWarp<true>, CostOf::ends_alone>(buffer, blocks, threads, clocks, stream);
  empty_scopes<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(clocks.data());
  GPUBENCH_TRACE_CHECK(cudaGetLastError());
  GPUBENCH_TRACE_CHECK(cudaStreamSynchronize(stream));
  const auto empty = static_cast<double>(clocks.read(0));
  const auto rate = measure_rate();
  if (!rate) throw CudaError("the GPU's timer did not move while its clock was measured.");
  const double each = rate->ns_per_tick / (2.0 * cost_iterations);
  return {.event_ns = std::max(with - without, 0.0) * each,
          .interval_ns = alone * each,
          .scope_ns = empty / cost_iterations * rate->ns_per_tick,
          .warps = blocks_of_sm * warps_of_block};
}

}  // namespace gpubench::kernel_trace
