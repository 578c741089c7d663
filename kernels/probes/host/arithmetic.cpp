// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>
#include <type_traits>

#include "gpubench/work.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::probes {

std::string_view name_of(Isa isa) {
  constexpr std::array names = {std::string_view("baseline"), std::string_view("avx2"), std::string_view("avx512")};
  return names[static_cast<std::size_t>(isa)];
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas = {Isa::baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back(Isa::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      isas.push_back(Isa::avx512);
  }
#endif
  return isas;
}

Isa widest_isa() { return available_isas().back(); }

GPUBENCH_CHOOSE_BY_ISA(HostArithmetic, host_arithmetic, arithmetic)
GPUBENCH_CHOOSE_BY_ISA(HostKernels, host_kernels, kernels)
GPUBENCH_CHOOSE_BY_ISA(GemmKernels, gemm_kernels, gemms)

namespace {

// Units that take an instruction of full width every clock. x86-64: two for multiply-adds on every core so far, up to
// four for integers (Zen); the 128-bit units of AArch64 cores: four.
#if defined(__x86_64__)
constexpr int max_multiply_add_units = 2;
#else
constexpr int max_multiply_add_units = 4;
#endif
constexpr int max_integer_units = 4;

constexpr std::int64_t clock_rounds = 1600;  // 0.2 million clocks, about 0.07 ms: seldom interrupted
constexpr int clock_readings = 5;
constexpr double steady_clock_change = 0.003;

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

void run_rounds(const ArithmeticLoop& loop, std::int64_t rounds) {
  const double value = loop.run(rounds);
  asm volatile("" : : "m"(value));
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<ArithmeticLoop> arithmetic_loops(Isa isa) {
  const HostKernels& kernels = host_kernels(isa);
  const HostArithmetic& arithmetic = host_arithmetic(isa);
  std::vector<ArithmeticLoop> loops;
  const std::string_view multiply_adds = kernels.fused ? "fused multiply-adds" : "multiplications and additions";
  const int multiply_add_units = kernels.fused ? max_multiply_add_units : 0;
  const auto add = [&](std::string_view resource, std::string_view what, NumberFormat format, int operations,
                       int max_units, double (*run)(std::int64_t)) {
    ArithmeticLoop loop;
    loop.resource = resource;
    loop.what = what;
    loop.work_unit = operations == 2 && !is_integer(format) ? "FLOP" : "op";  // multiply-adds
    const std::size_t lanes = arithmetic.vector_bytes / bytes_of(format);
    const double vector = operations * static_cast<double>(lanes);
    loop.work_per_round = vector * static_cast<double>(arithmetic.accumulators);
    loop.max_units = max_units;
    loop.work_per_unit_and_clock = max_units > 0 ? vector : 0.0;
    loop.vector_bytes = arithmetic.vector_bytes;
    loop.accumulators = arithmetic.accumulators;
    loop.isa = name_of(isa);
    if (!is_integer(format)) loop.clock_isa = isa;
    loop.run = run;
    loops.push_back(std::move(loop));
  };
  using enum NumberFormat;
  add("fp32", multiply_adds, fp32, 2, multiply_add_units, arithmetic.fma_fp32);
  add("fp64", multiply_adds, fp64, 2, multiply_add_units, arithmetic.fma_fp64);
  add("int32", "additions of 32-bit integers", int32, 1, max_integer_units, arithmetic.int32_add);
  return loops;
}

ArithmeticSample arithmetic_sample(const ArithmeticLoop& loop, double seconds) {
  const HostKernels& kernels = host_kernels(loop.clock_isa);
  constexpr std::int64_t trial_rounds = 512;
  const auto once = [&] { return team_seconds([&](std::size_t) { run_rounds(loop, trial_rounds); }); };
  const double trial = std::min({once(), once(), once()});  // a thread that lost its core must not shorten the run
  const auto rounds = std::max<std::int64_t>(
      trial_rounds, std::llround(static_cast<double>(trial_rounds) * seconds / std::max(trial, 1e-9)));

  std::vector<double> ends(static_cast<std::size_t>(team_size()));
  std::vector<double> starts(ends.size());
  std::vector<double> clocks(ends.size());
  std::vector<double> changes(ends.size());
  const bool has_clock = kernels.clock_chain_cycles > 0;
  team_seconds([&](std::size_t thread) {
    const double before = has_clock ? clock_reading(kernels) : 0.0;
#pragma omp barrier
    starts[thread] = now_seconds();
    run_rounds(loop, rounds);
    ends[thread] = now_seconds();
    if (!has_clock) return;
    const double after = clock_reading(kernels);
    clocks[thread] = 0.5 * (before + after);
    changes[thread] = std::abs(after - before) / clocks[thread];
  });
  const double taken = *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());

  ArithmeticSample sample;
  sample.work = static_cast<double>(rounds) * loop.work_per_round * static_cast<double>(ends.size());
  sample.per_second = sample.work / taken;
  if (has_clock) sample.clock_hz = median_of(clocks);
  sample.steady = *std::max_element(changes.begin(), changes.end()) <= steady_clock_change;
  return sample;
}

std::optional<double> team_clock_hz(const HostKernels& kernels) {
  if (kernels.clock_chain_cycles == 0) return std::nullopt;
  std::vector<double> clocks(static_cast<std::size_t>(team_size()));
  team_seconds([&](std::size_t thread) { clocks[thread] = clock_reading(kernels); });
  return median_of(clocks);
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
