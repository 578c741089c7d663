// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/confidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "classifier/model/machine.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

/// A verdict that contradicts its own ceilings is never better than a boundary case.
constexpr double contradiction_cap = 0.75;
/// What a missing ceiling may hide is unknown; never "certain" without it.
constexpr double missing_factor = 0.8;

/// Of latency that nothing but the lack of another limit speaks for: 52 of 75 such verdicts of the suites are right
/// without counters, 67 to 75 % when one family is left out (docs/results/h200/library.md). Bytes that were counted
/// change little: what hides there are units, such as those for bank conflicts and atomics, of a CPU those for
/// integers.
constexpr double uncounted_latency = 0.7;

using RegimeCounts = std::array<std::size_t, regime_names.size()>;

/// No draw is farther from zero.
double max_draw() {
  static const double max = [] {
    double found = 0.0;
    for (std::size_t column = 0; column < draw_columns; ++column)
      for (const double z : normal_draws(column)) found = std::max(found, std::abs(z));
    return found;
  }();
  return max;
}

constexpr double rounding = 1e-9;  ///< more than what rounding makes of a bound

Interval operator*(const Interval& a, const Interval& b) { return {a.low * b.low, a.high * b.high}; }
Interval operator*(double a, const Interval& b) { return {a * b.low, a * b.high}; }

/// The factors of a machine's figures in all draws, by standard deviation and column: its points share them.
using KnownFactors = std::map<std::pair<double, std::size_t>, std::vector<double>>;
KnownFactors& known_factors() {
  thread_local KnownFactors known;
  return known;
}
constexpr std::size_t max_known_factors = 256;  // 4 MB; those of a machine are some twenty

std::span<const double> factors_of_machine(double sigma, std::size_t column) {
  auto& factors = known_factors()[{sigma, column}];
  if (factors.empty())
    for (const double z : normal_draws(column)) factors.push_back(std::exp(sigma * z));
  return factors;
}

/// One figure's factor in each draw.
class Factor {
 public:
  enum class Of { point, machine };
  /// Beyond a factor of e^5 or so a figure says nothing anyway; draws must stay numbers.
  Factor(double sigma, std::size_t column, Of of = Of::machine)
      : sigma_(std::min(sigma, max_sigma)), draws_(normal_draws(column)), of_(of), column_(column) {}
  /// This factor to a power, which no draw computes; at most e^600 or so.
  [[nodiscard]] Factor to_the(double power) const {
    Factor result = *this;
    result.sigma_ = std::min(power * sigma_, 30.0 * max_sigma);
    return result;
  }
  [[nodiscard]] double at(std::size_t draw) const {
    if (!factors_.empty()) return factors_[draw];
    if (!(sigma_ > 0.0)) return 1.0;
    if (of_ == Of::point) return std::exp(sigma_ * draws_[draw]);
    factors_ = factors_of_machine(sigma_, column_);
    return factors_[draw];
  }
  /// Between which it is in all draws.
  [[nodiscard]] Interval reach() const {
    const double far = std::exp(sigma_ * max_draw());
    return {(1.0 - rounding) / far, (1.0 + rounding) * far};
  }

 private:
  static constexpr double max_sigma = 5.0;
  double sigma_;
  std::span<const double> draws_;
  Of of_;
  std::size_t column_;
  mutable std::span<const double> factors_;  ///< of a machine, once one is asked for
};

