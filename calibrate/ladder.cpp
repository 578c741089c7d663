// SPDX-License-Identifier: Apache-2.0
#include "calibrate/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

#include "core/statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Rungs [begin, end) of a plateau.
struct Plateau {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Curve {
  std::vector<double> x;  ///< log2 of the working set
  std::vector<double> y;  ///< log of the bandwidth
};

/// Sums over the first rungs, whose differences give the squared residuals of a constant or a line over any range.
struct Sums {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  [[nodiscard]] double of_constant() const { return std::max(0.0, yy - y * y / n); }
  [[nodiscard]] double of_line() const {
    const double square = xx - x * x / n;
    const double product = xy - x * y / n;
    return n < 3 || square <= 0.0 ? 0.0 : std::max(0.0, of_constant() - product * product / square);
  }
  friend Sums operator-(const Sums& a, const Sums& b) {
    return {a.n - b.n, a.x - b.x, a.y - b.y, a.xx - b.xx, a.xy - b.xy, a.yy - b.yy};
  }
};

/// Variance of one rung about its plateau: differences of neighbours see the scatter and few of the steps, so their
/// median is robust (0.6745 sqrt(2) sigma for normal scatter); never below flatness^2.
double scatter_variance(const Curve& curve, double flatness) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < curve.y.size(); ++i) differences.push_back(std::abs(curve.y[i] - curve.y[i - 1]));
  const double sigma = statistics::median(differences) / (0.6745 * std::sqrt(2.0));
  return std::max(sigma * sigma, flatness * flatness);
}

/// The best split into each number of plateaus, by dynamic programming over where plateaus end.
class Splitter {
 public:
  Splitter(const Curve& curve, const LevelOptions& options, double variance)
      : curve_(curve),
        options_(options),
        variance_(variance),
        penalty_(std::log(static_cast<double>(curve.x.size()))),
        sums_(curve.x.size() + 1),
        highest_before_(curve.x.size() + 1, -infinite) {
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      const double x = curve.x[i] - curve.x.front();
      const double y = curve.y[i] - curve.y.front();
      const Sums& last = sums_[i];
      sums_[i + 1] = {last.n + 1, last.x + x, last.y + y, last.xx + x * x, last.xy + x * y, last.yy + y * y};
      highest_before_[i + 1] = std::max(highest_before_[i], curve.y[i]);
    }
  }

  /// Criterion and plateaus for 1, 2, ... plateaus; infinite where there is no such split.
  struct Split {
    double criterion = infinite;
    std::vector<Plateau> plateaus;
  };
  [[nodiscard]] std::vector<Split> best(std::size_t max_plateaus) const {
    const std::size_t n = curve_.x.size();
    std::vector<std::vector<SplitCell>> table(max_plateaus, std::vector<SplitCell>(n + 1));
    for (std::size_t k = 0; k < max_plateaus; ++k)
      for (std::size_t end = options_.shortest_plateau; end <= n; ++end)
        table[k][end] = best_ending(k == 0 ? nullptr : &table[k - 1], end);

    std::vector<Split> splits(max_plateaus);
    for (std::size_t k = 0; k < max_plateaus; ++k) {
      splits[k].criterion = table[k][n].cost;
      if (splits[k].criterion == infinite) continue;
      std::size_t end = n;
      for (std::size_t j = k + 1; j-- > 0;) {
        const SplitCell& cell = table[j][end];
        splits[k].plateaus.insert(splits[k].plateaus.begin(), Plateau{cell.begin, end});
        end = cell.previous_end;
      }
    }
    return splits;
  }

 private:
  struct SplitCell {
    double cost = infinite;
    std::size_t begin = 0;         ///< of the plateau
    std::size_t previous_end = 0;  ///< of the plateau before; between the two lies a ramp
  };

  /// A ramp costs its two coefficients and its end.
  [[nodiscard]] double ramp_cost(std::size_t begin, std::size_t end) const {
    return begin == end ? 0.0 : (sums_[end] - sums_[begin]).of_line() / variance_ + 3.0 * penalty_;
  }

  [[nodiscard]] SplitCell best_ending(const std::vector<SplitCell>* before, std::size_t end) const {
    SplitCell best;
    for (std::size_t begin = 0; begin + options_.shortest_plateau <= end; ++begin) {
      // A plateau costs its height and its end.
      const Sums sums = sums_[end] - sums_[begin];
      const double plateau = sums.of_constant() / variance_ + 2.0 * penalty_;
      const double highest_rise = curve_.y.front() + sums.y / sums.n + std::log(options_.min_step);
      for (std::size_t ramp_begin = begin + 1; ramp_begin-- > 0;) {
        if (curve_.x[begin] - curve_.x[ramp_begin] > options_.longest_ramp_octaves) break;
        if (before == nullptr && ramp_begin != 0)
          continue;  // the first plateau: a rise, if any, starts at the first rung
        if (before == nullptr && begin > 0 && highest_before_[begin] > highest_rise)
          continue;  // what lies above the plateau does not rise to it: it is a level itself
        const double earlier = before == nullptr ? 0.0 : (*before)[ramp_begin].cost;
        const double cost = earlier + ramp_cost(ramp_begin, begin) + plateau;
        if (cost < best.cost) best = {cost, begin, ramp_begin};
      }
    }
    return best;
  }

  const Curve& curve_;
  const LevelOptions& options_;
  double variance_;
  double penalty_;
  std::vector<Sums> sums_;
  std::vector<double> highest_before_;  ///< of the rungs before each
};

