// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/findings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "core/model/points.h"

namespace gpubench::classifier {
namespace {

/// Of five lines these leave two to limits.
constexpr std::size_t most_failures = 3;

/// Whether an advice is about the code of the operation itself.
bool is_own(const Advice& advice) {
  if (!advice.code) return false;
  switch (*advice.code) {
    case AdviceCode::fuse:
    case AdviceCode::smaller_format:
    case AdviceCode::tensor_cores:
    case AdviceCode::less_power: return false;
    default: return true;
  }
}

bool counts(const Verdict& verdict, const Advice& advice) {
  return is_own(advice) || verdict.achieved.value_or(0.0) < well_used;
}

/// The points of an operation that share a regime and an advice.
struct Limit {
  double saved = 0.0;    ///< s
  double score = 0.0;    ///< s; times confidence
  double unknown = 0.0;  ///< s; of points whose gain is not known, times confidence
  double best = -1.0;    ///< score of `point`
  const Point* point = nullptr;
  const Advice* advice = nullptr;
  std::int64_t points = 0;
};

/// What the unit itself leaves: arithmetic that must be done is not saved by relieving its pipe, only by filling it.
double gain_left(const Verdict& verdict, const Advice& advice, double gain) {
  const bool pipe = verdict.regime == Regime::compute && advice.code == AdviceCode::relieve_unit;
  return pipe && verdict.achieved && *verdict.achieved > 0.0 ? std::min(gain, std::max(1.0 / *verdict.achieved, 1.0))
                                                             : gain;
}

double part_saved(double gain) { return gain > 1.0 ? 1.0 - 1.0 / gain : 0.0; }

/// How long a point takes in all: of a program's kernels all launches together, else one execution.
class Times {
 public:
  explicit Times(const Run& run) : of_program_(run.program.has_value()) {
    if (run.program)
      for (const ProgramKernel& kernel : run.program->kernels) totals_[kernel.point] = kernel.total_seconds;
  }
  [[nodiscard]] double of(const Point& point) const {
    const auto total = totals_.find(point.measurement.name);
    return total == totals_.end() ? point.measurement.seconds()->median : total->second;
  }
  [[nodiscard]] bool of_program() const { return of_program_; }

