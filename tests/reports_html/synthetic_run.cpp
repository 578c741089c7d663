// SPDX-License-Identifier: Apache-2.0
#include "tests/reports_html/synthetic_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "classifier/run/findings.h"

namespace gpubench {
namespace {

struct Kind {
  const char* name;
  double read;     // bytes an element
  double written;  // bytes an element
  double flops;    // per element; 0: none declared
  Pipe pipe;
  double efficiency;  // of the binding ceiling
};

const std::vector<Kind> kinds = {{"copy", 4, 4, 0, fp32, 0.93},
                                 {"saxpy", 8, 4, 2, fp32, 0.92},
                                 {"triad", 8, 4, 2, fp32, 0.94},
                                 {"cos", 4, 4, 18, fp32, 0.9},
                                 {"gelu", 4, 4, 24, fp32, 0.89},
                                 {"reduce_sum", 4, 0, 1, fp32, 0.95},
                                 {"dot", 8, 0, 2, fp32, 0.95},
                                 {"softmax", 8, 4, 6, fp32, 0.81},
                                 {"layer_norm", 8, 4, 9, fp32, 0.84},
                                 {"transpose", 4, 4, 0, fp32, 0.78},
                                 {"intensity<64>", 4, 4, 512, fp32, 0.96},
                                 {"horner<fp64, 128>", 8, 8, 256, fp64, 0.9}};

Device gpu() {
  Device device{"cuda:0",
                DeviceKind::gpu,
                "Synthetic GPU",
                "sm_90",
                132,
                std::int64_t{140} << 30,
                std::int64_t{60} << 20,
                1.98e9,
                4.8e12,
                {}};
  device.properties = {
      {"uuid", "GPU-00000000"}, {"driver", "580.0"}, {"cuda", "13.0"}, {"ecc", "on"}, {"power_limit_w", "700"}};
  return device;
}

Device cpu() {
  return {"cpu",
          DeviceKind::cpu,
          "Synthetic CPU",
          "avx512",
          16,
          std::int64_t{128} << 30,
          std::int64_t{32} << 20,
          3.5e9,
          2.0e11,
          {{"governor", "performance"}}};
}

Ceiling ceiling(const char* resource, double value, const char* unit, double spread, const char* method,
                std::optional<double> limit = {}) {
  Ceiling result;
  result.resource = resource;
  result.value = value;
  result.unit = unit;
  result.ci95 = {value * (1 - spread), value * (1 + spread)};
  result.repeats = 12;
  result.method = method;
  result.clock_hz = 1.98e9;
  result.theoretical_limit = limit;
  return result;
}

double ladder_rate(const Calibration& calibration, double working_set) {
  double rate = calibration.find("dram-read")->value;
  for (auto level = calibration.levels.rbegin(); level != calibration.levels.rend(); ++level) {
    const double inside = 1.0 / (1.0 + std::pow(working_set / level->capacity_bytes, 4));
    rate += inside * (calibration.find(level->resource)->value - rate);
  }
  return rate;
}

void put_ladder(Calibration& calibration, double from, double to) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.012);
  for (double size = from; size <= to; size *= std::sqrt(2.0))
    calibration.ladder.push_back({size, ladder_rate(calibration, size) * std::exp(noise(random))});
}

Calibration calibration_of(Device device, const std::string& mode, double seconds_taken) {
  Calibration calibration;
  calibration.device = std::move(device);
  calibration.mode = mode;
  calibration.created_utc = "2000-01-01T00:00:00Z";
  calibration.gpubench_version = "0.1.0";
  calibration.seconds_taken = seconds_taken;
  return calibration;
}

