// SPDX-License-Identifier: Apache-2.0
// Invented devices with round figures, and measurements made from the model itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "classifier/model/model.h"
#include "core/model/calibration.h"
#include "core/model/measurement.h"
#include "core/model/run.h"

namespace gpubench::classifier {

inline Ceiling ceiling(std::string resource, double value, double relative_half_width = 0.02) {
  Ceiling result;
  result.resource = std::move(resource);
  result.value = value;
  result.ci95 = {value * (1.0 - relative_half_width), value * (1.0 + relative_half_width)};
  result.repeats = 10;
  return result;
}

/// 2 us to launch; L2 of 40 MB at 8 TB/s; DRAM at 4 TB/s whatever the mix; 40 TFLOP/s FP32, 20 FP64, 800 tensor BF16.
inline Calibration gpu() {
  Calibration result;
  result.device.id = "cuda:0";
  result.device.kind = DeviceKind::gpu;
  result.ceilings = {ceiling("launch", 2e-6),     ceiling("l2", 8e12),        ceiling("dram-read", 4e12),
                     ceiling("dram-write", 4e12), ceiling("dram-copy", 4e12), ceiling("dram-triad", 4e12),
                     ceiling("fp32", 40e12),      ceiling("fp64", 20e12),     ceiling("tensor-bf16", 800e12)};
  result.levels = {{"l2", 40e6, {39e6, 41e6}}};
  return result;
}

/// The same with 100 multiprocessors, and a block that starts in a nanosecond.
inline Calibration gpu_that_starts_blocks() {
  Calibration result = gpu();
  result.device.units = 100;
  result.ceilings.push_back(ceiling("block-start", 1e-9));
  return result;
}

/// 1 us to start a parallel region; L1 32 kB at 1 TB/s, L2 1 MB at 400 GB/s, L3 32 MB at 150 GB/s, DRAM 20 GB/s; 1
/// TFLOP/s FP32.
inline Calibration cpu() {
  Calibration result;
  result.device.id = "cpu";
  result.ceilings = {ceiling("launch", 1e-6),    ceiling("l1", 1e12),         ceiling("l2", 400e9),
                     ceiling("l3", 150e9),       ceiling("dram-read", 20e9),  ceiling("dram-write", 20e9),
                     ceiling("dram-copy", 20e9), ceiling("dram-triad", 20e9), ceiling("fp32", 1e12),
                     ceiling("fp64", 0.5e12)};
  result.levels = {{"l1", 32e3, {31e3, 33e3}}, {"l2", 1e6, {0.97e6, 1.03e6}}, {"l3", 32e6, {31e6, 33e6}}};
  return result;
}

/// The same with 4 cores, each of which has half of what all have of DRAM, and a quarter of all else.
inline Calibration cpu_with_cores() {
  Calibration result = cpu();
  result.device.units = 4;
  for (const Ceiling& each : cpu().ceilings)
    if (each.resource != "launch")
      result.ceilings.push_back(
          ceiling(each.resource + "-one-core", each.value * (each.resource.starts_with("dram") ? 0.5 : 0.25)));
  result.unit_levels = {{"l1-one-core", 8e3, {7.8e3, 8.2e3}},
                        {"l2-one-core", 0.25e6, {0.24e6, 0.26e6}},
                        {"l3-one-core", 32e6, {31e6, 33e6}}};
  return result;
}

inline Ceiling& find(Calibration& calibration, const std::string& resource) {
  for (auto& each : calibration.ceilings)
    if (each.resource == resource) return each;
  throw std::logic_error("no ceiling " + resource);
}

inline void remove(Calibration& calibration, const std::string& resource) {
  std::erase_if(calibration.ceilings, [&](const Ceiling& each) { return each.resource == resource; });
}

inline Work streaming(double read, double written, double fp32_flops = 0.0) {
  Work work;
  work.bytes_read = read;
  work.bytes_written = written;
  if (fp32_flops > 0.0) work.flops[fp32] = fp32_flops;
  return work;
}

/// 20 samples whose median's interval is +- 1 %.
inline Measurement measured(double seconds, Work work, std::string device = "cuda:0",
                            double relative_half_width = 0.01) {
  Measurement result;
  result.operation = "operation";
  result.device = std::move(device);
  result.work = std::move(work);
  result.cache_state = "warm";
  Summary summary;
  summary.count = 20;
  summary.minimum = summary.lower_quartile = summary.median = summary.upper_quartile = summary.maximum = summary.mean =
      seconds;
  summary.median_ci95 = {seconds * (1.0 - relative_half_width), seconds * (1.0 + relative_half_width)};
  result.make_primary().seconds = summary;
  return result;
}

/// An operation of the host in which so many threads work, and of which an empty call takes 1 ns.
inline Measurement measured_on_host(double seconds, Work work, double threads) {
  Measurement result = measured(seconds, std::move(work), "cpu");
  result.conditions.emplace().threads_used = threads;
  if (threads == 1.0) result.empty_call_seconds = Estimate{1e-9, {0.99e-9, 1.01e-9}};
  return result;
}

/// The same launched as one kernel on those 100 multiprocessors.
inline Measurement measured_blocks(double seconds, Work work, std::int64_t blocks) {
  Measurement result = measured(seconds, std::move(work));
  result.launches = Launches{1, blocks, blocks > 100 ? blocks - 100 : 0};
  return result;
}

/// The model's time, every resource used at `efficiency`.
inline double model_time(const Work& work, const Calibration& calibration, double efficiency = 1.0) {
  const auto machine = machine_of(calibration);
  const auto prediction = predict(work, {}, machine);
  return prediction.launch->seconds + prediction.work_seconds() / efficiency;
}

inline double share_of(const Verdict& verdict, const std::string& resource) {
  for (const auto& share : verdict.shares)
    if (share.resource == resource) return share.fraction;
  return 0.0;
}

/// A run of one operation: `work_of` at each size, timed by the model with normal noise on the logarithm.
template <class WorkOf>
Run simulated(const Calibration& truth, const std::vector<std::int64_t>& sizes, WorkOf work_of, double noise,
              std::mt19937_64& random, double efficiency = 1.0) {
  std::normal_distribution<double> normal(0.0, 1.0);
  Run run;
  run.calibrations = {truth};
  for (const auto n : sizes) {
    const Work work = work_of(static_cast<double>(n));
    const double time = model_time(work, truth, efficiency) * std::exp(noise * normal(random));
    auto measurement = measured(time, work, truth.device.id, 1.96 * noise);
    measurement.arguments = {{"", n}};
    run.points.push_back({measurement, std::nullopt});
  }
  return run;
}

inline std::vector<std::int64_t> powers_of_two(int first, int last, int step = 1) {
  std::vector<std::int64_t> result;
  for (int i = first; i <= last; i += step) result.push_back(std::int64_t{1} << i);
  return result;
}

}  // namespace gpubench::classifier