double mean_over(const std::vector<double>& values, Plateau range) {
  double sum = 0.0;
  for (std::size_t i = range.begin; i < range.end; ++i) sum += values[i];
  return sum / static_cast<double>(range.end - range.begin);
}

bool descends(const Curve& curve, const std::vector<Plateau>& plateaus, double min_step) {
  for (std::size_t i = 1; i < plateaus.size(); ++i)
    if (mean_over(curve.y, plateaus[i - 1]) - mean_over(curve.y, plateaus[i]) < std::log(min_step)) return false;
  return true;
}

/// Each value's median with its two neighbours: a single rung that something disturbed vanishes, steps stay where they
/// are.
std::vector<double> without_spikes(const std::vector<double>& y) {
  std::vector<double> result = y;
  const std::size_t last = y.size() - 1;
  for (std::size_t i = 0; y.size() >= 3 && i < y.size(); ++i) {
    const std::size_t middle = std::clamp<std::size_t>(i, 1, last - 1);
    const std::array neighbours = {y[middle - 1], y[middle], y[middle + 1]};
    result[i] = statistics::median(neighbours);
  }
  return result;
}

std::vector<Plateau> choose(Curve curve, const LevelOptions& options, std::optional<std::size_t> exactly) {
  curve.y = without_spikes(curve.y);
  const Splitter splitter(curve, options, scatter_variance(curve, options.flatness));
  const auto splits = splitter.best(options.max_levels + 1);
  if (exactly) return splits[*exactly - 1].plateaus;
  const Splitter::Split* best = nullptr;
  for (const auto& split : splits)
    if (split.criterion < (best == nullptr ? infinite : best->criterion) &&
        descends(curve, split.plateaus, options.min_step))
      best = &split;
  return best == nullptr ? std::vector<Plateau>{} : best->plateaus;
}

/// The median over the sweeps named by `drawn`, rung by rung.
Curve curve_of(const Ladder& ladder, const std::vector<std::size_t>& drawn) {
  Curve curve;
  std::vector<double> rates(drawn.size());
  for (std::size_t rung = 0; rung < ladder.working_set_bytes.size(); ++rung) {
    for (std::size_t i = 0; i < drawn.size(); ++i) rates[i] = ladder.sweeps[drawn[i]][rung];
    curve.x.push_back(std::log2(ladder.working_set_bytes[rung]));
    curve.y.push_back(std::log(statistics::median(rates)));
  }
  return curve;
}

void require_valid(const Ladder& ladder) {
  const auto& sets = ladder.working_set_bytes;
  if (ladder.sweeps.empty()) throw std::invalid_argument("find_levels: no sweeps");
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (!(sets[i] > (i == 0 ? 0.0 : sets[i - 1]))) throw std::invalid_argument("find_levels: working sets must ascend");
  for (const auto& sweep : ladder.sweeps) {
    if (sweep.size() != sets.size()) throw std::invalid_argument("find_levels: a sweep does not cover the ladder");
    for (const double rate : sweep)
      if (!(rate > 0.0) || !std::isfinite(rate)) throw std::invalid_argument("find_levels: a rate is not positive");
  }
}

/// log2 of the working set at which the time for a byte is halfway from one plateau's to the next one's. Between rungs
/// the time is taken as linear in that logarithm.
double halfway(const Curve& curve, Plateau plateau, Plateau next) {
  const auto time = [](double log_rate) { return std::exp(-log_rate); };
  const double target = 0.5 * (time(mean_over(curve.y, plateau)) + time(mean_over(curve.y, next)));
  for (std::size_t i = plateau.end; i <= next.begin; ++i) {
    const double before = time(curve.y[i - 1]);
    const double after = time(curve.y[i]);
    if (after < target) continue;
    const double part = before < target ? (target - before) / (after - before) : 0.0;
    return std::lerp(curve.x[i - 1], curve.x[i], part);
  }
  return curve.x[next.begin];  // its first rung lies a little above its mean
}

