// SPDX-License-Identifier: Apache-2.0
// Operations through Google Benchmark and back: names, arguments, failures, repetitions, flags.
#include "bench/google/google_runner.h"

#include <gpubench/gpubench.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "bench/counters/counter_pass.h"
#include "bench/counting_runner.h"
#include "bench/google/adapter.h"
#include "gpu/devices.h"
#include "tests/bench/fake_metric_source.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

void add_up(State& state) {
  auto x = state.host_vector<float>(state.range(0));
  state.reads(x.bytes());
  state.flops(fp32, state.range(0));
  float sum = 0.0F;
  state.verify([&] { return sum == sum; });
  state.measure([&] {
    sum = 0.0F;
    for (const auto each : x) sum += each;
    keep(sum);
  });
}
HOST_BENCHMARK(add_up)->ArgName("n")->Arg(64)->Arg(256);

void throws(State&) { throw std::runtime_error("the disk is on fire"); }
HOST_BENCHMARK(throws);

void wrong(State& state) {
  state.verify([] { return Check(false, "2 is not 3"); });
  state.measure([] {});
}
HOST_BENCHMARK(wrong);

void forgets(State&) {}
HOST_BENCHMARK(forgets);

void twice(State& state) {
  state.measure([] {});
  state.measure([] {});
}
HOST_BENCHMARK(twice);

int set_ups = 0;
int tear_downs = 0;
void set_up(State& state) {
  state.measure([] {});
}
void fails(const benchmark::State&) { throw std::runtime_error("no disk"); }
const auto* const with_callbacks = register_operation("set_up_once", DeviceKind::cpu, set_up)
                                       -> Setup([](const benchmark::State& google) { set_ups += google.range(0) == 7; })
                                           -> Teardown([](const benchmark::State&) { ++tear_downs; }) -> Arg(7);
const auto* const bad_set_up = register_operation("bad_set_up", DeviceKind::cpu, set_up) -> Setup(fails);
const auto* const bad_tear_down = register_operation("bad_tear_down", DeviceKind::cpu, set_up) -> Teardown(fails);

void loops(State& state) {
  for (auto iteration : state.google()) (void)iteration;
}
void loops_then_measures(State& state, bool first) {
  if (first) loops(state);
  state.measure([] {});
  if (!first) loops(state);
}
HOST_BENCHMARK(loops)->Complexity();
HOST_BENCHMARK_CAPTURE(loops_then_measures, first, true)->Repetitions(2);
HOST_BENCHMARK_CAPTURE(loops_then_measures, last, false)->Iterations(3);

int plain_iterations = 0;
void plain(benchmark::State& google) {
  for (auto iteration : google) {
    (void)iteration;
    ++plain_iterations;
  }
}
BENCHMARK(plain)->Arg(3)->Iterations(50);

int skipped_executions = 0;
void leaves_out(State& state, bool before, bool after) {
  if (before) state.skip("only on Tuesdays");
  if (before && !after) return;
  state.measure([] { keep(++skipped_executions); });
  if (!before) state.skip("only on Tuesdays");
}
HOST_BENCHMARK_CAPTURE(leaves_out, at_once, true, false);
HOST_BENCHMARK_CAPTURE(leaves_out, and_measures, true, true);
HOST_BENCHMARK_CAPTURE(leaves_out, afterwards, false, true);

void too_large(State& state) {
  auto x = state.host_vector<double>(std::int64_t{1} << 50);
  state.measure([&] { keep(x[0]); });
}
HOST_BENCHMARK(too_large);

void on_gpu(State& state) {
  state.measure([](Stream) {});
}
GPU_BENCHMARK(on_gpu);

template <class T, int factor>
void typed(State& state) {
  T value{};
  state.measure([&] { keep(value = static_cast<T>(value * factor)); });
}
HOST_BENCHMARK_TEMPLATE(typed, double, 3);

void captured(State& state, int value) {
  state.measure([&] { keep(value); });
}
HOST_BENCHMARK_CAPTURE(captured, five, 5)->Repetitions(3);

