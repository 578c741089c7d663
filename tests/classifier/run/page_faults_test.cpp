// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/page_faults.h"

#include <gmock/gmock.h>

#include "classifier/classifier.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

using testing::HasSubstr;

Measurement faulting(double seconds, double count, double threads) {
  Measurement result = measured_on_host(seconds, streaming(16e6, 16e6), threads);
  result.page_faults = PageFaults{count, {1e-6, {0.95e-6, 1.05e-6}}};
  return result;
}

TEST(PageFaults, AreOverheadFromHalfOfTheTimeOn) {
  const Verdict verdict = classify(faulting(5e-3, 4096, 1.0), cpu());
  EXPECT_EQ(verdict.regime, Regime::overhead);
  EXPECT_EQ(verdict.limiter, "page-faults");
  EXPECT_GT(verdict.confidence, 0.95);
  EXPECT_THAT(verdict.evidence, HasSubstr("4096 page faults of 1.00 us take 4.10 ms of 5.00 ms"));
  ASSERT_EQ(verdict.advice.size(), 1U);
  EXPECT_EQ(verdict.advice.front().code, AdviceCode::reuse_memory);
  EXPECT_NEAR(verdict.advice.front().gain.value(), 5.0 / 0.904, 0.01);
  EXPECT_NE(classify(faulting(9e-3, 4096, 1.0), cpu()).limiter, "page-faults");
}

TEST(PageFaults, AreSharedByThreads) {
  EXPECT_NE(classify(faulting(5e-3, 4096, 4.0), cpu()).limiter, "page-faults");
  EXPECT_EQ(classify(faulting(1.2e-3, 4096, 4.0), cpu()).limiter, "page-faults");
}

TEST(PageFaults, AllOfTheTimePromisesNoGain) {
  const Verdict verdict = classify(faulting(4e-3, 4096, 1.0), cpu());
  EXPECT_EQ(verdict.limiter, "page-faults");
  EXPECT_FALSE(verdict.advice.front().gain);
  ASSERT_EQ(verdict.shares.size(), 1U);
  EXPECT_DOUBLE_EQ(verdict.shares.front().fraction, 1.0);
}

TEST(PageFaults, OfOddFiguresAreLeftOut) {
  for (const double odd : {0.0, -1.0, 1e300}) {
    Measurement measurement = faulting(5e-3, odd, 1.0);
    EXPECT_NE(classify(measurement, cpu()).limiter, "page-faults");
    measurement.page_faults = PageFaults{4096.0, {odd, {odd, odd}}};
    EXPECT_NE(classify(measurement, cpu()).limiter, "page-faults");
  }
}

TEST(PageFaults, UnderLoadAreNeverCertain) {
  Measurement loaded = faulting(5e-3, 4096, 1.0);
  loaded.conditions->core_share = 0.6;
  EXPECT_LE(classify(loaded, cpu()).confidence, 0.6);
}

}  // namespace
}  // namespace gpubench::classifier
