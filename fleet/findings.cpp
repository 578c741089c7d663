// SPDX-License-Identifier: Apache-2.0
#include "fleet/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::fleet {
namespace {

/// "2.1 % (1.7 to 2.5)".
std::string deficit_text(const Estimate& deficit) {
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100.0 * deficit.value, 100.0 * deficit.ci95.low,
                     100.0 * deficit.ci95.high);
}

std::string gpu_text(const Gpu& gpu) {
  return printable(fmt::format("{} {} ({})", gpu.node, gpu.device.id, gpu.uuid()));
}

bool ends_with_any(std::string_view text, const auto& ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

/// What to do about a slow test.
std::string_view action_for(const Test& test, bool also_alone) {
  const Resource* const row = find_resource(test.resource);
  if (test.resource == clock_resource) return "check its cooling and its power limit";
  if (ends_with_any(test.resource, link_directions)) return "check its port and its cables: all of its links are slow";
  if (!also_alone) return "check the node's power and cooling: alone it is as fast as its peers";
  if (row != nullptr && (row->group == CeilingGroup::link || row->depends_on_host))
    return "check its slot, its NUMA node and the host";
  return "drain it";
}

/// What is slow on one GPU, or alike on most of a node.
struct Case {
  std::vector<const SlowGpu*> tests;  ///< the worst first
  std::size_t gpus = 1;
};

std::string case_text(const Campaign& campaign, const Case& one, std::size_t gpus_of_node) {
  const SlowGpu& worst = *one.tests.front();
  const Test& test = campaign.tests[worst.test];
  std::set<std::string> phases;
  std::set<std::string> resources;
  for (const SlowGpu* const each : one.tests) {
    phases.insert(campaign.tests[each->test].phase);
    resources.insert(campaign.tests[each->test].resource);
  }
  std::string text = one.gpus > 1 ? fmt::format("{}, {} of its {} GPUs: {} up to {} below their",
                                                printable(campaign.gpus[worst.gpu].node), one.gpus, gpus_of_node,
                                                printable(test.resource), deficit_text(worst.deficit))
                                  : fmt::format("{}: {} {} below its", gpu_text(campaign.gpus[worst.gpu]),
                                                printable(test.resource), deficit_text(worst.deficit));
  text += fmt::format(" {}, in {} of {} runs", plural(worst.peers, "peer"), worst.confirmed, worst.runs);
  if (resources.size() > 1) text += fmt::format(", and {}", plural(resources.size() - 1, "other resource"));
  const bool also_alone = phases.contains("alone") ||
                          !std::ranges::any_of(campaign.tests, [](const Test& each) { return each.phase == "alone"; });
  return fmt::format("{}: {}.", text, action_for(test, also_alone));
}

double worst_of(const Case& one) { return one.tests.front()->deficit.value; }

/// GPU by GPU, but a node in one where three quarters of its GPUs are slow in one test.
std::vector<Case> cases_of(const Campaign& campaign, const std::vector<SlowGpu>& slow,
                           std::map<std::string, std::size_t>& node_sizes) {
  for (const Gpu& gpu : campaign.gpus) ++node_sizes[gpu.node];
  std::map<std::pair<std::string, std::size_t>, std::size_t> counts;
  for (const SlowGpu& one : slow) ++counts[{campaign.gpus[one.gpu].node, one.test}];
  std::map<std::string, std::size_t> shared;  // node, and how many GPUs
  for (const auto& [key, count] : counts)
    if (count >= 2 && 4 * count >= 3 * node_sizes[key.first]) shared[key.first] = std::max(shared[key.first], count);
  std::map<std::string, Case> of_nodes;
  std::map<std::size_t, Case> of_gpus;
  for (const SlowGpu& one : slow) {
    const std::string& node = campaign.gpus[one.gpu].node;
    const auto found = shared.find(node);
    if (found == shared.end()) {
      of_gpus[one.gpu].tests.push_back(&one);
      continue;
    }
    of_nodes[node].tests.push_back(&one);
    of_nodes[node].gpus = found->second;
  }
  std::vector<Case> cases;
  for (auto& [node, one] : of_nodes) cases.push_back(std::move(one));
  for (auto& [gpu, one] : of_gpus) cases.push_back(std::move(one));
  std::ranges::stable_sort(cases, std::ranges::greater(), worst_of);
  return cases;
}

std::string link_text(const Campaign& campaign, const SlowLink& slow) {
  const Link& link = campaign.links[slow.link];
  return fmt::format(
      "{} to {}: {} {} below what its two GPUs account for, beside {} links, in {} of {} runs: check this link.",
      printable(campaign.gpus[link.from].name()), printable(campaign.gpus[link.to].name()),
      printable(campaign.link_tests[link.test].resource), deficit_text(slow.deficit), slow.peers, slow.confirmed,
      slow.runs);
}

ResultTable table(std::string name, std::string title, std::string_view columns) {
  ResultTable made;
  made.name = std::move(name);
  made.title = std::move(title);
  made.columns = columns_of(columns);
  return made;
}

std::int64_t whole(std::size_t number) { return static_cast<std::int64_t>(number); }

void add_slow(const Campaign& campaign, const std::vector<SlowGpu>& slow, std::string_view state, ResultTable& rows) {
  for (const SlowGpu& one : slow) {
    const Gpu& gpu = campaign.gpus[one.gpu];
    const Test& test = campaign.tests[one.test];
    rows.add({gpu.node, gpu.device.id, gpu.uuid(), std::int64_t{gpu.rank}, test.phase, test.resource,
              -one.deficit.value, -one.deficit.ci95.high, -one.deficit.ci95.low, whole(one.peers),
              std::int64_t{one.confirmed}, std::int64_t{one.runs}, std::string(state)});
  }
}

void add_slow_links(const Campaign& campaign, const std::vector<SlowLink>& slow, std::string_view state,
                    ResultTable& rows) {
  for (const SlowLink& one : slow) {
    const Link& link = campaign.links[one.link];
    rows.add({campaign.gpus[link.from].name(), campaign.gpus[link.to].name(), campaign.gpus[link.from].uuid(),
              campaign.gpus[link.to].uuid(), campaign.link_tests[link.test].phase,
              campaign.link_tests[link.test].resource, -one.deficit.value, -one.deficit.ci95.high,
              -one.deficit.ci95.low, std::int64_t{one.confirmed}, std::int64_t{one.runs}, std::string(state)});
  }
}

/// Links that are alike: what lies between, and how fast they are.
ResultTable links_table(const Campaign& campaign) {
  ResultTable rows = table("links", "Links",
                           "phase=phase; resource=resource; path=between|not known; links:count=links; "
                           "median_text:text=median; median:count; "
                           "lowest_text:text=lowest; lowest:count; from=from; to=to");
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::pair<double, std::size_t>>> alike;
  for (std::size_t i = 0; i < campaign.links.size(); ++i) {
    const Link& link = campaign.links[i];
    std::vector<double> present;
    for (const double value : link.values)
      if (!std::isnan(value)) present.push_back(value);
    if (!present.empty()) alike[{link.test, link.path}].emplace_back(statistics::median(present), i);
  }
  for (auto& [key, links] : alike) {
    const Test& test = campaign.link_tests[key.first];
    std::ranges::sort(links);
    std::vector<double> values;
    for (const auto& [value, number] : links) values.push_back(value);
    const double middle = statistics::median(values);
    const auto& [lowest, number] = is_time(test) ? links.back() : links.front();
    const Link& link = campaign.links[number];
    rows.add({test.phase, test.resource, campaign.paths[key.second], whole(links.size()),
              format_value(middle, test.unit, 4), middle, format_value(lowest, test.unit, 4), lowest,
              campaign.gpus[link.from].name(), campaign.gpus[link.to].name()});
  }
  return rows;
}

}  // namespace

