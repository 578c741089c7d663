// SPDX-License-Identifier: Apache-2.0
// Points and ceilings as CSV, units in the column names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"
#include "reports/export/tables.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

std::string device_name(const Run& run, const std::string& id) {
  for (const Device& device : run.devices)
    if (device.id == id) return csv_text(device.name);
  return "";
}

/// How samples go on in time.
std::string_view course_name(statistics::Course course) {
  constexpr std::array<std::string_view, 5> names = {"steady", "step", "drift", "two_levels", "cold_start"};
  return names[static_cast<std::size_t>(course)];
}

void add_time(CsvRecord& record, const Measurement& measurement) {
  const auto& seconds = measurement.seconds();
  const auto number = [&](double value) { return seconds ? csv_number(value) : ""; };
  const Summary summary = seconds.value_or(Summary{});
  const auto found = statistics::steadiness_of(measurement.primary().samples_seconds);
  record.insert(record.end(), {{"median_s", number(summary.median)},
                               {"median_ci95_low_s", number(summary.median_ci95.low)},
                               {"median_ci95_high_s", number(summary.median_ci95.high)},
                               {"minimum_s", number(summary.minimum)},
                               {"lower_quartile_s", number(summary.lower_quartile)},
                               {"upper_quartile_s", number(summary.upper_quartile)},
                               {"maximum_s", number(summary.maximum)},
                               {"mean_s", number(summary.mean)},
                               {"mad_s", number(summary.mad)},
                               {"samples", seconds ? fmt::to_string(summary.count) : ""},
                               {"course", seconds ? std::string(course_name(found.course)) : ""}});
  const bool differs = seconds && found.course != statistics::Course::steady;
  const bool two = found.course == statistics::Course::two_levels;
  record.insert(record.end(), {{"at_first_s", differs && !two ? csv_number(found.from) : ""},
                               {"sustained_s", differs && !two ? csv_number(found.to) : ""},
                               {"lower_level_s", two ? csv_number(found.from) : ""},
                               {"upper_level_s", two ? csv_number(found.to) : ""}});
}

void add_conditions(CsvRecord& record, const Measurement& measurement) {
  const auto& launches = measurement.launches;
  const auto& grid = measurement.grid;
  const DeviceConditions conditions = measurement.conditions.value_or(DeviceConditions{});
  const auto highest = [](const std::optional<Interval>& range) { return range ? csv_number(range->high) : ""; };
  record.insert(record.end(),
                {{"launched_kernels", launches ? fmt::to_string(launches->kernels) : ""},
                 {"launched_blocks", launches ? fmt::to_string(launches->blocks) : ""},
                 {"blocks_per_multiprocessor", grid ? fmt::to_string(grid->blocks_per_multiprocessor) : ""},
                 {"power_high_w", highest(conditions.power_watts)},
                 {"temperature_high_c", highest(conditions.temperature_celsius)},
                 {"throttle_reasons", csv_text(joined(conditions.throttle_reasons, ", "))},
                 {"core_share", csv_number(conditions.core_share)},
                 {"gpu_share", csv_number(conditions.gpu_share)}});
}

/// Columns that only some runs have, each named after what is in it. Values by name.
using Named = std::map<std::string, std::string>;
struct Lists {
  Named arguments, flops, counters, user_counters, shares, checks;
};

Lists lists_of(const Point& point) {
  const Measurement& measurement = point.measurement;
  Lists lists;
  for (std::size_t i = 0; i < measurement.arguments.size(); ++i) {
    const Argument& argument = measurement.arguments[i];
    lists.arguments[argument.name.empty() ? fmt::to_string(i + 1) : argument.name] = csv_text(value_text(argument));
  }
  for (const auto& [pipe, count] : measurement.work.flops) lists.flops[std::string(name_of(pipe))] = csv_number(count);
  for (const Counter& counter : measurement.counters) lists.counters[counter.name] = csv_number(counter.value);
  for (const Phase& phase : measurement.phases)
    lists.user_counters["in_" + phase.name + "_share"] = csv_number(phase.share);
  for (const UserCounter& counter : measurement.user_counters)
    lists.user_counters[counter.name + (counter.unit.empty() ? "" : "_" + counter.unit)] = csv_number(counter.value);
  if (!point.verdict) return lists;
  for (const Share& share : point.verdict->shares) lists.shares[share.resource] = csv_number(share.fraction);
  for (const CrossCheck& check : point.verdict->cross_checks)
    lists.checks[std::string(name_of(check.experiment))] = std::string(name_of(check.outcome));
  return lists;
}

