// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "classifier/classifier.h"
#include "classifier/verdict/rules.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

TEST(ClassifyRun, FillsWhatCanBeFilled) {
  gpubench::Run run;
  run.calibrations = {gpu()};
  run.points.push_back({measured(1.1e-3, streaming(2e9, 2e9)), std::nullopt});
  run.points.push_back({measured(1.1e-3, streaming(2e9, 2e9), "cpu"), Verdict{}});  // no calibration of it
  auto failed = measured(1.0, streaming(1.0, 0.0));
  failed.make_primary().seconds.reset();
  failed.failure = Failure{FailureKind::error, "broke"};
  run.points.push_back({failed, Verdict{}});
  run.boundaries.push_back({});
  classify(run);
  ASSERT_TRUE(run.points[0].verdict);
  EXPECT_EQ(*run.points[0].verdict, classify(run.points[0].measurement, run.calibrations[0]));
  EXPECT_FALSE(run.points[1].verdict);
  EXPECT_FALSE(run.points[2].verdict);
  EXPECT_TRUE(run.boundaries.empty());
}

TEST(ClassifyRun, TwiceIsTheSame) {
  std::mt19937_64 random(31);
  auto run = simulated(
      gpu(), powers_of_two(10, 28), [](double n) { return streaming(4 * n, 4 * n, n); }, 0.01, random);
  classify(run);
  auto again = run;
  classify(again);
  EXPECT_EQ(run, again);
}

TEST(ClassifyRun, EmptyRun) {
  gpubench::Run run;
  classify(run);
  EXPECT_TRUE(run.points.empty());
}

struct Tally {
  int sure = 0;
  int sure_and_right = 0;
  int all = 0;
  int right = 0;
};

/// Random operations on a device whose ceilings are off by what their intervals say and by `hidden_sigma` that they do
/// not, judged against the rules on the noiseless truth.
Tally tally(const Calibration& truth, double noise, double ceiling_sigma, double hidden_sigma,
            std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::normal_distribution<double> normal(0.0, 1.0);
  const auto true_machine = machine_of(truth);
  Tally result;
  for (int trial = 0; trial < 200; ++trial) {
    Calibration calibration = truth;
    for (auto& each : calibration.ceilings)
      each = ceiling(each.resource, each.value * std::exp(std::hypot(ceiling_sigma, hidden_sigma) * normal(random)),
                     1.96 * ceiling_sigma);
    const double intensity = std::pow(10.0, -2.0 + 4.0 * uniform(random));
    const double efficiency = uniform(random) < 0.2 ? 0.45 : 0.75 + 0.25 * uniform(random);
    for (const auto n : powers_of_two(8, 30, 2)) {
      const auto bytes = static_cast<double>(n);
      const Work work = streaming(bytes * 2.0 / 3.0, bytes / 3.0, intensity * bytes);
      const double clean = model_time(work, truth, efficiency);
      const auto right = decide({clean, 0.0, std::nullopt, 0.0}, predict(work, {}, true_machine)).regime;
      const auto verdict = classify(
          measured(clean * std::exp(noise * normal(random)), work, truth.device.id, 1.96 * noise), calibration);
      ++result.all;
      result.right += verdict.regime == right;
      if (verdict.certainty != Certainty::certain) continue;
      ++result.sure;
      result.sure_and_right += verdict.regime == right;
    }
  }
  return result;
}

TEST(ClassifyRun, NinetyNinePerCentRightOutsideTheUncertainZone) {
  std::mt19937_64 random(32);
  for (const auto& truth : {gpu(), cpu()}) {
    for (const double noise : {0.01, 0.03}) {
      const auto result = tally(truth, noise, 0.01, 0.0, random);
      EXPECT_GE(result.sure_and_right, 0.99 * result.sure);
      EXPECT_GE(result.right, 0.95 * result.all);
      // The uncertain zone is not everything; on a CPU overhead is in it.
      EXPECT_GE(result.sure, (truth.device.id == "cpu" ? 0.4 : 0.75) * result.all);
    }
  }
}

// Ceilings that do not fit the operation by the 5 % the model allows for: sure verdicts must stay right.
TEST(ClassifyRun, SureVerdictsSurviveAModelThatIsSomewhatOff) {
  std::mt19937_64 random(33);
  for (const auto& truth : {gpu(), cpu()}) {
    const auto result = tally(truth, 0.02, 0.01, 0.05, random);
    EXPECT_GE(result.sure_and_right, 0.99 * result.sure);
    EXPECT_GE(result.right, 0.93 * result.all);
  }
}

TEST(ClassifyRun, SerialPointsAreJudgedByOneCoreAndOthersByAll) {
  gpubench::Run run;
  run.calibrations = {cpu_with_cores()};
  for (const double threads : {1.0, 3.9})
    for (const double bytes : {1e9, 2e9, 4e9}) {
      Measurement each = measured_on_host(bytes / (threads == 1.0 ? 10e9 : 20e9), streaming(bytes, 0.0), threads);
      each.operation = threads == 1.0 ? "serial" : "parallel";
      each.arguments = {{"n", static_cast<std::int64_t>(bytes), {}}};
      run.points.push_back({std::move(each), {}, {}});
    }
  classify(run);
  for (const Point& point : run.points) {
    EXPECT_EQ(point.verdict->regime, Regime::memory) << point.verdict->evidence;
    EXPECT_NEAR(point.verdict->achieved.value(), 1.0, 0.01);
  }
}

}  // namespace
}  // namespace gpubench::classifier
