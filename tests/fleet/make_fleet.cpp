// SPDX-License-Identifier: Apache-2.0
// make_fleet DIR [key=number...]: writes the files of the ranks of a synthetic fleet.
// make_fleet --score [key=number...]: joins it in memory, and tells which planted GPUs were found, for campaigns= of
// it.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "fleet/slow.h"
#include "synthetic.h"

namespace {

using namespace gpubench;

struct Score {
  int planted = 0, found = 0, planted_tests = 0, found_tests = 0, false_gpus = 0, false_tests = 0;
};

Score score_of(const fleet::SyntheticFleet& plan) {
  fleet::Campaign campaign = fleet::synthetic_campaign(plan);
  fleet::add_derived(campaign);
  const fleet::Verdicts verdicts = fleet::find_slow(campaign, {});
  Score score;
  std::map<int, int> found;
  std::set<int> wrong;
  for (const fleet::SlowGpu& one : verdicts.slow) {
    const int rank = campaign.gpus[one.gpu].rank;
    if (plan.is_slow(rank) && campaign.tests[one.test].resource.starts_with(plan.slow_family(rank))) {
      ++found[rank];
      ++score.found_tests;
    } else {
      wrong.insert(rank);
      ++score.false_tests;
    }
  }
  for (int rank = 0; rank < plan.gpus; ++rank) {
    if (!plan.is_slow(rank)) continue;
    ++score.planted;
    for (const fleet::Test& test : campaign.tests)
      score.planted_tests += test.resource.starts_with(plan.slow_family(rank)) ? 1 : 0;
  }
  score.found = static_cast<int>(found.size());
  score.false_gpus = static_cast<int>(wrong.size());
  return score;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: make_fleet DIR|--score [key=number...]\n");
    return 64;
  }
  fleet::SyntheticFleet plan;
  int campaigns = 1;
  const std::map<std::string, int*> whole = {
      {"gpus", &plan.gpus},           {"resources", &plan.resources},   {"runs", &plan.runs},
      {"slow-gpus", &plan.slow_gpus}, {"slow-links", &plan.slow_links}, {"hot-nodes", &plan.hot_aisle_nodes},
      {"week", &plan.week},           {"campaigns", &campaigns}};
  const std::map<std::string, double*> real = {
      {"slow", &plan.slow}, {"between-gpus", &plan.between_gpus}, {"hot", &plan.hot_aisle}};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string key = word.substr(0, word.find('='));
    const auto number = number_in<double>(word.substr(std::min(key.size() + 1, word.size())));
    if (number && whole.contains(key))
      *whole.at(key) = static_cast<int>(*number);
    else if (number && real.contains(key))
      *real.at(key) = *number;
    else if (number && key == "seed")
      plan.seed = static_cast<std::uint64_t>(*number);
    else if (number && key == "links")
      plan.links = *number != 0.0;
    else {
      fmt::print(stderr, "unknown: {}\n", word);
      return 64;
    }
  }
  if (std::string_view(argv[1]) == "--score") {
    Score all;
    for (int i = 0; i < campaigns; ++i, ++plan.seed) {
      const double start = steady_seconds();
      const Score one = score_of(plan);
      fmt::print(
          "seed {}: {} of {} planted GPUs found ({} of {} tests), {} healthy GPUs called slow ({} tests); {:.1f} s\n",
          plan.seed, one.found, one.planted, one.found_tests, one.planted_tests, one.false_gpus, one.false_tests,
          steady_seconds() - start);
      all.planted += one.planted;
      all.found += one.found;
      all.planted_tests += one.planted_tests;
      all.found_tests += one.found_tests;
      all.false_gpus += one.false_gpus;
    }
    const auto percent = [](int found, int planted) {
      return planted == 0 ? std::string("none planted") : fmt::format("{:.2f} %", 100.0 * found / planted);
    };
    fmt::print("all: GPUs {}, tests {}, {} healthy GPUs in {} campaigns\n", percent(all.found, all.planted),
               percent(all.found_tests, all.planted_tests), all.false_gpus, campaigns);
    return 0;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  for_each_in_parallel(static_cast<std::size_t>(plan.gpus), 16, [&](std::size_t rank) {
    storage::write_file(folder / fleet::rank_file_name(static_cast<int>(rank)),
                        fleet::to_json_lines(fleet::synthetic_rank(plan, static_cast<int>(rank))));
  });
  return 0;
}
