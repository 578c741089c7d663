// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/common_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "bench/activity/agreement.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr double max_share = 0.015;
constexpr double max_offset_seconds = 75e-9;
constexpr double min_points_with_it = 0.75;
constexpr std::size_t min_points = 5;
constexpr double tolerance_deviations = 2.0;
constexpr double error_degrees = 4.0;
/// Before anything is known of it. Without it kernels of one length could not tell the offset from the share at all.
constexpr double usual_offset_seconds = 0.2e-6;

/// One point, all over its standard deviation: what its device time has beyond its record is about share * seconds +
/// offset * kernels.
struct Deviation {
  std::string operation;
  double seconds;
  double kernels;
  double excess;
};

using Pair = std::array<double, 2>;  // of the share, of the offset

/// Symmetric, two by two.
struct Matrix {
  double share = 0.0;
  double both = 0.0;
  double offset = 0.0;
  void add(const Pair& each, double weight) {
    share += weight * each[0] * each[0];
    both += weight * each[0] * each[1];
    offset += weight * each[1] * each[1];
  }
  Matrix inverse() const {
    const double determinant = share * offset - both * both;
    return {offset / determinant, -both / determinant, share / determinant};
  }
  Pair operator*(const Pair& of) const { return {share * of[0] + both * of[1], both * of[0] + offset * of[1]}; }
};

std::optional<Deviation> deviation_of(const Measurement& measurement) {
  const Summary* const device = seconds_by(measurement, TimingMode::device);
  const auto difference = measurement.activity ? difference_seconds(*measurement.activity) : std::nullopt;
  if (device == nullptr || !difference || !measurement.activity->tolerance_seconds) return std::nullopt;
  const double sigma = *measurement.activity->tolerance_seconds / tolerance_deviations;
  const double recorded = device->median + *difference;  // what the record says that the device time is
  if (!(sigma > 0.0 && recorded > 0.0 && std::isfinite(recorded / sigma))) return std::nullopt;
  return Deviation{measurement.operation, recorded / sigma, kernels_of(*measurement.activity, measurement) / sigma,
                   -*difference / sigma};
}

double residual(const Deviation& point, const Pair& line) {
  return point.excess - line[0] * point.seconds - line[1] * point.kernels;
}

double weight_at(double deviations) { return (error_degrees + 1.0) / (error_degrees + deviations * deviations); }

/// By iterated weights.
Pair fitted(const std::vector<Deviation>& points, Matrix& information) {
  constexpr int steps = 50;
  Pair line = {0.0, 0.0};
  for (int step = 0; step < steps; ++step) {
    information = {0.0, 0.0, 1.0 / (usual_offset_seconds * usual_offset_seconds)};
    Pair moments = {0.0, 0.0};
    for (const Deviation& point : points) {
      const double counts = step == 0 ? 1.0 : weight_at(residual(point, line));
      information.add({point.seconds, point.kernels}, counts);
      moments[0] += counts * point.seconds * point.excess;
      moments[1] += counts * point.kernels * point.excess;
    }
    line = information.inverse() * moments;
  }
  return line;
}

std::string in_percent(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string in_nanoseconds(double seconds) { return fmt::format("{:.0f}", 1e9 * seconds); }

/// "5.1 % (4.6 to 5.6 %) shorter than"
template <typename Format>
std::string apart_text(const Estimate& difference, const Format& number, std::string_view unit) {
  const Interval& within = difference.ci95;
  return fmt::format("{} {} ({} to {} {}) {} than", number(std::abs(difference.value)), unit,
                     number(std::min(std::abs(within.low), std::abs(within.high))),
                     number(std::max(std::abs(within.low), std::abs(within.high))), unit,
                     difference.value < 0.0 ? "shorter" : "longer");
}

bool is_beyond(const Interval& interval, double limit) { return interval.low > limit || interval.high < -limit; }

}  // namespace

