// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/counter_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/resources.h"
#include "gpu/backend.h"

namespace gpubench::bench {
namespace {

/// "3.1x", "none of"; `low` to `high` is what may have been done over what was declared.
std::optional<std::string> difference(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  const double ratio = low > 1.0 ? low : high < 1.0 ? high : 1.0;
  if (std::abs(ratio - 1.0) <= tolerated_work_difference) return std::nullopt;
  if (ratio < 0.005) return "none of";
  return fmt::format("{}x", ratio >= 9.95   ? fmt::format("{:.0f}", ratio)
                            : ratio >= 1.25 ? fmt::format("{:.1f}", ratio)
                                            : fmt::format("{:.2f}", ratio));
}

void add_bytes(const Measurement& measurement, const Device& device, std::vector<std::string>& result) {
  const Work& work = measurement.work;
  const auto read = counter(measurement, "dram_read_bytes");
  const auto written = counter(measurement, "dram_write_bytes");
  const auto cache = static_cast<double>(device.last_level_cache_bytes);
  const double footprint = work.footprint_bytes.value_or(work.bytes());
  if (!read || !written || !(work.bytes() > 0.0) || !(cache > 0.0) || !(footprint > min_caches_for_dram * cache))
    return;
  // What one execution moves may lie in the cache for the next, however large the footprint; and the counters see what
  // the cache writes back for others.
  const double moved = *read + *written;
  const double too_little = moved < work.bytes() ? min_caches_for_dram * cache : cache;
  if (std::max(moved, work.bytes()) <= too_little) return;
  const double ratio = moved / work.bytes();
  if (const auto text = difference(ratio, ratio))
    result.push_back(fmt::format("moves {} the bytes it declares", *text));
}

void add_flops(const Measurement& measurement, std::vector<std::string>& result) {
  for (const PipeCounter& entry : pipe_counters()) {
    const auto counted = counter(measurement, entry.name);
    double declared = 0.0;
    std::string names;
    for (const Pipe pipe : entry.pipes) {
      const auto flops = measurement.work.flops.find(pipe);
      if (flops == measurement.work.flops.end() || !(flops->second > 0.0)) continue;
      declared += flops->second;
      names += fmt::format("{}{}", names.empty() ? "" : " and ", name_of(pipe));
    }
    if (!counted || !(declared > 0.0)) continue;
    if (const auto text = difference(entry.min_share * *counted / declared, *counted / declared))
      result.push_back(fmt::format("does {} the {} FLOPs it declares", *text, names));
  }
}

void sort_by_name(Measurement& measurement) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(measurement.counters.begin(), measurement.counters.end(), by_name);
  std::sort(measurement.absent_counters.begin(), measurement.absent_counters.end(), by_name);
}

/// A unit's count as a share of the operation's own time on the device, in percent. Work of the multiprocessors is put
/// at the clock that they had while the operation was timed.
std::optional<double> busy_percent(double count, double peak, double clock_hz, bool of_multiprocessors,
                                   const Measurement& measurement) {
  const Summary* seconds = seconds_by(measurement, TimingMode::device);
  if (seconds == nullptr) seconds = seconds_by(measurement, TimingMode::stream);
  if (seconds == nullptr || !(seconds->median > 0.0) || !(peak > 0.0)) return std::nullopt;
  if (of_multiprocessors && measurement.clock_hz) clock_hz = *measurement.clock_hz;
  const double percent = 100.0 * count / peak / clock_hz / seconds->median;
  return std::isfinite(percent) ? std::optional(percent) : std::nullopt;
}

/// Whether counters by instruction passed all kernels over. How many instructions they saw says no more than that: the
/// profiler counts these in code that it has changed, and a kernel that waits for a clock goes round less often then.
bool passed_kernels_over(const std::map<std::string, double>& values) {
  const auto seen = values.find(std::string(all_by_instruction));
  return seen != values.end() && seen->second <= 0.0;
}

/// A counter of one group of launches, by duration where that is known. Not a number where a launch has none.
double over_launches(const std::string& name, const std::map<std::string, std::vector<double>>& of_kernels,
                     std::span<const std::int64_t> order, std::size_t group) {
  const auto found = of_kernels.find(name);
  const auto durations = of_kernels.find(std::string(kernel_duration));
  if (found == of_kernels.end() || found->second.size() != order.size()) return std::nan("");
  const bool weighed = durations != of_kernels.end() && durations->second.size() == order.size();
  std::vector<double> values, weights;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!std::cmp_equal(order[i], group)) continue;
    values.push_back(found->second[i]);
    weights.push_back(weighed ? durations->second[i] : 1.0);
  }
  return over_kernels(name, values, weights);
}

}  // namespace

