// SPDX-License-Identifier: Apache-2.0
// Kernels that nobody designed: what each unit of a GPU does, and what is left of the time, are drawn at random. The
// simulator shares nothing with the classifier's model: time is given, and the truth is the rule of
// tests/truth/library_truth.py, by the units. What the user declares may be wrong, and counters may be missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>

#include "classifier/classifier.h"
#include "core/model/resources.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

enum class Counted { nothing, bytes, units, some_units };

/// What a unit does at its peak; ceilings are what a probe reaches of that.
struct SimulatedUnit {
  const char* counter;
  Regime regime;
};
constexpr std::array<SimulatedUnit, 14> simulated_units = {{{"dram_busy", Regime::memory},
                                                            {"l2_tags_busy", Regime::memory},
                                                            {"l2_fabric_busy", Regime::memory},
                                                            {"l1_data_busy", Regime::memory},
                                                            {"shared_busy", Regime::memory},
                                                            {"lsu_busy", Regime::memory},
                                                            {"sm_input_busy", Regime::memory},
                                                            {"l2_atomics_hottest_busy", Regime::memory},
                                                            {"issue_busy", Regime::compute},
                                                            {"fma_busy", Regime::compute},
                                                            {"alu_busy", Regime::compute},
                                                            {"fp64_busy", Regime::compute},
                                                            {"special_busy", Regime::compute},
                                                            {"tensor_busy", Regime::compute}}};

struct SimulatedPoint {
  Measurement measurement;
  std::set<Regime> right;
};

class Adversary {
 public:
  explicit Adversary(std::uint64_t seed) : random_(seed), calibration_(gpu_that_starts_blocks()) {
    calibration_.ceilings.push_back(ceiling("shared", 30e12));
    calibration_.ceilings.push_back(ceiling("latency-dram", 0.6e-6));
    calibration_.ceilings.push_back(ceiling("special", 10e12));
    for (auto& each : calibration_.ceilings)
      if (find_resource(each.resource)->pipe) each.clock_hz = clock_hz;
  }

  [[nodiscard]] const Calibration& calibration() const { return calibration_; }

