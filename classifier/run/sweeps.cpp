// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "classifier/verdict/point_analysis.h"

namespace gpubench::classifier {
namespace {

using Points = std::vector<const Measurement*>;
using ArgumentList = std::vector<Argument>;

/// Two arguments of one place, whatever they are called.
bool differ(const Argument& one, const Argument& other) { return one.value != other.value || one.text != other.text; }

/// Which arguments take more than one value.
std::vector<std::size_t> varying(const Points& points) {
  std::vector<std::size_t> result;
  const auto& first = points.front()->arguments;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (std::ranges::any_of(points, [&](const auto* p) { return differ(p->arguments[i], first[i]); }))
      result.push_back(i);
  return result;
}

/// All arguments follow from the one at `index`, as in n x n x n.
bool decides_all(std::size_t index, const Points& points) {
  std::set<std::int64_t> alone;
  std::set<ArgumentList> together;
  for (const auto* point : points) {
    alone.insert(point->arguments[index].value);
    together.insert(point->arguments);
  }
  return alone.size() == together.size();
}

std::string name_of_argument(const Argument& argument) { return argument.name.empty() ? "size" : argument.name; }

Sweep sweep_along(std::size_t index, const std::vector<std::size_t>& fixed, const Points& points) {
  const Measurement& first = *points.front();
  Sweep sweep{first.operation, first.device, name_of_argument(first.arguments[index]), {}};
  std::string others;
  for (const auto i : fixed)
    others += fmt::format("{}{} = {}", others.empty() ? "" : ", ",
                          first.arguments[i].name.empty() ? fmt::format("argument {}", i + 1) : first.arguments[i].name,
                          value_text(first.arguments[i]));
  if (!others.empty()) sweep.argument += " (" + others + ")";
  std::map<std::int64_t, SweepSize> sizes;
  for (const auto* point : points) {
    const auto value = point->arguments[index].value;
    auto& size = sizes[value];
    if (size.measurements.empty()) size = {static_cast<double>(value), point->work, {}};
    size.measurements.push_back(point);
  }
  for (auto& [value, size] : sizes) sweep.sizes.push_back(std::move(size));
  return sweep;
}

void add_sweeps(const Points& points, std::vector<Sweep>& sweeps) {
  auto indices = varying(points);
  // A sweep runs over the first number that varies; texts only tell sweeps apart.
  const auto number = std::ranges::find_if(indices, [&](std::size_t i) {
    return std::ranges::none_of(points, [&](auto* p) { return p->arguments[i].text.has_value(); });
  });
  if (number == indices.end()) return;
  const std::size_t index = *number;
  indices.erase(number);
  if (decides_all(index, points)) return sweeps.push_back(sweep_along(index, {}, points));
  std::map<ArgumentList, Points> groups;
  for (const auto* point : points) {
    ArgumentList key;
    for (const auto i : indices) key.push_back(point->arguments[i]);
    groups[key].push_back(point);
  }
  for (const auto& [key, group] : groups) sweeps.push_back(sweep_along(index, indices, group));
}

constexpr std::size_t replicate_count = 500;
/// A fit that leaves more than this is no model of the operation (a chase, say, whose time is each level's latency).
constexpr double worst_residual = 0.25;
/// Work and times whose largest is no more than this times their smallest are the same.
constexpr double same_within = 1.02;

std::vector<Observation> observations_of(const Sweep& sweep, const Machine& machine) {
  std::vector<Observation> result;
  for (const auto& size : sweep.sizes)
    for (const auto* measurement : size.measurements) {
      const auto time = time_of(*measurement);
      auto prediction = predict(size.work, model_input_of(*measurement), machine);
      if (!std::isfinite(prediction.work_seconds())) continue;
      result.push_back({std::move(prediction), time.seconds, sigma_beside_model(time, *measurement, machine),
                        time.device_seconds, time.device_sigma});
    }
  return result;
}

}  // namespace

std::vector<Sweep> sweeps_of(const Run& run) {
  using SweepKey =
      std::tuple<std::string_view, std::string_view, std::size_t>;  // operation, device, count of arguments
  std::map<SweepKey, std::size_t> index_of;
  std::vector<Points> operations;
  for (const auto& point : run.points) {
    const auto& measurement = point.measurement;
    if (!has_time(measurement) || !is_sound(measurement.work)) continue;
    const SweepKey key{measurement.operation, measurement.device, measurement.arguments.size()};
    const auto [found, is_new] = index_of.try_emplace(key, operations.size());
    if (is_new) operations.emplace_back();
    operations[found->second].push_back(&measurement);
  }
  std::vector<Sweep> sweeps;
  for (const auto& points : operations) add_sweeps(points, sweeps);
  return sweeps;
}

double between(double below, double above, double part) {
  if (below > 0.0 && above > 0.0) return std::exp(std::lerp(std::log(below), std::log(above), part));
  const double on_line = std::lerp(below, above, part);
  return below >= 0.0 && above >= 0.0 ? std::max(on_line, 0.0) : on_line;
}

Work work_between(const Work& below, const Work& above, double part) {
  Work work;
  work.bytes_read = between(below.bytes_read, above.bytes_read, part);
  work.bytes_written = between(below.bytes_written, above.bytes_written, part);
  if (below.footprint_bytes || above.footprint_bytes)
    work.footprint_bytes =
        between(below.footprint_bytes.value_or(below.bytes()), above.footprint_bytes.value_or(above.bytes()), part);
  if (below.random && above.random)
    work.random = RandomAccesses{between(below.random->reads, above.random->reads, part),
                                 between(below.random->updates, above.random->updates, part),
                                 between(below.random->bytes, above.random->bytes, part)};
  for (const auto& [pipe, count] : below.flops) work.flops[pipe] = 0.0;
  for (const auto& [pipe, count] : above.flops) work.flops[pipe] = 0.0;
  const auto count_of = [](const Work& w, Pipe pipe) {
    const auto found = w.flops.find(pipe);
    return found == w.flops.end() ? 0.0 : found->second;
  };
  for (auto& [pipe, count] : work.flops) count = between(count_of(below, pipe), count_of(above, pipe), part);
  return work;
}

double sigma_beside_model(const Time& time, const Measurement& measurement, const Machine& machine) {
  const bool in_stream = seconds_by(measurement, TimingMode::stream) != nullptr;
  return std::hypot(time.sigma, in_stream ? machine.launch_step_seconds / (std::sqrt(12.0) * time.seconds) : 0.0);
}

MachineWithErrors with_errors(Machine machine) {
  MachineWithErrors result{std::move(machine), {}};
  result.draws.reserve(replicate_count);
  for (std::size_t draw = 0; draw < replicate_count; ++draw) result.draws.push_back(drawn(result.machine, draw));
  return result;
}

std::optional<std::string> why_no_model(const Sweep& sweep, const MachineWithErrors& machines) {
  if (sweep.sizes.size() < min_sizes) return "fewer than three sizes";
  if (!machines.machine.launch) return "no launch ceiling";
  double min_work = std::numeric_limits<double>::infinity();
  double max_work = 0.0;
  double min_time = std::numeric_limits<double>::infinity();
  double max_time = 0.0;
  for (const auto& observation : observations_of(sweep, machines.machine)) {
    const double work = observation.prediction.work_seconds();
    min_work = std::min(min_work, work);
    max_work = std::max(max_work, work);
    min_time = std::min(min_time, observation.seconds);
    max_time = std::max(max_time, observation.seconds);
  }
  if (max_work <= same_within * min_work && max_time > same_within * min_time)
    return "it declares the same work at every size, and its time differs";
  return std::nullopt;
}

std::optional<Fit> fit_of(const Sweep& sweep, const MachineWithErrors& machines) {
  if (why_no_model(sweep, machines)) return std::nullopt;
  const auto observations = observations_of(sweep, machines.machine);
  if (observations.size() < min_sizes) return std::nullopt;
  auto fit = fit_operation(observations, replicate_count);
  if (!fit.parameters.allFinite() || !(fit.residual_rms <= worst_residual)) return std::nullopt;
  return fit;
}

}  // namespace gpubench::classifier
