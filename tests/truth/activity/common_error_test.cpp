// SPDX-License-Identifier: Apache-2.0
// What device times have in common against records, on made-up comparisons.
#include "tests/truth/activity/common_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/bench/device_timed.h"

namespace gpubench::bench {
namespace {

/// By how much device times are wrong.
struct Planted {
  double share = 0.0;
  double seconds_a_kernel = 0.0;
};

/// A point whose record is `noise` longer than its kernels are. Its tolerance is 3 % or 0.2 us a kernel.
ComparedPoint compared_point(const std::string& operation, double true_seconds, double noise, Planted planted = {},
                             std::int64_t kernels = 1) {
  const auto launches = static_cast<double>(kernels);
  Measurement measurement =
      timed(true_seconds * (1.0 + planted.share) + launches * planted.seconds_a_kernel, launches * 0.5e-6);
  measurement.operation = operation;
  measurement.device = "cuda:0";
  measurement.launches = Launches{kernels, kernels, 0};
  measurement.activity.emplace().seconds = Estimate{true_seconds + noise + launches * 0.7e-6, {}};
  const Estimate expected = {seconds_by(measurement, TimingMode::device)->median + launches * 0.7e-6, {}};
  return {measurement, {Agreement::agrees, {}, expected, std::max(0.2e-6 * launches, 0.03 * true_seconds)}};
}

std::vector<const ComparedPoint*> pointers(const std::vector<ComparedPoint>& points) {
  std::vector<const ComparedPoint*> all;
  for (const ComparedPoint& point : points) all.push_back(&point);
  return all;
}

/// Operations of three sizes each. Noise of a quarter of the tolerance; one point in ten has eight times as much.
std::vector<ComparedPoint> run_of(std::size_t points, unsigned seed, Planted planted, double min_seconds = 1e-6,
                                  double max_seconds = 1e-3) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> length(std::log(min_seconds), std::log(max_seconds));
  std::normal_distribution<double> noise(0.0, 0.25);
  std::vector<ComparedPoint> run;
  for (std::size_t i = 0; i < points; ++i) {
    const double seconds = std::exp(length(random));
    const double scale = std::max(0.2e-6, 0.03 * seconds) * (random() % 10 == 0 ? 8.0 : 1.0);
    run.push_back(compared_point("operation " + std::to_string(i / 3), seconds, scale * noise(random), planted));
  }
  return run;
}

TEST(CommonError, OfExactTimesIsWhatWasPlanted) {
  std::vector<ComparedPoint> run;
  for (const double seconds : {1e-6, 2e-6, 5e-6, 20e-6, 100e-6, 1e-3})
    run.push_back(compared_point("a", seconds, 0.0, {-0.05, 150e-9}, seconds > 1e-4 ? 3 : 1));
  const auto error = common_error(pointers(run));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->points, 6U);
  EXPECT_EQ(error->operations, 1U);
  EXPECT_NEAR(error->share.value, -0.05, 0.002);
  EXPECT_NEAR(error->seconds_a_kernel.value, 150e-9, 30e-9) << "drawn to none by what is usual";
  EXPECT_LT(error->share.ci95.low, -0.05);
  EXPECT_GT(error->share.ci95.high, -0.05);
}

TEST(CommonError, OfCorrectTimesIsNotFound) {
  for (const std::size_t points : {5U, 10U, 20U, 100U}) {
    int alarms = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      const auto error = common_error(pointers(run_of(points, seed, {})));
      alarms += error->share_is_off() || error->offset_is_off();
    }
    EXPECT_LE(alarms, 2) << points;
  }
}

TEST(CommonError, OfAClockIsFoundEitherWay) {
  for (const double share : {-0.05, 0.05}) {
    int found = 0;
    int outside = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      const auto error = common_error(pointers(run_of(20, seed, {share, 0.0})));
      found += error->share_is_off();
      outside += error->share.ci95.low > share || error->share.ci95.high < share;
    }
    EXPECT_GE(found, 196) << share;
    EXPECT_LE(outside, 16) << "of 200 intervals that are meant to hold it in 95 of 100";
  }
}

TEST(CommonError, OfAnOffsetIsNotThatOfAClock) {
  int offsets = 0;
  int shares = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto error = common_error(pointers(run_of(60, seed, {0.0, 200e-9})));
    offsets += error->offset_is_off();
    shares += error->share_is_off();
  }
  EXPECT_GE(offsets, 190);
  EXPECT_LE(shares, 2);
}

TEST(CommonError, ShortKernelsOfOneLengthCannotTellAClockFromAnOffset) {
  std::vector<ComparedPoint> run;  // as one run had them: 55 ns of 0.5 us, 11 %, and nothing wrong
  for (int i = 0; i < 11; ++i) run.push_back(compared_point(std::to_string(i), 0.48e-6 + 1e-9 * i, 0.0, {0.0, 55e-9}));
  const auto error = common_error(pointers(run));
  EXPECT_FALSE(error->share_is_off());
  EXPECT_FALSE(error->offset_is_off());
}

TEST(CommonError, OneOperationThatIsOffIsNoClock) {
  std::vector<ComparedPoint> run = run_of(9, 1, {}, 10e-6, 1e-3);
  for (int size = 0; size < 12; ++size) run.push_back(compared_point("odd", 20e-6 + 5e-6 * size, 0.0, {0.04, 0.0}));
  const auto mixed = common_error(pointers(run));
  EXPECT_FALSE(mixed->share_is_off()) << mixed->share.ci95.low << " to " << mixed->share.ci95.high;
  for (std::size_t i = 0; i < run.size(); ++i) run[i].measurement.operation = std::to_string(i);
  const auto apart = common_error(pointers(run));
  EXPECT_LT(half_width(apart->share), half_width(mixed->share)) << "their points say the same thing twelve times";
}

TEST(CommonError, PointsThatAreOffEitherWayHaveNothingInCommon) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<ComparedPoint> run = run_of(30, seed, {-0.05, 0.0}, 20e-6);
    for (const ComparedPoint& point : run_of(30, seed + 100, {0.05, 0.0}, 20e-6)) run.push_back(point);
    found += common_error(pointers(run))->share_is_off();
  }
  EXPECT_LE(found, 1);
}

TEST(CommonError, AFewPointsFarOffHardlyCount) {
  std::vector<ComparedPoint> run = run_of(20, 3, {});
  const double before = common_error(pointers(run))->share.value;
  for (int i = 0; i < 4; ++i) run.push_back(compared_point("far", 100e-6, 50e-6));
  EXPECT_NEAR(common_error(pointers(run))->share.value, before, 0.01);
}

TEST(CommonError, NeedsFivePointsThatWereCompared) {
  std::vector<ComparedPoint> run = run_of(5, 1, {});
  EXPECT_TRUE(common_error(pointers(run)));
  run[0].comparison.agreement = Agreement::not_compared;
  EXPECT_FALSE(common_error(pointers(run)));
  run = run_of(5, 1, {});
  run[1].comparison.tolerance_seconds = 0.0;
  EXPECT_FALSE(common_error(pointers(run)));
  EXPECT_FALSE(common_error({}));
}

}  // namespace
}  // namespace gpubench::bench
