// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/problem.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace gpubench::classifier {
namespace {

constexpr double launch_prior_sigma = 0.3;
constexpr double launch_beside_floor_sigma = 0.7;
/// An operation's own latency beside what its launch costs.
constexpr double latency_of_launch = 0.3;
constexpr double latency_prior_sigma = 1.0;
constexpr double efficiency_prior_sigma = 0.5;
/// However a launch shape's own cost was misread, a launch keeps this part of what the others take.
constexpr double min_of_launch = 0.1;
constexpr double floor_exponent = 32.0;  // q: two queues of which the slower one counts

int index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// Whether some size lies where the level at `level` of the demand hands over to the next.
bool is_crossed(const std::vector<Observation>& observations, std::size_t level, std::size_t first_cache) {
  bool inside = false;
  bool beyond = false;
  for (const auto& observation : observations) {
    const auto& demand = observation.prediction.demand;
    if (observation.prediction.counted || level >= demand.levels.size() || level < first_cache) continue;
    const double capacity = demand.levels[level].capacity_bytes;
    if (!std::isfinite(capacity) || level + 1 >= demand.levels.size()) continue;
    inside = inside || demand.footprint_bytes <= 1.2 * capacity;
    beyond = beyond || demand.footprint_bytes >= 0.8 * capacity;
  }
  return inside && beyond;
}

/// Some size has two throughput resources that are near each other.
bool overlaps(const std::vector<Observation>& observations) {
  return std::ranges::any_of(observations, [](const Observation& observation) {
    const auto& prediction = observation.prediction;
    std::vector<double> seconds = {prediction.memory_seconds()};
    for (const auto& resource : prediction.resources)
      if (resource.kind != ResourceKind::memory) seconds.push_back(resource.seconds);
    std::ranges::sort(seconds, std::greater<>());
    return seconds.size() > 1 && seconds[1] > 0.5 * seconds[0] && seconds[0] > 0.0;
  });
}

double mean_fixed_seconds(const std::vector<Observation>& observations) {
  double sum = 0.0;
  double count = 0.0;
  for (const auto& observation : observations)
    if (const auto& fixed = observation.prediction.kernel_overhead_seconds) {
      sum += *fixed;
      count += 1.0;
    }
  return count > 0.0 ? sum / count : 0.0;
}

}  // namespace

double factor_of(double parameter) { return std::exp(std::clamp(parameter, -80.0, 80.0)); }

int efficiency_index(const Layout& layout, std::string_view resource) {
  const int index = index_of(layout.resources, resource);
  return index < 0 ? -1 : layout.first_efficiency + index;
}

/// Memory levels as the form has them: inner caches merged into the next, the last one split in two.
FitCase fit_case_of(const Prediction& prediction, const Form& form, const Layout& layout) {
  FitCase result;
  result.prediction = &prediction;
  result.demand = prediction.demand;
  const auto& resources = prediction.resources;
  auto& levels = result.demand.levels;
  for (const auto& resource : resources) {
    if (resource.kind == ResourceKind::start) {
      result.start = {efficiency_index(layout, resource.resource), resource.seconds};
      continue;
    }
    if (resource.kind == ResourceKind::pipe) {
      if (resource.seconds > 0.0)
        result.pipes.emplace_back(efficiency_index(layout, resource.resource), resource.seconds);
      continue;
    }
    const auto& counted_cache = prediction.counted_cache;
    if (form.near_level && counted_cache && counted_cache->resource == resource.resource) {
      result.near_at = static_cast<int>(result.level_efficiency.size());
      result.near_fraction = counted_cache->near_fraction();
    }
    if (!prediction.counted && result.level_efficiency.size() == levels.size()) {
      result.random.emplace_back(efficiency_index(layout, resource.resource), resource.seconds);
      continue;
    }
    result.level_efficiency.push_back(efficiency_index(layout, resource.resource));
    if (prediction.counted) result.counted_seconds.push_back(resource.seconds);
  }
  if (prediction.counted || levels.empty()) return result;
  const auto caches = static_cast<std::size_t>(
      std::ranges::count_if(levels, [](const auto& each) { return std::isfinite(each.capacity_bytes); }));
  const std::size_t merged = std::min(form.first_cache, caches);
  // A cache of no capacity holds nothing, and keeps the others' places.
  for (std::size_t i = 0; i < merged; ++i) levels[i].capacity_bytes = 0.0;
  if (form.near_level && merged < caches) {
    const auto place = static_cast<std::ptrdiff_t>(caches) - 1;
    auto near = levels[caches - 1];
    near.capacity_bytes *= 0.5;
    levels.insert(levels.begin() + place, near);
    result.level_efficiency.insert(result.level_efficiency.begin() + place, layout.near_efficiency);
    result.near_at = static_cast<int>(place);
  }
  return result;
}

