// SPDX-License-Identifier: Apache-2.0
// Host operations whose work GPUBENCH_PLANTED=1.05 makes 5 % more: a slow-down that is known.
// tests/truth/gate/gate_experiment.py compares processes with and without it.
#include <gpubench/gpubench.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

double planted() {
  const char* const text = std::getenv("GPUBENCH_PLANTED");
  const double factor = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return factor >= 1.0 && factor <= 10.0 ? factor : 1.0;
}

std::int64_t scaled(std::int64_t work) { return std::llround(static_cast<double>(work) * planted()); }

/// Multiply-adds each of which waits for the one before: time goes by the core's clock alone.
void chain(gpubench::State& state) {
  const std::int64_t steps = scaled(state.range(0));
  state.flops(gpubench::fp64, 2 * state.range(0));
  double value = 1.0;
  state.measure([&] {
    for (std::int64_t i = 0; i < steps; ++i) value = value * 0.999999 + 1e-6;
    gpubench::keep(value);
  });
}
HOST_BENCHMARK(chain)->ArgName("steps")->Arg(5000)->Arg(50000)->Arg(500000);

/// Integers added up, from a cache.
void sum(gpubench::State& state) {
  auto values = state.host_vector<std::int32_t>(10 * state.range(0));
  const std::int64_t count = scaled(state.range(0));
  state.reads(static_cast<std::size_t>(state.range(0)) * sizeof(std::int32_t));
  std::int64_t total = 0;
  state.measure([&] {
    for (std::int64_t i = 0; i < count; ++i) total += values[static_cast<std::size_t>(i)];
    gpubench::keep(total);
  });
}
HOST_BENCHMARK(sum)->ArgName("n")->Arg(16384)->Arg(131072);

/// Bytes copied.
void move(gpubench::State& state) {
  auto source = state.host_vector<float>(2 * state.range(0));
  auto target = state.host_vector<float>(2 * state.range(0));
  const auto bytes = static_cast<std::size_t>(scaled(state.range(0))) * sizeof(float);
  state.reads(static_cast<std::size_t>(state.range(0)) * sizeof(float));
  state.writes(static_cast<std::size_t>(state.range(0)) * sizeof(float));
  state.measure([&] {
    std::memcpy(target.data(), source.data(), bytes);
    gpubench::keep(target[0]);
  });
}
HOST_BENCHMARK(move)->ArgName("n")->Arg(65536)->Arg(1048576);

}  // namespace