/// With variants: one that works, one for the other kind of device, and one that throws.
void ablated(State& state) {
  int count = 0;
  state.ablation(less_arithmetic, 0.5, [&] { ++count; });
  state.ablation(less_traffic, 0.0, [](Stream) {});
  state.ablation(less_traffic, 0.25, [] { throw std::runtime_error("no such variant"); });
  state.measure([] {});
  state.google().counters["count"] = count;
}
HOST_BENCHMARK(ablated);

void ablates_upwards(State& state) {
  state.ablation(less_arithmetic, 1.0, [] {});
  state.measure([] {});
}
HOST_BENCHMARK(ablates_upwards);

/// Two vectors that take turns when caches are to be cold.
void copies(State& state) {
  const auto n = state.range(0);
  const auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.reads(x.bytes());
  state.writes(y.bytes());
  state.verify([&] { return Check(std::equal(x.span().begin(), x.span().end(), y.span().begin()), "not equal"); });
  state.measure([&] { std::copy(x.data(), x.data() + n, y.data()); });
}
HOST_BENCHMARK(copies)->Arg(65536);

void keeps_a_pointer(State& state) {
  auto x = state.host_vector<float>(65536);
  float* const pointer = x.data();
  state.measure([&] { keep(*pointer); });
}
HOST_BENCHMARK(keeps_a_pointer);

/// Where its vector has been.
std::set<const float*> wandered;
void wanders(State& state) {
  const auto x = state.host_vector<float>(65536);
  state.measure([&] { wandered.insert(x.data()); });
  state.google().counters["places"] = static_cast<double>(wandered.size());
}
HOST_BENCHMARK(wanders);

/// What measures it, and what calls it as its program does.
int measured_calls = 0;
std::int64_t calls_as_called = 0;
void called_otherwise(State& state) {
  state.as_called([](Stream, std::int64_t calls) { calls_as_called += calls; });
  state.measure([] { ++measured_calls; });
}
HOST_BENCHMARK(called_otherwise);

// Too short for the time it asks for, so Google Benchmark measures it again; what follows has iterations of its own.
void grows(State& state) {
  state.measure([] {});
}
HOST_BENCHMARK(grows)->MinTime(1e-8)->Repetitions(2);
HOST_BENCHMARK_CAPTURE(captured, after_growth, 7)->Iterations(100);

/// Fails in its second repetition of four.
void fails_once(State& state) {
  static int calls = 0;
  if (++calls % 4 == 2) throw std::runtime_error("a bad day");
  state.measure([] {});
}
HOST_BENCHMARK(fails_once)->Iterations(3)->Repetitions(4);

/// Works in place; `begun_with` tells what each execution found.
std::vector<std::int32_t> begun_with;
void in_place(State& state) {
  auto x = state.host_vector<std::int32_t>(state.range(0));
  state.measure([&] {
    begun_with.push_back(x[0]);
    ++x[0];
  });
}
HOST_BENCHMARK(in_place)->Arg(8)->Arg(16);

SamplingOptions brief() {
  SamplingOptions options;
  options.exact_samples = 5;
  return options;
}

/// Measures what the filter chooses; cold where `device` says so.
std::vector<Measurement> measure(const std::string& filter, const std::vector<Sink>& sinks = {},
                                 const Labeller& labeller = {}) {
  PointRunner runner(host_device(), {brief()});
  return go_over(
      host_device(), filter, [&](const PointCall& call, std::size_t) { return runner.run(call); }, sinks, labeller);
}

/// The host with a last-level cache of 1 MiB, so that little is enough to be cold.
Device small_host() {
  Device device = host_device();
  device.last_level_cache_bytes = 1 << 20;
  return device;
}

std::vector<Measurement> measure_cold(const std::string& filter, const std::vector<Sink>& sinks = {}) {
  PointRunner runner(small_host(), {brief(), {}, true});
  return go_over(
      small_host(), filter, [&](const PointCall& call, std::size_t) { return runner.run(call); }, sinks);
}