Eigen::VectorXd factors_of(const Eigen::VectorXd& parameters) { return parameters.unaryExpr(&factor_of); }

namespace {

/// The efficiency at a place; 1 where that is -1.
double efficiency_at(const Eigen::VectorXd& factors, int index) { return index < 0 ? 1.0 : factors[index]; }

/// The bytes of each level that was not counted, with the capacities and the hit exponent of the factors.
void split(const Layout& layout, const FitCase& one, const Eigen::VectorXd& factors, std::vector<double>& bytes) {
  if (one.prediction->counted || one.demand.levels.empty()) return;
  one.demand.split(bytes, [&](std::size_t i, double& capacity, double& exponent) {
    // The near half shifts those behind it, and shares the place of the cache that it is half of.
    const std::size_t place = one.near_at >= 0 && static_cast<int>(i) > one.near_at ? i - 1 : i;
    if (place < layout.capacities.size() && layout.capacities[place] >= 0)
      capacity *= factors[layout.capacities[place]];
    if (layout.hit >= 0) exponent *= factors[layout.hit];
  });
}

double overlap_of(const Layout& layout, double overlap, const Eigen::VectorXd& factors) {
  return layout.overlap >= 0 ? std::clamp(factors[layout.overlap], 1.0, 64.0) : overlap;
}

/// `bytes` are those of `split`.
double memory_seconds(const Layout& layout, double overlap, const FitCase& one, const Eigen::VectorXd& factors,
                      const std::vector<double>& bytes) {
  const auto& prediction = *one.prediction;
  double memory = 0.0;
  if (prediction.counted) {
    OverlapSum levels(overlap);
    for (std::size_t i = 0; i < one.counted_seconds.size(); ++i) {
      // The halves of a cache follow one another, as levels that were not counted do.
      const double near = static_cast<int>(i) == one.near_at ? one.near_fraction : 0.0;
      levels.add(one.counted_seconds[i] * ((1.0 - near) / efficiency_at(factors, one.level_efficiency[i]) +
                                           near / efficiency_at(factors, layout.near_efficiency)));
    }
    memory = levels.value();
  } else {
    const auto& levels = one.demand.levels;
    for (std::size_t i = 0; i < levels.size(); ++i)
      memory += bytes[i] * levels[i].seconds_per_byte / efficiency_at(factors, one.level_efficiency[i]);
  }
  for (const auto& [index, seconds] : one.random) memory += seconds / efficiency_at(factors, index);
  return memory;
}

/// The memory's seconds with all else that the device does beside it.
double with_rest(double overlap, const FitCase& one, const Eigen::VectorXd& factors, double memory) {
  OverlapSum busy(overlap), device(overlap);
  busy.add(memory);
  for (const auto& [index, seconds] : one.pipes) busy.add(seconds / efficiency_at(factors, index));
  device.add(one.prediction->wave_factor * busy.value());
  device.add(one.start.second / efficiency_at(factors, one.start.first));
  return device.value();
}

WorkSeconds work_seconds(const Layout& layout, double overlap, const FitCase& one, const Eigen::VectorXd& factors) {
  overlap = overlap_of(layout, overlap, factors);
  WorkSeconds work;
  split(layout, one, factors, work.bytes);
  work.memory = memory_seconds(layout, overlap, one, factors, work.bytes);
  work.all = with_rest(overlap, one, factors, work.memory);
  return work;
}

/// What the work takes with latency and launch.
FittedTime with_launch(const Layout& layout, double kernel_overhead_seconds, const FitCase& one,
                       const Eigen::VectorXd& factors, double work_seconds) {
  const auto& prediction = *one.prediction;
  FittedTime time;
  time.device_seconds = work_seconds;
  if (layout.latency >= 0) time.device_seconds += factors[layout.latency];
  const double launch = factors[layout.launch];
  const double shape = prediction.kernel_overhead_seconds.value_or(kernel_overhead_seconds) - kernel_overhead_seconds;
  time.seconds = std::max(launch + shape, min_of_launch * launch) + time.device_seconds;
  if (layout.floor >= 0) {
    OverlapSum slower(floor_exponent);
    slower.add(factors[layout.floor]);
    slower.add(time.seconds);
    time.seconds = slower.value();
  }
  return time;
}

}  // namespace

