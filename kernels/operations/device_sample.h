// SPDX-License-Identifier: Apache-2.0
// Checking device results without copying all of a large vector back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "gpubench/check.h"
#include "gpubench/vectors.h"

namespace gpubench::operations {

/// The elements of a vector that a check looks at: all of them up to 2^22, beyond that 64 chunks of 2^16 that start
/// with the first element, end with the last and lie evenly between. At 10 GB/s that is under 2 ms for each vector.
class DeviceSample {
 public:
  static constexpr std::int64_t whole_up_to = std::int64_t{1} << 22;
  static constexpr std::int64_t chunk = std::int64_t{1} << 16;
  static constexpr std::int64_t chunks = whole_up_to / chunk;

  /// Chunks begin at multiples of `granule` elements (a row, say); `granule` divides 2^16, and `count` when that is
  /// large.
  explicit DeviceSample(std::int64_t count, std::int64_t granule = 1) : count_(count), granule_(granule) {}

  [[nodiscard]] bool whole() const { return count_ <= whole_up_to; }
  [[nodiscard]] std::int64_t size() const { return whole() ? count_ : whole_up_to; }

  /// The chosen elements, one chunk after the other. Waits for the device.
  [[nodiscard]] std::vector<float> of(const DeviceVector<float>& vector) const {
    std::vector<float> values(static_cast<std::size_t>(size()));
    if (whole()) {
      detail::copy_from_device(values.data(), vector.data(), values.size() * sizeof(float));
      return values;
    }
    for (std::int64_t i = 0; i < chunks; ++i)
      detail::copy_from_device(values.data() + i * chunk, vector.data() + start(i), chunk * sizeof(float));
    return values;
  }

  /// all_close, and a word in the message that its index counts the sample's elements.
  [[nodiscard]] Check close(std::span<const float> actual, std::span<const float> expected, double relative,
                            double absolute) const {
    Check check = all_close(actual, expected, relative, absolute);
    if (!check.passed && !whole()) check.message += " (counted in a sample of 64 chunks of 65536)";
    return check;
  }

 private:
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return (count_ - chunk) / granule_ * index / (chunks - 1) * granule_;
  }

  std::int64_t count_;
  std::int64_t granule_;
};

}  // namespace gpubench::operations