/// The memory's time in each draw. Levels and capacities err apart, the model errs on the memory as a whole.
class MemoryDraws {
 public:
  MemoryDraws(const Prediction& prediction, double widening, std::size_t& column)
      : prediction_(prediction), model_(widening * model_sigma, column++) {
    for (const auto& resource : prediction.resources)
      if (resource.kind == ResourceKind::memory) {
        seconds_.push_back(resource.seconds);
        rates_.emplace_back(widening * resource.sigma, column++);
      }
    if (prediction.counted) {
      const double p = prediction.overlap.value;
      for (const double each : seconds_) longest_ = std::max(longest_, each);
      for (std::size_t i = 0; i < seconds_.size(); ++i)
        if (seconds_[i] > 0.0) powers_.push_back({std::pow(seconds_[i] / longest_, p), rates_[i].to_the(p)});
    }
    for (const auto& level : prediction.demand.levels) {
      capacities_.emplace_back(widening * std::hypot(level.capacity_sigma, model_sigma), column++);
      exponents_.emplace_back(widening * level.hit_exponent.sigma, column++);
    }
    // Where one level serves all, no error of a capacity sends bytes elsewhere.
    const double min = 1e-6 * prediction.memory_seconds();
    splits_vary_ = !capacities_.empty() && std::ranges::count_if(seconds_, [&](double s) { return s > min; }) > 1;
  }

  /// Between which `seconds` is in all draws.
  [[nodiscard]] Interval reach() const {
    if (splits_vary_) return {0.0, std::numeric_limits<double>::infinity()};
    OverlapSum low(prediction_.counted ? prediction_.overlap.value : 1.0), high = low;
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      const Interval each = seconds_[i] * rates_[i].reach();
      low.add(each.low);
      high.add(each.high);
    }
    return Interval{(1.0 - rounding) * low.value(), (1.0 + rounding) * high.value()} * model_.reach();
  }

  double seconds(std::size_t draw) {
    if (splits_vary_) split(draw);
    if (!prediction_.counted) return in_sequence(draw) * model_.at(draw);
    double sum = 0.0;
    for (const auto& [part, factor] : powers_) sum += part * factor.at(draw);
    return longest_ * std::pow(sum, 1.0 / prediction_.overlap.value) * model_.at(draw);
  }

 private:
  [[nodiscard]] double in_sequence(std::size_t draw) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < seconds_.size(); ++i) sum += seconds_[i] * rates_[i].at(draw);
    return sum;
  }

  void split(std::size_t draw) {
    prediction_.demand.split(bytes_, [&](std::size_t i, double& capacity, double& exponent) {
      capacity *= capacities_[i].at(draw);
      exponent *= exponents_[i].at(draw);
    });
    for (std::size_t i = 0; i < capacities_.size(); ++i)
      seconds_[i] = bytes_[i] * prediction_.demand.levels[i].seconds_per_byte;
  }

  const Prediction& prediction_;
  Factor model_;
  std::vector<double> seconds_;
  std::vector<Factor> rates_;
  double longest_ = 0.0;                           ///< of the seconds of levels that were counted
  std::vector<std::pair<double, Factor>> powers_;  ///< of their parts of that, and of their rates' factors
  std::vector<Factor> capacities_;
  std::vector<Factor> exponents_;
  std::vector<double> bytes_;
  bool splits_vary_ = false;
};

struct PipeDraws {
  double seconds;
  Factor factor;
};

/// Between which the figures are in all draws.
struct Reach {
  Interval seconds, device, launch, memory, pipe, start, busy;
};

enum class Always { no, yes, unsure };
Always always(bool yes, bool no) { return yes ? Always::yes : no ? Always::no : Always::unsure; }

/// Whether the launch takes most of the time in all draws, or in none. What it takes lies between `calibrated` and all
/// that the device does not, as in Figures::overhead_seconds.
Always launch_binds(const Figures& base, const Reach& reach) {
  constexpr double above = 1.0 + rounding, below = 1.0 - rounding;
  const double low = reach.launch.low / reach.seconds.high, high = reach.launch.high / reach.seconds.low;
  if (!base.device_seconds) return always(low >= above * overhead_share, high < below * overhead_share);
  const double beyond_low = 1.0 - reach.device.high / reach.seconds.low;
  const double beyond_high = 1.0 - reach.device.low / reach.seconds.high;
  const double calibrated = base.launch_seconds ? std::min(low * base.kernels, beyond_low) : beyond_low;
  return always(calibrated >= above * overhead_share || low >= above * launch_floor_share,
                beyond_high < below * overhead_share && high < below * launch_floor_share);
}

