// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_compute_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <random>
#include <type_traits>

#include "kernels/probes/host_team.h"

namespace gpubench::probes {
namespace {

constexpr std::int64_t clock_rounds = 1600;  // 0.2 million clocks, about 0.07 ms: seldom interrupted
constexpr int clock_readings = 5;

double clock_reading(const HostKernels& kernels) {
  std::array<double, clock_readings> clocks{};
  for (auto& clock : clocks) {
    const double start = now_seconds();
    const std::uint64_t sum = kernels.clock_chain(clock_rounds);
    asm volatile("" : : "r"(sum));
    clock = static_cast<double>(clock_rounds * kernels.clock_chain_cycles) / (now_seconds() - start);
  }
  std::nth_element(clocks.begin(), clocks.begin() + clock_readings / 2, clocks.end());
  return clocks[clock_readings / 2];
}

void fma_rounds(const HostKernels& kernels, Precision precision, std::int64_t rounds) {
  if (precision == Precision::fp32) {
    const float value = kernels.fma_fp32(rounds);
    asm volatile("" : : "m"(value));
  } else {
    const double value = kernels.fma_fp64(rounds);
    asm volatile("" : : "m"(value));
  }
}

/// Processor time of all threads of this process.
double processor_seconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double lanes(const HostKernels& kernels, Precision precision) {
  const std::size_t element_bytes = precision == Precision::fp32 ? sizeof(float) : sizeof(double);
  return static_cast<double>(kernels.vector_bytes) / static_cast<double>(element_bytes);
}

}  // namespace

FmaSample fma_sample(const HostKernels& kernels, Precision precision, double seconds) {
  constexpr std::int64_t trial_rounds = 4096;
  const double trial = team_seconds([&](std::size_t) { fma_rounds(kernels, precision, trial_rounds); });
  const auto rounds = std::max<std::int64_t>(
      trial_rounds, std::llround(static_cast<double>(trial_rounds) * seconds / std::max(trial, 1e-9)));

  std::vector<double> ends(static_cast<std::size_t>(team_size()));
  std::vector<double> starts(ends.size());
  std::vector<double> clocks(ends.size());
  team_seconds([&](std::size_t thread) {
    starts[thread] = now_seconds();
    fma_rounds(kernels, precision, rounds);
    ends[thread] = now_seconds();
    if (kernels.clock_chain_cycles > 0) clocks[thread] = clock_reading(kernels);
  });
  const double taken = *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());

  FmaSample sample;
  sample.flops_per_second = static_cast<double>(rounds * kernels.fma_accumulators) * 2.0 * lanes(kernels, precision) *
                            static_cast<double>(ends.size()) / taken;
  if (kernels.clock_chain_cycles > 0) {
    std::nth_element(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2), clocks.end());
    sample.clock_hz = clocks[clocks.size() / 2];
  }
  return sample;
}

Presence::Presence() : wall_start_(now_seconds()), processor_start_(processor_seconds()) {}

double Presence::share() const {
  const double wall = (now_seconds() - wall_start_) * team_size();
  return wall > 0.0 ? std::min(1.0, (processor_seconds() - processor_start_) / wall) : 1.0;
}

double flops_per_port_and_clock(const HostKernels& kernels, Precision precision) {
  return lanes(kernels, precision) * (kernels.fused ? 2.0 : 1.0);
}

template <class Element>
GemmProbe<Element>::GemmProbe(Isa isa, std::int64_t n)
    : kernels_(gemm_kernels(isa)), n_(n), a_(static_cast<std::size_t>(n * n)), b_(a_.size()), c_(a_.size()) {
  std::minstd_rand generator(1);
  const auto draw = [&] { return static_cast<Element>(2.0 * static_cast<double>(generator()) / 2147483647.0 - 1.0); };
  std::generate(a_.begin(), a_.end(), draw);
  std::generate(b_.begin(), b_.end(), draw);
}

template <class Element>
double GemmProbe<Element>::flops_per_second() {
  const double start = now_seconds();
  if constexpr (std::is_same_v<Element, double>)
    kernels_.fp64(a_.data(), b_.data(), c_.data(), n_);
  else
    kernels_.fp32(a_.data(), b_.data(), c_.data(), n_);
  const auto order = static_cast<double>(n_);
  return 2.0 * order * order * order / (now_seconds() - start);
}

template class GemmProbe<float>;
template class GemmProbe<double>;

}  // namespace gpubench::probes
