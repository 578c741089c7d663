// SPDX-License-Identifier: Apache-2.0
// A benchmark program that takes a while, so that it can be interrupted.
#include <gpubench/gpubench.h>

#include <chrono>
#include <thread>

namespace {

void sleeps(gpubench::State& state) {
  state.measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
}
HOST_BENCHMARK(sleeps)->DenseRange(1, 12);

void sleeps_too(gpubench::State& state) { sleeps(state); }
HOST_BENCHMARK(sleeps_too)->DenseRange(1, 4)->Repetitions(2);

}  // namespace
