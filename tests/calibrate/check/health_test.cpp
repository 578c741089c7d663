// SPDX-License-Identifier: Apache-2.0
// A calibration beside figures of its kind, and several GPUs beside each other.
#include "calibrate/check/health.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/matchers.h"

namespace gpubench::calibrate {
namespace {

Ceiling ceiling_of(const std::string& resource, double value, double half_width = 0.0, const std::string& unit = "B/s",
                   CeilingGroup group = CeilingGroup::memory) {
  Ceiling result;
  result.resource = resource;
  result.value = value;
  result.unit = unit;
  result.ci95 = {value - half_width, value + half_width};
  result.group = group;
  return result;
}

Calibration gpu(const std::string& id, const std::vector<Ceiling>& ceilings) {
  Calibration result;
  result.device.id = id;
  result.device.kind = DeviceKind::gpu;
  result.device.name = "Made Up 1";
  result.device.units = 10;
  result.device.properties["power_limit_w"] = "300";
  result.ceilings = ceilings;
  return result;
}

const std::vector<ReferenceGpu> references = {{"Made Up",
                                               {"Made Up 1", "Made Up 1 Rev B"},
                                               10,
                                               300.0,
                                               {{"dram-read", "B/s", {95.0, 100.0}, 0.03, "a test"},
                                                {"latency-dram", "s", {2.0, 2.0}, 0.05, "a test"},
                                                {"tensor-bf16", "FLOP/s", {500.0, 500.0}, 0.08, "a test"}}}};

BandCheck only_check(const Calibration& calibration) {
  const auto health = assess(calibration, references);
  EXPECT_TRUE(health && health->checks.size() == 1u);
  return health && !health->checks.empty() ? health->checks.front() : BandCheck{};
}

TEST(Assess, InsideBelowAndAbove) {
  EXPECT_EQ(only_check(gpu("cuda:0", {ceiling_of("dram-read", 97.0)})).standing, Standing::inside);
  const BandCheck within = only_check(gpu("cuda:0", {ceiling_of("dram-read", 93.0)}));
  EXPECT_EQ(within.standing, Standing::inside);
  EXPECT_LT(within.difference, 0.0);  // told all the same
  const BandCheck below = only_check(gpu("cuda:0", {ceiling_of("dram-read", 89.3)}));
  EXPECT_EQ(below.standing, Standing::below);
  EXPECT_DOUBLE_EQ(below.difference, 89.3 / 95.0 - 1.0);
  EXPECT_TRUE(below.worse);
  const BandCheck above = only_check(gpu("cuda:0", {ceiling_of("dram-read", 110.0)}));
  EXPECT_EQ(above.standing, Standing::above);
  EXPECT_DOUBLE_EQ(above.difference, 110.0 / 100.0 - 1.0);
  EXPECT_FALSE(above.worse);
}

TEST(Assess, AnIntervalThatReachesInIsInside) {
  EXPECT_EQ(only_check(gpu("cuda:0", {ceiling_of("dram-read", 89.3, 4.0)})).standing, Standing::inside);
  EXPECT_EQ(only_check(gpu("cuda:0", {ceiling_of("dram-read", 89.3, 1.0)})).standing, Standing::below);
}

TEST(Assess, AboveIsWorseForTimes) {
  const auto check = only_check(gpu("cuda:0", {ceiling_of("latency-dram", 2.2, 0.0, "s", CeilingGroup::latency)}));
  EXPECT_EQ(check.standing, Standing::above);
  EXPECT_TRUE(check.worse);
}

TEST(Assess, SaysWhyThereIsNothingToSay) {
  Calibration other = gpu("cuda:0", {ceiling_of("dram-read", 97.0)});
  other.device.name = "Nobody's";
  EXPECT_EQ(assess(other, references)->reason, "no figures are known for this kind of GPU");
  EXPECT_TRUE(assess(other, references)->kind.empty());
  Calibration slice = gpu("cuda:0", {ceiling_of("dram-read", 50.0)});
  slice.device.units = 4;
  EXPECT_NE(assess(slice, references)->reason.find("10 multiprocessors"), std::string::npos);
  EXPECT_TRUE(assess(slice, references)->checks.empty());
  slice.device.units = 10;
  slice.device.properties["mig"] = "on";
  EXPECT_NE(assess(slice, references)->reason.find("MIG"), std::string::npos);
  EXPECT_EQ(assess(gpu("cuda:0", {}), references)->reason, "none of the figures known for its kind was measured");
  Calibration cpu;
  EXPECT_FALSE(assess(cpu, references));
}

TEST(Assess, ALowerPowerLimitLeavesMatrixProductsOut) {
  Calibration capped = gpu("cuda:0", {ceiling_of("dram-read", 97.0), ceiling_of("tensor-bf16", 300.0, 0.0, "FLOP/s")});
  EXPECT_EQ(assess(capped, references)->checks.size(), 2u);
  capped.device.properties["power_limit_w"] = "200";
  const auto health = assess(capped, references);
  EXPECT_EQ(health->checks.size(), 1u);
  EXPECT_NE(health->reason.find("200 W"), std::string::npos);
}

TEST(References, TheBuiltInOnesAreSoundAndNameTheirSources) {
  const auto gpus = read_references(built_in_reference_text());
  std::set<std::string> names;
  for (const ReferenceGpu& gpu : gpus) {
    EXPECT_FALSE(gpu.figures.empty()) << gpu.kind;
    EXPECT_GT(gpu.units, 0) << gpu.kind;
    for (const std::string& name : gpu.names) EXPECT_TRUE(names.insert(name).second) << name;
    std::set<std::string> resources;
    for (const ReferenceFigure& figure : gpu.figures) {
      EXPECT_TRUE(resources.insert(figure.resource).second) << gpu.kind << " " << figure.resource;
      EXPECT_GT(figure.source.size(), 10u) << gpu.kind << " " << figure.resource;
    }
  }
  EXPECT_TRUE(names.contains("NVIDIA H200"));
}

TEST(References, DamagedOnesAreRefused) {
  EXPECT_THROW(read_references(""), std::runtime_error);
  EXPECT_THROW(read_references("[]"), std::runtime_error);
  EXPECT_THROW(read_references(R"({"schema":{"name":"other","version":1}})"), std::runtime_error);
  const std::string text = R"({"schema":{"name":"gpubench-reference","version":1},
    "margins":{"memory":{"fraction":0.03}},
    "gpus":[{"kind":"k","names":["n"],"units":1,"figures":[
      {"resource":"dram-read","unit":"B/s","low":2,"high":1,"margin":"memory","source":"s"}]}]})";
  EXPECT_THROW(read_references(text), std::runtime_error);
}

