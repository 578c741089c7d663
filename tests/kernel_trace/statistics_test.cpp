// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "kernel_trace/recording.h"
#include "tests/kernel_trace/a_trace.h"
#include "tests/matchers.h"

namespace gpubench::kernel_trace {
namespace {

TEST(Statistics, sum_ranges_and_say_how_uneven_they_are) {
  const Statistics statistics = sample().statistics();
  ASSERT_THAT(statistics.ranges, SizeIs(2));
  EXPECT_EQ(statistics.ranges[0].name, "load");
  EXPECT_EQ(statistics.ranges[0].count, 4);
  EXPECT_NEAR(statistics.ranges[0].total_ns, 8000, 4);
  EXPECT_NEAR(statistics.ranges[0].p50_ns, 2000, 4);
  EXPECT_NEAR(statistics.ranges[0].max_ns, 3000, 2);
  EXPECT_NEAR(statistics.imbalance[0].sms, 1.5, 0.01);
  EXPECT_NEAR(statistics.imbalance[0].blocks, 1.5, 0.01);
  EXPECT_NEAR(statistics.imbalance[1].warps, 1.0, 0.03);
  ASSERT_THAT(statistics.by_sm, SizeIs(4));
  EXPECT_NEAR(statistics.by_sm[1].total_ns, 6000, 4);
  ASSERT_THAT(statistics.gaps, SizeIs(2));
  EXPECT_EQ(statistics.gaps[0].count, 2);
  EXPECT_NEAR(statistics.gaps[0].mean_ns, 640, 4);
  EXPECT_NEAR(statistics.gaps[1].max_ns, 0, 4);
  ASSERT_THAT(statistics.critical, SizeIs(1));
  EXPECT_EQ(statistics.critical[0].block, 1);
  EXPECT_EQ(statistics.events, 16);
}

TEST(Statistics, take_off_what_is_asked_for_and_say_so) {
  const Trace trace = sample();
  EXPECT_EQ(trace.statistics().event_ns, 0.0);
  const Trace corrected = trace.corrected(20.0);
  EXPECT_NEAR(corrected.statistics().ranges[0].total_ns, 8000 - 4 * 20, 4);
  EXPECT_THAT(corrected.table(), HasSubstr("20.0 ns taken off for each event in a range"));
  EXPECT_EQ(trace.corrected(1e9).statistics().ranges[0].total_ns, 0.0);
  EXPECT_THROW((void)trace.corrected(-1.0), std::invalid_argument);
}

TEST(Statistics, take_off_scopes_what_an_empty_one_shows) {
  SyntheticBuffer buffer(1, 1, 16);
  buffer.open(0, 0, 0, 0).scope(1200, 2200, 0).begin(2400, 1).end(3400, 1).scope(1000, 4000, 2).close(6400);
  const DecodeOptions options = {
      .names = {"inner", "range", "outer"}, .kernels = {}, .rate = Rate{.ns_per_tick = 0.5, .error = 1e-7}, .host = {}};
  const Trace trace(std::make_shared<Recording>(decode(buffer.bytes(), options)));
  const Trace corrected = trace.corrected(20.0, 6.0);
  std::map<std::string, double> before, after;
  for (const auto& range : trace.statistics().ranges) before[range.name] = range.total_ns;
  for (const auto& range : corrected.statistics().ranges) after[range.name] = range.total_ns;
  EXPECT_NEAR(before["inner"] - after["inner"], 6.0, 1e-6);
  EXPECT_NEAR(before["range"] - after["range"], 20.0, 1e-6);
  EXPECT_NEAR(before["outer"] - after["outer"], 4 * 20.0 + 6.0, 1e-6) << "two events and a scope, which is two";
  EXPECT_THAT(corrected.table(), HasSubstr("6.00 ns taken off for each scope"));
  EXPECT_THAT(corrected.json(), HasSubstr("\"scope_ns_taken_off\": 6"));
  EXPECT_THROW((void)trace.corrected(0.0, -1.0), std::invalid_argument);
}

TEST(Statistics, are_shown_as_shares_of_an_operation) {
  struct {
    std::map<std::string, double> shares;
    std::map<std::string, double> uneven;
    void phase(const std::string& name, double share, double mean_seconds, std::int64_t ranges, double most) {
      shares[name] = share;
      uneven[name] = most;
      EXPECT_NEAR(mean_seconds, name == "load" ? 2e-6 : 1e-7, 1e-8);
      EXPECT_EQ(ranges, 4);
    }
  } state;
  show_phases(state, sample().statistics());
  EXPECT_NEAR(state.shares["load"], 8000.0 / (2 * 7400 + 2 * 9400), 0.005);
  EXPECT_NEAR(state.uneven["load"], 1.5, 0.01);
  EXPECT_NEAR(state.shares["wait"], 400.0 / (2 * 7400 + 2 * 9400), 0.005);
}

TEST(Statistics, are_written_as_text_csv_and_json) {
  const Trace trace = sample("a \"b\",\x1b[31m\n</script>");
  EXPECT_THAT(trace.table(), HasSubstr("k: warp "));
  EXPECT_THAT(trace.csv(), HasSubstr("range,,,\"a \"\"b\"\",\\x1b[31m\\n</script>\",4,"));
  const auto json = nlohmann::json::parse(trace.json());
  EXPECT_EQ(json["ranges"][0]["count"], 4);
  EXPECT_EQ(json["critical_warps"][0]["sm"], 1);
}

}  // namespace
}  // namespace gpubench::kernel_trace
