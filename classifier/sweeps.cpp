// SPDX-License-Identifier: Apache-2.0
#include "classifier/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "classifier/point_verdict.h"

namespace gpubench::classifier {
namespace {

using Points = std::vector<const Measurement*>;
using Values = std::vector<Argument>;

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
  std::set<Values> together;
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
  std::map<Values, Points> groups;
  for (const auto* point : points) {
    Values key;
    for (const auto i : indices) key.push_back(point->arguments[i]);
    groups[key].push_back(point);
  }
  for (const auto& [key, group] : groups) sweeps.push_back(sweep_along(index, indices, group));
}

}  // namespace

std::vector<Sweep> sweeps_of(const Run& run) {
  using Key = std::tuple<std::string_view, std::string_view, std::size_t>;  // operation, device, count of arguments
  std::map<Key, std::size_t> index_of;
  std::vector<Points> operations;
  for (const auto& point : run.points) {
    const auto& measurement = point.measurement;
    if (!has_time(measurement) || !is_sound(measurement.work)) continue;
    const Key key{measurement.operation, measurement.device, measurement.arguments.size()};
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
  for (const auto& [pipe, count] : below.flops) work.flops[pipe] = 0.0;
  for (const auto& [pipe, count] : above.flops) work.flops[pipe] = 0.0;
  const auto count_of = [](const Work& w, Pipe pipe) {
    const auto found = w.flops.find(pipe);
    return found == w.flops.end() ? 0.0 : found->second;
  };
  for (auto& [pipe, count] : work.flops) count = between(count_of(below, pipe), count_of(above, pipe), part);
  return work;
}

}  // namespace gpubench::classifier
