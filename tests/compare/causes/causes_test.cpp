// SPDX-License-Identifier: Apache-2.0
// Planted causes of a change, on made-up measurements as a GPU's and a CPU's are, and on kept ones.
#include "compare/causes/causes.h"

#include <gtest/gtest.h>

#include <string>

#include "compare/compare.h"
#include "tests/compare/compared_runs.h"
#include "tests/matchers.h"

namespace gpubench::compare {
namespace {

constexpr double base_seconds = 100e-6;

KernelLaunch launch_of(const std::string& name, std::int64_t registers = 96) {
  KernelLaunch launch;
  launch.name = name;
  launch.grid = {264, 1, 1};
  launch.block = {256, 1, 1};
  launch.registers = registers;
  launch.code = "fnv1a64 of sm_90 SASS: 1";
  return launch;
}

KernelGroup group_of_kernel(const std::string& name, double seconds) {
  KernelGroup group;
  group.launch = launch_of(name);
  group.seconds = Estimate{seconds, {seconds, seconds}};
  group.blocks_per_multiprocessor = 2;
  return group;
}

/// A run of one operation of one kernel, which takes 100 us at 1.98 GHz.
Run gpu_run(const std::string& limiter = "dram", Regime regime = Regime::memory) {
  Run run = run_with(around(base_seconds), "gemm");
  run.devices[0].id = "cuda:0";
  run.devices[0].kind = DeviceKind::gpu;
  run.devices[0].properties = {{"driver", "580.1"}, {"cuda_runtime", "13.0"}};
  run.context.environment = {{"host_code", "h"}, {"device_code", "d"}, {"compiler", "GNU 13"}, {"build", "optimised"}};
  Point& point = run.points[0];
  Measurement& measurement = point.measurement;
  measurement.device = "cuda:0";
  measurement.clock_hz = 1.98e9;
  measurement.launches = Launches{1, 264, 132, 0.0};
  measurement.kernels = {group_of_kernel("gemm_tile(float*)", base_seconds)};
  measurement.activity.emplace();
  measurement.activity->kernels = {launch_of("gemm_tile(float*)")};
  measurement.counters = {{"dram_read_bytes", 4e6, "bytes", ""},
                          {"dram_write_bytes", 1e6, "bytes", ""},
                          {"instructions", 1e6, "warp instructions", ""},
                          {"l2_atomics_hottest_busy", 1.0, "%", ""},
                          {"l2_bytes", 8e6, "bytes", ""},
                          {"occupancy", 50.0, "%", ""}};
  point.verdict.emplace();
  point.verdict->regime = regime;
  point.verdict->limiter = limiter;
  return run;
}

/// Slower by `ratio`, of one kernel all of it.
void slow(Run& run, double ratio) {
  Measurement& measurement = run.points[0].measurement;
  measurement.make_primary().seconds->median *= ratio;
  if (measurement.kernels.size() == 1) measurement.kernels[0].seconds->value *= ratio;
}

void count(Run& run, std::string_view name, double factor) {
  for (Counter& counter : run.points[0].measurement.counters)
    if (counter.name == name) counter.value *= factor;
}

void change_code(Run& run) {
  run.context.environment["device_code"] = "other";
  run.points[0].measurement.activity->kernels[0].code = "fnv1a64 of sm_90 SASS: 2";
}

Causes causes(const Run& base, const Run& next, double ratio) {
  return causes_of({base.points[0], base}, {next.points[0], next}, ratio);
}

/// The first of the causes, which a user reads first.
Cause first(const Run& base, const Run& next, double ratio) {
  const Causes all = causes(base, next, ratio);
  return all.list.empty() ? Cause{} : all.list.front();
}

TEST(PlantedCauses, Registers) {
  const gpubench::Run base = gpu_run("dependency", Regime::latency);
  gpubench::Run next = base;
  slow(next, 1.8);
  change_code(next);
  next.points[0].measurement.kernels[0].launch.registers = 168;
  next.points[0].measurement.kernels[0].blocks_per_multiprocessor = 1;
  count(next, "occupancy", 0.5);
  const Cause cause = first(base, next, 1.8);
  EXPECT_EQ(cause.kind, CauseKind::occupancy);
  EXPECT_EQ(cause.text,
            "gemm_tile: 96 -> 168 registers a thread, 2 -> 1 blocks a multiprocessor, occupancy 50 -> 25 %");
  EXPECT_NEAR(cause.share.value_or(0.0), 1.0, 1e-9);
}

TEST(PlantedCauses, OccupancyBySharedMemory) {
  const gpubench::Run base = gpu_run("memory-latency", Regime::latency);
  gpubench::Run next = base;
  slow(next, 1.5);
  next.points[0].measurement.kernels[0].launch.dynamic_shared_bytes = 100'000;
  next.points[0].measurement.kernels[0].blocks_per_multiprocessor = 1;
  for (gpubench::Run* run : {&next}) run->points[0].measurement.counters.clear();
  const Cause cause = first(base, next, 1.5);
  EXPECT_EQ(cause.kind, CauseKind::occupancy);
  EXPECT_THAT(cause.text, AllOf(HasSubstr("0 -> 100000 bytes of shared memory"), HasSubstr("2 -> 1 blocks")));
}

TEST(PlantedCauses, RegistersOfAnotherTemplateArgument) {
  gpubench::Run base = gpu_run("dependency", Regime::latency);
  base.points[0].measurement.kernels[0].launch.name = "void many<32>(float*)";
  gpubench::Run next = base;
  slow(next, 1.8);
  KernelGroup& kernel = next.points[0].measurement.kernels[0];
  kernel.launch.name = "void many<160>(float*)";
  kernel.launch.registers = 168;
  kernel.blocks_per_multiprocessor = 1;
  count(next, "occupancy", 0.5);
  const Cause cause = first(base, next, 1.8);
  EXPECT_EQ(cause.kind, CauseKind::occupancy);
  EXPECT_THAT(cause.text, HasSubstr("many<32> -> many<160>: 96 -> 168 registers a thread"));
}

TEST(PlantedCauses, MoreWarpsAtOnceSlowNothing) {
  const gpubench::Run base = gpu_run();
  gpubench::Run next = base;
  slow(next, 1.4);
  next.points[0].measurement.kernels[0].launch.registers = 100;
  count(next, "occupancy", 1.1);
  count(next, "dram_read_bytes", 1.5);
  const Causes all = causes(base, next, 1.4);
  EXPECT_EQ(all.list.at(0).kind, CauseKind::bytes);
  for (const Cause& cause : all.list) EXPECT_NE(cause.kind, CauseKind::occupancy) << cause.text;
}

TEST(PlantedCauses, LaunchesThatTheHostCannotKeepUpWith) {
  gpubench::Run base = gpu_run();
  base.points[0].measurement.launch_seconds = Estimate{4e-6, {4e-6, 4e-6}};
  gpubench::Run next = base;
  Measurement& measurement = next.points[0].measurement;
  measurement.make_primary().seconds->median *= 3.0;
  measurement.kernels[0].launch.launches = 64;
  measurement.launch_seconds = Estimate{400e-6, {400e-6, 400e-6}};
  const Cause cause = first(base, next, 3.0);
  EXPECT_EQ(cause.kind, CauseKind::launches);
  EXPECT_THAT(cause.text, HasSubstr("1 -> 64 launches: the host launches it in 400 us, before in 4.00 us"));
  measurement.launch_seconds = base.points[0].measurement.launch_seconds;  // it waits for nothing
  EXPECT_THAT(first(base, next, 3.0).text, HasSubstr("1 -> 64 launches: the time between its kernels"));
}

TEST(PlantedCauses, TheVerdictComesWithTheCountersItRestsOn) {
  gpubench::Run plain = gpu_run();
  plain.points[0].measurement.counters.clear();
  plain.points[0].verdict->regime = Regime::unknown;
  add_explanations(gpu_run().points[0], plain.points[0]);
  EXPECT_EQ(plain.points[0].verdict->regime, Regime::memory);
}

TEST(PlantedCauses, ExtraCopy) {
  const gpubench::Run base = gpu_run();
  gpubench::Run next = base;
  slow(next, 1.0);
  KernelGroup copy;
  copy.kind = CommandKind::copy;
  copy.launch.name = std::string(command_name::device_to_device);
  copy.bytes = 1 << 20;
  copy.seconds = Estimate{30e-6, {30e-6, 30e-6}};
  next.points[0].measurement.kernels.push_back(copy);
  const Cause cause = first(base, next, 1.3);
  EXPECT_EQ(cause.kind, CauseKind::copy);
  EXPECT_THAT(cause.text, AllOf(HasSubstr("1 command more: copy, device to device, 30.0 us"), HasSubstr("for 1 MiB")));
  EXPECT_NEAR(cause.share.value_or(0.0), 1.0, 1e-6);
}

TEST(PlantedCauses, Layout) {
  const gpubench::Run base = gpu_run();
  gpubench::Run next = base;
  next.points[0].measurement.kernels.push_back(
      group_of_kernel("void at::native::vectorized_copy<4>(float*, float const*)", 12e-6));
  const Cause cause = first(base, next, 1.12);
  EXPECT_EQ(cause.kind, CauseKind::kernel);
  EXPECT_THAT(cause.text, AllOf(HasSubstr("1 kernel more: vectorized_copy"), HasSubstr("12.0 us: a layout change")));
}

TEST(PlantedCauses, Bytes) {
  const gpubench::Run base = gpu_run();
  gpubench::Run next = base;
  slow(next, 1.4);
  change_code(next);
  count(next, "dram_read_bytes", 1.5);
  const Causes all = causes(base, next, 1.4);
  EXPECT_EQ(all.list.at(0).kind, CauseKind::bytes);
  EXPECT_THAT(all.list.at(0).text, HasSubstr("moves 1.40 times the bytes of DRAM"));
  EXPECT_NEAR(all.list.at(0).share.value_or(0.0), 1.0, 1e-9);
  EXPECT_THAT(all.rest, IsEmpty());
}

TEST(PlantedCauses, SpiltRegisters) {
  gpubench::Run base = gpu_run();
  count(base, "dram_read_bytes", 0.001);
  count(base, "dram_write_bytes", 0.001);
  base.points[0].measurement.launches->local_bytes = 0.0;
  gpubench::Run next = base;
  slow(next, 10.0);
  count(next, "dram_read_bytes", 1000.0);
  next.points[0].measurement.launches->local_bytes = 5e6;
  const Cause cause = first(base, next, 10.0);
  EXPECT_EQ(cause.kind, CauseKind::bytes);
  EXPECT_EQ(
      cause.text,
      "gemm_tile: moves 4.00 MB of DRAM, before 5.00 kB, as spilt registers and arrays of its threads take 5.00 MB "
      "of local memory, before 0 B");
}

TEST(PlantedCauses, Atomics) {
  const gpubench::Run base = gpu_run("contended-atomics", Regime::latency);
  gpubench::Run next = base;
  slow(next, 3.0);
  change_code(next);
  count(next, "l2_atomics_hottest_busy", 70.0);
  const Cause cause = first(base, next, 3.0);
  EXPECT_EQ(cause.kind, CauseKind::atomics);
  EXPECT_THAT(cause.text, HasSubstr("1 -> 70 % of the time"));
}

TEST(PlantedCauses, Clock) {
  const gpubench::Run base = gpu_run("fp32", Regime::compute);
  gpubench::Run next = base;
  slow(next, 1.98 / 1.75);
  next.points[0].measurement.clock_hz = 1.75e9;
  const Causes all = causes(base, next, 1.98 / 1.75);
  EXPECT_EQ(all.list.at(0).text, "gemm_tile: same code, clock 1.98 GHz -> 1.75 GHz: not your change");
  EXPECT_NEAR(all.list.at(0).share.value_or(0.0), 1.0, 1e-9);
  next.points[0].measurement.conditions.emplace();
  next.points[0].measurement.conditions->throttle_reasons = {"power cap"};
  EXPECT_EQ(first(base, next, 1.98 / 1.75).kind, CauseKind::throttling);
  // DRAM has a clock of its own.
  gpubench::Run memory = gpu_run(), slower = memory;
  slow(slower, 1.13);
  slower.points[0].measurement.clock_hz = 1.75e9;
  EXPECT_FALSE(first(memory, slower, 1.13).share);
}

TEST(PlantedCauses, LibraryVersion) {
  const gpubench::Run base = gpu_run("tensor-bf16", Regime::compute);
  gpubench::Run next = base;
  slow(next, 1.25);
  next.points[0].measurement.kernels[0].launch.name = "cutlass_90_tensorop(float*)";
  next.points[0].measurement.activity->kernels[0] = next.points[0].measurement.kernels[0].launch;
  next.context.environment["libraries"] = "libcublasLt.so.12.9";
  gpubench::Run old = base;
  old.context.environment["libraries"] = "libcublasLt.so.12.6";
  const Cause cause = first(old, next, 1.25);
  EXPECT_EQ(cause.kind, CauseKind::libraries);
  EXPECT_THAT(cause.text, AllOf(HasSubstr("libcublasLt.so.12.6 -> libcublasLt.so.12.9"),
                                HasSubstr("gemm_tile -> cutlass_90_tensorop")));
}

TEST(PlantedCauses, ACommitIsNoCause) {
  gpubench::Run base = run_with(around(1e-3));
  gpubench::Run next = base;
  slow(next, 1.3);
  base.context.environment = {{"commit", "a"}, {"os", "one"}};
  next.context.environment = {{"commit", "b"}, {"os", "one"}, {"resumed", "true"}};
  EXPECT_TRUE(causes(base, next, 1.3).list.empty());
}

TEST(PlantedCauses, CompilerFlag) {
  gpubench::Run base = run_with(around(1e-3));
  base.context.environment = {{"host_code", "a"}, {"compiler_flags", "-O3 -march=x86-64"}};
  gpubench::Run next = base;
  slow(next, 1.3);
  next.context.environment = {{"host_code", "b"}, {"compiler_flags", "-O1 -march=x86-64"}};
  const Causes all = causes(base, next, 1.3);
  EXPECT_EQ(all.list.at(0).kind, CauseKind::build);
  EXPECT_EQ(all.list.at(0).text, "compiler flags: -O3 -> -O1");
  EXPECT_EQ(all.list.at(1).kind, CauseKind::code);
  EXPECT_THAT(all.rest, HasSubstr("cannot be told"));
}

TEST(PlantedCauses, LaunchCount) {
  const gpubench::Run base = gpu_run("launch", Regime::overhead);
  gpubench::Run next = base;
  slow(next, 4.0);
  next.points[0].measurement.kernels[0].launch.launches = 4;
  next.points[0].measurement.launches->kernels = 4;
  const Cause cause = first(base, next, 4.0);
  EXPECT_EQ(cause.kind, CauseKind::launches);
  EXPECT_EQ(cause.text, "gemm_tile: 1 -> 4 launches");
  EXPECT_NEAR(cause.share.value_or(0.0), 1.0, 1e-9);
}

TEST(Causes, ShareTheChangeAndSayWhatIsLeft) {
  const gpubench::Run base = gpu_run("fp32", Regime::compute);
  gpubench::Run next = base;
  slow(next, 1.4);
  next.points[0].measurement.clock_hz = 1.8e9;
  const Causes all = causes(base, next, 1.4);
  ASSERT_EQ(all.list.size(), 1U);
  EXPECT_NEAR(all.list[0].share.value_or(0.0), std::log(1.98 / 1.8) / std::log(1.4), 1e-9);
  EXPECT_THAT(all.rest, HasSubstr("72 % of the change is left"));
}

TEST(Causes, OfTwoKernelsTheOneThatGrewIsNamed) {
  gpubench::Run base = gpu_run();
  base.points[0].measurement.kernels.push_back(group_of_kernel("reduce(float*)", 50e-6));
  base.points[0].measurement.make_primary().seconds->median = 150e-6;
  gpubench::Run next = base;
  next.points[0].measurement.kernels[1].seconds->value = 80e-6;
  const Cause cause = first(base, next, 180.0 / 150.0);
  EXPECT_THAT(cause.text, HasSubstr("reduce takes 1.60 times as long"));
  EXPECT_NEAR(cause.share.value_or(0.0), 1.0, 1e-6);
}

TEST(Causes, SayWhereNothingDiffersAndWhatCouldTell) {
  gpubench::Run base = gpu_run(), next = base;
  for (gpubench::Run* run : {&base, &next}) run->points[0].measurement.kernels.clear();
  EXPECT_THAT(causes(base, next, 1.2).list, IsEmpty());
  EXPECT_THAT(causes(base, next, 1.2).rest, HasSubstr("nothing that both sides carry differs"));
  for (gpubench::Run* run : {&base, &next}) run->points[0].measurement.counters.clear();
  EXPECT_THAT(causes(base, next, 1.2).hint, HasSubstr("--metrics="));
  next.points[0].measurement.absent_counters = {{"dram_read_bytes", "counters need a permission"}};
  EXPECT_THAT(causes(base, next, 1.2).hint, HasSubstr("there are none: counters need a permission"));
}

TEST(Causes, LoadOfOthersIsNotYourChange) {
  gpubench::Run base = run_with(around(1e-3)), next = base;
  slow(next, 2.0);
  next.points[0].measurement.conditions.emplace();
  next.points[0].measurement.conditions->core_share = 0.5;
  const Cause cause = first(base, next, 2.0);
  EXPECT_EQ(cause.kind, CauseKind::load);
  EXPECT_THAT(cause.text, HasSubstr("not your change"));
}

TEST(Causes, OfSeveralProcessesTheTypicalOneIsHeldAgainst) {
  Point slow_clock = gpu_run().points[0], usual = slow_clock;
  slow_clock.measurement.clock_hz = 1e9;
  slow_clock.measurement.counters.clear();
  usual.measurement.conditions.emplace();
  usual.measurement.conditions->core_share = 0.5;
  usual.measurement.conditions->throttle_reasons = {"power cap"};
  const Point typical = typical_of({&slow_clock, &usual, &usual}, false);
  EXPECT_EQ(typical.measurement.clock_hz, 1.98e9);
  EXPECT_FALSE(typical.measurement.counters.empty());
  EXPECT_EQ(typical.measurement.conditions->core_share, 0.5);
  EXPECT_EQ(typical.measurement.conditions->throttle_reasons.size(), 1U);
  EXPECT_EQ(typical_of({&usual}, true).measurement.conditions->core_share, std::nullopt) << "in turns both met it";
  EXPECT_TRUE(typical_of({&usual, &slow_clock, &slow_clock}, false).measurement.conditions->throttle_reasons.empty());
}

TEST(Causes, AFasterPointHasThemToo) {
  const gpubench::Run base = gpu_run();
  gpubench::Run next = base;
  slow(next, 0.7);
  count(next, "dram_read_bytes", 0.7);
  EXPECT_EQ(first(base, next, 0.7).kind, CauseKind::bytes);
}

TEST(Causes, StandBesideChangedPointsAlone) {
  gpubench::Run base = run_with(around(1.0)), next = run_with(around(1.5));
  base.context.environment = {{"host_code", "a"}};
  next.context.environment = {{"host_code", "b"}};
  const Comparison changed = compare(base, next, quiet());
  EXPECT_EQ(changed.points.at(0).causes.list.at(0).text, "the program's machine code differs");
  EXPECT_THAT(compare(base, base, quiet()).points.at(0).causes.list, IsEmpty());
}

}  // namespace
}  // namespace gpubench::compare
