// SPDX-License-Identifier: Apache-2.0
// Operations that `gpubench judge PROGRAM:sums` is tried on.
#include <gpubench/gpubench.h>

#include <numeric>

namespace {

enum class Kind { honest, cached, unchecked, wrong };

void sums_of(gpubench::State& state, Kind kind) {
  auto x = state.host_vector<float>(state.range("n"));
  double expected = 0.0;
  double sum = 0.0;
  bool known = false;
  if (kind != Kind::unchecked) {
    state.inputs(8, [&](std::int64_t set) {
      std::iota(x.begin(), x.end(), static_cast<float>(set));
      expected = std::accumulate(x.begin(), x.end(), 0.0);
    });
    state.verify([&] { return sum == expected; });
  }
  state.reads(x.bytes());
  state.measure([&] {
    if (kind == Kind::cached && known) return;
    sum = std::accumulate(x.begin(), x.end(), kind == Kind::wrong ? 1.0 : 0.0);
    known = true;
    gpubench::keep(sum);
  });
}

void sums(gpubench::State& state) { sums_of(state, Kind::honest); }
void sums_again(gpubench::State& state) { sums_of(state, Kind::honest); }
void sums_cached(gpubench::State& state) { sums_of(state, Kind::cached); }
void sums_unchecked(gpubench::State& state) { sums_of(state, Kind::unchecked); }
void sums_wrong(gpubench::State& state) { sums_of(state, Kind::wrong); }

}  // namespace

HOST_BENCHMARK(sums)->ArgName("n")->Arg(1 << 14);
HOST_BENCHMARK(sums_again)->ArgName("n")->Arg(1 << 14);
HOST_BENCHMARK(sums_cached)->ArgName("n")->Arg(1 << 14);
HOST_BENCHMARK(sums_unchecked)->ArgName("n")->Arg(1 << 14);
HOST_BENCHMARK(sums_wrong)->ArgName("n")->Arg(1 << 14);
