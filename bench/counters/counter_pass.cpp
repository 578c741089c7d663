// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/counter_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "gpu/backend.h"

namespace gpubench::bench {
namespace {

/// That one pass goes over. Each takes some hundred KiB of counter data.
constexpr std::size_t points_of_a_pass = 256;
/// To begin and end a pass takes as long on an H200 (docs/results/h200/counting.md). A point that takes longer to set
/// up is set up once, and has its groups and passes one after another.
constexpr double slow_set_up_seconds = 20e-3;
/// While it was timed. That may have been slow for once: code was translated, a library started.
constexpr double surely_slow_set_up_seconds = 100e-3;

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

/// A counter of one group of launches: counts and durations add up, anything else is the mean, by duration where that
/// is known. Not a number where a launch has none.
double over_launches(const std::string& name, const std::map<std::string, std::vector<double>>& of_kernels,
                     std::span<const std::int64_t> order, std::size_t group) {
  const auto found = of_kernels.find(name);
  const auto durations = of_kernels.find(std::string(kernel_duration));
  if (found == of_kernels.end() || found->second.size() != order.size()) return std::nan("");
  const bool weighed = durations != of_kernels.end() && durations->second.size() == order.size();
  double sum = 0.0;
  double weighted = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!std::cmp_equal(order[i], group)) continue;
    const double weight = weighed ? durations->second[i] : 1.0;
    sum += found->second[i];
    weighted += weight * found->second[i];
    weights += weight;
  }
  return name.ends_with(".sum") ? sum : weighted / weights;
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

std::size_t CounterPass::rounds() {
  if (!wanted() || unavailable() != nullptr) return 1;
  lay_out_rounds();
  return std::max<std::size_t>(rounds_.size(), 1);
}

/// To begin and end a pass is slow, so all points share it. Not where kernels are counted one by one, which needs the
/// profiler for a point alone.
void CounterPass::lay_out_rounds() {
  rounds_.clear();
  for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
    const auto& [counters, passes] = plan_.groups[group];
    if (points_ == 0 || passes < 2 || !source_->counts_by_passes() || each_kernel_ ||
        std::ranges::any_of(counters, is_over_elapsed_time)) {
      rounds_.push_back({group, 0, 0, false});
      continue;
    }
    for (std::size_t part = 0; part * points_of_a_pass < points_; ++part)
      for (std::size_t pass = 0; pass < passes; ++pass) rounds_.push_back({group, pass, part, true});
  }
  if (std::ranges::any_of(rounds_, &Round::by_passes)) rounds_.push_back({.of_slow = true});
}

void CounterPass::begin(std::size_t round) {
  round_.reset();
  if (round == 0) counted_.clear();
  if (!source_) return why_not_this_round_.clear();
  if (rounds_.empty()) lay_out_rounds();
  if (round < rounds_.size()) round_ = rounds_[round];
  if (round_ && round_->pass > 0) return source_->next_pass();
  why_not_this_round_.clear();
  read();
  if (!round_ || round_->of_slow) return;
  const auto& counters = plan_.groups[round_->group].counters;
  try {
    if (round_->by_passes)
      source_->begin_passes(counters, std::min(points_, points_of_a_pass));
    else
      source_->begin(counters);
  } catch (const MetricsUnavailable& error) {
    why_not_this_round_ = error.what();
  }
}

bool CounterPass::wants(std::size_t point, const Measurement& timed) {
  const std::size_t position = positions_.try_emplace(point, positions_.size()).first->second;
  if (timed.set_up_seconds.value_or(0.0) > surely_slow_set_up_seconds) slow_.insert(point);
  if (!source_ || rounds_.empty()) return true;
  if (!round_) return false;
  if (rounds_.back().of_slow && slow_.contains(point) != round_->of_slow) return false;
  return !round_->by_passes || position / points_of_a_pass == round_->part;
}