/// Counts points once more, by a chip that is not there.
struct Counted {
  std::vector<Measurement> points;
  std::vector<std::string> warnings;
};
Counted count(const std::string& filter, const std::vector<Measurement>& timed, const std::vector<std::string>& metrics,
              FakeChip* chip = nullptr, bool cold = false) {
  const Device device = cold ? small_host() : host_device();
  auto pass = chip == nullptr ? std::make_unique<CounterPass>(device, metrics)
                              : std::make_unique<CounterPass>(device, metrics, [chip](const Device&) {
                                  return std::make_unique<FakeMetricSource>(*chip);
                                });
  CountingRunner runner(device, cold, std::move(pass));
  Counted result;
  for (auto& [position, point] :
       count_again(runner, device, filter, [&](std::size_t position) { return &timed.at(position); }))
    result.points.push_back(std::move(point));
  result.warnings = runner.pass().warnings();
  return result;
}

TEST(GoogleRunner, NamesOperationAndArguments) {
  const auto measured = measure("^add_up/n:256");
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].name, "add_up/n:256");
  EXPECT_EQ(measured[0].operation, "add_up");
  EXPECT_THAT(measured[0].arguments, ElementsAre(Argument{"n", 256}));
  EXPECT_EQ(measured[0].device, "cpu");
  EXPECT_EQ(measured[0].work.bytes_read, 1024.0);
  EXPECT_EQ(measured[0].work.flops.at(fp32), 256.0);
  EXPECT_EQ(measured[0].work.footprint_bytes, 1024.0);
  EXPECT_TRUE(measured[0].verified);
  ASSERT_TRUE(measured[0].seconds());
  EXPECT_EQ(measured[0].seconds()->count + measured[0].primary().dropped_samples, 5)
      << "a busy machine changes its clock";
  EXPECT_EQ(measured[0].primary().clock, TimingMode::host);
}

TEST(GoogleRunner, TemplatesAndCapturesAreNamedAsGoogleNamesThem) {
  EXPECT_EQ(measure("^typed").at(0).operation, "typed<double, 3>");
  const auto repeated = measure("^captured/five");
  ASSERT_EQ(repeated.size(), 3U);
  EXPECT_EQ(repeated[2].repetition, 2);
  EXPECT_EQ(repeated[2].operation, "captured/five");
}

TEST(GoogleRunner, AFailureIsKeptWithItsReasonAndTheRestGoesOn) {
  const auto measured = measure("throws|wrong|forgets|twice|too_large|add_up/n:64");
  ASSERT_EQ(measured.size(), 6U);
  const auto failure = [&](const std::string& operation) {
    for (const auto& measurement : measured)
      if (measurement.operation == operation && measurement.failure) return *measurement.failure;
    return Failure{FailureKind::error, "none"};
  };
  EXPECT_EQ(failure("throws").message, "the disk is on fire");
  EXPECT_EQ(failure("wrong"), (Failure{FailureKind::wrong_result, "2 is not 3"}));
  EXPECT_THAT(failure("forgets").message, HasSubstr("without calling state.measure"));
  EXPECT_THAT(failure("twice").message, HasSubstr("twice"));
  EXPECT_EQ(failure("too_large").kind, FailureKind::out_of_memory);
  for (const auto& measurement : measured)
    EXPECT_NE(measurement.seconds().has_value(), measurement.failure.has_value());
}

TEST(GoogleRunner, SetupAndTeardownAreCalledWhereAPointIsMeasuredAlone) {
  EXPECT_EQ(discover(host_device().kind, "set_up|tear_down").size(), 3U);
  EXPECT_EQ(set_ups + tear_downs, 0) << "a list calls none";
  const auto measured = measure("set_up|tear_down");
  ASSERT_EQ(measured.size(), 3U);
  EXPECT_TRUE(measured[0].seconds());
  EXPECT_EQ(set_ups, 1);
  EXPECT_EQ(tear_downs, 1);
  ASSERT_TRUE(measured[1].failure);
  EXPECT_EQ(measured[1].failure->message, "->Setup of 'bad_set_up' failed: no disk");
  ASSERT_TRUE(measured[2].failure);
  EXPECT_EQ(measured[2].failure->message, "->Teardown of 'bad_tear_down' failed: no disk");
  EXPECT_FALSE(measured[2].seconds());
}

TEST(GoogleRunner, AnOperationThatGoesThroughGooglesLoopFailsAlone) {
  const auto measured = measure("loops|captured/five");
  ASSERT_EQ(measured.size(), 7U);
  for (const Measurement& each : measured) {
    if (each.operation.starts_with("captured")) {
      EXPECT_TRUE(each.seconds());
      continue;
    }
    ASSERT_TRUE(each.failure) << each.name;
    EXPECT_THAT(each.failure->message, HasSubstr("loops over state.google()"));
    EXPECT_FALSE(each.seconds());
  }
}