/// Whether no draw compares the figures beside the launch otherwise than they themselves do.
bool is_same_beside_launch(const Figures& base, const Reach& reach) {
  if (base.busy) {
    const bool suspect = reach.busy.low >= base.suspect_from || base.is_contended;
    const bool unsuspected = reach.busy.high < base.suspect_from && !base.is_contended;
    if (reach.busy.low >= busy_limiter) return true;
    if (!unsuspected && !(suspect && reach.busy.high < busy_limiter)) return false;
  }
  const Interval rest =
      base.device_seconds
          ? Interval{std::min(reach.device.low, reach.seconds.low), std::min(reach.device.high, reach.seconds.high)}
          : Interval{reach.seconds.low - reach.launch.high, reach.seconds.high - reach.launch.low};
  const auto [memory, pipe, start] = std::tie(reach.memory, reach.pipe, reach.start);
  const double longest = std::max({memory.low, pipe.low, start.low});
  if (!(longest > 0.0) || rest.high > latency_ratio * longest) {
    Figures most = base;
    most.memory_seconds = memory.high;
    most.pipe_seconds = pipe.high;
    most.start_seconds = start.high;
    return !most.explains((1.0 - rounding) * rest.low);
  }
  if (start.low > std::max(memory.high, pipe.high)) return true;
  return start.high <= std::max(memory.low, pipe.low) && (memory.low >= pipe.high || memory.high < pipe.low);
}

RegimeCounts draw_regimes(const PointAnalysis& it, double widening, std::size_t draws = draw_count) {
  if (known_factors().size() > max_known_factors) known_factors().clear();
  const Time& time = it.time;
  const Prediction& prediction = it.prediction;
  std::size_t column = 0;
  const Factor seconds(widening * time.sigma, column++, Factor::Of::point);
  const Factor device(widening * time.device_sigma, column++, Factor::Of::point);
  const Factor launch = Factor(widening * (prediction.launch ? prediction.launch->sigma : 0.0), column++);
  // What a launch costs beside other work is not quite what it costs beside nothing.
  const Factor launch_model = Factor(widening * model_sigma, column++);
  MemoryDraws memory(prediction, widening, column);
  std::vector<PipeDraws> pipes;
  for (const auto& resource : prediction.resources)
    if (resource.kind == ResourceKind::pipe && resource.seconds > 0.0)
      pipes.push_back({resource.seconds, Factor(widening * std::hypot(resource.sigma, model_sigma), column++)});
  RegimeCounts counts{};
  const auto* const start_resource = prediction.largest(ResourceKind::start);
  const Factor start =
      Factor(widening * (start_resource != nullptr ? std::hypot(start_resource->sigma, model_sigma) : 0.0), column++);
  const Factor busy = Factor(widening * model_sigma, column++);
  const auto launch_parts = normal_draws(column++);  // even between 0 and 1 by their probability
  const Figures& base = it.figures;
  Figures figures = base;
  const Interval none{0.0, 0.0};
  Reach reach{base.seconds * seconds.reach(),
              base.device_seconds.value_or(0.0) * device.reach(),
              base.launch_seconds.value_or(0.0) * launch.reach() * launch_model.reach(),
              base.memory_seconds > 0.0 ? memory.reach() : none,
              none,
              base.start_seconds * start.reach(),
              base.busy.value_or(0.0) * busy.reach()};
  for (const auto& pipe : pipes) {
    const Interval each = pipe.seconds * pipe.factor.reach();
    reach.pipe = {std::max(reach.pipe.low, each.low), std::max(reach.pipe.high, each.high)};
  }
  // Most cases are clear without a draw, and others but for the launch.
  const Always overhead = launch_binds(base, reach);
  const bool same = overhead != Always::yes && is_same_beside_launch(base, reach);
  const Regime regime_if_same = same ? base.regime_beside_launch() : Regime::overhead;
  if (overhead == Always::yes || (overhead == Always::no && same)) {
    counts[static_cast<std::size_t>(regime_if_same)] = draw_count;
    return counts;
  }
  const bool needs_launch = base.launch_seconds && (overhead == Always::unsure || !base.device_seconds);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    figures.seconds = base.seconds * seconds.at(draw);
    if (base.device_seconds) figures.device_seconds = *base.device_seconds * device.at(draw);
    if (needs_launch) figures.launch_seconds = *base.launch_seconds * launch.at(draw) * launch_model.at(draw);
    if (overhead == Always::unsure) {
      figures.launch_part = statistics::normal_below(launch_parts[draw]);
      if (figures.overhead_excess() >= 1.0) {
        ++counts[static_cast<std::size_t>(Regime::overhead)];
        continue;
      }
    }
    if (same) {
      ++counts[static_cast<std::size_t>(regime_if_same)];
      continue;
    }
    figures.start_seconds = base.start_seconds * start.at(draw);
    if (base.busy) figures.busy = *base.busy * busy.at(draw);
    figures.pipe_seconds = 0.0;
    for (const auto& pipe : pipes)
      figures.pipe_seconds = std::max(figures.pipe_seconds, pipe.seconds * pipe.factor.at(draw));
    figures.memory_seconds = base.memory_seconds > 0.0 ? memory.seconds(draw) : 0.0;
    const Regime regime = figures.regime_beside_launch();
    ++counts[static_cast<std::size_t>(regime)];
  }
  return counts;
}