bool Layout::is_beside_work(int parameter) const {
  return parameter == launch || parameter == floor || parameter == latency;
}

bool Layout::is_of_splits(int parameter) const {
  return parameter >= 0 && (parameter == hit || contains(capacities, parameter));
}

bool FitCase::memory_depends_on(int parameter, const Layout& layout) const {
  if (layout.is_beside_work(parameter)) return false;
  return parameter < layout.first_efficiency || parameter == layout.near_efficiency ||
         contains(level_efficiency, parameter) || contains(random, parameter, &std::pair<int, double>::first);
}

bool FitCase::rest_depends_on(int parameter, const Layout& layout) const {
  return parameter == layout.overlap || parameter == start.first ||
         contains(pipes, parameter, &std::pair<int, double>::first);
}

FittedTime evaluate(const Layout& layout, double overlap, double kernel_overhead_seconds, const FitCase& one,
                    const Eigen::VectorXd& factors) {
  return with_launch(layout, kernel_overhead_seconds, one, factors, work_seconds(layout, overlap, one, factors).all);
}

Problem problem_of(const std::vector<Observation>& observations, const Form& form) {
  Problem problem;
  Layout& layout = problem.layout;
  std::vector<double> means, precisions;
  const auto add = [&](int& place, double mean, double sigma) {
    place = static_cast<int>(means.size());
    means.push_back(mean);
    const double bounded = std::clamp(sigma, 1e-4, 1e3);
    precisions.push_back(1.0 / (bounded * bounded));
  };
  const auto& first = observations.front().prediction;
  problem.overlap = first.overlap.value;
  problem.kernel_overhead_seconds = mean_fixed_seconds(observations);
  const double launch = std::log(first.launch->seconds);
  const bool has_device = std::ranges::any_of(
      observations, [](const Observation& observation) { return observation.device_seconds.has_value(); });

  add(layout.launch, form.launch_floor ? launch + std::log(0.6) : launch,
      form.launch_floor || has_device ? launch_beside_floor_sigma : launch_prior_sigma);
  if (form.launch_floor) add(layout.floor, launch, launch_prior_sigma);
  if (has_device) add(layout.latency, launch + std::log(latency_of_launch), latency_prior_sigma);
  if (overlaps(observations)) add(layout.overlap, std::log(first.overlap.value), first.overlap.sigma);
  const auto& levels = first.demand.levels;
  layout.capacities.assign(levels.size(), -1);
  bool any = false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!is_crossed(observations, i, form.first_cache)) continue;
    add(layout.capacities[i], 0.0, std::hypot(levels[i].capacity_sigma, model_sigma));
    any = true;
  }
  if (any) add(layout.hit, 0.0, std::max(levels.front().hit_exponent.sigma, 0.05));

  for (const auto& observation : observations)
    for (const auto& resource : observation.prediction.resources)
      if (resource.seconds > 0.0 && index_of(layout.resources, resource.resource) < 0)
        layout.resources.emplace_back(resource.resource);
  layout.first_efficiency = static_cast<int>(means.size());
  int place = 0;
  for (std::size_t i = 0; i < layout.resources.size(); ++i) add(place, 0.0, efficiency_prior_sigma);
  if (form.near_level) add(layout.near_efficiency, 0.0, efficiency_prior_sigma);
  layout.count = static_cast<int>(means.size());
  problem.priors.mean = Eigen::Map<const Eigen::VectorXd>(means.data(), layout.count);
  problem.priors.precision = Eigen::Map<const Eigen::VectorXd>(precisions.data(), layout.count);
  for (const auto& observation : observations) {
    problem.cases.push_back(fit_case_of(observation.prediction, form, layout));
    problem.cases.back().observation = &observation;
  }
  return problem;
}

