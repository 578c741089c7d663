// SPDX-License-Identifier: Apache-2.0
// Files as bad disks, bad editors and bad people make them: an error or a valid run, never a crash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/statistics/statistics.h"
#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

/// A short run with something in every list.
std::string sound_text() {
  std::string shortest;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Run run = random_run(seed);
    if (run.points.empty() || run.calibrations.empty() || run.boundaries.empty() || run.devices.empty()) continue;
    if (!run.points[0].verdict || !run.points[0].measurement.seconds() || run.calibrations[0].ceilings.empty())
      continue;
    std::string text = to_json(run);
    if (shortest.empty() || text.size() < shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

/// Whether the text was refused; what is accepted must be writable and equal when read again.
bool refused(const std::string& text) {
  Run run;
  try {
    run = run_from_json(text, "damaged.json");
  } catch (const ReadError& error) {
    EXPECT_NE(std::string(error.what()).find("damaged.json: "), std::string::npos);
    return true;
  }
  EXPECT_EQ(run_from_json(to_json(run), "again.json"), run);
  return false;
}

TEST(Damage, EveryTruncationIsRefused) {
  const std::string text = sound_text();
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length <= end; ++length)
    ASSERT_TRUE(refused(text.substr(0, length))) << "cut to " << length << " of " << text.size();
  EXPECT_FALSE(refused(text.substr(0, end + 1)));
}

TEST(Damage, ChangedBytesAreRefusedOrHarmless) {
  const std::string text = sound_text();
  std::mt19937_64 random(1);
  int count = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (int changes = 1 + i % 4; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    count += refused(damaged) ? 1 : 0;
  }
  EXPECT_GT(count, 1500);
}

TEST(Damage, MisplacedPiecesAreRefusedOrHarmless) {
  const std::string text = sound_text();
  constexpr std::string_view pieces[] = {
      "null", "-1", "1e308", "[]", "{}", "\"\"", "true", "-0.0", "18446744073709551616", "1e-400", "\\u0000"};
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    // Whole values are replaced: from after a ": " to the end of its line.
    const std::size_t start = damaged.find(": ", random() % damaged.size());
    if (start == std::string::npos) continue;
    const std::size_t end = damaged.find_first_of(",\n", start);
    damaged.replace(start + 2, end - start - 2, pieces[random() % std::size(pieces)]);
    refused(damaged);
  }
}

/// A run whose only point has samples, and a calibration with one ceiling of a GPU with 132 multiprocessors.
Run plain_run() {
  Run run;
  run.devices.resize(1);
  run.devices[0].id = "cuda:0";
  run.devices[0].kind = DeviceKind::gpu;
  run.devices[0].units = 132;
  run.calibrations.resize(1);
  run.calibrations[0].device = run.devices[0];
  Ceiling ceiling;
  ceiling.resource = "fp32";
  ceiling.value = 132.0 * 256.0 * 1.5e9;
  ceiling.unit = "FLOP/s";
  ceiling.ci95 = {0.99 * ceiling.value, 1.01 * ceiling.value};
  ceiling.clock_hz = 1.5e9;
  ceiling.rate_per_clock = 256.0;
  run.calibrations[0].ceilings = {ceiling};
  Measurement measurement;
  measurement.name = measurement.operation = "copy";
  measurement.device = "cuda:0";
  Timing& timing = measurement.timings.emplace_back();
  timing.samples_seconds = {1.01e-6, 1.03e-6, 1.02e-6, 1.05e-6, 1.04e-6};
  timing.seconds = statistics::summarize(timing.samples_seconds);
  timing.executions_per_sample = 100;
  run.points.push_back({measurement, std::nullopt});
  return run;
}

Summary& time_of(Run& run) { return *run.points[0].measurement.timings[0].seconds; }
Ceiling& ceiling_of(Run& run) { return run.calibrations[0].ceilings[0]; }