/// Where each plateau but the last gives way, as `halfway`, for sweeps drawn anew; ascending.
std::vector<std::vector<double>> bootstrap_ends(const Ladder& ladder, const LevelOptions& options,
                                                std::size_t plateaus) {
  constexpr int draws = 200;
  std::mt19937 generator(20240229);  // fixed: the same ladder always gives the same intervals
  std::uniform_int_distribution<std::size_t> any(0, ladder.sweeps.size() - 1);
  std::vector<std::vector<double>> ends(plateaus - 1);
  std::vector<std::size_t> drawn(ladder.sweeps.size());
  for (int draw = 0; draw < draws; ++draw) {
    std::generate(drawn.begin(), drawn.end(), [&] { return any(generator); });
    const Curve curve = curve_of(ladder, drawn);
    const auto ranges = choose(curve, options, plateaus);
    for (std::size_t i = 0; i + 1 < ranges.size(); ++i) ends[i].push_back(halfway(curve, ranges[i], ranges[i + 1]));
  }
  for (auto& values : ends) std::ranges::sort(values);
  return ends;
}

std::vector<double> rates_on(const Ladder& ladder, Plateau range) {
  std::vector<double> rates;
  for (const auto& sweep : ladder.sweeps) {
    const auto begin = sweep.begin();
    rates.push_back(statistics::median(std::vector<double>(begin + static_cast<std::ptrdiff_t>(range.begin),
                                                           begin + static_cast<std::ptrdiff_t>(range.end))));
  }
  return rates;
}

}  // namespace

std::vector<std::size_t> rungs(std::size_t smallest, std::size_t largest, int per_octave, std::size_t granularity) {
  std::vector<std::size_t> sets;
  const auto round = [granularity](double bytes) {
    return static_cast<std::size_t>(std::llround(bytes / static_cast<double>(granularity))) * granularity;
  };
  for (int i = 0;; ++i) {
    const double bytes = static_cast<double>(smallest) * std::exp2(static_cast<double>(i) / per_octave);
    const std::size_t set = std::min(std::max(round(bytes), granularity), largest);
    if (sets.empty() || set > sets.back()) sets.push_back(set);
    if (bytes >= static_cast<double>(largest)) return sets;
  }
}

std::vector<std::size_t> rungs(std::size_t smallest, std::size_t largest, int dense, double dense_bytes, int sparse,
                               std::size_t granularity) {
  auto sets = rungs(smallest, largest, dense, granularity);
  std::erase_if(sets, [&](std::size_t set) { return static_cast<double>(set) > dense_bytes; });
  for (const std::size_t set : rungs(smallest, largest, sparse, granularity))
    if (static_cast<double>(set) > dense_bytes) sets.push_back(set);
  return sets;
}

LevelFit find_levels(const Ladder& ladder, const LevelOptions& options) {
  require_valid(ladder);
  std::vector<std::size_t> all(ladder.sweeps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Curve curve = curve_of(ladder, all);
  const std::size_t count = curve.x.size();

  LevelFit fit;
  for (std::size_t i = 0; i < count; ++i) fit.ladder.push_back({ladder.working_set_bytes[i], std::exp(curve.y[i])});
  if (count < 2 * options.shortest_plateau) return fit;
  const auto plateaus = choose(curve, options, std::nullopt);
  if (plateaus.empty()) return fit;
  fit.beyond = rates_on(ladder, plateaus.back());
  if (plateaus.size() < 2) return fit;

  const auto ends = bootstrap_ends(ladder, options, plateaus.size());
  for (std::size_t i = 0; i + 1 < plateaus.size(); ++i) {
    const double end = halfway(curve, plateaus[i], plateaus[i + 1]);
    // No finer than the rungs on either side.
    const auto above = std::lower_bound(curve.x.begin() + 1, curve.x.end() - 1, end);
    double low = *(above - 1);
    double high = *above;
    if (!ends[i].empty()) {
      low = std::min(low, statistics::quantile(ends[i], 0.025));
      high = std::max(high, statistics::quantile(ends[i], 0.975));
    }
    CacheLevel level{fmt::format("l{}", i + 1), std::exp2(end), {std::exp2(low), std::exp2(high)}};
    fit.levels.push_back({std::move(level), rates_on(ladder, plateaus[i])});
  }
  return fit;
}

}  // namespace gpubench::calibrate
