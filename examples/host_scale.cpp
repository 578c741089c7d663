// SPDX-License-Identifier: Apache-2.0
// An operation of your own on the host, with a check of its result and a main of your own.
#include <gpubench/gpubench.h>

#include <cstdio>

namespace {

void scale(gpubench::State& state) {
  const auto n = state.range("n");
  auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.reads(n * sizeof(float));
  state.writes(n * sizeof(float));
  state.flops(gpubench::fp32, n);
  state.verify([&] { return gpubench::Check(y[0] == 3.0F * x[0], "y[0] is not 3 x[0]"); });
  state.measure([&] {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 3.0F * x[i];
  });
}
HOST_BENCHMARK(scale)->ArgName("n")->RangeMultiplier(8)->Range(1 << 10, 1 << 22);

}  // namespace

// --8<-- [start:main]
int main(int argc, char** argv) {
  const int code = gpubench::run_command_line(argc, argv);  // exit codes as of --help
  (void)std::fprintf(stderr, "finished with exit code %d\n", code);
  return code;
}
// --8<-- [end:main]
