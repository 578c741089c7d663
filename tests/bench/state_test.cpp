// SPDX-License-Identifier: Apache-2.0
// What an operation can say and ask through its State: names, texts, contents, resets, counters.
#include <benchmark/benchmark.h>
#include <gpubench/gpubench.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bench/counters/counter_pass.h"
#include "bench/counting_runner.h"
#include "bench/google/adapter.h"
#include "bench/google/argument_choice.h"
#include "bench/google/google_runner.h"
#include "bench/memory/host_memory.h"
#include "bench/timing/host_timer.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpu/memory/random.h"
#include "tests/bench/fake_metric_source.h"
#include "tests/matchers.h"

struct Particle {
  float x, y, z, mass;
};
template <>
struct gpubench::made_of<Particle> {
  using type = float;
};

namespace gpubench::bench {
namespace {

struct Node {
  std::int64_t next;
  char name[3];
};

void by_name(State& state) {
  const auto rows = state.range("rows");
  state.counter("seen", static_cast<double>(rows * 1000 + state.range(1)));
  state.measure([] {});
}
HOST_BENCHMARK(by_name)->ArgNames({"rows", "columns"})->Args({3, 5});

void unknown_name(State& state) {
  (void)state.range("n");
  state.measure([] {});
}
HOST_BENCHMARK(unknown_name)->ArgNames({"rows", "columns"})->Args({3, 5});

template <class T>
void typed_sum(State& state) {
  auto x = state.host_vector<T>(state.range("n"));
  state.label(state.text("type"));
  state.items(state.range(0));
  state.measure([&] { keep(x[0]); });
}
HOST_BENCHMARK_TYPES(typed_sum, float, std::complex<double>, unsigned char)->ArgName("n")->Arg(8)->Arg(16);

void laid_out(State& state) {
  state.label(state.text("layout") == "row" ? "by rows" : "by columns");
  state.measure([] {});
}
HOST_BENCHMARK_TEXTS(laid_out, layout, row, column);

std::vector<std::vector<int>> found;
std::vector<std::int64_t> filled_sets;  ///< sets of inputs

void sorts_in_place(State& state) {
  std::vector<int> x;
  state.reset([&] { x = {3, 1, 2}; });
  state.verify([&] { return std::ranges::is_sorted(x); });
  state.measure([&] {
    found.push_back(x);
    std::ranges::sort(x);
  });
}
HOST_BENCHMARK(sorts_in_place);

/// Doubles its input, or gives what the first call gave once `cached` is on.
void doubles(State& state, bool cached) {
  int in = 0;
  std::optional<int> first;
  int out = 0;
  state.inputs(5, [&](std::int64_t set) {
    in = static_cast<int>(set) + 1;
    filled_sets.push_back(set);
  });
  state.verify([&] { return out == 2 * in; });
  state.measure([&] {
    if (!first) first = 2 * in;
    out = cached ? *first : 2 * in;
  });
}
HOST_BENCHMARK_CAPTURE(doubles, honest, false);
HOST_BENCHMARK_CAPTURE(doubles, cached, true);

void goes_wrong_later(State& state) {
  int calls = 0;
  state.verify([&] { return calls < 3; });
  state.measure([&] { ++calls; });
}
HOST_BENCHMARK(goes_wrong_later);

void inputs_without_check(State& state) {
  state.inputs(2, [](std::int64_t) {});
  state.measure([] {});
}
HOST_BENCHMARK(inputs_without_check);

void resets_a_stream(State& state) {
  state.reset([](Stream) {});
  state.measure([] {});
}
HOST_BENCHMARK(resets_a_stream);

void counts(State& state) {
  state.counter("matrix", 64.0, "bytes");
  state.counter("matrix", 128.0, "bytes");
  state.phase("store", 0.2, 1e-6, 8);
  state.phase("load", 0.1, 1e-6, 8);
  state.phase("load", 0.7, 2e-6, 8, 1.5);
  state.google().counters["theirs"] = 7.0;
  state.google().counters["rate"] = benchmark::Counter(10.0, benchmark::Counter::kIsRate);
  state.google().SetLabel("their label");
  state.measure([] { std::this_thread::sleep_for(std::chrono::microseconds(1)); });
}
HOST_BENCHMARK(counts);

void negative_count(State& state) { (void)state.host_vector<float>(-5); }
HOST_BENCHMARK(negative_count);
void negative_bytes(State& state) { state.reads(-1); }
HOST_BENCHMARK(negative_bytes);
/// What a user computes a count in, and what the bytes lie in.
void any_numbers(State& state) {
  const auto x = state.host_vector<float>(8);
  const std::vector<double> y(4);
  state.reads(x);
  state.reads(y);
  state.writes(std::span(y).first(2));
  state.writes(99.6F);
  state.flops(fp32, 2.0 * 8.3);
  state.footprint(1e3);
  state.random_reads(1e2, 4096.0L);
  state.items(7.5);
  state.measure([] {});
}
HOST_BENCHMARK(any_numbers);
void uncounted_nan(State& state) { state.flops(fp32, std::numeric_limits<double>::quiet_NaN()); }
HOST_BENCHMARK(uncounted_nan);
void uncounted_endless(State& state) { state.items(std::numeric_limits<float>::infinity()); }
HOST_BENCHMARK(uncounted_endless);
void declared_wrapped(State& state) { state.writes(static_cast<std::size_t>(-8)); }
HOST_BENCHMARK(declared_wrapped);
void declared_twice_too_much(State& state) {
  state.flops(fp32, std::int64_t{1} << 62);
  state.flops(fp32, 1024);
}
HOST_BENCHMARK(declared_twice_too_much);
void declared_negative(State& state) { state.items(-1); }
HOST_BENCHMARK(declared_negative);
void declared_grid(State& state) { state.grid(std::numeric_limits<std::size_t>::max() / 2, 1); }
HOST_BENCHMARK(declared_grid);
void declared_residents(State& state) { state.grid(1, 1 << 20); }
HOST_BENCHMARK(declared_residents);
void declared_nan(State& state) { state.counter("speed", std::numeric_limits<double>::quiet_NaN()); }
HOST_BENCHMARK(declared_nan);
void declared_endless(State& state) { state.counter("speed", -std::numeric_limits<double>::infinity()); }
HOST_BENCHMARK(declared_endless);
/// The largest that is taken, and figures of Google Benchmark's that are none.
void declared_most(State& state) {
  state.reads(std::int64_t{1} << 62);
  state.writes(std::int64_t{1} << 62);
  state.flops(fp64, std::int64_t{1} << 62);
  state.footprint(std::int64_t{1} << 62);
  state.random_reads(std::int64_t{1} << 62, std::int64_t{1} << 62);
  state.random_updates(1, 8);
  state.items(std::int64_t{1} << 62);
  state.grid(std::int64_t{2147483647} * 65535 * 65535, 2048);
  state.counter("most", std::numeric_limits<double>::max());
  state.google().counters["nan"] = std::numeric_limits<double>::quiet_NaN();
  state.google().counters["inverse"] = benchmark::Counter(0.0, benchmark::Counter::kInvert);
  state.measure([] {});
}
HOST_BENCHMARK(declared_most);
void endless(State& state) { (void)state.host_vector<double>(std::int64_t{1} << 61); }
HOST_BENCHMARK(endless);

void replaceable(State& state) {
  state.measure([] {});
}
HOST_BENCHMARK(replaceable)->ArgNames({"m", "k"})->Args({1, 10})->Args({2, 10})->Args({2, 20});

std::vector<Measurement> measure(const std::string& filter, bool cold = false, bool verify_every = false) {
  Device device = host_device();
  if (cold) device.last_level_cache_bytes = 1 << 20;
  SamplingOptions brief;
  brief.exact_samples = 5;
  PointRunner runner(device, {brief, {}, cold, verify_every});
  return go_over(device, filter, [&](const PointCall& call, std::size_t) { return runner.run(call); });
}

std::vector<std::string> names(const std::string& filter) {
  std::vector<std::string> result;
  for (const PointName& point : discover(host_device().kind, filter)) result.push_back(point.name);
  return result;
}

/// What a State hands out, outside of any point.
template <class T, class... Contents>
std::vector<T> filled(std::int64_t count, Contents... contents) {
  detail::Declaration declared{nullptr, {}, {}};
  State state(declared);
  const auto vector = state.host_vector<T>(count, contents...);
  return {vector.span().begin(), vector.span().end()};
}

TEST(Arguments, AreFoundByTheirNames) {
  EXPECT_THAT(measure("^by_name").at(0).user_counters, ElementsAre(UserCounter{"seen", 3005.0, ""}));
  const auto failure = measure("^unknown_name").at(0).failure;
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->message, HasSubstr("state.range(\"n\")"));
  EXPECT_THAT(failure->message, HasSubstr("\"rows\", \"columns\""));
}

TEST(Types, AreAnAxisOfOneOperation) {
  const auto measured = measure("^typed_sum");
  ASSERT_EQ(measured.size(), 6U);
  EXPECT_EQ(measured[3].name, "typed_sum/type:std::complex<double>/n:16");
  EXPECT_EQ(measured[3].operation, "typed_sum");
  EXPECT_THAT(measured[3].arguments, ElementsAre(Argument{"type", 0, "std::complex<double>"}, Argument{"n", 16}));
  EXPECT_EQ(measured[4].label, "unsigned char");
  EXPECT_EQ(measured[3].work.footprint_bytes, 256.0);
  EXPECT_THAT(measured[3].user_counters, ElementsAre(UserCounter{"items", 16.0, "items"}));
  EXPECT_THAT(names("typed_sum/type:float/n:8"), ElementsAre("typed_sum/type:float/n:8"));
}

TEST(Texts, AreAnAxisOfOneOperation) {
  const auto measured = measure("^laid_out");
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[1].name, "laid_out/layout:column");
  EXPECT_EQ(measured[1].label, "by columns");
}

