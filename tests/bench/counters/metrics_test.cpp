// SPDX-License-Identifier: Apache-2.0
// Names and passes, on a fake chip.
#include "bench/counters/metrics.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/bench/fake_metric_source.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

using Names = std::vector<std::string>;

std::string parse_error(std::string_view text) {
  return message_of<MetricNameError>([&] { parse_metrics(text); });
}

TEST(MetricNames, SetsAndNamesMayBeMixed) {
  EXPECT_THAT(parse_metrics("none"), IsEmpty());
  EXPECT_THAT(parse_metrics("lts__t_sectors.sum,dram_read_bytes,lts__t_sectors.sum"),
              ElementsAre("lts__t_sectors.sum", "dram_read_bytes"));
  EXPECT_THAT(parse_metrics("core,flops"), SizeIs(parse_metrics("core").size() + parse_metrics("flops").size()));
}

TEST(MetricNames, WhatCannotBeMeantIsRefusedWithWhatCan) {
  EXPECT_THAT(parse_error("dram_bytes"), HasSubstr("dram_read_bytes, dram_write_bytes"));
  EXPECT_THAT(parse_error(""), HasSubstr("empty name"));
  EXPECT_THAT(parse_error("core,"), HasSubstr("empty name"));
  EXPECT_THAT(parse_error("core,none"), HasSubstr("cannot be combined"));
  EXPECT_THAT(parse_error("a__b c"), HasSubstr("'a__b c'"));
}

Resolution resolve_on(const std::map<std::string, std::string>& chip, const Names& names) {
  return resolve(names, "FK100", [&](const std::string& name) {
    const auto place = chip.find(name);
    return place == chip.end() ? std::nullopt : std::optional(place->second);
  });
}

TEST(MetricNames, AnAliasTakesTheFirstNameThatTheChipHas) {
  const auto old = resolve_on({{"dram__bytes_read.sum", "byte"}}, {"dram_read_bytes"});
  ASSERT_THAT(old.metrics, SizeIs(1));
  EXPECT_EQ(old.metrics[0].terms.at(0).counter, "dram__bytes_read.sum");
  EXPECT_EQ(old.metrics[0].unit, "bytes");
  const auto recent = resolve_on({{"dram__bytes_op_read.sum", "byte"}}, {"dram_read_bytes"});
  ASSERT_THAT(recent.metrics, SizeIs(1));
  EXPECT_EQ(recent.metrics[0].terms.at(0).counter, "dram__bytes_op_read.sum");
  EXPECT_EQ(recent.metrics[0].name, "dram_read_bytes");
}

TEST(MetricNames, AFusedMultiplyAddIsTwoAndPackedOnesAreCountedWhereThereAreAny) {
  const std::string head = "smsp__sass_thread_inst_executed_op_";
  std::map<std::string, std::string> chip;
  for (const char* op : {"fadd", "fmul", "ffma"}) chip[head + op + "_pred_on.sum"] = "inst";
  auto resolution = resolve_on(chip, {"flops_fp32"});
  ASSERT_THAT(resolution.metrics, SizeIs(1));
  ASSERT_THAT(resolution.metrics[0].terms, SizeIs(3));
  EXPECT_EQ(resolution.metrics[0].terms[2].factor, 2.0);
  for (const char* op : {"fadd2", "fmul2", "ffma2"}) chip[head + op + "_pred_on.sum"] = "inst";
  resolution = resolve_on(chip, {"flops_fp32"});
  ASSERT_THAT(resolution.metrics[0].terms, SizeIs(6));
  EXPECT_EQ(resolution.metrics[0].terms[5].factor, 4.0);
  chip.erase(head + "fmul_pred_on.sum");
  EXPECT_THAT(resolve_on(chip, {"flops_fp32"}).absent, SizeIs(1)) << "half a sum is no sum";
}

