// SPDX-License-Identifier: Apache-2.0
#include "profile/verdicts.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/storage/storage.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

/// plain_program 6 with --metrics=core --metrics-launches=2, on an H200; judged by the H200's kept ceilings.
TEST(KeptRecording, of_an_h200_gives_the_kernels_that_its_program_runs_and_what_limits_them) {
  Recordings recordings;
  read_recording(GPUBENCH_KEPT_RECORDING, recordings);
  timeline::sort(recordings.timeline);
  EXPECT_EQ(recordings.kernels, 6 * 54 + 10 * 20 + 100);  // steps, a graph, another thread
  EXPECT_EQ(recordings.timeline.dropped, 0);
  EXPECT_THAT(recordings.timeline.warnings, IsEmpty());
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  ASSERT_THAT(run.devices, SizeIs(1));
  Calibration calibration = storage::read_calibration_for(GPUBENCH_KEPT_CALIBRATION, run.devices);
  calibration.device = run.devices[0];
  run.calibrations.push_back(calibration);
  run = verdicts_of(recordings, std::move(run));
  std::map<std::string, Point> points;
  for (const Point& point : run.points) points[point.measurement.name] = point;
  const auto& triad = points.at("triad/grid:65536/block:256/in:step/stream");
  EXPECT_EQ(triad.verdict->regime, Regime::memory);
  EXPECT_EQ(triad.verdict->limiter, "dram");
  const auto& multiply_add = points.at("multiply_add/grid:1056/block:256/in:step/arithmetic");
  EXPECT_EQ(multiply_add.verdict->regime, Regime::compute);
  const auto& chase = points.at("chase/grid:1/block:1/in:step");
  EXPECT_EQ(chase.verdict->regime, Regime::latency);
  const auto& tiny = points.at("tiny/grid:1/block:32/in:step");
  EXPECT_EQ(tiny.verdict->regime, Regime::overhead);
  ASSERT_TRUE(run.program);
  EXPECT_EQ(run.program->kernels.size(), run.points.size());
  const auto graph = std::ranges::find(run.program->kernels, "tiny/grid:2/block:64", &ProgramKernel::point);
  ASSERT_NE(graph, run.program->kernels.end());
  EXPECT_EQ(graph->launches, 200);
  EXPECT_EQ(graph->counted, 0);  // kernels of graphs never are
  ASSERT_THAT(run.program->memory, Not(IsEmpty()));
  EXPECT_EQ(run.program->memory[0].kind, "device");
  EXPECT_GE(run.program->memory[0].peak_bytes, std::int64_t{4} << 28);
}

/// Its steps are the ranges "step"; the first two have counters around most launches, and are warm-up.
TEST(KeptRecording, has_phases_and_a_step_that_adds_up) {
  Recordings recordings;
  read_recording(GPUBENCH_KEPT_RECORDING, recordings);
  timeline::sort(recordings.timeline);
  gpubench::Run ceilings;
  ceilings.devices = devices_of(recordings, {});
  Calibration calibration = storage::read_calibration_for(GPUBENCH_KEPT_CALIBRATION, ceilings.devices);
  calibration.device = ceilings.devices[0];
  ceilings.calibrations.push_back(calibration);
  for (const std::string range : {"", "step"}) {
    GroupOptions options;
    options.steady = true;
    options.range = range;
    const gpubench::Run run = verdicts_of(recordings, ceilings, options);
    ASSERT_TRUE(run.program && run.program->steady);
    EXPECT_EQ(run.program->steady->by, "range step");
    EXPECT_GT(run.program->steady->kernel_share, 0.5);
    ASSERT_THAT(run.program->steps, SizeIs(1));
    const StepTime& step = run.program->steps[0];
    EXPECT_EQ(step.steps, run.program->steady->steps);
    double sum = 0.0, unjudged = 0.0, kernels = 0.0;
    for (const StepPart& part : step.parts) {
      sum += part.seconds;
      if (part.kind <= StepPartKind::no_verdict) kernels += part.seconds;
      if (part.kind == StepPartKind::no_verdict) unjudged += part.seconds;
    }
    EXPECT_NEAR(sum, step.seconds, 1e-6 * step.seconds);
    EXPECT_LT(unjudged, 0.05 * kernels);
    ASSERT_TRUE(step.at_roof_seconds && step.both_seconds);
    EXPECT_LT(*step.at_roof_seconds, step.seconds);
    EXPECT_LE(*step.both_seconds, *step.at_roof_seconds + 1e-9);
    EXPECT_NEAR(undisturbed_seconds(*run.program), step.seconds * static_cast<double>(step.steps),
                1e-6 + 0.001 * step.seconds);
    EXPECT_EQ(run.program->phases.front().kind, PhaseKind::start);
    for (const ProgramKernel& kernel : run.program->kernels) EXPECT_NE(kernel.point, "tiny/grid:2/block:64");
  }
}

/// The same recording as one without counters and one that has them.
TEST(KeptRecording, takes_counters_from_a_further_run) {
  Recordings counted;
  read_recording(GPUBENCH_KEPT_RECORDING, counted);
  timeline::sort(counted.timeline);
  Recordings plain = counted;
  plain.counted.clear();
  const auto points_of = [&](const Recordings& recordings, const std::vector<const Recordings*>& others) {
    gpubench::Run run;
    run.devices = devices_of(recordings, {});
    GroupOptions options;
    for (const Recordings* other : others) options.further.push_back(further_counters(*other, options, run));
    options.metrics = counted_metrics(recordings, options.further);
    add_program(recordings, options, run);
    std::map<std::string, std::map<std::string, double>> values;
    for (const Point& point : run.points)
      for (const Counter& counter : point.measurement.counters) {
        values[point.measurement.name][counter.name] = counter.value;
        EXPECT_THAT(counter.source, HasSubstr(others.empty() ? "launches" : "2 runs"));
      }
    return values;
  };
  const auto expected = points_of(counted, {});
  EXPECT_THAT(expected, Not(IsEmpty()));
  EXPECT_EQ(points_of(plain, {&counted}), expected);
  EXPECT_THAT(points_of(plain, {&plain}), IsEmpty());
}

}  // namespace
}  // namespace gpubench::profile
