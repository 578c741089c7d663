// SPDX-License-Identifier: Apache-2.0
// regime_score RUN.json: verdicts against the regimes that operations have by construction (the first part of their
// names: overhead_, latency_, memory_, compute_), in Markdown: confusion matrices with and without counters, the
// reliability of the probabilities, the boundaries of sweep_ operations against the same read off their times without
// a model, and the model's residuals. Exit code 1 when there is nothing to score.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classifier/classifier.h"
#include "classifier/run/sweeps.h"
#include "classifier/verdict/cross_checks.h"
#include "classifier/verdict/point_analysis.h"
#include "core/storage/storage.h"

namespace gpubench {
namespace {

std::optional<Regime> truth_of(std::string_view operation) {
  for (const Regime regime : {Regime::overhead, Regime::latency, Regime::memory, Regime::compute}) {
    const auto name = name_of(regime);
    if (operation.starts_with(name) && operation.size() > name.size() && operation[name.size()] == '_') return regime;
  }
  return std::nullopt;
}

struct Scored {
  const Point* point;
  Regime truth;
};

/// Points of known regime that were timed and whose work has all its ceilings; the others are counted.
std::vector<Scored> scored_points(const Run& run, std::size_t& left_out) {
  std::vector<Scored> result;
  for (const auto& point : run.points) {
    const auto truth = truth_of(point.measurement.operation);
    if (!truth) continue;
    const bool lacks_ceiling = point.verdict && point.verdict->evidence.find("no ceiling of") != std::string::npos;
    if (!point.verdict || lacks_ceiling ||
        (point.verdict->regime == Regime::unknown &&
         point.verdict->evidence.find("none of its work has a ceiling") != std::string::npos)) {
      ++left_out;
      continue;
    }
    result.push_back({&point, *truth});
  }
  return result;
}

void print_confusion(const std::vector<Scored>& points) {
  std::array<std::array<int, regime_names.size()>, regime_names.size()> matrix{};
  int right = 0;
  double brier = 0.0;
  for (const auto& [point, truth] : points) {
    const auto& verdict = *point->verdict;
    ++matrix[static_cast<std::size_t>(truth)][static_cast<std::size_t>(verdict.regime)];
    right += verdict.regime == truth ? 1 : 0;
    brier += std::pow(verdict.confidence - (verdict.regime == truth ? 1.0 : 0.0), 2);
  }
  const auto count = static_cast<double>(points.size());
  fmt::print("{} of {} points right: {:.1f} %. Brier score {:.4f}.\n\n| truth |", right, points.size(),
             100.0 * right / count, brier / count);
  for (const auto& name : regime_names) fmt::print(" {} |", name);
  fmt::print("\n|---|---|---|---|---|---|\n");
  for (std::size_t row = 0; row + 1 < regime_names.size(); ++row) {  // nothing is unknown by construction
    fmt::print("| {} |", regime_names[row]);
    for (const int cell : matrix[row]) fmt::print(" {} |", cell);
    fmt::print("\n");
  }
  fmt::print("\n");
}

void print_reliability(const std::vector<Scored>& points) {
  constexpr std::array<double, 7> edges = {0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0};
  fmt::print("| stated probability | points | mean stated | right |\n|---|---|---|---|\n");
  for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) {
    int count = 0;
    int right = 0;
    double stated = 0.0;
    for (const auto& [point, truth] : points) {
      const double p = point->verdict->confidence;
      const bool last = bin + 2 == edges.size();
      if (p < edges[bin] || (last ? p > edges[bin + 1] : p >= edges[bin + 1])) continue;
      ++count;
      stated += p;
      right += point->verdict->regime == truth ? 1 : 0;
    }
    if (count == 0) continue;
    fmt::print("| {:.2f} to {:.2f} | {} | {:.3f} | {:.3f} |\n", edges[bin], edges[bin + 1], count, stated / count,
               static_cast<double>(right) / count);
  }
  fmt::print("\n");
}

void print_wrong(const std::vector<Scored>& points) {
  bool any = false;
  for (const auto& [point, truth] : points) {
    const auto& verdict = *point->verdict;
    if (verdict.regime == truth) continue;
    if (!std::exchange(any, true))
      fmt::print("| wrong | truth | verdict | probability | evidence |\n|---|---|---|---|---|\n");
    fmt::print("| {} | {} | {} | {:.2f} | {} |\n", point->measurement.name, name_of(truth), name_of(verdict.regime),
               verdict.confidence, verdict.evidence);
  }
  if (any) fmt::print("\n");
}

/// Where a figure along a sweep crosses zero, on straight lines over the logarithm of the argument.
std::optional<double> crossing(const std::vector<std::pair<double, double>>& line) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const auto& [x0, y0] = line[i];
    const auto& [x1, y1] = line[i + 1];
    if (!(x0 > 0.0) || (y0 < 0.0) == (y1 < 0.0)) continue;
    return std::exp(std::lerp(std::log(x0), std::log(x1), y0 / (y0 - y1)));
  }
  return std::nullopt;
}

