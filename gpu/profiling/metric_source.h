// SPDX-License-Identifier: Apache-2.0
// Counters of a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpubench::bench {

/// What setting a profiler up took.
struct CountingEffort {
  std::size_t ranges = 0;      ///< counted, those that had to be counted again included
  std::size_t configured = 0;  ///< how often it was told what to count
  std::size_t enabled = 0;     ///< how often it took the counters
  std::map<std::string, std::pair<std::size_t, double>, std::less<>>
      calls;  ///< how often, and seconds, by what was done
};

/// Each name that was asked for is in one of the two maps.
struct MetricValues {
  std::map<std::string, double> values;
  std::map<std::string, std::string> absent;  ///< the reason by name
  std::string lost;                           ///< the reason, if all are absent for one
  /// Of each kernel in the order of launches, where kernels were counted one by one; with kernel_duration if that is
  /// known. Not a number where a kernel has none.
  std::map<std::string, std::vector<double>> of_kernels;
  std::string kernels_lost;  ///< why there are none though they were wanted
};

/// Counting or recording is impossible, as one sentence with the remedy.
struct MetricsUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Only now: another holds the counters, and may give them back.
struct MetricsBusy : MetricsUnavailable {
  using MetricsUnavailable::MetricsUnavailable;
};

/// One execution, as often as it takes to count it. Both wait until the device has finished.
struct CountedExecution {
  /// Brings caches and inputs into the state that each execution starts from.
  std::function<void()> prepare;
  /// Runs the operation once.
  std::function<void()> execute;
  /// To be counted kernel by kernel as well.
  bool each_kernel = false;
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
  /// Whether it has the two below.
  [[nodiscard]] virtual bool counts_by_passes() const { return false; }
  /// The same for several passes, one of each point at a time: all points are counted again after each `next_pass`, and
  /// their values come after the last. Throws MetricsUnavailable.
  virtual void begin_passes(const std::vector<std::string>& metrics, std::size_t max_points) {
    (void)metrics;
    (void)max_points;
    throw MetricsUnavailable("this source counts all passes of a point together");
  }
  virtual void next_pass() {}
  /// Counts one point, with `prepare` and `execute` once for each pass. Throws MetricsUnavailable, and what the two
  /// throw; earlier points are not affected.
  virtual void count(std::size_t point, const CountedExecution& execution) = 0;
  /// Counts what the current device does until `end_range`, once, as a point: for metrics of one pass. Both wait for
  /// the device. Throw MetricsUnavailable.
  virtual void begin_range(std::size_t point) {
    (void)point;
    throw MetricsUnavailable("this source counts no ranges");
  }
  virtual void end_range() {}
  /// The values of the points that were counted since the last call.
  [[nodiscard]] virtual std::map<std::size_t, MetricValues> read() = 0;
  [[nodiscard]] virtual CountingEffort effort() const { return {}; }
};

/// What the chip of a GPU counts and in how many passes, without a context on it.
struct ChipMetrics {
  std::string chip;  ///< "GH100"
  std::function<std::optional<std::string>(const std::string& metric)> unit_of;
  std::function<std::optional<std::size_t>(const std::vector<std::string>& metrics)> passes_of;
};

/// The weight of a kernel's figure in that of its operation, ns.
inline constexpr std::string_view kernel_duration = "gpu__time_duration.sum";

/// Whether a counter holds or divides by the time of its range: a duration, a rate per second or per elapsed cycle, a
/// share of the sustained peak. A range around a whole operation begins and ends with an idle device, which would
/// falsify these. So they are counted in a range for each kernel, as Nsight Compute does.
bool is_over_elapsed_time(std::string_view counter);

/// The figure of an operation from those of its kernels: durations add up, anything else is the mean by duration.
/// Absent where a kernel has none, or the durations are not known.
std::optional<double> over_all_kernels(std::string_view counter, std::span<const std::optional<double>> values,
                                       std::span<const std::optional<double>> durations);

}  // namespace gpubench::bench