  SimulatedPoint point(Counted counted) {
    constexpr double of_peak = 0.93;  // that a probe reaches
    const double device = log_uniform(0.4e-6, 20e-3);
    const double clock = chance(0.1) ? uniform(0.7, 0.95) : 1.0;
    // A few blocks keep no unit of the chip busy.
    const auto blocks = static_cast<std::int64_t>(log_uniform(1.0, 1e5));
    const double of_each = static_cast<double>(blocks) / 100.0;  // multiprocessors
    auto busy = shares(0.99 * of_each / std::ceil(of_each));
    const double dram_peak = 4e12 / of_peak, l2_peak = 8e12 / of_peak;
    const double dram_bytes = busy["dram_busy"] * dram_peak * device;
    busy["l2_tags_busy"] = std::max(busy["l2_tags_busy"], dram_bytes / l2_peak / device);
    const double l2_bytes = busy["l2_tags_busy"] * l2_peak * device;
    const double l1_bytes = chance(0.1) ? 0.1 * l2_bytes : l2_bytes * log_uniform(1.0, 4.0);  // bulk copies pass it by
    const double fp32_flops = busy["fma_busy"] * uniform(0.2, 1.0) * 40e12 * clock / of_peak * device;
    const double fp64_flops = busy["fp64_busy"] * 20e12 * clock / of_peak * device;
    const double tensor_flops = busy["tensor_busy"] * 800e12 * clock / of_peak * device;

    const std::int64_t kernels = chance(0.2) ? static_cast<std::int64_t>(uniform(2.0, 8.0)) : 1;
    const double launching = static_cast<double>(kernels) * 2e-6;
    const double stream = device + launching * uniform(0.8, 1.05);
    Work declared;
    const double moved = chance(0.7) ? dram_bytes : l2_bytes;
    if (!chance(0.1)) {
      declared = streaming(moved * uniform(0.2, 0.8), 0.0);
      declared.bytes_written = moved - declared.bytes_read;
      const double wrong = wrongly();
      declared.bytes_read *= wrong;
      declared.bytes_written *= wrong;
      declared.footprint_bytes = std::max(declared.bytes() * log_uniform(0.01, 1.0), 32.0);
    }
    for (const auto& [pipe, flops] : {std::pair(fp32, fp32_flops), {fp64, fp64_flops}, {tensor_bf16, tensor_flops}})
      if (flops > 0.02 * device * 1e12 && !chance(0.3)) declared.flops[pipe] = flops * wrongly();

    SimulatedPoint result;
    Measurement& m = result.measurement = measured(stream * std::exp(0.01 * normal()), declared);
    m.make_primary().clock = TimingMode::stream;
    m.clock_hz = clock * clock_hz;
    if (clock < 1.0 && chance(0.7)) m.conditions.emplace().throttle_reasons = {"power cap"};
    if (!chance(0.1)) {
      m.timings.push_back(measured(device * std::exp(0.01 * normal()), {}).primary());
      m.timings.back().clock = TimingMode::device;
    }
    double starting = 0.0;
    if (!chance(0.2)) {
      m.launches = Launches{kernels, blocks, std::max<std::int64_t>(blocks - 100, 0)};
      starting = static_cast<double>(m.launches->later_blocks) * 1e-9 / device;
      if (starting > 1.0) m.launches->later_blocks = 0, starting = 0.0;
      if (kernels == 1 && !chance(0.3)) m.grid = Grid{blocks, static_cast<std::int64_t>(uniform(1.0, 16.0))};
    }
    if (counted != Counted::nothing) {
      const auto count = [&](const char* name, double value) {
        if (counted == Counted::some_units && chance(0.3))
          m.absent_counters.push_back({name, "refused"});
        else
          m.counters.push_back({name, value * std::exp(0.01 * normal()), "", "simulated"});
      };
      const double written = uniform(0.2, 0.8);
      count("dram_read_bytes", (1.0 - written) * dram_bytes);
      count("dram_write_bytes", written * dram_bytes);
      count("l2_bytes", l2_bytes);
      count("l1_bytes", l1_bytes);
      const double active = uniform(0.7, 1.0);
      count("sm_active_cycles", active * device * *m.clock_hz);
      count("sm_clock", *m.clock_hz);
      count("issue_active", std::min(100.0 * busy["issue_busy"] / active, 99.0));
      count("flops_fp32", fp32_flops);
      count("flops_fp64", fp64_flops);
      count("flops_tensor_bf16", tensor_flops);
      if (counted != Counted::bytes) {
        for (const auto& unit : simulated_units) count(unit.counter, 100.0 * busy[unit.counter]);
        count("l2_atomics_busy", 100.0 * busy["l2_atomics_hottest_busy"] * (chance(0.5) ? 0.01 : 1.0));
        for (const char* const stall :
             {"stalled_by_memory", "stalled_by_shared", "stalled_by_barrier", "stalled_by_dependency"})
          count(stall, log_uniform(0.01, 20.0));
      }
    }
    result.right = truth({launching / stream, 1.0 - device / stream}, busy, starting);
    return result;
  }

 private:
  static constexpr double clock_hz = 1.9e9;

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
  double normal() { return std::normal_distribution<double>(0.0, 1.0)(random_); }
  bool chance(double share) { return uniform(0.0, 1.0) < share; }
  /// By what a user is off: mostly nothing.
  double wrongly() {
    const double kind = uniform(0.0, 1.0);
    return kind < 0.7 ? 1.0 : kind < 0.85 ? uniform(0.125, 0.9) : uniform(1.1, 4.0);
  }

  /// One unit leads, a quarter of the time another is within ten per cent of it, and the rest do less.
  std::map<std::string, double> shares(double max) {
    std::map<std::string, double> busy;
    const double most = uniform(0.02 * max, max);
    const auto any = [&] {
      return simulated_units[static_cast<std::size_t>(uniform(0.0, simulated_units.size()))].counter;
    };
    for (const auto& unit : simulated_units)
      busy[unit.counter] = chance(0.5) ? 0.0 : most * std::pow(uniform(0.0, 0.9), 2);
    busy[any()] = most;
    if (chance(0.25)) busy[any()] = most * uniform(0.9, 1.0);
    return busy;
  }

  /// Every regime that is right: near an edge both sides are.
  static std::set<Regime> truth(const Interval& launch_share, const std::map<std::string, double>& busy,
                                double starting) {
    constexpr double near = 0.04;
    std::set<Regime> right;
    const auto [low, high] = std::minmax(launch_share.low, launch_share.high);
    if (high >= 0.5 - near) right.insert(Regime::overhead);
    if (low >= 0.5 + near) return right;
    double most = starting;
    for (const auto& [unit, share] : busy) most = std::max(most, share);
    if (most < 0.8 + near) right.insert(Regime::latency);
    if (most < 0.6 - near) return right;
    if (starting >= most - 0.1) right.insert(Regime::overhead);
    for (const auto& unit : simulated_units)
      if (busy.at(unit.counter) >= most - 0.1) right.insert(unit.regime);
    return right;
  }