Residuals::Residuals(const Problem& problem) : problem_(problem) {
  const auto add = [this](double seconds, double sigma) {
    logarithms_.push_back(std::log(seconds));
    sigmas_.push_back(std::hypot(std::min(sigma, 10.0), min_sigma));
  };
  for (const auto& one : problem.cases) add(one.observation->seconds, one.observation->sigma);
  for (const auto& one : problem.cases) {
    device_places_.push_back(logarithms_.size());
    if (one.observation->device_seconds) add(*one.observation->device_seconds, one.observation->device_sigma);
  }
}

void Residuals::write(std::size_t i, double work_seconds, Eigen::VectorXd& out) const {
  const FitCase& one = problem_.cases[i];
  const auto time = with_launch(problem_.layout, problem_.kernel_overhead_seconds, one, factors_, work_seconds);
  out[static_cast<Eigen::Index>(i)] = (std::log(time.seconds) - logarithms_[i]) / sigmas_[i];
  if (!one.observation->device_seconds) return;
  const std::size_t place = device_places_[i];
  out[static_cast<Eigen::Index>(place)] =
      (std::log(std::max(time.device_seconds, min_figure)) - logarithms_[place]) / sigmas_[place];
}

void Residuals::at(const Eigen::VectorXd& parameters, Eigen::VectorXd& out) {
  out.resize(count());
  factors_ = factors_of(parameters);
  work_.resize(problem_.cases.size());
  for (std::size_t i = 0; i < problem_.cases.size(); ++i) {
    work_[i] = work_seconds(problem_.layout, problem_.overlap, problem_.cases[i], factors_);
    write(i, work_[i].all, out);
  }
}

void Residuals::beside(double parameter, int moved, Eigen::VectorXd& out) {
  const Layout& layout = problem_.layout;
  const double factor = std::exchange(factors_[moved], factor_of(parameter));
  const double overlap = overlap_of(layout, problem_.overlap, factors_);
  const bool is_beside_work = layout.is_beside_work(moved);
  const bool splits = layout.is_of_splits(moved);
  std::vector<double> bytes;
  for (std::size_t i = 0; i < problem_.cases.size(); ++i) {
    const FitCase& one = problem_.cases[i];
    const WorkSeconds& work = work_[i];
    double memory = work.memory;
    double all = work.all;
    if (one.memory_depends_on(moved, layout)) {
      if (splits) split(layout, one, factors_, bytes);
      memory = memory_seconds(layout, overlap, one, factors_, splits ? bytes : work.bytes);
    }
    if (memory != work.memory || one.rest_depends_on(moved, layout)) all = with_rest(overlap, one, factors_, memory);
    if (is_beside_work || all != work.all) write(i, all, out);
  }
  factors_[moved] = factor;
}

}  // namespace gpubench::classifier
