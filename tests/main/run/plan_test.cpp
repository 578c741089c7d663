// SPDX-License-Identifier: Apache-2.0
#include "main/run/plan.h"

#include <gpubench/gpubench.h>
#include <gtest/gtest.h>

#include "bench/google/google_runner.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

void added_to(State& state) {
  state.measure([] {});
}
HOST_BENCHMARK(added_to)->ArgName("n")->Arg(1024)->Arg(4096);
void filtered(State& state) { added_to(state); }
HOST_BENCHMARK(filtered)->ArgName("n")->Arg(1024)->Arg(4096);
void resumed(State& state) { added_to(state); }
HOST_BENCHMARK(resumed)->ArgNames({"n", "k"})->Args({1024, 3});

Device host() {
  Device device;
  device.id = "cpu";
  device.kind = DeviceKind::cpu;
  return device;
}

Point judged(const bench::PointName& name, Regime regime) {
  Point point;
  point.measurement.name = name.name;
  point.measurement.operation = name.operation;
  point.measurement.arguments = name.arguments;
  point.measurement.device = "cpu";
  point.measurement.make_primary().clock = TimingMode::host;
  point.measurement.make_primary().seconds = Summary{};
  point.measurement.make_primary().seconds->count = 10;
  point.measurement.make_primary().seconds->median = 1e-3;
  point.verdict = Verdict{};
  point.verdict->regime = regime;
  point.verdict->confidence = 0.99;
  return point;
}

/// The smaller half of a plan's points under overhead, the others under memory.
Run judged(const Plan& plan) {
  Run run;
  for (const auto& name : plan.points)
    run.points.push_back(judged(name, name.arguments.front().value <= 1024 ? Regime::overhead : Regime::memory));
  return run;
}

class Adaptive : public testing::Test {
 protected:
  static void SetUpTestSuite() { bench::initialize_google("main_test", {}); }
};

TEST_F(Adaptive, SizesAreRegisteredAsIfTheAuthorHad) {
  const std::string filter = "^added_to/";
  std::vector<Plan> plans = {plan_of(host(), filter)};
  ASSERT_THAT(plans[0].points, SizeIs(2));
  AddedSizes added(filter, 2);
  EXPECT_EQ(added.add(judged(plans[0]), plans), 1U);
  ASSERT_THAT(plans[0].points, SizeIs(3));
  EXPECT_EQ(plans[0].points[2].name, "added_to/n:2048");
  EXPECT_EQ(added.add(judged(plans[0]), plans), 1U);
  EXPECT_EQ(plans[0].points[3].name, "added_to/n:1536");
  EXPECT_EQ(added.add(judged(plans[0]), plans), 0U) << "two are the limit";
  EXPECT_THAT(plans[0].keys, SizeIs(4));
  gpubench::Run run = judged(plans[0]);
  run.boundaries = {{"added_to", "cpu", "n", "launch", "dram", 1200.0, Interval{1000.0, 1500.0}, Placement::at},
                    {"added_to", "cpu", "n", "dram", "fp32", 9e9, std::nullopt, Placement::above}};
  EXPECT_EQ(added.summary(run),
            "2 sizes added; 0 of 1 boundaries are within 5 %; not added_to's launch to DRAM (the limit of 2 sizes is "
            "reached)");
}

TEST_F(Adaptive, SizesThatTheFilterDoesNotChooseAreLeftOut) {
  const std::string filter = "^filtered/n:(1024|4096)/";
  std::vector<Plan> plans = {plan_of(host(), filter)};
  AddedSizes added(filter, 16);
  EXPECT_EQ(added.add(judged(plans[0]), plans), 0U);
  EXPECT_THAT(plans[0].points, SizeIs(2));
  EXPECT_THAT(added.summary({}), HasSubstr("0 sizes added"));
  EXPECT_THAT(added.summary({}), HasSubstr("1 more sizes are left out by the filter"));
}

TEST_F(Adaptive, AnEarlierRunsSizesAreTakenOver) {
  const std::string filter = "^resumed/";
  std::vector<Plan> plans = {plan_of(host(), filter)};
  const bench::PointName known{"", "resumed", {{"n", 1448}, {"k", 3}}, 0};
  const bench::PointName of_others{"", "nobody", {{"n", 1448}, {"k", 3}}, 0};
  const bench::PointName other_names{"", "resumed", {{"n", 1448}, {"l", 3}}, 0};
  gpubench::Run earlier;
  for (const auto& name : {known, known, of_others, other_names})
    earlier.points.push_back(judged(name, Regime::memory));
  AddedSizes added(filter, 16);
  added.take_over(earlier, plans);
  EXPECT_EQ(added.all(), (std::vector<AddedSize>{{"resumed", {{"n", 1448}, {"k", 3}}}}));
  ASSERT_THAT(plans[0].points, SizeIs(2));
  EXPECT_EQ(plans[0].points[1].name, "resumed/n:1448/k:3");
}

}  // namespace
}  // namespace gpubench
