// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <gpubench/gpubench.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// --8<-- [start:contents]
struct Node {
  std::int32_t next;
  float weight;
};

void contents(gpubench::State& state) {
  const auto n = state.range("n");
  auto keys = state.host_vector<unsigned char>(n);               // integers: uniform over all values
  auto x = state.host_vector<double>(n);                         // floating point: standard normal
  auto angles = state.host_vector<float>(n, gpubench::uniform);  // from 0 to less than 1
  auto nodes = state.host_vector<Node>(n);                       // no number: zeros
  auto results = state.host_vector<float>(n, gpubench::none);    // not filled
  state.measure([&] { gpubench::keep(keys[0]), gpubench::keep(x[0]), gpubench::keep(angles[0]); });
}
HOST_BENCHMARK(contents)->ArgName("n")->Arg(1024);
// --8<-- [end:contents]

// --8<-- [start:work]
void axpy(gpubench::State& state) {
  const auto n = state.range("n");
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.reads(x.bytes() + y.bytes());  // what one execution must move, at least
  state.writes(y.bytes());
  state.flops(gpubench::fp32, 2 * n);      // a fused multiply-add is two
  state.footprint(x.bytes() + y.bytes());  // as worked out without this line
  state.items(n);                          // reported per second
  state.measure([&] {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] += 2.0F * x[i];
  });
}
HOST_BENCHMARK(axpy)->ArgName("n")->Arg(1 << 16);
// --8<-- [end:work]

// --8<-- [start:verify]
void triple(gpubench::State& state) {
  const auto x = state.host_vector<float>(state.range("n"));
  auto y = state.host_vector<float>(state.range("n"));
  state.verify([&] {
    std::vector<float> expected(x.size());
    std::ranges::transform(x.span(), expected.begin(), [](float value) { return 3.0F * value; });
    return gpubench::all_close(y.span(), expected, 1e-6);
  });
  state.measure([&] { std::ranges::transform(x.span(), y.span().begin(), [](float value) { return 3.0F * value; }); });
}
HOST_BENCHMARK(triple)->ArgName("n")->Arg(1 << 16);
// --8<-- [end:verify]

// --8<-- [start:reset]
void partition(gpubench::State& state) {
  const auto input = state.host_vector<float>(state.range("n"));
  auto x = state.host_vector<float>(state.range("n"), gpubench::none);
  state.reset([&] { std::copy(input.begin(), input.end(), x.begin()); });
  state.measure([&] { std::partition(x.begin(), x.end(), [](float value) { return value < 0.0F; }); });
}
HOST_BENCHMARK(partition)->ArgName("n")->Arg(1 << 16);
// --8<-- [end:reset]

// --8<-- [start:figures]
void figures(gpubench::State& state) {
  state.label("variant A");
  state.counter("table", 4096.0, "bytes");
  state.google().counters["theirs"] = 7.0;  // Google Benchmark's own are kept too
  state.measure([] {});
}
HOST_BENCHMARK(figures);
// --8<-- [end:figures]

// --8<-- [start:skip]
void needs_much(gpubench::State& state) {
  if (state.range("n") > 1'000'000) return state.skip("takes too long");
  auto x = state.host_vector<float>(state.range("n"));
  state.measure([&] { std::sort(x.begin(), x.end()); });
}
HOST_BENCHMARK(needs_much)->ArgName("n")->Arg(1000)->Arg(10'000'000);
// --8<-- [end:skip]

// --8<-- [start:ablation]
void polynomial(gpubench::State& state) {
  const auto x = state.host_vector<float>(1 << 16);
  auto y = state.host_vector<float>(1 << 16);
  const auto evaluate = [&](int degree) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      float sum = 0.0F;
      for (int k = 0; k < degree; ++k) sum = sum * x[i] + 1.0F;
      y[i] = sum;
    }
  };
  state.reads(x.bytes());
  state.writes(y.bytes());
  state.flops(gpubench::fp32, 32 * x.size());
  state.ablation(gpubench::less_arithmetic, 0.5, [&] { evaluate(8); });
  state.measure([&] { evaluate(16); });
}
HOST_BENCHMARK(polynomial);
// --8<-- [end:ablation]

}  // namespace
