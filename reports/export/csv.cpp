// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/points.h"
#include "reports/export/delimited.h"
#include "reports/judgement.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

/// One row's data.
struct Row {
  const Run& run;
  const Point& point;
  [[nodiscard]] const Measurement& measurement() const { return point.measurement; }
};

/// One column: its name and its field.
struct CsvColumn {
  std::string_view name;
  std::string (*field)(const Row&);
};

std::string device_name(const Row& row) {
  for (const Device& device : row.run.devices)
    if (device.id == row.measurement().device) return csv_text(device.name);
  return "";
}

std::string arguments(const Row& row) {
  std::string text;
  for (const Argument& argument : row.measurement().arguments) {
    if (!text.empty()) text += ";";
    text += (argument.name.empty() ? "" : argument.name + "=") + value_text(argument);
  }
  return csv_text(text);
}

std::string user_counters(const Row& row) {
  std::string text;
  for (const UserCounter& counter : row.measurement().user_counters)
    text += fmt::format("{}{}={}{}{}", text.empty() ? "" : ";", counter.name, counter.value,
                        counter.unit.empty() ? "" : " ", counter.unit);
  return csv_text(text);
}

std::string flops_by_pipe(const Row& row) {
  std::string text;
  for (const auto& [pipe, count] : row.measurement().work.flops)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name_of(pipe), count);
  return csv_text(text);
}

std::string shares(const Row& row) {
  if (!row.point.verdict) return "";
  std::string text;
  for (const Share& share : row.point.verdict->shares)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", share.resource, share.fraction);
  return csv_text(text);
}

/// A field of the summary, empty when the point has no time.
template <auto member>
std::string seconds(const Row& row) {
  return row.measurement().seconds() ? csv_number((*row.measurement().seconds()).*member) : "";
}

/// Empty where it was not counted.
std::string csv_count(std::size_t count) { return count > 0 ? fmt::format("{}", count) : ""; }

template <auto member>
std::string launched(const Row& row) {
  const auto& launches = row.measurement().launches;
  return launches ? fmt::format("{}", (*launches).*member) : "";
}

/// The highest of the readings around the point, empty without any.
template <auto member>
std::string highest(const Row& row) {
  const auto& conditions = row.measurement().conditions;
  return conditions && (*conditions).*member ? csv_number(((*conditions).*member)->high) : "";
}

std::string throttle_reasons(const Row& row) {
  const auto& conditions = row.measurement().conditions;
  return conditions ? csv_text(fmt::format("{}", fmt::join(conditions->throttle_reasons, ", "))) : "";
}

/// A field of the verdict, empty when there is none.
template <class Read>
std::string of_verdict(const Row& row, Read read) {
  return row.point.verdict ? std::string(read(*row.point.verdict)) : "";
}