TEST(GoogleRunner, PlainBenchmarksAreGooglesAlone) {
  EXPECT_THAT(plain_benchmarks(""), ElementsAre("plain/3/iterations:50"));
  EXPECT_THAT(plain_benchmarks("^pl"), ElementsAre("plain/3/iterations:50"));
  EXPECT_TRUE(plain_benchmarks("captured").empty());
  EXPECT_TRUE(discover(host_device().kind, "plain").empty());
  EXPECT_EQ(measure("plain|captured/five").size(), 3U);
  EXPECT_EQ(plain_iterations, 0) << "neither a list nor a run of ours runs them";
  std::ostringstream text;
  benchmark::JSONReporter json;
  json.SetOutputStream(&text);
  run_plain_benchmarks({"plain/3/iterations:50"}, {}, json);
  EXPECT_EQ(plain_iterations, 50);
  EXPECT_THAT(text.str(), HasSubstr("\"plain/3/iterations:50\""));
  EXPECT_EQ(measure("captured/five").size(), 3U) << "flags are as before";
}

TEST(GoogleRunner, OperationsMayBeRegisteredAfterARun) {
  EXPECT_FALSE(discover(host_device().kind, "").empty());
  register_operation("late", DeviceKind::cpu, add_up)->Arg(64);
  EXPECT_EQ(discover(host_device().kind, "^late").size(), 1U) << "without a crash of Google Benchmark";
}

TEST(GoogleRunner, OperationsNeedANameToBeRegistered) {
  EXPECT_THROW(register_operation("", DeviceKind::cpu, add_up), std::invalid_argument);
}

TEST(GoogleRunner, VariantsAreTimedBesideTheOperation) {
  const auto measured = measure("^ablated");
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_FALSE(measured[0].failure) << "a variant is no reason to fail";
  const auto& variants = measured[0].variants;
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_EQ(variants[0].ablation, less_arithmetic);
  EXPECT_EQ(variants[0].remaining_fraction, 0.5);
  EXPECT_TRUE(variants[0].seconds);
  EXPECT_FALSE(variants[1].seconds);
  EXPECT_THAT(variants[1].reason, HasSubstr("cannot be timed on the host"));
  EXPECT_EQ(variants[2].reason, "no such variant");
  EXPECT_THAT(measure("^ablates_upwards").at(0).failure->message, HasSubstr("from 0 to less than 1"));
}

TEST(GoogleRunner, ASkippedPointIsNoFailure) {
  EXPECT_THAT(measure("leaves_out/a[tn]"), SizeIs(2));
  EXPECT_EQ(skipped_executions, 0) << "what is skipped is not run";
  const auto measured = measure("leaves_out");
  ASSERT_EQ(measured.size(), 3U);
  for (const Measurement& each : measured) {
    EXPECT_EQ(each.skipped, "only on Tuesdays");
    EXPECT_FALSE(each.failure);
    EXPECT_FALSE(each.seconds()) << each.name;
  }
}

TEST(GoogleRunner, OperationsOfAnotherDeviceAreNotThere) {
  EXPECT_TRUE(measure("on_gpu").empty());
  EXPECT_TRUE(discover(host_device().kind, "on_gpu").empty());
  Device gpu;
  gpu.kind = DeviceKind::gpu;
  EXPECT_EQ(discover(gpu.kind, "").size(), 1U);
}

TEST(GoogleRunner, DiscoveryNamesWhatWouldRunWithoutRunningIt) {
  const auto points = discover(host_device().kind, "throws|add_up");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].name, "add_up/n:64");
}

TEST(GoogleRunner, AFilterMayEndWhereTheTablesNamesEnd) {
  const auto count = [](const std::string& filter) { return discover(host_device().kind, filter).size(); };
  EXPECT_EQ(count("add_up/n:256$"), 1U);
  EXPECT_EQ(count("^add_up/n:(64|256)$"), 2U);
  EXPECT_EQ(count("add_up/n:256/manual_time$"), 1U);
  EXPECT_EQ(count("add_up/n:25$"), 0U);
  EXPECT_EQ(count("add_up/n:256\\$"), 0U);
  EXPECT_EQ(count("add_up/n:256[$]"), 0U);
}