std::vector<std::string> work_differences(const Measurement& measurement, const Device& device) {
  std::vector<std::string> result;
  add_bytes(measurement, device, result);
  add_flops(measurement, result);
  return result;
}

void add_counters(Measurement& measurement, const std::vector<ResolvedMetric>& metrics,
                  const std::map<std::string, double>& values, const CounterSourceName& source,
                  const std::function<std::string(const std::string&, const std::string&)>& why_missing) {
  const bool kernels_missing = passed_kernels_over(values);
  for (const ResolvedMetric& metric : metrics) {
    double sum = 0.0;
    std::string missing;
    if (kernels_missing && is_by_instruction(metric))
      missing = "the GPU does not count it in kernels of a CUDA graph, and the operation launches some";
    for (const auto& [factor, counter] : metric.terms) {
      const auto value = values.find(counter);
      if (value != values.end() && std::isfinite(value->second))
        sum += factor * value->second;
      else if (missing.empty())
        missing = why_missing(metric.name, counter);
    }
    if (metric.peak && missing.empty()) {
      const auto peak = values.find(metric.peak->counter);
      const auto clock = values.find(metric.peak->clock);
      const auto percent =
          peak == values.end() || clock == values.end()
              ? std::nullopt
              : busy_percent(sum, peak->second, clock->second, metric.peak->of_multiprocessors, measurement);
      if (percent)
        sum = *percent;
      else
        missing = "the peak of this unit, its clock or the time of the operation is not known";
    }
    if (missing.empty())
      measurement.counters.push_back({metric.name, sum, metric.unit, source(metric)});
    else
      measurement.absent_counters.push_back({metric.name, missing});
  }
  sort_by_name(measurement);
}

CounterPass::CounterPass(Device device, std::vector<std::string> names, Opener open, bool each_kernel)
    : device_(std::move(device)), names_(std::move(names)), open_(std::move(open)), each_kernel_(each_kernel) {}

const std::string* CounterPass::unavailable() {
  if (!source_ && !unavailable_) {
    try {
      open();
    } catch (const std::exception& error) {
      unavailable_ = error.what();
    }
  }
  return unavailable_ ? &*unavailable_ : nullptr;
}

void CounterPass::open() {
  auto source = open_(device_);
  auto resolution = resolve(names_, source->chip(), [&](const std::string& name) { return source->unit(name); });
  plan_ = plan_passes(resolution.metrics, [&](const auto& counters) { return source->passes(counters); });
  plan_.absent.insert(plan_.absent.end(), resolution.absent.begin(), resolution.absent.end());
  for (const AbsentCounter& absent : plan_.absent)
    warn(fmt::format("No {} on {}: {}.", absent.name, device_.id, absent.reason));
  source_ = std::move(source);
}