 private:
  bool of_program_;
  std::map<std::string_view, double> totals_;
};

void add(const Point& point, double seconds, const Advice& advice, Limit& limit) {
  const double saved = seconds * part_saved(gain_left(*point.verdict, advice, advice.gain.value_or(1.0)));
  const double score = saved * point.verdict->confidence;
  limit.saved += saved;
  limit.score += score;
  if (!advice.gain) limit.unknown += seconds * point.verdict->confidence;
  ++limit.points;
  // Of points without a gain the one that takes longest.
  const double rank = advice.gain ? score : 1e-9 * seconds * point.verdict->confidence;
  if (rank <= limit.best) return;
  limit.best = rank;
  limit.point = &point;
  limit.advice = &advice;
}

std::vector<Limit> limits_of(const Group& group, const Times& times) {
  std::map<std::tuple<Regime, std::string_view, std::string_view>, Limit> by_advice;
  for (const Point* const point : group.points) {
    if (status_of(point->measurement) != Status::timed || !point->verdict) continue;
    for (const Advice& advice : point->verdict->advice)
      if (counts(*point->verdict, advice))
        add(*point, times.of(*point), advice,
            by_advice[{point->verdict->regime, advice.code ? name_of(*advice.code) : std::string_view(advice.action),
                       advice.kernel}]);
  }
  std::vector<Limit> limits;
  limits.reserve(by_advice.size());
  for (auto& [key, limit] : by_advice) limits.push_back(limit);
  return limits;
}

using Ranked = std::pair<std::pair<double, double>, OperationFinding>;

/// The limit of an operation that could save most, if that is enough.
void add_limit(const Group& group, const Times& times, std::vector<Ranked>& found) {
  double all = 0.0;
  for (const Point* const point : group.points)
    if (status_of(point->measurement) == Status::timed) all += times.of(*point);
  const auto limits = limits_of(group, times);
  // Of equals what the point's own list has first.
  const auto rank = [](const Limit& limit) {
    return std::tuple(limit.score, limit.unknown, limit.point->verdict->advice.data() - limit.advice);
  };
  const auto best = std::ranges::max_element(limits, {}, rank);
  if (best == limits.end() || !(all > 0.0)) return;
  const bool known = best->score >= min_saved * all;
  if (!known && !(best->score <= 0.0 && best->unknown >= min_saved * all)) return;
  const Verdict& verdict = *best->point->verdict;
  OperationFinding finding;
  finding.operation = group.operation;
  finding.device = group.device;
  finding.point = best->point->measurement.name;
  finding.regime = verdict.regime;
  finding.limiter = verdict.limiter;
  finding.why = best->advice->evidence;
  finding.action = best->advice->action;
  finding.code = best->advice->code;
  finding.kernel = best->advice->kernel;
  const auto left = [&](double gain) { return gain_left(verdict, *best->advice, gain); };
  if (best->advice->gain) finding.gain = left(*best->advice->gain);
  if (const auto& ci95 = best->advice->gain_ci95) {
    const Interval both{left(ci95->low), left(ci95->high)};
    if (both.low < both.high) finding.gain_ci95 = both;  // what is capped at both ends has no interval
  }
  if (known) finding.saved = std::min(best->saved / all, 1.0);
  finding.confidence = verdict.confidence;
  finding.points = best->points;
  finding.all_points = static_cast<std::int64_t>(group.points.size());
  const double whole = times.of_program() ? 1.0 : all;  // a program's kernels count by their seconds
  found.emplace_back(std::pair(best->score / whole, best->unknown / whole), std::move(finding));
}

/// One for each kind of failure, of the first point that has it.
void add_failures(const Group& group, std::vector<OperationFinding>& found) {
  std::array<OperationFinding, failure_kind_names.size()> kinds;
  for (const Point* const point : group.points) {
    if (status_of(point->measurement) != Status::failed) continue;
    const auto& failure = point->measurement.failure;
    OperationFinding& finding = kinds[static_cast<std::size_t>(failure ? failure->kind : FailureKind::error)];
    if (finding.points++ > 0) continue;
    finding.operation = group.operation;
    finding.device = group.device;
    finding.point = point->measurement.name;
    finding.failure = failure ? failure->kind : FailureKind::error;
    finding.why = failure ? failure->message : reason_of(point->measurement);
    finding.confidence = 1.0;
    finding.all_points = static_cast<std::int64_t>(group.points.size());
  }
  for (OperationFinding& finding : kinds)
    if (finding.points > 0) found.push_back(std::move(finding));
}

}  // namespace

std::vector<OperationFinding> findings_of(const Run& run) {
  std::vector<OperationFinding> failures;
  std::vector<Ranked> limits;
  const Times times(run);
  for (const Group& group : groups_of(run)) {
    add_failures(group, failures);
    add_limit(group, times, limits);
  }
  std::ranges::stable_sort(failures, [](const OperationFinding& a, const OperationFinding& b) {
    const auto key = [](const OperationFinding& it) {
      return std::tuple(*it.failure != FailureKind::wrong_result, -it.points);
    };
    return key(a) < key(b);
  });
  std::ranges::stable_sort(limits, std::greater<>(), &Ranked::first);
  const std::size_t places = std::max(most_failures, max_findings - std::min(limits.size(), max_findings));
  std::vector<OperationFinding> findings(
      failures.begin(), failures.begin() + static_cast<std::ptrdiff_t>(std::min(failures.size(), places)));
  for (auto& [rank, limit] : limits)
    if (findings.size() < max_findings) findings.push_back(std::move(limit));
  return findings;
}

}  // namespace gpubench::classifier