TEST(Reset, ComesBeforeEveryExecution) {
  for (const bool cold : {false, true}) {
    found.clear();
    const auto measured = measure("^sorts_in_place", cold);
    ASSERT_TRUE(measured.at(0).seconds()) << (measured[0].failure ? measured[0].failure->message : "");
    EXPECT_GT(found.size(), 5U);
    for (const auto& before : found) EXPECT_THAT(before, ElementsAre(3, 1, 2));
    EXPECT_TRUE(measured[0].verified);
    EXPECT_THAT(measured[0].primary().method, HasSubstr("inputs reset before each, untimed"));
    if (cold) {
      EXPECT_THAT(measured[0].primary().method, HasSubstr("because its inputs are reset"));
    }
  }
}

TEST(Reset, ComesBeforeEveryExecutionThatIsCounted) {
  FakeChip chip;
  chip.metrics = {{"a__1.sum", {1.0, "", false}}};
  chip.passes_of = {{"a__1.sum", 3}};
  const auto timed = measure("^sorts_in_place");
  CountingRunner runner(
      host_device(), false,
      std::make_unique<CounterPass>(host_device(), std::vector<std::string>{"a__1.sum"},
                                    [&](const Device&) { return std::make_unique<FakeMetricSource>(chip); }));
  found.clear();
  const auto counted =
      count_again(runner, host_device(), "^sorts_in_place", [&](std::size_t position) { return &timed.at(position); });
  EXPECT_EQ(counted.at(0).counters.size(), 1U);
  EXPECT_GE(found.size(), 3U);
  for (const auto& before : found) EXPECT_THAT(before, ElementsAre(3, 1, 2));
}