Calibration gpu_calibration() {
  Calibration calibration = calibration_of(gpu(), "full", 8.4);
  calibration.ceilings = {
      ceiling("dram-read", 4.7e12, "B/s", 0.002, "16-byte loads over 8 GiB, one element a thread", 4.8e12),
      ceiling("dram-write", 4.7e12, "B/s", 0.002, "16-byte stores over 8 GiB", 4.8e12),
      ceiling("dram-copy", 4.25e12, "B/s", 0.003, "copy of 4 GiB", 4.8e12),
      ceiling("dram-triad", 4.4e12, "B/s", 0.003, "triad over 3 x 2 GiB", 4.8e12),
      ceiling("l2", 9.4e12, "B/s", 0.02, "plateau of the working-set ladder"),
      ceiling("l1", 2.8e13, "B/s", 0.01, "plateau of the working-set ladder", 3.34e13),
      ceiling("fp64", 3.1e13, "FLOP/s", 0.001, "8 chains of FMA a thread", 3.345e13),
      ceiling("fp32", 6.5e13, "FLOP/s", 0.001, "8 chains of FMA a thread", 6.69e13),
      ceiling("tensor-fp64", 5.9e13, "FLOP/s", 0.004, "cuBLASLt, n = 8192, normal data", 6.69e13),
      ceiling("tensor-tf32", 3.55e14, "FLOP/s", 0.006, "cuBLASLt, n = 8192, normal data", 4.95e14),
      ceiling("tensor-fp16", 7.4e14, "FLOP/s", 0.03, "cuBLASLt, n = 8192, normal data", 1.07e15),
      ceiling("tensor-bf16", 7.5e14, "FLOP/s", 0.03, "cuBLASLt, n = 8192, normal data", 1.07e15),
      ceiling("launch", 2.1e-6, "s", 0.02, "empty kernels, timed as operations are")};
  calibration.absent = {{"tensor-fp8", "cuBLASLt found no algorithm for these types"}, {"l3", "this device has none"}};
  calibration.levels = {{"l1", 3.2e7, {3.0e7, 3.3e7}}, {"l2", 5.6e7 * 2, {5.2e7 * 2, 6.0e7 * 2}}};
  put_ladder(calibration, 1 << 20, 8e9);
  calibration.ceilings.front().group = CeilingGroup::memory;
  calibration.ceilings.front().caveats = {"the driver held the clock back (power cap)"};
  calibration.ceilings.push_back(ceiling("latency-dram", 3.3e-7, "s", 0.002, "pointer chase"));
  calibration.ceilings.back().cycles = 653.0;
  for (double size = 8192.0; size < 1e9; size *= 2.0) {
    const double seconds = size < 2e5 ? 1.7e-8 : size < 3e7 ? 1.4e-7 : 3.3e-7;
    calibration.latency_curve.push_back({size, seconds, seconds * 1.98e9});
  }
  for (double intensity = 0.5; intensity <= 128.0; intensity *= 2.0) {
    const double rate = std::min(intensity * 4.7e12, 6.5e13);
    calibration.intensity_sweep.push_back({intensity, rate, rate / intensity, 1.98e9});
  }
  Health health;
  health.kind = "NVIDIA H200";
  health.checks = {{"dram-read", "B/s", 4.7e12, {5.0e12, 5.0e12}, 0.03, Standing::below, -0.06, true, "a source"}};
  calibration.health = health;
  return calibration;
}

Calibration cpu_calibration() {
  Calibration calibration = calibration_of(cpu(), "quick", 6.1);
  calibration.ceilings = {ceiling("dram-read", 1.6e11, "B/s", 0.01, "streaming reads, all threads", 2.0e11),
                          ceiling("l3", 4.0e11, "B/s", 0.04, "plateau of the ladder"),
                          ceiling("l2", 1.2e12, "B/s", 0.02, "plateau of the ladder"),
                          ceiling("l1", 3.9e12, "B/s", 0.01, "plateau of the ladder"),
                          ceiling("fp32", 1.7e12, "FLOP/s", 0.004, "FMA chains"),
                          ceiling("fp64", 8.5e11, "FLOP/s", 0.004, "FMA chains"),
                          ceiling("gemm-fp32", 1.4e12, "FLOP/s", 0.02, "Eigen, n = 1024"),
                          ceiling("launch", 4e-6, "s", 0.05, "an empty parallel region")};
  calibration.levels = {
      {"l1", 7e5, {6e5, 8e5}}, {"l2", 1.6e7, {1.5e7, 1.8e7}}, {"l3", 3.3e7 * 2, {3e7 * 2, 3.6e7 * 2}}};
  put_ladder(calibration, 1 << 16, 1e9);
  return calibration;
}