/// Without a model: where the device's own time is half of the stream's.
std::optional<double> end_of_overhead(const classifier::Sweep& sweep) {
  std::vector<std::pair<double, double>> line;
  for (const auto& size : sweep.sizes) {
    const auto time = classifier::time_of(*size.measurements.front());
    if (!time.device_seconds) return std::nullopt;
    line.emplace_back(size.argument, *time.device_seconds / time.seconds - 0.5);
  }
  return crossing(line);
}

/// Without a model: where the flat time of the smallest sizes meets the line through those that take three times as
/// long or more, fitted to relative errors. The line has an intercept: a kernel does more than what its argument
/// counts.
std::optional<double> meeting_of_asymptotes(const classifier::Sweep& sweep) {
  const auto& sizes = sweep.sizes;
  if (sizes.size() < 6) return std::nullopt;
  const auto seconds = [&](std::size_t i) { return classifier::time_of(*sizes[i].measurements.front()).seconds; };
  const double flat = std::min({seconds(0), seconds(1), seconds(2)});
  std::array<double, 5> sums = {};  // of weights, x, y, x x, x y
  int count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double x = sizes[i].argument;
    const double y = seconds(i);
    if (y < 3.0 * flat) continue;
    const double weight = 1.0 / (y * y);
    const std::array<double, 5> terms = {1.0, x, y, x * x, x * y};
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += weight * terms[k];
    ++count;
  }
  if (count < 3) return std::nullopt;
  const auto& [w, x, y, xx, xy] = sums;
  const double slope = (w * xy - x * y) / (w * xx - x * x);
  const double at = (flat - (y - slope * x) / w) / slope;
  return slope > 0.0 && at > 0.0 ? std::optional(at) : std::nullopt;
}

void print_boundaries(const Run& run) {
  bool any = false;
  for (const auto& sweep : classifier::sweeps_of(run)) {
    if (!sweep.operation.starts_with("sweep_")) continue;
    const bool spin = sweep.operation == "sweep_spin";
    const auto truth = spin ? end_of_overhead(sweep) : meeting_of_asymptotes(sweep);
    for (const auto& boundary : run.boundaries) {
      const bool last = &boundary == &run.boundaries.back() || (&boundary + 1)->operation != sweep.operation;
      const bool meant = spin ? boundary.from == "launch" : last;
      if (boundary.operation != sweep.operation || !meant || !truth) continue;
      if (!std::exchange(any, true))
        fmt::print("| boundary | without a model | classifier | off by | interval |\n|---|---|---|---|---|\n");
      fmt::print("| {}: {} to {} | {:.4g} | {:.4g} | {:+.1f} % | {} |\n", sweep.operation, boundary.from, boundary.to,
                 *truth, boundary.at, 100.0 * (boundary.at / *truth - 1.0),
                 boundary.ci95 ? fmt::format("{:.4g} to {:.4g}", boundary.ci95->low, boundary.ci95->high) : "");
    }
  }
  if (any) fmt::print("\n");
}

/// The size whose measured time is farthest from the fitted one, by how much, and what the others leave.
struct Farthest {
  double argument = 0.0;
  double residual = 0.0;
  double rms_of_others = 0.0;
};
Farthest farthest_of(const classifier::Sweep& sweep, const classifier::Fit& fit, const classifier::Machine& machine) {
  Farthest result;
  const auto factors = classifier::factors_of(fit.parameters);
  double squares = 0.0;
  for (const auto& size : sweep.sizes) {
    const auto& measurement = *size.measurements.front();
    const auto prediction = classifier::predict(size.work, classifier::model_input_of(measurement), machine);
    const auto fitted = classifier::fitted_time(fit, factors, prediction);
    const double residual = std::log(classifier::time_of(measurement).seconds / fitted.seconds);
    squares += residual * residual;
    if (std::abs(residual) > std::abs(result.residual)) {
      result.argument = size.argument;
      result.residual = residual;
    }
  }
  const auto others = std::max(static_cast<double>(sweep.sizes.size()) - 1.0, 1.0);
  result.rms_of_others = std::sqrt(std::max(squares - result.residual * result.residual, 0.0) / others);
  result.residual = std::expm1(result.residual);
  return result;
}

