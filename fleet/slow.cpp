// SPDX-License-Identifier: Apache-2.0
#include "fleet/slow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compare/noise/noise.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"
#include "fleet/statistics.h"

namespace gpubench::fleet {
namespace {

/// Instruments resolve no less: without a floor equal values would make any difference infinitely rare.
constexpr double min_sigma = 1e-4;
/// Student's t is the normal distribution from here on.
constexpr std::size_t many = 1000;
/// The clock explains as much as it does for most: not beyond where the peers' clocks lie.
constexpr double clock_tail = 0.025;

double log_of(const Test& test, double value) { return is_time(test) ? -std::log(value) : std::log(value); }

/// P(Z <= -depth), for so many samples.
double tail_of(double depth, std::size_t samples) {
  return statistics::student_tail(
      depth, samples < many ? static_cast<double>(samples - 1) : std::numeric_limits<double>::infinity());
}

/// One test of one group in one run.
struct Deviations {
  std::vector<double> of;  ///< by member; NaN where absent
  std::size_t present = 0;
  double middle = 0.0;
  double sigma = 0.0;
  double clock_slope = 0.0;
};

/// How far each lies from the median, without what its clock explains.
Deviations deviations_of(const std::vector<double>& logs, const std::vector<double>& clock_logs) {
  Deviations result;
  result.of = logs;
  std::vector<double> values, clocks, clocked_values;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (std::isnan(logs[i])) continue;
    values.push_back(logs[i]);
    if (std::isnan(clock_logs[i])) continue;
    clocks.push_back(clock_logs[i]);
    clocked_values.push_back(logs[i]);
  }
  result.present = values.size();
  if (values.empty()) return result;
  if (2 * clocks.size() > values.size() && clocks.size() > 2) {
    // Physics has it between not at all and in proportion.
    result.clock_slope = std::clamp(robust_slope(clocks, clocked_values), 0.0, 1.0);
    std::ranges::sort(clocks);
    const double middle = statistics::quantile(clocks, 0.5);
    const double low = statistics::quantile(clocks, clock_tail), high = statistics::quantile(clocks, 1.0 - clock_tail);
    values.clear();
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (std::isnan(logs[i])) continue;
      if (!std::isnan(clock_logs[i]))
        result.of[i] -= result.clock_slope * (std::clamp(clock_logs[i], low, high) - middle);
      values.push_back(result.of[i]);
    }
  }
  result.middle = statistics::median(values);
  result.sigma = std::max(robust_sigma(values), min_sigma);
  for (double& one : result.of) one -= result.middle;
  return result;
}

/// What could be slow: a GPU in a test, or a link.
struct Candidate {
  double p = 1.0;
  std::size_t what = 0;
};

/// Rejections of each run by itself, and how often each candidate was among them.
class Discoveries {
 public:
  Discoveries(int runs, double rate)
      : candidates_(static_cast<std::size_t>(runs)), tests_(candidates_.size()), rate_(rate) {}

  void add(int run, const Deviations& of, const std::vector<std::size_t>& whats) {
    tests_[static_cast<std::size_t>(run)] += of.present;
    for (std::size_t i = 0; i < whats.size(); ++i) {
      if (!(of.of[i] < -2.0 * of.sigma)) continue;
      const double p = tail_of(-of.of[i] / of.sigma, of.present);
      if (p <= rate_) candidates_[static_cast<std::size_t>(run)].push_back({p, whats[i]});
    }
  }
  /// In how many runs each was rejected.
  [[nodiscard]] std::map<std::size_t, int> found() const {
    std::map<std::size_t, int> counts;
    for (std::size_t run = 0; run < candidates_.size(); ++run) {
      std::vector<double> p_values;
      for (const Candidate& one : candidates_[run]) p_values.push_back(one.p);
      const double limit = false_discovery_limit(p_values, tests_[run], rate_);
      for (const Candidate& one : candidates_[run])
        if (one.p <= limit) ++counts[one.what];
    }
    return counts;
  }
  [[nodiscard]] std::size_t comparisons() const { return tests_.empty() ? 0 : tests_.front(); }

 private:
  std::vector<std::vector<Candidate>> candidates_;
  std::vector<std::size_t> tests_;
  double rate_;
};