Summary summary_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&samples](double q) {
    return samples[static_cast<std::size_t>(q * static_cast<double>(samples.size() - 1))];
  };
  Summary summary;
  summary.count = static_cast<std::int64_t>(samples.size());
  summary.minimum = samples.front();
  summary.lower_quartile = at(0.25);
  summary.median = at(0.5);
  summary.upper_quartile = at(0.75);
  summary.maximum = samples.back();
  summary.mean = summary.median;
  summary.mad = (summary.upper_quartile - summary.lower_quartile) / 2;
  summary.median_ci95 = {at(0.4), at(0.6)};
  return summary;
}

/// Work and ideal times of one point, from which time and verdict are made up.
struct Parts {
  double launch = 0.0;
  double memory = 0.0;
  double compute = 0.0;
  std::string memory_name;
  std::string pipe_name;
};

Verdict verdict_of(const Parts& parts, double seconds) {
  Verdict verdict;
  verdict.model_seconds = parts.launch + std::max(parts.memory, parts.compute);
  const double unexplained = std::max(0.0, seconds - verdict.model_seconds);
  const bool memory_binds = parts.memory >= parts.compute;
  const double binding = std::max(parts.memory, parts.compute);
  verdict.limiter = memory_binds ? parts.memory_name : parts.pipe_name;
  verdict.regime = memory_binds ? Regime::memory : Regime::compute;
  verdict.achieved = binding / seconds;
  verdict.runner_up = Regime::overhead;
  if (parts.launch > binding) {
    verdict.runner_up = verdict.regime;
    verdict.regime = Regime::overhead;
    verdict.limiter = "launch";
    verdict.achieved.reset();
  } else if (unexplained > binding) {
    verdict.regime = Regime::latency;
    verdict.limiter = "latency";
    verdict.advice = {{"keep more bytes in flight", "most of its warps wait for memory", 1.8,
                       AdviceCode::more_bytes_in_flight, Interval{1.6, 2.0}}};
  }
  verdict.confidence = std::min(0.999, 0.55 + 0.25 * std::abs(std::log(parts.launch / binding)));
  verdict.certainty = verdict.confidence >= 0.95  ? Certainty::certain
                      : verdict.confidence >= 0.8 ? Certainty::likely
                                                  : Certainty::boundary;
  verdict.evidence = verdict.limiter + " takes " +
                     std::to_string(static_cast<int>(100 * std::max(parts.launch, binding) / seconds)) +
                     " % of the time";
  const double total = parts.launch + binding + unexplained;
  verdict.shares = {{"launch", parts.launch / total},
                    {memory_binds ? parts.memory_name : parts.pipe_name, binding / total},
                    {"unexplained", unexplained / total}};
  return verdict;
}

