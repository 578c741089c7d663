// SPDX-License-Identifier: Apache-2.0
// What repeats itself in a sequence of names: pure mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpubench::timeline {

/// One turn of what repeats: so many elements from there on.
struct Repeat {
  std::size_t first = 0, size = 0;
  [[nodiscard]] std::size_t end() const { return first + size; }
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// The turns of what takes most of the weight, by place: at least three, which need not follow one another. None where
/// they have less than half of the weight.
///
/// A name that comes again and again cuts the sequence into parts. Parts are alike where all but a twentieth of their
/// names are the same, in any order: so streams may interleave, and a turn may have a kernel more. A cut explains the
/// weight of what at least three neighbours share. Of all cuts the finest is taken that explains 99 % of what the best
/// one does: not the layer where the head of a network is left over, nor ten steps where every tenth also writes a log.
/// What comes before, between and behind may be longer than all turns. `weights` has one for each of `names`.
std::vector<Repeat> repeats(std::span<const std::uint32_t> names, std::span<const std::uint32_t> weights);

}  // namespace gpubench::timeline
