// SPDX-License-Identifier: Apache-2.0
#include "tests/core/storage/random_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace gpubench {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t whole(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(engine_); }
  bool flip() { return whole(0, 1) == 1; }

  /// From the whole range of double, with its corners.
  double not_negative() {
    constexpr std::array corners = {0.0,
                                    1.0,
                                    0.1,
                                    1e-9,
                                    2.0 / 3.0,
                                    std::numeric_limits<double>::max(),
                                    std::numeric_limits<double>::min(),
                                    std::numeric_limits<double>::denorm_min()};
    if (whole(0, 3) == 0) return corners[static_cast<std::size_t>(whole(0, corners.size() - 1))];
    return std::ldexp(std::uniform_real_distribution(0.5, 1.0)(engine_), static_cast<int>(whole(-1000, 1000)));
  }
  double any() { return flip() ? not_negative() : -not_negative(); }
  double probability() {
    return flip() ? std::uniform_real_distribution(0.0, 1.0)(engine_) : static_cast<double>(whole(0, 1));
  }
  Interval interval() {
    const auto [low, high] = std::minmax({any(), any()});
    return {low, high};
  }
  Interval interval_around(double value) { return {std::min(value, any()), std::max(value, any())}; }
  std::optional<double> maybe() { return flip() ? std::optional(not_negative()) : std::nullopt; }

  std::string text() {
    constexpr std::array pieces = {"saxpy", "/",    "1024", " ",    "\"",       "\\",
                                   "\n",    "\t",   "\x01", "\x7f", "\xc3\xa4", "\xf0\x9f\x98\x80",
                                   "<b>",   "null", "~"};
    std::string result;
    for (auto i = whole(0, 5); i > 0; --i) result += pieces[static_cast<std::size_t>(whole(0, pieces.size() - 1))];
    if (whole(0, 9) == 0) result += '\0';
    return result;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> result(static_cast<std::size_t>(whole(0, 3)));
    for (auto& item : result) item = text();
    return result;
  }
  std::map<std::string, std::string> text_map() {
    std::map<std::string, std::string> result;
    for (auto i = whole(0, 3); i > 0; --i) result[text()] = text();
    return result;
  }
  template <class Make>
  auto list(std::int64_t max, Make make) {
    std::vector<decltype(make())> result;
    for (auto i = whole(0, max); i > 0; --i) result.push_back(make());
    return result;
  }
  template <class Enum, std::size_t N>
  Enum of(const std::array<std::string_view, N>&) {
    return static_cast<Enum>(whole(0, static_cast<std::int64_t>(N) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

constexpr auto largest = std::numeric_limits<std::int64_t>::max();

Device device(Random& random) {
  return {random.text(),
          random.flip() ? DeviceKind::gpu : DeviceKind::cpu,
          random.text(),
          random.text(),
          static_cast<int>(random.whole(0, std::numeric_limits<int>::max())),
          random.whole(0, largest),
          random.whole(0, largest),
          random.maybe(),
          random.maybe(),
          random.text_map()};
}

Ceiling ceiling(Random& random) {
  Ceiling result;
  result.resource = random.text();
  result.value = std::max(random.not_negative(), std::numeric_limits<double>::denorm_min());
  result.unit = random.text();
  result.ci95 = random.interval_around(result.value);
  result.repeats = static_cast<int>(random.whole(0, 100));
  result.method = random.text();
  result.clock_hz = random.maybe();
  result.theoretical_limit = random.maybe();
  if (random.flip()) result.group = random.of<CeilingGroup>(ceiling_group_names);
  result.shape = random.text();
  result.conditions = random.text();
  if (random.flip()) result.load = random.of<Load>(load_names);
  result.work_per_run = random.maybe();
  result.work_unit = random.text();
  result.cycles = random.maybe();
  result.power_watts = random.maybe();
  if (random.flip()) result.temperature_celsius = random.any();
  if (random.flip()) result.confirmation = Confirmation{random.text(), random.maybe(), random.text()};
  result.caveats = random.texts();
  return result;
}

DriftReading drift_reading(Random& random) {
  DriftReading reading;
  reading.resource = random.text();
  reading.unit = random.text();
  reading.stored = {random.not_negative(), random.interval()};
  reading.now = {random.not_negative(), random.interval()};
  reading.change = random.not_negative() - random.not_negative();
  reading.beyond = -random.not_negative();
  reading.samples = static_cast<int>(random.whole(0, 100));
  reading.sets = static_cast<int>(random.whole(0, 2));
  reading.outcome = static_cast<DriftOutcome>(random.whole(0, 3));
  reading.method = random.text();
  reading.disturbance = random.text();
  return reading;
}

DriftCheck drift_check(Random& random) {
  DriftCheck check;
  check.calibration_utc = random.text();
  check.checked_utc = random.text();
  check.seconds_taken = random.not_negative();
  check.outcome = static_cast<DriftOutcome>(random.whole(0, 3));
  check.readings = random.list(2, [&] { return drift_reading(random); });
  check.not_checked = random.texts();
  return check;
}

Health health(Random& random) {
  Health result;
  result.kind = random.text();
  result.checks = random.list(3, [&] {
    return BandCheck{random.text(),          random.text(),         random.not_negative(),
                     random.interval(),      random.not_negative(), static_cast<Standing>(random.whole(0, 2)),
                     -random.not_negative(), random.flip(),         random.text()};
  });
  result.reason = random.text();
  return result;
}

Calibration calibration(Random& random) {
  Calibration result;
  result.device = device(random);
  result.mode = random.text();
  result.created_utc = random.text();
  result.gpubench_version = random.text();
  result.seconds_taken = random.not_negative();
  result.ceilings = random.list(4, [&] { return ceiling(random); });
  for (std::size_t i = 0; i < result.ceilings.size(); ++i) {
    Ceiling& one = result.ceilings[i];
    one.resource += std::to_string(i);  // each once
    const double units = random.flip() ? 1.0 : result.device.units;
    if (one.clock_hz && units > 0.0 && random.flip())
      if (const double rate = one.value / *one.clock_hz / units; std::isnormal(rate)) one.rate_per_clock = rate;
  }
  result.absent = random.list(2, [&] { return AbsentCeiling{random.text(), random.text()}; });
  result.levels = random.list(3, [&] { return CacheLevel{random.text(), random.not_negative(), random.interval()}; });
  result.ladder = random.list(6, [&] { return LadderPoint{random.not_negative(), random.not_negative()}; });
  result.unit_levels = random.list(2, [&] {
    return CacheLevel{random.text(), random.not_negative(), random.interval()};
  });
  result.unit_ladder = random.list(4, [&] { return LadderPoint{random.not_negative(), random.not_negative()}; });
  result.latency_curve = random.list(4, [&] {
    return LatencyPoint{random.not_negative(), random.not_negative(), random.not_negative()};
  });
  result.intensity_sweep = random.list(4, [&] {
    return IntensityPoint{random.not_negative(), random.not_negative(), random.not_negative(), random.maybe()};
  });
  result.warnings = random.texts();
  if (random.flip()) result.core_share = 0.625;
  if (random.flip()) result.drift = drift_check(random);
  if (random.flip()) result.health = health(random);
  return result;
}

/// Of these samples; of a few others where there are none.
Summary summary(Random& random, std::vector<double> samples = {}) {
  Summary result;
  result.count = samples.empty() ? random.whole(1, 1'000'000) : static_cast<std::int64_t>(samples.size());
  if (samples.empty())
    for (int i = 0; i < 5; ++i) samples.push_back(random.not_negative());
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  result.minimum = samples.front();
  result.median = std::midpoint(samples[(n - 1) / 2], samples[n / 2]);
  result.maximum = samples.back();
  result.lower_quartile = std::min(samples[n / 4], result.median);
  result.upper_quartile = std::max(samples[3 * n / 4], result.median);
  result.mean = random.flip() ? result.lower_quartile : result.upper_quartile;
  result.mad = random.flip() ? 0.0 : result.maximum - result.minimum;
  result.median_ci95 = random.interval_around(result.median);
  return result;
}

Work work(Random& random) {
  Work result{random.not_negative(), random.not_negative(), random.maybe(), {}, {}};
  if (random.whole(0, 1) == 1)
    result.random = RandomAccesses{random.not_negative(), random.not_negative(), random.not_negative()};
  for (auto i = random.whole(0, 3); i > 0; --i) result.flops[random.of<Pipe>(pipe_names)] = random.not_negative();
  return result;
}

Estimate estimate(Random& random) { return {random.any(), random.interval()}; }

Timing timing(Random& random) {
  Timing result;
  result.clock = random.of<TimingMode>(timing_mode_names);
  result.reason = random.text();
  result.samples_seconds = random.list(8, [&] { return random.not_negative(); });
  if (random.flip()) result.seconds = summary(random, result.samples_seconds);
  // Blocks of one sample, but for the first.
  if (result.samples_seconds.size() > 2) {
    result.block_sizes.assign(result.samples_seconds.size() - 1, 1);
    result.block_sizes.front() = 2;
  }
  if (random.flip())
    for (std::size_t i = 0; i < result.samples_seconds.size(); ++i)
      result.samples_clock_hz.push_back(random.not_negative());
  result.executions_per_sample = random.whole(0, 1'000'000'000'000);
  result.method = random.text();
  result.stop_reason = random.of<StopReason>(stop_reason_names);
  result.dropped_samples = random.whole(0, 1'000'000'000'000);
  if (random.flip()) result.kernel_overhead_seconds = estimate(random);
  return result;
}

DeviceConditions conditions(Random& random) {
  const std::optional<double> share = random.flip() ? std::optional(0.625) : std::nullopt;
  const auto range = [&] { return random.flip() ? std::optional(random.interval()) : std::nullopt; };
  return {random.whole(0, largest),
          range(),
          range(),
          range(),
          range(),
          random.texts(),
          random.text(),
          share,
          random.flip() ? std::optional(1.5) : std::nullopt,
          random.flip() ? std::optional(0.25) : std::nullopt,
          random.text()};
}

KernelLaunch kernel_launch(Random& random) {
  const auto extent = [&] {
    return std::array{random.whole(0, largest), random.whole(0, largest), random.whole(0, 9)};
  };
  return {random.text(),
          extent(),
          extent(),
          random.whole(0, 255),
          random.whole(0, largest),
          random.whole(0, largest),
          random.whole(0, largest),
          random.flip() ? std::optional(random.whole(0, largest)) : std::nullopt,
          random.text(),
          random.text()};
}

ActivityCheck activity_check(Random& random) {
  const auto estimate = [&]() -> std::optional<Estimate> {
    if (random.flip()) return std::nullopt;
    return Estimate{random.any(), random.interval()};
  };
  ActivityCheck result;
  result.reason = random.text();
  result.source = random.text();
  result.executions = random.whole(0, largest);
  result.seconds = estimate();
  result.span_seconds = estimate();
  result.kernels = random.list(3, [&] { return kernel_launch(random); });
  result.copies = random.whole(0, largest);
  result.recording_seconds = estimate();
  result.recording_reason = random.text();
  result.gap_seconds = estimate();
  result.usual_gap_seconds = estimate();
  result.clock_hz = random.maybe();
  return result;
}

KernelGroup kernel_group(Random& random) {
  KernelGroup result;
  result.kind = random.of<CommandKind>(command_kind_names);
  if (result.kind == CommandKind::kernel) result.launch = kernel_launch(random);
  result.launch.name = random.text();
  result.launch.launches = random.whole(0, 1'000'000'000'000);
  if (random.flip()) result.bytes = random.whole(0, largest);
  if (random.flip()) result.blocks_per_multiprocessor = random.whole(0, largest);
  if (random.flip()) result.seconds = Estimate{random.any(), random.interval()};
  result.counters = random.list(2, [&] { return Counter{random.text(), random.any(), random.text(), random.text()}; });
  return result;
}

Measurement measurement(Random& random) {
  Measurement result;
  result.name = random.text();
  result.operation = random.text();
  result.arguments = random.list(3, [&] {
    return random.flip() ? Argument{random.text(), random.whole(-largest, largest), std::nullopt}
                         : Argument{random.text(), 0, random.text()};
  });
  result.device = random.text();
  result.repetition = static_cast<int>(random.whole(0, 9));
  result.work = work(random);
  result.timings = random.list(3, [&] { return timing(random); });
  if (random.flip()) result.launch_seconds = estimate(random);
  if (random.flip()) result.empty_call_seconds = estimate(random);
  if (random.flip()) result.page_faults = PageFaults{random.not_negative(), estimate(random)};
  result.variants = random.list(2, [&] {
    Variant variant{random.of<Ablation>(ablation_names), 0.25 * static_cast<double>(random.whole(0, 3)), {}, ""};
    if (random.flip())
      variant.seconds = summary(random);
    else
      variant.reason = random.text();
    return variant;
  });
  result.cache_state = random.text();
  result.verified = random.flip();
  result.set_up_seconds = random.maybe();
  result.clock_hz = random.maybe();
  result.clock_hz_source = random.text();
  if (random.flip()) result.conditions = conditions(random);
  if (random.flip())
    result.launches =
        Launches{random.whole(0, largest), random.whole(0, largest), random.whole(0, largest), random.maybe()};
  if (random.flip()) result.grid = Grid{random.whole(0, largest), random.whole(0, largest)};
  result.counters = random.list(4, [&] { return Counter{random.text(), random.any(), random.text(), random.text()}; });
  result.absent_counters = random.list(3, [&] { return AbsentCounter{random.text(), random.text()}; });
  result.work_differences = random.list(2, [&] { return random.text(); });
  if (random.flip()) result.activity = activity_check(random);
  result.kernels = random.list(3, [&] { return kernel_group(random); });
  if (!result.kernels.empty())
    result.kernel_order =
        random.list(4, [&] { return random.whole(0, static_cast<std::int64_t>(result.kernels.size()) - 1); });
  result.kernel_order_reason = random.text();
  result.kernel_counters_reason = random.text();
  result.user_counters = random.list(3, [&] { return UserCounter{random.text(), random.any(), random.text()}; });
  result.phases = random.list(2, [&] {
    return Phase{random.text(), random.not_negative(), random.not_negative(), random.whole(0, 1'000'000),
                 random.not_negative()};
  });
  result.label = random.text();
  if (random.flip()) result.unoptimized_code = random.flip();
  result.compiled_vectors = random.text();
  if (random.flip()) result.failure = Failure{random.of<FailureKind>(failure_kind_names), random.text()};
  if (random.flip()) result.skipped = random.text();
  return result;
}

Verdict verdict(Random& random) {
  Verdict result;
  result.regime = random.of<Regime>(regime_names);
  result.limiter = random.text();
  result.shares = random.list(3, [&] { return Share{random.text(), random.any()}; });
  result.achieved = random.maybe();
  result.confidence = random.probability();
  result.certainty = random.of<Certainty>(certainty_names);
  result.runner_up = random.of<Regime>(regime_names);
  result.runner_up_probability = random.probability();
  result.model_seconds = random.not_negative();
  result.evidence = random.text();
  result.advice = random.list(2, [&] {
    return Advice{random.text(),
                  random.text(),
                  random.maybe(),
                  random.whole(0, 1) > 0 ? std::optional(random.of<AdviceCode>(advice_code_names)) : std::nullopt,
                  random.whole(0, 1) > 0 ? std::optional(Interval{1.0, 1.0 + random.not_negative()}) : std::nullopt,
                  random.text()};
  });
  result.cross_checks = random.list(3, [&] {
    return CrossCheck{random.of<Experiment>(experiment_names), random.of<Outcome>(outcome_names), random.text(),
                      random.text()};
  });
  return result;
}

Boundary boundary(Random& random) {
  Boundary result{random.text(), random.text(), random.text(), random.text(),
                  random.text(), random.any(),  std::nullopt,  random.of<Placement>(placement_names)};
  if (random.flip()) result.ci95 = random.interval();
  return result;
}

OperationFinding operation_finding(Random& random) {
  OperationFinding result;
  result.operation = random.text();
  result.device = random.text();
  result.point = random.text();
  if (random.flip()) result.failure = random.of<FailureKind>(failure_kind_names);
  result.regime = random.of<Regime>(regime_names);
  result.limiter = random.text();
  result.why = random.text();
  result.action = random.text();
  if (random.flip()) result.code = random.of<AdviceCode>(advice_code_names);
  result.kernel = random.text();
  if (random.flip()) result.gain = random.not_negative();
  if (random.flip()) result.gain_ci95 = random.interval();
  if (random.flip()) result.saved = random.probability();
  result.confidence = random.probability();
  result.points = random.whole(0, 1000);
  result.all_points = random.whole(0, 1000);
  return result;
}

ProgramTrack program_track(Random& random, std::size_t names) {
  ProgramTrack result;
  result.name = random.text();
  for (auto i = random.whole(0, 4); i > 0; --i) {
    result.starts_seconds.push_back(random.not_negative());
    result.lengths_seconds.push_back(random.not_negative());
    result.kinds.push_back(random.of<WorkKind>(work_kind_names));
    result.names.push_back(random.whole(-1, static_cast<std::int64_t>(names) - 1));
  }
  return result;
}

ProgramMemory program_memory(Random& random) {
  ProgramMemory result{random.text(),
                       random.text(),
                       random.whole(0, largest),
                       random.whole(0, largest),
                       random.not_negative(),
                       random.whole(0, largest),
                       {},
                       {}};
  result.curve_seconds = random.list(4, [&] { return random.not_negative(); });
  for (std::size_t i = 0; i < result.curve_seconds.size(); ++i) result.curve_bytes.push_back(random.whole(0, largest));
  return result;
}

GpuTime gpu_time(Random& random) {
  GpuTime result;
  result.device = random.text();
  result.process = random.text();
  for (double* seconds :
       {&result.wall_seconds, &result.busy_seconds, &result.compute_seconds, &result.memory_seconds,
        &result.communication_seconds, &result.memory_overlap_seconds, &result.communication_overlap_seconds})
    *seconds = random.not_negative();
  result.idle = random.list(3, [&] {
    return Idle{random.of<IdleCause>(idle_cause_names), random.not_negative(), random.whole(0, largest)};
  });
  result.launches = random.whole(0, largest);
  result.launch_call_seconds = random.maybe();
  result.launch_period_seconds = random.maybe();
  return result;
}

StepTime step_time(Random& random) {
  StepTime result;
  result.device = random.text();
  result.process = random.text();
  result.by = random.text();
  result.steps = random.whole(0, largest);
  result.seconds = random.not_negative();
  result.recording_seconds = random.not_negative();
  result.parts = random.list(3, [&] {
    return StepPart{random.of<StepPartKind>(step_part_kind_names), random.text(), random.not_negative()};
  });
  result.at_roof_seconds = random.maybe();
  result.free_launch_seconds = random.maybe();
  result.both_seconds = random.maybe();
  result.roof_reason = random.text();
  return result;
}

Program program(Random& random) {
  Program result;
  result.command = random.texts();
  result.ended = random.text();
  result.wall_seconds = random.not_negative();
  result.gpus = random.list(3, [&] { return gpu_time(random); });
  result.findings = random.list(3, [&] { return Finding{random.text(), random.maybe()}; });
  result.kernels = random.list(3, [&] {
    return ProgramKernel{
        random.text(),         random.text(),         random.whole(0, largest), random.whole(0, largest),
        random.not_negative(), random.not_negative(), random.not_negative(),    random.probability()};
  });
  result.ranges = random.list(3, [&] {
    return ProgramRange{random.text(),
                        random.text(),
                        random.whole(0, 64),
                        random.whole(0, largest),
                        random.not_negative(),
                        random.not_negative(),
                        random.not_negative(),
                        random.whole(0, largest),
                        random.whole(0, largest),
                        random.whole(0, largest),
                        random.whole(0, largest)};
  });
  result.memory = random.list(2, [&] { return program_memory(random); });
  result.never_freed = random.list(2, [&] {
    return NeverFreed{random.text(), random.text(), random.whole(0, largest), random.whole(0, largest)};
  });
  result.overview_names = random.texts();
  result.overview = random.list(3, [&] { return program_track(random, result.overview_names.size()); });
  result.self_cost = random.list(2, [&] { return SelfCost{random.text(), random.whole(0, largest), random.maybe()}; });
  result.kernel_launches = random.whole(0, largest);
  result.counted_launches = random.whole(0, largest);
  result.dropped_records = random.whole(0, largest);
  result.counters_reason = random.text();
  result.phases = random.list(3, [&] {
    return ProgramPhase{random.of<PhaseKind>(phase_kind_names), random.text(), random.not_negative(),
                        random.not_negative(), random.whole(0, largest)};
  });
  if (random.flip())
    result.steady = SteadyState{random.text(), random.whole(0, largest), random.not_negative(), random.probability()};
  result.steady_reason = random.text();
  result.steps = random.list(2, [&] { return step_time(random); });
  return result;
}

}  // namespace

Calibration random_calibration(std::uint64_t seed) {
  Random random(seed);
  return calibration(random);
}

Run random_run(std::uint64_t seed) {
  Random random(seed);
  Run run;
  run.context = {random.text(), random.text(), random.text(), random.text(), random.texts(), random.text_map()};
  run.devices = random.list(2, [&] { return device(random); });
  run.calibrations = random.list(2, [&] { return calibration(random); });
  run.points = random.list(5, [&] {
    Point point{measurement(random), std::nullopt};
    if (random.flip()) point.verdict = verdict(random);
    if (random.flip())
      for (std::size_t i = 0; i < point.measurement.kernels.size(); ++i)
        point.kernel_verdicts.push_back(random.flip() ? std::optional(verdict(random)) : std::nullopt);
    return point;
  });
  run.boundaries = random.list(3, [&] { return boundary(random); });
  run.findings = random.list(3, [&] { return operation_finding(random); });
  run.warnings = random.texts();
  if (random.flip()) run.unfinished = {3, 7};
  if (random.flip()) run.program = program(random);
  return run;
}

}  // namespace gpubench