/// What the steps of launches in a stream alone would leave: no model of the work knows where in a step a time falls.
double rms_of_steps(const classifier::Sweep& sweep, const classifier::Machine& machine) {
  double squares = 0.0;
  for (const auto& size : sweep.sizes) {
    const auto& measurement = *size.measurements.front();
    auto time = classifier::time_of(measurement);
    time.sigma = 0.0;
    squares += std::pow(classifier::sigma_beside_model(time, measurement, machine), 2);
  }
  return std::sqrt(squares / static_cast<double>(sweep.sizes.size()));
}

void print_residuals(const Run& run) {
  fmt::print(
      "| operation | sizes | model residual, rms | largest | at | rms without that "
      "| rms of an even distribution over a step of launches |\n|---|---|---|---|---|---|---|\n");
  for (const auto& calibration : run.calibrations) {
    const auto machines = classifier::with_errors(classifier::machine_of(calibration));
    for (const auto& sweep : classifier::sweeps_of(run)) {
      if (sweep.device != calibration.device.id) continue;
      fmt::print("| {} ({}) | {} | ", sweep.operation, sweep.argument, sweep.sizes.size());
      if (const auto fit = classifier::fit_of(sweep, machines)) {
        const auto farthest = farthest_of(sweep, *fit, machines.machine);
        fmt::print("{:.1f} % | {:+.1f} % | {:.9g} | {:.1f} % | {:.1f} % |\n", 100.0 * fit->residual_rms,
                   100.0 * farthest.residual, farthest.argument, 100.0 * farthest.rms_of_others,
                   100.0 * rms_of_steps(sweep, machines.machine));
      } else {
        fmt::print("no model: {} | | | | |\n",
                   classifier::why_no_model(sweep, machines).value_or("the best fit leaves more than 25 %"));
      }
    }
  }
  fmt::print("\n");
}

/// What NVIDIA's rule says beside the verdicts, and why the two differ where they do.
void print_rule(const Run& run) {
  std::map<std::string, std::array<std::size_t, regime_names.size()>> rows;
  std::map<std::string, int> reasons;
  int agree = 0;
  int undecided = 0;
  for (const auto& point : run.points) {
    if (!point.verdict) continue;
    for (const auto& check : point.verdict->cross_checks) {
      if (check.experiment != Experiment::ncu_rule) continue;
      ++rows[check.says][static_cast<std::size_t>(point.verdict->regime)];
      agree += check.outcome == Outcome::agrees ? 1 : 0;
      undecided += check.outcome == Outcome::undecided ? 1 : 0;
      if (check.outcome == Outcome::disagrees) ++reasons[check.evidence.substr(check.evidence.find("; ") + 2)];
    }
  }
  if (rows.empty()) return;
  fmt::print("## Nsight Compute's SpeedOfLight rule beside the verdicts\n\n| rule |");
  for (const auto& name : regime_names) fmt::print(" {} |", name);
  fmt::print("\n|---|---|---|---|---|---|\n");
  for (const auto& [theirs, counts] : rows) {
    fmt::print("| {} |", theirs);
    for (const std::size_t count : counts) fmt::print(" {} |", count);
    fmt::print("\n");
  }
  fmt::print("\n{} points agree; of {} the rule has no class, or there is no verdict. The others:\n\n", agree,
             undecided);
  fmt::print("| points | why the two differ |\n|---|---|\n");
  for (const auto& [reason, count] : reasons) fmt::print("| {} | {} |\n", count, reason);
  fmt::print("\n");
}

bool has_counters(const Run& run) {
  return std::any_of(run.points.begin(), run.points.end(),
                     [](const Point& point) { return !point.measurement.counters.empty(); });
}

bool print_scores(const Run& run, std::string_view title) {
  std::size_t left_out = 0;
  const auto points = scored_points(run, left_out);
  fmt::print("## {}\n\n", title);
  if (left_out > 0) fmt::print("{} points were left out: not timed, or a ceiling is missing.\n\n", left_out);
  if (!points.empty()) {
    print_confusion(points);
    print_reliability(points);
    print_wrong(points);
  }
  print_boundaries(run);
  print_residuals(run);
  print_rule(run);
  return !points.empty();
}

int run_score(const char* file) {
  Run run = storage::read_run(file);
  fmt::print("# Regimes known by construction\n\n");
  for (const auto& device : run.devices) fmt::print("{}: {}\n\n", device.id, device.name);
  bool any = false;
  if (has_counters(run)) {
    classifier::classify(run);
    any = print_scores(run, "With counters");
  }
  for (auto& point : run.points) {
    point.measurement.counters.clear();
    point.measurement.work_differences.clear();
  }
  classifier::classify(run);
  any = print_scores(run, "Without counters") || any;
  return any ? 0 : 1;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: regime_score RUN.json\n");
    return 64;
  }
  try {
    return gpubench::run_score(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "regime_score: {}\n", error.what());
    return 1;
  }
}