void CounterPass::fill(Measurement& measurement, const Replay& replay) {
  if (!wanted()) return;
  if (const std::string* const reason = unavailable()) return all_absent(measurement, *reason);
  CountedExecution execution = replay;
  execution.each_kernel = each_kernel_ && measurement.kernel_order.size() > 1;
  MetricValues counted;
  std::string condition;  // under which some were counted
  for (const auto& [counters, passes] : plan_.groups) {
    try {
      source_->begin(counters);
      if (passes > 1 && replay.keep_inputs)
        if (const auto reason = replay.keep_inputs()) {
          condition = fmt::format(", some in {} passes, each on what the one before left: {}", passes, *reason);
          warn(
              fmt::format("On {}, the passes of some points may have had different inputs, as those points' counters "
                          "say.",
                          device_.id));
        }
      MetricValues values = source_->count(execution);
      // A counter that two metrics share may be in two groups: that of the first stands.
      counted.values.merge(values.values);
      counted.absent.merge(values.absent);
      counted.of_kernels.merge(values.of_kernels);
      if (counted.kernels_lost.empty()) counted.kernels_lost = values.kernels_lost;
    } catch (const std::exception& error) {  // the counters of this group are absent: the others are not affected
      for (const std::string& counter : counters) counted.absent.emplace(counter, error.what());
      warn(fmt::format("{} on {}: {}.", plan_.groups.size() == 1 ? "No counters" : "Not all counters", device_.id,
                       error.what()));
    }
  }
  measurement.counters.clear();  // a resumed run's point may have some
  measurement.absent_counters = plan_.absent;
  const auto source = [&](const ResolvedMetric& metric) {
    return fmt::format("{}{}{}", source_->name(), is_by_kernel(metric) ? ", each kernel by itself" : "", condition);
  };
  add_counters(measurement, plan_.metrics, counted.values, source, [&](const std::string&, const std::string& counter) {
    const auto reason = counted.absent.find(counter);
    return reason != counted.absent.end() ? reason->second : counter + " came back without a value";
  });
  measurement.work_differences = work_differences(measurement, device_);
  fill_kernels(counted, measurement);
}

/// Each metric of each group, from those of its launches.
void CounterPass::fill_kernels(const MetricValues& counted, Measurement& measurement) const {
  for (KernelGroup& group : measurement.kernels) group.counters.clear();
  measurement.kernel_counters_reason.clear();
  if (measurement.kernels.empty()) return;
  const auto& order = measurement.kernel_order;
  std::string& reason = measurement.kernel_counters_reason;
  if (counted.of_kernels.empty()) {
    if (each_kernel_) reason = order.empty() ? measurement.kernel_order_reason : counted.kernels_lost;
    return;
  }
  reason = measurement.kernel_order_reason;
  const std::size_t launches = counted.of_kernels.begin()->second.size();
  if (reason.empty() && launches != order.size())
    reason = fmt::format("the profiler counted {} kernel{} where activity records show {}", launches,
                         launches == 1 ? "" : "s", order.size());
  if (!reason.empty()) return;
  for (std::size_t k = 0; k < measurement.kernels.size(); ++k) {
    KernelGroup& group = measurement.kernels[k];
    if (group.kind != CommandKind::kernel) continue;
    for (const ResolvedMetric& metric : plan_.metrics) {
      double sum = 0.0;
      for (const auto& [factor, name] : metric.terms) sum += factor * over_launches(name, counted.of_kernels, order, k);
      if (std::isfinite(sum))
        group.counters.push_back({metric.name, sum, metric.unit, fmt::format("{}, this kernel", source_->name())});
    }
    std::ranges::sort(group.counters, {}, &Counter::name);
  }
}

void CounterPass::all_absent(Measurement& measurement, const std::string& reason) {
  measurement.counters.clear();
  measurement.absent_counters.clear();
  for (const std::string& name : names_) measurement.absent_counters.push_back({name, reason});
  sort_by_name(measurement);
  measurement.work_differences = work_differences(measurement, device_);
  warn(fmt::format("No counters on {}: {}.", device_.id, reason));
}

void CounterPass::warn(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
    warnings_.push_back(std::move(warning));
}

std::unique_ptr<MetricSource> open_metric_source(const Device& device) {
  if (device.kind == DeviceKind::cpu)
    throw MetricsUnavailable("counters of the CPU are not supported; use --metrics on a GPU");
  return backend_of(device).metrics(device);
}

}  // namespace gpubench::bench
