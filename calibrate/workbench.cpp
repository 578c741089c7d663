// SPDX-License-Identifier: Apache-2.0
#include "calibrate/workbench.h"

#include <fmt/format.h>

#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

#include "calibrate/check/rejection.h"
#include "core/base/units.h"

namespace gpubench::calibrate {

void WorkbenchBase::stage(double begin, double end) {
  stage_begin_ = begin;
  stage_end_ = end;
}

void WorkbenchBase::step(std::string_view name, double done) const {
  if (options.progress) options.progress(name, std::lerp(stage_begin_, stage_end_, done));
}

void WorkbenchBase::absent(const std::string& resource, const std::string& reason) {
  if (std::ranges::find(calibration.absent, resource, &AbsentCeiling::resource) == calibration.absent.end())
    calibration.absent.push_back({resource, reason});
}

void WorkbenchBase::absent(std::initializer_list<const char*> resources, const std::string& reason) {
  for (const char* const resource : resources) absent(std::string(resource), reason);
}

bool WorkbenchBase::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
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

Calibration WorkbenchBase::finish() {
  reject(calibration);
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

int ridge_step(std::span<const int> steps, const Ceiling& read, const Ceiling& fp32) {
  return *std::ranges::min_element(
      steps, {}, [&](int step) { return std::abs(std::log(flops_per_byte(step) * read.value / fp32.value)); });
}

std::string ridge_method(int multiply_adds, std::string_view from) {
  return fmt::format(
      "{} single-precision multiply-adds on each float read{}, {} FLOP/B: here the ceilings of dram-read and fp32 "
      "alone "
      "would take the same time",
      multiply_adds, from, format_number(flops_per_byte(multiply_adds)));
}

void add_ridge(Calibration& calibration, Ceiling bytes, int multiply_adds) {
  const double intensity = flops_per_byte(multiply_adds);
  Ceiling flops = bytes;
  flops.resource = "ridge-fp32-sustained";
  flops.unit = "FLOP/s";
  flops.work_unit = "FLOP";
  flops.group = CeilingGroup::compute;
  flops.value *= intensity;
  flops.ci95 = {bytes.ci95.low * intensity, bytes.ci95.high * intensity};
  *flops.work_per_run *= intensity;
  flops.theoretical_limit.reset();
  const Ceiling* const fp32 = calibration.find("fp32");
  if (fp32 != nullptr && fp32->theoretical_limit && fp32->clock_hz && flops.clock_hz)
    flops.theoretical_limit = *fp32->theoretical_limit * *flops.clock_hz / *fp32->clock_hz;
  calibration.ceilings.push_back(std::move(bytes));
  calibration.ceilings.push_back(std::move(flops));
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
