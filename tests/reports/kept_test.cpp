// SPDX-License-Identifier: Apache-2.0
// Files of earlier versions and stages stay readable, and can be reported in every format.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/model/points.h"
#include "core/storage/storage.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"
#include "tests/compare/compared_runs.h"

namespace gpubench::reports {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> kept(const std::string& kind) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(GPUBENCH_KEPT))
    if (entry.path().filename().string().starts_with(kind + "-") && entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

nlohmann::json json_of(const fs::path& file) {
  std::ifstream stream(file);
  return nlohmann::json::parse(stream);
}

TEST(Kept, ThereIsASampleOfEachVersion) {
  for (const auto& [kind, newest] :
       {std::pair{"run", gpubench::Run::schema_version}, {"calibration", Calibration::schema_version}})
    for (int version = 1; version <= newest; ++version) {
      const auto files = kept(kind);
      EXPECT_TRUE(std::any_of(files.begin(), files.end(),
                              [&](const fs::path& file) { return json_of(file)["schema"]["version"] == version; }))
          << "keep a " << kind << " of version " << version << " in tests/reports/kept";
    }
}

TEST(Kept, RunsAreReadWithAllThatTheyHold) {
  for (const auto& file : kept("run")) {
    const auto run = storage::read_run(file);
    const auto document = json_of(file);
    ASSERT_EQ(run.points.size(), document["points"].size()) << file;
    ASSERT_FALSE(run.points.empty()) << file;
    for (std::size_t i = 0; i < run.points.size(); ++i) {
      const auto& stored = document["points"][i]["measurement"];
      const auto& measurement = run.points[i].measurement;
      EXPECT_EQ(measurement.name, without_suffix(stored["name"].get<std::string>())) << file;
      if (measurement.timings.empty()) continue;
      const auto& timing = document["schema"]["version"] == 1 ? stored : stored["timings"][0];
      const std::size_t samples = timing.contains("samples_seconds") ? timing["samples_seconds"].size() : 0;
      EXPECT_EQ(measurement.primary().samples_seconds.size(), samples) << file;
      const bool has_time = timing.contains("seconds") && !timing["seconds"].is_null();
      EXPECT_EQ(measurement.seconds().has_value(), has_time) << file;
      if (has_time) {
        EXPECT_EQ(measurement.seconds()->median, timing["seconds"]["median"].get<double>()) << file;
      }
    }
    EXPECT_EQ(run.calibrations.size(), document["calibrations"].size()) << file;
    EXPECT_EQ(storage::run_from_json(storage::to_json(run), "again"), run) << file;
  }
}

TEST(Kept, KernelsOfRunsBeforeTheirCodeWasKnownCompareWithoutIt) {
  const auto run = storage::read_run(fs::path(GPUBENCH_KEPT) / "run-1-e.json");
  std::size_t kernels = 0;
  for (const Point& point : run.points)
    if (point.measurement.activity)
      for (const KernelLaunch& kernel : point.measurement.activity->kernels) {
        ++kernels;
        EXPECT_EQ(kernel.code + kernel.code_absent_reason, "");
      }
  EXPECT_GT(kernels, 0U);
  const auto comparison = compare::compare(run, run, {});
  EXPECT_TRUE(std::ranges::any_of(comparison.points, [](const compare::ComparedPoint& point) {
    return point.kernels == "the same kernels and launches, code not known";
  }));
}

TEST(Kept, RunsAreWrittenInEveryFormat) {
  for (const auto& file : kept("run")) {
    const auto run = storage::read_run(file);
    const auto lines = csv(run);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), static_cast<std::ptrdiff_t>(run.points.size() + 1)) << file;
    EXPECT_NE(markdown(run).find(run.points.front().measurement.operation), std::string::npos) << file;
    EXPECT_EQ(nlohmann::json::parse(google_benchmark_json(run)).count("benchmarks"), 1U) << file;
    EXPECT_TRUE(nlohmann::json::parse(nvbench_json(run)).is_object()) << file;
    EXPECT_TRUE(open_metrics(run).ends_with("# EOF\n")) << file;
    EXPECT_NE(junit_xml(run).find("</testsuites>"), std::string::npos) << file;
    EXPECT_NE(html(run).find("id=\"chart-roofline\""), std::string::npos) << file;
    for (const int width : {60, 100}) EXPECT_FALSE(console(run, {false, width}).empty()) << file;
    for (const auto* chart : {"roofline", "overview", "map", "strip", "time", "samples"}) {
      try {
        const auto spec = nlohmann::json::parse(picture(run, "x.vl.json", parse_chart(chart)));
        EXPECT_TRUE(spec.contains("datasets")) << file;
      } catch (const PictureError& error) {
        ADD_FAILURE() << file << ": " << chart << ": " << error.what();
      }
    }
  }
}

TEST(Kept, RunsOfAnyStagesAreLaidOverOneAnother) {
  std::vector<NamedRun> runs;
  for (const auto& file : kept("run")) runs.push_back({file.stem().string(), storage::read_run(file)});
  ASSERT_GE(runs.size(), 2U);
  const auto page = html(join(runs));
  for (const auto& run : runs) EXPECT_NE(page.find("<th scope=\"row\">" + run.label + "</th>"), std::string::npos);
}

TEST(Kept, CalibrationsAreReadAndShown) {
  for (const auto& file : kept("calibration")) {
    const auto calibration = storage::read_calibration(file);
    EXPECT_EQ(calibration.ceilings.size(), json_of(file)["ceilings"].size()) << file;
    EXPECT_EQ(storage::calibration_from_json(storage::to_json(calibration), "again"), calibration) << file;
    EXPECT_NE(console(calibration, {false, 80}).find("dram"), std::string::npos) << file;
    gpubench::Run run;
    run.devices = {calibration.device};
    run.calibrations = {calibration};
    EXPECT_NE(ceilings_csv(run).find("dram-read"), std::string::npos) << file;
    EXPECT_NE(ceilings_markdown(run).find("dram"), std::string::npos) << file;
    EXPECT_NE(html(run).find("chart-ladder"), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace gpubench::reports
