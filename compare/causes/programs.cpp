// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/programs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

/// What tells a group in any run: device and name of its point, which has shape and range.
using GroupName = std::pair<std::string, std::string>;

struct GroupTotal {
  std::string operation, range;
  double seconds = 0.0;
  double launches = 0.0;
};
using GroupTotals = std::map<GroupName, GroupTotal>;

bool is_in(const std::string& path, const std::string& range) {
  return path == range || (path.starts_with(range) && path[range.size()] == '/');
}

/// Of the outermost ranges that occur more than once on both sides, the one that holds most of the kernels' time.
std::string step_of(const std::vector<Run>& base, const std::vector<Run>& next) {
  std::map<std::string, double> seconds;
  std::map<std::string, std::size_t> runs;
  for (const auto* side : {&base, &next})
    for (const Run& run : *side)
      for (const ProgramRange& range : run.program->ranges)
        if (range.depth == 0 && range.count > 1 && range.kernel_seconds > 0.0) {
          seconds[range.path] += range.kernel_seconds;
          ++runs[range.path];
        }
  std::string best;
  for (const auto& [path, time] : seconds)
    if (runs[path] == base.size() + next.size() && (best.empty() || time > seconds[best])) best = path;
  return best;
}

double steps_in(const Run& run, const std::string& step) {
  double count = 0.0;
  for (const ProgramRange& range : run.program->ranges)
    if (range.depth == 0 && range.path == step) count += static_cast<double>(range.count);
  return count;
}

/// Means over the runs; `outside` gets the seconds of groups that are in no step.
GroupTotals totals_of(const std::vector<Run>& runs, const std::string& step, double& outside) {
  GroupTotals totals;
  const auto count = static_cast<double>(runs.size());
  for (const Run& run : runs) {
    std::map<std::string, const Measurement*> points;
    for (const Point& point : run.points) points.emplace(point.measurement.name, &point.measurement);
    const double steps = step.empty() ? 1.0 : steps_in(run, step);
    for (const ProgramKernel& kernel : run.program->kernels) {
      if (!step.empty() && !is_in(kernel.range, step)) {
        outside += kernel.total_seconds / count;
        continue;
      }
      const auto point = points.find(kernel.point);
      if (point == points.end()) continue;
      GroupTotal& total = totals[{point->second->device, kernel.point}];
      total.operation = point->second->operation;
      total.range = kernel.range;
      total.seconds += kernel.total_seconds / (steps * count);
      total.launches += static_cast<double>(kernel.launches) / (steps * count);
    }
  }
  return totals;
}

class Matching {
 public:
  Matching(GroupTotals base, GroupTotals next) : base_(std::move(base)), next_(std::move(next)) {}

  std::vector<GroupChange> groups() {
    by_name();
    by_kernel();
    by_place();
    for (const auto& [name, total] : base_) put(name, Match::gone, total, {});
    for (const auto& [name, total] : next_) put(name, Match::added, {}, total);
    std::ranges::stable_sort(found_, std::ranges::greater(),
                             [](const GroupChange& change) { return std::abs(change.seconds()); });
    return std::move(found_);
  }

 private:
  GroupChange& put(const GroupName& name, Match match, const GroupTotal& old, const GroupTotal& now) {
    return found_.emplace_back(GroupChange{name.second, "", now.range.empty() ? old.range : now.range, name.first,
                                           match, old.seconds, now.seconds, old.launches, now.launches});
  }

  void by_name() {
    std::erase_if(base_, [&](const auto& old) {
      const auto now = next_.find(old.first);
      if (now == next_.end()) return false;
      put(old.first, Match::same, old.second, now->second);
      next_.erase(now);
      return true;
    });
  }

  /// What is left of one kernel in one range: its shapes differ, so all of them are one.
  void by_kernel() {
    using Place = std::tuple<std::string, std::string, std::string>;  // device, range, kernel
    const auto sums = [](const GroupTotals& totals) {
      std::map<Place, GroupTotal> result;
      for (const auto& [name, total] : totals) {
        GroupTotal& sum = result[{name.first, total.range, total.operation}];
        sum.operation = total.operation, sum.range = total.range;
        sum.seconds += total.seconds, sum.launches += total.launches;
      }
      return result;
    };
    const auto old = sums(base_), now = sums(next_);
    for (const auto& [place, total] : old) {
      const auto other = now.find(place);
      if (other == now.end()) continue;
      put({std::get<0>(place), total.operation}, Match::reshaped, total, other->second);
      const auto is_one = [&place = place](const auto& each) {
        return Place(each.first.first, each.second.range, each.second.operation) == place;
      };
      std::erase_if(base_, is_one);
      std::erase_if(next_, is_one);
    }
  }

  /// Of a range that lost one group and got one, launched as often: it does the same work under another name.
  void by_place() {
    std::map<std::pair<std::string, std::string>, std::pair<std::vector<GroupName>, std::vector<GroupName>>> places;
    for (const auto& [name, total] : base_) places[{name.first, total.range}].first.push_back(name);
    for (const auto& [name, total] : next_) places[{name.first, total.range}].second.push_back(name);
    for (const auto& [place, names] : places) {
      if (place.second.empty() || names.first.size() != 1 || names.second.size() != 1) continue;
      const auto old = base_.find(names.first.front()), now = next_.find(names.second.front());
      if (old->second.launches != now->second.launches) continue;
      put(now->first, Match::renamed, old->second, now->second).was = old->first.second;
      base_.erase(old);
      next_.erase(now);
    }
  }

