// SPDX-License-Identifier: Apache-2.0
// Sorting in place: types as an axis, another order of the input before each execution, and figures of the operation's
// own.
#include <gpubench/gpubench.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace {

template <class Key>
void sort_in_place(gpubench::State& state) {
  const auto n = state.range("n");
  auto keys = state.host_vector<Key>(n);  // floating point: normal; integers: uniform over all values
  std::mt19937 random;
  state.reads(keys.bytes());
  state.writes(keys.bytes());
  state.items(n);                                                           // reported per second
  state.counter("key size", static_cast<double>(8 * sizeof(Key)), "bits");  // reported as it is
  state.reset([&] { std::ranges::shuffle(keys.span(), random); });  // the branch predictor learns one order by heart
  state.verify([&] { return gpubench::Check(std::ranges::is_sorted(keys.span()), "the keys are not in order"); });
  state.measure([&] { std::ranges::sort(keys.span()); });
}
HOST_BENCHMARK_TYPES(sort_in_place, std::uint8_t, std::int32_t, float, double)
    ->ArgName("n")
    ->RangeMultiplier(8)
    ->Range(1 << 10, 1 << 19);

}  // namespace
