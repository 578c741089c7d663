// SPDX-License-Identifier: Apache-2.0
// Operations that do what no operation should, between two that behave. unruly_test.py says what becomes of each.
#include <gpubench/gpubench.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using gpubench::State;

void sum(State& state) {
  auto values = state.host_vector<float>(4096);
  state.reads(values.bytes());
  float total = 0.0F;
  state.measure([&] {
    for (const float value : values) total += value;
    gpubench::keep(total);
  });
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, void (*operation)(State&)) {
    return gpubench::register_operation(name, gpubench::DeviceKind::cpu, operation);
  };
  add("first", sum);
  add("throws_before", [](State&) { throw 42; });
  add("throws_inside", [](State& state) { state.measure([] { throw 42; }); });
  add("throws_after", [](State& state) {
    sum(state);
    throw 42;
  });
  add("throws_text", [](State&) { throw "out of coffee"; });
  add("throws_string", [](State&) { throw std::string("out of tea"); });
  add("throws_nothing_said", [](State&) { throw std::runtime_error(""); });
  add("throws_later", [](State& state) {
    int left = 5;  // after the first, which is not timed, and before the fewest samples are taken
    state.measure([&] {
      if (--left == 0) throw std::runtime_error("the pool is empty");
    });
  });
  add("throws_in_verify", [](State& state) {
    state.verify([]() -> gpubench::Check { throw 42; });
    sum(state);
  });
  add("throws_in_reset", [](State& state) {
    state.reset([] { throw 42; });
    state.measure([] {});
  });
  add("throws_in_variant", [](State& state) {
    state.ablation(gpubench::less_arithmetic, 0.5, [] { throw 42; });
    sum(state);
  });
  add("measures_twice", [](State& state) {
    sum(state);
    sum(state);
  });
  add("swallows_the_second", [](State& state) {
    sum(state);
    try {
      sum(state);
    } catch (...) {
    }
  });
  add("verifies_too_late", [](State& state) {
    sum(state);
    state.verify([] { return gpubench::Check(false, "wrong"); });
  });
  add("resets_too_late", [](State& state) {
    sum(state);
    state.reset([] {});
  });
  add("never_measures", [](State&) {});
  add("skips_with_error", [](State& state) { state.google().SkipWithError("the file is not there"); });
  add("skips_with_error_after", [](State& state) {
    sum(state);
    state.google().SkipWithError("it came out wrong");
  });
  add("skips_with_error_before", [](State& state) {
    state.google().SkipWithError("no licence");
    sum(state);
  });
  add("negative_reads", [](State& state) {
    state.reads(-1);
    sum(state);
  });
  add("negative_vector", [](State& state) { (void)state.host_vector<float>(-1); });
  add("wrapped_vector",
      [](State& state) { (void)state.host_vector<double>(std::numeric_limits<std::int64_t>::max()); });
  add("huge_work", [](State& state) {
    for (int i = 0; i < 100; ++i) state.reads(std::numeric_limits<std::int64_t>::max());
    state.flops(gpubench::fp32, std::numeric_limits<std::uint64_t>::max());
    state.items(std::numeric_limits<std::uint64_t>::max());
    state.footprint(std::numeric_limits<std::uint64_t>::max());
    sum(state);
  });
  add("huge_grid", [](State& state) {
    state.grid(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max());
    sum(state);
  });
  add("odd_counters", [](State& state) {
    state.counter("nan", std::nan(""));
    state.counter("infinite", std::numeric_limits<double>::infinity(), "\x1b[31m");
    state.counter("", 1.0);
    state.google().counters["google"] = std::nan("");
    sum(state);
  });
  add("odd_label", [](State& state) {
    state.label(std::string("a\0b\xff\n::error::x", 15));
    sum(state);
  });
  add("unknown_argument", [](State& state) { (void)state.range("m"); });
  add("too_large", [](State& state) { (void)state.host_vector<double>(std::int64_t{1} << 50); });
  add("does_nothing", [](State& state) { state.measure([] {}); });
  add("optimised_away", [](State& state) {
    state.reads(1 << 20);
    state.measure([] {});
  });
  add("loops_itself", [](State& state) {
    for (auto iteration : state.google()) (void)iteration;
  });
  const auto fails = [](const benchmark::State&) { throw std::runtime_error("no disk"); };
  add("bad_set_up", sum)->Setup(fails);
  add("bad_tear_down", sum)->Teardown(fails);
  add("last", sum);
  if (const char* const seconds = std::getenv("GPUBENCH_TEST_HANGS"); seconds != nullptr) {
    static const double length = std::strtod(seconds, nullptr);
    add("hangs", [](State& state) {
      state.measure([] { std::this_thread::sleep_for(std::chrono::duration<double>(length)); });
    })->Iterations(1);
  }
  return true;
}();

}  // namespace