TEST(CompareGpus, NamesTheSlowestAndTheSpread) {
  const auto spreads = compare_gpus({gpu("cuda:0", {ceiling_of("dram-read", 100.0, 1.0), ceiling_of("l2", 7.0)}),
                                     gpu("cuda:1", {ceiling_of("dram-read", 90.0, 1.0)}),
                                     gpu("cuda:2", {ceiling_of("dram-read", 102.0, 1.0)})});
  ASSERT_EQ(spreads.size(), 1u);
  EXPECT_EQ(spreads[0].slowest, "cuda:1");
  EXPECT_EQ(spreads[0].gpus, 3);
  EXPECT_DOUBLE_EQ(spreads[0].median, 100.0);
  EXPECT_DOUBLE_EQ(spreads[0].spread, 0.12);
  EXPECT_DOUBLE_EQ(spreads[0].slowest_difference, -0.1);
  EXPECT_TRUE(spreads[0].certain);
}

TEST(CompareGpus, TheSlowestHasTheLongestLatency) {
  const auto latency = [](double value) { return ceiling_of("latency-dram", value, 0.5, "s", CeilingGroup::latency); };
  const auto spreads = compare_gpus({gpu("cuda:0", {latency(3.0)}), gpu("cuda:1", {latency(3.2)})});
  ASSERT_EQ(spreads.size(), 1u);
  EXPECT_EQ(spreads[0].slowest, "cuda:1");
  EXPECT_FALSE(spreads[0].certain);
}