TEST(MetricNames, WhatTheChipLacksIsAbsentWithTheReasonAndSpoilsNothingElse) {
  const auto resolution = resolve_on({{"l1tex__t_bytes.sum", "byte"}, {"lts__t_sectors", "sector"}},
                                     {"l1_bytes", "l2_bytes", "no__such.sum", "lts__t_sectors"});
  ASSERT_THAT(resolution.metrics, SizeIs(1));
  EXPECT_EQ(resolution.metrics[0].name, "l1_bytes");
  ASSERT_THAT(resolution.absent, SizeIs(3));
  EXPECT_EQ(resolution.absent[0], (AbsentCounter{"l2_bytes", "FK100 has no counter for it"}));
  EXPECT_EQ(resolution.absent[1].reason, "FK100 has no metric of this name");
  EXPECT_THAT(resolution.absent[2].reason, HasSubstr("write lts__t_sectors.sum"));
}

ResolvedMetric metric(const std::string& name, const Names& counters) {
  ResolvedMetric result{name, "1", {}};
  for (const std::string& counter : counters) result.terms.push_back({1.0, counter});
  return result;
}

TEST(PassPlan, MetricsShareAPassAsLongAsItHoldsThem) {
  const auto plan =
      plan_passes({metric("a", {"1", "2"}), metric("b", {"3"}), metric("c", {"4", "5"}), metric("d", {"2"})},
                  [](const Names& counters) { return (counters.size() + 2) / 3; });
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.groups[0].counters, ElementsAre("1", "2", "3")) << "d counts nothing new";
  EXPECT_THAT(plan.groups[1].counters, ElementsAre("4", "5"));
  EXPECT_EQ(total_passes(plan), 2U);
  EXPECT_THAT(plan.metrics, SizeIs(4));
}

TEST(PassPlan, AMetricOfSeveralPassesIsByItself) {
  const auto plan = plan_passes({metric("a", {"1"}), metric("big", {"2"}), metric("b", {"3"})},
                                [](const Names& counters) { return counters.size() + (counters[0] == "2" ? 2 : 0); });
  ASSERT_THAT(plan.groups, SizeIs(3));
  EXPECT_EQ(plan.groups[2].passes, 3U) << "the last";
  EXPECT_EQ(total_passes(plan), 5U);
}

TEST(PassPlan, GroupsOfSeveralPassesBecomeOneWhereThatTakesNoMore) {
  const auto plan = plan_passes({metric("a", {"1"}), metric("b", {"big 2"}), metric("c", {"big 3"})},
                                [](const Names& counters) { return counters.front() == "1" ? counters.size() : 2; });
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.groups[0].counters, ElementsAre("1")) << "the first stays by itself";
  EXPECT_THAT(plan.groups[1].counters, ElementsAre("big 2", "big 3"));
  EXPECT_EQ(total_passes(plan), 3U);
}

TEST(PassPlan, GroupsOfOnePassRideWithALongOneWhereTheyCostNothing) {
  // Two of the short ones do not fit into one pass; the long one's passes have room for "2" and not for "3".
  const auto plan = plan_passes({metric("a", {"1"}), metric("b", {"2"}), metric("c", {"3"}), metric("d", {"long"})},
                                [](const Names& counters) -> std::size_t {
                                  const auto has = [&](const char* name) {
                                    return std::find(counters.begin(), counters.end(), name) != counters.end();
                                  };
                                  if (has("long")) return has("3") ? 3 : 2;
                                  return counters.size();
                                });
  ASSERT_THAT(plan.groups, SizeIs(3));
  EXPECT_THAT(plan.groups[0].counters, ElementsAre("1"));
  EXPECT_THAT(plan.groups[1].counters, ElementsAre("3"));
  EXPECT_THAT(plan.groups[2].counters, ElementsAre("long", "2"));
}