TEST(Damage, FiguresThatContradictEachOtherAreRefused) {
  EXPECT_EQ(run_from_json(to_json(plain_run()), "run.json"), plain_run());
  const auto refused = [](const char* what, const char* place, auto change, bool by_slim_reading = true) {
    gpubench::Run run = plain_run();
    change(run);
    EXPECT_THAT(message_of<ReadError>([&] { run_from_json(to_json(run), "run.json"); }), HasSubstr(place)) << what;
    if (by_slim_reading) {
      EXPECT_THROW(slim_run_from_json(to_json(run), "run.json"), ReadError) << what;
    }
  };
  refused("reversed interval", "/median_ci95: begins at",
          [](gpubench::Run& run) { std::swap(time_of(run).median_ci95.low, time_of(run).median_ci95.high); });
  refused("median halved", "/median: is 5.1", [](gpubench::Run& run) { time_of(run).median *= 0.5; });
  refused("median doubled", "/upper_quartile: is", [](gpubench::Run& run) { time_of(run).median *= 2.0; });
  refused("minimum above maximum", "/lower_quartile: is", [](gpubench::Run& run) { time_of(run).minimum = 2e-6; });
  refused("maximum halved", "/maximum: is", [](gpubench::Run& run) { time_of(run).maximum *= 0.5; });
  refused("mean doubled", "/mean: is", [](gpubench::Run& run) { time_of(run).mean *= 2.0; });
  refused("deviation x 100", "/mad: is", [](gpubench::Run& run) { time_of(run).mad *= 100.0; });
  refused("interval halved", "/median_ci95: does not hold", [](gpubench::Run& run) {
    time_of(run).median_ci95 = {5e-7, 5.1e-7};
  });
  refused("count of 1e18", "/count: is 1000000000000000000",
          [](gpubench::Run& run) { time_of(run).count = 1'000'000'000'000'000'000; });
  refused("count of none", "/count: is 0", [](gpubench::Run& run) { time_of(run).count = 0; });
  refused("executions of 1e18", "/executions_per_sample: is", [](gpubench::Run& run) {
    run.points[0].measurement.timings[0].executions_per_sample = 1'000'000'000'000'000'000;
  });
  const bool not_slim = false;
  refused(
      "one sample more", "counts 5 samples, and 6 are there",
      [](gpubench::Run& run) { run.points[0].measurement.timings[0].samples_seconds.push_back(1.03e-6); }, not_slim);
  refused(
      "an order of kernels that are not there", "/kernel_order: names a group",
      [](gpubench::Run& run) { run.points[0].measurement.kernel_order = {0}; }, not_slim);
  refused(
      "more groups than gpubench makes", "/kernel_groups: has 66 groups",
      [](gpubench::Run& run) { run.points[0].measurement.kernels.resize(max_kernel_groups + 2); }, not_slim);
  refused(
      "launches of 1e18", "/launches: is 1000000000000000000",
      [](gpubench::Run& run) {
        run.points[0].measurement.kernels.emplace_back().launch.launches = 1'000'000'000'000'000'000;
      },
      not_slim);
  refused(
      "verdicts of kernels that are not there", "/kernel_verdicts: does not have one entry",
      [](gpubench::Run& run) { run.points[0].kernel_verdicts.resize(2); }, not_slim);
  refused(
      "samples doubled", "has a minimum of",
      [](gpubench::Run& run) {
        for (double& sample : run.points[0].measurement.timings[0].samples_seconds) sample *= 2.0;
      },
      not_slim);
  refused(
      "median of other samples", "has a median of",
      [](gpubench::Run& run) {
        run.points[0].measurement.timings[0].samples_seconds = {1.01e-6, 1.01e-6, 1.01e-6, 1.05e-6, 1.01e-6};
      },
      not_slim);
  refused(
      "ceiling of zero", "/value: is zero", [](gpubench::Run& run) { ceiling_of(run).value = 0.0; }, not_slim);
  refused(
      "ceiling x 100", "/ci95: is an interval", [](gpubench::Run& run) { ceiling_of(run).value *= 100.0; }, not_slim);
  refused(
      "ceiling and interval x 100", "rate per clock",
      [](gpubench::Run& run) {
        ceiling_of(run).value *= 100.0;
        ceiling_of(run).ci95 = {ceiling_of(run).value, ceiling_of(run).value};
      },
      not_slim);
  refused(
      "two ceilings", "two ceilings of fp32",
      [](gpubench::Run& run) { run.calibrations[0].ceilings.push_back(ceiling_of(run)); }, not_slim);
}

TEST(Damage, RoundedFiguresAreRead) {
  gpubench::Run run = plain_run();
  Summary& rounded = time_of(run);
  rounded.minimum = rounded.lower_quartile = rounded.upper_quartile = rounded.maximum = 1e-6;
  EXPECT_EQ(run_from_json(to_json(run), "run.json"), run);
  rounded.median = 1.03e-6;
  rounded.mean = 1.032e-6;
  rounded.median_ci95 = {1.03e-6, 1.03e-6};
  EXPECT_EQ(run_from_json(to_json(run), "run.json"), run);
  rounded.median = 1.05e-6;
  EXPECT_THROW(run_from_json(to_json(run), "run.json"), ReadError);
}

TEST(Damage, AVariantMayTakeLessThanTheEmptyKernelsInItsPlace) {
  gpubench::Run run = plain_run();
  Variant variant{Ablation::less_traffic, 0.5, time_of(run), ""};
  variant.seconds->minimum = -1e-9;
  run.points[0].measurement.variants = {variant};
  EXPECT_EQ(run_from_json(to_json(run), "run.json"), run);
}

/// What the harness leaves of a point that failed: at any stage, and with any text.
TEST(RoundTrip, HoldsForEveryKindOfFailure) {
  for (std::size_t kind = 0; kind < failure_kind_names.size(); ++kind)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      gpubench::Run run = random_run(seed);
      for (std::size_t i = 0; i < run.points.size(); ++i) {
        Measurement& measurement = run.points[i].measurement;
        measurement.failure = {static_cast<FailureKind>(kind), measurement.label + measurement.name};
        const std::size_t stage = (seed + i) % 4;
        if (stage == 0) measurement.timings.clear();
        if (stage == 1 && !measurement.timings.empty()) measurement.timings.resize(1);
        if (stage <= 2)
          for (Timing& timing : measurement.timings) {
            timing.seconds.reset();
            timing.samples_seconds.clear();
            timing.samples_clock_hz.clear();
            if (stage == 1) timing.block_sizes.clear();
          }
      }
      const std::string text = to_json(run);
      ASSERT_EQ(run_from_json(text, "run.json"), run) << failure_kind_names[kind] << ", seed " << seed;
      ASSERT_EQ(slim_run_from_json(text, "run.json"), slim(run)) << failure_kind_names[kind] << ", seed " << seed;
    }
}

TEST(Damage, RandomBytesAreRefused) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random() % 256);
    EXPECT_TRUE(refused(text));
    EXPECT_THROW(calibration_from_json(text, "damaged.json"), ReadError);
  }
}

}  // namespace
}  // namespace gpubench::storage