TEST(CompareGpus, OnlyGpusOfOneNameAndNotWhatTheHostDecides) {
  Calibration other = gpu("cuda:1", {ceiling_of("dram-read", 90.0)});
  other.device.name = "Another";
  EXPECT_TRUE(compare_gpus({gpu("cuda:0", {ceiling_of("dram-read", 100.0)}), other}).empty());
  const std::vector<Ceiling> host = {ceiling_of("launch", 1.0, 0.0, "s", CeilingGroup::overhead)};
  EXPECT_TRUE(compare_gpus({gpu("cuda:0", host), gpu("cuda:1", host)}).empty());
}

Ceiling fp32_of(double value, std::optional<double> limit = std::nullopt) {
  Ceiling result;
  result.resource = "fp32";
  result.value = value;
  result.unit = "FLOP/s";
  result.theoretical_limit = limit;
  return result;
}

TEST(Rejection, UpToHalfAPercentAboveTheLimitStands) {
  EXPECT_FALSE(why_rejected(fp32_of(99.0, 100.0)));
  EXPECT_FALSE(why_rejected(fp32_of(100.5, 100.0)));
  const auto why = why_rejected(fp32_of(100.51, 100.0));
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("100.51 % of the theoretical limit, 100.0 FLOP/s"));
}

TEST(Rejection, WithoutALimitAnyRateStands) { EXPECT_FALSE(why_rejected(fp32_of(1e30))); }

TEST(Rejection, NoFigureIsNoCeiling) {
  EXPECT_TRUE(why_rejected(fp32_of(0.0)));
  EXPECT_TRUE(why_rejected(fp32_of(-1.0)));
  EXPECT_TRUE(why_rejected(fp32_of(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(why_rejected(fp32_of(std::numeric_limits<double>::infinity())));
}

TEST(Rejection, CountersMayDifferByTwoPercent) {
  Ceiling counted = fp32_of(90.0, 100.0);
  for (const double ratio : {0.981, 1.0, 1.019}) {
    counted.confirmation = Confirmation{"flops_fp32", ratio, ""};
    EXPECT_FALSE(why_rejected(counted)) << ratio;
  }
  for (const double ratio : {0.0, 0.97, 1.03, std::numeric_limits<double>::quiet_NaN()}) {
    counted.confirmation = Confirmation{"flops_fp32", ratio, ""};
    const auto why = why_rejected(counted);
    ASSERT_TRUE(why) << ratio;
    EXPECT_THAT(*why, HasSubstr("flops_fp32 counted"));
  }
  counted.confirmation = Confirmation{"", std::nullopt, "no counters"};
  EXPECT_FALSE(why_rejected(counted));
}

TEST(Rejection, ARejectedCeilingIsAbsentWithTheReason) {
  Calibration calibration;
  calibration.ceilings = {fp32_of(90.0, 100.0), fp32_of(200.0, 100.0)};
  calibration.ceilings[1].resource = "fp64";
  reject(calibration);
  ASSERT_EQ(calibration.ceilings.size(), 1U);
  EXPECT_EQ(calibration.ceilings[0].resource, "fp32");
  ASSERT_EQ(calibration.absent.size(), 1U);
  EXPECT_EQ(calibration.absent[0].resource, "fp64");
  EXPECT_THAT(calibration.absent[0].reason, HasSubstr("200.00 %"));
}

}  // namespace
}  // namespace gpubench::calibrate