/// Logarithms as fractions by which they fall short.
Estimate deficit_of(double deviation, double sigma) {
  const auto fraction = [](double log) { return -std::expm1(log); };
  return {fraction(deviation),
          {fraction(deviation + statistics::normal_975 * sigma), fraction(deviation - statistics::normal_975 * sigma)}};
}

/// The median over runs of each member, and in how many it was measured.
struct Middle {
  std::vector<double> of;
  std::vector<int> runs;
  double sigma = 0.0;
};
Middle middle_of(const std::vector<Deviations>& by_run, std::size_t members) {
  Middle middle;
  std::vector<double> present, values;
  for (std::size_t i = 0; i < members; ++i) {
    values.clear();
    for (const Deviations& run : by_run)
      if (!std::isnan(run.of[i])) values.push_back(run.of[i]);
    middle.runs.push_back(static_cast<int>(values.size()));
    middle.of.push_back(values.empty() ? Campaign::none : statistics::median(values));
    if (!values.empty()) present.push_back(middle.of.back());
  }
  middle.sigma = std::max(robust_sigma(present), min_sigma);
  return middle;
}

/// Exceptions are few: at most two, or a fifth.
std::optional<Split> split_of(const Spread& spread, const Middle& middle) {
  constexpr double far = 3.5;  // of 10 000 normal values two lie beyond
  std::vector<double> lower;
  for (const double one : middle.of)
    if (one < -far * middle.sigma) lower.push_back(one);
  if (lower.size() <= std::max<std::size_t>(2, spread.gpus / 5)) return std::nullopt;
  return Split{spread.test, spread.group, lower.size(), spread.gpus, -std::expm1(statistics::median(lower))};
}

/// A test over a group, in all runs.
struct Judged {
  Spread spread;
  std::vector<Deviations> by_run;
  Middle middle;
};

Judged judge(const Campaign& campaign, std::size_t test, std::size_t group, const std::vector<std::size_t>& members) {
  Judged judged;
  judged.spread.test = test;
  judged.spread.group = group;
  std::vector<double> all, slopes;
  for (int run = 0; run < campaign.runs; ++run) {
    std::vector<double> logs, clocks;
    for (const std::size_t gpu : members) {
      const double value = campaign.value(test, run, gpu);
      logs.push_back(log_of(campaign.tests[test], value));
      clocks.push_back(std::log(campaign.clock(test, run, gpu)));
      if (!std::isnan(value)) all.push_back(value);
    }
    judged.by_run.push_back(deviations_of(logs, clocks));
    judged.spread.gpus = std::max(judged.spread.gpus, judged.by_run.back().present);
    slopes.push_back(judged.by_run.back().clock_slope);
  }
  if (all.empty()) return judged;
  judged.spread.median = statistics::median(all);
  judged.spread.clock_slope = statistics::median(slopes);
  judged.middle = middle_of(judged.by_run, members.size());
  judged.spread.sigma = judged.middle.sigma;
  return judged;
}

/// Keeps what is slow for sure and reaches the effect that matters: among those confirmed, or among the suspects.
template <class Slow>
void keep(const Slow& one, const SlowOptions& options, std::vector<Slow>& confirmed, std::vector<Slow>& suspects) {
  if (one.deficit.ci95.high < options.min_effect || one.deficit.ci95.low <= 0.0) return;
  (one.confirmed == one.runs && one.runs >= options.min_runs ? confirmed : suspects).push_back(one);
}

template <class Slow>
void order(std::vector<Slow>& list) {
  std::ranges::stable_sort(list, std::ranges::greater(), [](const Slow& one) { return one.deficit.value; });
}

/// What healthy GPUs are taken to differ by where few are there. Costs of launches and of small commands are the
/// process's as much as the GPU's: two healthy H200s were up to 19 % apart in them.
double assumed_deviation(const Test& test) {
  constexpr double of_overheads = 0.08;
  const Resource* const row = find_resource(test.resource);
  return row != nullptr && row->group == CeilingGroup::overhead ? of_overheads : compare::card_deviation;
}

