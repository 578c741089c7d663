// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/findings.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classifier/classifier.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

Advice advice(AdviceCode code, std::optional<double> gain, const std::string& action) {
  Advice result{action, "evidence of " + action, gain, code};
  if (gain) result.gain_ci95 = Interval{0.9 * *gain, 1.1 * *gain};
  return result;
}

void add_point(Run& run, const std::string& operation, int size, double seconds, std::vector<Advice> what,
               double confidence = 1.0, std::optional<double> achieved = 0.3, Regime regime = Regime::latency) {
  Measurement measurement = measured(seconds, streaming(1.0, 1.0));
  measurement.operation = operation;
  measurement.name = operation + "/" + std::to_string(size);
  Verdict verdict;
  verdict.regime = regime;
  verdict.limiter = "latency";
  verdict.confidence = confidence;
  verdict.achieved = achieved;
  verdict.advice = std::move(what);
  run.points.push_back({std::move(measurement), std::move(verdict)});
}

void add_failure(Run& run, const std::string& operation, FailureKind kind) {
  Measurement measurement;
  measurement.operation = measurement.name = operation;
  measurement.device = "cuda:0";
  measurement.failure = Failure{kind, "because"};
  run.points.push_back({std::move(measurement), std::nullopt});
}

std::vector<std::string> names_of(const std::vector<OperationFinding>& findings) {
  std::vector<std::string> names;
  for (const auto& finding : findings) names.push_back(finding.point);
  return names;
}

using Names = std::vector<std::string>;

TEST(Findings, RankByTheTimeOfAnOperationNotByItsTiniestPoint) {
  gpubench::Run run;
  // 20x at a microsecond of an operation that takes a second; 1.5x of all of another.
  add_point(run, "tiny", 1, 1e-6, {advice(AdviceCode::batch_launches, 20.0, "batch")}, 1.0, {}, Regime::overhead);
  add_point(run, "tiny", 2, 1.0, {advice(AdviceCode::coalesce, 1.2, "coalesce")}, 1.0, 0.8, Regime::memory);
  add_point(run, "all", 1, 1e-3, {advice(AdviceCode::larger_grid, 1.5, "grid")});
  add_point(run, "all", 2, 3e-3, {advice(AdviceCode::larger_grid, 2.0, "grid")});
  const auto findings = findings_of(run);
  EXPECT_EQ(names_of(findings), (Names{"all/2", "tiny/2"}));
  EXPECT_NEAR(*findings[0].saved, (1e-3 / 3.0 + 1.5e-3) / 4e-3, 1e-12);
  EXPECT_EQ(findings[0].points, 2);
  EXPECT_EQ(findings[0].all_points, 2);
  EXPECT_EQ(findings[0].gain, 2.0);
  EXPECT_NEAR(findings[0].gain_ci95->low, 1.8, 1e-12);
  EXPECT_EQ(findings[0].action, "grid");
  EXPECT_EQ(findings[0].why, "evidence of grid");
  EXPECT_EQ(findings[1].action, "coalesce");
  EXPECT_NEAR(*findings[1].saved, 1.0 / 6.0, 1e-5);
}

TEST(Findings, OfAProgramRankByWhatTheySaveOfIt) {
  gpubench::Run run;
  run.program.emplace();
  const auto add_kernel = [&](const std::string& name, double total, double gain) {
    add_point(run, name, 1, 1e-6, {advice(AdviceCode::larger_grid, gain, "grid")});
    run.program->kernels.emplace_back().point = name + "/1";
    run.program->kernels.back().total_seconds = total;
  };
  for (const char* rare : {"a", "b", "c", "d", "e"}) add_kernel(rare, 1e-5, 20.0);
  add_kernel("most", 1.0, 1.5);
  EXPECT_EQ(findings_of(run).front().point, "most/1") << "0.33 s of a second, against 9.5 us of 10";
}

TEST(Findings, WeighByConfidence) {
  gpubench::Run run;
  add_point(run, "unsure", 1, 1.0, {advice(AdviceCode::coalesce, 4.0, "coalesce")}, 0.4);
  add_point(run, "sure", 1, 1e-6, {advice(AdviceCode::coalesce, 2.0, "coalesce")}, 0.99);
  EXPECT_EQ(names_of(findings_of(run)), (Names{"sure/1", "unsure/1"}));
}

