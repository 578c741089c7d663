// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "bench/cuda/check.h"
#include "statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

constexpr std::uint64_t clock_nanoseconds = 200'000;
constexpr double most_seconds_beside = 2e-3;

std::size_t room_for(int multiprocessors) {
  return static_cast<std::size_t>(std::max(probes::fma_blocks(probes::FmaType::fp32, multiprocessors),
                                           probes::fma_blocks(probes::FmaType::fp64, multiprocessors)));
}

void read_beside(Probe& probe, double seconds, Timer& timer, SmClock& clock) {
  const auto hertz = clock.during(probe.enqueue, seconds, timer);
  if (hertz) ++probe.clocks_beside;
  probe.clocks.push_back(hertz ? *hertz : clock.now());
}

}  // namespace

Timer::Timer(cudaStream_t stream) : stream_(stream) {
  GPUBENCH_CUDA_CHECK(cudaEventCreate(&start_));
  if (const cudaError_t error = cudaEventCreate(&stop_); error != cudaSuccess) {
    (void)cudaEventDestroy(start_);
    check_cuda(error, "cudaEventCreate");
  }
}

Timer::~Timer() {
  (void)cudaEventDestroy(start_);
  (void)cudaEventDestroy(stop_);
}

double Timer::seconds(const std::function<void()>& enqueue) {
  GPUBENCH_CUDA_CHECK(cudaEventRecord(start_, stream_));
  enqueue();
  GPUBENCH_CUDA_CHECK(cudaEventRecord(stop_, stream_));
  GPUBENCH_CUDA_CHECK(cudaEventSynchronize(stop_));
  float milliseconds = 0.0F;
  GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
  return static_cast<double>(milliseconds) * 1e-3;
}

SmClock::SmClock(cudaStream_t stream, int multiprocessors)
    : stream_(stream), multiprocessors_(multiprocessors), readings_(room_for(multiprocessors)) {
  GPUBENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
}

SmClock::~SmClock() { (void)cudaStreamDestroy(side_); }

double SmClock::read(int count) {
  std::vector<probes::ClockReading> readings(static_cast<std::size_t>(count));
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  detail::copy_from_device(readings.data(), readings_.data(), readings.size() * sizeof(probes::ClockReading));
  return probes::mean_hertz(readings);
}

double SmClock::now() {
  GPUBENCH_CUDA_CHECK(probes::launch_clock(clock_nanoseconds, multiprocessors_, readings_.data(), stream_));
  return read(multiprocessors_);
}

std::optional<double> SmClock::during(const std::function<void()>& enqueue, double seconds, Timer& timer) {
  const double beside = std::min(0.4 * seconds, most_seconds_beside);
  GPUBENCH_CUDA_CHECK(
      probes::launch_clock(static_cast<std::uint64_t>(1e9 * beside), multiprocessors_, readings_.data(), side_));
  const double together = timer.seconds(enqueue);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(side_));
  if (together > seconds + 0.5 * beside) return std::nullopt;  // it had to wait for the readers to end
  return read(multiprocessors_);
}

void sample(Probe& probe, Timer& timer, SmClock& clock) {
  if (!probe.failure.empty()) return;
  try {
    std::this_thread::sleep_for(std::chrono::duration<double>(probe.rest_seconds));
    const double seconds = timer.seconds(probe.enqueue);
    probe.rates.push_back(probe.work / seconds);
    if (probe.clock_readings > 0)
      probe.clocks.push_back(clock.read(probe.clock_readings));
    else
      read_beside(probe, seconds, timer, clock);
  } catch (const CudaError& error) {
    probe.failure = error.what();
  }
}

void sustain(Probe& probe, double seconds, Timer& timer, SmClock& clock) {
  if (!probe.failure.empty()) return;
  try {
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    std::vector<double> rates;
    double took = 0.0;
    while (passed() < seconds) {
      took = timer.seconds(probe.enqueue);
      if (passed() > 0.5 * seconds) rates.push_back(probe.work / took);
    }
    if (rates.empty()) return;
    const auto beside = clock.during(probe.enqueue, took, timer);
    probe.method += fmt::format("; without rest, in the second half of {:.1f} s: {:.1f} TFLOP/s at {:.0f} MHz", seconds,
                                1e-12 * statistics::median(rates), 1e-6 * (beside ? *beside : clock.now()));
  } catch (const CudaError& error) {
    probe.failure = error.what();
  }
}

std::string clock_text(const Probe& probe) {
  if (probe.clock_readings > 0) return "clock read in the probe's kernel on all multiprocessors";
  if (2 * probe.clocks_beside > static_cast<int>(probe.clocks.size()))
    return "clock read on all multiprocessors by a thread beside a repetition of each sample";
  return "clock read in a kernel right after each sample, so perhaps higher than during it";
}

Ceiling ceiling_of(const Probe& probe) {
  Ceiling ceiling;
  ceiling.resource = probe.resource;
  ceiling.unit = probe.unit;
  ceiling.value = statistics::median(probe.rates);
  std::vector<double> sorted = probe.rates;
  std::sort(sorted.begin(), sorted.end());
  ceiling.ci95 = statistics::median_ci95(sorted);
  ceiling.repeats = static_cast<int>(probe.rates.size());
  ceiling.method = probe.method;
  if (!probe.clocks.empty())
    if (const double clock = statistics::median(probe.clocks); clock > 0.0) ceiling.clock_hz = clock;
  ceiling.theoretical_limit = probe.limit;
  if (probe.limit_for_a_clock && ceiling.clock_hz)
    ceiling.theoretical_limit = *probe.limit_for_a_clock * *ceiling.clock_hz;
  return ceiling;
}

}  // namespace gpubench::calibrate