/// Few peers: against the upper median, by the spread that is assumed.
void find_slow_among_few(const Campaign& campaign, const SlowOptions& options, const std::vector<std::size_t>& who,
                         Spread& spread, Verdicts& verdicts) {
  const double assumed = assumed_deviation(campaign.tests[spread.test]), far = 4.0 * assumed;
  std::vector<std::vector<double>> deviations(who.size());
  for (int run = 0; run < campaign.runs; ++run) {
    std::vector<double> logs, present;
    for (const std::size_t gpu : who) {
      logs.push_back(log_of(campaign.tests[spread.test], campaign.value(spread.test, run, gpu)));
      if (!std::isnan(logs.back())) present.push_back(logs.back());
    }
    if (present.size() < 2) continue;
    if (run == 0) verdicts.comparisons += present.size();
    const double usual = *statistics::upper_median(std::move(present));
    for (std::size_t i = 0; i < who.size(); ++i)
      if (!std::isnan(logs[i])) deviations[i].push_back(logs[i] - usual);
  }
  if (campaign.runs >= options.min_runs) spread.smallest_found = -std::expm1(-far);
  for (std::size_t i = 0; i < who.size(); ++i) {
    if (deviations[i].empty()) continue;
    const auto confirmed = std::ranges::count_if(deviations[i], [&](double deviation) { return deviation < -far; });
    const double middle = statistics::median(deviations[i]);
    verdicts.deviations[spread.test * campaign.gpus.size() + who[i]] = static_cast<float>(middle);
    if (confirmed > 0)
      keep(SlowGpu{who[i], spread.test, deficit_of(middle, assumed), spread.gpus - 1, static_cast<int>(confirmed),
                   static_cast<int>(deviations[i].size())},
           options, verdicts.slow, verdicts.suspects);
  }
}

void find_slow_gpus(const Campaign& campaign, const SlowOptions& options, Verdicts& verdicts) {
  std::vector<std::vector<std::size_t>> members(campaign.groups.size());
  for (std::size_t gpu = 0; gpu < campaign.gpus.size(); ++gpu) members[campaign.gpus[gpu].group].push_back(gpu);
  const std::size_t gpus = campaign.gpus.size(), groups = members.size();
  verdicts.deviations.assign(campaign.tests.size() * gpus, std::numeric_limits<float>::quiet_NaN());
  std::vector<Judged> judged(campaign.tests.size() * groups);
  for_each_in_parallel(judged.size(), 1, [&](std::size_t i) {
    judged[i] = judge(campaign, i / groups, i % groups, members[i % groups]);
  });
  Discoveries discoveries(campaign.runs, options.false_discovery);
  for (Judged& one : judged) {
    const auto& who = members[one.spread.group];
    if (one.spread.gpus == 0) continue;
    const bool of_gpus = campaign.gpus[who.front()].device.kind == DeviceKind::gpu;
    if (of_gpus && one.spread.gpus > 1 && one.spread.gpus <= options.min_peers)
      find_slow_among_few(campaign, options, who, one.spread, verdicts);
    verdicts.spreads.push_back(one.spread);
    if (one.spread.gpus <= options.min_peers) continue;
    std::vector<std::size_t> whats;
    for (std::size_t i = 0; i < who.size(); ++i) {
      whats.push_back(one.spread.test * gpus + who[i]);
      verdicts.deviations[whats.back()] = static_cast<float>(one.middle.of[i]);
    }
    if (const auto split = split_of(one.spread, one.middle)) {
      verdicts.splits.push_back(*split);
      continue;
    }
    for (int run = 0; run < campaign.runs; ++run)
      if (const Deviations& of = one.by_run[static_cast<std::size_t>(run)]; of.present > options.min_peers)
        discoveries.add(run, of, whats);
  }
  verdicts.comparisons += discoveries.comparisons();
  std::vector<std::size_t> place_in_group(gpus);
  for (const auto& who : members)
    for (std::size_t i = 0; i < who.size(); ++i) place_in_group[who[i]] = i;
  for (const auto& [what, confirmed] : discoveries.found()) {
    const std::size_t test = what / gpus, gpu = what % gpus;
    const Judged& one = judged[test * groups + campaign.gpus[gpu].group];
    const std::size_t i = place_in_group[gpu];
    keep(SlowGpu{gpu, test, deficit_of(one.middle.of[i], one.middle.sigma), one.spread.gpus - 1, confirmed,
                 one.middle.runs[i]},
         options, verdicts.slow, verdicts.suspects);
  }
  if (campaign.runs < options.min_runs) return;
  // The first of all findings must be as rare as one in all comparisons.
  for (Spread& spread : verdicts.spreads) {
    const auto is_split = [&](const Split& one) { return one.test == spread.test && one.group == spread.group; };
    if (spread.gpus < options.min_peers + 1 || std::ranges::any_of(verdicts.splits, is_split)) continue;
    const double p = options.false_discovery / static_cast<double>(std::max<std::size_t>(discoveries.comparisons(), 1));
    double sigma = 0.0;
    for (const Deviations& run : judged[spread.test * groups + spread.group].by_run) sigma = std::max(sigma, run.sigma);
    const double depth = statistics::student_quantile(
        p, spread.gpus < many ? static_cast<double>(spread.gpus - 1) : std::numeric_limits<double>::infinity());
    spread.smallest_found =
        -std::expm1(-std::max(depth * sigma, -std::log1p(-options.min_effect) - statistics::normal_975 * spread.sigma));
  }
}

