// SPDX-License-Identifier: Apache-2.0
#include <gpubench/gpubench.h>

namespace {

// --8<-- [start:one]
void fill(gpubench::State& state) {
  auto x = state.host_vector<float>(state.range("n"));
  state.writes(x.bytes());
  state.measure([&] {
    for (auto& value : x.span()) value = 1.0F;
  });
}
HOST_BENCHMARK(fill)->ArgName("n")->RangeMultiplier(4)->Range(1 << 10, 1 << 20);
// --8<-- [end:one]

// --8<-- [start:capture]
void fill_with(gpubench::State& state, float value) {
  auto x = state.host_vector<float>(state.range("n"));
  state.writes(x.bytes());
  state.measure([&] {
    for (auto& each : x.span()) each = value;
  });
}
HOST_BENCHMARK_CAPTURE(fill_with, zero, 0.0F)->ArgName("n")->Arg(1 << 16);  // "fill_with/zero"
// --8<-- [end:capture]

// --8<-- [start:types]
template <class T>
void negate(gpubench::State& state) {
  auto x = state.host_vector<T>(state.range("n"));
  state.reads(x.bytes());
  state.writes(x.bytes());
  state.measure([&] {
    for (auto& value : x.span()) value = -value;
  });
}
HOST_BENCHMARK_TYPES(negate, float, double)->ArgName("n")->Arg(1 << 16);  // "negate/type:float/n:65536", ...
// --8<-- [end:types]

// --8<-- [start:texts]
void walk(gpubench::State& state) {
  const std::int64_t n = 1024;
  const auto matrix = state.host_vector<float>(n * n);
  const bool by_rows = state.text("order") == "rows";
  state.reads(matrix.bytes());
  state.measure([&] {
    float sum = 0.0F;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) sum += matrix[static_cast<std::size_t>(by_rows ? i * n + j : j * n + i)];
    gpubench::keep(sum);
  });
}
HOST_BENCHMARK_TEXTS(walk, order, rows, columns);  // "walk/order:rows", "walk/order:columns"
// --8<-- [end:texts]

}  // namespace
