// SPDX-License-Identifier: Apache-2.0
#include "main/worker/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "calibrate/calibrate.h"
#include "classifier/classifier.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "main/cli/output.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

constexpr double min_pause_seconds = 1.0;
constexpr double pause_per_write = 9.0;  // so that writing takes a tenth of the time at most

}  // namespace

Checkpoint::Checkpoint(Run base, const std::vector<std::string>& outputs, const std::vector<Plan>& plans)
    : base_(std::move(base)) {
  std::ranges::copy_if(outputs, std::back_inserter(files_), reports::writes_run);
  replan(plans);
}

void Checkpoint::replan(const std::vector<Plan>& plans) {
  order_.clear();
  for (const Plan& plan : plans) order_.insert(order_.end(), plan.keys.begin(), plan.keys.end());
}

Run Checkpoint::so_far() const {
  Run run = base_;
  for (const PointKey& key : order_)
    if (const auto place = points_.find(key); place != points_.end()) run.points.push_back(place->second);
  return run;
}

std::size_t Checkpoint::resume(const Run& earlier) {
  std::vector<PointKey> wanted = order_;
  std::ranges::sort(wanted);
  std::size_t left_out = 0;
  Keys keys;
  for (const Point& point : earlier.points) {
    const Measurement& measurement = point.measurement;
    const PointKey key = keys.next(measurement.device, measurement.name, measurement.repetition);
    if (std::ranges::binary_search(wanted, key))
      points_[key] = point;
    else
      ++left_out;
  }
  return left_out;
}

const Measurement* Checkpoint::find(const PointKey& key) const {
  const auto place = points_.find(key);
  return place == points_.end() ? nullptr : &place->second.measurement;
}

void Checkpoint::put(const PointKey& key, Measurement measurement) {
  points_[key] = {std::move(measurement), std::nullopt};
  if (due()) write();
}

bool Checkpoint::due() const { return !files_.empty() && steady_seconds() >= last_write_ + pause_; }

void Checkpoint::write() {
  if (points_.empty()) return;  // no reason yet to replace what an older run left there
  const double start = steady_seconds();
  for (auto& [key, point] : points_) {
    const Calibration* const calibration = base_.calibration_of(key.device);
    if (!point.verdict && point.measurement.seconds() && calibration != nullptr)
      point.verdict = classifier::classify(point.measurement, *calibration);
  }
  Run run = so_far();
  if (run.points.size() < order_.size()) {
    run.unfinished = {static_cast<std::int64_t>(run.points.size()), static_cast<std::int64_t>(order_.size())};
    run.warnings.push_back(
        fmt::format("This run is unfinished: it has {} of {} points and no boundaries. To continue it: --resume.",
                    run.points.size(), order_.size()));
  }
  const std::string text = files_.empty() ? std::string() : storage::to_json(run);
  std::erase_if(files_, [&](const std::string& file) {
    try {
      storage::write_for_reading(file, text);
      return false;
    } catch (const storage::WriteError& error) {
      say(error.what());
      return true;
    }
  });
  last_write_ = steady_seconds();
  pause_ = std::max(min_pause_seconds, pause_per_write * (last_write_ - start));
}

std::optional<std::string> why_not_resumable(const Run& earlier, const Context& context,
                                             const std::vector<Device>& devices, const std::string& cache_state) {
  if (earlier.context.program != context.program)
    return fmt::format("it is a run of {}, not {}", earlier.context.program, context.program);
  if (earlier.context.gpubench_version != context.gpubench_version)
    return fmt::format("gpubench was {}, now {}", earlier.context.gpubench_version, context.gpubench_version);
  for (const Point& point : earlier.points)
    if (const Measurement& measurement = point.measurement;
        measurement.seconds() && !measurement.cache_state.empty() && measurement.cache_state != cache_state)
      return fmt::format("its caches were {}, but this run measures with {} caches", measurement.cache_state,
                         cache_state);
  for (const Device& device : devices) {
    const auto same = std::ranges::find(earlier.devices, device.id, &Device::id);
    if (same == earlier.devices.end()) continue;  // no points of it to take over
    Calibration then;
    then.device = *same;
    then.gpubench_version = std::string(version);  // compared above
    if (auto reason = calibrate::why_not_fitting(then, device)) return fmt::format("on {}, {}", device.id, *reason);
  }
  return std::nullopt;
}

}  // namespace gpubench
