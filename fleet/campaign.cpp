// SPDX-License-Identifier: Apache-2.0
#include "fleet/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "core/storage/storage.h"

namespace gpubench::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_cells = std::size_t{1} << 26;  ///< of each table: 512 MiB
constexpr double max_start_difference_seconds = 600.0;

/// What decides whether GPUs are alike, and how to say it.
constexpr std::array<std::pair<const char*, const char*>, 5> group_properties = {
    {{"power_limit_w", "{} W"}, {"mig", "MIG {}"}, {"ecc", "ECC {}"}, {"driver", "driver {}"}, {"topology", "{}"}}};

/// What GPUs of a group share, part by part.
std::vector<std::string> group_parts(const RankResult& result) {
  std::vector<std::string> parts = {result.device.name};
  for (const auto& [key, words] : group_properties) {
    const std::string value = result.device.property(key);
    parts.push_back(value.empty() ? "" : fmt::format(fmt::runtime(words), value));
  }
  parts.push_back("gpubench " + result.gpubench_version);
  return parts;
}

std::string who(const RankResult& result) { return fmt::format("rank {} ({})", result.rank, printable(result.node)); }

/// What decides among the results of several campaigns: the one that most have.
std::string most_common(const std::vector<RankResult>& results, std::string RankResult::*member) {
  std::map<std::string, int> counts;
  for (const RankResult& result : results) ++counts[result.*member];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most == counts.end() ? "" : most->first;
}

class Joiner {
 public:
  Joiner(std::vector<RankResult> results, std::vector<std::string> files, std::vector<Trouble> troubles)
      : results_(std::move(results)), is_in_(results_.size(), true) {
    campaign_.files = std::move(files);
    campaign_.troubles = std::move(troubles);
  }

  Campaign join() {
    leave_out_foreign();
    leave_out_repeated();
    tell_ends();
    tell_missing();
    tell_clocks();
    order_gpus();
    find_groups();
    tell_names();
    fill_tables();
    tell_absent();
    return std::move(campaign_);
  }

 private:
  template <class... Values>
  void tell(TroubleKind kind, fmt::format_string<const Values&...> words, const Values&... values) {
    campaign_.troubles.push_back({kind, fmt::format(words, values...)});
  }

