// SPDX-License-Identifier: Apache-2.0
// The fields of every structure that files hold, in the order in which they are written. docs/reference/json-schema.md
// says what they mean.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/model/points.h"
#include "core/model/run.h"
#include "core/storage/visitors.h"

namespace gpubench::storage {

/// T is the structure, const where it is written.
template <class T, class As>
concept is_a = std::is_same_v<std::remove_const_t<T>, As>;

template <class V, is_a<Device> T>
void describe(V& visit, T& device) {
  visit.field("id", device.id);
  visit.field("kind", device.kind);
  visit.field("name", device.name);
  visit.field("architecture", device.architecture);
  visit.field("units", device.units);
  visit.field("memory_bytes", device.memory_bytes);
  visit.field("last_level_cache_bytes", device.last_level_cache_bytes);
  visit.field("max_clock_hz", device.max_clock_hz);
  visit.field("memory_bandwidth_limit_bytes_per_second", device.memory_bandwidth_limit);
  visit.field("properties", device.properties);
}

template <class V, is_a<Estimate> T>
void describe(V& visit, T& estimate) {
  visit.field("value", estimate.value, visit.domain());
  visit.field("ci95", estimate.ci95);
}

// Calibrations.

template <class V, is_a<Confirmation> T>
void describe(V& visit, T& confirmation) {
  visit.filled("counter", confirmation.counter);
  visit.field("ratio", confirmation.ratio);
  visit.filled("reason", confirmation.reason);
}

template <class V, is_a<Ceiling> T>
void describe(V& visit, T& ceiling) {
  visit.field("resource", ceiling.resource);
  visit.field("value", ceiling.value);
  visit.field("unit", ceiling.unit);
  visit.field("ci95", ceiling.ci95);
  visit.field("repeats", ceiling.repeats);
  visit.field("method", ceiling.method);
  visit.field("clock_hz", ceiling.clock_hz);
  visit.field("theoretical_limit", ceiling.theoretical_limit);
  visit.field("group", ceiling.group);
  visit.filled("shape", ceiling.shape);
  visit.filled("conditions", ceiling.conditions);
  visit.field("load", ceiling.load);
  visit.field("work_per_run", ceiling.work_per_run);
  visit.filled("work_unit", ceiling.work_unit);
  visit.field("rate_per_clock", ceiling.rate_per_clock);
  visit.field("cycles", ceiling.cycles);
  visit.field("power_watts", ceiling.power_watts);
  visit.field("temperature_celsius", ceiling.temperature_celsius, Domain::any);
  visit.field("confirmation", ceiling.confirmation);
  visit.filled("caveats", ceiling.caveats);
}

template <class V, is_a<AbsentCeiling> T>
void describe(V& visit, T& absent) {
  visit.field("resource", absent.resource);
  visit.field("reason", absent.reason);
}

template <class V, is_a<CacheLevel> T>
void describe(V& visit, T& level) {
  visit.field("resource", level.resource);
  visit.field("capacity_bytes", level.capacity_bytes);
  visit.field("capacity_ci95", level.capacity_ci95);
}

template <class V, is_a<LadderPoint> T>
void describe(V& visit, T& rung) {
  visit.field("working_set_bytes", rung.working_set_bytes);
  visit.field("bytes_per_second", rung.bytes_per_second);
}

template <class V, is_a<LatencyPoint> T>
void describe(V& visit, T& point) {
  visit.field("working_set_bytes", point.working_set_bytes);
  visit.field("seconds", point.seconds);
  visit.field("cycles", point.cycles);
}

template <class V, is_a<IntensityPoint> T>
void describe(V& visit, T& point) {
  visit.field("flops_per_byte", point.flops_per_byte);
  visit.field("flops_per_second", point.flops_per_second);
  visit.field("bytes_per_second", point.bytes_per_second);
  visit.field("clock_hz", point.clock_hz);
}

template <class V, is_a<DriftReading> T>
void describe(V& visit, T& reading) {
  visit.field("resource", reading.resource);
  visit.field("unit", reading.unit);
  visit.field("stored", reading.stored);
  visit.field("now", reading.now);
  visit.field("change", reading.change, Domain::any);
  visit.field("beyond", reading.beyond, Domain::any);
  visit.field("samples", reading.samples);
  visit.field("sets", reading.sets);
  visit.field("outcome", reading.outcome);
  visit.field("method", reading.method);
  visit.filled("disturbance", reading.disturbance);
}

template <class V, is_a<DriftCheck> T>
void describe(V& visit, T& check) {
  visit.field("calibration_utc", check.calibration_utc);
  visit.field("checked_utc", check.checked_utc);
  visit.field("seconds_taken", check.seconds_taken);
  visit.field("outcome", check.outcome);
  visit.field("readings", check.readings);
  visit.filled("not_checked", check.not_checked);
}

template <class V, is_a<BandCheck> T>
void describe(V& visit, T& check) {
  visit.field("resource", check.resource);
  visit.field("unit", check.unit);
  visit.field("value", check.value);
  visit.field("reference", check.reference);
  visit.field("margin", check.margin);
  visit.field("standing", check.standing);
  visit.field("difference", check.difference, Domain::any);
  visit.field("worse", check.worse);
  visit.field("source", check.source);
}

template <class V, is_a<Health> T>
void describe(V& visit, T& health) {
  visit.field("kind", health.kind);
  visit.field("checks", health.checks);
  visit.filled("reason", health.reason);
}

template <class V, is_a<Calibration> T>
void describe(V& visit, T& calibration) {
  visit.field("device", calibration.device);
  visit.field("mode", calibration.mode);
  visit.field("created_utc", calibration.created_utc);
  visit.field("gpubench_version", calibration.gpubench_version);
  visit.field("seconds_taken", calibration.seconds_taken);
  visit.field("ceilings", calibration.ceilings);
  visit.field("absent", calibration.absent);
  visit.field("levels", calibration.levels);
  visit.field("ladder", calibration.ladder);
  visit.filled("unit_levels", calibration.unit_levels);
  visit.filled("unit_ladder", calibration.unit_ladder);
  visit.filled("latency_curve", calibration.latency_curve);
  visit.filled("intensity_sweep", calibration.intensity_sweep);
  visit.filled("warnings", calibration.warnings);
  visit.field("drift", calibration.drift);
  visit.field("health", calibration.health);
}

// Measurements.

template <class V, is_a<Summary> T>
void describe(V& visit, T& summary) {
  visit.field("count", summary.count);
  visit.field("minimum", summary.minimum, visit.domain());
  visit.field("lower_quartile", summary.lower_quartile, visit.domain());
  visit.field("median", summary.median);
  visit.field("upper_quartile", summary.upper_quartile, visit.domain());
  visit.field("maximum", summary.maximum, visit.domain());
  visit.field("mean", summary.mean, visit.domain());
  visit.field("mad", summary.mad);
  visit.field("median_ci95", summary.median_ci95);
}

template <class V, is_a<Argument> T>
void describe(V& visit, T& argument) {
  visit.filled("name", argument.name);
  visit.field("text", argument.text);
  if (!argument.text) visit.field("value", argument.value, Domain::any);
}

template <class V, is_a<Work> T>
void describe(V& visit, T& work) {
  visit.field("bytes_read", work.bytes_read);
  visit.field("bytes_written", work.bytes_written);
  visit.field("footprint_bytes", work.footprint_bytes);
  visit.field("flops", work.flops);
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

template <class V, is_a<Timing> T>
void describe(V& visit, T& timing) {
  visit.field("clock", timing.clock);
  // Samples of a clock that takes a cost off may fall below zero; no other time does.
  const Domain domain = timing.clock == Clock::device ? Domain::any : Domain::not_negative;
  visit.field("seconds", timing.seconds, domain);
  visit.filled("reason", timing.reason);
  visit.filled("samples_seconds", timing.samples_seconds, domain);
  visit.filled("samples_clock_hz", timing.samples_clock_hz);
  visit.filled("block_sizes", timing.block_sizes);
  const std::size_t samples = timing.samples_seconds.size();
  if (samples > 0 && !timing.block_sizes.empty())
    visit.require(add_up(timing.block_sizes, samples), "block_sizes", "does not add up to the number of samples");
  if (!timing.samples_clock_hz.empty())
    visit.require(timing.samples_clock_hz.size() == samples, "samples_clock_hz",
                  "does not have one clock for each sample");
  visit.filled("dropped_samples", timing.dropped_samples);
  visit.field("executions_per_sample", timing.executions_per_sample);
  visit.field("method", timing.method);
  visit.field("stop_reason", timing.stop_reason);
  visit.field(visit.key("kernel_overhead_seconds", "fixed_seconds"), timing.kernel_overhead_seconds, Domain::any);
}

template <class V, is_a<Variant> T>
void describe(V& visit, T& variant) {
  const char* const remaining = visit.key("remaining_fraction", "part_left");
  visit.field(visit.key("ablation", "perturbation"), variant.ablation);
  visit.field(remaining, variant.remaining_fraction);
  visit.require(variant.remaining_fraction < 1.0, remaining, "leaves all of the work, or more");
  visit.field("seconds", variant.seconds);
  visit.filled("reason", variant.reason);
}

template <class V, is_a<DeviceConditions> T>
void describe(V& visit, T& conditions) {
  visit.field("readings", conditions.readings);
  visit.field("sm_clock_hz", conditions.sm_clock_hz);
  visit.field("memory_clock_hz", conditions.memory_clock_hz);
  visit.field("power_watts", conditions.power_watts);
  visit.field("temperature_celsius", conditions.temperature_celsius);
  visit.filled("throttle_reasons", conditions.throttle_reasons);
  visit.filled("absent_reason", conditions.absent_reason);
}

template <class V, is_a<Launches> T>
void describe(V& visit, T& launches) {
  visit.field("kernels", launches.kernels);
  visit.field("blocks", launches.blocks);
  visit.field("later_blocks", launches.later_blocks);
}

template <class V, is_a<Grid> T>
void describe(V& visit, T& grid) {
  visit.field("blocks", grid.blocks);
  visit.field("blocks_per_multiprocessor", grid.blocks_per_multiprocessor);
}

template <class V, is_a<Counter> T>
void describe(V& visit, T& counter) {
  visit.field("name", counter.name);
  visit.field("value", counter.value, Domain::any);
  visit.field("unit", counter.unit);
  visit.filled("source", counter.source);
}

template <class V, is_a<AbsentCounter> T>
void describe(V& visit, T& counter) {
  visit.field("name", counter.name);
  visit.field("reason", counter.reason);
}

template <class V, is_a<UserCounter> T>
void describe(V& visit, T& counter) {
  visit.field("name", counter.name);
  visit.field("value", counter.value, Domain::any);
  visit.filled("unit", counter.unit);
}

template <class V, is_a<KernelLaunch> T>
void describe(V& visit, T& kernel) {
  visit.field("name", kernel.name);
  visit.field("grid", kernel.grid);
  visit.field("block", kernel.block);
  visit.field("registers", kernel.registers);
  visit.field("static_shared_bytes", kernel.static_shared_bytes);
  visit.field("dynamic_shared_bytes", kernel.dynamic_shared_bytes);
  visit.field("launches", kernel.launches);
  visit.field("local_bytes", kernel.local_bytes);
  visit.filled("code", kernel.code);
  visit.filled("code_absent_reason", kernel.code_absent_reason);
}

template <class V, is_a<ActivityCheck> T>
void describe(V& visit, T& check) {
  visit.field("agreement", check.agreement);
  visit.filled("reason", check.reason);
  visit.filled("source", check.source);
  visit.field("executions", check.executions);
  visit.field("seconds", check.seconds, Domain::any);
  visit.field("span_seconds", check.span_seconds, Domain::any);
  visit.filled("kernels", check.kernels);
  visit.field("copies", check.copies);
  visit.field("expected_seconds", check.expected_seconds, Domain::any);
  visit.field("tolerance_seconds", check.tolerance_seconds);
}

template <class V, is_a<Failure> T>
void describe(V& visit, T& failure) {
  visit.field("kind", failure.kind);
  visit.field("message", failure.message);
}

/// Schema 1 has the primary timing's fields beside the measurement's own, the other timings in a list, and an empty
/// name of the clock where a point was never timed.
inline void read_timings_of_schema_1(const Node& node, std::vector<Timing>& timings) {
  if (!node.at("clock").text().empty() || node.find("seconds")) read_value(node, timings.emplace_back());
  if (const auto others = node.find("other_clocks"))
    for (Timing& other : read_as<std::vector<Timing>>(*others)) timings.push_back(std::move(other));
}

template <class V, is_a<Measurement> T>
void describe(V& visit, T& measurement) {
  visit.field("name", measurement.name);
  visit.field("operation", measurement.operation);
  visit.field("arguments", measurement.arguments);
  visit.field("device", measurement.device);
  visit.field("repetition", measurement.repetition);
  visit.filled("label", measurement.label);
  visit.field("work", measurement.work);
  if constexpr (V::reading) {
    measurement.name = without_suffix(measurement.name);  // runs of 0.1 have one
    if (visit.node().version() == 1)
      read_timings_of_schema_1(visit.node(), measurement.timings);
    else
      visit.field("timings", measurement.timings);
  } else {
    visit.field("timings", measurement.timings);
  }
  visit.field("launch_seconds", measurement.launch_seconds, Domain::any);
  visit.filled("variants", measurement.variants);
  visit.field("cache_state", measurement.cache_state);
  visit.field("verified", measurement.verified);
  visit.field("unoptimized_code", measurement.unoptimized_code);
  visit.field("clock_hz", measurement.clock_hz);
  visit.filled("clock_hz_source", measurement.clock_hz_source);
  visit.field("conditions", measurement.conditions);
  visit.field("launches", measurement.launches);
  visit.field("grid", measurement.grid);
  visit.filled("counters", measurement.counters);
  visit.filled("absent_counters", measurement.absent_counters);
  visit.filled("user_counters", measurement.user_counters);
  visit.filled("work_differences", measurement.work_differences);
  visit.field("activity", measurement.activity);
  visit.field("failure", measurement.failure);
  visit.field("skipped", measurement.skipped);
}

// Verdicts.

template <class V, is_a<Share> T>
void describe(V& visit, T& share) {
  visit.field("resource", share.resource);
  visit.field("fraction", share.fraction, Domain::any);
}

template <class V, is_a<Advice> T>
void describe(V& visit, T& advice) {
  visit.field("action", advice.action);
  visit.field("evidence", advice.evidence);
  visit.field("gain", advice.gain);
  visit.field("code", advice.code);
}

template <class V, is_a<Vote> T>
void describe(V& visit, T& vote) {
  visit.field("check", vote.experiment);
  visit.field("outcome", vote.outcome);
  visit.field("says", vote.says);
  visit.field("evidence", vote.evidence);
}

template <class V, is_a<Verdict> T>
void describe(V& visit, T& verdict) {
  visit.field("regime", verdict.regime);
  visit.field("limiter", verdict.limiter);
  visit.field("shares", verdict.shares);
  visit.field("achieved", verdict.achieved);
  visit.field("speed_up_left", verdict.speed_up_left);
  visit.field("confidence", verdict.confidence, Domain::probability);
  visit.field("certainty", verdict.certainty);
  visit.field("runner_up", verdict.runner_up);
  visit.later("runner_up_probability", verdict.runner_up_probability, Domain::probability);
  visit.field("model_seconds", verdict.model_seconds);
  visit.field("evidence", verdict.evidence);
  visit.filled("advice", verdict.advice);
  visit.filled("votes", verdict.votes);
}

template <class V, is_a<Boundary> T>
void describe(V& visit, T& boundary) {
  visit.field("operation", boundary.operation);
  visit.field("device", boundary.device);
  visit.field("argument", boundary.argument);
  visit.field("from", boundary.from);
  visit.field("to", boundary.to);
  visit.field("at", boundary.at, Domain::any);
  visit.field("ci95", boundary.ci95);
  visit.filled("placement", boundary.placement);
}

// Runs.

template <class V, is_a<Context> T>
void describe(V& visit, T& context) {
  visit.field("gpubench_version", context.gpubench_version);
  visit.field("created_utc", context.created_utc);
  visit.field("host", context.host);
  visit.field("program", context.program);
  visit.field("arguments", context.arguments);
  visit.field("environment", context.environment);
}

template <class V, is_a<Point> T>
void describe(V& visit, T& point) {
  visit.field("measurement", point.measurement);
  visit.field("verdict", point.verdict);
}

template <class V, is_a<Run> T>
void describe(V& visit, T& run) {
  visit.field("context", run.context);
  visit.field("devices", run.devices);
  visit.field("calibrations", run.calibrations);
  visit.field("points", run.points);
  visit.field("boundaries", run.boundaries);
  visit.field("warnings", run.warnings);
}

}  // namespace gpubench::storage
