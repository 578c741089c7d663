// SPDX-License-Identifier: Apache-2.0
// How often change points of a history are false, and which are found, in made-up series: history_alarms > table.md.
// The variance is what `gpubench gate history` takes from neighbours, the correlation that of all series of a kind.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "compare/history/change_points.h"
#include "core/statistics/statistics.h"

namespace {

using namespace gpubench;
using Values = std::vector<double>;

std::mt19937_64 generator(7);
std::normal_distribution<double> normal;
std::uniform_real_distribution<double> uniform;
constexpr double deviation = 0.01;

Values series(int length, const std::function<double()>& noise) {
  Values values;
  for (int i = 0; i < length; ++i) values.push_back(deviation * noise());
  return values;
}

Values lasting(int length, double correlation) {
  double state = normal(generator);
  return series(length, [&] {
    return state = correlation * state + std::sqrt(1.0 - correlation * correlation) * normal(generator);
  });
}

struct Kind {
  const char* name;
  std::function<Values(int)> make;
};

std::vector<compare::ChangePoint> found(const Values& values, double significance, double correlation) {
  const double variance = std::max(compare::neighbour_variance(values).value_or(deviation * deviation), 1e-8);
  return compare::change_points(values, Values(values.size(), variance / (1.0 - correlation)), significance,
                                correlation);
}

double median_correlation(const std::vector<Values>& all) {
  Values correlations;
  for (const Values& values : all)
    if (const auto correlation = compare::neighbour_correlation(values)) correlations.push_back(*correlation);
  return correlations.empty() ? 0.0 : statistics::median(correlations);
}

void alarms(const std::vector<Kind>& kinds) {
  fmt::print("| Noise, no change | entries | series | with a change at 5 % a series | at 5 % of 10 000 series |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const Kind& kind : kinds)
    for (const int length : {10, 30, 100, 1000}) {
      const int count = length == 1000 ? 500 : 2000;
      std::vector<Values> all;
      for (int i = 0; i < count; ++i) all.push_back(kind.make(length));
      const double correlation = median_correlation(all);
      int at_once = 0, of_many = 0;
      for (const Values& values : all) {
        at_once += found(values, 0.05, correlation).empty() ? 0 : 1;
        of_many += found(values, 0.05 / 10'000, correlation).empty() ? 0 : 1;
      }
      fmt::print("| {} | {} | {} | {:.1f} % | {} of {} |\n", kind.name, length, count, 100.0 * at_once / count, of_many,
                 count);
    }
}

void planted() {
  fmt::print(
      "\n| Planted in normal noise of 1 %, at 5 % of 10 000 series | entries | found as such | of these within one "
      "entry of its place |"
      " as the other kind, or more |\n|---|---|---|---|---|\n");
  constexpr int count = 300;
  for (const int length : {20, 100, 1000})
    for (const double size : {0.02, 0.03, 0.05}) {
      int right = 0, near = 0, wrong = 0;
      for (int i = 0; i < count; ++i) {
        Values values = series(length, [] { return normal(generator); });
        for (int k = length / 2; k < length; ++k) values[static_cast<std::size_t>(k)] += size;
        const auto changes = found(values, 0.05 / 10'000, 0.0);
        const bool is_step = changes.size() == 1 && !changes[0].is_drift();
        right += is_step ? 1 : 0;
        near += is_step && std::abs(static_cast<int>(changes[0].first) - length / 2) <= 1 ? 1 : 0;
        wrong += !changes.empty() && !is_step ? 1 : 0;
      }
      fmt::print("| step of {:.0f} % | {} | {} of {} | {} of {} | {} |\n", 100.0 * size, length, right, count, near,
                 right, wrong);
    }
  for (const int length : {60, 100, 1000})
    for (const double size : {0.05, 0.1}) {
      int right = 0, wrong = 0;
      for (int i = 0; i < count; ++i) {
        Values values = series(length, [] { return normal(generator); });
        for (int k = 0; k < length; ++k)
          values[static_cast<std::size_t>(k)] += size * std::clamp((k - 0.3 * length) / (0.4 * length), 0.0, 1.0);
        const auto changes = found(values, 0.05 / 10'000, 0.0);
        const bool is_drift = changes.size() == 1 && changes[0].is_drift();
        right += is_drift ? 1 : 0;
        wrong += !changes.empty() && !is_drift ? 1 : 0;
      }
      fmt::print("| drift of {:.0f} % over 40 % of the entries | {} | {} of {} | | {} |\n", 100.0 * size, length, right,
                 count, wrong);
    }
}

}  // namespace

int main() {
  std::student_t_distribution<double> heavy(3.0);
  std::exponential_distribution<double> exponential(1.0);
  alarms(
      {{"normal", [](int n) { return series(n, [] { return normal(generator); }); }},
       {"heavy tails (t, 3 degrees)", [&](int n) { return series(n, [&] { return heavy(generator); }); }},
       {"exponential", [&](int n) { return series(n, [&] { return exponential(generator); }); }},
       {"5 % of entries off by 10 deviations",
        [](int n) { return series(n, [] { return normal(generator) + (uniform(generator) < 0.05 ? 10.0 : 0.0); }); }},
       {"to and fro between two levels, 25 deviations apart",
        [](int n) { return series(n, [] { return normal(generator) + (uniform(generator) < 0.3 ? 25.0 : 0.0); }); }},
       {"lasting, correlation 0.3", [](int n) { return lasting(n, 0.3); }},
       {"lasting, correlation 0.6", [](int n) { return lasting(n, 0.6); }},
       {"lasting, correlation 0.9", [](int n) { return lasting(n, 0.9); }}});
  planted();
  const auto start = std::chrono::steady_clock::now();
  int changes = 0;
  constexpr int timed = 1000;
  for (int i = 0; i < timed; ++i)
    changes += found(series(1000, [] { return normal(generator); }), 5e-6, 0.0).empty() ? 0 : 1;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("\n{} series of 1 000 entries without a change: {:.2f} s on one core, {} with one.\n", timed, took.count(),
             changes);
}
