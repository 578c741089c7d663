// SPDX-License-Identifier: Apache-2.0
// A vendor that no room has heard of goes all the way: from a registered operation to a report.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/activity/activity_pass.h"
#include "bench/counters/counter_pass.h"
#include "bench/counting_runner.h"
#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "bench/timing/costs.h"
#include "calibrate/check/gpu_drift.h"
#include "calibrate/gpu/gpu_calibration.h"
#include "classifier/classifier.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpubench/benchmark.h"
#include "reports/reports.h"
#include "tests/gpu/null_backend.h"
#include "tests/gpu/null_calibration.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

const NullBackend& null_backend() {
  static const NullBackend backend;
  return backend;
}

/// Reads and writes `n` floats each, with `flops` for each of them.
void null_map(State& state) {
  const auto n = static_cast<double>(state.range("n"));
  const auto flops = static_cast<double>(state.range("flops"));
  auto x = state.device_vector<float>(64);
  state.reads(static_cast<std::int64_t>(4 * n));
  state.writes(static_cast<std::int64_t>(4 * n));
  state.flops(fp32, static_cast<std::int64_t>(flops * n));
  state.footprint(static_cast<std::int64_t>(8 * n));
  state.measure([&](Stream) {
    (void)x.data();
    null_backend().launch({"null_map", 4 * n, 4 * n, flops * n, {{100, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}}});
  });
}
GPU_BENCHMARK(null_map)->ArgNames({"n", "flops"})->Args({1 << 10, 1})->Args({1 << 24, 1})->Args({1 << 24, 1000});

class NullPipeline : public testing::Test {
 protected:
  /// As any GPU is calibrated, by this vendor's probes.
  Calibration calibration(calibrate::Mode mode, double misdeclared = 1.0, int rounds = 0) const {
    calibrate::CalibrationOptions options;
    options.mode = mode;
    options.rounds = rounds;
    NullCalibration calibrating(null_backend(), device_, options, misdeclared);
    Calibration found = calibrate::calibrate_gpu(calibrating);
    found.device = device_;
    return found;
  }
  /// Judged by the device's ceilings.
  gpubench::Run classified(const std::vector<Measurement>& measured) const {
    gpubench::Run run;
    run.devices = {device_};
    run.calibrations = {calibration(calibrate::Mode::quick)};
    for (const Measurement& one : measured) run.points.push_back({one, std::nullopt});
    classifier::classify(run);
    return run;
  }

  AddedBackend added_{null_backend()};
  Device device_ = null_backend().devices().front();
};

TEST_F(NullPipeline, CalibrationsThatAreRepeatedTakeFewerRounds) {
  const auto repeats = [&](int rounds) {
    const Calibration found = calibration(calibrate::Mode::quick, 1.0, rounds);
    return found.find("dram-read")->repeats;
  };
  EXPECT_EQ(repeats(3), 3);
  EXPECT_GT(repeats(0), 3);
}

TEST_F(NullPipeline, ACalibrationThatIsRepeatedTakesSamplesOfItsOwn) {
  /// Whose first probe is not to be had.
  struct Lacking : NullCalibration {
    using NullCalibration::NullCalibration;
    void add_probes() override {
      ++asked;
      absent("fp8", "there is none");
      NullCalibration::add_probes();
    }
    int asked = 0;
  };
  calibrate::CalibrationOptions options;
  Lacking calibrating(null_backend(), device_, options, 1.0);
  const Calibration first = calibrate::calibrate_gpu(calibrating), second = calibrate::calibrate_gpu(calibrating);
  EXPECT_EQ(calibrating.asked, 1);
  ASSERT_EQ(first.ceilings.size(), second.ceilings.size());
  for (std::size_t i = 0; i < first.ceilings.size(); ++i) {
    EXPECT_EQ(first.ceilings[i].resource, second.ceilings[i].resource);
    EXPECT_EQ(first.ceilings[i].repeats, second.ceilings[i].repeats);
  }
  ASSERT_EQ(second.absent.size(), first.absent.size());
  EXPECT_EQ(second.absent.front().reason, "there is none");
}