TEST(Reset, OfAnotherKindOfDeviceIsRefused) {
  EXPECT_THAT(measure("^resets_a_stream").at(0).failure->message, HasSubstr("on the host it takes nothing"));
}

TEST(Reset, IsNotTimed) {
  // The reset advances a clock of our own by far more than the operation does.
  std::int64_t resets = 0;
  std::int64_t executions = 0;
  HostTimer clock([&](std::int64_t count) { executions += count; }, [&] { ++resets; });
  (void)clock.time(7);
  EXPECT_EQ(resets, 7);
  EXPECT_EQ(executions, 7);
  EXPECT_GE(clock.max_executions(), 1);
}

TEST(Verify, SeesACachedResultByOtherInputs) {
  filled_sets.clear();
  EXPECT_FALSE(measure("^doubles/honest").at(0).failure);
  ASSERT_EQ(filled_sets.size(), 2U);
  EXPECT_EQ(filled_sets[0], 0);
  EXPECT_GE(filled_sets[1], 1);
  const auto cached = measure("^doubles/cached").at(0);
  ASSERT_TRUE(cached.failure);
  EXPECT_EQ(cached.failure->kind, FailureKind::wrong_result);
  EXPECT_THAT(cached.failure->message, HasSubstr("right before timing, wrong after it for inputs"));
  EXPECT_FALSE(cached.seconds());
}

