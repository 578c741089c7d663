// SPDX-License-Identifier: Apache-2.0
#include "main/worker/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/storage/storage.h"
#include "reports/reports.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

/// Points "a" to "d" of a CPU, "b" twice.
Plan a_plan() {
  Plan plan;
  plan.device.id = "cpu";
  Keys keys;
  for (const char* name : {"a", "b", "b", "c", "d"}) {
    plan.points.push_back({name, name, {}, 0});
    plan.keys.push_back(keys.next("cpu", name, 0));
  }
  return plan;
}

Measurement timed(const Plan& plan, std::size_t position, double seconds) {
  Measurement measurement;
  measurement.device = "cpu";
  measurement.make_primary().seconds =
      Summary{1, seconds, seconds, seconds, seconds, seconds, seconds, 0.0, {seconds, seconds}};
  return named(std::move(measurement), plan.points[position]);
}

std::vector<std::string> names_in(const Run& run) {
  std::vector<std::string> names;
  for (const Point& point : run.points) names.push_back(point.measurement.name);
  return names;
}

class KeptPointsTest : public testing::Test {
 protected:
  KeptPointsTest() { std::filesystem::remove(file_); }
  ~KeptPointsTest() override { std::filesystem::remove(file_); }
  Plan plan_ = a_plan();
  std::string file_ = testing::TempDir() + "gpubench-kept-points.json";
};

TEST(Checkpoint, AreRunsAndNotWhatOtherToolsRead) {
  EXPECT_TRUE(reports::writes_run("a.b.JSON"));
  for (const char* name : {"run.gbench.json", "run.nvbench.json", "run.csv", "run.prom"})
    EXPECT_FALSE(reports::writes_run(name)) << name;
}

TEST_F(KeptPointsTest, TheFirstPointIsOnDiskAtOnceAndTheOrderIsThePlans) {
  Checkpoint kept({}, {file_, "report.html"}, {plan_});
  EXPECT_EQ(kept.file(), file_);
  EXPECT_EQ(kept.planned(), 5U);
  kept.put(plan_.keys[3], timed(plan_, 3, 3.0));
  EXPECT_EQ(storage::read_run(file_).points.size(), 1U);
  kept.put(plan_.keys[0], timed(plan_, 0, 1.0));
  EXPECT_FALSE(kept.due());
  kept.write();
  const gpubench::Run run = storage::read_run(file_);
  EXPECT_THAT(names_in(run), ElementsAre("a", "c"));
  EXPECT_THAT(run.warnings.back(), HasSubstr("2 of 5"));
}

TEST_F(KeptPointsTest, WithoutPointsAnOlderFileIsLeftAlone) {
  storage::write_file(file_, "precious");
  Checkpoint kept({}, {file_}, {plan_});
  kept.write();
  EXPECT_EQ(std::filesystem::file_size(file_), 8U);
}

TEST_F(KeptPointsTest, ResumesWhatIsPlannedAndCountsTheRest) {
  gpubench::Run earlier;
  for (const std::size_t position : {0U, 1U, 2U})
    earlier.points.push_back({timed(plan_, position, 1.0 + static_cast<double>(position)), std::nullopt});
  Measurement other = timed(plan_, 0, 9.0);
  other.repetition = 7;
  earlier.points.push_back({other, std::nullopt});
  Checkpoint kept({}, {}, {plan_});
  EXPECT_EQ(kept.resume(earlier), 1U);
  EXPECT_EQ(kept.count(), 3U);
  ASSERT_NE(kept.find(plan_.keys[2]), nullptr);
  EXPECT_EQ(kept.find(plan_.keys[1])->seconds()->median, 2.0);
  EXPECT_EQ(kept.find(plan_.keys[2])->seconds()->median, 3.0) << "the second of one name";
  EXPECT_EQ(kept.find(plan_.keys[3]), nullptr);
}

TEST_F(KeptPointsTest, AFileThatCannotBeWrittenEndsNothing) {
  Checkpoint kept({}, {"/proc/none/run.json"}, {plan_});
  kept.put(plan_.keys[0], timed(plan_, 0, 1.0));
  EXPECT_EQ(kept.file(), "");
  EXPECT_EQ(kept.count(), 1U);
}

TEST_F(KeptPointsTest, KnowsWhatCannotBeResumed) {
  gpubench::Run earlier;
  earlier.context.program = "bench";
  earlier.context.gpubench_version = "0.1";
  earlier.devices = {plan_.device};
  earlier.devices[0].units = 8;
  Context context = earlier.context;
  EXPECT_FALSE(why_not_resumable(earlier, context, earlier.devices, "warm").has_value());
  EXPECT_THAT(why_not_resumable(earlier, context, {plan_.device}, "warm").value_or(""), HasSubstr("threads was 8"));
  context.program = "other";
  EXPECT_THAT(why_not_resumable(earlier, context, earlier.devices, "warm").value_or(""),
              HasSubstr("it is a run of bench, not other"));
  context = earlier.context;
  context.gpubench_version = "0.2";
  EXPECT_THAT(why_not_resumable(earlier, context, earlier.devices, "warm").value_or(""), HasSubstr("now 0.2"));
  context = earlier.context;
  Measurement cold = timed(plan_, 0, 1.0);
  cold.cache_state = "cold";
  earlier.points.push_back({cold, std::nullopt});
  EXPECT_THAT(why_not_resumable(earlier, context, earlier.devices, "warm").value_or(""), HasSubstr("were cold"));
  EXPECT_FALSE(why_not_resumable(earlier, context, earlier.devices, "cold").has_value());
}

}  // namespace
}  // namespace gpubench