/// The names that any point of the run has.
Lists columns_of(const Run& run) {
  Lists all;
  for (const Point& point : run.points) {
    const Lists own = lists_of(point);
    for (Named Lists::*const list :
         {&Lists::arguments, &Lists::flops, &Lists::counters, &Lists::user_counters, &Lists::shares, &Lists::checks})
      for (const auto& [name, value] : own.*list) (all.*list)[name];
  }
  return all;
}

/// One column for each of the names, empty where the point has none of it.
void add_named(CsvRecord& record, std::string_view prefix, const Named& columns, const Named& own) {
  for (const auto& [name, nothing] : columns) {
    const auto value = own.find(name);
    record.emplace_back(csv_text(fmt::format("{}_{}", prefix, name)), value == own.end() ? "" : value->second);
  }
}

void add_other_times(CsvRecord& record, const Measurement& measurement) {
  for (const auto& [mode, name] :
       {std::pair{TimingMode::device, "on_device"}, {TimingMode::call, "call"}, {TimingMode::graph, "graph"}}) {
    const Summary* const seconds = seconds_by(measurement, mode);
    const auto number = [&](double value) { return seconds != nullptr ? csv_number(value) : ""; };
    const Summary summary = seconds != nullptr ? *seconds : Summary{};
    record.insert(record.end(), {{fmt::format("{}_s", name), number(summary.median)},
                                 {fmt::format("{}_ci95_low_s", name), number(summary.median_ci95.low)},
                                 {fmt::format("{}_ci95_high_s", name), number(summary.median_ci95.high)}});
  }
}

void add_verdict(CsvRecord& record, const Run& run, const Point& point, const Lists& columns, const Lists& own) {
  const std::optional<Verdict>& known = point.verdict;
  const Verdict verdict = known.value_or(Verdict{});
  const auto name = [&](std::string_view text) { return known ? std::string(text) : ""; };
  const auto number = [&](const std::optional<double>& value) { return known ? csv_number(value) : ""; };
  const auto product = product_reach(run, point);
  const auto reach = [&](double ProductReach::*of) { return product ? csv_number((*product).*of) : ""; };
  const Advice advice = verdict.advice.empty() ? Advice{} : verdict.advice.front();
  const auto& gain = advice.gain_ci95;
  record.insert(record.end(), {{"regime", name(name_of(verdict.regime))},
                               {"limiter", csv_text(verdict.limiter)},
                               {"achieved_fraction", number(verdict.achieved)},
                               {"library_fraction", reach(&ProductReach::of_library)},
                               {"instruction_fraction", reach(&ProductReach::of_instruction)},
                               {"confidence", number(verdict.confidence)},
                               {"certainty", name(name_of(verdict.certainty))},
                               {"runner_up", name(name_of(verdict.runner_up))},
                               {"runner_up_probability", number(verdict.runner_up_probability)},
                               {"model_s", number(verdict.model_seconds)}});
  add_named(record, "share", columns.shares, own.shares);
  add_named(record, "check", columns.checks, own.checks);
  record.insert(record.end(), {{"evidence", csv_text(verdict.evidence)},
                               {"advice", csv_text(advice.action)},
                               {"advice_evidence", csv_text(advice.evidence)},
                               {"advice_gain", csv_number(advice.gain)},
                               {"advice_gain_ci95_low", gain ? csv_number(gain->low) : ""},
                               {"advice_gain_ci95_high", gain ? csv_number(gain->high) : ""}});
}