Point point(const std::string& name, std::vector<Argument> arguments, const Work& work, double efficiency,
            const Calibration& calibration, std::mt19937& random) {
  const double footprint = work.footprint_bytes.value_or(work.bytes());
  Parts parts;
  parts.launch = calibration.find("launch")->value;
  parts.memory = work.bytes() / ladder_rate(calibration, footprint);
  parts.memory_name = "dram";
  for (auto level = calibration.levels.rbegin(); level != calibration.levels.rend(); ++level)
    if (footprint < level->capacity_bytes) parts.memory_name = level->resource;
  for (const auto& [pipe, count] : work.flops) {
    parts.compute = count / calibration.find(name_of(pipe))->value;
    parts.pipe_name = name_of(pipe);
  }
  const double small = 1.0 / (1.0 + 3e6 / std::max(1.0, footprint));  // small sizes do not fill the device
  const double seconds = parts.launch + std::max(parts.memory, parts.compute) / (efficiency * (0.3 + 0.7 * small));
  std::normal_distribution<double> noise(0, 0.01 + 0.03 * parts.launch / seconds);
  Point result;
  auto& measurement = result.measurement;
  measurement.operation = name;
  measurement.name = name;
  for (const auto& argument : arguments) measurement.name += "/" + std::to_string(argument.value);
  measurement.name += "/manual_time";
  measurement.arguments = std::move(arguments);
  measurement.device = calibration.device.id;
  measurement.work = work;
  Timing& timing = measurement.make_primary();
  for (int i = 0; i < 31; ++i) timing.samples_seconds.push_back(seconds * std::exp(noise(random)));
  timing.seconds = summary_of(timing.samples_seconds);
  timing.executions_per_sample = 20;
  timing.clock = calibration.device.kind == DeviceKind::gpu ? TimingMode::stream : TimingMode::host;
  timing.method = "event pairs around 20 executions, the launch not taken off";
  measurement.cache_state = "warm";
  measurement.verified = true;
  measurement.clock_hz = 1.965e9;
  if (name == "saxpy") {
    measurement.counters = {{"dram_read_bytes", 3.0 * work.bytes_read, "bytes", "cupti range"},
                            {"occupancy", 87.5, "%", "cupti range"}};
    measurement.absent_counters = {{"l1_bytes", "no counter for it"}, {"l2_bytes", "no counter for it"}};
    measurement.work_differences = {"moves 3.0x the bytes it declares"};
    ActivityCheck check;
    check.source = "cupti activity";
    check.executions = 31;
    check.seconds = Estimate{seconds, {0.99 * seconds, 1.01 * seconds}};
    check.kernels = {{"saxpy<float>(float*)", {132, 1, 1}, {256, 1, 1}, 32, 0, 0, 1}};
    measurement.activity = check;
  }
  result.verdict = verdict_of(parts, measurement.seconds()->median);
  return result;
}

void put_sweeps(Run& run, const Calibration& calibration, std::int64_t largest) {
  std::mt19937 random(1);
  for (const auto& kind : kinds) {
    std::string before;
    double size_before = 0;
    for (std::int64_t n = 1 << 12; n <= largest; n *= 2) {
      const auto size = static_cast<double>(n);
      Work work{kind.read * size, kind.written * size, {}, {}, {}};
      if (kind.flops > 0) work.flops[kind.pipe] = kind.flops * size;
      run.points.push_back(point(kind.name, {{"n", n}}, work, kind.efficiency, calibration, random));
      const auto& limiter = run.points.back().verdict->limiter;
      if (!before.empty() && limiter != before) {
        const double at = size_before * 1.4;
        run.boundaries.push_back(
            {kind.name, calibration.device.id, "n", before, limiter, at, Interval{at * 0.88, at * 1.13}});
      }
      before = limiter;
      size_before = size;
    }
  }
  const auto pipe = calibration.find("tensor-bf16") ? tensor_bf16 : fp32;
  for (std::int64_t n = 128; n <= (largest > (1 << 24) ? 8192 : 1024); n *= 2) {
    const auto size = static_cast<double>(n);
    Work work{4 * size * size, 2 * size * size, {}, {}, {{pipe, 2 * size * size * size}}};
    run.points.push_back(point("gemm", {{"m", n}, {"n", n}, {"k", n}}, work, 0.92, calibration, random));
  }
}

Run base() {
  Run run;
  run.context = {"0.1.0",
                 "2000-01-01T00:00:00Z",
                 "synthetic-host",
                 "gpubench",
                 {"gpubench", "--device=all", "--out=out/report.html"},
                 {}};
  run.context.environment = {{"os", "Debian GNU/Linux 12"},
                             {"kernel", "6.1.0"},
                             {"compiler", "g++ 12.2"},
                             {"cuda_runtime", "13.0"},
                             {"google_benchmark", "1.7.1"}};
  run.devices = {gpu()};
  run.calibrations = {gpu_calibration()};
  return run;
}

}  // namespace

