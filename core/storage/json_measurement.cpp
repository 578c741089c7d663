// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/points.h"
#include "core/storage/json_parts.h"

namespace gpubench::storage {
namespace {

Json json_of(const Summary& summary) {
  Json result;
  result["count"] = summary.count;
  result["minimum"] = summary.minimum;
  result["lower_quartile"] = summary.lower_quartile;
  result["median"] = summary.median;
  result["upper_quartile"] = summary.upper_quartile;
  result["maximum"] = summary.maximum;
  result["mean"] = summary.mean;
  result["mad"] = summary.mad;
  result["median_ci95"] = storage::json_of(summary.median_ci95);
  return result;
}

/// Samples of a clock that takes a cost off may fall below zero; no other time does.
Domain domain_of(std::string_view clock) { return clock == "device" ? Domain::any : Domain::not_negative; }

Summary read_summary(const Node& node, Domain domain) {
  const auto seconds = [&](std::string_view key) { return node.at(key).number(domain); };
  Summary summary;
  summary.count = node.at("count").integer(0, max_integer);
  summary.minimum = seconds("minimum");
  summary.lower_quartile = seconds("lower_quartile");
  summary.median = node.at("median").number(Domain::not_negative);
  summary.upper_quartile = seconds("upper_quartile");
  summary.maximum = seconds("maximum");
  summary.mean = seconds("mean");
  summary.mad = node.at("mad").number(Domain::not_negative);
  summary.median_ci95 = read_interval(node.at("median_ci95"));
  return summary;
}

Json json_of(const Argument& argument) {
  Json result;
  if (!argument.name.empty()) result["name"] = argument.name;
  result["value"] = argument.value;
  return result;
}

Argument read_argument(const Node& node) {
  const auto name = node.find("name");
  return {name ? name->text() : "", node.at("value").integer(std::numeric_limits<std::int64_t>::min(), max_integer)};
}

Json json_of(const Work& work) {
  Json result;
  result["bytes_read"] = work.bytes_read;
  result["bytes_written"] = work.bytes_written;
  set_optional(result, "footprint_bytes", work.footprint_bytes);
  Json flops = Json::object();
  for (const auto& [pipe, count] : work.flops) flops[std::string(name_of(pipe))] = count;
  result["flops"] = std::move(flops);
  return result;
}

Work read_work(const Node& node) {
  Work work;
  work.bytes_read = node.at("bytes_read").number(Domain::not_negative);
  work.bytes_written = node.at("bytes_written").number(Domain::not_negative);
  work.footprint_bytes = optional_number(node, "footprint_bytes", Domain::not_negative);
  node.at("flops").each([&](const std::string& name, const Node& count) {
    const auto* const place = std::find(pipe_names.begin(), pipe_names.end(), name);
    if (place == pipe_names.end()) count.fail("is no pipe that gpubench knows");
    work.flops[static_cast<Pipe>(place - pipe_names.begin())] = count.number(Domain::not_negative);
  });
  return work;
}

Json json_of(const Failure& failure) {
  Json result;
  result["kind"] = failure_kind_names[static_cast<std::size_t>(failure.kind)];
  result["message"] = failure.message;
  return result;
}

Failure read_failure(const Node& node) {
  return {node.at("kind").name<FailureKind>(failure_kind_names), node.at("message").text()};
}

Json json_of(const Estimate& estimate) {
  Json result;
  result["value"] = estimate.value;
  result["ci95"] = storage::json_of(estimate.ci95);
  return result;
}

std::optional<Estimate> read_estimate(const Node& parent, std::string_view key) {
  const auto node = parent.find(key);
  if (!node) return std::nullopt;
  return Estimate{node->at("value").number(Domain::any), read_interval(node->at("ci95"))};
}

/// Older runs do not have these, so they are written only when something is in them.
void set_count(Json& result, const char* key, std::int64_t count) {
  if (count != 0) result[key] = count;
}

std::int64_t optional_count(const Node& parent, std::string_view key) {
  const auto node = parent.find(key);
  return node ? node->integer(0, max_integer) : 0;
}

Json json_of(const DeviceConditions& conditions) {
  Json result;
  result["readings"] = conditions.readings;
  const auto set_range = [&](const char* key, const std::optional<Interval>& range) {
    if (range) result[key] = storage::json_of(*range);
  };
  set_range("sm_clock_hz", conditions.sm_clock_hz);
  set_range("memory_clock_hz", conditions.memory_clock_hz);
  set_range("power_watts", conditions.power_watts);
  set_range("temperature_celsius", conditions.temperature_celsius);
  if (!conditions.throttle_reasons.empty()) result["throttle_reasons"] = conditions.throttle_reasons;
  if (!conditions.absent_reason.empty()) result["absent_reason"] = conditions.absent_reason;
  return result;
}

DeviceConditions read_conditions(const Node& node) {
  DeviceConditions conditions;
  conditions.readings = node.at("readings").integer(0, max_integer);
  const auto range = [&](std::string_view key) {
    const auto place = node.find(key);
    return place ? std::optional(read_interval(*place)) : std::nullopt;
  };
  conditions.sm_clock_hz = range("sm_clock_hz");
  conditions.memory_clock_hz = range("memory_clock_hz");
  conditions.power_watts = range("power_watts");
  conditions.temperature_celsius = range("temperature_celsius");
  if (const auto reasons = node.find("throttle_reasons")) conditions.throttle_reasons = reasons->texts();
  if (const auto reason = node.find("absent_reason")) conditions.absent_reason = reason->text();
  return conditions;
}

std::vector<std::int64_t> read_block_sizes(const Node& node, std::size_t samples) {
  std::int64_t left = static_cast<std::int64_t>(samples);
  auto sizes = node.list([&](const Node& size) {
    const std::int64_t count = size.integer(1, std::max<std::int64_t>(left, 1));
    left -= count;
    return count;
  });
  if (left != 0) node.fail("does not add up to the number of samples");
  return sizes;
}

Json json_of(const Timing& timing) {
  Json result;
  result["clock"] = timing.clock;
  if (timing.seconds) result["seconds"] = json_of(*timing.seconds);
  if (!timing.reason.empty()) result["reason"] = timing.reason;
  result["executions_per_sample"] = timing.executions_per_sample;
  result["method"] = timing.method;
  result["stop_reason"] = stop_reason_names[static_cast<std::size_t>(timing.stop_reason)];
  set_count(result, "blocks", timing.blocks);
  set_count(result, "dropped_samples", timing.dropped_samples);
  if (timing.kernel_overhead_seconds) result["fixed_seconds"] = json_of(*timing.kernel_overhead_seconds);
  return result;
}

Timing read_timing(const Node& node) {
  Timing timing;
  timing.clock = node.at("clock").text();
  if (const auto seconds = node.find("seconds")) timing.seconds = read_summary(*seconds, domain_of(timing.clock));
  if (const auto reason = node.find("reason")) timing.reason = reason->text();
  timing.executions_per_sample = node.at("executions_per_sample").integer(0, max_integer);
  timing.method = node.at("method").text();
  timing.stop_reason = node.at("stop_reason").name<StopReason>(stop_reason_names);
  timing.blocks = optional_count(node, "blocks");
  timing.dropped_samples = optional_count(node, "dropped_samples");
  timing.kernel_overhead_seconds = read_estimate(node, "fixed_seconds");
  return timing;
}

Json json_of(const Variant& variant) {
  Json result;
  result["perturbation"] = ablation_names[static_cast<std::size_t>(variant.perturbation)];
  result["part_left"] = variant.remaining_fraction;
  if (variant.seconds) result["seconds"] = json_of(*variant.seconds);
  if (!variant.reason.empty()) result["reason"] = variant.reason;
  return result;
}

Variant read_variant(const Node& node) {
  Variant variant;
  variant.perturbation = node.at("perturbation").name<Ablation>(ablation_names);
  variant.remaining_fraction = node.at("part_left").number(Domain::not_negative);
  if (!(variant.remaining_fraction < 1.0)) node.at("part_left").fail("leaves all of the work, or more");
  if (const auto seconds = node.find("seconds")) variant.seconds = read_summary(*seconds, Domain::not_negative);
  if (const auto reason = node.find("reason")) variant.reason = reason->text();
  return variant;
}

Json json_of(const Counter& counter) {
  Json result;
  result["name"] = counter.name;
  result["value"] = counter.value;
  result["unit"] = counter.unit;
  result["source"] = counter.source;
  return result;
}

Counter read_counter(const Node& node) {
  return {node.at("name").text(), node.at("value").number(Domain::any), node.at("unit").text(),
          node.at("source").text()};
}

Json json_of(const AbsentCounter& counter) {
  Json result;
  result["name"] = counter.name;
  result["reason"] = counter.reason;
  return result;
}

AbsentCounter read_absent_counter(const Node& node) { return {node.at("name").text(), node.at("reason").text()}; }

Json json_of(const KernelLaunch& kernel) {
  Json result;
  result["name"] = kernel.name;
  result["grid"] = kernel.grid;
  result["block"] = kernel.block;
  result["registers"] = kernel.registers;
  result["static_shared_bytes"] = kernel.static_shared_bytes;
  result["dynamic_shared_bytes"] = kernel.dynamic_shared_bytes;
  result["launches"] = kernel.launches;
  set_optional(result, "local_bytes", kernel.local_bytes);
  if (!kernel.code.empty()) result["code"] = kernel.code;
  if (!kernel.code_absent_reason.empty()) result["code_absent_reason"] = kernel.code_absent_reason;
  return result;
}

std::array<std::int64_t, 3> read_extent(const Node& node) {
  const auto sizes = node.list([](const Node& size) { return size.integer(0, max_integer); });
  if (sizes.size() != 3) node.fail("must have three sizes, along x, y and z");
  return {sizes[0], sizes[1], sizes[2]};
}

KernelLaunch read_kernel_launch(const Node& node) {
  const auto count = [&](std::string_view key) { return node.at(key).integer(0, max_integer); };
  KernelLaunch kernel;
  kernel.name = node.at("name").text();
  kernel.grid = read_extent(node.at("grid"));
  kernel.block = read_extent(node.at("block"));
  kernel.registers = count("registers");
  kernel.static_shared_bytes = count("static_shared_bytes");
  kernel.dynamic_shared_bytes = count("dynamic_shared_bytes");
  kernel.launches = count("launches");
  if (const auto local = node.find("local_bytes")) kernel.local_bytes = local->integer(0, max_integer);
  if (const auto code = node.find("code")) kernel.code = code->text();
  if (const auto reason = node.find("code_absent_reason")) kernel.code_absent_reason = reason->text();
  return kernel;
}

/// Older runs do not have these lists, so they are written only when something is in them.
template <class T>
void set_list(Json& result, const char* key, const std::vector<T>& values) {
  if (values.empty()) return;
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  result[key] = std::move(list);
}

template <class T, class Read>
std::vector<T> optional_list(const Node& node, std::string_view key, Read&& read) {
  const auto list = node.find(key);
  return list ? list->list(read) : std::vector<T>();
}

Json json_of(const ActivityCheck& check) {
  Json result;
  result["agreement"] = agreement_names[static_cast<std::size_t>(check.agreement)];
  if (!check.reason.empty()) result["reason"] = check.reason;
  if (!check.source.empty()) result["source"] = check.source;
  result["executions"] = check.executions;
  if (check.seconds) result["seconds"] = json_of(*check.seconds);
  if (check.span_seconds) result["span_seconds"] = json_of(*check.span_seconds);
  set_list(result, "kernels", check.kernels);
  result["copies"] = check.copies;
  if (check.expected_seconds) result["expected_seconds"] = json_of(*check.expected_seconds);
  set_optional(result, "tolerance_seconds", check.tolerance_seconds);
  return result;
}

ActivityCheck read_activity_check(const Node& node) {
  const auto text = [&](std::string_view key) {
    const auto found = node.find(key);
    return found ? found->text() : std::string();
  };
  ActivityCheck check;
  check.agreement = node.at("agreement").name<Agreement>(agreement_names);
  check.reason = text("reason");
  check.source = text("source");
  check.executions = node.at("executions").integer(0, max_integer);
  check.seconds = read_estimate(node, "seconds");
  check.span_seconds = read_estimate(node, "span_seconds");
  check.kernels = optional_list<KernelLaunch>(node, "kernels", read_kernel_launch);
  check.copies = node.at("copies").integer(0, max_integer);
  check.expected_seconds = read_estimate(node, "expected_seconds");
  check.tolerance_seconds = optional_number(node, "tolerance_seconds", Domain::not_negative);
  return check;
}

Json arguments_json(const std::vector<Argument>& arguments) {
  Json result = Json::array();
  for (const auto& argument : arguments) result.push_back(json_of(argument));
  return result;
}

}  // namespace

Json json_of(const Measurement& measurement) {
  Json result;
  result["name"] = measurement.name;
  result["operation"] = measurement.operation;
  result["arguments"] = arguments_json(measurement.arguments);
  result["device"] = measurement.device;
  result["repetition"] = measurement.repetition;
  result["work"] = json_of(measurement.work);
  if (measurement.seconds) result["seconds"] = json_of(*measurement.seconds);
  result["samples_seconds"] = measurement.samples_seconds;
  if (!measurement.block_sizes.empty()) result["block_sizes"] = measurement.block_sizes;
  if (!measurement.samples_clock_hz.empty()) result["samples_clock_hz"] = measurement.samples_clock_hz;
  set_count(result, "dropped_samples", measurement.dropped_samples);
  result["executions_per_sample"] = measurement.executions_per_sample;
  result["clock"] = measurement.clock;
  result["method"] = measurement.method;
  if (measurement.kernel_overhead_seconds) result["fixed_seconds"] = json_of(*measurement.kernel_overhead_seconds);
  if (measurement.launch_seconds) result["launch_seconds"] = json_of(*measurement.launch_seconds);
  set_list(result, "other_clocks", measurement.other_clocks);
  set_list(result, "variants", measurement.variants);
  result["cache_state"] = measurement.cache_state;
  result["stop_reason"] = stop_reason_names[static_cast<std::size_t>(measurement.stop_reason)];
  result["verified"] = measurement.verified;
  set_optional(result, "clock_hz", measurement.clock_hz);
  if (!measurement.clock_hz_source.empty()) result["clock_hz_source"] = measurement.clock_hz_source;
  if (measurement.conditions) result["conditions"] = json_of(*measurement.conditions);
  if (measurement.launches) {
    result["launches"]["kernels"] = measurement.launches->kernels;
    result["launches"]["blocks"] = measurement.launches->blocks;
    result["launches"]["later_blocks"] = measurement.launches->later_blocks;
  }
  if (measurement.grid) {
    result["grid"]["blocks"] = measurement.grid->blocks;
    result["grid"]["blocks_per_multiprocessor"] = measurement.grid->blocks_per_multiprocessor;
  }
  set_list(result, "counters", measurement.counters);
  set_list(result, "absent_counters", measurement.absent_counters);
  if (!measurement.work_differences.empty()) result["work_differences"] = measurement.work_differences;
  if (measurement.activity) result["activity"] = json_of(*measurement.activity);
  if (measurement.failure) result["failure"] = json_of(*measurement.failure);
  set_optional(result, "skipped", measurement.skipped);
  return result;
}

Measurement read_measurement(const Node& node) {
  Measurement measurement;
  measurement.name = without_suffix(node.at("name").text());  // which runs of 0.1 have
  measurement.operation = node.at("operation").text();
  measurement.arguments = node.at("arguments").list(read_argument);
  measurement.device = node.at("device").text();
  measurement.repetition = static_cast<int>(node.at("repetition").integer(0, std::numeric_limits<int>::max()));
  measurement.work = read_work(node.at("work"));
  measurement.clock = node.at("clock").text();
  const Domain domain = domain_of(measurement.clock);
  if (const auto seconds = node.find("seconds")) measurement.seconds = read_summary(*seconds, domain);
  measurement.samples_seconds = node.at("samples_seconds").numbers(domain);
  if (const auto sizes = node.find("block_sizes"))
    measurement.block_sizes = read_block_sizes(*sizes, measurement.samples_seconds.size());
  if (const auto clocks = node.find("samples_clock_hz")) {
    measurement.samples_clock_hz = clocks->numbers(Domain::not_negative);
    if (measurement.samples_clock_hz.size() != measurement.samples_seconds.size())
      clocks->fail("does not have one clock for each sample");
  }
  measurement.dropped_samples = optional_count(node, "dropped_samples");
  measurement.executions_per_sample = node.at("executions_per_sample").integer(0, max_integer);
  measurement.method = node.at("method").text();
  measurement.kernel_overhead_seconds = read_estimate(node, "fixed_seconds");
  measurement.launch_seconds = read_estimate(node, "launch_seconds");
  if (const auto others = node.find("other_clocks")) measurement.other_clocks = others->list(read_timing);
  measurement.variants = optional_list<Variant>(node, "variants", read_variant);
  measurement.cache_state = node.at("cache_state").text();
  measurement.stop_reason = node.at("stop_reason").name<StopReason>(stop_reason_names);
  measurement.verified = node.at("verified").flag();
  measurement.clock_hz = optional_number(node, "clock_hz", Domain::not_negative);
  if (const auto source = node.find("clock_hz_source")) measurement.clock_hz_source = source->text();
  if (const auto conditions = node.find("conditions")) measurement.conditions = read_conditions(*conditions);
  if (const auto launches = node.find("launches"))
    measurement.launches =
        Launches{launches->at("kernels").integer(0, max_integer), launches->at("blocks").integer(0, max_integer),
                 launches->at("later_blocks").integer(0, max_integer)};
  if (const auto grid = node.find("grid"))
    measurement.grid =
        Grid{grid->at("blocks").integer(0, max_integer), grid->at("blocks_per_multiprocessor").integer(0, max_integer)};
  measurement.counters = optional_list<Counter>(node, "counters", read_counter);
  measurement.absent_counters = optional_list<AbsentCounter>(node, "absent_counters", read_absent_counter);
  if (const auto differences = node.find("work_differences")) measurement.work_differences = differences->texts();
  if (const auto activity = node.find("activity")) measurement.activity = read_activity_check(*activity);
  if (const auto failure = node.find("failure")) measurement.failure = read_failure(*failure);
  if (const auto skipped = node.find("skipped")) measurement.skipped = skipped->text();
  return measurement;
}

}  // namespace gpubench::storage
