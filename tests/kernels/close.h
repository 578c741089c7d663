// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

namespace gpubench {

/// Element-wise |actual - expected| <= tolerance (1 + |expected|); names the first element that is not.
template <class Actual, class Expected>
testing::AssertionResult close(const Actual& actual, const Expected& expected, double tolerance) {
  if (actual.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto is = static_cast<double>(actual[i]);
    const auto should = static_cast<double>(expected[i]);
    if (!(std::abs(is - should) <= tolerance * (1.0 + std::abs(should))))
      return testing::AssertionFailure() << "element " << i << " of " << expected.size() << " is " << is << ", not "
                                         << should;
  }
  return testing::AssertionSuccess();
}

}  // namespace gpubench