/// The links of one node in one test over one kind of path, as a table of senders and receivers.
struct LinkTable {
  std::size_t path = 0;
  std::vector<std::size_t> gpus;
  std::vector<std::size_t> links;
  [[nodiscard]] std::size_t place(std::size_t from, std::size_t to) const {
    const auto at = [&](std::size_t gpu) {
      return static_cast<std::size_t>(std::ranges::lower_bound(gpus, gpu) - gpus.begin());
    };
    return at(from) * gpus.size() + at(to);
  }
};

/// Polished run by run. Links between nodes make one table of the whole fleet where there are any.
std::vector<std::pair<std::size_t, LinkTable>> link_tables(const Campaign& campaign) {
  constexpr std::size_t max_table = 4096;  // GPUs: what is larger is left to the tests of each link
  using Key = std::tuple<std::size_t, std::size_t, std::string>;  // what is alike lies in one table
  std::map<Key, std::pair<std::set<std::size_t>, std::vector<std::size_t>>> tables;
  for (std::size_t i = 0; i < campaign.links.size(); ++i) {
    const Link& link = campaign.links[i];
    const std::string &from = campaign.gpus[link.from].node, &to = campaign.gpus[link.to].node;
    auto& [gpus, links] = tables[{link.test, link.path, from == to ? from : std::string()}];
    gpus.insert({link.from, link.to});
    links.push_back(i);
  }
  std::vector<std::pair<std::size_t, LinkTable>> result;
  for (auto& [key, table] : tables)
    if (table.first.size() > 2 && table.first.size() <= max_table)
      result.push_back(
          {std::get<0>(key), {std::get<1>(key), {table.first.begin(), table.first.end()}, std::move(table.second)}});
  return result;
}

Polish polished(const Campaign& campaign, std::size_t test, const LinkTable& table, int run) {
  std::vector<double> logs(table.gpus.size() * table.gpus.size(), Campaign::none);
  for (const std::size_t i : table.links) {
    const Link& link = campaign.links[i];
    logs[table.place(link.from, link.to)] =
        log_of(campaign.link_tests[test], link.values[static_cast<std::size_t>(run)]);
  }
  return median_polish(logs, table.gpus.size());
}

void find_slow_links(const Campaign& campaign, const SlowOptions& options, Verdicts& verdicts) {
  if (campaign.links.empty()) return;
  std::vector<std::vector<double>> residuals(static_cast<std::size_t>(campaign.runs),
                                             std::vector<double>(campaign.links.size(), Campaign::none));
  for (const auto& [test, table] : link_tables(campaign))
    for (int run = 0; run < campaign.runs; ++run) {
      const Polish polish = polished(campaign, test, table, run);
      for (const std::size_t i : table.links)
        residuals[static_cast<std::size_t>(run)][i] =
            polish.residuals[table.place(campaign.links[i].from, campaign.links[i].to)];
    }
  Discoveries discoveries(campaign.runs, options.false_discovery);
  // Links of one test and one path between GPUs of one group are alike.
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < campaign.links.size(); ++i)
    alike[{campaign.links[i].test, campaign.links[i].path, campaign.gpus[campaign.links[i].from].group}].push_back(i);
  std::vector<const std::vector<std::size_t>*> of_link(campaign.links.size());
  std::map<const std::vector<std::size_t>*, Middle> middles;
  for (const auto& [key, whats] : alike) {
    std::vector<Deviations> by_run;
    for (int run = 0; run < campaign.runs; ++run) {
      std::vector<double> some;
      for (const std::size_t i : whats) some.push_back(residuals[static_cast<std::size_t>(run)][i]);
      by_run.push_back(deviations_of(some, std::vector<double>(some.size(), Campaign::none)));
      if (by_run.back().present > options.min_peers) discoveries.add(run, by_run.back(), whats);
    }
    middles[&whats] = middle_of(by_run, whats.size());
    for (const std::size_t i : whats) of_link[i] = &whats;
  }
  for (const auto& [what, confirmed] : discoveries.found()) {
    const auto& whats = *of_link[what];
    const Middle& middle = middles[&whats];
    const auto i = static_cast<std::size_t>(std::ranges::lower_bound(whats, what) - whats.begin());
    keep(SlowLink{what, deficit_of(middle.of[i], middle.sigma), whats.size() - 1, confirmed, middle.runs[i]}, options,
         verdicts.slow_links, verdicts.suspect_links);
  }
  order(verdicts.slow_links);
  order(verdicts.suspect_links);
}