  void leave_out_foreign() {
    campaign_.name = most_common(results_, &RankResult::campaign);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const RankResult& one = results_[i];
      if (one.campaign == campaign_.name) {
        campaign_.ranks = std::max(campaign_.ranks, one.ranks);
        continue;
      }
      is_in_[i] = false;
      tell(TroubleKind::foreign, "{} is of campaign '{}', not of '{}', and is left out.", campaign_.files[i],
           printable(one.campaign), printable(campaign_.name));
    }
  }

  void leave_out_repeated() {
    std::map<int, std::size_t> by_rank;
    std::map<std::string, std::vector<std::size_t>> by_uuid;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!is_in_[i]) continue;
      const auto [first, is_new] = by_rank.emplace(results_[i].rank, i);
      if (!is_new) {
        tell(TroubleKind::repeated, "{} and {} are both of rank {}: the second is left out.",
             campaign_.files[first->second], campaign_.files[i], results_[i].rank);
        is_in_[i] = false;
      } else if (const std::string uuid = results_[i].device.property("uuid"); !uuid.empty()) {
        by_uuid[uuid].push_back(i);
      }
    }
    for (const auto& [uuid, places] : by_uuid) {
      if (places.size() < 2) continue;
      std::vector<int> ranks;
      for (const std::size_t i : places) {
        ranks.push_back(results_[i].rank);
        is_in_[i] = false;
      }
      std::ranges::sort(ranks);
      tell(TroubleKind::repeated,
           "Ranks {} measured one GPU ({}) at once, so all of them are left out: bind each rank to a GPU of its own.",
           ranges_of(ranks), printable(uuid));
    }
  }

  void tell_ends() {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const RankResult& one = results_[i];
      if (!is_in_[i]) continue;
      for (const std::string& lost : one.lost) tell(TroubleKind::lost, "{}", printable(lost));
      if (!one.failure.empty())
        tell(TroubleKind::failed, "{}: {}", who(one), printable(one.failure));
      else if (!one.damage.empty())
        tell(TroubleKind::cut_off, "{}: {}. What stands before is used.", campaign_.files[i], one.damage);
      else if (one.ended_utc.empty())
        tell(TroubleKind::unfinished, "{} died or hangs: {}.", who(one), last_words(one));
      if (one.readings.empty() && one.failure.empty() && !one.ended_utc.empty())
        tell(TroubleKind::failed, "{} measured nothing{}.", who(one),
             one.absent.empty() ? std::string() : ": " + printable(one.absent.front().reason));
    }
  }
  static std::string last_words(const RankResult& one) {
    if (one.readings.empty()) return "it wrote no reading";
    const Reading& last = one.readings.back();
    return fmt::format("its last reading is of phase {}, run {}", printable(one.tests[last.test].phase), last.run + 1);
  }

  void tell_missing() {
    std::set<int> there;
    for (const RankResult& one : results_) there.insert(one.rank);
    std::vector<int> missing;
    for (int rank = 0; rank < campaign_.ranks; ++rank)
      if (!there.contains(rank)) missing.push_back(rank);
    if (!missing.empty())
      tell(TroubleKind::missing, "{} of {} left no file that can be read: {}.", plural(missing.size(), "rank"),
           campaign_.ranks, ranges_of(missing));
  }

  void tell_clocks() {
    std::vector<double> starts;
    std::vector<std::optional<double>> each;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const auto start = is_in_[i] ? parse_utc(results_[i].started_utc) : std::nullopt;
      each.push_back(start ? std::optional(static_cast<double>(*start)) : std::nullopt);
      if (start) starts.push_back(*each.back());
    }
    if (starts.empty()) return;
    const double middle = statistics::median(starts);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (campaign_.started_utc.empty() && each[i]) campaign_.started_utc = results_[i].started_utc;
      if (!is_in_[i] || !each[i] || std::abs(*each[i] - middle) <= max_start_difference_seconds) continue;
      tell(TroubleKind::clock, "{} began {} {} than the others, or its node's clock is off.", who(results_[i]),
           format_seconds(std::abs(*each[i] - middle)), *each[i] < middle ? "earlier" : "later");
    }
  }

  void order_gpus() {
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (is_in_[i] && !results_[i].readings.empty()) order_.push_back(i);
    std::ranges::sort(order_, {}, [&](std::size_t i) {
      const RankResult& one = results_[i];
      return std::tuple(std::string_view(one.node), one.local_rank, one.rank);
    });
    for (const std::size_t i : order_) {
      const RankResult& one = results_[i];
      campaign_.gpus.push_back({one.rank, one.local_rank, one.node, one.device, 0, i});
      for (const Reading& reading : one.readings) campaign_.runs = std::max(campaign_.runs, reading.run + 1);
    }
  }

  void find_groups() {
    std::map<std::vector<std::string>, std::size_t> groups;
    for (std::size_t gpu = 0; gpu < campaign_.gpus.size(); ++gpu) {
      const auto [found, is_new] = groups.emplace(group_parts(results_[order_[gpu]]), campaign_.groups.size());
      if (is_new) campaign_.groups.push_back({});
      campaign_.gpus[gpu].group = found->second;
      ++campaign_.groups[found->second].gpus;
    }
    // What all share needs no words beside the model.
    for (const auto& [parts, number] : groups) {
      std::vector<std::string> told = {parts.front()};
      for (std::size_t part = 1; part < parts.size(); ++part)
        if (!parts[part].empty() && std::ranges::any_of(groups, [&, &parts = parts](const auto& other) {
              return other.first[part] != parts[part];
            }))
          told.push_back(parts[part]);
      campaign_.groups[number].name = joined(told, ", ");
    }
    if (groups.size() > 1)
      tell(TroubleKind::mixed, "The GPUs are of {} kinds, each compared with its own alone: {}.", groups.size(),
           joined(campaign_.groups, "; ",
                  [](const Group& group) { return fmt::format("{} of {}", group.gpus, printable(group.name)); }));
  }

  void tell_names() {
    std::map<std::pair<std::string, int>, std::vector<int>> places;
    for (const Gpu& gpu : campaign_.gpus) places[{gpu.node, gpu.local_rank}].push_back(gpu.rank);
    std::map<std::string, std::vector<int>> repeated;
    for (const auto& [place, ranks] : places)
      if (ranks.size() > 1) std::ranges::copy(ranks, std::back_inserter(repeated[place.first]));
    for (auto& [node, ranks] : repeated) {
      std::ranges::sort(ranks);
      tell(TroubleKind::mixed,
           "Several machines are called {}: ranks {} share their places there. Findings tell them "
           "apart by UUID and rank.",
           printable(node), ranges_of(ranks));
    }
  }

  void fill_tables() {
    std::map<Test, std::size_t> tests, link_tests;
    std::map<int, std::size_t> gpu_of_rank;
    // In the order of the first GPU that has them.
    const auto number = [](std::map<Test, std::size_t>& known, std::vector<Test>& list, const Test& test) {
      const auto [found, is_new] = known.emplace(test, list.size());
      if (is_new) list.push_back(test);
      return found->second;
    };
    std::vector<std::vector<std::size_t>> numbers(order_.size());
    for (std::size_t gpu = 0; gpu < order_.size(); ++gpu) {
      gpu_of_rank[campaign_.gpus[gpu].rank] = gpu;
      for (const Test& test : results_[order_[gpu]].tests) {
        Test plain = test;
        plain.peer.reset();
        numbers[gpu].push_back(test.peer ? number(link_tests, campaign_.link_tests, plain)
                                         : number(tests, campaign_.tests, plain));
      }
    }
    const std::size_t runs = static_cast<std::size_t>(campaign_.runs), gpus = campaign_.gpus.size();
    if (campaign_.tests.size() > max_cells / std::max<std::size_t>(runs * gpus, 1))
      throw std::length_error(fmt::format("{} tests x {} runs x {} GPUs are too many to join at once: join fewer files",
                                          campaign_.tests.size(), runs, gpus));
    campaign_.values.assign(campaign_.tests.size() * runs * gpus, Campaign::none);
    for (auto* const table : {&campaign_.lows, &campaign_.highs, &campaign_.clocks}) *table = campaign_.values;
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> links;
    std::map<std::string, std::size_t> paths;
    const auto path_number = [&](const RankResult& one, int peer) {
      const auto told = one.paths.find(peer);
      const std::string path = told == one.paths.end() ? "" : told->second;
      const auto [found, is_new] = paths.emplace(path, campaign_.paths.size());
      if (is_new) campaign_.paths.push_back(path);
      return found->second;
    };
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      const RankResult& one = results_[order_[gpu]];
      for (const Reading& reading : one.readings) {
        const Test& test = one.tests[reading.test];
        const std::size_t test_number = numbers[gpu][reading.test];
        if (!test.peer) {
          const std::size_t place = campaign_.place(test_number, reading.run, gpu);
          campaign_.values[place] = reading.value.value;
          campaign_.lows[place] = reading.value.ci95.low;
          campaign_.highs[place] = reading.value.ci95.high;
          campaign_.clocks[place] = reading.clock_hz.value_or(Campaign::none);
        } else if (const auto to = gpu_of_rank.find(*test.peer); to != gpu_of_rank.end() && to->second != gpu) {
          const auto [link, is_new] = links.emplace(std::tuple(test_number, gpu, to->second), campaign_.links.size());
          if (is_new)
            campaign_.links.push_back(
                {test_number, gpu, to->second, std::vector(runs, Campaign::none), path_number(one, *test.peer)});
          campaign_.links[link->second].values[static_cast<std::size_t>(reading.run)] = reading.value.value;
        }
      }
    }
  }

  void tell_absent() {
    std::map<std::tuple<std::string, std::string, std::string>, std::set<std::size_t>> gpus;
    for (std::size_t i = 0; i < results_.size(); ++i)
      for (const AbsentReading& one : results_[i].absent)
        if (is_in_[i]) gpus[{one.phase, one.resource, one.reason}].insert(i);
    for (const auto& [what, who] : gpus)
      campaign_.absent.push_back({std::get<0>(what), std::get<1>(what), std::get<2>(what), who.size()});
  }

  std::vector<RankResult> results_;
  std::vector<bool> is_in_;
  std::vector<std::size_t> order_;  ///< of the results, as the GPUs stand
  Campaign campaign_;
};

}  // namespace

