// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace gpubench::calibrate {
namespace {

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

Workbench::Workbench(const Device& its_device, const Options& its_options)
    : WorkbenchBase(its_device, its_options),
      gpu(bench::open_gpu(its_device)),
      stream(gpu->stream()),
      timer(stream),
      clock(stream, its_device.units),
      nvml(bus_id(device_index())),
      sink(2) {
  index = device_index();
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index));
}

void Workbench::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  if (!WorkbenchBase::attempt(resources, part)) (void)cudaGetLastError();
}

std::byte* Workbench::keep(std::size_t bytes) { return kept_.emplace_back(bytes).data(); }

probes::Launched Workbench::launch(const LoopKernel& kernel, std::int64_t loops) {
  probes::Launched launched;
  const cudaError_t error = kernel({loops, multiprocessors(), clock.readings(), sink.data(), stream}, launched);
  if (error == cudaErrorNotSupported) {
    (void)cudaGetLastError();
    throw CudaError(fmt::format("not there on compute capability {}.{}, or not built for it", major, minor));
  }
  check_cuda(error, "launching a probe");
  return launched;
}

Workbench::Sized Workbench::sized(const LoopKernel& kernel, double seconds) {
  Sized result;
  const auto run = [&] {
    probes::Launched launched;
    result.seconds = timer.seconds([&] { launched = launch(kernel, result.loops); });
    result.work = launched.work;
    result.clock_readings = launched.clock_readings;
  };
  run();  // loads the kernel, too
  run();
  while (result.seconds < 0.5 * seconds && result.loops < std::int64_t{1} << 40) {
    const double more = std::clamp(seconds / std::max(result.seconds, 1e-6), 1.1, 1000.0);
    result.loops = static_cast<std::int64_t>(std::ceil(static_cast<double>(result.loops) * more));
    run();
  }
  return result;
}

void Workbench::add_loops(Probe probe, const LoopKernel& kernel, double seconds) {
  const Sized size = sized(kernel, seconds);
  probe.ceiling.work_per_run = size.work;
  probe.clock_readings = size.clock_readings;
  probe.enqueue = [this, kernel, loops = size.loops] { (void)launch(kernel, loops); };
  probes.push_back(std::move(probe));
}

std::size_t Workbench::fastest(const std::vector<LoopKernel>& kernels) {
  std::optional<CudaError> failure;
  std::optional<std::size_t> best;
  double best_rate = 0.0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    try {
      const Sized size = sized(kernels[i], trial_seconds);
      if (const double rate = size.work / size.seconds; rate > best_rate) {
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

void Workbench::measure_now(Probe probe, int repeats) {
  for (int i = 0; i < repeats; ++i) sample(probe, instruments());
  if (!probe.failure.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe, multiprocessors()));
}

void Workbench::measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats) {
  Probe probe;
  probe.ceiling = std::move(ceiling);
  probe.measure = std::move(measure);
  const std::string resource = probe.ceiling.resource;
  attempt({resource}, [&] { measure_now(std::move(probe), repeats); });
}

}  // namespace gpubench::calibrate
