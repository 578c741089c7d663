// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda/cuda_calibration.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "kernels/probes/cuda/compute.h"

namespace gpubench::calibrate {
namespace {

constexpr std::uint64_t clock_nanoseconds = 200'000;
constexpr double max_seconds_beside = 2e-3;
constexpr double trial_seconds = 1e-3;

/// 9 and 0 of "sm_90".
int capability_of(const Device& device) {
  return number_in<int>(
             std::string_view(device.architecture).substr(std::min<std::size_t>(3, device.architecture.size())))
      .value_or(0);
}

}  // namespace

ProbeClock::ProbeClock(bench::Gpu& gpu)
    : gpu_(gpu), readings_(static_cast<std::size_t>(gpu.device().units * probes::max_blocks)) {}

std::vector<probes::ClockReading> ProbeClock::last(int count) {
  std::vector<probes::ClockReading> readings(static_cast<std::size_t>(count));
  gpu_.wait();
  detail::copy_from_device(readings.data(), readings_.data(), readings.size() * sizeof(probes::ClockReading));
  return readings;
}

double ProbeClock::now() {
  probes::launch_clock(clock_nanoseconds, gpu_.device().units, readings_.data(), gpu_.stream());
  return read(gpu_.device().units);
}

std::optional<double> ProbeClock::during(const std::function<void()>& enqueue, double seconds,
                                         bench::EventTimer& timer) {
  const double beside = std::min(0.4 * seconds, max_seconds_beside);
  const int multiprocessors = gpu_.device().units;
  probes::launch_clock(static_cast<std::uint64_t>(1e9 * beside), multiprocessors, readings_.data(), side_.get());
  const double together = timer.seconds(enqueue);
  probes::wait_for_gpu();
  if (together > seconds + 0.5 * beside) return std::nullopt;  // it had to wait for the readers to end
  return read(multiprocessors);
}

Reading reading_over(const probes::ClockReading& passed, int count) {
  Reading reading;
  reading.value = 1e-9 * static_cast<double>(passed.nanoseconds) / count;
  reading.cycles = static_cast<double>(passed.cycles) / count;
  if (passed.nanoseconds > 0) reading.clock_hz = probes::mean_hertz({&passed, 1});
  return reading;
}

CudaCalibration::CudaCalibration(const Device& its_device, const CalibrationOptions& its_options)
    : GpuCalibration(its_device, its_options),
      index(gpu_number(its_device.id).value_or(0)),
      major(capability_of(its_device) / 10),
      minor(capability_of(its_device) % 10),
      clock(*gpu),
      sink(2) {}

void CudaCalibration::warm_up(double seconds) {
  const double start = gpu->now();
  while (gpu->now() < start + seconds)
    timer.seconds([&] { (void)probes::launch_vector(probes::VectorOperation::fp32, {256, 4}, loops(1000)); });
}

void CudaCalibration::measure_costs() {
  measure_launch_step(*this);
  step("overheads", 0.03);
  measure_overheads(*this);
  // These use other streams: from then on every kernel may cost more (gpu/cuda/handles.h).
  if (full && options.part != Part::all_but_of_process) {
    step("links", 0.03);
    measure_links_of_process(*this);
  }
}

void CudaCalibration::add_probes() {
  add_block_start_probe(*this);
  add_vector_probes(*this);
  step("matrix products", 0.04);
  add_product_probes(*this);
  step("memory", 0.12);
  add_memory_probes(*this);
  if (!full) return;
  add_matrix_probes(*this);
  add_cache_probes(*this);
  add_atomics_probes(*this);
  add_random_probes(*this);
  add_copy_probes(*this);
}

void CudaCalibration::measure_curves() {
  stage(full ? 0.5 : 0.9, full ? 0.54 : 1.0);
  measure_ladders(*this);
  if (!full) return;
  stage(0.54, 0.58);
  step("latencies", 0.0);
  measure_latencies(*this);
  stage(0.58, 0.64);
  step("links", 0.6);
  measure_links(*this);
  stage(0.64, 0.68);
  measure_intensities(*this);
}

void CudaCalibration::add_probe_like(const Ceiling& stored) {
  if (stored.group == CeilingGroup::memory)
    add_memory_probe_like(*this, stored);
  else
    add_vector_probe_like(*this, stored);
}

std::unique_ptr<GpuCalibration> open_calibration(const Device& device, const CalibrationOptions& options) {
  return std::make_unique<CudaCalibration>(device, options);
}

std::byte* CudaCalibration::keep(std::size_t bytes) { return kept_.emplace_back(bytes).data(); }

CudaCalibration::Sized CudaCalibration::sized(const LoopKernel& kernel, double seconds) {
  Sized result;
  const auto run = [&] { result.seconds = timer.seconds([&] { result.launched = kernel(loops(result.loops)); }); };
  run();  // loads the kernel, too
  run();
  while (result.seconds < 0.5 * seconds && result.loops < std::int64_t{1} << 40) {
    const double more = std::clamp(seconds / std::max(result.seconds, 1e-6), 1.1, 1000.0);
    result.loops = static_cast<std::int64_t>(std::ceil(static_cast<double>(result.loops) * more));
    run();
  }
  return result;
}

void CudaCalibration::add_loops(Probe probe, const LoopKernel& kernel, double seconds) {
  const Sized size = sized(kernel, seconds);
  probe.ceiling.work_per_run = size.launched.work;
  probe.clock_readings = size.launched.clock_readings;
  probe.enqueue = [this, kernel, count = size.loops] { (void)kernel(loops(count)); };
  probes.push_back(std::move(probe));
}

double CudaCalibration::rate(const LoopKernel& kernel) {
  const Sized size = sized(kernel, trial_seconds);
  return size.launched.work / size.seconds;
}

std::size_t CudaCalibration::fastest(std::size_t count, const std::function<double(std::size_t)>& rate) {
  std::optional<GpuError> failure;
  std::optional<std::size_t> best;
  double best_rate = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      if (const double found = rate(i); found > best_rate) {
        best_rate = found;
        best = i;
      }
    } catch (const GpuError& error) {
      if (!failure) failure = error;
    }
  }
  if (best) return *best;
  throw failure.value_or(GpuError("there is no kernel to try"));
}

}  // namespace gpubench::calibrate
