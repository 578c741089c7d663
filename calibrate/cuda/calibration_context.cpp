// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda/calibration_context.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

constexpr std::uint64_t clock_nanoseconds = 200'000;
constexpr double max_seconds_beside = 2e-3;
constexpr std::uint64_t any_throttle = bench::software_power_cap | bench::hardware_slowdown |
                                       bench::software_thermal_slowdown | bench::hardware_thermal_slowdown |
                                       bench::hardware_power_brake;

void take(Probe& probe, const Reading& reading) {
  probe.values.push_back(reading.value);
  if (reading.clock_hz) probe.clocks.push_back(*reading.clock_hz);
  if (reading.cycles) probe.cycles.push_back(*reading.cycles);
}

std::string clock_text(const Probe& probe) {
  if (!probe.enqueue) return "";
  if (probe.clock_readings > 0) return "; clock read in the probe's kernel on all multiprocessors";
  if (2 * probe.clocks_beside > static_cast<int>(probe.clocks.size()))
    return "; clock read on all multiprocessors by a thread beside a repetition of each sample";
  return "; clock read in a kernel right after each sample, so perhaps higher than during it";
}

/// Value, interval, clock and what follows from them. The interval goes from the smallest to the largest sample: of
/// nine that is the median's with 99.6 %. One of 95 % would be too narrow, because processes differ, too.
void sum_up(Ceiling& ceiling, const Probe& probe, const std::vector<double>& values, const std::vector<double>& clocks,
            int multiprocessors) {
  ceiling.value = statistics::median(values);
  const auto [min, max] = std::ranges::minmax(values);
  ceiling.ci95 = {min, max};
  ceiling.repeats = static_cast<int>(values.size());
  if (const double hertz = clocks.empty() ? 0.0 : statistics::median(clocks); hertz > 0.0) ceiling.clock_hz = hertz;
  ceiling.theoretical_limit = probe.limit;
  if (!ceiling.clock_hz || ceiling.unit == "s") return;
  const double all_clocks = *ceiling.clock_hz * multiprocessors;
  if (probe.limit_for_clock) ceiling.theoretical_limit = *probe.limit_for_clock * all_clocks;
  // Of what lies outside the multiprocessors it would be no property.
  if (probe.limit_for_clock || ceiling.group == CeilingGroup::compute || ceiling.group == CeilingGroup::atomics)
    ceiling.rate_per_clock = ceiling.value / all_clocks;
}

constexpr double trial_seconds = 1e-3;

int device_index() {
  int index = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDevice(&index));
  return index;
}

std::string bus_id(int index) {
  std::array<char, 32> text{};
  GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index));
  return text.data();
}

}  // namespace

ProbeClock::ProbeClock(Stream stream, int multiprocessors)
    : stream_(stream),
      multiprocessors_(multiprocessors),
      readings_(static_cast<std::size_t>(multiprocessors * probes::max_blocks)) {}

std::vector<probes::ClockReading> ProbeClock::last(int count) {
  std::vector<probes::ClockReading> readings(static_cast<std::size_t>(count));
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  detail::copy_from_device(readings.data(), readings_.data(), readings.size() * sizeof(probes::ClockReading));
  return readings;
}

double ProbeClock::now() {
  GPUBENCH_CUDA_CHECK(probes::launch_clock(clock_nanoseconds, multiprocessors_, readings_.data(), stream_));
  return read(multiprocessors_);
}

std::optional<double> ProbeClock::during(const std::function<void()>& enqueue, double seconds,
                                         bench::EventTimer& timer) {
  const double beside = std::min(0.4 * seconds, max_seconds_beside);
  GPUBENCH_CUDA_CHECK(
      probes::launch_clock(static_cast<std::uint64_t>(1e9 * beside), multiprocessors_, readings_.data(), side_.get()));
  const double together = timer.seconds(enqueue);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(side_.get()));
  if (together > seconds + 0.5 * beside) return std::nullopt;  // it had to wait for the readers to end
  return read(multiprocessors_);
}

Reading reading_over(const probes::ClockReading& passed, int count) {
  Reading reading;
  reading.value = 1e-9 * static_cast<double>(passed.nanoseconds) / count;
  reading.cycles = static_cast<double>(passed.cycles) / count;
  if (passed.nanoseconds > 0) reading.clock_hz = probes::mean_hertz({&passed, 1});
  return reading;
}

