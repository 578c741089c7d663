// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "calibrate/calibration_context.h"
#include "calibrate/device_collectives.h"
#include "calibrate/gpu/gpu_calibration.h"
#include "calibrate/node_links.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpubench/version.h"

namespace gpubench::calibrate {

namespace {

Ceiling of_processes(const std::vector<const Ceiling*>& ones) {
  Ceiling result = *ones.front();
  if (ones.size() == 1) {
    result.caveats.emplace_back("measured in one process; it varies between processes by a few percent");
    return result;
  }
  std::vector<double> values;
  std::vector<double> cycles;
  for (const Ceiling* const one : ones) {
    values.push_back(one->value);
    if (one->cycles) cycles.push_back(*one->cycles);
    for (const std::string& caveat : one->caveats)
      if (!contains(result.caveats, caveat)) result.caveats.push_back(caveat);
  }
  result.value = statistics::median(values);
  if (result.cycles) result.cycles = statistics::median(cycles);
  const Interval mean = statistics::mean_ci95(values);
  result.ci95 = {std::min(std::max(mean.low, 0.0), result.value), std::max(mean.high, result.value)};
  result.repeats = static_cast<int>(values.size());
  result.method += fmt::format("; median of {} processes, interval over them", values.size());
  return result;
}

/// `gpu` is opened where it is not yet.
Calibration measured(const Device& device, const CalibrationOptions& options, std::unique_ptr<GpuCalibration>& gpu) {
  const double start = steady_seconds();
  const std::string created = utc_now();
  const bool of_gpu = device.kind == DeviceKind::gpu;
  if (of_gpu && gpu == nullptr) gpu = open_calibration(device, options);
  Calibration calibration = of_gpu ? calibrate_gpu(*gpu) : calibrate_host(device, options);
  calibration.device = device;
  calibration.mode = options.mode == Mode::quick ? "quick" : "full";
  calibration.created_utc = created;
  calibration.gpubench_version = version;
  calibration.seconds_taken = steady_seconds() - start;
  return calibration;
}

}  // namespace

Calibration calibrate(const Device& device, const CalibrationOptions& options) {
  return repeated_calibration(device, options)();
}

std::function<Calibration()> repeated_calibration(const Device& device, const CalibrationOptions& options) {
  struct Kept {
    Device device;
    CalibrationOptions options;
    std::unique_ptr<GpuCalibration> gpu;
  };
  const auto kept = std::make_shared<Kept>(Kept{device, options, nullptr});
  return [kept] { return measured(kept->device, kept->options, kept->gpu); };
}

void take_overheads(Calibration& calibration, const std::vector<Calibration>& processes) {
  std::vector<Ceiling> taken;
  for (const Calibration& process : processes)
    for (const Ceiling& one : process.ceilings) {
      if (contains(taken, one.resource, &Ceiling::resource)) continue;
      std::vector<const Ceiling*> ones;
      for (const Calibration& other : processes)
        if (const Ceiling* const found = other.find(one.resource)) ones.push_back(found);
      if (const Ceiling* const own = calibration.find(one.resource)) ones.push_back(own);
      taken.push_back(of_processes(ones));
    }
  std::erase_if(calibration.ceilings,
                [&](const Ceiling& own) { return contains(taken, own.resource, &Ceiling::resource); });
  calibration.ceilings.insert(calibration.ceilings.begin(), std::make_move_iterator(taken.begin()),
                              std::make_move_iterator(taken.end()));
  for (const Calibration& process : processes)
    for (const AbsentCeiling& one : process.absent) {
      const auto& known = calibration.absent;
      if (calibration.find(one.resource) == nullptr && !contains(known, one.resource, &AbsentCeiling::resource))
        calibration.absent.push_back(one);
    }
}

#ifndef GPUBENCH_WITH_CUDA
std::unique_ptr<GpuCalibration> open_calibration(const Device&, const CalibrationOptions&) {
  throw GpuError("this gpubench was built without CUDA: install the CUDA toolkit 12.6 or newer and build again");
}
Calibration measure_host_links(const Device& device) { return calibrate_gpu(*open_calibration(device, {})); }
Calibration measure_peer_links(const Device& device, const Device&) { return measure_host_links(device); }
struct DeviceCollectives::State {};
DeviceCollectives::DeviceCollectives(const Device& device, const bench::Nccl&, const std::string&, int, int,
                                     std::int64_t) {
  (void)open_calibration(device, {});
}
DeviceCollectives::~DeviceCollectives() = default;
std::int64_t DeviceCollectives::max_bytes() const { return 0; }
CollectiveSamples DeviceCollectives::time(Collective, std::int64_t, int, double, bool) { return {}; }
std::vector<double> DeviceCollectives::time_link(int, bool, std::int64_t, int) { return {}; }
double DeviceCollectives::launch_seconds() { return 0.0; }
OverlapSeconds DeviceCollectives::overlap(Collective, std::int64_t, double) { return {}; }
#endif

}  // namespace gpubench::calibrate
