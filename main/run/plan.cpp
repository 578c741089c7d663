// SPDX-License-Identifier: Apache-2.0
#include "main/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "bench/point_runner.h"
#include "classifier/classifier.h"
#include "core/base/text.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "main/cli/output.h"
#include "main/run/run_options.h"

namespace gpubench {
namespace {

bool has(const Plan& plan, const AddedSize& size) {
  return std::ranges::any_of(plan.points, [&](const bench::PointName& point) {
    return point.operation == size.operation && point.arguments == size.arguments;
  });
}

std::size_t count_points(const std::vector<Plan>& plans) {
  std::size_t count = 0;
  for (const Plan& plan : plans) count += plan.points.size();
  return count;
}

}  // namespace

bench::RunnerSettings runner_settings(const RunOptions& options) {
  bench::RunnerSettings settings;
  settings.clocks = options.modes;
  settings.cold = options.cache_state == "cold";
  settings.verify_every = options.verify_every;
  bench::SamplingOptions& sampling = settings.sampling;
  sampling.budget_seconds = options.time_budget_seconds;
  sampling.brief = options.brief;
  if (options.google.min_time_seconds) sampling.min_seconds = *options.google.min_time_seconds;
  sampling.min_warm_up_seconds = options.google.min_warm_up_seconds;
  sampling.exact_samples = options.google.exact_iterations;
  return settings;
}

PointKey Keys::next(const std::string& device, const std::string& name, int repetition) {
  PointKey key{device, printable(name), repetition, 0};  // as it comes back from a file
  key.occurrence = seen_[key]++;
  return key;
}

Plan plan_of(const Device& device, const std::string& filter) {
  Plan plan{device, bench::discover(device.kind, filter), {}};
  Keys keys;
  for (const auto& point : plan.points) plan.keys.push_back(keys.next(device.id, point.name, point.repetition));
  return plan;
}

Measurement named(Measurement measurement, const bench::PointName& name) {
  measurement.name = name.name;
  measurement.operation = name.operation;
  measurement.arguments = name.arguments;
  measurement.repetition = name.repetition;
  return measurement;
}

bool AddedSizes::is_known(const AddedSize& size) const { return contains(all_, size); }

void AddedSizes::replan(std::vector<Plan>& plans) const {
  for (Plan& plan : plans) plan = plan_of(plan.device, filter_);
}

void AddedSizes::take_over(const Run& earlier, std::vector<Plan>& plans) {
  for (const Point& point : earlier.points) {
    const AddedSize size{point.measurement.operation, point.measurement.arguments};
    for (const Plan& plan : plans) {
      if (plan.device.id != point.measurement.device || has(plan, size) || is_known(size)) continue;
      if (!bench::add_arguments(plan.points, size.operation, size.arguments)) continue;
      all_.push_back(size);
      ++counts_[size.operation];
    }
  }
  replan(plans);
}

std::size_t AddedSizes::add(const Run& classified, std::vector<Plan>& plans) {
  const std::size_t before = count_points(plans);
  std::vector<AddedSize> fresh;
  for (const auto& next : classifier::next_points(classified)) {
    AddedSize size{next.operation, next.arguments};
    if (is_known(size) || counts_[size.operation] >= max_) continue;
    const auto plan = std::ranges::find(plans, next.device, [](const Plan& each) { return each.device.id; });
    if (plan == plans.end() || !bench::add_arguments(plan->points, size.operation, size.arguments)) continue;
    ++counts_[size.operation];
    all_.push_back(size);
    fresh.push_back(std::move(size));
  }
  if (fresh.empty()) return 0;
  replan(plans);
  for (const AddedSize& size : fresh)
    if (std::ranges::none_of(plans, [&](const Plan& plan) { return has(plan, size); })) ++filtered_;
  return count_points(plans) - before;
}

std::string AddedSizes::summary(const Run& classified) const {
  std::size_t narrow = 0;
  std::vector<std::string> wide;
  for (const Boundary& boundary : classified.boundaries) {
    if (boundary.placement != Placement::at) continue;
    if (classifier::is_narrow(boundary)) {
      ++narrow;
      continue;
    }
    const auto found = counts_.find(boundary.operation);
    const std::size_t count = found == counts_.end() ? 0 : found->second;
    wide.push_back(fmt::format(
        "{}'s {} to {} ({})", boundary.operation, label_of(boundary.from), label_of(boundary.to),
        count >= max_ ? fmt::format("the limit of {} sizes is reached", max_) : "more sizes would not narrow it"));
  }
  std::string text = fmt::format("{} sizes added; {} of {} boundaries are within {:.0f} %", all_.size() - filtered_,
                                 narrow, narrow + wide.size(), 100.0 * classifier::wanted_half_width);
  if (!wide.empty()) text += fmt::format("; not {}", joined(wide, ", "));
  if (filtered_ > 0) text += fmt::format("; {} more sizes are left out by the filter", filtered_);
  return text;
}

int run_points_once(const std::vector<Plan>& plans, const RunOptions& options) {
  std::size_t count = 0;
  std::size_t failed = 0;
  for (const Plan& plan : plans) {
    if (plan.points.empty()) continue;
    bench::OpenDevice device(plan.device, options.cache_state == "cold");
    bench::go_over(plan.device, options.filter,
                   [&](const bench::PointCall& call, std::size_t position) -> std::optional<Measurement> {
                     const std::string name = without_suffix(plan.points.at(position).name);
                     const Measurement measurement = bench::run_once(device, call, name, options.once);
                     ++count;
                     if (measurement.failure) {
                       ++failed;
                       say(fmt::format("{} failed: {}", name, measurement.failure->message));
                     } else if (!options.quiet) {
                       show(printable(name) + "\n");
                     }
                     return measurement;
                   });
  }
  if (failed > 0) say(fmt::format("{} of {} points failed", failed, count));
  return failed > 0 ? exit_codes::operation_failed : exit_codes::fine;
}

std::string nothing_to_measure(const std::vector<Device>& devices, const std::string& filter) {
  std::vector<std::string> operations;
  for (const Device& device : devices)
    for (const auto& point : bench::discover(device.kind, "")) operations.push_back(point.operation);
  if (operations.empty())
    return fmt::format("This program has no operation for {}. Choose another device with --device.",
                       devices.front().id);
  return fmt::format("No point matches the filter '{}' on {}.{} --list names them all.", filter, devices.front().id,
                     did_you_mean(filter, operations));
}

void list_points(const std::vector<Device>& devices, const std::string& filter, bool sorted) {
  bool any = false;
  for (const Device& device : devices) {
    std::string previous;
    auto points = bench::discover(device.kind, filter);
    if (sorted) sort_sizes(points, std::identity{});
    for (const auto& point : points) {
      const std::string& name = point.name;
      if (name != previous) show((devices.size() > 1 ? device.id + "  " : std::string()) + printable(name) + "\n");
      previous = name;
      any = true;
    }
  }
  for (const std::string& name : bench::plain_benchmarks(filter)) {
    show(printable(name) + "\n");
    any = true;
  }
  if (!any) throw UsageError(nothing_to_measure(devices, filter));
}

}  // namespace gpubench
