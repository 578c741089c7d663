// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend.h"

#include <fmt/format.h>

#include "gpu/cuda/cuda_backend.h"
#include "gpu/devices.h"

namespace gpubench::bench {
namespace {

std::vector<const Backend*>& all() {
  static std::vector<const Backend*> backends = {&cuda_backend()};
  return backends;
}

thread_local const Backend* in_use = nullptr;

}  // namespace

std::unique_ptr<Gpu> Backend::open(const Device&) const { throw GpuError(why_none()); }
DeviceMemory& Backend::memory() const { throw GpuError(why_none()); }
std::map<std::string, std::string> Backend::connections(const Device&) const { return {}; }
Reading<std::string> Backend::path_between(const Device&, const Device&) const { return {std::nullopt, why_none()}; }
DeviceReadings Backend::readings(const Device&) const { return {}; }
std::unique_ptr<MetricSource> Backend::metrics(const Device&) const { throw MetricsUnavailable(why_none()); }
ChipMetrics Backend::chip_metrics(const Device&) const { throw MetricsUnavailable(why_none()); }
std::unique_ptr<ActivitySource> Backend::activity() const { throw MetricsUnavailable(why_none()); }

const std::vector<const Backend*>& backends() { return all(); }

const Backend& backend_of(const Device& device) {
  for (const Backend* const backend : all())
    if (device.id.starts_with(backend->prefix())) return *backend;
  throw GpuError(fmt::format("'{}' is not a GPU; they are named {}, {}, ...", device.id, gpu_id(0), gpu_id(1)));
}

const Backend& backend_in_use() { return in_use != nullptr ? *in_use : *all().front(); }

AddedBackend::AddedBackend(const Backend& backend) { all().insert(all().begin(), &backend); }
AddedBackend::~AddedBackend() {
  all().erase(all().begin());
  in_use = nullptr;
}

std::unique_ptr<Gpu> open_gpu(const Device& device) {
  const Backend& backend = backend_of(device);
  auto gpu = backend.open(device);
  in_use = &backend;
  return gpu;
}

bool resume_gpu(Gpu& gpu) {
  if (!gpu.resume()) return false;
  in_use = &backend_of(gpu.device());
  return true;
}

std::vector<Device> gpus() {
  std::vector<Device> found;
  for (const Backend* const backend : all())
    for (Device& device : backend->devices()) found.push_back(std::move(device));
  return found;
}

std::string why_no_gpu() {
  std::string why;
  for (const Backend* const backend : all()) {
    const std::string of_this = backend->why_none();
    if (of_this.empty()) return "";
    why += (why.empty() ? "" : "; ") + of_this;
  }
  return why;
}

ProfilerRange::ProfilerRange(const std::string& name) { backend_in_use().begin_profiler_range(name); }
ProfilerRange::~ProfilerRange() { backend_in_use().end_profiler_range(); }

std::optional<int> built_with_cuda() { return cuda_backend().built_with(); }

}  // namespace gpubench::bench
