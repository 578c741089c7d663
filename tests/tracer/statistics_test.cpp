// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/storage/storage.h"
#include "tests/tracer/synthetic.h"
#include "tracer/recording.h"
#include "traces/readers.h"

namespace gpubench::kernel_trace {
namespace {

using gpubench::testing::SyntheticBuffer;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Two blocks of two warps on two SMs. The second block loads three times as long.
Trace sample(std::string_view name = "load") {
  SyntheticBuffer buffer(2, 2, 16);
  for (std::uint32_t block = 0; block < 2; ++block)
    for (std::uint32_t warp = 0; warp < 2; ++warp) {
      auto one = buffer.open(0, block, warp, block);
      const std::int64_t from = 100 + warp * 640, length = block == 0 ? 1000 : 3000;
      one.begin(from, 0).end(from + length, 0).begin(5000, 1).end(5100, 1).close(6400 + length);
    }
  const DecodeOptions options = {.names = {std::string(name), "wait"},
                                 .kernels = {"k"},
                                 .rate = Rate{.ns_per_tick = 0.5, .error = 1e-7},
                                 .host = {}};
  return Trace(std::make_shared<Recording>(decode(buffer.bytes(), options)));
}

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

TEST(Statistics, are_shown_as_shares_of_an_operation) {
  struct {
    std::map<std::string, double> shares;
    void counter(const std::string& name, double value, std::string_view unit) {
      shares[name] = value;
      EXPECT_EQ(unit, "%");
    }
  } state;
  show_phases(state, sample().statistics());
  EXPECT_NEAR(state.shares["in load"], 100.0 * 8000 / (2 * 7400 + 2 * 9400), 0.5);
  EXPECT_NEAR(state.shares["in wait"], 100.0 * 400 / (2 * 7400 + 2 * 9400), 0.5);
}

TEST(Statistics, are_written_as_text_csv_and_json) {
  const Trace trace = sample("a \"b\",\x1b[31m\n</script>");
  EXPECT_THAT(trace.table(), HasSubstr("k: warp "));
  EXPECT_THAT(trace.csv(), HasSubstr("range,,,\"a \"\"b\"\",\\x1b[31m\\n</script>\",4,"));
  const auto json = nlohmann::json::parse(trace.json());
  EXPECT_EQ(json["ranges"][0]["count"], 4);
  EXPECT_EQ(json["critical_warps"][0]["sm"], 1);
}

TEST(Files, are_read_again) {
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-kernel-trace-" + std::to_string(::getpid()));
  const Trace trace = sample("a \"b\"");
  trace.write(folder / "k.json");
  const traces::Timeline timeline = traces::read_chrome_json(folder / "k.json");
  EXPECT_THAT(timeline.slices, SizeIs(9));
  EXPECT_EQ(timeline.base_ns, trace.recording().base_ns);
  for (const char* name : {"k.perfetto-trace", "k.stats.json", "k.csv", "k.txt"}) {
    trace.write(folder / name);
    EXPECT_GT(std::filesystem::file_size(folder / name), 100) << name;
  }
  EXPECT_THROW(trace.write(folder / "k.png"), std::invalid_argument);
  EXPECT_THROW(trace.write(folder), std::exception);
  EXPECT_THROW(trace.write("/dev/full/k.json"), storage::WriteError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gpubench::kernel_trace
