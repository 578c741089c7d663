// SPDX-License-Identifier: Apache-2.0
// The page of a campaign: what is to be drawn goes into it as numbers, packed.
#include "reports/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "core/statistics/statistics.h"
#include "fleet/findings.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"
#include "reports/result_table.h"

namespace gpubench::reports {
namespace {

using FleetJson = nlohmann::json;

/// Two bytes a deviation, in units of 0.01 %, the lower first; what is absent is the lowest number.
class Deviations16 {
 public:
  void put(double log) {
    constexpr double unit = 1e-4, largest = 32'767.0;
    const std::int16_t number =
        std::isnan(log) ? INT16_MIN : static_cast<std::int16_t>(std::clamp(std::expm1(log) / unit, -largest, largest));
    const auto bits = static_cast<std::uint16_t>(number);
    bytes_ += static_cast<char>(bits & 0xFFU);
    bytes_ += static_cast<char>(bits >> 8U);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Medians over the groups' GPUs, so that a deviation can be told as a value.
FleetJson tests_json(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts) {
  FleetJson tests = FleetJson::array();
  for (const fleet::Test& test : campaign.tests)
    tests.push_back(
        {{"phase", test.phase}, {"resource", test.resource}, {"unit", test.unit}, {"medians", FleetJson::array()}});
  for (const fleet::Spread& spread : verdicts.spreads) {
    FleetJson& medians = tests[spread.test]["medians"];
    while (medians.size() <= spread.group) medians.push_back(nullptr);
    medians[spread.group] = spread.median;
  }
  return tests;
}

FleetJson data_of(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts) {
  FleetJson nodes = FleetJson::array(), gpus = FleetJson::array(), groups = FleetJson::array(),
            slow = FleetJson::array();
  for (const fleet::Gpu& gpu : campaign.gpus) {
    if (nodes.empty() || nodes.back() != gpu.node) nodes.push_back(gpu.node);
    gpus.push_back(
        {nodes.size() - 1, gpu.local_rank, gpu.device.id, gpu.uuid(), gpu.rank, gpu.group, campaign.files[gpu.file]});
  }
  for (const fleet::Group& group : campaign.groups) groups.push_back(group.name);
  for (const fleet::SlowGpu& one : verdicts.slow) slow.push_back({one.gpu, one.test});
  FleetJson links = FleetJson::array();
  for (const fleet::Test& test : campaign.link_tests) links.push_back(test.phase + ", " + test.resource);
  return {{"nodes", std::move(nodes)},
          {"gpus", std::move(gpus)},
          {"groups", std::move(groups)},
          {"slow", std::move(slow)},
          {"tests", tests_json(campaign, verdicts)},
          {"link_tests", std::move(links)}};
}

/// From, to, test and deviation from the median of all links of the test.
FleetJson links_part(const fleet::Campaign& campaign) {
  std::map<std::size_t, std::vector<double>> all;
  std::vector<double> middles;
  for (const fleet::Link& link : campaign.links) {
    std::vector<double> present;
    for (const double value : link.values)
      if (!std::isnan(value)) present.push_back(value);
    const auto middle = statistics::upper_median(std::move(present));
    middles.push_back(middle.value_or(fleet::Campaign::none));
    if (middle) all[link.test].push_back(*middle);
  }
  std::map<std::size_t, double> usual;
  for (const auto& [test, values] : all) usual[test] = *statistics::upper_median(values);
  FleetJson places = FleetJson::array();
  Deviations16 deviations;
  for (std::size_t i = 0; i < campaign.links.size(); ++i) {
    const fleet::Link& link = campaign.links[i];
    for (const std::size_t part : {link.from, link.to, link.test}) places.push_back(part);
    const double log = std::log(middles[i] / usual[link.test]);
    deviations.put(campaign.link_tests[link.test].unit == "s" ? -log : log);
  }
  return {page::json_data(std::move(places), "links"), page::packed_data("link-deviations", deviations.bytes())};
}

}  // namespace

std::string fleet_html(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts, const std::string& title,
                       const std::string& version) {
  auto tables = fleet::tables_of(campaign, verdicts);
  page::LookPage look;
  look.summary = fmt::format(
      "{} of {} on {}, {}, {} of {}.", markup::plural(campaign.gpus.size(), "GPU"),
      markup::plural(std::max(campaign.ranks, 0), "rank"),
      markup::plural(data_of(campaign, verdicts)["nodes"].size(), "node"), markup::plural(campaign.runs, "run"),
      campaign.name == "campaign" ? campaign.name : "campaign " + campaign.name, campaign.started_utc);
  std::erase_if(tables, [](const ResultTable& table) { return table.name.empty(); });
  const auto tests = std::ranges::find(tables, "tests", &ResultTable::name);
  const std::string below = html({tests, tables.end()});
  tables.erase(tests, tables.end());
  look.body = markup::part("fleet", {{"tables", html(tables)}, {"tests", below}, {"links", !campaign.links.empty()}});
  Deviations16 deviations;
  for (const float one : verdicts.deviations) deviations.put(one);
  look.data = links_part(campaign);
  look.data.push_back(page::json_data(data_of(campaign, verdicts)));
  look.data.push_back(page::packed_data("deviations", deviations.bytes()));
  look.scripts = {page::script_fleet()};
  return page::look_page({title, version, {}}, std::move(look));
}

}  // namespace gpubench::reports
