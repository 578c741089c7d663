// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/brief.h"

#include <utility>

#include "core/base/time.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"
#include "gpubench/version.h"

namespace gpubench::calibrate {

BriefCalibration brief_calibration(const Device& device, std::function<DriftSampler(const Device&)> open) {
  return [device, open = std::move(open), sampler = DriftSampler()]() mutable {
    Calibration calibration;
    calibration.device = device;
    calibration.mode = "brief";
    calibration.created_utc = utc_now();
    calibration.gpubench_version = version;
    for (const char* const resource : drift_resources) try {
        if (!sampler) sampler = open(device);
        // Without a shape that was best before, all of them are tried.
        Ceiling ceiling;
        ceiling.resource = resource;
        const Resource& row = *find_resource(resource);
        ceiling.unit = row.unit;
        ceiling.group = row.group;
        const DriftSamples samples = sampler(ceiling);
        const Summary summary = statistics::summarize(samples.values);
        ceiling.value = summary.median;
        ceiling.ci95 = summary.median_ci95;
        ceiling.repeats = static_cast<int>(samples.values.size());
        ceiling.method = samples.method;
        if (!samples.disturbance.empty()) ceiling.caveats.push_back(samples.disturbance);
        calibration.ceilings.push_back(std::move(ceiling));
      } catch (const NoDriftSamples& reason) {
        calibration.absent.push_back({resource, reason.what()});
      }
    return calibration;
  };
}

BriefCalibration brief_calibration(const Device& device) {
  return brief_calibration(device, device.kind == DeviceKind::gpu ? gpu_drift_sampler : host_drift_sampler);
}

}  // namespace gpubench::calibrate