/// The regime other than `own` with the most draws; `unknown` is none.
Regime max_other(const RegimeCounts& counts, Regime own) {
  Regime result = Regime::unknown;
  std::size_t max = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto regime = static_cast<Regime>(i);
    if (regime == own || regime == Regime::unknown || counts[i] <= max) continue;
    max = counts[i];
    result = regime;
  }
  return result;
}

/// How busy each unit is that was to be counted. A unit that was not seen may be the limit.
bool sees_units(const PointAnalysis& it) {
  return it.figures.busy && std::ranges::none_of(it.measurement.absent_counters, [](const AbsentCounter& absent) {
           return absent.name.ends_with("_busy");
         });
}

/// Latency beside a unit that is fairly busy or that nobody saw, unless the grid or, without counters, nothing speaks
/// for it.
bool is_doubtful_latency(const PointAnalysis& it) {
  if (it.decision.regime != Regime::latency) return false;
  if (limits_of_several_kernels(it)) return true;
  if (it.figures.busy && *it.figures.busy >= busy_enough) return true;
  if (sees_units(it)) return false;
  return !is_by_grid(it.cause);
}

/// Latency of what may well be arithmetic: none is declared, not all pipes were counted, and the grid is no reason.
bool may_be_arithmetic(const PointAnalysis& it) {
  if (it.decision.regime != Regime::latency || sees_units(it) || !it.measurement.work.flops.empty()) return false;
  if (std::ranges::any_of(it.measurement.counters,
                          [](const Counter& counter) { return counter.name.starts_with("flops_"); }))
    return false;
  return !is_by_grid(it.cause);
}

/// What launching takes, and that a few blocks leave the chip idle, is known without a ceiling of the work.
bool rests_on_work(const PointAnalysis& it) {
  return !is_launch(it.decision) && !(it.decision.regime == Regime::latency && it.prediction.wave_factor >= idle_grid);
}

constexpr double either_way = 0.5;

/// Whether memory would take as long as the blocks take to start, if twice the declared bytes moved.
bool moves_as_long(const PointAnalysis& it) { return 2.0 * it.memory_seconds >= it.figures.start_seconds; }

