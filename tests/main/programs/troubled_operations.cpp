// SPDX-License-Identifier: Apache-2.0
// A benchmark program of which two operations work and the others fail, each in its way.
#include <gpubench/gpubench.h>

#include <stdexcept>

namespace {

void works(gpubench::State& state) {
  auto values = state.host_vector<float>(state.range(0));
  state.reads(values.bytes());
  float sum = 0.0F;
  state.measure([&] {
    for (const auto each : values) sum += each;
    gpubench::keep(sum);
  });
}
HOST_BENCHMARK(works)->Arg(1024)->Arg(4096);

void throws(gpubench::State&) { throw std::runtime_error("no coffee left"); }
HOST_BENCHMARK(throws);

void wrong(gpubench::State& state) {
  state.verify([] { return gpubench::Check(false, "element 3 is 7, and should be 8"); });
  state.measure([] {});
}
HOST_BENCHMARK(wrong);

void too_large(gpubench::State& state) {
  auto values = state.host_vector<double>(state.range(0));
  state.measure([&] { gpubench::keep(values[0]); });
}
HOST_BENCHMARK(too_large)->Arg(1024)->Arg(std::int64_t{1} << 50);

}  // namespace
