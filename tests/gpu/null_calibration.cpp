// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/null_calibration.h"

#include <map>

namespace gpubench::bench {
namespace {

constexpr double sample_bytes = 4e9;
constexpr double sample_flops = 40e9;

/// What one run of each probe does.
const std::map<std::string, NullKernel, std::less<>>& kernels() {
  static const std::map<std::string, NullKernel, std::less<>> all = {
      {"dram-read", {"read", sample_bytes, 0.0, 0.0, {}}},
      {"dram-write", {"write", 0.0, sample_bytes, 0.0, {}}},
      {"dram-copy", {"copy", sample_bytes / 2, sample_bytes / 2, 0.0, {}}},
      {"dram-triad", {"triad", sample_bytes * 2 / 3, sample_bytes / 3, 0.0, {}}},
      {"l2", {"l2", sample_bytes, 0.0, 0.0, {}}},
      {"fp32", {"fp32", 0.0, 0.0, sample_flops, {}}}};
  return all;
}

}  // namespace

NullCalibration::NullCalibration(const NullBackend& backend, const Device& its_device,
                                 const calibrate::CalibrationOptions& its_options, double misdeclared)
    : GpuCalibration(its_device, its_options), backend_(backend), misdeclared_(misdeclared) {}

void NullCalibration::warm_up(double seconds) {
  const double start = gpu->now();
  while (gpu->now() < start + seconds) timer.seconds([&] { backend_.launch(kernels().at("fp32")); });
}

calibrate::Probe NullCalibration::probe_of(const std::string& resource) const {
  const NullKernel& kernel = kernels().at(resource);
  const double bytes = kernel.bytes_read + kernel.bytes_written;
  calibrate::Probe probe;
  probe.ceiling = bytes > 0.0 ? calibrate::new_ceiling(resource, "B/s", CeilingGroup::memory, "one kernel of 4 ms")
                              : calibrate::new_ceiling(resource, "FLOP/s", CeilingGroup::compute,
                                                       "multiply-adds in one kernel of 4 ms");
  probe.ceiling.shape = "one block on each multiprocessor";
  probe.ceiling.work_per_run = bytes > 0.0 ? bytes : kernel.flops;
  if (resource == "l2") *probe.ceiling.work_per_run *= misdeclared_;
  if (bytes > 0.0) probe.counted = {{"dram_read_bytes", "dram_write_bytes"}};
  probe.enqueue = [this, kernel] { backend_.launch(kernel); };
  probe.sustained_seconds = 0.1;
  return probe;
}

void NullCalibration::add_probes() {
  for (const auto& [resource, kernel] : kernels()) probes.push_back(probe_of(resource));
}

void NullCalibration::add_probe_like(const Ceiling& stored) {
  if (kernels().contains(stored.resource)) probes.push_back(probe_of(stored.resource));
}

}  // namespace gpubench::bench