  GroupTotals base_, next_;
  std::vector<GroupChange> found_;
};

bool all_are_profiles(const std::vector<Run>& runs) {
  return std::ranges::all_of(runs, [](const Run& run) { return run.program && !run.program->kernels.empty(); });
}

/// Launches of such a group do work of different sizes. A single length has quartiles some percent apart, or some ticks
/// of the clock.
bool is_mixed(const Summary& seconds) {
  constexpr double apart = 0.15, mean_off = 0.1, ticks = 0.5e-6;
  const auto beyond = [&](double difference, double part) {
    return difference > std::max(part * seconds.median, ticks);
  };
  return beyond(seconds.upper_quartile - seconds.lower_quartile, apart) ||
         beyond(std::abs(seconds.mean - seconds.median), mean_off);
}

std::map<GroupName, const ProgramKernel*> kernels_of(const Run& run) {
  std::map<std::string, const ProgramKernel*> by_point;
  for (const ProgramKernel& kernel : run.program->kernels) by_point.emplace(kernel.point, &kernel);
  std::map<GroupName, const ProgramKernel*> result;
  for (const Point& point : run.points)
    if (const auto kernel = by_point.find(point.measurement.name); kernel != by_point.end())
      result.emplace(GroupName(point.measurement.device, point.measurement.name), kernel->second);
  return result;
}

/// The same program launches the same mix, so that its mean varies as single launches of one length do. Of another
/// number of launches the mix may be another.
double deviation_of_mean(const Summary& seconds, double mean, double launches, bool same_mix) {
  constexpr double of_a_launch = 0.15;  // assumed, of one length
  if (same_mix) return of_a_launch * mean / std::sqrt(launches);
  return std::sqrt(std::max((seconds.maximum - mean) * (mean - seconds.minimum), 0.0) / launches);
}

/// `mixed` has the number of launches that all runs have of a group; 0 where they differ.
void put_whole_times(const std::map<GroupName, std::int64_t>& mixed, std::vector<Run>& runs) {
  for (Run& run : runs) {
    const auto kernels = kernels_of(run);
    for (Point& point : run.points) {
      Measurement& measurement = point.measurement;
      const GroupName name(measurement.device, measurement.name);
      const auto kernel = kernels.find(name);
      if (!mixed.contains(name) || kernel == kernels.end() || kernel->second->launches < 1) continue;
      const auto launches = static_cast<double>(kernel->second->launches);
      const double mean = kernel->second->total_seconds / launches;
      for (Timing& timing : measurement.timings) {
        if (!timing.seconds) continue;
        Summary& seconds = *timing.seconds;
        const double half = statistics::normal_975 * deviation_of_mean(seconds, mean, launches, mixed.at(name) > 0);
        seconds = {seconds.count, mean, mean, mean, mean, mean, mean, 0.0, {std::max(mean - half, 0.0), mean + half}};
        timing.samples_seconds.clear();
      }
    }
  }
}

}  // namespace

std::optional<ProgramChange> program_change(const std::vector<Run>& base, const std::vector<Run>& next) {
  if (base.empty() || next.empty() || !all_are_profiles(base) || !all_are_profiles(next)) return std::nullopt;
  ProgramChange change;
  change.step = step_of(base, next);
  const auto steps = [&](const std::vector<Run>& runs) {
    double sum = 0.0;
    for (const Run& run : runs) sum += steps_in(run, change.step);
    return sum / static_cast<double>(runs.size());
  };
  if (!change.step.empty()) {
    change.base_steps = steps(base);
    change.new_steps = steps(next);
  }
  change.groups = Matching(totals_of(base, change.step, change.outside_base_seconds),
                           totals_of(next, change.step, change.outside_new_seconds))
                      .groups();
  for (const GroupChange& group : change.groups) {
    change.base_seconds += group.base_seconds;
    change.new_seconds += group.new_seconds;
  }
  for (std::size_t i = max_listed_groups; i < change.groups.size(); ++i) {
    change.rest_seconds += change.groups[i].seconds();
    ++change.rest_groups;
  }
  change.groups.resize(std::min(change.groups.size(), max_listed_groups));
  return change;
}

WholeTimes with_whole_times(const std::vector<Run>& base, const std::vector<Run>& next) {
  if (base.empty() || next.empty() || !all_are_profiles(base) || !all_are_profiles(next)) return {};
  std::map<GroupName, std::int64_t> mixed;
  for (const auto* side : {&base, &next})
    for (const Run& run : *side)
      for (const Point& point : run.points)
        if (const auto& seconds = point.measurement.seconds(); seconds && is_mixed(*seconds))
          mixed.emplace(GroupName(point.measurement.device, point.measurement.name), -1);
  if (mixed.empty()) return {};
  for (const auto* side : {&base, &next})
    for (const Run& run : *side)
      for (const auto& [name, kernel] : kernels_of(run))
        if (const auto place = mixed.find(name); place != mixed.end())
          place->second = place->second < 0 || place->second == kernel->launches ? kernel->launches : 0;
  WholeTimes whole{base, next, {}};
  put_whole_times(mixed, whole.base);
  put_whole_times(mixed, whole.next);
  for (const auto& [name, launches] : mixed) whole.mixed.push_back(name.second);
  return whole;
}

}  // namespace gpubench::compare
