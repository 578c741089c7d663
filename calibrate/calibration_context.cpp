// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibration_context.h"

#include <cmath>
#include <new>
#include <stdexcept>

#include "calibrate/check/health.h"
#include "core/base/text.h"

namespace gpubench::calibrate {

void CalibrationContext::stage(double begin, double end) {
  stage_begin_ = begin;
  stage_end_ = end;
}

void CalibrationContext::step(std::string_view name, double done) const {
  if (options.progress) options.progress(name, std::lerp(stage_begin_, stage_end_, done));
}

void CalibrationContext::absent(const std::string& resource, const std::string& reason) {
  if (!contains(calibration.absent, resource, &AbsentCeiling::resource))
    calibration.absent.push_back({resource, reason});
}

void CalibrationContext::absent(std::initializer_list<const char*> resources, const std::string& reason) {
  for (const char* const resource : resources) absent(std::string(resource), reason);
}

bool CalibrationContext::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  std::string reason;
  try {
    part();
    return true;
  } catch (const std::bad_alloc&) {
    reason = no_memory;
  } catch (const std::runtime_error& error) {
    reason = error.what();
  }
  for (const auto& resource : resources) absent(resource, reason);
  return false;
}

Calibration CalibrationContext::finish() {
  reject(calibration);
  // The interval of a mean over rounds need not hold their median, and may reach below zero.
  for (Ceiling& ceiling : calibration.ceilings)
    ceiling.ci95 = {std::max(std::min(ceiling.ci95.low, ceiling.value), 0.0),
                    std::max(ceiling.ci95.high, ceiling.value)};
  std::erase_if(calibration.absent, [&](const auto& one) { return calibration.find(one.resource) != nullptr; });
  step("done", 1.0);
  return std::move(calibration);
}

Ceiling new_ceiling(std::string resource, std::string unit, CeilingGroup group, std::string method) {
  Ceiling ceiling;
  ceiling.resource = std::move(resource);
  if (unit.ends_with("/s")) ceiling.work_unit = unit.substr(0, unit.size() - 2);
  if (group == CeilingGroup::latency) ceiling.work_unit = "access";
  ceiling.unit = std::move(unit);
  ceiling.group = group;
  ceiling.method = std::move(method);
  return ceiling;
}

double step_height(std::span<const double> figures) {
  if (figures.size() < 3) return 0.0;
  const auto count = static_cast<double>(figures.size());
  const double middle = 0.5 * (count - 1.0);
  double mean = 0.0;
  for (const double figure : figures) mean += figure / count;
  double xx = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    xx += x * x;
    xy += x * (figures[i] - mean);
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double on_line = mean + xy / xx * (static_cast<double>(i) - middle);
    squares += (figures[i] - on_line) * (figures[i] - on_line);
  }
  return std::sqrt(12.0 * squares / count);
}

}  // namespace gpubench::calibrate