std::string Gpu::uuid() const {
  const std::string uuid = device.property("uuid");
  return uuid.empty() ? fmt::format("{} rank {}", node, rank) : uuid;
}

std::string ranges_of(const std::vector<int>& ascending, std::size_t max_parts) {
  std::string text;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < ascending.size();) {
    if (parts++ == max_parts) return text + fmt::format(" and {} more", ascending.size() - i);
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + fmt::format("{}", ascending[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : " to ", ascending[last]);
    i = last + 1;
  }
  return text;
}

Campaign join(std::vector<RankResult> results, std::vector<std::string> files, std::vector<Trouble> troubles) {
  return Joiner(std::move(results), std::move(files), std::move(troubles)).join();
}

Campaign join_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (is_rank_file_name(entry->path().filename().string())) paths.push_back(entry->path());
  if (error)
    throw storage::ReadError(fmt::format("{} cannot be read: {}. Give the folder that the ranks wrote to.",
                                         folder.string(), error.message()));
  if (paths.empty())
    throw storage::ReadError(fmt::format(
        "{} has no results of ranks (rank-*.jsonl). Give the folder that the ranks wrote to.", folder.string()));
  if (paths.size() > static_cast<std::size_t>(max_ranks))
    throw storage::ReadError(
        fmt::format("{} has {} results of ranks, over the limit of {}.", folder.string(), paths.size(), max_ranks));
  std::ranges::sort(paths);
  std::vector<std::optional<RankResult>> read(paths.size());
  std::vector<std::string> failures(paths.size());
  for_each_in_parallel(paths.size(), 16, [&](std::size_t i) {
    try {
      read[i] = read_rank(paths[i]);
    } catch (const storage::ReadError& problem) {
      failures[i] = problem.what();
    }
  });
  std::vector<RankResult> results;
  std::vector<std::string> files;
  std::vector<Trouble> troubles;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!read[i]) {
      troubles.push_back({TroubleKind::unreadable, failures[i]});
      continue;
    }
    results.push_back(*std::move(read[i]));
    files.push_back(paths[i].filename().string());
  }
  if (results.empty()) throw storage::ReadError(failures.front());
  return join(std::move(results), std::move(files), std::move(troubles));
}

