// SPDX-License-Identifier: Apache-2.0
// Who counts: CUPTI on a GPU, a fake in tests. A source knows the names of its chip, not gpubench's portable ones.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "core/model/device.h"

namespace gpubench::bench {

/// What setting a profiler up took.
struct CountingEffort {
  std::size_t ranges = 0;      ///< counted, those that had to be counted again included
  std::size_t configured = 0;  ///< how often it was told what to count
  std::size_t enabled = 0;     ///< how often it took the counters
};

/// Each name that was asked for is in one of the two maps.
struct MetricValues {
  std::map<std::string, double> values;
  std::map<std::string, std::string> absent;  ///< the reason by name
  std::string lost;                           ///< the reason, if all are absent for one
};

/// Counting or recording is impossible, as one sentence with the remedy.
struct MetricsUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class MetricSource {
 public:
  virtual ~MetricSource() = default;

  /// What stands beside each value: "cupti range".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The chip by its maker's name, for messages: "GH100".
  [[nodiscard]] virtual std::string chip() const = 0;
  /// The unit of a metric of this chip; absent when the chip has no such metric.
  [[nodiscard]] virtual std::optional<std::string> unit(const std::string& metric) = 0;
  /// The executions that it takes to count all of these together; absent when that is impossible.
  [[nodiscard]] virtual std::optional<std::size_t> passes(const std::vector<std::string>& metrics) = 0;
  /// Counts these from here on, all together. Values of others that were not read are lost. Throws MetricsUnavailable.
  virtual void begin(const std::vector<std::string>& metrics) = 0;
  /// Counts one point, with `prepare` and `execute` once for each pass. Throws MetricsUnavailable, and what the two
  /// throw; earlier points are not affected.
  virtual void count(std::size_t point, const Replay& replay) = 0;
  /// The values of the points that were counted since the last call.
  [[nodiscard]] virtual std::map<std::size_t, MetricValues> read() = 0;
  [[nodiscard]] virtual CountingEffort effort() const { return {}; }
};

/// Counts one point by itself. Throws MetricsUnavailable, and whatever the replay throws.
MetricValues count_alone(MetricSource& source, const std::vector<std::string>& metrics, const Replay& replay);

/// The source for a device; a GPU must be the current one. Throws MetricsUnavailable when there is none. Loads CUPTI.
std::unique_ptr<MetricSource> open_metric_source(const Device& device);

}  // namespace gpubench::bench