/// Without counters the bytes of a verdict are a guess; the time may have another reason.
constexpr double of_whole_sectors = 0.8;

double lowered(double probability, const PointAnalysis& it) {
  const bool saw_units = it.figures.busy || it.machine.kind != DeviceKind::gpu;
  const bool counted = saw_units || it.prediction.counted;
  // Where nobody told how many threads worked on a CPU, it may have started no parallel region.
  const bool knows_threads = it.measurement.conditions && it.measurement.conditions->threads_used;
  if (is_launch(it.decision) && it.machine.kind != DeviceKind::gpu && !knows_threads)
    probability = std::min(probability, never_certain);
  if (it.is_contended || it.stray_bytes > 0.0) probability = std::min(probability, never_certain);
  // That multiprocessors work for a part of the time is never all that makes a unit the limit for sure.
  if (it.rests_on_unit && it.figures.suspect_from < busy_suspect && *it.figures.busy < busy_limiter)
    probability = std::min(
        probability,
        std::max(never_certain, statistics::normal_below(std::log(*it.figures.busy / busy_suspect) / model_sigma)));
  if (it.lacks_atomics_rate) probability = std::min(probability, missing_factor);
  if (it.moves_whole_sectors) probability = std::min(probability, of_whole_sectors);
  if (is_doubtful_latency(it))
    probability = std::min(probability, it.figures.busy && !may_be_arithmetic(it) ? never_certain : uncounted_latency);
  // Links are not counted.
  if (it.cause.limiter == resource::remote_memory ||
      ((it.prediction.counted || it.figures.busy) && may_be_arithmetic(it)))
    probability = std::min(probability, uncounted_latency);
  // Under load a time says little, and less the less of its cores a point had.
  if (const auto share = share_under_load(it.measurement)) probability = std::min({probability, never_certain, *share});
  const auto& launch = it.prediction.launch;
  if (!launch || (!it.prediction.missing.empty() && rests_on_work(it))) probability *= missing_factor;
  if (launches_may_decide(it)) probability = std::min(probability, either_way);
  if (!counted && it.decision.limiter == block_start && moves_as_long(it))
    probability = std::min(probability, never_certain);
  if (it.excess_over_ceiling) probability = std::min(probability, contradiction_cap / *it.excess_over_ceiling);
  // A clock of the device alone says what the launch takes, whatever its ceiling is worth.
  if (it.is_below_launch && !it.time.device_seconds)
    probability = std::min(probability, contradiction_cap * it.time.seconds / launch->seconds);
  return probability;
}

}  // namespace

double sigma_of(const Summary& summary) {
  const double sigma = sigma_of(summary.median, summary.median_ci95, summary.count);
  return summary.count < 6 ? std::max(sigma, unknown_sigma) : sigma;
}

double sigma_of(const Estimate& estimate) {
  return (estimate.ci95.high - estimate.ci95.low) / (2.0 * statistics::normal_975 * estimate.value);
}

Confidence confidence_of(const PointAnalysis& it) {
  const Regime own = it.decision.regime;
  if (own == Regime::unknown) return {};
  const auto counts = draw_regimes(it, 1.0);
  const auto share = [&](Regime regime) {
    return static_cast<double>(counts[static_cast<std::size_t>(regime)]) / static_cast<double>(draw_count);
  };
  Confidence result{lowered(share(own), it), max_other(counts, own)};
  if (result.runner_up != Regime::unknown) result.runner_up_probability = share(result.runner_up);
  for (double widening = 3.0; widening < 30.0 && result.runner_up == Regime::unknown; widening *= 3.0)
    result.runner_up = max_other(draw_regimes(it, widening, draw_count / 4), own);
  return result;
}

Certainty certainty_of(double probability) {
  if (probability >= 0.95) return Certainty::certain;
  return probability >= 0.8 ? Certainty::likely : Certainty::boundary;
}

}  // namespace gpubench::classifier