TEST(Verify, EveryChecksAfterTimingAndAllInputs) {
  filled_sets.clear();
  EXPECT_FALSE(measure("^doubles/honest", false, true).at(0).failure);
  EXPECT_THAT(filled_sets, ElementsAre(0, 4, 3, 2, 1, 0));
  EXPECT_FALSE(measure("^goes_wrong_later").at(0).failure);
  EXPECT_EQ(measure("^goes_wrong_later", false, true).at(0).failure->kind, FailureKind::wrong_result);
}

TEST(Verify, IsNeededByInputs) {
  EXPECT_THAT(measure("^inputs_without_check").at(0).failure->message, HasSubstr("needs state.verify"));
}

TEST(Counters, OfOursAndOfGoogleBenchmarkAreKept) {
  const auto measured = measure("^counts").at(0);
  const auto value = [&](const std::string& name) {
    const auto counter = std::ranges::find(measured.user_counters, name, &UserCounter::name);
    return counter == measured.user_counters.end() ? UserCounter{"none", 0.0, ""} : *counter;
  };
  EXPECT_EQ(value("matrix"), (UserCounter{"matrix", 128.0, "bytes"}));
  EXPECT_EQ(value("theirs"), (UserCounter{"theirs", 7.0, ""}));
  EXPECT_EQ(value("rate").unit, "1/s");
  EXPECT_NEAR(value("rate").value, 10.0 / measured.seconds()->median, 1e-6 * value("rate").value);
  EXPECT_EQ(measured.label, "their label");
  EXPECT_THAT(measured.phases, ElementsAre(Phase{"load", 0.7, 2e-6, 8, 1.5}, Phase{"store", 0.2, 1e-6, 8, 1.0}))
      << "by falling share, the latest of a name";
}

TEST(Refusals, AreInTheUsersTerms) {
  EXPECT_THAT(measure("^negative_count").at(0).failure->message, HasSubstr("-5 elements"));
  EXPECT_THAT(measure("^negative_bytes").at(0).failure->message, HasSubstr("state.reads"));
  EXPECT_EQ(measure("^endless").at(0).failure->kind, FailureKind::out_of_memory);
}

TEST(Declarations, TakeAnyNumberRoundedAndWhatHoldsTheBytes) {
  const Measurement measured = measure("^any_numbers").at(0);
  ASSERT_FALSE(measured.failure) << measured.failure->message;
  EXPECT_EQ(measured.work.bytes_read, 64.0);
  EXPECT_EQ(measured.work.bytes_written, 116.0);
  EXPECT_EQ(measured.work.flops.at(fp32), 17.0);
  EXPECT_EQ(measured.work.footprint_bytes, 1000.0);
  EXPECT_EQ(measured.work.random.value().reads, 100.0);
  const auto refused = measure("^uncounted_");
  EXPECT_THAT(refused.at(0).failure->message, HasSubstr("state.flops got nan; give a number from 0 on"));
  EXPECT_THAT(refused.at(1).failure->message, HasSubstr("state.items got inf, more than one execution can do"));
}