Run synthetic_run() {
  auto run = base();
  put_sweeps(run, run.calibrations[0], 1 << 28);
  auto failed = run.points.back();
  failed.measurement.name = "gemm/16384/16384/16384/manual_time";
  failed.measurement.arguments = {{"m", 16384}, {"n", 16384}, {"k", 16384}};
  failed.measurement.make_primary().seconds.reset();
  failed.measurement.make_primary().samples_seconds.clear();
  failed.measurement.failure = Failure{FailureKind::out_of_memory, "wanted 200 GiB, 139 GiB are free"};
  failed.verdict.reset();
  auto skipped = failed;
  skipped.measurement.name = "gemm/64/64/64/manual_time";
  skipped.measurement.arguments = {{"m", 64}, {"n", 64}, {"k", 64}};
  skipped.measurement.failure.reset();
  skipped.measurement.skipped = "smaller than one tile";
  run.points.push_back(failed);
  run.points.push_back(skipped);
  run.warnings = {"The SM clock fell to 1.71 GHz during gemm/8192/8192/8192; 4 samples were dropped."};
  run.findings = classifier::findings_of(run);
  return run;
}

Run synthetic_run_two_devices() {
  auto run = synthetic_run();
  run.devices.push_back(cpu());
  run.calibrations.push_back(cpu_calibration());
  put_sweeps(run, run.calibrations[1], 1 << 22);
  run.findings = classifier::findings_of(run);
  return run;
}

Run synthetic_run_of(int points) {
  auto run = base();
  std::mt19937 random(3);
  for (int i = 0; static_cast<int>(run.points.size()) < points; ++i) {
    const auto& kind = kinds[static_cast<std::size_t>(i) % kinds.size()];
    for (std::int64_t n = 1 << 10; n <= (1 << 29) && static_cast<int>(run.points.size()) < points; n *= 2) {
      const auto size = static_cast<double>(n);
      Work work{kind.read * size, kind.written * size, {}, {}, {}};
      if (kind.flops > 0) work.flops[kind.pipe] = kind.flops * size * (1 + i % 7);
      run.points.push_back(point(std::string(kind.name) + "_" + std::to_string(i), {{"", n}}, work, kind.efficiency,
                                 run.calibrations[0], random));
    }
  }
  run.findings = classifier::findings_of(run);
  return run;
}

Run synthetic_hostile_run() {
  auto run = synthetic_run();
  const std::string text =
      "</script><img src=x "
      "onerror=\"document.documentElement.dataset.hacked=1\"><script>document.documentElement.dataset.hacked=1</script>"
      "<!-- <script> ' \" & {{data}} \u2028 \xff\x01";
  for (auto& point : run.points) {
    auto& measurement = point.measurement;
    measurement.operation += text;
    measurement.name = measurement.operation + "/" + std::to_string(measurement.arguments[0].value);
    for (auto& argument : measurement.arguments) argument.name += text;
    measurement.make_primary().method += text;
    measurement.cache_state += text;
    if (measurement.failure) measurement.failure->message += text;
    if (measurement.skipped) *measurement.skipped += text;
    if (!point.verdict) continue;
    point.verdict->evidence += text;
    point.verdict->limiter += text;
    for (auto& share : point.verdict->shares) share.resource += text;
    for (auto& advice : point.verdict->advice) advice.action += text, advice.evidence += text;
  }
  run.findings = classifier::findings_of(run);
  for (auto& boundary : run.boundaries)
    boundary.operation += text, boundary.from += text, boundary.to += text, boundary.argument += text;
  run.context = {text, text, text, text, {text}, {{text, text}}};
  for (auto* device : {&run.devices[0], &run.calibrations[0].device}) {
    device->name += text;
    device->architecture += text;
    device->properties[text] = text;
  }
  auto& calibration = run.calibrations[0];
  calibration.mode += text;
  calibration.created_utc += text;
  for (auto& ceiling : calibration.ceilings) ceiling.method += text;
  calibration.ceilings.push_back(calibration.ceilings.back());
  calibration.ceilings.back().resource += text;
  calibration.ceilings.back().unit += text;
  calibration.absent.push_back({text, text});
  calibration.levels.push_back({text, 1e9, {9e8, 1.1e9}});
  run.warnings.push_back(text);
  return run;
}

}  // namespace gpubench
