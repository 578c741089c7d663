// SPDX-License-Identifier: Apache-2.0
#include "main/commands/added_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "classifier/adaptive.h"

namespace gpubench {
namespace {

bool has(const Plan& plan, const AddedSize& size) {
  return std::any_of(plan.points.begin(), plan.points.end(), [&](const bench::PointName& point) {
    return point.operation == size.operation && point.arguments == size.arguments;
  });
}

std::size_t count_points(const std::vector<Plan>& plans) {
  std::size_t count = 0;
  for (const Plan& plan : plans) count += plan.points.size();
  return count;
}

}  // namespace

bool AddedSizes::is_known(const AddedSize& size) const {
  return std::find(all_.begin(), all_.end(), size) != all_.end();
}

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
    if (is_known(size) || counts_[size.operation] >= most_) continue;
    const auto plan =
        std::find_if(plans.begin(), plans.end(), [&](const Plan& each) { return each.device.id == next.device; });
    if (plan == plans.end() || !bench::add_arguments(plan->points, size.operation, size.arguments)) continue;
    ++counts_[size.operation];
    all_.push_back(size);
    fresh.push_back(std::move(size));
  }
  if (fresh.empty()) return 0;
  replan(plans);
  for (const AddedSize& size : fresh)
    if (std::none_of(plans.begin(), plans.end(), [&](const Plan& plan) { return has(plan, size); })) ++filtered_;
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
        "{}'s {} to {} ({})", boundary.operation, boundary.from, boundary.to,
        count >= most_ ? fmt::format("the limit of {} sizes is reached", most_) : "more sizes would not narrow it"));
  }
  std::string text = fmt::format("{} sizes added; {} of {} boundaries are within {:.0f} %", all_.size() - filtered_,
                                 narrow, narrow + wide.size(), 100.0 * classifier::wanted_half_width);
  if (!wide.empty()) text += fmt::format("; not {}", fmt::join(wide, ", "));
  if (filtered_ > 0) text += fmt::format("; {} more sizes are left out by the filter", filtered_);
  return text;
}

}  // namespace gpubench