Campaign change_of(const Campaign& base, const Campaign& next) {
  std::map<std::string, std::size_t> before;
  for (std::size_t gpu = 0; gpu < base.gpus.size(); ++gpu) before.emplace(base.gpus[gpu].uuid(), gpu);
  Campaign change;
  change.name = fmt::format("{} to {}", base.name, next.name);
  change.started_utc = next.started_utc;
  change.runs = std::min(base.runs, next.runs);
  change.groups = next.groups;
  change.files = next.files;
  change.ranks = next.ranks;
  std::vector<std::size_t> gpus_before, gpus_now, tests_before, tests_now;
  for (std::size_t gpu = 0; gpu < next.gpus.size(); ++gpu)
    if (const auto found = before.find(next.gpus[gpu].uuid()); found != before.end()) {
      change.gpus.push_back(next.gpus[gpu]);
      gpus_before.push_back(found->second);
      gpus_now.push_back(gpu);
      before.erase(found);
    } else {
      change.troubles.push_back({TroubleKind::foreign, fmt::format("{} ({}) is in the second campaign alone.",
                                                                   next.gpus[gpu].name(), next.gpus[gpu].uuid())});
    }
  for (const auto& [uuid, gpu] : before)
    change.troubles.push_back(
        {TroubleKind::foreign, fmt::format("{} ({}) is in the first campaign alone.", base.gpus[gpu].name(), uuid)});
  if (change.gpus.empty()) change.troubles = {{TroubleKind::foreign, "No GPU is in both campaigns, by its UUID."}};
  for (Group& group : change.groups) group.gpus = 0;
  for (const Gpu& gpu : change.gpus) ++change.groups[gpu.group].gpus;
  for (std::size_t test = 0; test < next.tests.size(); ++test)
    if (const auto found = std::ranges::find(base.tests, next.tests[test]); found != base.tests.end()) {
      change.tests.push_back(next.tests[test]);
      change.tests.back().unit = "times";
      tests_before.push_back(static_cast<std::size_t>(found - base.tests.begin()));
      tests_now.push_back(test);
    }
  change.values.resize(change.tests.size() * static_cast<std::size_t>(change.runs) * change.gpus.size());
  change.clocks = change.values;
  change.lows = change.highs = std::vector(change.values.size(), Campaign::none);
  for (std::size_t test = 0; test < change.tests.size(); ++test)
    for (int run = 0; run < change.runs; ++run)
      for (std::size_t gpu = 0; gpu < change.gpus.size(); ++gpu) {
        const std::size_t place = change.place(test, run, gpu);
        change.values[place] =
            next.value(tests_now[test], run, gpus_now[gpu]) / base.value(tests_before[test], run, gpus_before[gpu]);
        change.clocks[place] =
            next.clock(tests_now[test], run, gpus_now[gpu]) / base.clock(tests_before[test], run, gpus_before[gpu]);
      }
  return change;
}

}  // namespace gpubench::fleet
