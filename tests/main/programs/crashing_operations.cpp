// SPDX-License-Identifier: Apache-2.0
// A benchmark program whose operations end their process, each in its way, between others that work.
#include <gpubench/gpubench.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

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

// Each works but at 2.
void segfaults(gpubench::State& state) {
  if (state.range(0) == 2) (void)std::raise(SIGSEGV);
  state.measure([] {});
}
HOST_BENCHMARK(segfaults)->DenseRange(1, 4);

void aborts(gpubench::State& state) {
  if (state.range(0) == 2) {
    (void)std::fputs("a last word before the end\n", stderr);
    std::abort();
  }
  works(state);
}
HOST_BENCHMARK(aborts)->DenseRange(1, 3);

void hangs(gpubench::State& state) {
  while (state.range(0) == 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  works(state);
}
HOST_BENCHMARK(hangs)->ArgNames({"n"})->DenseRange(1, 3);

void exits(gpubench::State& state) {
  if (state.range(0) == 2) std::exit(3);
  works(state);
}
HOST_BENCHMARK(exits)->DenseRange(1, 3);

void throws(gpubench::State& state) {
  if (state.range(0) == 2) throw std::runtime_error("no coffee left");
  works(state);
}
HOST_BENCHMARK(throws)->DenseRange(1, 3);

void crashes_at_the_end(gpubench::State& state) {
  works(state);
  (void)std::atexit([] { (void)std::raise(SIGSEGV); });
}
HOST_BENCHMARK(crashes_at_the_end)->Arg(64);

// Of names that say nothing of the operation.
void named(gpubench::State& state) { works(state); }
HOST_BENCHMARK(named)->Name("other")->Arg(64);
HOST_BENCHMARK(named)->Name("")->Arg(64);
HOST_BENCHMARK(named)->Name("not UTF-8: \xff\xfe")->Arg(64)->Arg(128);

// Of one name, in two places.
void twice(gpubench::State& state) { works(state); }
HOST_BENCHMARK(twice)->Arg(64)->Arg(64);

void works_after_all(gpubench::State& state) { works(state); }
HOST_BENCHMARK(works_after_all)->Arg(1024);

}  // namespace