void SustainedLoad::visit(CudaCalibrationContext& bench, double share) {
  try {
    run(bench, share * probe_->sustained_seconds);
  } catch (const CudaError& error) {
    (void)cudaGetLastError();  // told; not to be told again by a later call
    failure_ = error.what();
  }
}

void SustainedLoad::run(CudaCalibrationContext& bench, double seconds) {
  const double start = steady_seconds();
  const double half = start + 0.5 * seconds;
  const std::size_t before = rates_.size();
  const std::size_t clocks_before = clocks_.size();
  double took = 0.0;
  while (rates_.size() < before + 3 || steady_seconds() < start + seconds) {
    const bool settled = steady_seconds() > half;
    took = bench.timer.seconds(probe_->enqueue);
    if (!settled) continue;
    rates_.push_back(*probe_->ceiling.work_per_run / took);
    if (probe_->clock_readings > 0) clocks_.push_back(bench.clock.read(probe_->clock_readings));
    throttled_ |= bench.nvml.throttle_reasons().value.value_or(0) & any_throttle;
  }
  rates_of_visits_.push_back(static_cast<std::int64_t>(rates_.size() - before));
  if (clocks_.size() == clocks_before)
    if (const auto beside = bench.clock.during(probe_->enqueue, took, bench.timer)) clocks_.push_back(*beside);
  // While the last repetition runs: idle, the board falls to a fraction of it.
  probe_->enqueue();
  power_ = bench.nvml.power().value;
  temperature_ = bench.nvml.temperature().value;
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  seconds_ += seconds;
}

Ceiling SustainedLoad::ceiling(int multiprocessors) const {
  Ceiling ceiling = probe_->ceiling;
  ceiling.resource = resource();
  ceiling.load = Load::sustained;
  sum_up(ceiling, *probe_, rates_, clocks_, multiprocessors);
  const std::size_t visits = rates_of_visits_.size();
  ceiling.ci95 = statistics::median_ci95(rates_, rates_of_visits_);
  ceiling.power_watts = power_;
  ceiling.temperature_celsius = temperature_;
  const std::string apart = visits > 1 ? fmt::format(" in {} visits apart", visits) : "";
  ceiling.method += fmt::format("; without rest, median of the {} samples in the second half of {}{}", rates_.size(),
                                format_seconds(seconds_, 2), apart);
  if (throttled_ != 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({})", bench::throttle_text(throttled_)));
  return ceiling;
}

CudaCalibrationContext::CudaCalibrationContext(const Device& its_device, const CalibrationOptions& its_options)
    : CalibrationContext(its_device, its_options),
      gpu(bench::open_gpu(its_device)),
      stream(gpu->stream()),
      timer(stream),
      clock(stream, its_device.units),
      nvml(bus_id(device_index())),
      sink(2) {
  index = device_index();
  major = device_attribute(cudaDevAttrComputeCapabilityMajor, index);
  minor = device_attribute(cudaDevAttrComputeCapabilityMinor, index);
}

void CudaCalibrationContext::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  if (!CalibrationContext::attempt(resources, part)) (void)cudaGetLastError();
}

std::function<void()> CudaCalibrationContext::as_graph(const std::function<void()>& enqueue) {
  const auto captured = bench::capture([&](Stream, std::int64_t) { enqueue(); }, 1, stream);
  if (!captured) throw CudaError("CUDA cannot capture it in a graph");
  const auto graph = std::make_shared<bench::GraphExec>(*captured);
  graph->launch(stream);  // the first launch sets it up
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
  return [graph, on = stream] { graph->launch(on); };
}

std::byte* CudaCalibrationContext::keep(std::size_t bytes) { return kept_.emplace_back(bytes).data(); }

probes::Launched CudaCalibrationContext::launch(const LoopKernel& kernel, std::int64_t loops) {
  probes::Launched launched;
  const cudaError_t error = kernel({loops, multiprocessors(), clock.readings(), sink.data(), stream}, launched);
  if (error == cudaErrorNotSupported) {
    (void)cudaGetLastError();
    throw CudaError(fmt::format("not there on compute capability {}.{}, or not built for it", major, minor));
  }
  check_cuda(error, "launching a probe");
  return launched;
}

