// SPDX-License-Identifier: Apache-2.0
#include <gpubench/gpubench.h>

namespace {

void fill(gpubench::State& state) {
  auto values = state.host_vector<double>(state.range(0));
  state.writes(values.bytes());
  state.measure([&] {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0;
    gpubench::keep(values[0]);
  });
}
HOST_BENCHMARK(fill)->Arg(1 << 10)->Arg(1 << 16);

}  // namespace