TEST(GoogleRunner, NoFilterTakesForEver) {
  const auto count = [](const std::string& filter) { return discover(host_device().kind, filter).size(); };
  alarm(120);  // by going back, some of these would take years
  const std::size_t all = count("");
  EXPECT_EQ(count("((.*)*)*x((.*)*)*y$"), 0U);
  EXPECT_EQ(count("^((a|d|_)*)*(u|p)+/n:64$"), 1U);
  EXPECT_EQ(count("-^((a|d|_)*)*(u|p)+/n:64$"), all - 1);
  EXPECT_EQ(count(".*.*.*.*.*.*.*.*.*.*.*.*add_up/n:256.*/manual_time$"), 1U);
  EXPECT_EQ(count("(.*)*"), all);
  EXPECT_EQ(count("-(.*)*"), 0U);
  EXPECT_EQ(count("^(add_up/n:64)+\\$"), 0U);
  alarm(0);
  EXPECT_THROW(count("((.*)*"), GoogleFlagError);
  EXPECT_THROW(count(std::string(100'000, '(')), GoogleFlagError);
  EXPECT_THROW(count("(a{500}){500}"), GoogleFlagError);
}

TEST(GoogleRunner, CountersComeAfterTimingAndChangeNothingOfIt) {
  FakeChip chip;
  chip.metrics = {{"lts__t_bytes.sum", {4096.0, "byte", false}}};
  const auto timed = measure("^add_up|throws");
  const Counted counted = count("^add_up|throws", timed, {"l2_bytes", "l1_bytes"}, &chip);
  const auto& measured = counted.points;
  ASSERT_EQ(measured.size(), 3U);
  EXPECT_THAT(measured[0].counters, ElementsAre(Counter{"l2_bytes", 4096.0, "bytes", "fake"}));
  EXPECT_THAT(measured[0].absent_counters, ElementsAre(AbsentCounter{"l1_bytes", "FK100 has no counter for it"}));
  EXPECT_EQ(measured[0].seconds(), timed[0].seconds());
  EXPECT_EQ(measured[0].name, timed[0].name);
  EXPECT_TRUE(measured[2].failure);
  EXPECT_TRUE(measured[2].counters.empty());
  EXPECT_EQ(chip.counted.size(), 2U);
  EXPECT_EQ(counted.warnings.size(), 1U);
}

TEST(GoogleRunner, EveryPassIsOneExecutionAfterAnotherOnTheSameInputs) {
  FakeChip chip;
  chip.metrics = {{"a__1.sum", {1.0, "", false}}};
  chip.passes_of = {{"a__1.sum", 3}};
  const auto timed = measure("^in_place");
  begun_with.clear();
  const Counted counted = count("^in_place", timed, {"a__1.sum"}, &chip);
  // Two rounds to find out what changes, and three passes: twice, for there are two points.
  ASSERT_EQ(begun_with.size(), 2U * (2 + 2 + 3 * 2));
  for (const std::size_t point : {0U, 10U})
    for (const std::size_t pass : {4U, 6U, 8U}) {
      EXPECT_EQ(begun_with[point + pass], begun_with[point] + 4);
      EXPECT_EQ(begun_with[point + pass + 1], begun_with[point] + 5);
    }
  EXPECT_THAT(counted.warnings, IsEmpty());
}

TEST(GoogleRunner, AnExecutionThatFailsWhileItIsCountedCostsCountersAlone) {
  FakeChip chip;
  chip.metrics = {{"lts__t_bytes.sum", {4096.0, "byte", false}}};
  const auto timed = measure("^add_up");
  // As if it had been timed before it began to fail.
  auto failing = timed.at(0);
  failing.name.clear();
  const Counted counted = count("^throws", {failing}, {"l2_bytes"}, &chip);
  ASSERT_EQ(counted.points.size(), 1U);
  EXPECT_EQ(counted.points[0].seconds(), timed[0].seconds());
  EXPECT_FALSE(counted.points[0].failure);
  EXPECT_THAT(counted.points[0].absent_counters, ElementsAre(AbsentCounter{"l2_bytes", "the disk is on fire"}));
  EXPECT_THAT(counted.warnings, ElementsAre("No counters on cpu: the disk is on fire."));
}

TEST(GoogleRunner, WithoutCountersThePointHasItsTimeAndTheReason) {
  const auto timed = measure("^add_up");
  const Counted counted = count("^add_up", timed, {"l2_bytes"});
  for (const auto& measurement : counted.points) {
    EXPECT_TRUE(measurement.seconds());
    ASSERT_EQ(measurement.absent_counters.size(), 1U);
    EXPECT_THAT(measurement.absent_counters[0].reason, HasSubstr("counters of the CPU are not supported"));
  }
  EXPECT_EQ(counted.warnings.size(), 1U);
}

TEST(ColdRun, BuffersTakeTurns) {
  const auto measured = measure_cold("^copies|^keeps_a_pointer");
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[0].cache_state, "cold");
  EXPECT_TRUE(measured[0].verified);
  ASSERT_TRUE(measured[0].seconds());
  EXPECT_GT(measured[0].seconds()->median, 0.0);
  EXPECT_THAT(measured[0].primary().method, HasSubstr("; cold: 6 copies of its 2 buffers in turn"));
  EXPECT_EQ(measured[1].primary().executions_per_sample, 1);
  EXPECT_THAT(measured[1].primary().method,
              HasSubstr("cache flushed before each execution, because buffer 1 of 1 is not read"));
  EXPECT_TRUE(uses_one_thread(measured[1])) << "threads that flush are none of the operation's";
  EXPECT_THAT(measure("^copies").at(0).primary().method, Not(HasSubstr("cold")));
  EXPECT_EQ(measure("^copies").at(0).cache_state, "warm");
}

TEST(ColdRun, EveryExecutionFindsAnotherCopy) {
  const auto places = [](const std::string& state) {
    wandered.clear();
    std::ostringstream out;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&out);
    const std::vector<Sink> sinks = {{&reporter, false}};
    (void)(state == "cold" ? measure_cold("^wanders", sinks) : measure("^wanders", sinks));
    return nlohmann::json::parse(out.str())["benchmarks"][0]["places"].get<double>();
  };
  EXPECT_EQ(places("warm"), 1.0);
  EXPECT_EQ(places("cold"), 12.0);
}

TEST(ColdRun, IsCountedAsItIsTimed) {
  FakeChip chip;
  chip.metrics = {{"lts__t_bytes.sum", {4096.0, "byte", false}}};
  const auto timed = measure("^wanders");
  wandered.clear();
  (void)count("^wanders", timed, {"l2_bytes"}, &chip, true);
  EXPECT_EQ(chip.counted.size(), 1U);
  // The first execution and the one that shows what it uses have the original, the one that is counted the next copy.
  EXPECT_EQ(wandered.size(), 2U);
}

TEST(ColdRun, PassesSayThatCopiesInTurnsAreNotPutBack) {
  FakeChip chip;
  chip.metrics = {{"a__1.sum", {1.0, "", false}}};
  chip.passes_of = {{"a__1.sum", 2}};
  const auto counted = count("^wanders", measure("^wanders"), {"a__1.sum"}, &chip, true);
  ASSERT_EQ(counted.points.at(0).counters.size(), 1U);
  EXPECT_THAT(counted.points[0].counters[0].source, HasSubstr("copies of its buffers in turns"));
}

TEST(ColdRun, NeedsTheSizeOfTheCache) {
  Device device = host_device();
  device.last_level_cache_bytes = 0;
  EXPECT_THROW(PointRunner(device, {brief(), {}, true}), std::invalid_argument);
  EXPECT_NO_THROW(PointRunner(device, {brief()}));
}

TEST(GoogleRunner, ATimeOnTheHostIsOfTheOperationAsItIsCalled) {
  ASSERT_EQ(measure("^called_otherwise").size(), 1U);
  EXPECT_GT(calls_as_called, 0);
  EXPECT_LT(measured_calls, 5) << "once for what it uses, and to warm up";
}

TEST(GoogleRunner, ARepetitionThatFailsIsNotTheEndOfGoogleBenchmark) {
  const auto points = measure("fails_once");
  ASSERT_EQ(points.size(), 4U);
  for (const Measurement& point : points) EXPECT_EQ(point.failure.has_value(), point.repetition == 1);
}

TEST(GoogleRunner, PositionsAreThoseOfDiscovery) {
  const std::string filter = "grows|after_growth";
  const auto points = discover(host_device().kind, filter);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].repetition, 1);
  std::vector<std::size_t> begun;
  std::map<std::size_t, Measurement> recorded;
  PointRunner runner(host_device(), {brief()});
  const auto measured = go_over(host_device(), filter, [&](const PointCall& call, std::size_t position) {
    begun.push_back(position);
    return recorded[position] = runner.run(call);
  });
  EXPECT_THAT(begun, ElementsAre(0U, 1U, 2U)) << "once each, however often Google Benchmark asks";
  ASSERT_EQ(measured.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(measured[i].name, points[i].name);
    EXPECT_EQ(measured[i].primary().samples_seconds, recorded[i].primary().samples_seconds) << i;
  }
}

