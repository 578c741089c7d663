// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/sample_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "classifier/run/findings.h"
#include "core/statistics/statistics.h"

namespace gpubench {
namespace {

Device example_gpu() {
  Device device;
  device.id = "cuda:0";
  device.kind = DeviceKind::gpu;
  device.name = "Example GPU";
  device.architecture = "sm_90";
  device.units = 100;
  device.memory_bytes = std::int64_t{80} << 30;
  device.last_level_cache_bytes = std::int64_t{50} << 20;
  device.max_clock_hz = 1.98e9;
  device.memory_bandwidth_limit = 4.0e12;
  device.properties = {{"cuda", "12.8"}, {"driver", "570.1"}, {"power_limit_w", "700"}, {"uuid", "GPU-0123"}};
  return device;
}

Ceiling ceiling(std::string resource, double value, std::string unit, double half_width, std::string method) {
  Ceiling result;
  result.resource = std::move(resource);
  result.value = value;
  result.unit = std::move(unit);
  result.ci95 = {value * (1.0 - half_width), value * (1.0 + half_width)};
  result.repeats = 9;
  result.method = std::move(method);
  result.clock_hz = 1.93e9;
  return result;
}

Calibration calibration() {
  Calibration result;
  result.device = example_gpu();
  result.mode = "quick";
  result.created_utc = "2026-06-28T09:00:00Z";
  result.gpubench_version = "0.1.0";
  result.seconds_taken = 6.5;
  result.ceilings = {ceiling("dram-read", 3.6e12, "B/s", 0.002, "16-byte loads over 4 GiB"),
                     ceiling("dram-write", 3.5e12, "B/s", 0.003, "16-byte stores over 4 GiB"),
                     ceiling("dram-copy", 3.3e12, "B/s", 0.002, "copy of 2 GiB"),
                     ceiling("dram-triad", 3.4e12, "B/s", 0.004, "triad over 3 x 1.3 GiB"),
                     ceiling("l2", 7.2e12, "B/s", 0.01, "working-set ladder"),
                     ceiling("fp32", 5.0e13, "FLOP/s", 0.0005, "8 independent FMA chains a thread"),
                     ceiling("tensor-bf16", 6.5e14, "FLOP/s", 0.006, "cuBLASLt, n = 8192, normal data"),
                     ceiling("launch", 2.1e-6, "s", 0.05, "empty kernels between events")};
  result.ceilings[0].theoretical_limit = 4.0e12;
  result.ceilings[5].theoretical_limit = 5.12e13;
  result.ceilings[7].clock_hz.reset();
  result.absent = {{"fp64", "the probe gave a wrong result"}};
  result.levels = {{"l2", 4.6e7, {4.2e7, 5.0e7}}};
  for (int i = 0; i < 12; ++i) {
    const double set = std::ldexp(1.0, 20 + i);
    result.ladder.push_back({set, set < 4.6e7 ? 7.2e12 : 3.6e12});
  }
  return result;
}

Measurement timed(const std::string& operation, std::vector<Argument> arguments, double seconds, Work work) {
  Measurement result;
  result.operation = operation;
  result.name = operation;
  for (const auto& argument : arguments)
    result.name += "/" + (argument.name.empty() ? "" : argument.name + ":") + std::to_string(argument.value);
  result.arguments = std::move(arguments);
  result.device = "cuda:0";
  result.work = std::move(work);
  constexpr std::array spread = {0.0, 4.0, -3.0, 1.0, -1.0, 2.0, -2.0, 0.5, 9.0, -0.5};
  Timing& timing = result.make_primary();
  for (const double step : spread) timing.samples_seconds.push_back(seconds * (1.0 + step / 1000.0));
  timing.seconds = statistics::summarize(timing.samples_seconds);
  timing.executions_per_sample = seconds < 1e-4 ? 64 : 1;
  timing.clock = TimingMode::stream;
  timing.method = "CUDA events around 64 executions";
  timing.stop_reason = seconds < 1e-3 ? StopReason::interval : StopReason::budget;
  result.cache_state = "warm";
  result.verified = true;
  result.clock_hz = 1.92e9;
  return result;
}

Verdict verdict(Regime regime, std::string limiter, double share, std::optional<double> achieved, double confidence,
                Regime runner_up, std::string evidence) {
  Verdict result;
  result.regime = regime;
  result.limiter = limiter;
  result.shares = {{std::move(limiter), share}, {"unexplained", 1.0 - share}};
  result.achieved = achieved;
  result.confidence = confidence;
  result.certainty = confidence >= 0.95  ? Certainty::certain
                     : confidence >= 0.8 ? Certainty::likely
                                         : Certainty::boundary;
  result.runner_up = runner_up;
  result.runner_up_probability = 1.0 - confidence;
  result.model_seconds = 1e-6;
  result.evidence = std::move(evidence);
  return result;
}

void add_saxpy(Run& run) {
  const std::array sizes = {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26};
  const std::array times = {2.2e-6, 2.3e-6, 2.9e-6, 1.07e-5, 2.3e-4};
  const std::array verdicts = {
      verdict(Regime::overhead, "launch", 0.97, std::nullopt, 0.999, Regime::latency,
              "takes 2.10 us of 2.20 us to launch"),
      verdict(Regime::overhead, "launch", 0.91, std::nullopt, 0.99, Regime::latency,
              "takes 2.10 us of 2.30 us to launch"),
      verdict(Regime::latency, "unexplained", 0.72, std::nullopt, 0.61, Regime::overhead,
              "no ceiling accounts for 20 % of it"),
      verdict(Regime::memory, "l2", 0.79, 0.65, 0.88, Regime::overhead, "moves 4.70 TB/s of the 7.20 TB/s of l2"),
      verdict(Regime::memory, "dram", 0.98, 0.97, 0.998, Regime::overhead, "moves 3.50 TB/s of the 3.60 TB/s of dram")};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double n = sizes[i];
    Work work;
    work.bytes_read = 8 * n;
    work.bytes_written = 4 * n;
    work.footprint_bytes = 8 * n;
    work.flops[fp32] = 2 * n;
    run.points.push_back({timed("saxpy", {{"", sizes[i]}}, times[i], work), verdicts[i]});
    const std::int64_t blocks = std::max<std::int64_t>(sizes[i] / 1024, 1);
    run.points.back().measurement.launches = Launches{1, blocks, std::max<std::int64_t>(blocks - 132, 0)};
    run.points.back().measurement.grid = Grid{blocks, 8};
    auto& verdict = *run.points.back().verdict;
    if (verdict.regime == Regime::overhead)
      verdict.advice = {
          {"launch less often: batch the work", "2.10 us go to the launch", 22.0, AdviceCode::batch_launches},
          {"fuse it with the operation before it", "2.10 us go to the launch", 9.5, AdviceCode::fuse}};
    if (i == 2)
      verdict.cross_checks = {
          {Experiment::batching, Outcome::disagrees, "overhead", "1.00 us each in a graph, 2.90 us one by one"},
          {Experiment::ncu_rule, Outcome::agrees, "latency", "compute 12 %, memory 31 % of peak"}};
    if (i == 3)
      verdict.cross_checks = {
          {Experiment::elasticity, Outcome::agrees, "time follows the work", "time grows with power 0.91"},
          {Experiment::ncu_rule, Outcome::disagrees, "latency",
           "compute 21 %, memory 55 % of peak; the rule's peak is the theoretical one"}};
  }
}

void add_gemm(Run& run) {
  const std::array sizes = {256, 4096};
  const std::array times = {8.5e-6, 2.4e-4};
  const std::array verdicts = {verdict(Regime::latency, "unexplained", 0.55, std::nullopt, 0.83, Regime::compute,
                                       "one wave of 4 tiles on 100 SMs"),
                               verdict(Regime::compute, "tensor-bf16", 0.89, 0.88, 0.97, Regime::memory,
                                       "does 573 TFLOP/s of the 650 TFLOP/s of tensor-bf16")};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double n = sizes[i];
    Work work;
    work.bytes_read = 4 * n * n;
    work.bytes_written = 2 * n * n;
    work.flops[tensor_bf16] = 2 * n * n * n;
    run.points.push_back({timed("gemm<bf16>", {{"n", sizes[i]}}, times[i], work), verdicts[i]});
    if (i == 1)
      run.points.back().verdict->advice = {{"fill the last wave of blocks", "256 blocks make 2.56 waves", 1.17,
                                            AdviceCode::even_last_wave, Interval{1.09, 1.26}}};
  }
}