/// Of a kernel group, all its launches in the program; the other columns are of one launch.
void add_program(CsvRecord& record, const Program& program, const std::string& point) {
  const auto kernel = std::ranges::find(program.kernels, point, &ProgramKernel::point);
  const bool known = kernel != program.kernels.end();
  record.insert(record.end(), {{"program_launches", known ? fmt::to_string(kernel->launches) : ""},
                               {"program_counted_launches", known ? fmt::to_string(kernel->counted) : ""},
                               {"program_total_s", known ? csv_number(kernel->total_seconds) : ""},
                               {"program_share", known ? csv_number(kernel->share) : ""},
                               {"program_p50_s", known ? csv_number(kernel->p50_seconds) : ""},
                               {"program_p95_s", known ? csv_number(kernel->p95_seconds) : ""},
                               {"program_range", known ? csv_text(kernel->range) : ""}});
}

CsvRecord record_of(const Run& run, const Point& point, const Lists& columns) {
  const Measurement& measurement = point.measurement;
  const Timing& timing = measurement.primary();
  const Work& work = measurement.work;
  const Lists own = lists_of(point);
  CsvRecord record = {{"device", csv_text(measurement.device)},
                      {"device_name", device_name(run, measurement.device)},
                      {"name", csv_text(measurement.name)},
                      {"operation", csv_text(measurement.operation)}};
  add_named(record, "arg", columns.arguments, own.arguments);
  record.insert(record.end(), {{"repetition", fmt::to_string(measurement.repetition)},
                               {"status", std::string(name_of(status_of(measurement)))},
                               {"reason", csv_text(reason_of(measurement))}});
  add_time(record, measurement);
  add_other_times(record, measurement);
  const auto blocks = timing.block_sizes.size();
  const auto& launch = measurement.launch_seconds;
  record.insert(record.end(),
                {{"blocks", blocks > 0 ? fmt::to_string(blocks) : ""},
                 {"dropped_samples", fmt::to_string(timing.dropped_samples)},
                 {"executions_per_sample", fmt::to_string(timing.executions_per_sample)},
                 {"clock", std::string(primary_clock_name(measurement))},
                 {"method", csv_text(timing.method)},
                 {"cache_state", csv_text(measurement.cache_state)},
                 {"stop_reason", std::string(stop_reason_names[static_cast<std::size_t>(timing.stop_reason)])},
                 {"verified", measurement.verified ? "true" : "false"},
                 {"clock_hz", csv_number(measurement.clock_hz)},
                 {"launch_s", launch ? csv_number(launch->value) : ""}});
  add_conditions(record, measurement);
  record.insert(record.end(), {{"bytes_read", csv_number(work.bytes_read)},
                               {"bytes_written", csv_number(work.bytes_written)},
                               {"footprint_bytes", csv_number(work.footprint_bytes)},
                               {"flops", csv_number(work.total_flops())}});
  add_named(record, "flops", columns.flops, own.flops);
  record.insert(record.end(), {{"bytes_per_s", csv_number(bytes_per_second(measurement))},
                               {"flops_per_s", csv_number(flops_per_second(measurement))}});
  add_verdict(record, run, point, columns, own);
  add_named(record, "counter", columns.counters, own.counters);
  record.insert(record.end(),
                {{"label", csv_text(measurement.label)}, {"items_per_s", csv_number(items_per_second(measurement))}});
  add_named(record, "user", columns.user_counters, own.user_counters);
  if (run.program) add_program(record, *run.program, measurement.name);
  return record;
}