void CounterPass::fill(Measurement& measurement, const Replay& replay) {
  if (!wanted()) return;
  if (const std::string* const reason = unavailable()) return all_absent(measurement, *reason);
  const auto [place, first_round] = counted_.try_emplace(replay.point);
  PointValues& counted = place->second;
  if (first_round) {
    measurement.counters.clear();  // a resumed run's point may have some
    measurement.absent_counters.clear();
  }
  if (!round_) return;
  if (round_->of_slow) return count_all(counted, replay);
  // Of a point that nobody had set up before, the first time tells.
  const bool begun = round_->pass > 0;
  if (!begun && rounds_.back().of_slow && replay.set_up_seconds > slow_set_up_seconds) slow_.insert(replay.point);
  if (slow_.contains(replay.point)) return;
  try {
    if (!why_not_this_round_.empty()) throw MetricsUnavailable(why_not_this_round_);
    Replay each = replay;
    each.each_kernel = each_kernel_ && measurement.kernel_order.size() > 1;
    count(counted, each, round_->group);
  } catch (const std::exception& error) {
    miss(counted, round_->group, error.what());
  }
}

/// At one set-up.
void CounterPass::count_all(PointValues& counted, const Replay& replay) {
  for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
    try {
      read();
      source_->begin(plan_.groups[group].counters);
      count(counted, replay, group);
    } catch (const std::exception& error) {
      miss(counted, group, error.what());
    }
  }
}

/// Every round sets the operation up anew, with the same data: only within one do passes follow each other.
void CounterPass::count(PointValues& counted, const Replay& replay, std::size_t group) {
  const std::size_t passes = round_->by_passes ? 1 : plan_.groups[group].passes;
  if (passes > 1 && replay.keep_inputs) {
    if (const auto reason = replay.keep_inputs()) {
      counted.condition = fmt::format(", some in {} passes, each on what the one before left: {}", passes, *reason);
      warn(fmt::format("On {}, the passes of some points had different inputs, as those points' counters say.",
                       device_.id));
    }
  }
  source_->count(replay.point, replay);
}

/// The counters of this group are absent: the others are not affected.
void CounterPass::miss(PointValues& counted, std::size_t group, const std::string& reason) {
  for (const std::string& counter : plan_.groups[group].counters) counted.values.absent.emplace(counter, reason);
  warn_of(reason);
}

void CounterPass::warn_of(const std::string& reason) {
  const char* const what = plan_.groups.size() == 1 ? "No counters" : "Not all counters";
  warn(fmt::format("{} on {}: {}.", what, device_.id, reason));
}

void CounterPass::read() {
  for (auto& [point, values] : source_->read()) {
    // A counter that two metrics share may be in two groups: that of the first stands.
    MetricValues& all = counted_[point].values;
    all.values.merge(values.values);
    all.absent.merge(values.absent);
    all.of_kernels.merge(values.of_kernels);
    if (all.kernels_lost.empty()) all.kernels_lost = values.kernels_lost;
    if (!values.lost.empty()) warn_of(values.lost);
  }
}

void CounterPass::finish(std::size_t point, Measurement& measurement) {
  if (source_) read();
  const auto place = counted_.find(point);
  if (place == counted_.end()) return;  // nothing was tried: the measurement has the reason
  const PointValues& counted = place->second;
  const auto given_up = std::exchange(measurement.absent_counters, plan_.absent);
  measurement.counters.clear();
  const auto why_missing = [&](const std::string& metric, const std::string& counter) -> std::string {
    if (const auto reason = counted.values.absent.find(counter); reason != counted.values.absent.end())
      return reason->second;
    for (const AbsentCounter& absent : given_up)
      if (absent.name == metric) return absent.reason;
    if (counted.values.values.contains(counter)) return counter + " came back without a value";
    return "the run was stopped before this was counted";
  };
  const auto source = [&](const ResolvedMetric& metric) {
    return fmt::format("{}{}{}", source_->name(), is_by_kernel(metric) ? ", each kernel by itself" : "",
                       counted.condition);
  };
  add_counters(measurement, plan_.metrics, counted.values.values, source, why_missing);
  measurement.work_differences = work_differences(measurement, device_);
  fill_kernels(counted.values, measurement);
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
    reason =
        fmt::format("the profiler counted {} where activity records show {}", plural(launches, "kernel"), order.size());
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
  if (!contains(warnings_, warning)) warnings_.push_back(std::move(warning));
}

std::unique_ptr<MetricSource> open_metric_source(const Device& device) {
  if (device.kind == DeviceKind::cpu)
    throw MetricsUnavailable("counters of the CPU are not supported; use --metrics on a GPU");
  return backend_of(device).metrics(device);
}

}  // namespace gpubench::bench
