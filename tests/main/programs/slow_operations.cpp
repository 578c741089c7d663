// SPDX-License-Identifier: Apache-2.0
// A benchmark program that takes a while, so that it can be interrupted.
#include <gpubench/gpubench.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace {

/// From the sixth point on it waits as long as this file is there, so that a test ends it before its end.
void wait_for_test(std::int64_t number) {
  const char* const file = std::getenv("GPUBENCH_TEST_HOLD");
  while (file != nullptr && number > 5 && std::filesystem::exists(file))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void sleeps(gpubench::State& state) {
  wait_for_test(state.range(0));
  state.measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
}
HOST_BENCHMARK(sleeps)->DenseRange(1, 12);

void sleeps_too(gpubench::State& state) { sleeps(state); }
HOST_BENCHMARK(sleeps_too)->DenseRange(1, 4)->Repetitions(2);

}  // namespace
