// SPDX-License-Identifier: Apache-2.0
// What a vendor's folder beside this file offers: the only door to its runtime, management library and profiler.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "gpu/memory/memory.h"
#include "gpu/profiling/activity_source.h"
#include "gpu/profiling/metric_source.h"
#include "gpu/readings.h"

namespace gpubench::bench {

/// By itself what a build has of a vendor that it lacks: no device, and `why_none` as the reason for everything else.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Of the ids of its devices: "cuda:".
  [[nodiscard]] virtual std::string_view prefix() const = 0;
  /// The GPUs that it shows.
  [[nodiscard]] virtual std::vector<Device> devices() const { return {}; }
  /// Why it shows none: "no NVIDIA driver", "built without CUDA", ...; empty when it does.
  [[nodiscard]] virtual std::string why_none() const = 0;
  /// Throws GpuError when it cannot be used.
  [[nodiscard]] virtual std::unique_ptr<Gpu> open(const Device& device) const;
  /// Throws GpuError.
  [[nodiscard]] virtual DeviceMemory& memory() const;
  /// Never throws for lack of a library.
  [[nodiscard]] virtual DeviceReadings readings(const Device& device) const;
  /// How a GPU is connected, by the driver's management library: "nvlinks", "pcie". Only what is known.
  [[nodiscard]] virtual std::map<std::string, std::string> connections(const Device& device) const;
  /// What lies between two of its GPUs: "18 NVLinks through switches".
  [[nodiscard]] virtual Reading<std::string> path_between(const Device& from, const Device& to) const;
  /// The runtime that this program was built with, as its maker counts (13000); absent without.
  [[nodiscard]] virtual std::optional<int> built_with() const { return std::nullopt; }
  /// Counters of the device, which must be the current one of this thread. Throws MetricsUnavailable with the remedy.
  [[nodiscard]] virtual std::unique_ptr<MetricSource> metrics(const Device& device) const;
  /// What a device counts, without a context on it. Throws MetricsUnavailable.
  [[nodiscard]] virtual ChipMetrics chip_metrics(const Device& device) const;
  /// Records of all its GPUs in this process. Throws MetricsUnavailable.
  [[nodiscard]] virtual std::unique_ptr<ActivitySource> activity() const;
  /// A range of this name, and nothing else, for the vendor's profilers.
  virtual void begin_profiler_range(const std::string& name) const { (void)name; }
  virtual void end_profiler_range() const {}
};

/// One for each vendor.
const std::vector<const Backend*>& backends();
/// The one whose prefix the device's id has. Throws GpuError where none has it.
const Backend& backend_of(const Device& device);
/// Of the GPU that this thread opened last; before, the first.
const Backend& backend_in_use();

/// For tests: one more vendor, before the others, while it lives.
class AddedBackend {
 public:
  explicit AddedBackend(const Backend& backend);
  ~AddedBackend();
  AddedBackend& operator=(AddedBackend&&) = delete;  ///< not copied, not moved
};

}  // namespace gpubench::bench
