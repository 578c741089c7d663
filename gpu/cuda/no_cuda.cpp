// SPDX-License-Identifier: Apache-2.0
// CUDA's row in a build without its toolkit.
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/nvml.h"

namespace gpubench::bench {
namespace {

constexpr const char* reason = "gpubench was built without CUDA";

class NoMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t) override { throw GpuError(reason); }
  void release(void*) noexcept override {}
  [[nodiscard]] Left left() override { throw GpuError(reason); }
  void wait() override { throw GpuError(reason); }
  void copy(void*, const void*, std::size_t) override {}
  void copy_to_host(void*, const void*, std::size_t) override {}
  void copy_from_host(void*, const void*, std::size_t) override {}
  void set(void*, int, std::size_t) override { throw GpuError(reason); }
  void draw(void*, detail::ElementKind, detail::Filling, std::size_t, std::size_t, std::uint64_t) override {
    throw GpuError(reason);
  }
  std::uint64_t fingerprint(const void*, std::size_t) override { return 0; }
};

class NoCuda final : public Backend {
 public:
  [[nodiscard]] std::string_view prefix() const override { return gpu_prefix; }
  [[nodiscard]] std::vector<Device> devices() const override { return {}; }
  [[nodiscard]] std::string why_none() const override { return reason; }
  [[nodiscard]] std::unique_ptr<Gpu> open(const Device&) const override { throw GpuError(reason); }
  [[nodiscard]] DeviceMemory& memory() const override {
    static NoMemory none;
    return none;
  }
  [[nodiscard]] DeviceReadings readings(const Device&) const override { return read_all(Nvml("")); }
  [[nodiscard]] std::optional<int> built_with() const override { return std::nullopt; }
  [[nodiscard]] std::unique_ptr<MetricSource> metrics(const Device&) const override {
    throw MetricsUnavailable(reason);
  }
  [[nodiscard]] ChipMetrics chip_metrics(const Device&) const override { throw MetricsUnavailable(reason); }
  [[nodiscard]] std::unique_ptr<ActivitySource> activity() const override { throw MetricsUnavailable(reason); }
  void begin_profiler_range(const std::string&) const override {}
  void end_profiler_range() const override {}
};

}  // namespace

const Backend& cuda_backend() {
  static const NoCuda backend;
  return backend;
}

}  // namespace gpubench::bench
