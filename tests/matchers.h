// SPDX-License-Identifier: Apache-2.0
// GoogleTest's matchers by their plain names, and what an error says.
#pragma once

#include <gmock/gmock.h>

#include <string>

namespace gpubench {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// What the Error says that `act` throws; empty where it throws none.
template <class Error, class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace gpubench