constexpr std::array columns = {
    CsvColumn{"device", [](const Row& row) { return csv_text(row.measurement().device); }},
    CsvColumn{"device_name", device_name},
    CsvColumn{"name", [](const Row& row) { return csv_text(row.measurement().name); }},
    CsvColumn{"operation", [](const Row& row) { return csv_text(row.measurement().operation); }},
    CsvColumn{"arguments", arguments},
    CsvColumn{"repetition", [](const Row& row) { return fmt::format("{}", row.measurement().repetition); }},
    CsvColumn{"status", [](const Row& row) { return std::string(name_of(status_of(row.measurement()))); }},
    CsvColumn{"reason", [](const Row& row) { return csv_text(reason_of(row.measurement())); }},
    CsvColumn{"median_s", seconds<&Summary::median>},
    CsvColumn{"median_ci95_low_s",
              [](const Row& row) {
                return row.measurement().seconds() ? csv_number(row.measurement().seconds()->median_ci95.low) : "";
              }},
    CsvColumn{"median_ci95_high_s",
              [](const Row& row) {
                return row.measurement().seconds() ? csv_number(row.measurement().seconds()->median_ci95.high) : "";
              }},
    CsvColumn{"minimum_s", seconds<&Summary::minimum>},
    CsvColumn{"lower_quartile_s", seconds<&Summary::lower_quartile>},
    CsvColumn{"upper_quartile_s", seconds<&Summary::upper_quartile>},
    CsvColumn{"maximum_s", seconds<&Summary::maximum>},
    CsvColumn{"mean_s", seconds<&Summary::mean>},
    CsvColumn{"mad_s", seconds<&Summary::mad>},
    CsvColumn{"samples",
              [](const Row& row) {
                return row.measurement().seconds() ? fmt::format("{}", row.measurement().seconds()->count) : "";
              }},
    CsvColumn{"blocks", [](const Row& row) { return csv_count(row.measurement().primary().block_sizes.size()); }},
    CsvColumn{"dropped_samples",
              [](const Row& row) { return fmt::format("{}", row.measurement().primary().dropped_samples); }},
    CsvColumn{"executions_per_sample",
              [](const Row& row) { return fmt::format("{}", row.measurement().primary().executions_per_sample); }},
    CsvColumn{"clock", [](const Row& row) { return std::string(primary_clock_name(row.measurement())); }},
    CsvColumn{"method", [](const Row& row) { return csv_text(row.measurement().primary().method); }},
    CsvColumn{"cache_state", [](const Row& row) { return csv_text(row.measurement().cache_state); }},
    CsvColumn{"stop_reason",
              [](const Row& row) {
                return std::string(
                    stop_reason_names[static_cast<std::size_t>(row.measurement().primary().stop_reason)]);
              }},
    CsvColumn{"verified", [](const Row& row) { return std::string(row.measurement().verified ? "true" : "false"); }},
    CsvColumn{"clock_hz", [](const Row& row) { return csv_number(row.measurement().clock_hz); }},
    CsvColumn{"launch_s",
              [](const Row& row) {
                return row.measurement().launch_seconds ? csv_number(row.measurement().launch_seconds->value) : "";
              }},
    CsvColumn{"launched_kernels", launched<&Launches::kernels>},
    CsvColumn{"launched_blocks", launched<&Launches::blocks>},
    CsvColumn{"blocks_per_multiprocessor",
              [](const Row& row) {
                const auto& grid = row.measurement().grid;
                return grid ? fmt::format("{}", grid->blocks_per_multiprocessor) : "";
              }},
    CsvColumn{"power_high_w", highest<&DeviceConditions::power_watts>},
    CsvColumn{"temperature_high_c", highest<&DeviceConditions::temperature_celsius>},
    CsvColumn{"throttle_reasons", throttle_reasons},
    CsvColumn{"bytes_read", [](const Row& row) { return csv_number(row.measurement().work.bytes_read); }},
    CsvColumn{"bytes_written", [](const Row& row) { return csv_number(row.measurement().work.bytes_written); }},
    CsvColumn{"footprint_bytes", [](const Row& row) { return csv_number(row.measurement().work.footprint_bytes); }},
    CsvColumn{"flops", [](const Row& row) { return csv_number(row.measurement().work.total_flops()); }},
    CsvColumn{"flops_by_pipe", flops_by_pipe},
    CsvColumn{"bytes_per_s", [](const Row& row) { return csv_number(bytes_per_second(row.measurement())); }},
    CsvColumn{"flops_per_s", [](const Row& row) { return csv_number(flops_per_second(row.measurement())); }},
    CsvColumn{"regime", [](const Row& row) { return of_verdict(row, [](auto& v) { return name_of(v.regime); }); }},
    CsvColumn{"limiter", [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_text(v.limiter); }); }},
    CsvColumn{"achieved_fraction",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_number(v.achieved); }); }},
    CsvColumn{"speed_up_left",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_number(v.speed_up_left); }); }},
    CsvColumn{"confidence",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_number(v.confidence); }); }},
    CsvColumn{"certainty",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return name_of(v.certainty); }); }},
    CsvColumn{"runner_up",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return name_of(v.runner_up); }); }},
    CsvColumn{
        "runner_up_probability",
        [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_number(v.runner_up_probability); }); }},
    CsvColumn{"model_s",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_number(v.model_seconds); }); }},
    CsvColumn{"shares", shares},
    CsvColumn{"evidence", [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_text(v.evidence); }); }},
    CsvColumn{"advice",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_text(advice_text(v)); }); }},
    CsvColumn{"checks",
              [](const Row& row) { return of_verdict(row, [](auto& v) { return csv_text(votes_text(v)); }); }},
    CsvColumn{"label", [](const Row& row) { return csv_text(row.measurement().label); }},
    CsvColumn{"items_per_s", [](const Row& row) { return csv_number(items_per_second(row.measurement())); }},
    CsvColumn{"user_counters", user_counters},
};

}  // namespace

std::string csv(const Run& run) {
  std::vector<std::string> fields;
  fields.reserve(std::size(columns));
  for (const CsvColumn& column : columns) fields.emplace_back(column.name);
  std::string text = csv_line(fields);
  for (const Point& point : run.points) {
    fields.clear();
    for (const CsvColumn& column : columns) fields.push_back(column.field({run, point}));
    text += csv_line(fields);
  }
  return text;
}

}  // namespace gpubench::reports