  std::mt19937_64 random_;
  Calibration calibration_;
};

/// Verdicts of random kernels: how often what is certain is wrong, and how often each stated probability is right.
struct ReliabilityTally {
  int certain = 0;
  int certain_and_wrong = 0;
  std::array<double, 11> points{};  ///< by probability in tenths, what is certain apart
  std::array<double, 11> stated{};
  std::array<double, 11> right{};
};

void expect_fitting_advice(const Verdict& verdict) {
  static const std::map<Regime, std::set<AdviceCode>> unfit = {
      {Regime::overhead, {AdviceCode::tensor_cores, AdviceCode::smaller_format, AdviceCode::more_bytes_in_flight}},
      {Regime::latency, {AdviceCode::tensor_cores, AdviceCode::smaller_format, AdviceCode::less_power}},
      {Regime::memory, {AdviceCode::tensor_cores, AdviceCode::fewer_barriers}},
      {Regime::compute, {AdviceCode::fuse, AdviceCode::fewer_barriers, AdviceCode::more_bytes_in_flight}}};
  for (const Advice& advice : verdict.advice) {
    EXPECT_FALSE(unfit.contains(verdict.regime) && unfit.at(verdict.regime).contains(advice.code.value()))
        << verdict.limiter << ": " << advice.action;
    EXPECT_FALSE(advice.action.empty());
    EXPECT_TRUE(std::isfinite(advice.gain.value_or(2.0)) && advice.gain.value_or(2.0) > 1.0) << advice.action;
  }
}

void expect_figures(const Verdict& verdict) {
  EXPECT_TRUE(verdict.confidence >= 0.0 && verdict.confidence <= 1.0);
  EXPECT_EQ(verdict.regime == Regime::unknown, verdict.limiter.empty());
  double sum = 0.0;
  for (const Share& share : verdict.shares) sum += share.fraction;
  EXPECT_EQ(sum, 1.0);
  EXPECT_EQ(verdict.evidence.find("nan"), std::string::npos) << verdict.evidence;
  EXPECT_EQ(verdict.evidence.find("inf "), std::string::npos) << verdict.evidence;
}

ReliabilityTally tally_of(Counted counted) {
  constexpr int points = 1500;
  Adversary adversary(7);
  ReliabilityTally tally;
  for (int i = 0; i < points && !testing::Test::HasFailure(); ++i) {
    const auto [measurement, right] = adversary.point(counted);
    const Verdict verdict = classify(measurement, adversary.calibration());
    expect_figures(verdict);
    expect_fitting_advice(verdict);
    const bool is_right = right.contains(verdict.regime);
    const bool certain = verdict.certainty == Certainty::certain;
    tally.certain += certain;
    tally.certain_and_wrong += certain && !is_right;
    const std::size_t bin = certain ? 10 : static_cast<std::size_t>(10.0 * verdict.confidence);
    tally.points[bin] += 1.0;
    tally.stated[bin] += verdict.confidence;
    tally.right[bin] += is_right;
  }
  return tally;
}

/// `wrong`: the most that may be wrong of what is certain. A quarter of the users declare what is not so, which nothing
/// but counters can tell.
void expect_honest(Counted counted, double wrong) {
  const ReliabilityTally tally = tally_of(counted);
  EXPECT_GT(tally.certain, 300);
  EXPECT_LE(tally.certain_and_wrong, wrong * tally.certain) << "of " << tally.certain;
  for (std::size_t bin = 0; bin < tally.points.size(); ++bin) {
    const double count = tally.points[bin];
    if (count < 20.0) continue;
    const double stated = tally.stated[bin] / count;
    const double chance = std::sqrt(stated * (1.0 - stated) / count);
    EXPECT_GE(tally.right[bin] / count, stated - 0.05 - 3.0 * chance) << "stated " << stated << " over " << count;
  }
}

TEST(Adversary, WithoutCountersFiveInAHundredCertainVerdictsMayBeWrong) { expect_honest(Counted::nothing, 0.05); }
TEST(Adversary, WithBytesCountedOneInAHundred) { expect_honest(Counted::bytes, 0.01); }
TEST(Adversary, WithAllUnitsSeenHalfAsMany) { expect_honest(Counted::units, 0.005); }
TEST(Adversary, WithSomeCountersRefusedTwo) { expect_honest(Counted::some_units, 0.02); }

}  // namespace
}  // namespace gpubench::classifier