bool CommonError::share_is_off() const {
  return is_beyond(share.ci95, max_share) && points_with_share >= min_points_with_it;
}
bool CommonError::offset_is_off() const {
  return is_beyond(seconds_a_kernel.ci95, max_offset_seconds) && points_with_offset >= min_points_with_it;
}

std::optional<CommonError> common_error(std::span<const Measurement* const> measurements) {
  std::vector<Deviation> points;
  for (const Measurement* const measurement : measurements)
    if (auto deviation = deviation_of(*measurement)) points.push_back(*std::move(deviation));
  if (points.size() < min_points) return std::nullopt;
  Matrix information;
  const Pair line = fitted(points, information);
  const Matrix by_tolerances = information.inverse();

  Matrix of_points;
  Pair exactness = {0.0, 0.0};
  Pair with = {0.0, 0.0};
  std::map<std::string_view, Pair> operations;
  for (const Deviation& point : points) {
    const double off = residual(point, line);
    const Pair pull = by_tolerances * Pair{weight_at(off) * off * point.seconds, weight_at(off) * off * point.kernels};
    of_points.add(pull, 1.0);
    const Pair sizes = {point.seconds, point.kernels};
    for (std::size_t i = 0; i < line.size(); ++i) {
      exactness[i] += sizes[i] * sizes[i];
      if ((sizes[i] * line[i] + off) / line[i] > 0.5 * sizes[i]) with[i] += sizes[i] * sizes[i];
    }
    Pair& all = operations.try_emplace(point.operation, Pair{0.0, 0.0}).first->second;
    all = {all[0] + pull[0], all[1] + pull[1]};
  }
  Matrix of_operations;
  for (const auto& [operation, pull] : operations) of_operations.add(pull, 1.0);
  const auto count = static_cast<double>(points.size());
  const auto groups = static_cast<double>(operations.size());
  const double t = statistics::student_quantile(0.025, count - 2.0);
  const double z = statistics::student_quantile(0.025, std::numeric_limits<double>::infinity());
  const auto half = [&](double tolerances, double scatter, double between) {
    const double of_groups = groups > 1.0 ? between * groups / (groups - 1.0) : 0.0;
    return std::max(z * std::sqrt(tolerances), t * std::sqrt(std::max(scatter * count / (count - 1.0), of_groups)));
  };
  return CommonError{points.size(),
                     operations.size(),
                     with_half_width(line[0], half(by_tolerances.share, of_points.share, of_operations.share)),
                     with_half_width(line[1], half(by_tolerances.offset, of_points.offset, of_operations.offset)),
                     with[0] / exactness[0],
                     with[1] / exactness[1]};
}

std::vector<std::string> common_error_warnings(std::span<const Measurement* const> measurements) {
  std::map<std::string, std::vector<const Measurement*>> devices;
  for (const Measurement* const measurement : measurements) devices[measurement->device].push_back(measurement);
  std::vector<std::string> warnings;
  for (const auto& [device, own] : devices) {
    const auto error = common_error(own);
    if (!error) continue;
    const std::string rest = fmt::format("the driver's activity records say, in common over {} points of {}",
                                         error->points, plural(static_cast<long long>(error->operations), "operation"));
    if (error->share_is_off())
      warnings.push_back(
          fmt::format("On {}, device times are {} {}. The clock is off, not single points: do not trust "
                      "device times of this run, and measure again with --time=stream.",
                      device, apart_text(error->share, in_percent, "%"), rest));
    if (error->offset_is_off())
      warnings.push_back(
          fmt::format("On {}, device times are {} {}, for each kernel. The kernel overhead taken off is "
                      "wrong: do not trust device times of a few microseconds, and measure again with "
                      "--isolate or --time=stream.",
                      device, apart_text(error->seconds_a_kernel, in_nanoseconds, "ns"), rest));
  }
  return warnings;
}

}  // namespace gpubench::bench
