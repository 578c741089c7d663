// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/model/resources.h"
#include "gpubench/work.h"
#include "reports/charts/rows.h"
#include "reports/program.h"

namespace gpubench::reports::charts {
namespace {

struct Roof {
  const Ceiling* ceiling;
  std::string name;
};

bool drawable(const Ceiling* ceiling) { return ceiling && ceiling->value > 0; }

/// Memory roofs from the outermost (DRAM) inwards.
std::vector<Roof> memory_roofs(const Calibration& calibration) {
  std::vector<Roof> roofs;
  if (const auto* dram = dram_of(calibration)) roofs.push_back({dram, std::string(label_of(resource::dram))});
  for (const auto level : {"l3", "l2", "l1"})
    if (const auto* ceiling = calibration.find(level); drawable(ceiling))
      roofs.push_back({ceiling, std::string(label_of(level))});
  return roofs;
}

/// Not what full calibrations measure beside the pipes: single instructions, other data, other loads.
bool is_pipe(const Ceiling& ceiling) {
  const Resource* const row = find_plain_resource(ceiling.resource);
  return row != nullptr && row->kind == ResourceKind::pipe;
}

std::vector<Roof> pipe_roofs(const Calibration& calibration) {
  std::vector<Roof> roofs;
  for (const auto& ceiling : calibration.ceilings)
    if (ceiling.unit == "FLOP/s" && is_pipe(ceiling) && drawable(&ceiling))
      roofs.push_back({&ceiling, ceiling.resource});
  std::stable_sort(roofs.begin(), roofs.end(),
                   [](const Roof& a, const Roof& b) { return a.ceiling->value > b.ceiling->value; });
  return roofs;
}

/// What a device's points do with its pipes: which, and the range of their arithmetic intensities.
struct Usage {
  std::set<Pipe> pipes;
  double low = 0.0;
  double high = 0.0;
};

Usage usage_of(const Run& run, const std::string& device) {
  Usage usage;
  for (const auto& point : run.points) {
    if (point.measurement.device != device || !point.measurement.seconds()) continue;
    const Work work = shown_work(point.measurement);
    for (const auto& [pipe, count] : work.flops)
      if (count > 0) usage.pipes.insert(pipe);
    if (!(work.total_flops() > 0 && work.bytes() > 0)) continue;
    const double intensity = work.total_flops() / work.bytes();
    usage.low = usage.low > 0 ? std::min(usage.low, intensity) : intensity;
    usage.high = std::max(usage.high, intensity);
  }
  return usage;
}

/// The fields that say how fast a ceiling is; `factor` makes it a rate at some intensity.
Json row_of(const Calibration& calibration, const std::string& name, const Ceiling& ceiling, double factor = 1.0) {
  return {{"device", calibration.device.id},
          {"label", name + "  " + format_value(ceiling.value, ceiling.unit)},
          {"rate", rounded(ceiling.value * factor)},
          {"rate_low", rounded(ceiling.ci95.low * factor)},
          {"rate_high", rounded(ceiling.ci95.high * factor)}};
}

/// A roof is a line between two points, one of which has the label. `own`: the fields of its kind.
void put_roof(Json& rows, const Calibration& calibration, const Roof& roof, double from, double to, const Json& own) {
  const Ceiling& ceiling = *roof.ceiling;
  const bool memory = own["kind"] == "memory";
  for (const double x : {from, to}) {
    rows.push_back(row_of(calibration, roof.name, ceiling, memory ? x : 1.0));
    rows.back().update(own);
    rows.back().update({{"roof", ceiling.resource},
                        {"interval", format_value(ceiling.ci95.low, ceiling.unit, 4) + " to " +
                                         format_value(ceiling.ci95.high, ceiling.unit, 4)},
                        {"method", ceiling.method},
                        {"intensity", rounded(x)},
                        {"place", x == (memory ? from : to) ? "label" : ""}});
  }
}

/// Labels of roofs that lie close together move aside, a column each; the first roofs keep the first column.
std::vector<std::size_t> label_columns(const std::vector<Roof>& roofs) {
  std::vector<std::vector<double>> columns;
  std::vector<std::size_t> result;
  for (const Roof& roof : roofs) {
    const double value = roof.ceiling->value;
    const auto free = std::ranges::find_if(columns, [&](const std::vector<double>& others) {
      return std::ranges::none_of(others, [&](double other) { return std::max(other / value, value / other) < 1.8; });
    });
    result.push_back(static_cast<std::size_t>(free - columns.begin()));
    if (free == columns.end()) columns.emplace_back();
    columns[result.back()].push_back(value);
  }
  return result;
}

void put_roofs(Json& rows, const Run& run, const Calibration& calibration) {
  const auto memory = memory_roofs(calibration);
  auto pipes = pipe_roofs(calibration);
  const auto usage = usage_of(run, calibration.device.id);
  if (memory.empty() && pipes.empty()) return;
  const double fastest_memory = memory.empty() ? 0.0 : memory.back().ceiling->value;
  const double slowest_memory = memory.empty() ? 0.0 : memory.front().ceiling->value;
  const double fastest_pipe = pipes.empty() ? 0.0 : pipes.front().ceiling->value;
  const double ridge = fastest_pipe > 0 && slowest_memory > 0 ? fastest_pipe / slowest_memory : 10.0;
  const double left = std::min(usage.low > 0 ? usage.low / 6 : 0.05, ridge / 100);
  const double right = std::max(usage.high * 4, ridge * 10);
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    const double end = fastest_pipe > 0 ? fastest_pipe / memory[rank].ceiling->value : right;
    put_roof(rows, calibration, memory[rank], left, end, {{"kind", "memory"}, {"rank", rank}, {"used", true}});
  }
  const auto is_used = [&](const Roof& roof) {
    const auto pipe = find_plain_resource(roof.ceiling->resource)->pipe;
    return pipe && usage.pipes.contains(*pipe);
  };
  std::stable_partition(pipes.begin(), pipes.end(), is_used);
  const auto columns = label_columns(pipes);
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    const double start = fastest_memory > 0 ? pipes[i].ceiling->value / fastest_memory : left;
    put_roof(rows, calibration, pipes[i], start, right,
             {{"kind", "pipe"}, {"used", is_used(pipes[i])}, {"column", columns[i]}});
  }
}

