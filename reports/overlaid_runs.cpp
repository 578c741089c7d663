// SPDX-License-Identifier: Apache-2.0
#include "reports/overlaid_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "core/base/text.h"

namespace gpubench::reports {
namespace {

bool all_differ(const std::vector<std::string>& labels) {
  return std::set<std::string>(labels.begin(), labels.end()).size() == labels.size();
}

}  // namespace

std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> labels;
  labels.reserve(files.size());
  for (const auto& file : files) labels.push_back(printable(file.stem().string()));
  if (all_differ(labels)) return labels;
  const auto stems = labels;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (std::count(stems.begin(), stems.end(), stems[i]) > 1)
      labels[i] = printable(std::filesystem::absolute(files[i]).parent_path().filename().string()) + "/" + stems[i];
  if (all_differ(labels)) return labels;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] += fmt::format(" #{}", i + 1);
  return labels;
}

Several join(const std::vector<NamedRun>& runs) {
  if (runs.size() < 2 || runs.size() > max_runs)
    throw std::invalid_argument(fmt::format("{} runs cannot be shown together; give 2 to {}", runs.size(), max_runs));
  Several several;
  several.merged.context = runs.front().run.context;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [label, run] = runs[i];
    const auto name = [prefix = label + " / "](const std::string& id) { return prefix + id; };
    several.labels.push_back(label);
    several.contexts.push_back(run.context);
    several.devices.push_back(run.devices);
    for (auto device : run.devices) {
      device.id = name(device.id);
      several.run_of_device[device.id] = i;
      several.merged.devices.push_back(std::move(device));
    }
    for (auto calibration : run.calibrations) {
      calibration.device.id = name(calibration.device.id);
      several.run_of_device[calibration.device.id] = i;
      several.merged.calibrations.push_back(std::move(calibration));
    }
    for (auto point : run.points) {
      point.measurement.device = name(point.measurement.device);
      several.run_of_device[point.measurement.device] = i;
      several.merged.points.push_back(std::move(point));
    }
    for (auto boundary : run.boundaries) {
      boundary.device = name(boundary.device);
      several.merged.boundaries.push_back(std::move(boundary));
    }
    for (const auto& warning : run.warnings) several.merged.warnings.push_back(fmt::format("{}: {}", label, warning));
  }
  return several;
}

}  // namespace gpubench::reports