void add_without_time(Run& run) {
  Measurement failed = timed("gemm<bf16>", {{"n", 131072}}, 1.0, {});
  failed.make_primary().seconds.reset();
  failed.make_primary().samples_seconds.clear();
  failed.make_primary().executions_per_sample = 0;
  failed.verified = false;
  failed.failure = Failure{FailureKind::out_of_memory, "96.0 GiB wanted, 79.1 GiB free"};
  run.points.push_back({failed, std::nullopt});

  Measurement skipped = failed;
  skipped.name = "fp8_gemm/4096";
  skipped.operation = "fp8_gemm";
  skipped.arguments = {{"", 4096}};
  skipped.failure.reset();
  skipped.skipped = "needs FP8 tensor cores";
  run.points.push_back({skipped, std::nullopt});

  Measurement plain = timed("touch", {}, 1.5e-3, {});
  plain.name = "touch";
  run.points.push_back({plain, std::nullopt});
}

}  // namespace

Run sample_run() {
  Run run;
  run.context = {"0.1.0",
                 "2026-07-01T12:00:00Z",
                 "example-host",
                 "gpubench",
                 {"--out=run.json"},
                 {{"compiler", "g++ 12.2.0"}, {"cuda_runtime", "12.8"}, {"os", "Debian GNU/Linux 12"}}};
  run.devices = {example_gpu()};
  run.calibrations = {calibration()};
  add_saxpy(run);
  add_gemm(run);
  add_without_time(run);
  run.boundaries = {
      {"saxpy", "cuda:0", "size", "launch", "l2", 1.31072e5, Interval{1.1e5, 1.6e5}, Placement::at},
      {"saxpy", "cuda:0", "size", "l2", "dram", 5.8e6, std::nullopt, Placement::at},
      {"gemm<bf16>", "cuda:0", "n", "launch", "tensor-bf16", 900.0, Interval{700.0, 1200.0}, Placement::at},
      {"gemm<bf16>", "cuda:0", "n", "l2", "dram", 8192.0, std::nullopt, Placement::above}};
  run.warnings = {"cuda:0: 2 samples were taken under a throttled clock", "the calibration is 3 days old"};
  run.findings = classifier::findings_of(run);
  return run;
}