void put_ladder(const Calibration& calibration, Json& rows) {
  for (const auto& rung : calibration.ladder)
    if (rung.working_set_bytes > 0 && rung.bytes_per_second > 0)
      rows.push_back({{"device", calibration.device.id},
                      {"working_set", rounded(rung.working_set_bytes)},
                      {"rate", rounded(rung.bytes_per_second)},
                      {"rate_text", format_bytes_per_second(rung.bytes_per_second)},
                      {"working_set_text", format_bytes(rung.working_set_bytes)}});
}

void put_levels(const Calibration& calibration, Json& rows) {
  if (calibration.ladder.empty()) return;
  double from = calibration.ladder.front().working_set_bytes;
  const auto put_level = [&](const std::string& name, const Ceiling* ceiling, double to) {
    if (!drawable(ceiling) || !(from > 0) || !(to > from)) return;
    rows.push_back(row_of(calibration, name, *ceiling));
    rows.back().update({{"from", rounded(from)}, {"to", rounded(to)}});
  };
  for (const auto& level : calibration.levels) {
    if (!(level.capacity_bytes > 0)) continue;
    const std::string name(label_of(level.resource));
    put_level(name, calibration.find(level.resource), level.capacity_bytes);
    Json row = {{"device", calibration.device.id},
                {"capacity", rounded(level.capacity_bytes)},
                {"capacity_label", "half from " + name + " at " + format_bytes(level.capacity_bytes)}};
    if (level.capacity_ci95.low > 0)
      row.update(
          {{"capacity_low", rounded(level.capacity_ci95.low)}, {"capacity_high", rounded(level.capacity_ci95.high)}});
    rows.push_back(std::move(row));
    from = level.capacity_bytes;
  }
  put_level("DRAM", dram_of(calibration), calibration.ladder.back().working_set_bytes);
}