TEST(GoogleRunner, PointsAreChosenOneByOne) {
  const std::string filter = "add_up|captured/five";
  std::set<std::size_t> begun;  // some more than once: they are too short for Google Benchmark
  PointRunner runner(host_device(), {brief()});
  const auto visit = [&](const PointCall& call, std::size_t position) -> std::optional<Measurement> {
    if (position == 0 || position == 3) return std::nullopt;
    begun.insert(position);
    return runner.run(call);
  };
  const auto measured = go_over(host_device(), filter, visit);
  EXPECT_THAT(begun, ElementsAre(1U, 2U, 4U));
  ASSERT_EQ(measured.size(), 3U);
  EXPECT_EQ(measured[0].arguments[0].value, 256);
  EXPECT_EQ(measured[2].repetition, 2);
}

TEST(GoogleRunner, WhatIsKnownIsGoneOverWithoutRunning) {
  const std::string filter = "grows|throws|captured/five|leaves_out";
  const auto before = measure(filter);
  std::ostringstream text;
  benchmark::JSONReporter json;
  json.SetOutputStream(&text);
  const auto recall = [&](const PointCall&, std::size_t position) { return before.at(position); };
  EXPECT_EQ(go_over(host_device(), filter, recall, {{&json, false}}), before);
  EXPECT_THAT(text.str(), HasSubstr("captured/five/repeats:3/manual_time_median"));
  EXPECT_THAT(text.str(), HasSubstr("the disk is on fire"));
}

