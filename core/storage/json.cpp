// SPDX-License-Identifier: Apache-2.0
// The fields of every structure that files hold, in the order in which they are written. docs/reference/json-schema.md
// says what they mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <type_traits>

#include "core/model/points.h"
#include "core/storage/baselines.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "core/storage/visitors.h"

namespace gpubench::storage {

/// T is the structure, const where it is written.
template <class T, class As>
concept is_a = std::is_same_v<std::remove_const_t<T>, As>;

/// Several plain fields: key, value, key, value, ...
template <class V, class T, class... More>
void fields(V& visit, const char* key, T& value, More&... more) {
  visit.field(key, value);
  if constexpr (sizeof...(more) > 0) fields(visit, more...);
}

/// The same of fields that are left out while they are empty.
template <class V, class T, class... More>
void filled(V& visit, const char* key, T& value, More&... more) {
  visit.filled(key, value);
  if constexpr (sizeof...(more) > 0) filled(visit, more...);
}

template <class V>
inline constexpr bool is_reader = std::is_same_v<std::remove_cvref_t<V>, Reader>;

/// Half a unit of the last digit that a file gives a number: 0.05e-6 of 1.8e-6. Figures may have been rounded, each by
/// itself.
inline double half_digit(double value) {
  if (value == 0.0) return 0.0;
  std::array<char, 32> text{};
  const auto* const end = std::to_chars(text.begin(), text.end(), std::abs(value), std::chars_format::scientific).ptr;
  const auto* const e = std::find(text.cbegin(), end, 'e');
  const auto digits = e - text.begin() - (e - text.begin() > 1 ? 1 : 0);
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  return 0.5 * std::pow(10.0, exponent - static_cast<int>(digits) + 1) + 1e-12 * std::abs(value);
}

/// Up to the rounding of both.
inline bool at_most(double a, double b) { return a <= b || a - b <= half_digit(a) + half_digit(b); }
inline bool alike(double a, double b) { return at_most(a, b) && at_most(b, a); }
inline bool holds(const Interval& interval, double value) {
  return at_most(interval.low, value) && at_most(value, interval.high);
}

/// Counts beyond this were never counted.
inline constexpr std::int64_t max_count = 1'000'000'000'000;

void describe(auto& visit, is_a<Device> auto& it) {
  fields(visit, "id", it.id, "kind", it.kind, "name", it.name, "architecture", it.architecture, "units", it.units,
         "memory_bytes", it.memory_bytes, "last_level_cache_bytes", it.last_level_cache_bytes, "max_clock_hz",
         it.max_clock_hz, "memory_bandwidth_limit_bytes_per_second", it.memory_bandwidth_limit, "properties",
         it.properties);
}

void describe(auto& visit, is_a<Estimate> auto& it) {
  visit.field("value", it.value, visit.domain());
  visit.field("ci95", it.ci95);
}

// Calibrations.

void describe(auto& visit, is_a<Confirmation> auto& it) {
  visit.filled("counter", it.counter);
  visit.field("ratio", it.ratio);
  visit.filled("reason", it.reason);
}

void describe(auto& visit, is_a<Ceiling> auto& it) {
  fields(visit, "resource", it.resource, "value", it.value, "unit", it.unit, "ci95", it.ci95, "repeats", it.repeats,
         "method", it.method, "clock_hz", it.clock_hz, "theoretical_limit", it.theoretical_limit, "group", it.group);
  filled(visit, "shape", it.shape, "conditions", it.conditions);
  fields(visit, "load", it.load, "work_per_run", it.work_per_run);
  visit.filled("work_unit", it.work_unit);
  fields(visit, "rate_per_clock", it.rate_per_clock, "cycles", it.cycles, "power_watts", it.power_watts);
  visit.field("temperature_celsius", it.temperature_celsius, Domain::any);
  visit.field("confirmation", it.confirmation);
  visit.filled("caveats", it.caveats);
  visit.require(it.value > 0.0, "value", "is zero, which limits nothing");
  visit.require(holds(it.ci95, it.value), "ci95", "is an interval that does not hold the value");
}

void describe(auto& visit, is_a<AbsentCeiling> auto& it) {
  fields(visit, "resource", it.resource, "reason", it.reason);
}

void describe(auto& visit, is_a<CacheLevel> auto& it) {
  fields(visit, "resource", it.resource, "capacity_bytes", it.capacity_bytes, "capacity_ci95", it.capacity_ci95);
}

void describe(auto& visit, is_a<LadderPoint> auto& it) {
  fields(visit, "working_set_bytes", it.working_set_bytes, "bytes_per_second", it.bytes_per_second);
}

void describe(auto& visit, is_a<LatencyPoint> auto& it) {
  fields(visit, "working_set_bytes", it.working_set_bytes, "seconds", it.seconds, "cycles", it.cycles);
}

void describe(auto& visit, is_a<IntensityPoint> auto& it) {
  fields(visit, "flops_per_byte", it.flops_per_byte, "flops_per_second", it.flops_per_second, "bytes_per_second",
         it.bytes_per_second, "clock_hz", it.clock_hz);
}

void describe(auto& visit, is_a<DriftReading> auto& it) {
  fields(visit, "resource", it.resource, "unit", it.unit, "stored", it.stored, "now", it.now);
  visit.field("change", it.change, Domain::any);
  visit.field("beyond", it.beyond, Domain::any);
  fields(visit, "samples", it.samples, "sets", it.sets, "outcome", it.outcome, "method", it.method);
  visit.filled("disturbance", it.disturbance);
}

void describe(auto& visit, is_a<DriftCheck> auto& it) {
  fields(visit, "calibration_utc", it.calibration_utc, "checked_utc", it.checked_utc, "seconds_taken", it.seconds_taken,
         "outcome", it.outcome, "readings", it.readings);
  visit.filled("not_checked", it.not_checked);
}

void describe(auto& visit, is_a<BandCheck> auto& it) {
  fields(visit, "resource", it.resource, "unit", it.unit, "value", it.value, "reference", it.reference, "margin",
         it.margin, "standing", it.standing);
  visit.field("difference", it.difference, Domain::any);
  fields(visit, "worse", it.worse, "source", it.source);
}

void describe(auto& visit, is_a<Health> auto& it) {
  fields(visit, "kind", it.kind, "checks", it.checks);
  visit.filled("reason", it.reason);
}

void describe(auto& visit, is_a<Calibration> auto& it) {
  fields(visit, "device", it.device, "mode", it.mode, "created_utc", it.created_utc, "gpubench_version",
         it.gpubench_version, "seconds_taken", it.seconds_taken, "ceilings", it.ceilings, "absent", it.absent, "levels",
         it.levels, "ladder", it.ladder);
  filled(visit, "unit_levels", it.unit_levels, "unit_ladder", it.unit_ladder, "latency_curve", it.latency_curve,
         "intensity_sweep", it.intensity_sweep, "warnings", it.warnings);
  visit.field("core_share", it.core_share, Domain::probability);
  fields(visit, "drift", it.drift, "health", it.health);
  if constexpr (is_reader<decltype(visit)>) {
    std::set<std::string_view> seen;
    for (const Ceiling& ceiling : it.ceilings) {
      const auto fail = [&](const std::string& what) { visit.node().at("ceilings").fail(what); };
      if (!seen.insert(ceiling.resource).second)
        fail(fmt::format("holds two ceilings of {}", excerpt(ceiling.resource)));
      if (!ceiling.rate_per_clock || !ceiling.clock_hz || *ceiling.rate_per_clock <= 0.0 || *ceiling.clock_hz <= 0.0)
        continue;
      // Of one core alone, or of all. Either figure may be the median of several processes.
      constexpr double tolerated = 1.5;
      const double ratio = ceiling.value / *ceiling.clock_hz / *ceiling.rate_per_clock;
      const auto like = [&](double units) { return ratio < tolerated * units && units < tolerated * ratio; };
      if (std::isfinite(ratio) && !like(1.0) && !like(it.device.units))
        fail(fmt::format("holds one of {} of which value and rate per clock do not agree", excerpt(ceiling.resource)));
    }
  }
}

// Measurements.

void describe(auto& visit, is_a<Summary> auto& it) {
  visit.field("count", it.count);
  visit.field("minimum", it.minimum, visit.domain());
  visit.field("lower_quartile", it.lower_quartile, visit.domain());
  visit.field("median", it.median);
  visit.field("upper_quartile", it.upper_quartile, visit.domain());
  visit.field("maximum", it.maximum, visit.domain());
  visit.field("mean", it.mean, visit.domain());
  fields(visit, "mad", it.mad, "median_ci95", it.median_ci95);
  if constexpr (is_reader<decltype(visit)>) {
    visit.require(it.count >= 1 && it.count <= static_cast<std::int64_t>(max_array), "count", "is {}, not 1 to {}",
                  it.count, max_array);
    const std::array<std::pair<const char*, double>, 5> rising = {{{"minimum", it.minimum},
                                                                   {"lower_quartile", it.lower_quartile},
                                                                   {"median", it.median},
                                                                   {"upper_quartile", it.upper_quartile},
                                                                   {"maximum", it.maximum}}};
    for (std::size_t i = 1; i < rising.size(); ++i)
      visit.require(at_most(rising[i - 1].second, rising[i].second), rising[i].first, "is {}, below the {} of {}",
                    rising[i].second, std::string_view(rising[i - 1].first), rising[i - 1].second);
    visit.require(holds({it.minimum, it.maximum}, it.mean), "mean", "is {}, outside of minimum and maximum", it.mean);
    visit.require(holds(it.median_ci95, it.median), "median_ci95", "does not hold the median of {}", it.median);
    visit.require(
        it.mad - (it.maximum - it.minimum) <= half_digit(it.mad) + half_digit(it.maximum) + half_digit(it.minimum),
        "mad", "is {}, more than lies between minimum and maximum", it.mad);
  }
}

void describe(auto& visit, is_a<Argument> auto& it) {
  visit.filled("name", it.name);
  visit.field("text", it.text);
  if (!it.text) visit.field("value", it.value, Domain::any);
}

void describe(auto& visit, is_a<Work> auto& it) {
  fields(visit, "bytes_read", it.bytes_read, "bytes_written", it.bytes_written, "footprint_bytes", it.footprint_bytes,
         "flops", it.flops);
}

/// Whether the blocks hold so many samples, each block at least one.
inline bool add_up(const std::vector<std::int64_t>& block_sizes, std::size_t samples) {
  auto left = static_cast<std::int64_t>(samples);
  for (const std::int64_t size : block_sizes) {
    if (size < 1 || size > left) return false;
    left -= size;
  }
  return left == 0;
}

/// A summary and the samples that it sums up.
inline void check_agreement(const Reader& visit, const Summary& summary, std::vector<double> samples) {
  visit.require(summary.count == static_cast<std::int64_t>(samples.size()), "seconds",
                "counts {} samples, and {} are there", summary.count, samples.size());
  const std::size_t upper = samples.size() / 2;
  const std::size_t lower = (samples.size() - 1) / 2;
  std::ranges::sort(samples);
  const auto check = [&](const char* name, double here, double low, double high) {
    const bool same =
        std::abs(here - (std::midpoint(low, high))) <= half_digit(here) + half_digit(low) + half_digit(high);
    visit.require(same, "seconds", "has a {} of {}, and the samples one of {}", std::string_view(name), here,
                  std::midpoint(low, high));
  };
  check("minimum", summary.minimum, samples.front(), samples.front());
  check("median", summary.median, samples[lower], samples[upper]);
  check("maximum", summary.maximum, samples.back(), samples.back());
}

void describe(auto& visit, is_a<Timing> auto& it) {
  visit.field("clock", it.clock);
  // Samples of a clock that takes a cost off may fall below zero; no other time does.
  const Domain domain = it.clock == Clock::device ? Domain::any : Domain::not_negative;
  visit.field("seconds", it.seconds, domain);
  visit.filled("reason", it.reason);
  visit.filled("samples_seconds", it.samples_seconds, domain);
  filled(visit, "samples_clock_hz", it.samples_clock_hz, "block_sizes", it.block_sizes);
  const std::size_t samples = it.samples_seconds.size();
  if (samples > 0 && !it.block_sizes.empty())
    visit.require(add_up(it.block_sizes, samples), "block_sizes", "does not add up to the number of samples");
  if (!it.samples_clock_hz.empty())
    visit.require(it.samples_clock_hz.size() == samples, "samples_clock_hz", "does not have one clock for each sample");
  if constexpr (is_reader<decltype(visit)>)
    if (samples > 0 && it.seconds) check_agreement(visit, *it.seconds, it.samples_seconds);
  visit.filled("dropped_samples", it.dropped_samples);
  fields(visit, "executions_per_sample", it.executions_per_sample, "method", it.method, "stop_reason", it.stop_reason);
  if constexpr (is_reader<decltype(visit)>) {
    const auto count = [&](std::int64_t value, const char* key) {
      visit.require(value <= max_count, key, "is {}, more than can have been counted", value);
    };
    count(it.dropped_samples, "dropped_samples");
    count(it.executions_per_sample, "executions_per_sample");
  }
  visit.field(visit.key("kernel_overhead_seconds", "fixed_seconds"), it.kernel_overhead_seconds, Domain::any);
}

void describe(auto& visit, is_a<Variant> auto& it) {
  const char* const remaining = visit.key("remaining_fraction", "part_left");
  visit.field(visit.key("ablation", "perturbation"), it.ablation);
  visit.field(remaining, it.remaining_fraction);
  visit.require(it.remaining_fraction < 1.0, remaining, "leaves all of the work, or more");
  visit.field("seconds", it.seconds, Domain::any);  // by the device clock, which takes a cost off
  visit.filled("reason", it.reason);
}

void describe(auto& visit, is_a<DeviceConditions> auto& it) {
  fields(visit, "readings", it.readings, "sm_clock_hz", it.sm_clock_hz, "memory_clock_hz", it.memory_clock_hz,
         "power_watts", it.power_watts, "temperature_celsius", it.temperature_celsius);
  visit.field("core_share", it.core_share, Domain::probability);
  filled(visit, "throttle_reasons", it.throttle_reasons, "absent_reason", it.absent_reason);
}

void describe(auto& visit, is_a<Launches> auto& it) {
  fields(visit, "kernels", it.kernels, "blocks", it.blocks, "later_blocks", it.later_blocks);
}

void describe(auto& visit, is_a<Grid> auto& it) {
  fields(visit, "blocks", it.blocks, "blocks_per_multiprocessor", it.blocks_per_multiprocessor);
}

void describe(auto& visit, is_a<Counter> auto& it) {
  visit.field("name", it.name);
  visit.field("value", it.value, Domain::any);
  visit.field("unit", it.unit);
  visit.filled("source", it.source);
}

void describe(auto& visit, is_a<AbsentCounter> auto& it) { fields(visit, "name", it.name, "reason", it.reason); }

void describe(auto& visit, is_a<UserCounter> auto& it) {
  visit.field("name", it.name);
  visit.field("value", it.value, Domain::any);
  visit.filled("unit", it.unit);
}

void describe(auto& visit, is_a<KernelLaunch> auto& it) {
  fields(visit, "name", it.name, "grid", it.grid, "block", it.block, "registers", it.registers, "static_shared_bytes",
         it.static_shared_bytes, "dynamic_shared_bytes", it.dynamic_shared_bytes, "launches", it.launches,
         "local_bytes", it.local_bytes);
  filled(visit, "code", it.code, "code_absent_reason", it.code_absent_reason);
}

void describe(auto& visit, is_a<ActivityCheck> auto& it) {
  visit.field("agreement", it.agreement);
  filled(visit, "reason", it.reason, "source", it.source);
  visit.field("executions", it.executions);
  visit.field("seconds", it.seconds, Domain::any);
  visit.field("span_seconds", it.span_seconds, Domain::any);
  visit.filled("kernels", it.kernels);
  visit.field("copies", it.copies);
  visit.field("expected_seconds", it.expected_seconds, Domain::any);
  visit.field("tolerance_seconds", it.tolerance_seconds);
  visit.field("recording_seconds", it.recording_seconds, Domain::any);
  visit.filled("recording_reason", it.recording_reason);
}

void describe(auto& visit, is_a<KernelGroup> auto& it) {
  visit.filled("kind", it.kind);
  if (it.kind == CommandKind::kernel)
    describe(visit, it.launch);
  else
    fields(visit, "name", it.launch.name, "launches", it.launch.launches);
  visit.field("bytes", it.bytes);
  visit.field("seconds", it.seconds, Domain::any);
  visit.filled("counters", it.counters);
  visit.require(it.launch.launches <= max_count, "launches", "is {}, more than can have been counted",
                it.launch.launches);
}

void describe(auto& visit, is_a<Failure> auto& it) { fields(visit, "kind", it.kind, "message", it.message); }

/// Schema 1 has the primary timing's fields beside the measurement's own, the other timings in a list, and an empty
/// name of the clock where a point was never timed.
inline void read_timings_of_schema_1(const Node& node, std::vector<Timing>& timings) {
  if (!node.at("clock").text().empty() || node.find("seconds")) read_value(node, timings.emplace_back());
  if (const auto others = node.find("other_clocks"))
    for (Timing& other : read_as<std::vector<Timing>>(*others)) timings.push_back(std::move(other));
}

void describe(auto& visit, is_a<Measurement> auto& it) {
  fields(visit, "name", it.name, "operation", it.operation, "arguments", it.arguments, "device", it.device,
         "repetition", it.repetition);
  visit.filled("label", it.label);
  visit.field("work", it.work);
  if constexpr (std::is_same_v<decltype(visit), Reader&>) {
    it.name = without_suffix(it.name);  // runs of 0.1 have one
    if (visit.node().version() == 1)
      read_timings_of_schema_1(visit.node(), it.timings);
    else
      visit.field("timings", it.timings);
  } else {
    visit.field("timings", it.timings);
  }
  visit.field("launch_seconds", it.launch_seconds, Domain::any);
  visit.filled("variants", it.variants);
  fields(visit, "cache_state", it.cache_state, "verified", it.verified, "unoptimized_code", it.unoptimized_code,
         "clock_hz", it.clock_hz);
  visit.filled("clock_hz_source", it.clock_hz_source);
  fields(visit, "conditions", it.conditions, "launches", it.launches, "grid", it.grid);
  filled(visit, "counters", it.counters, "absent_counters", it.absent_counters, "user_counters", it.user_counters,
         "work_differences", it.work_differences);
  visit.field("activity", it.activity);
  filled(visit, "kernel_groups", it.kernels, "kernel_order", it.kernel_order, "kernel_order_reason",
         it.kernel_order_reason, "kernel_counters_reason", it.kernel_counters_reason);
  visit.require(it.kernels.size() <= max_kernel_groups + 1, "kernel_groups", "has {} groups, more than {}",
                it.kernels.size(), max_kernel_groups + 1);
  visit.require(
      std::ranges::all_of(it.kernel_order, [&](std::int64_t place) { return std::cmp_less(place, it.kernels.size()); }),
      "kernel_order", "names a group that is not there");
  fields(visit, "failure", it.failure, "skipped", it.skipped);
}

// Verdicts.

void describe(auto& visit, is_a<Share> auto& it) {
  visit.field("resource", it.resource);
  visit.field("fraction", it.fraction, Domain::any);
}

void describe(auto& visit, is_a<Advice> auto& it) {
  fields(visit, "action", it.action, "evidence", it.evidence, "gain", it.gain, "code", it.code);
}

void describe(auto& visit, is_a<Vote> auto& it) {
  fields(visit, "check", it.experiment, "outcome", it.outcome, "says", it.says, "evidence", it.evidence);
}

void describe(auto& visit, is_a<Verdict> auto& it) {
  fields(visit, "regime", it.regime, "limiter", it.limiter, "shares", it.shares, "achieved", it.achieved,
         "speed_up_left", it.speed_up_left);
  visit.field("confidence", it.confidence, Domain::probability);
  fields(visit, "certainty", it.certainty, "runner_up", it.runner_up);
  visit.later("runner_up_probability", it.runner_up_probability, Domain::probability);
  fields(visit, "model_seconds", it.model_seconds, "evidence", it.evidence);
  filled(visit, "advice", it.advice, "votes", it.votes);
}

void describe(auto& visit, is_a<Boundary> auto& it) {
  fields(visit, "operation", it.operation, "device", it.device, "argument", it.argument, "from", it.from, "to", it.to);
  visit.field("at", it.at, Domain::any);
  visit.field("ci95", it.ci95);
  visit.filled("placement", it.placement);
}

// Runs.

void describe(auto& visit, is_a<Context> auto& it) {
  fields(visit, "gpubench_version", it.gpubench_version, "created_utc", it.created_utc, "host", it.host, "program",
         it.program, "arguments", it.arguments, "environment", it.environment);
}

void describe(auto& visit, is_a<Point> auto& it) {
  fields(visit, "measurement", it.measurement, "verdict", it.verdict);
  visit.filled("kernel_verdicts", it.kernel_verdicts);
  visit.require(it.kernel_verdicts.empty() || it.kernel_verdicts.size() == it.measurement.kernels.size(),
                "kernel_verdicts", "does not have one entry for each of the kernel_groups");
}

void describe(auto& visit, is_a<Unfinished> auto& it) { fields(visit, "finished", it.finished, "planned", it.planned); }

void describe(auto& visit, is_a<Run> auto& it) {
  fields(visit, "context", it.context, "unfinished", it.unfinished, "devices", it.devices, "calibrations",
         it.calibrations, "points", it.points, "boundaries", it.boundaries, "warnings", it.warnings);
}

void describe(auto& visit, is_a<BaselineEntry> auto& it) {
  fields(visit, "label", it.label, "added_utc", it.added_utc, "fingerprint", it.fingerprint, "clock", it.clock, "runs",
         it.runs);
}

Run read_run(const Node& node) { return read_as<Run>(node); }
Point read_point(const Node& node) { return read_as<Point>(node); }

std::string to_json(const BaselineEntry& entry) {
  return document_text(json_of(entry), baseline_schema, BaselineEntry::schema_version);
}

BaselineEntry baseline_from_json(std::string_view text, std::string_view origin) {
  constexpr std::size_t max_runs = 10'000;
  const Document document = parse_document(text, origin, baseline_schema, BaselineEntry::schema_version);
  auto entry = read_as<BaselineEntry>(document.root(origin));
  if (entry.runs.empty() || entry.runs.size() > max_runs)
    document.root(origin).at("runs").fail(fmt::format("holds {} runs, not 1 to {}", entry.runs.size(), max_runs));
  return entry;
}

std::string to_json(const Run& run) { return document_text(json_of(run), run_schema, Run::schema_version); }

Run run_from_json(std::string_view text, std::string_view origin) {
  const Document document = parse_document(text, origin, run_schema, Run::schema_version);
  return read_run(document.root(origin));
}

std::string to_json(const Calibration& calibration) {
  return document_text(json_of(calibration), calibration_schema, Calibration::schema_version);
}

Calibration calibration_from_json(std::string_view text, std::string_view origin) {
  const Document document = parse_document(text, origin, calibration_schema, Calibration::schema_version);
  return read_as<Calibration>(document.root(origin));
}

std::vector<Calibration> calibrations_from_json(std::string_view text, std::string_view origin) {
  nlohmann::json json = parse_json(text, origin, calibration_schema);
  if (json.is_object() && schema_of(json) == run_schema)
    return read_run(document_of(std::move(json), origin, run_schema, Run::schema_version).root(origin)).calibrations;
  return {read_as<Calibration>(
      document_of(std::move(json), origin, calibration_schema, Calibration::schema_version).root(origin))};
}

}  // namespace gpubench::storage
