// SPDX-License-Identifier: Apache-2.0
#include "classifier/draws.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace gpubench::classifier {
namespace {

constexpr std::size_t column_count = 64;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): its sequence is fixed by its definition, unlike the distributions
/// of the standard library.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

/// Every fourth stratum makes a block of its own, so that the first quarter of a column is stratified as well.
constexpr std::array<std::size_t, 4> blocks = {2, 0, 3, 1};

std::vector<double> all_columns() {
  constexpr std::size_t length = draw_count / blocks.size();
  std::vector<double> result;
  result.reserve(column_count * draw_count);
  std::vector<double> block(length);
  Generator generator(1);
  for (std::size_t column = 0; column < column_count; ++column)
    for (const std::size_t first : blocks) {
      for (std::size_t i = 0; i < length; ++i)
        block[i] = normal_quantile((static_cast<double>(blocks.size() * i + first) + 0.5) / draw_count);
      for (std::size_t i = length - 1; i > 0; --i) std::swap(block[i], block[generator.next() % (i + 1)]);
      result.insert(result.end(), block.begin(), block.end());
    }
  return result;
}

}  // namespace

double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1.0 - p);
  // Newton's method on ln Phi(z), which is concave: from the left of the root it never oversteps.
  double z = -std::sqrt(-2.0 * std::log(p));
  for (int i = 0; i < 60; ++i) {
    const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    const double step = std::log(below / p) * below / density;
    z -= step;
    if (std::abs(step) < 1e-14) break;
  }
  return z;
}

std::span<const double> normal_draws(std::size_t column) {
  static const std::vector<double> table = all_columns();
  return std::span<const double>(table).subspan((column % column_count) * draw_count, draw_count);
}

}  // namespace gpubench::classifier