TEST(GoogleRunner, ABadFilterIsAnError) { EXPECT_THROW(discover(host_device().kind, "["), GoogleFlagError); }

TEST(GoogleRunner, WhatAnOperationChangesOfItsProcessIsAsBeforeForTheNext) {
  const auto folder = std::filesystem::current_path();
  const auto cores = [] {
    cpu_set_t set = {};
    (void)sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
  };
  const int threads = omp_get_max_threads(), all_cores = cores();
  register_operation("changes", DeviceKind::cpu, [](State& state) {
    std::filesystem::current_path("/");
    omp_set_num_threads(omp_get_max_threads() + 1);
    cpu_set_t one = {};
    CPU_SET(sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    add_up(state);
  })->Arg(64);
  EXPECT_EQ(measure("^changes").size(), 1U);
  EXPECT_EQ(std::filesystem::current_path(), folder) << "reports of relative names are written there";
  EXPECT_EQ(omp_get_max_threads(), threads);
  EXPECT_EQ(cores(), all_cores);
}

TEST(GoogleRunner, ASecondCheckIsRefusedLestTheFirstBeLost) {
  register_operation("verifies_twice", DeviceKind::cpu, [](State& state) {
    state.verify([] { return Check(false, "wrong"); });
    state.verify([] { return true; });
    state.measure([] {});
  });
  const auto measured = measure("^verifies_twice");
  ASSERT_EQ(measured.size(), 1U);
  ASSERT_TRUE(measured[0].failure);
  EXPECT_THAT(measured[0].failure->message, HasSubstr("state.verify twice"));
}

TEST(GoogleRunner, NamesAreOneLine) {
  register_operation("two\nlines", DeviceKind::cpu, add_up)->Arg(64);
  const auto names = discover(host_device().kind, "lines");
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].name, "two lines/64");
}

