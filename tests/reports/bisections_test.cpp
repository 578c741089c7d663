// SPDX-License-Identifier: Apache-2.0
#include "reports/bisections.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/result_table.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

Commit commit(const std::string& hash) { return {hash + std::string(30, '0'), "Jane Doe", "2026-07-01", "Unroll"}; }

BisectedChange change_of(const std::string& point, const std::vector<Commit>& commits) {
  BisectedChange change;
  change.point = point;
  change.device = "cuda:0";
  change.commits = commits;
  change.candidates = commits.size();
  change.probability = 0.99;
  change.ratio = {1.05, {1.04, 1.06}};
  change.causes = {
      {{compare::CauseKind::occupancy, "96 -> 168 registers a thread", 0.9}}, "10 % of the change is left.", ""};
  return change;
}

Bisected sample() {
  Bisected bisected;
  bisected.good = commit("aaaaaaaaaa");
  bisected.bad = commit("bbbbbbbbbb");
  bisected.commits = 64;
  bisected.changes = {change_of("gemm", {commit("cccccccccc")}), change_of("copy", {commit("cccccccccc")}),
                      change_of("sort", {commit("dddddddddd"), commit("eeeeeeeeee")})};
  bisected.measured = {{commit("cccccccccc"), 4, {{"gemm", {1.05, {1.04, 1.06}}}}}};
  bisected.left_out = {{commit("dddddddddd"), "it does not build"}};
  bisected.builds = 9;
  bisected.pairs = 40;
  bisected.seconds = 200.0;
  return bisected;
}

TEST(Bisections, TellTheCommitOnceWithAllItsPointsAndWhy) {
  const std::string text = console(sample(), {false, 100});
  EXPECT_THAT(text, HasSubstr("cccccccccc (Jane Doe, 2026-07-01): Unroll\n  gemm: 1.05x slower"));
  EXPECT_THAT(text, HasSubstr("96 -> 168 registers a thread (90 % of the change)"));
  EXPECT_THAT(text, HasSubstr("one of 2 commits, dddddddddd to eeeeeeeeee"));
  EXPECT_THAT(text, HasSubstr("git show cccccccccc"));
  EXPECT_THAT(text, HasSubstr("left out: dddddddddd: it does not build"));
  EXPECT_THAT(text, HasSubstr("2 of 3 changes found: 64 commits, 9 builds, 40 pairs of runs, 200 s."));
  EXPECT_EQ(text.find("(Jane Doe"), text.find("cccccccccc (Jane Doe") + 11);
  EXPECT_THAT(markdown(sample()), HasSubstr("- **gemm**: 1.05x slower"));
}

TEST(Bisections, HaveWholeHashesInFiles) {
  const auto document = nlohmann::json::parse(json(tables_of(sample()), "gpubench bisect", {}));
  EXPECT_EQ(document["changes"][0]["commit"], "cccccccccc" + std::string(30, '0'));
  EXPECT_EQ(document["changes"][0]["probability"], 0.99);
  EXPECT_EQ(document["causes"][0]["kind"], "occupancy");
  EXPECT_EQ(document["exit_code"], 1);
}

TEST(Bisections, EndWithTheRightCode) {
  Bisected bisected = sample();
  EXPECT_EQ(bisected.exit_code(), 1);
  bisected.changes.erase(bisected.changes.begin(), bisected.changes.begin() + 2);
  EXPECT_EQ(bisected.exit_code(), 4);
  bisected.changes.clear();
  EXPECT_EQ(bisected.exit_code(), 0);
  EXPECT_THAT(console(bisected, {false, 80}), HasSubstr("No point is slower in BAD"));
  bisected.undecided = {"gemm"};
  EXPECT_EQ(bisected.exit_code(), 4);
  bisected.undecided.clear();
  bisected.stopped = "the time budget is used up";
  EXPECT_EQ(bisected.exit_code(), 4);
}

TEST(Bisections, HostileTextStaysText) {
  Bisected bisected = sample();
  const std::string hostile = hostile_name();
  bisected.changes[0].point = bisected.changes[0].causes.list[0].text = hostile;
  for (Commit* each : {&bisected.changes[0].commits[0], &bisected.measured[0].commit, &bisected.left_out[0].first})
    each->subject = each->author = hostile;
  bisected.left_out[0].second = hostile;
  for (const std::string& text : {console(bisected, {false, 80}), markdown(bisected),
                                  json(tables_of(bisected), "gpubench bisect", {}), html(tables_of(bisected))}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_EQ(nlohmann::json(text).dump().empty(), false) << "it is UTF-8";
  }
  EXPECT_THAT(markdown(bisected), Not(HasSubstr("<script")));
  EXPECT_THAT(html(tables_of(bisected)), Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace gpubench::reports
