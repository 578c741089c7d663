// SPDX-License-Identifier: Apache-2.0
// What State hands out is known for as long as it is there, and is put back between passes.
#include "bench/counting_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "bench/memory/host_memory.h"
#include "gpubench/vectors.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

TEST(Fingerprint, TellsEveryByteAndItsPlaceApart) {
  std::vector<unsigned char> bytes(8 * 20 + 3);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  const auto whole = host_fingerprint(bytes.data(), bytes.size());
  EXPECT_EQ(host_fingerprint(bytes.data(), bytes.size()), whole);
  for (auto& byte : bytes) {
    byte ^= 0x10U;
    EXPECT_NE(host_fingerprint(bytes.data(), bytes.size()), whole);
    byte ^= 0x10U;
  }
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 80);
  EXPECT_NE(host_fingerprint(bytes.data(), bytes.size()), whole);
  EXPECT_EQ(host_fingerprint(nullptr, 0), 0U);
}

/// An operation on two vectors, and what each execution began with.
class InputsTest : public testing::Test {
 protected:
  HostVector<int> x_{1000};
  HostVector<int> y_{3};
  std::vector<int> begun_;

  InputsTest() {
    std::fill_n(x_.data(), x_.size(), 7);
    std::fill_n(y_.data(), y_.size(), 1);
  }
  [[nodiscard]] std::vector<BufferPlace> buffers() {
    return {{x_.data(), x_.bytes(), false}, {y_.data(), y_.bytes(), false}};
  }
  std::function<void()> in_place() {
    return [this] {
      begun_.push_back(y_[2]);
      y_[2] += x_[0];
    };
  }
  /// The contents with which the counted execution of each of three passes began.
  std::vector<int> three_passes(const Inputs& inputs, const std::function<void()>& once) {
    std::vector<int> counted;
    for (int pass = 0; pass < 3; ++pass) {
      inputs.restore();
      once();
      counted.push_back(y_[2]);
      once();
    }
    return counted;
  }
};

TEST_F(InputsTest, EveryPassBeginsWithTheSame) {
  Inputs inputs(buffers());
  EXPECT_EQ(inputs.keep(in_place(), 2), std::nullopt);
  const auto counted = three_passes(inputs, in_place());
  EXPECT_THAT(counted, Each(counted[0]));
  EXPECT_THAT(begun_, SizeIs(4 + 6));
}

TEST_F(InputsTest, OnlyWhatChangesIsCopied) {
  std::vector<std::size_t> allocated;
  Inputs inputs(buffers(), [&](std::size_t bytes, bool device) {
    allocated.push_back(bytes);
    return Inputs::allocate(bytes, device);
  });
  inputs.keep(in_place(), 2);
  EXPECT_THAT(allocated, ElementsAre(y_.bytes()));
}

TEST_F(InputsTest, AnOperationThatComesToTheSameNeedsNoMemory) {
  const auto no_memory = [](std::size_t, bool) -> std::shared_ptr<void> { throw OutOfMemory("none"); };
  Inputs overwriting(buffers(), no_memory);
  EXPECT_EQ(overwriting.keep([&] { y_[2] = x_[0]; }, 2), std::nullopt);
  Inputs there_and_back(buffers(), no_memory);
  EXPECT_EQ(there_and_back.keep([&] { y_[2] = -y_[2]; }, 2), std::nullopt) << "a pass is two executions";
}

TEST_F(InputsTest, WithoutMemoryItSaysSoAndPutsNothingBack) {
  int left = 1;
  Inputs inputs(buffers(), [&](std::size_t bytes, bool device) {
    if (left-- == 0) throw OutOfMemory("the GPU has 1 of 9 bytes free");
    return Inputs::allocate(bytes, device);
  });
  const auto both = [&] { x_[5] = ++y_[2]; };
  const auto reason = inputs.keep(both, 2);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, HasSubstr("1 of 9 bytes free"));
  EXPECT_THAT(three_passes(inputs, both), ElementsAre(6, 8, 10)) << "no half of the state before";
}

}  // namespace
}  // namespace gpubench::bench