/// Appends a test, and returns where its values begin; all are absent yet.
std::size_t new_test(Campaign& campaign, Test test) {
  const std::size_t begin = campaign.values.size();
  campaign.tests.push_back(std::move(test));
  campaign.values.resize(begin + static_cast<std::size_t>(campaign.runs) * campaign.gpus.size(), Campaign::none);
  for (auto* const table : {&campaign.lows, &campaign.highs, &campaign.clocks})
    table->resize(campaign.values.size(), Campaign::none);
  return begin;
}

}  // namespace

void add_derived(Campaign& campaign) {
  const std::size_t measured = campaign.tests.size();
  std::vector<std::string> phases;
  for (const Test& test : campaign.tests)
    if (!contains(phases, test.phase)) phases.push_back(test.phase);
  for (const std::string& phase : phases) {
    std::vector<std::size_t> clocked;
    for (std::size_t test = 0; test < measured; ++test) {
      bool any = false;
      for (std::size_t i = campaign.place(test, 0, 0); i < campaign.place(test + 1, 0, 0) && !any; ++i)
        any = !std::isnan(campaign.clocks[i]);
      if (any && campaign.tests[test].phase == phase) clocked.push_back(test);
    }
    if (clocked.empty()) continue;
    new_test(campaign, {phase, std::string(clock_resource), "Hz"});
    for (int run = 0; run < campaign.runs; ++run)
      for (std::size_t gpu = 0; gpu < campaign.gpus.size(); ++gpu) {
        std::vector<double> clocks;
        for (const std::size_t test : clocked)
          if (const double clock = campaign.clock(test, run, gpu); !std::isnan(clock)) clocks.push_back(clock);
        if (!clocks.empty())
          campaign.values[campaign.place(campaign.tests.size() - 1, run, gpu)] = statistics::median(clocks);
      }
  }
  std::map<std::pair<std::size_t, std::size_t>, std::array<std::size_t, 2>> level_tests;
  for (const auto& [test, table] : link_tables(campaign)) {
    const auto [found, is_new] = level_tests.try_emplace({test, table.path});
    for (std::size_t way = 0; is_new && way < link_directions.size(); ++way) {
      Test level = campaign.link_tests[test];
      if (campaign.paths.size() > 1) level.resource += fmt::format(" ({})", campaign.paths[table.path]);
      level.resource += link_directions[way];
      found->second[way] = campaign.tests.size();
      new_test(campaign, std::move(level));
    }
    for (int run = 0; run < campaign.runs; ++run) {
      const Polish polish = polished(campaign, test, table, run);
      const double sign = is_time(campaign.link_tests[test]) ? -1.0 : 1.0;
      for (std::size_t i = 0; i < table.gpus.size(); ++i)
        for (std::size_t way = 0; way < link_directions.size(); ++way)
          campaign.values[campaign.place(found->second[way], run, table.gpus[i])] =
              std::exp(sign * (polish.overall + (way == 0 ? polish.rows : polish.columns)[i]));
    }
  }
}

Verdicts find_slow(const Campaign& campaign, const SlowOptions& options) {
  Verdicts verdicts;
  if (campaign.gpus.empty() || campaign.runs == 0) return verdicts;
  find_slow_gpus(campaign, options, verdicts);
  order(verdicts.slow);
  order(verdicts.suspects);
  find_slow_links(campaign, options, verdicts);
  return verdicts;
}

}  // namespace gpubench::fleet
