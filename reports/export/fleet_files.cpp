// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <set>

#include "fleet/findings.h"
#include "reports/export/open_metrics.h"
#include "reports/export/tables.h"
#include "reports/fleet.h"

namespace gpubench::reports {

void write_fleet_store(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts, const storage::Sink& sink) {
  constexpr std::size_t part_bytes = std::size_t{1} << 20;
  std::string text = fmt::format("{}\r\n", fleet_store_columns);
  const std::string head = fmt::format("{},{},", csv_text(campaign.name), csv_text(campaign.started_utc));
  std::vector<std::string> tests;
  for (const fleet::Test& test : campaign.tests) tests.push_back(csv_text(test.resource) + "," + csv_text(test.unit));
  for (std::size_t i = 0; i < campaign.gpus.size(); ++i) {
    const fleet::Gpu& gpu = campaign.gpus[i];
    const std::string of_gpu =
        fmt::format("{}{},{},{},{},{},{},", head, gpu.rank, csv_text(gpu.node), gpu.local_rank, csv_text(gpu.uuid()),
                    csv_text(gpu.device.name), csv_text(gpu.device.property("driver")));
    for (std::size_t test = 0; test < campaign.tests.size(); ++test)
      for (int run = 0; run < campaign.runs; ++run) {
        const std::size_t place = campaign.place(test, run, i);
        if (std::isnan(campaign.values[place])) continue;
        const double deviation = std::expm1(double{verdicts.deviations[test * campaign.gpus.size() + i]});
        fmt::format_to(std::back_inserter(text), "{}{},{},{},{},{},{},{},{}\r\n", of_gpu,
                       csv_text(campaign.tests[test].phase), run, tests[test], csv_number(campaign.values[place]),
                       csv_number(campaign.lows[place]), csv_number(campaign.highs[place]),
                       csv_number(campaign.clocks[place]),
                       std::isnan(deviation) ? "" : fmt::format("{:.5f}", deviation));
        if (text.size() < part_bytes) continue;
        sink(text);
        text.clear();
      }
  }
  sink(text);
}

std::string open_metrics(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts) {
  Gauges gauges;
  std::set<std::size_t> slow, suspects;
  for (const fleet::SlowGpu& one : verdicts.slow) slow.insert(one.gpu);
  for (const fleet::SlowGpu& one : verdicts.suspects)
    if (!slow.contains(one.gpu)) suspects.insert(one.gpu);
  for (const auto& [state, count] :
       {std::pair("measured", campaign.gpus.size()), {"slow", slow.size()}, {"suspect", suspects.size()}})
    gauges.put("fleet_gpus", "GPUs of the campaign by state.", {{"state", state}}, static_cast<double>(count));
  gauges.put("fleet_slow_links", "Links that are slower than both of their GPUs account for.", {},
             static_cast<double>(verdicts.slow_links.size()));
  gauges.put("fleet_troubles", "What cost the campaign a GPU.", {},
             static_cast<double>(fleet::costly_troubles(campaign)));
  for (const fleet::SlowGpu& one : verdicts.slow) {
    const fleet::Gpu& gpu = campaign.gpus[one.gpu];
    const fleet::Test& test = campaign.tests[one.test];
    gauges.put("fleet_slow_ratio", "How far a slow GPU is below its peers.",
               {{"node", gpu.node},
                {"gpu", gpu.device.id},
                {"uuid", gpu.uuid()},
                {"phase", test.phase},
                {"resource", test.resource}},
               one.deficit.value);
  }
  return gauges.text();
}

}  // namespace gpubench::reports
