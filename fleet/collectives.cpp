// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::fleet {
namespace {

constexpr double p99 = 0.99;

/// The sum of absolute logarithmic deviations, for a = exp(log_fixed) and the B that makes their median zero.
struct Trial {
  double sum = 0.0;
  double fixed = 0.0;
  double rate = 0.0;
};

/// For a boundary the line's shape is known, and its height is the median of the ratios.
Trial trial(std::span<const MessageTime> times, double boundary, std::vector<double>& ratios) {
  ratios.clear();
  for (const MessageTime& one : times) ratios.push_back(std::log(one.seconds / (boundary + one.bytes)));
  const double height = statistics::median(ratios);
  double sum = 0.0;
  for (const double ratio : ratios) sum += std::abs(ratio - height);
  return {sum, boundary * std::exp(height), std::exp(-height)};
}

/// The boundary is looked for on a grid of its logarithm, finer and finer: the sum may have several minima.
Trial best_fit(std::span<const MessageTime> times, double min_bytes, double max_bytes) {
  constexpr int steps = 40, rounds = 4;
  double low = std::log(min_bytes / 16.0), high = std::log(max_bytes * 16.0);
  std::vector<double> ratios;
  Trial best{INFINITY, 0.0, 0.0};
  for (int round = 0; round < rounds; ++round) {
    double at = low;
    const double width = (high - low) / steps;
    for (int step = 0; step <= steps; ++step) {
      const double boundary = low + step * width;
      const Trial one = trial(times, std::exp(boundary), ratios);
      if (one.sum >= best.sum) continue;
      best = one;
      at = boundary;
    }
    low = at - width;
    high = at + width;
  }
  return best;
}

Estimate with_interval(double value, std::vector<double> drawn) {
  std::ranges::sort(drawn);
  return {value,
          {std::min(value, statistics::quantile(drawn, 0.025)), std::max(value, statistics::quantile(drawn, 0.975))}};
}

}  // namespace

std::int64_t message_bytes(std::int64_t wanted, int ranks) {
  const std::int64_t part = std::int64_t{ranks} * static_cast<std::int64_t>(sizeof(float));
  return std::max(wanted / part, std::int64_t{1}) * part;
}

CollectiveTimes summarize(Collective collective, std::int64_t bytes, int ranks, std::span<const double> each,
                          std::optional<double> in_a_row) {
  std::vector<double> sorted(each.begin(), each.end());
  std::ranges::sort(sorted);
  CollectiveTimes times;
  times.median_seconds = statistics::median(sorted);
  times.seconds = in_a_row.value_or(times.median_seconds);
  times.p99_seconds = statistics::quantile(sorted, p99);
  times.algorithm_bytes_per_second = static_cast<double>(bytes) / times.seconds;
  times.bus_bytes_per_second = bus_factor(collective, ranks) * times.algorithm_bytes_per_second;
  return times;
}

std::optional<MessageFit> fit_messages(std::span<const MessageTime> times) {
  constexpr std::size_t min_messages = 5;
  constexpr double min_reach = 16.0;
  constexpr int draws = 200;
  if (times.size() < min_messages) return std::nullopt;
  const auto [shortest, longest] = std::ranges::minmax_element(times, {}, &MessageTime::bytes);
  if (!(shortest->bytes > 0.0) || longest->bytes < min_reach * shortest->bytes) return std::nullopt;
  const double min_bytes = shortest->bytes, max_bytes = longest->bytes;
  const Trial fit = best_fit(times, min_bytes, max_bytes);
  std::mt19937_64 random(1);
  std::vector<MessageTime> drawn(times.size());
  std::vector<double> fixed, rates, boundaries;
  for (int draw = 0; draw < draws; ++draw) {
    for (MessageTime& one : drawn) one = times[random() % times.size()];
    const Trial other = best_fit(drawn, min_bytes, max_bytes);
    fixed.push_back(other.fixed);
    rates.push_back(other.rate);
    boundaries.push_back(other.fixed * other.rate);
  }
  return MessageFit{with_interval(fit.fixed, std::move(fixed)), with_interval(fit.rate, std::move(rates)),
                    with_interval(fit.fixed * fit.rate, std::move(boundaries)),
                    std::expm1(fit.sum / static_cast<double>(times.size()))};
}

MessageLimit limit_of(const MessageFit& fit, double overhead_seconds, double bytes) {
  const double overhead = std::min(overhead_seconds, fit.fixed_seconds.value);
  const double latency = fit.fixed_seconds.value - overhead;
  const double link = bytes / fit.bytes_per_second.value;
  if (link >= std::max(overhead, latency)) return MessageLimit::link;
  return overhead > latency ? MessageLimit::overhead : MessageLimit::latency;
}

OverlapCost cost_of(const OverlapTimes& times) {
  const bool first_ends_first = times.first_together <= times.second_together;
  const double both = std::min(times.first_together, times.second_together);
  // Of the longer one: what of it was done while both ran.
  const auto cost = [&](double alone, double together) {
    const double done = (alone - (together - both)) / alone;
    return done > 0.0 ? both / (alone * done) : INFINITY;
  };
  const double ended = both / (first_ends_first ? times.first_alone : times.second_alone);
  const double other = first_ends_first ? cost(times.second_alone, times.second_together)
                                        : cost(times.first_alone, times.first_together);
  return first_ends_first ? OverlapCost{ended, other} : OverlapCost{other, ended};
}

}  // namespace gpubench::fleet