TEST(Refusals, WhatIsDeclaredIsReadBack) {
  const auto measured = measure("^declared_");
  ASSERT_EQ(measured.size(), 8U);
  gpubench::Run run;
  for (const Measurement& one : measured) run.points.push_back({one, std::nullopt});
  EXPECT_EQ(storage::run_from_json(storage::to_json(run), "run.json"), run);
  const auto message = [&](std::size_t i) { return measured[i].failure ? measured[i].failure->message : "none"; };
  EXPECT_THAT(message(0), HasSubstr("state.writes got 1.845e+19, more than one execution can do"));
  EXPECT_THAT(message(1), HasSubstr("state.flops"));
  EXPECT_THAT(message(2), HasSubstr("state.items got -1; give a number from 0 on"));
  EXPECT_THAT(message(3), HasSubstr("state.grid takes up to"));
  EXPECT_THAT(message(4), HasSubstr("not 1 and 1048576"));
  EXPECT_THAT(message(5), HasSubstr("state.counter(\"speed\") got nan"));
  EXPECT_THAT(message(6), HasSubstr("got -inf"));
  EXPECT_EQ(message(7), "none");
  ASSERT_EQ(measured[7].absent_counters.size(), 2U);
  EXPECT_EQ(measured[7].absent_counters[1].name, "nan");
}

TEST(Registration, KnowsHowItsCodeWasCompiled) {
  EXPECT_EQ(measure("^by_name").at(0).compiled_vectors, GPUBENCH_VECTORS);
#ifdef __OPTIMIZE__
  EXPECT_EQ(measure("^by_name").at(0).unoptimized_code, false);
#else
  EXPECT_EQ(measure("^by_name").at(0).unoptimized_code, true);
#endif
}

TEST(Contents, DefaultsAreRandomForNumbersAndZeroForTheRest) {
  const auto bytes = filled<unsigned char>(4096);
  EXPECT_EQ(std::set<unsigned char>(bytes.begin(), bytes.end()).size(), 256U);
  const auto floats = filled<float>(4096);
  const double mean = std::accumulate(floats.begin(), floats.end(), 0.0) / 4096;
  EXPECT_NEAR(mean, 0.0, 0.1);
  EXPECT_TRUE(std::ranges::any_of(floats, [](float x) { return x < 0.0F; }));
  for (const Node& node : filled<Node>(10)) EXPECT_EQ(node.next, 0);
  for (const std::complex<double>& value : filled<std::complex<double>>(100)) {
    EXPECT_NE(value.real(), 0.0);
    EXPECT_LT(std::abs(value), 10.0);
  }
  for (const Particle& particle : filled<Particle>(100)) EXPECT_LT(std::abs(particle.mass), 10.0F);
  for (const bool value : filled<bool>(100)) EXPECT_TRUE(value || !value);
}

TEST(Contents, AreChosen) {
  for (const float x : filled<float>(1000, uniform)) {
    EXPECT_GE(x, 0.0F);
    EXPECT_LT(x, 1.0F);
  }
  for (const double x : filled<double>(1000, zeros)) EXPECT_EQ(x, 0.0);
  for (const int x : filled<int>(1000, zeros)) EXPECT_EQ(x, 0);
  EXPECT_EQ(filled<Node>(3, none).size(), 3U);
}