TEST(Findings, AreAtMostFiveWithFailuresFirst) {
  gpubench::Run run;
  for (const char* const name : {"a", "b", "c", "d", "e", "f"})
    add_point(run, name, 1, 1.0, {advice(AdviceCode::coalesce, 2.0, "coalesce")});
  EXPECT_EQ(findings_of(run).size(), max_findings);
  for (const char* const name : {"g", "h", "i", "j", "k", "l"}) add_failure(run, name, FailureKind::out_of_memory);
  add_failure(run, "h", FailureKind::out_of_memory);
  add_failure(run, "m", FailureKind::wrong_result);
  auto findings = findings_of(run);
  EXPECT_EQ(names_of(findings), (Names{"m", "h", "g", "a/1", "b/1"}));
  EXPECT_EQ(findings[1].points, 2);
  EXPECT_EQ(findings[1].why, "because");
  EXPECT_EQ(findings[1].failure, FailureKind::out_of_memory);
  std::erase_if(run.points, [](const Point& point) { return point.verdict.has_value(); });
  EXPECT_EQ(findings_of(run).size(), max_findings);  // nothing else takes the places
}

TEST(Findings, LeaveAloneWhatRunsAtItsCeiling) {
  gpubench::Run run;
  const auto fuse = advice(AdviceCode::fuse, 2.0, "fuse");
  add_point(run, "copy", 1, 1.0, {fuse}, 1.0, 0.97, Regime::memory);
  EXPECT_TRUE(findings_of(run).empty());
  add_point(run, "scan", 1, 1.0, {fuse}, 1.0, 0.7, Regime::memory);
  // Bytes that nobody asked for are the operation's own, however fast they move.
  add_point(run, "gather", 1, 1.0, {advice(AdviceCode::coalesce, 1.7, "coalesce")}, 1.0, 0.99, Regime::memory);
  EXPECT_EQ(names_of(findings_of(run)), (Names{"scan/1", "gather/1"}));
}

TEST(Findings, APipeIsFilledNotSaved) {
  gpubench::Run run;
  const auto relieve = advice(AdviceCode::relieve_unit, 7.6, "fewer instructions");
  add_point(run, "product", 1, 1.0, {relieve}, 1.0, 0.87, Regime::compute);
  add_point(run, "loop", 1, 1.0, {relieve}, 1.0, 0.5, Regime::compute);
  add_point(run, "cache", 1, 1.0, {relieve}, 1.0, 0.95, Regime::memory);
  const auto findings = findings_of(run);
  EXPECT_EQ(names_of(findings), (Names{"cache/1", "loop/1", "product/1"}));
  EXPECT_EQ(findings[0].gain, 7.6);
  EXPECT_EQ(findings[1].gain, 2.0);
  EXPECT_NEAR(*findings[2].gain, 1.0 / 0.87, 1e-12);
  EXPECT_FALSE(findings[2].gain_ci95);
}

TEST(Findings, PutUnknownGainsLastAndSmallOnesNowhere) {
  gpubench::Run run;
  add_point(run, "unknown", 1, 5.0, {advice(AdviceCode::more_bytes_in_flight, std::nullopt, "more")});
  add_point(run, "small", 1, 1.0, {advice(AdviceCode::coalesce, 1.04, "coalesce")});
  add_point(run, "some", 1, 1e-6, {advice(AdviceCode::coalesce, 1.1, "coalesce")});
  const auto findings = findings_of(run);
  EXPECT_EQ(names_of(findings), (Names{"some/1", "unknown/1"}));
  EXPECT_FALSE(findings[1].gain);
  EXPECT_FALSE(findings[1].saved);
}

TEST(Findings, OfUnknownGainsTheFirstOfItsListStands) {
  gpubench::Run run;
  add_point(run, "one", 1, 1.0,
            {advice(AdviceCode::wider_vectors, {}, "vectors"), advice(AdviceCode::more_threads, {}, "threads")});
  EXPECT_EQ(findings_of(run).at(0).code, AdviceCode::wider_vectors);
}

TEST(Findings, StandInAClassifiedRun) {
  gpubench::Run run;
  run.calibrations = {gpu()};
  run.points.push_back({measured(22e-6, streaming(20e6, 20e6)), std::nullopt});
  run.points.front().measurement.counters = {{"stalled_by_memory", 9.0, "warps", "test"}};
  classify(run);
  ASSERT_EQ(run.findings.size(), 1U);
  EXPECT_EQ(run.findings, findings_of(run));
  EXPECT_EQ(run.findings[0].regime, run.points[0].verdict->regime);
}

}  // namespace
}  // namespace gpubench::classifier
