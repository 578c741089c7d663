// SPDX-License-Identifier: Apache-2.0
// One operation for each method of Google Benchmark's Benchmark, named after it. google_options_test.py runs them
// beside the table in docs/reference/google-benchmark.md.
#include <gpubench/gpubench.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

int set_up = 0;

void sums(gpubench::State& state, std::int64_t n) {
  auto values = state.host_vector<float>(n);
  state.reads(values.bytes());
  float sum = 0.0F;
  state.measure([&] {
    for (const float value : values) sum += value;
    gpubench::keep(sum);
  });
}

void operation(gpubench::State& state) { sums(state, 1024); }
void sized(gpubench::State& state) { sums(state, state.range(0)); }
void pair_sized(gpubench::State& state) { sums(state, state.range(0) * state.range(1)); }
void complex(gpubench::State& state) {
  state.google().SetComplexityN(state.range(0));
  sums(state, state.range(0));
}
void after_setup(gpubench::State& state) {
  if (set_up == 0) throw std::runtime_error("Setup was not called");
  sums(state, 1024);
}

void plain(benchmark::State& google) {
  for (auto iteration : google) (void)iteration;
}
BENCHMARK(plain);

double longest(const std::vector<double>& times) { return *std::ranges::max_element(times); }

#define OPTION(method, function) gpubench::register_operation(#method, gpubench::DeviceKind::cpu, function)

[[maybe_unused]] const bool registered = [] {
  OPTION(Name, operation)->Name("Renamed");
  OPTION(Arg, sized)->Arg(1024)->Arg(2048);
  OPTION(Unit, operation)->Unit(benchmark::kMillisecond);
  OPTION(Range, sized)->Range(256, 4096);
  OPTION(DenseRange, sized)->DenseRange(256, 1024, 256);
  OPTION(Args, pair_sized)->Args({16, 32})->Args({32, 32});
  OPTION(ArgPair, pair_sized)->ArgPair(16, 32);
  OPTION(Ranges, pair_sized)->Ranges({{8, 16}, {8, 64}});
  OPTION(ArgsProduct, pair_sized)->ArgsProduct({{8, 16}, {32, 64}});
  OPTION(ArgName, sized)->ArgName("n")->Arg(1024);
  OPTION(ArgNames, pair_sized)->ArgNames({"rows", "columns"})->Args({16, 32});
  OPTION(RangePair, pair_sized)->RangePair(8, 16, 8, 64);
  OPTION(Setup, after_setup)->Setup([](const benchmark::State&) { ++set_up; });
  OPTION(Teardown, operation)->Teardown([](const benchmark::State&) { set_up = 0; });
  OPTION(Apply, sized)->Apply([](gpubench::GoogleBenchmark* benchmark) { benchmark->Arg(512)->Arg(1024); });
  OPTION(RangeMultiplier, sized)->RangeMultiplier(2)->Range(256, 1024);
  OPTION(MinTime, operation)->MinTime(0.5);
  OPTION(MinWarmUpTime, operation)->MinWarmUpTime(0.2);
  OPTION(Iterations, operation)->Iterations(30);
  OPTION(Samples / too_many, operation)->Iterations(1'000'001);
  OPTION(Repetitions, operation)->Repetitions(3);
  OPTION(ReportAggregatesOnly, operation)->Repetitions(3)->ReportAggregatesOnly();
  OPTION(DisplayAggregatesOnly, operation)->Repetitions(3)->DisplayAggregatesOnly();
  OPTION(MeasureProcessCPUTime, operation)->MeasureProcessCPUTime();
  if (std::getenv("GPUBENCH_TEST_REAL_TIME") != nullptr) OPTION(UseRealTime, operation)->UseRealTime();
  OPTION(UseManualTime, operation)->UseManualTime();
  OPTION(Complexity, complex)->RangeMultiplier(2)->Range(256, 2048)->Complexity();
  OPTION(Complexity / by_function, complex)->Range(256, 2048)->Complexity([](benchmark::IterationCount n) -> double {
    return static_cast<double>(n);
  });
  OPTION(ComputeStatistics, operation)->Repetitions(3)->ReportAggregatesOnly()->ComputeStatistics("longest", longest);
  OPTION(Threads, operation)->Threads(2)->Threads(4);
  OPTION(ThreadRange, operation)->ThreadRange(1, 4);
  OPTION(DenseThreadRange, operation)->DenseThreadRange(2, 4);
  OPTION(ThreadPerCpu, operation)->ThreadPerCpu();
  OPTION(Repetitions / min_time, operation)->Repetitions(2)->MinTime(0.2)->MinWarmUpTime(0.1);
  return true;
}();

}  // namespace