TEST(GoogleRunner, ThousandsOfPointsAndOddNamesGoBesidePlainBenchmarks) {
  register_operation("f<int[3]>{}", DeviceKind::cpu, add_up)->Arg(64);
  register_operation("many", DeviceKind::cpu, add_up)->DenseRange(1, 5000);
  const std::size_t all = discover(host_device().kind, "").size();
  EXPECT_GT(all, 5000U);
  EXPECT_EQ(discover(host_device().kind, "^many").size(), 5000U);
  EXPECT_EQ(discover(host_device().kind, "^many|plain$").size(), 5000U);
  EXPECT_EQ(discover(host_device().kind, "^f<|plain").size(), 1U);
  EXPECT_THAT([] { discover(host_device().kind, "^many|plain"); },
              ThrowsMessage<GoogleFlagError>(HasSubstr("too many points")));
}

TEST(GoogleRunner, GooglesJsonCarriesRatesAndLabelWithoutOurMarks) {
  std::ostringstream out;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  (void)measure("add_up/n:64|throws|on_gpu", {{&reporter, false}}, [](const Measurement&) { return "memory"; });
  const auto json = nlohmann::json::parse(out.str());
  ASSERT_EQ(json["benchmarks"].size(), 2U);
  const auto& entry = json["benchmarks"][0];
  EXPECT_EQ(entry["name"], "add_up/n:64/manual_time");
  EXPECT_EQ(entry["label"], "memory");
  EXPECT_GT(entry["bytes_per_second"].get<double>(), 0.0);
  EXPECT_NEAR(entry["FLOP"].get<double>() * entry["real_time"].get<double>() * 1e-9, 64.0, 1e-6);
  EXPECT_FALSE(entry.contains(point_counter));
  EXPECT_EQ(json["benchmarks"][1]["error_message"], "the disk is on fire");
}

TEST(GoogleFlags, AreSplitIntoOursAndGoogles) {
  const auto flags =
      parse_google_flags({"--benchmark_filter=a.*", "--benchmark_repetitions=3", "--benchmark_out=x.json",
                          "--benchmark_min_time=0.5s", "--benchmark_list_tests"});
  EXPECT_EQ(flags.filter, "a.*");
  EXPECT_EQ(flags.out, "x.json");
  EXPECT_EQ(flags.min_time_seconds, 0.5);
  EXPECT_TRUE(flags.list);
  EXPECT_THAT(flags.passed_on, ElementsAre("--benchmark_repetitions=3"));
  EXPECT_EQ(parse_google_flags({"--benchmark_min_time=100x"}).exact_iterations, 100);
  EXPECT_EQ(parse_google_flags({"--benchmark_min_time=2"}).min_time_seconds, 2.0);
}

TEST(GoogleFlags, BadValuesAreRefused) {
  for (const char* bad : {"--benchmark_min_time=x", "--benchmark_min_time=-1", "--benchmark_min_time=0x",
                          "--benchmark_min_time=1m", "--benchmark_format=xml", "--benchmark_list_tests=perhaps"})
    EXPECT_THROW(parse_google_flags({bad}), GoogleFlagError) << bad;
}

TEST(GoogleFlags, RandomInterleavingIsKnown) {
  EXPECT_FALSE(parse_google_flags({"--benchmark_repetitions=3"}).interleaves_at_random());
  EXPECT_TRUE(parse_google_flags({"--benchmark_enable_random_interleaving"}).interleaves_at_random());
  EXPECT_TRUE(parse_google_flags({"--benchmark_enable_random_interleaving=true"}).interleaves_at_random());
  EXPECT_FALSE(parse_google_flags({"--benchmark_enable_random_interleaving=false"}).interleaves_at_random());
}

TEST(Tags, TravelThroughMessages) {
  EXPECT_EQ(untag_message(tag_message(12, "a: b")).index, 12U);
  EXPECT_EQ(untag_message(tag_message(12, "a: b")).message, "a: b");
  EXPECT_FALSE(untag_message("gpubench point of view").index);
  EXPECT_FALSE(untag_message("").index);
}

}  // namespace
}  // namespace gpubench::bench