void put_latencies(const Calibration& calibration, Json& points, Json& levels) {
  for (const auto& point : calibration.latency_curve)
    if (point.working_set_bytes > 0 && point.seconds > 0)
      points.push_back({{"device", calibration.device.id},
                        {"working_set", rounded(point.working_set_bytes)},
                        {"seconds", rounded(point.seconds)},
                        {"working_set_text", format_bytes(point.working_set_bytes)},
                        {"time_text", format_seconds(point.seconds, 4)},
                        {"cycles_text", format_count(point.cycles) + " cycles"}});
  if (calibration.latency_curve.empty()) return;
  for (const auto resource : {"latency-l1", "latency-l2-near", "latency-l2-far", "latency-dram"})
    if (const auto* level = calibration.find(resource); drawable(level))
      levels.push_back({{"device", calibration.device.id},
                        {"seconds", rounded(level->value)},
                        {"label", std::string(label_of(resource)) + "  " + format_seconds(level->value, 4)}});
}

void put_intensities(const Calibration& calibration, Json& rows) {
  for (const auto& point : calibration.intensity_sweep)
    if (point.flops_per_byte > 0 && point.flops_per_second > 0)
      rows.push_back({{"device", calibration.device.id},
                      {"intensity", rounded(point.flops_per_byte)},
                      {"rate", rounded(point.flops_per_second)},
                      {"intensity_text", format_value(point.flops_per_byte, "FLOP/byte")},
                      {"rate_text", format_flops_per_second(point.flops_per_second)},
                      {"bandwidth_text", format_bytes_per_second(point.bytes_per_second)},
                      {"clock_text", point.clock_hz ? format_hertz(*point.clock_hz) : "clock not read"}});
}

void put_intensity_roofs(const Calibration& calibration, Json& rows) {
  const auto* memory = calibration.find(resource::dram_read);
  const auto* pipe = calibration.find(name_of(fp32));
  const auto& sweep = calibration.intensity_sweep;
  if (sweep.empty() || !drawable(memory) || !drawable(pipe) || !(sweep.front().flops_per_byte > 0)) return;
  const auto put_point = [&](std::string_view resource, const Ceiling& ceiling, double x, bool labelled) {
    const std::string roof(label_of(resource));
    rows.push_back({{"device", calibration.device.id},
                    {"roof", roof},
                    {"label", roof + "  " + format_value(ceiling.value, ceiling.unit)},
                    {"intensity", rounded(x)},
                    {"rate", rounded(std::min(x * memory->value, pipe->value))},
                    {"labelled", labelled},
                    {"slanted", &ceiling == memory}});
  };
  const double ridge = pipe->value / memory->value;
  const double left = std::min(sweep.front().flops_per_byte, ridge);
  put_point(resource::dram_read, *memory, left, false);
  put_point(resource::dram_read, *memory, std::sqrt(left * ridge), true);
  put_point(resource::dram_read, *memory, ridge, false);
  put_point(name_of(fp32), *pipe, ridge, true);
  put_point(name_of(fp32), *pipe, std::max(sweep.back().flops_per_byte, ridge), false);
}

}  // namespace

const Ceiling* dram_of(const Calibration& calibration) {
  for (const Resource& mix : all_resources())
    if (const auto* ceiling = mix.write_fraction ? calibration.find(mix.name) : nullptr; drawable(ceiling))
      return ceiling;
  return nullptr;
}

Json calibration_sets(const Run& run) {
  Json sets;
  for (const auto* name :
       {"roofs", "ceilings", "ladder", "levels", "latencies", "latency_levels", "intensities", "intensity_roofs"})
    sets[name] = Json::array();
  for (const auto& calibration : run.calibrations) {
    put_roofs(sets["roofs"], run, calibration);
    for (const auto& roof : memory_roofs(calibration)) {
      sets["ceilings"].push_back(row_of(calibration, roof.name, *roof.ceiling));
      sets["ceilings"].back()["resource"] = roof.ceiling->resource;
    }
    put_ladder(calibration, sets["ladder"]);
    put_levels(calibration, sets["levels"]);
    put_latencies(calibration, sets["latencies"], sets["latency_levels"]);
    put_intensities(calibration, sets["intensities"]);
    put_intensity_roofs(calibration, sets["intensity_roofs"]);
  }
  return sets;
}

}  // namespace gpubench::reports::charts