TEST(Narrow, RoundsAsTheStandardsSay) {
  const auto half = [](float value) { return narrow(value, format_of(detail::ElementKind::float16)); };
  EXPECT_EQ(half(1.0F), 0x3C00U);
  EXPECT_EQ(half(-2.0F), 0xC000U);
  EXPECT_EQ(half(65504.0F), 0x7BFFU);
  EXPECT_EQ(half(1e6F), 0x7BFFU) << "the largest finite one";
  EXPECT_EQ(half(0x1p-24F), 0x0001U) << "the smallest subnormal";
  EXPECT_EQ(half(0x1p-26F), 0x0000U);
  EXPECT_EQ(half(1.0F + 0x1p-11F), 0x3C00U) << "a tie goes to even";
  EXPECT_EQ(half(1.0F + 0x1.8p-10F), 0x3C02U) << "a tie goes to even";
  EXPECT_EQ(half(0x1.FFCp-15F), 0x03FFU + 1U) << "a subnormal rounds up to the smallest normal";
  const auto bfloat = [](float value) { return narrow(value, format_of(detail::ElementKind::bfloat16)); };
  EXPECT_EQ(bfloat(1.0F), 0x3F80U);
  EXPECT_EQ(bfloat(3.14159265F), 0x4049U);
  const auto e4m3 = [](float value) { return narrow(value, format_of(detail::ElementKind::fp8_e4m3)); };
  EXPECT_EQ(e4m3(1.0F), 0x38U);
  EXPECT_EQ(e4m3(448.0F), 0x7EU);
  EXPECT_EQ(e4m3(1000.0F), 0x7EU);
  EXPECT_EQ(e4m3(0x1p-9F), 0x01U);
  const auto e5m2 = [](float value) { return narrow(value, format_of(detail::ElementKind::fp8_e5m2)); };
  EXPECT_EQ(e5m2(1.0F), 0x3CU);
  EXPECT_EQ(e5m2(57344.0F), 0x7BU);
}

TEST(SplitNames, KeepsTemplatesWhole) {
  EXPECT_THAT(detail::split_names("float, std::pair<int, int>, x"), ElementsAre("float", "std::pair<int, int>", "x"));
  EXPECT_THROW(detail::split_names("a/b"), std::invalid_argument);
}

TEST(ArgumentChoice, ReadsValuesAndRanges) {
  EXPECT_THAT(parse_argument_choice("n=1024,2^12").numbers, ElementsAre(1024, 4096));
  EXPECT_THAT(parse_argument_choice("n=2^10..2^14:4").numbers, ElementsAre(1024, 4096, 16384));
  EXPECT_THAT(parse_argument_choice("n=3..20").numbers, ElementsAre(3, 6, 12, 20));
  EXPECT_THAT(parse_argument_choice("type=float,double").texts, ElementsAre("float", "double"));
  EXPECT_TRUE(parse_argument_choice("type=float,double").numbers.empty());
  for (const char* bad : {"n", "n=", "=3", "n=1,", "n=5..2", "n=0..8", "n=1..8:1", "n=a..b", "n=1..2:x"})
    EXPECT_THROW(parse_argument_choice(bad), ArgumentError) << bad;
}

TEST(ArgumentChoice, RefusesWhatNoOperationHas) {
  const auto message = [](const char* text) -> std::string {
    return message_of<ArgumentError>([&] { choose_arguments({parse_argument_choice(text)}); });
  };
  EXPECT_THAT(message("size=3"), HasSubstr("columns, k, layout, m, n, rows, type"));
  EXPECT_THAT(message("layout=diagonal"), HasSubstr("it takes column, row"));
  EXPECT_THAT(message("m=many"), HasSubstr("whole numbers"));
}

// Changes what is registered for the whole process, so it comes last of those that use these operations.
TEST(ArgumentChoice, ReplacesRegisteredValues) {
  choose_arguments({parse_argument_choice("m=2,8"), parse_argument_choice("layout=row")});
  EXPECT_THAT(names("^replaceable"), UnorderedElementsAre("replaceable/m:2/k:10", "replaceable/m:2/k:20",
                                                          "replaceable/m:8/k:10", "replaceable/m:8/k:20"));
  EXPECT_THAT(names("^laid_out"), ElementsAre("laid_out/layout:row"));
  EXPECT_EQ(names("^by_name").size(), 1U);
  EXPECT_EQ(measure("^replaceable").size(), 4U);
}

}  // namespace
}  // namespace gpubench::bench