TEST(PassPlan, CountersByInstructionTakeTheirWitnessAlongWhereItCostsNothing) {
  const std::vector<ResolvedMetric> metrics = {metric("a", {"1"}), metric("b", {"smsp__sass_x.sum"})};
  const auto passes_of_two = [](std::size_t a_pass) {
    return [a_pass](const Names& counters) { return (counters.size() + a_pass - 1) / a_pass; };
  };
  EXPECT_THAT(plan_passes(metrics, passes_of_two(3)).groups.at(0).counters,
              ElementsAre("1", "smsp__sass_x.sum", std::string(all_by_instruction)));
  EXPECT_THAT(plan_passes(metrics, passes_of_two(2)).groups.at(0).counters, ElementsAre("1", "smsp__sass_x.sum"));
}

TEST(PassPlan, CountersOverElapsedTimeShareNoGroupWithOthers) {
  const auto plan = plan_passes({metric("a", {"x.pct_of_peak_sustained_elapsed"}), metric("b", {"1"}),
                                 metric("c", {"y.sum.per_second"}), metric("d", {"2"})},
                                [](const Names&) { return 1; });
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.groups[0].counters, ElementsAre("1", "2"));
  EXPECT_THAT(plan.groups[1].counters, ElementsAre("x.pct_of_peak_sustained_elapsed", "y.sum.per_second"));
}

TEST(KernelRanges, CountersOverElapsedTimeAreKnownByTheirNames) {
  for (const char* name : {"gpu__time_duration.sum", "gpu__time_duration.avg", "dram__bytes.sum.per_second",
                           "sm__x.sum.per_cycle_elapsed", "sm__throughput.avg.pct_of_peak_sustained_elapsed"})
    EXPECT_TRUE(is_over_elapsed_time(name)) << name;
  std::vector<std::string> ours = parse_metrics("core");
  for (auto& more : parse_metrics("flops")) ours.push_back(std::move(more));
  for (const auto& metric :
       resolve(ours, "GH100", [](const std::string&) { return std::optional<std::string>("bytes"); }).metrics)
    for (const auto& term : metric.terms) EXPECT_FALSE(is_over_elapsed_time(term.counter)) << term.counter;
}

TEST(KernelRanges, DurationsAddUpAndOthersAreMeansByDuration) {
  using Values = std::vector<std::optional<double>>;
  const Values durations = {100.0, 300.0};
  EXPECT_EQ(over_all_kernels(kernel_duration, durations, durations), 400.0);
  EXPECT_EQ(over_all_kernels("x.sum.per_second", Values{8.0, 4.0}, durations), 5.0);
  EXPECT_EQ(over_all_kernels("x.sum.per_second", Values{8.0, std::nullopt}, durations), std::nullopt);
  EXPECT_EQ(over_all_kernels("x.sum.per_second", Values{8.0, 4.0}, Values{100.0, std::nullopt}), std::nullopt);
  EXPECT_EQ(over_all_kernels("x.sum.per_second", Values{8.0}, Values{0.0}), std::nullopt) << "no time to weigh with";
  EXPECT_EQ(over_all_kernels("x.sum.per_second", {}, {}), std::nullopt);
}

TEST(PassPlan, WhatCannotBeCountedIsAbsent) {
  const auto plan = plan_passes({metric("refused", {"1"}), metric("endless", {"2"}), metric("fine", {"3"})},
                                [](const Names& counters) -> std::optional<std::size_t> {
                                  if (counters == Names{"1"}) return std::nullopt;
                                  return counters == Names{"2"} ? max_passes_of_a_metric + 1 : 1;
                                });
  ASSERT_THAT(plan.absent, SizeIs(2));
  EXPECT_THAT(plan.absent[0].reason, HasSubstr("refuses"));
  EXPECT_THAT(plan.absent[1].reason, HasSubstr("takes 9 executions"));
  ASSERT_THAT(plan.groups, SizeIs(1));
  EXPECT_THAT(plan.groups[0].counters, ElementsAre("3"));
  EXPECT_THAT(plan_passes({}, [](const Names&) { return 1; }).groups, IsEmpty());
}

}  // namespace
}  // namespace gpubench::bench
