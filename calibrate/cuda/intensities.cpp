// SPDX-License-Identifier: Apache-2.0
// Memory and multiply-adds together: a sweep of arithmetic intensity, and both at once at the ridge.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/cuda/workbench.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/cuda_memory.h"

namespace gpubench::calibrate {
namespace {

constexpr int repeats = 5;
constexpr double sample_seconds = 3e-3;
constexpr double ridge_seconds = 0.8;
constexpr double max_bytes = 4.0 * gibibyte;

class Intensities {
 public:
  explicit Intensities(Workbench& bench)
      : bench_(bench),
        count_(static_cast<std::size_t>(std::min(max_bytes / 4.0, static_cast<double>(bench.pool.size()))) /
               probes::memory_granule * probes::memory_granule) {}

  void run() {
    if (count_ == 0) throw OutOfMemory("there was no memory for DRAM's probes either");
    // Visited before and after the others, so that its interval holds what their heat does.
    const Ceiling* const read = bench_.calibration.find("dram-read");
    const Ceiling* const fp32 = bench_.calibration.find("fp32");
    std::optional<int> ridge;
    if (read != nullptr && fp32 != nullptr && read->value > 0.0 && fp32->value > 0.0)
      ridge = ridge_step(probes::intensity_steps(), *read, *fp32);
    std::optional<Probe> probe;
    std::optional<SustainedLoad> load;
    if (ridge) {
      load.emplace(probe.emplace(ridge_probe(*ridge)));
      load->visit(bench_.instruments(), 0.5);
    }
    const auto steps = probes::intensity_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      bench_.step("intensities", 0.8 * static_cast<double>(i) / static_cast<double>(steps.size()));
      add_point(steps[i]);
    }
    if (!load) throw CudaError("it needs the ceilings of dram-read and fp32");
    load->visit(bench_.instruments(), 0.5);
    if (!load->failure().empty()) throw CudaError(load->failure());
    add_ridge(bench_.calibration, load->ceiling(bench_.multiprocessors()), *ridge);
  }

 private:
  Probe probe_of(int multiply_adds) {
    const auto launch = [this, multiply_adds] {
      check_cuda(
          probes::launch_intensity(multiply_adds, bench_.pool.data(), count_, bench_.float_sink(), bench_.stream),
          "launching an intensity probe");
    };
    launch();
    const double once = bench_.timer.seconds(launch);
    const int launches = static_cast<int>(std::clamp(std::ceil(sample_seconds / once), 1.0, 100.0));
    Probe probe;
    probe.ceiling = new_ceiling("ridge-dram-read", "B/s", CeilingGroup::memory, "");
    probe.ceiling.work_per_run = launches * 4.0 * static_cast<double>(count_);
    probe.enqueue = [launch, launches] {
      for (int i = 0; i < launches; ++i) launch();
    };
    return probe;
  }

  void add_point(int multiply_adds) {
    Probe probe = probe_of(multiply_adds);
    for (int i = 0; i < repeats; ++i) sample(probe, bench_.instruments());
    if (!probe.failure.empty()) throw CudaError(probe.failure);
    const Ceiling ceiling = ceiling_of(probe, bench_.multiprocessors());
    bench_.calibration.intensity_sweep.push_back({flops_per_byte(multiply_adds),
                                                  ceiling.value * flops_per_byte(multiply_adds), ceiling.value,
                                                  ceiling.clock_hz});
  }

  Probe ridge_probe(int step) {
    Probe probe = probe_of(step);
    probe.sustained_seconds = ridge_seconds;
    probe.ceiling.method = ridge_method(step, " from " + format_bytes(4.0 * static_cast<double>(count_)));
    probe.ceiling.conditions = "normal random data";
    probe.ceiling.shape = "4 loads of 16 bytes a thread, 256 threads a block, grid covers the array once";
    probe.limit = bench_.device.memory_bandwidth_limit;
    return probe;
  }

  Workbench& bench_;
  std::size_t count_;
};

}  // namespace

void measure_intensities(Workbench& bench) {
  bench.attempt({"ridge-dram-read-sustained", "ridge-fp32-sustained"}, [&] { Intensities(bench).run(); });
}

}  // namespace gpubench::calibrate