CsvRecord record_of(const Calibration& calibration, CeilingGroup group, const Ceiling& ceiling) {
  const Confirmation confirmation = ceiling.confirmation.value_or(Confirmation{});
  return {{"device", csv_text(calibration.device.id)},
          {"device_name", csv_text(calibration.device.name)},
          {"mode", csv_text(calibration.mode)},
          {"created_utc", csv_text(calibration.created_utc)},
          {"group", csv_text(name_of(group))},
          {"resource", csv_text(ceiling.resource)},
          {"value", csv_number(ceiling.value)},
          {"unit", csv_text(ceiling.unit)},
          {"ci95_low", csv_number(ceiling.ci95.low)},
          {"ci95_high", csv_number(ceiling.ci95.high)},
          {"repeats", fmt::to_string(ceiling.repeats)},
          {"theoretical_limit", csv_number(ceiling.theoretical_limit)},
          {"of_limit", csv_number(share_of_limit(ceiling))},
          {"clock_hz", csv_number(ceiling.clock_hz)},
          {"rate_per_clock", csv_number(ceiling.rate_per_clock)},
          {"cycles", csv_number(ceiling.cycles)},
          {"power_watts", csv_number(ceiling.power_watts)},
          {"temperature_celsius", csv_number(ceiling.temperature_celsius)},
          {"counter", csv_text(confirmation.counter)},
          {"counted_over_declared", csv_number(confirmation.ratio)},
          {"shape", csv_text(ceiling.shape)},
          {"conditions", csv_text(ceiling.conditions)},
          {"method", csv_text(ceiling.method)},
          {"caveats", csv_text(joined(ceiling.caveats, "; "))}};
}

CsvRecord record_of(const Point& point, std::size_t kernel, const Named& counters) {
  const Measurement& measurement = point.measurement;
  const KernelGroup group = kernel < measurement.kernels.size() ? measurement.kernels[kernel] : KernelGroup{};
  const bool judged = kernel < point.kernel_verdicts.size() && point.kernel_verdicts[kernel];
  const Verdict verdict = judged ? *point.kernel_verdicts[kernel] : Verdict{};
  const auto extent = [](const std::array<std::int64_t, 3>& sizes) {
    return joined(sizes, "x", [](std::int64_t size) { return fmt::to_string(size); });
  };
  const bool launched = group.kind == CommandKind::kernel;
  Named own;
  for (const Counter& counter : group.counters) own[counter.name] = csv_number(counter.value);
  CsvRecord record = {{"name", csv_text(label(measurement))},
                      {"device", csv_text(measurement.device)},
                      {"kind", std::string(command_kind_names[static_cast<std::size_t>(group.kind)])},
                      {"kernel", csv_text(short_kernel_name(group.launch.name))},
                      {"launches", fmt::to_string(group.launch.launches)},
                      {"grid", launched ? extent(group.launch.grid) : ""},
                      {"block", launched ? extent(group.launch.block) : ""},
                      {"bytes", group.bytes ? fmt::to_string(*group.bytes) : ""},
                      {"seconds_s", group.seconds ? csv_number(group.seconds->value) : ""},
                      {"ci95_low_s", group.seconds ? csv_number(group.seconds->ci95.low) : ""},
                      {"ci95_high_s", group.seconds ? csv_number(group.seconds->ci95.high) : ""},
                      {"share", csv_number(share_of_kernel(measurement, kernel))},
                      {"regime", judged ? std::string(name_of(verdict.regime)) : ""},
                      {"limiter", csv_text(verdict.limiter)},
                      {"confidence", judged ? csv_number(verdict.confidence) : ""},
                      {"full_name", csv_text(group.launch.name)}};
  add_named(record, "counter", counters, own);
  return record;
}

}  // namespace

std::string kernels_csv(const Run& run) {
  Named counters;
  for (const Point& point : run.points)
    for (const KernelGroup& kernel : point.measurement.kernels)
      for (const Counter& counter : kernel.counters) counters[counter.name];
  std::string text = csv_header(record_of(Point{}, 0, counters));
  for (const Point& point : run.points)
    for (std::size_t i = 0; i < point.measurement.kernels.size(); ++i) text += csv_line(record_of(point, i, counters));
  return text;
}

std::string csv(const Run& run) {
  const Lists columns = columns_of(run);
  std::string text = csv_header(record_of(run, {}, columns));
  for (const Point& point : run.points) text += csv_line(record_of(run, point, columns));
  return text;
}

std::string ceilings_csv(const Run& run) {
  std::string text = csv_header(record_of(Calibration{}, CeilingGroup{}, Ceiling{}));
  for (const Calibration& calibration : run.calibrations)
    for (const auto& [group, ceilings] : ceilings_by_group(calibration))
      for (const Ceiling* const ceiling : ceilings) text += csv_line(record_of(calibration, group, *ceiling));
  return text;
}

}  // namespace gpubench::reports