CudaCalibrationContext::Sized CudaCalibrationContext::sized(const LoopKernel& kernel, double seconds) {
  Sized result;
  const auto run = [&] { result.seconds = timer.seconds([&] { result.launched = launch(kernel, result.loops); }); };
  run();  // loads the kernel, too
  run();
  while (result.seconds < 0.5 * seconds && result.loops < std::int64_t{1} << 40) {
    const double more = std::clamp(seconds / std::max(result.seconds, 1e-6), 1.1, 1000.0);
    result.loops = static_cast<std::int64_t>(std::ceil(static_cast<double>(result.loops) * more));
    run();
  }
  return result;
}

void CudaCalibrationContext::add_loops(Probe probe, const LoopKernel& kernel, double seconds) {
  const Sized size = sized(kernel, seconds);
  probe.ceiling.work_per_run = size.launched.work;
  probe.clock_readings = size.launched.clock_readings;
  probe.enqueue = [this, kernel, loops = size.loops] { (void)launch(kernel, loops); };
  probes.push_back(std::move(probe));
}

std::size_t CudaCalibrationContext::fastest(const std::vector<LoopKernel>& kernels) {
  std::optional<CudaError> failure;
  std::optional<std::size_t> best;
  double best_rate = 0.0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    try {
      const Sized size = sized(kernels[i], trial_seconds);
      if (const double rate = size.launched.work / size.seconds; rate > best_rate) {
        best_rate = rate;
        best = i;
      }
    } catch (const CudaError& error) {
      if (!failure) failure = error;
      (void)cudaGetLastError();
    }
  }
  if (best) return *best;
  throw failure.value_or(CudaError("there is no kernel to try"));
}

void CudaCalibrationContext::sample_rate(Probe& probe) {
  const double seconds = timer.seconds(probe.enqueue);
  probe.values.push_back(*probe.ceiling.work_per_run / seconds);
  if (probe.clock_readings > 0) {
    probe.clocks.push_back(clock.read(probe.clock_readings));
    return;
  }
  const auto hertz = clock.during(probe.enqueue, seconds, timer);
  if (hertz) ++probe.clocks_beside;
  probe.clocks.push_back(hertz ? *hertz : clock.now());
}

void CudaCalibrationContext::sample(Probe& probe) {
  if (!probe.failure.empty()) return;
  try {
    std::this_thread::sleep_for(std::chrono::duration<double>(probe.rest_seconds));
    if (probe.enqueue)
      sample_rate(probe);
    else
      take(probe, probe.measure());
  } catch (const std::runtime_error& error) {  // CudaError, OutOfMemory
    probe.failure = error.what();
    return;
  }
  const auto reasons = nvml.throttle_reasons().value.value_or(0) & any_throttle;
  if (reasons != 0) ++probe.throttled_samples;
  probe.throttled |= reasons;
  probe.temperature = nvml.temperature().value;
}

Ceiling CudaCalibrationContext::ceiling_of(const Probe& probe) const {
  Ceiling ceiling = probe.ceiling;
  sum_up(ceiling, probe, probe.values, probe.clocks, multiprocessors());
  if (!probe.cycles.empty()) ceiling.cycles = statistics::median(probe.cycles);
  ceiling.temperature_celsius = probe.temperature;
  ceiling.method +=
      fmt::format("; median of {} samples, interval from the smallest to the largest", probe.values.size());
  if (probe.rest_seconds > 0.0) ceiling.method += fmt::format(", {:.0f} ms idle before each", 1e3 * probe.rest_seconds);
  ceiling.method += clock_text(probe);
  if (probe.throttled_samples > 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({}) at the end of {} of {} samples",
                                          bench::throttle_text(probe.throttled), probe.throttled_samples,
                                          probe.values.size()));
  return ceiling;
}

void CudaCalibrationContext::measure_now(Probe probe, int repeats) {
  for (int i = 0; i < repeats; ++i) sample(probe);
  conclude(probe);
}

void CudaCalibrationContext::conclude(const Probe& probe) {
  if (!probe.failure.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe));
}

void CudaCalibrationContext::measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats) {
  Probe probe;
  probe.ceiling = std::move(ceiling);
  probe.measure = std::move(measure);
  const std::string resource = probe.ceiling.resource;
  attempt({resource}, [&] { measure_now(std::move(probe), repeats); });
}

}  // namespace gpubench::calibrate
