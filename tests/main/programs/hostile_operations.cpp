// SPDX-License-Identifier: Apache-2.0
// Operations whose names, messages and figures would break terminals, logs and formats.
#include <benchmark/benchmark.h>
#include <gpubench/gpubench.h>

#include <limits>
#include <stdexcept>
#include <string>

namespace {

const std::string hostile = "::warning::planted \x1b[2J\xff\u202e ##[error]b";

const auto* const named = gpubench::register_operation(hostile, gpubench::DeviceKind::cpu, [](gpubench::State& state) {
  state.label("=1+1\t\x1b \xff");
  state.google().counters["not_a_number"] = std::numeric_limits<double>::quiet_NaN();
  state.google().counters["endless"] = -std::numeric_limits<double>::infinity();
  int count = 0;
  state.measure([&] {
    for (int i = 0; i < 1000; ++i) gpubench::keep(++count);
  });
});

void fails(gpubench::State&) {
  throw std::runtime_error("first line\n::add-mask::planted\r\n" + hostile + std::string(1 << 20, 'x'));
}
HOST_BENCHMARK(fails);

}  // namespace