std::string hostile_name() {
  return "=ev|il,\"na`me'\r\n\x1b[31m<script>alert(1)</script>\t&amp;\\|{{x}}$(id)\xe2\x80\xae\xc2\x9b]]>\xff\xfe";
}

Run hostile_run() {
  const std::string name = hostile_name();
  Run run = sample_run();
  run.context.gpubench_version = run.context.host = run.context.program = run.context.created_utc = name;
  run.context.arguments = {name};
  run.context.environment = {{name, name}};
  run.warnings = {name};
  Device& device = run.devices.front();
  device.name = device.architecture = name;
  device.properties = {{name, name}};
  Calibration& limits = run.calibrations.front();
  limits.device = device;
  limits.mode = limits.created_utc = limits.gpubench_version = name;
  for (auto& item : limits.ceilings) item.method = name;
  limits.absent = {{name, name}};
  for (auto& point : run.points) {
    Measurement& measurement = point.measurement;
    measurement.name = name + "/" + measurement.name;
    measurement.operation = name + measurement.operation;
    for (auto& argument : measurement.arguments) argument.name = name;
    measurement.make_primary().method = measurement.cache_state = name;
    ActivityCheck activity;
    activity.seconds = Estimate{1e-6, {1e-6, 1e-6}};
    activity.source = activity.reason = name;
    activity.kernels = {{name, {1, 1, 1}, {1, 1, 1}, 0, 0, 0, 1}};
    measurement.activity = activity;
    if (measurement.failure) measurement.failure->message = name;
    if (measurement.skipped) measurement.skipped = name;
    measurement.phases = {{name, 0.5, 1e-6, 3, 1.5}};
    if (!point.verdict) continue;
    point.verdict->evidence = point.verdict->limiter = name;
    for (auto& share : point.verdict->shares) share.resource = name;
    for (auto& advice : point.verdict->advice) advice.action = advice.evidence = name;
    for (auto& check : point.verdict->cross_checks) check.says = check.evidence = name;
  }
  run.findings = classifier::findings_of(run);
  for (auto& boundary : run.boundaries) {
    boundary.operation = name + boundary.operation;
    boundary.argument = boundary.from = boundary.to = name;
  }
  return run;
}

}  // namespace gpubench
