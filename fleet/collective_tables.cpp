// SPDX-License-Identifier: Apache-2.0
#include "fleet/collective_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gpubench::fleet {
namespace {

using Fits = std::map<Collective, std::optional<MessageFit>>;

Fits fits_of(const CollectiveRun& run) {
  std::map<Collective, std::vector<MessageTime>> times;
  for (const CollectiveRow& row : run.rows)
    times[row.collective].push_back({static_cast<double>(row.bytes), row.times.seconds});
  Fits fits;
  for (const auto& [collective, messages] : times) fits[collective] = fit_messages(messages);
  return fits;
}

ResultTable messages_table(const CollectiveRun& run, const Fits& fits) {
  ResultTable table;
  table.name = "collectives";
  table.title = fmt::format("Collectives of {} ranks, between {}", run.ranks, run.between);
  table.columns = columns_of(
      "collective=collective; bytes=message; iterations:count=iterations~1; seconds=time; median_seconds=p50; "
      "p99_seconds=p99; algorithm:rate=algorithm; bus:rate=bus; limit=limit|too few sizes");
  table.shown = 1000;
  table.notes = {"Bandwidths as nccl-tests defines them, by the time of one among many in a row; MPI's by the p50.",
                 "p50 and p99 are of single iterations that the host launches, each as long as on its slowest rank."};
  for (const CollectiveRow& row : run.rows) {
    const auto& fit = fits.at(row.collective);
    const double overhead = run.overhead_seconds.value_or(0.0);
    table.add({std::string(name_of(row.collective)), row.bytes, std::int64_t{row.iterations}, row.times.seconds,
               row.times.median_seconds, row.times.p99_seconds, row.times.algorithm_bytes_per_second,
               row.times.bus_bytes_per_second,
               fit ? std::string(name_of(limit_of(*fit, overhead, static_cast<double>(row.bytes)))) : std::string()});
  }
  return table;
}

ResultTable limits_table(const CollectiveRun& run, const Fits& fits) {
  ResultTable table;
  table.name = "limits";
  table.title = "What limits them";
  table.columns = columns_of(
      "ceiling=ceiling; highest_bus:rate=highest bus; bus:rate=bus by the fit; bus_low:rate=low~1; "
      "bus_high:rate=high~1; fixed_seconds=short messages; fixed_low_seconds=low~1; fixed_high_seconds=high~1; "
      "overhead_seconds=of it overhead; boundary_bytes=link from; boundary_low_bytes=low; boundary_high_bytes=high; "
      "deviation:share=off the fit~1");
  table.notes = {
      "Time = fixed + bytes / bandwidth. Below \"link from\" the fixed time is the larger part. Intervals: 95 %."};
  for (const auto& [collective, fit] : fits) {
    if (!fit) continue;
    const double factor = bus_factor(collective, run.ranks);
    const auto& [fixed, rate, boundary, deviation] = *fit;
    const auto bytes = [](double value) { return static_cast<std::int64_t>(value + 0.5); };
    double highest = 0.0;
    for (const CollectiveRow& row : run.rows)
      if (row.collective == collective) highest = std::max(highest, row.times.bus_bytes_per_second);
    table.add({fmt::format("{}-{}", run.library, name_of(collective)), highest, factor * rate.value,
               factor * rate.ci95.low, factor * rate.ci95.high, fixed.value, fixed.ci95.low, fixed.ci95.high,
               or_absent(run.overhead_seconds, "it was not measured"), bytes(boundary.value), bytes(boundary.ci95.low),
               bytes(boundary.ci95.high), deviation});
  }
  return table;
}

ResultTable overlap_table(const CollectiveRun& run) {
  ResultTable table;
  table.name = "overlap";
  table.title = "Beside products of BF16 matrices of 8192 x 8192";
  table.columns = columns_of(
      "collective=collective; bytes=message; collective_seconds=alone; collective_cost:change=beside products; "
      "product_seconds=product alone; product_cost:change=beside collectives");
  if (!run.overlap_absent.empty()) table.none = fmt::format("Not measured: {}.", run.overlap_absent);
  for (const OverlapRow& row : run.overlaps) {
    const OverlapCost cost = cost_of(row.times);
    const auto change = [](double times) {
      return times < 1e6 ? Value(times - 1.0) : Absent{"it did not overlap at all"};
    };
    table.add({std::string(name_of(row.collective)), row.bytes, row.times.second_alone / row.collectives,
               change(cost.second), row.times.first_alone / row.products, change(cost.first)});
  }
  return table;
}

}  // namespace

std::vector<ResultTable> tables_of(const CollectiveRun& run) {
  const Fits fits = fits_of(run);
  std::vector<ResultTable> tables = {messages_table(run, fits), limits_table(run, fits)};
  if (!run.overlaps.empty() || !run.overlap_absent.empty()) tables.push_back(overlap_table(run));
  return tables;
}

}  // namespace gpubench::fleet