/// A GPU whose matrix products become slower as its work makes it hot; it keeps its heat from one calibration to the
/// next.
struct Heating : NullCalibration {
  Heating(const Device& device, const calibrate::CalibrationOptions& options, double& kelvin)
      : NullCalibration(null_backend(), device, options), heat(kelvin) {}
  void add_probes() override {
    NullCalibration::add_probes();
    const calibrate::Probe fp32 =
        *std::ranges::find(probes, "fp32", [](const auto& one) { return one.ceiling.resource; });
    for (const char* const resource : {"tensor-bf16", "int32"}) {
      calibrate::Probe probe = fp32;
      probe.ceiling.resource = resource;
      probe.enqueue = [this, flops = *probe.ceiling.work_per_run] {
        null_backend().launch({"product", 0.0, 0.0, flops * (1.0 + 1e-3 * heat), {}});
      };
      probes.push_back(std::move(probe));
    }
  }
  void measure_curves() override { heat += 5.0; }
  double& heat;
};

TEST_F(NullPipeline, TheIntervalOfWhatPowerLimitsHoldsWhatHeatDoes) {
  double heat = 0.0;
  for (const int rounds : {7, 3}) {
    calibrate::CalibrationOptions options;
    options.rounds = rounds;
    std::vector<Calibration> found;
    for (int i = 0; i < 2; ++i) {
      Heating heating(device_, options, heat);
      found.push_back(calibrate::calibrate_gpu(heating));
    }
    const auto meet = [&](const char* resource) {
      const Ceiling &first = *found[0].find(resource), &second = *found[1].find(resource);
      EXPECT_EQ(first.repeats, rounds) << resource;
      return first.ci95.low <= second.ci95.high && second.ci95.low <= first.ci95.high;
    };
    EXPECT_TRUE(meet("tensor-bf16"));
    EXPECT_FALSE(meet("int32")) << "all its samples are of one moment";
  }
}

