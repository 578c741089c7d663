// SPDX-License-Identifier: Apache-2.0
// A GPU's part of the drift check: the probes that calibrate it, with the launch shapes that were best then.
#include "calibrate/check/gpu_drift.h"

#include <fmt/format.h>

#include <cstdlib>

#include "gpu/backend.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

constexpr int samples = 7;
constexpr double warm_up_seconds = 0.15;

/// Calls f and turns what the GPU or its memory lacks into NoDriftSamples.
template <class F>
auto or_no_samples(F f) {
  try {
    return f();
  } catch (const GpuError& error) {
    throw NoDriftSamples(error.what());
  } catch (const OutOfMemory& error) {
    throw NoDriftSamples(error.what());
  }
}

class GpuDriftSampler {
 public:
  GpuDriftSampler(const Device& device, const OpenCalibration& open)
      : device_(device), calibration_(open(device_, options_)), bench_(*calibration_) {
    bench_.warm_up(warm_up_seconds);
  }

  DriftSamples sample(const Ceiling& stored) {
    return or_no_samples([&] { return take(stored); });
  }

 private:
  DriftSamples take(const Ceiling& stored) {
    Probe probe = probe_for(stored);  // a copy: each set stands for itself
    for (int i = 0; i < samples; ++i) bench_.sample(probe);
    if (!probe.failure.empty()) throw NoDriftSamples(probe.failure);
    DriftSamples set;
    set.values = probe.values;
    set.method = fmt::format("{}; {}; median of {} samples", probe.ceiling.shape, probe.ceiling.method, samples);
    set.disturbance = disturbance_of(probe, stored);
    return set;
  }

  const Probe& probe_for(const Ceiling& stored) {
    const auto known = probes_.find(stored.resource);
    if (known != probes_.end()) return bench_.probes[known->second];
    const std::size_t before = bench_.probes.size();
    bench_.add_probe_like(stored);
    if (bench_.probes.size() == before) throw NoDriftSamples("this version has no probe that measures it");
    probes_[stored.resource] = before;
    return bench_.probes[before];
  }

  std::string disturbance_of(const Probe& probe, const Ceiling& stored) {
    // This process is one of them.
    const auto processes = bench::backend_of(device_).readings(device_).processes.value;
    if (processes && processes->size() > 1)
      return fmt::format("{} other process{} used this GPU", processes->size() - 1, processes->size() == 2 ? "" : "es");
    for (const char* const variable : bench::profiler_variables)
      if (std::getenv(variable) != nullptr)
        return fmt::format("a profiler seems to run this program ({} is set)", variable);
    if (probe.throttled_samples > 0)
      return fmt::format("the driver throttled the clock in {} of {} samples", probe.throttled_samples, samples);
    if (!probe.ceiling.caveats.empty() && stored.caveats != probe.ceiling.caveats) return probe.ceiling.caveats.front();
    return "";
  }

  Device device_;
  CalibrationOptions options_;
  std::unique_ptr<GpuCalibration> calibration_;
  GpuCalibration& bench_;
  std::map<std::string, std::size_t> probes_;  ///< their places in the context
};

}  // namespace

DriftSampler gpu_drift_sampler(const Device& device, const OpenCalibration& open) {
  const auto sampler = or_no_samples([&] { return std::make_shared<GpuDriftSampler>(device, open); });
  return [sampler](const Ceiling& stored) { return sampler->sample(stored); };
}

DriftSampler gpu_drift_sampler(const Device& device) { return gpu_drift_sampler(device, open_calibration); }

}  // namespace gpubench::calibrate
