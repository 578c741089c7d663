// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/activity/common_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

std::optional<Deviation> deviation_of(const ComparedPoint& point) {
  const auto& [measurement, comparison] = point;
  if (comparison.agreement == Agreement::not_compared) return std::nullopt;
  const double difference = measurement.activity->seconds->value - comparison.expected_seconds->value;
  const double sigma = *comparison.tolerance_seconds / tolerance_deviations;
  // What the record says that the device time is.
  const double recorded = seconds_by(measurement, TimingMode::device)->median + difference;
  if (!(sigma > 0.0 && recorded > 0.0 && std::isfinite(recorded / sigma))) return std::nullopt;
  return Deviation{measurement.operation, recorded / sigma, kernels_of(*measurement.activity, measurement) / sigma,
                   -difference / sigma};
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

bool is_beyond(const Interval& interval, double limit) { return interval.low > limit || interval.high < -limit; }

}  // namespace

bool CommonError::share_is_off() const {
  return is_beyond(share.ci95, max_share) && points_with_share >= min_points_with_it;
}
bool CommonError::offset_is_off() const {
  return is_beyond(seconds_a_kernel.ci95, max_offset_seconds) && points_with_offset >= min_points_with_it;
}

std::optional<CommonError> common_error(std::span<const ComparedPoint* const> compared) {
  std::vector<Deviation> points;
  for (const ComparedPoint* const point : compared)
    if (auto deviation = deviation_of(*point)) points.push_back(*std::move(deviation));
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

}  // namespace gpubench::bench