TEST_F(NullPipeline, TheIntervalOfWhatPowerLimitsIsOfItsVisits) {
  const calibrate::CalibrationOptions options;
  NullCalibration bench(null_backend(), device_, options);
  calibrate::Probe probe;
  probe.ceiling = calibrate::new_ceiling("tensor-bf16", "FLOP/s", CeilingGroup::compute, "products");
  probe.values = {10.0, 10.0, 11.0, 11.0, 12.0, 12.0, 12.0};
  // Visits 10, 11 and 12: standard deviation 1, Student's t of two degrees of freedom 4.30265.
  const Ceiling by_power = bench.ceiling_of(probe);
  EXPECT_NEAR(by_power.ci95.low, 11.0 - 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(by_power.ci95.high, 11.0 + 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_THAT(by_power.method, EndsWith("and over 3 visits apart"));
  probe.ceiling.resource = "fp32";
  EXPECT_EQ(bench.ceiling_of(probe).ci95, (Interval{10.0, 12.0}));
}

TEST_F(NullPipeline, TheVendorIsAmongTheDevices) {
  EXPECT_EQ(choose_devices("").front().id, "null:0");
  EXPECT_EQ(choose_devices("null:0").front(), device_);
  EXPECT_EQ(choose_devices("all").back().id, "cpu");
  EXPECT_EQ(why_no_gpu(), "");
  const auto gpu = open_gpu(device_);
  const auto costs = measure_costs(*gpu);
  EXPECT_NEAR(costs.front().seconds.value_or(0.0), 32e-9, 1e-12) << "a step of the timer";
  const auto node = std::ranges::find(costs, "graph node", &Cost::what);
  ASSERT_NE(node, costs.end());
  EXPECT_NEAR(node->seconds.value_or(0.0), NullBackend::kernel_seconds, 1e-9);
  Device unknown;
  unknown.id = "none:0";
  EXPECT_THROW((void)open_gpu(unknown), GpuError);
}

TEST_F(NullPipeline, ACalibrationFindsWhatTheDeviceCan) {
  const Calibration found = calibration(calibrate::Mode::full);
  for (const auto& absent : found.absent) ADD_FAILURE() << absent.resource << ": " << absent.reason;
  for (const std::string resource : {"dram-read", "dram-write", "dram-copy", "dram-triad", "fp32"}) {
    const double truth = resource == "fp32" ? NullBackend::flops_per_second : NullBackend::bytes_per_second;
    for (const std::string& name : {resource, resource + "-sustained"}) {
      const Ceiling* const ceiling = found.find(name);
      ASSERT_NE(ceiling, nullptr) << name;
      EXPECT_NEAR(ceiling->value, truth, 0.01 * truth) << name;
      EXPECT_LE(ceiling->ci95.low, ceiling->value) << name;
      EXPECT_GE(ceiling->ci95.high, ceiling->value) << name;
      EXPECT_EQ(ceiling->clock_hz, NullBackend::clock_hz) << name;
      if (resource == "fp32") continue;
      ASSERT_TRUE(ceiling->confirmation) << name;
      EXPECT_NEAR(ceiling->confirmation->ratio.value_or(0.0), 1.0, 1e-9) << ceiling->confirmation->reason;
    }
  }
  const Ceiling* const launch = found.find("launch");
  ASSERT_NE(launch, nullptr);
  EXPECT_NEAR(launch->value, NullBackend::kernel_seconds, 0.01 * NullBackend::kernel_seconds);
}

TEST_F(NullPipeline, ACeilingWhoseWorkIsNotAsCountedIsRejected) {
  const Calibration found = calibration(calibrate::Mode::full, 1.5);
  EXPECT_EQ(found.find("l2"), nullptr);
  const auto absent = std::ranges::find(found.absent, "l2", &AbsentCeiling::resource);
  ASSERT_NE(absent, found.absent.end());
  EXPECT_THAT(absent->reason, HasSubstr("rejected"));
  EXPECT_NE(found.find("dram-read"), nullptr);
}

TEST_F(NullPipeline, ADriftCheckTakesTheSameProbes) {
  const auto open = [](const Device& device, const calibrate::CalibrationOptions& options) {
    return std::make_unique<NullCalibration>(null_backend(), device, options);
  };
  const auto sampler = calibrate::gpu_drift_sampler(device_, open);
  Calibration stored = calibration(calibrate::Mode::quick);
  EXPECT_EQ(calibrate::check_drift(stored, sampler).outcome, DriftOutcome::agrees);
  for (Ceiling& ceiling : stored.ceilings) {
    ceiling.value *= 2.0;
    ceiling.ci95 = {2.0 * ceiling.ci95.low, 2.0 * ceiling.ci95.high};
  }
  EXPECT_EQ(calibrate::check_drift(stored, sampler).outcome, DriftOutcome::drifted);
}

TEST_F(NullPipeline, AnOperationComesOutAsAVerdictInAReport) {
  // Operation -> sampler -> measurement
  PointRunner runner(device_, {{}, {TimingMode::stream, TimingMode::device, TimingMode::latency}});
  auto measured = go_over(device_, "null_map", [&](const PointCall& call, std::size_t) { return runner.run(call); });
  ASSERT_EQ(measured.size(), 3U);
  for (const Measurement& one : measured) {
    ASSERT_TRUE(one.seconds()) << one.name << ": " << (one.failure ? one.failure->message : "");
    EXPECT_EQ(one.device, "null:0");
    EXPECT_EQ(one.launches, (Launches{1, 100, 90, 0.0}));
  }
  const double seconds = 8.0 * (1 << 24) / NullBackend::bytes_per_second;
  const Summary* const device_time = seconds_by(measured[1], TimingMode::device);
  ASSERT_NE(device_time, nullptr);
  EXPECT_NEAR(device_time->median, seconds, 0.001 * seconds);
  EXPECT_NEAR(measured[1].timings[1].kernel_overhead_seconds->value, NullBackend::kernel_seconds, 1e-9);
  EXPECT_GT(seconds_by(measured[1], TimingMode::latency)->median, device_time->median);

  // -> counters and activity records
  for (auto pass : {0, 1}) {
    std::unique_ptr<PostTimingPass> after;
    if (pass == 0)
      after = std::make_unique<CounterPass>(device_, std::vector<std::string>{"dram_read_bytes", "dram_write_bytes"});
    else
      after = std::make_unique<ActivityPass>(device_);
    CountingRunner counting(device_, false, std::move(after));
    for (auto& [position, one] :
         count_again(counting, device_, "null_map", [&](std::size_t at) { return &measured[at]; }))
      measured[position] = one;
  }
  EXPECT_DOUBLE_EQ(counter(measured[1], "dram_read_bytes").value_or(0.0), 4.0 * (1 << 24));
  ASSERT_TRUE(measured[1].activity);
  EXPECT_EQ(measured[1].activity->reason, "");

  // -> calibration -> classifier -> verdict
  const gpubench::Run run = classified(measured);
  std::vector<Regime> regimes;
  for (const Point& point : run.points) {
    ASSERT_TRUE(point.verdict) << point.measurement.name;
    regimes.push_back(point.verdict->regime);
  }
  EXPECT_THAT(regimes, ElementsAre(Regime::overhead, Regime::memory, Regime::compute));

  // -> run -> report
  const std::string text = reports::console(run, {});
  EXPECT_THAT(text, HasSubstr("Null 100"));
  EXPECT_THAT(text, HasSubstr("memory"));
  EXPECT_EQ(storage::run_from_json(storage::to_json(run), "null"), run);
}

std::int64_t null_calls = 0;

/// One kernel, for which the host takes `host_us` beside the launch.
void null_call(State& state) {
  const auto bytes = state.range("bytes");
  const double host_seconds = 1e-6 * static_cast<double>(state.range("host_us"));
  state.reads(bytes);
  const auto launch = [bytes](double host) {
    ++null_calls;
    null_backend().pass(host);
    null_backend().launch(
        {"null_call", static_cast<double>(bytes), 0.0, 0.0, {{100, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}}});
  };
  state.as_called([=](Stream, std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) launch(host_seconds);
  });
  state.measure([=](Stream) { launch(0.0); });
}
GPU_BENCHMARK(null_call)->ArgNames({"bytes", "host_us"})->Args({1 << 20, 20})->Args({1 << 26, 20});

TEST_F(NullPipeline, ACallIsTheSlowerOfHostAndGpu) {
  PointRunner runner(device_, {{}, {TimingMode::stream, TimingMode::device, TimingMode::call, TimingMode::graph}});
  auto measured = go_over(device_, "null_call", [&](const PointCall& call, std::size_t) { return runner.run(call); });
  ASSERT_EQ(measured.size(), 2U);
  const auto of_gpu = [](std::int64_t bytes) {
    return static_cast<double>(bytes) / NullBackend::bytes_per_second + NullBackend::kernel_seconds;
  };
  const double host = 20e-6 + NullBackend::launch_seconds;
  ASSERT_NE(seconds_by(measured[0], TimingMode::call), nullptr);
  EXPECT_NEAR(seconds_by(measured[0], TimingMode::call)->median, host, 0.01 * host);
  EXPECT_NEAR(seconds_by(measured[1], TimingMode::call)->median, of_gpu(1 << 26), 0.01 * of_gpu(1 << 26));
  const double replay = std::max(NullBackend::launch_seconds, of_gpu(1 << 20));
  EXPECT_NEAR(seconds_by(measured[0], TimingMode::graph)->median, replay, 0.01 * replay);
  EXPECT_NEAR(measured[0].bare_launch_seconds->value, NullBackend::launch_seconds, 1e-8);

  const gpubench::Run run = classified(measured);
  EXPECT_EQ(run.points[0].verdict->limiter, "host") << run.points[0].verdict->evidence;
  EXPECT_EQ(run.points[1].verdict->regime, Regime::memory) << run.points[1].verdict->evidence;
  EXPECT_THAT(reports::console(run, {.width = 120}), HasSubstr("as called"));
}

TEST_F(NullPipeline, LaterCallsOnAnOpenDeviceNeedNotMeasureWhatLaunchesCost) {
  PointRunner::Settings settings = {
      .clocks = {TimingMode::stream, TimingMode::device, TimingMode::call, TimingMode::graph}};
  settings.sampling.brief = true;
  const auto open = std::make_shared<OpenDevice>(device_, false);
  std::vector<Measurement> measured;
  std::vector<double> seconds;
  for (int i = 0; i < 2; ++i) {
    null_calls = 0;
    const double start = null_backend().host_seconds();
    ASSERT_TRUE(open->resume());
    PointRunner runner(open, settings);
    measured.push_back(go_over(device_, "null_call/bytes:1048576", [&](const PointCall& call, std::size_t) {
                         return runner.run(call);
                       }).front());
    seconds.push_back(null_backend().host_seconds() - start);
  }
  EXPECT_LT(seconds[1], 0.4 * seconds[0]);
  EXPECT_LT(seconds[1], 3e-3);
  EXPECT_LE(null_calls, 128);
  const double host = 20e-6 + NullBackend::launch_seconds;
  const double alone = (1 << 20) / NullBackend::bytes_per_second;
  for (const Measurement& each : measured) {
    EXPECT_NEAR(seconds_by(each, TimingMode::call)->median, host, 0.01 * host);
    EXPECT_NEAR(seconds_by(each, TimingMode::device)->median, alone, 0.01 * alone);
    EXPECT_EQ(each.bare_launch_seconds, measured[0].bare_launch_seconds);
    for (const Timing& timing : each.timings) EXPECT_EQ(timing.stop_reason, StopReason::interval);
  }
}

void null_waits(State& state) {
  state.reads(1 << 20);
  state.measure([](Stream) {
    null_backend().launch({"null_waits", 1 << 20, 0.0, 0.0, {{100, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}}});
    null_backend().wait();
    null_backend().pass(5e-6);
  });
}
GPU_BENCHMARK(null_waits);

TEST_F(NullPipeline, ACallThatWaitsIsNotCapturedAndItsRecordsTellWhatItWaitsFor) {
  PointRunner runner(device_, {{}, {TimingMode::stream, TimingMode::device, TimingMode::call, TimingMode::graph}});
  auto measured = go_over(device_, "null_waits", [&](const PointCall& call, std::size_t) { return runner.run(call); });
  ASSERT_EQ(measured.size(), 1U);
  for (const TimingMode mode : {TimingMode::device, TimingMode::graph}) {
    EXPECT_EQ(seconds_by(measured[0], mode), nullptr);
    EXPECT_EQ(timing_by(measured[0], mode)->reason, "it waits for the GPU before it returns");
  }
  const double of_gpu = (1 << 20) / NullBackend::bytes_per_second + NullBackend::kernel_seconds;
  const double call = NullBackend::launch_seconds + of_gpu + 5e-6;
  EXPECT_NEAR(seconds_by(measured[0], TimingMode::call)->median, call, 0.02 * call);
  CountingRunner counting(device_, false, std::make_unique<ActivityPass>(device_));
  for (auto& [position, one] :
       count_again(counting, device_, "null_waits", [&](std::size_t) { return measured.data(); }))
    measured[0] = one;
  ASSERT_TRUE(measured[0].activity && measured[0].activity->seconds) << measured[0].activity->reason;
  EXPECT_NEAR(measured[0].activity->seconds->value, of_gpu, 0.02 * of_gpu);
}

TEST_F(NullPipeline, ALoopOfCallsHasNoPlaceForResetsAndColdCaches) {
  PointRunner runner(device_, {.clocks = {TimingMode::stream, TimingMode::call}, .cold = true});
  auto measured = go_over(device_, "null_map/n:1024/flops:1$",
                          [&](const PointCall& call, std::size_t) { return runner.run(call); });
  ASSERT_EQ(measured.size(), 1U);
  const Timing* const call = timing_by(measured.front(), TimingMode::call);
  ASSERT_NE(call, nullptr) << measured.front().failure.value_or(Failure{}).message;
  EXPECT_FALSE(call->seconds);
  EXPECT_THAT(call->reason, HasSubstr("warm caches"));
}

}  // namespace
}  // namespace gpubench::bench