std::size_t costly_troubles(const Campaign& campaign) {
  return static_cast<std::size_t>(
      std::ranges::count_if(campaign.troubles, [](const Trouble& one) { return costs_a_gpu(one.kind); }));
}

std::vector<std::string> findings_of(const Campaign& campaign, const Verdicts& verdicts) {
  std::map<std::string, std::size_t> node_sizes;
  std::vector<std::string> texts;
  for (const Case& one : cases_of(campaign, verdicts.slow, node_sizes))
    texts.push_back(case_text(campaign, one, node_sizes[campaign.gpus[one.tests.front()->gpu].node]));
  for (const SlowLink& one : verdicts.slow_links) texts.push_back(link_text(campaign, one));
  return texts;
}

std::vector<ResultTable> tables_of(const Campaign& campaign, const Verdicts& verdicts) {
  std::vector<ResultTable> tables;
  std::set<std::string> nodes;
  for (const Gpu& gpu : campaign.gpus) nodes.insert(gpu.node);
  ResultTable& facts = tables.emplace_back(
      table("", "",
            "campaign=campaign; started_utc=started; ranks:count=ranks; gpus:count=GPUs; nodes:count=nodes; "
            "runs:count=runs; comparisons:count=comparisons a run"));
  facts.add({campaign.name, campaign.started_utc, std::int64_t{campaign.ranks}, whole(campaign.gpus.size()),
             whole(nodes.size()), std::int64_t{campaign.runs}, whole(verdicts.comparisons)});

  ResultTable& findings = tables.emplace_back(table("findings", "Findings", "text:prose=finding"));
  findings.none = verdicts.comparisons == 0 ? "Nothing was compared: no test has enough GPUs that are alike."
                                            : "No GPU and no link is slower than its peers by what matters.";
  for (std::string& text : findings_of(campaign, verdicts)) findings.add({std::move(text)});

  ResultTable& troubles =
      tables.emplace_back(table("troubles", "What is wrong with the fleet", "kind; text:prose=trouble"));
  for (const Trouble& one : campaign.troubles) troubles.add({std::string(name_of(one.kind)), one.text});

  ResultTable& splits = tables.emplace_back(
      table("splits", "Tests in which the GPUs fall into two kinds: no verdicts there",
            "phase=phase; resource=resource; group=of; lower:count=slower; gpus:count=GPUs; deviation:change=by"));
  for (const Split& one : verdicts.splits)
    splits.add({campaign.tests[one.test].phase, campaign.tests[one.test].resource, campaign.groups[one.group].name,
                whole(one.lower), whole(one.gpus), -one.deficit});

  ResultTable& slow = tables.emplace_back(table(
      "slow", "Slow GPUs, and suspects that not all runs confirm",
      "node=node; gpu=GPU; uuid=UUID~2; rank:count=rank~3; phase=phase; resource=resource; deviation:change=against "
      "peers; low:change=low~1; high:change=high~1; peers:count=peers~2; confirmed:count=found in; "
      "runs:count=of runs; state=state"));
  add_slow(campaign, verdicts.slow, "confirmed", slow);
  add_slow(campaign, verdicts.suspects, "suspect", slow);

  ResultTable& links = tables.emplace_back(
      table("slow_links", "Slow links, and suspects",
            "from=from; to=to; from_uuid; to_uuid; phase=phase; resource=resource; deviation:change=against its GPUs; "
            "low:change=low~1; high:change=high~1; confirmed:count=found in; runs:count=of runs; state=state"));
  add_slow_links(campaign, verdicts.slow_links, "confirmed", links);
  add_slow_links(campaign, verdicts.suspect_links, "suspect", links);

  tables.push_back(links_table(campaign));
  ResultTable& absent = tables.emplace_back(
      table("absent", "What was not measured", "phase=phase; resource=resource; gpus:count=GPUs; reason:prose=reason"));
  for (const AbsentTest& one : campaign.absent) absent.add({one.phase, one.resource, whole(one.gpus), one.reason});

  ResultTable& groups = tables.emplace_back(table("groups", "GPUs that are compared", "group=alike; gpus:count=GPUs"));
  for (const Group& one : campaign.groups)
    if (one.gpus > 0) groups.add({one.name, whole(one.gpus)});

  ResultTable& spreads = tables.emplace_back(
      table("tests", "Tests",
            "phase=phase; resource=resource; unit; group=of~2; gpus:count=GPUs; median_text:text=median; median:count; "
            "sigma:change=spread; clock_slope:count; smallest_found:change=finds"));
  for (const Spread& one : verdicts.spreads) {
    const Test& test = campaign.tests[one.test];
    spreads.add({test.phase, test.resource, test.unit, campaign.groups[one.group].name, whole(one.gpus),
                 format_value(one.median, test.unit, 4), one.median, one.sigma, one.clock_slope,
                 one.smallest_found ? Value(-*one.smallest_found) : Absent{"too few peers or runs, or two kinds"}});
  }
  spreads.notes = {
      "Spread: standard deviation between GPUs, by the median. Finds: the smallest deficit that would be a finding."};
  return tables;
}

Outcome outcome_of(const Campaign& campaign, const Verdicts& verdicts, const SlowOptions& options) {
  if (!verdicts.slow.empty() || !verdicts.slow_links.empty()) return Outcome::slow;
  if (costly_troubles(campaign) > 0) return Outcome::incomplete;
  if (verdicts.comparisons == 0) return Outcome::not_comparable;
  const bool unconfirmed =
      campaign.runs < options.min_runs && (!verdicts.suspects.empty() || !verdicts.suspect_links.empty());
  return unconfirmed ? Outcome::inconclusive : Outcome::fine;
}

}  // namespace gpubench::fleet
