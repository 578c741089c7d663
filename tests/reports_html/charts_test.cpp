// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/charts.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "reports/charts/rows.h"
#include "tests/matchers.h"
#include "tests/reports_html/synthetic_run.h"

namespace gpubench::reports::charts {
namespace {

Json rows_where(const Json& rows, const char* key, const Json& value) {
  auto found = Json::array();
  for (const auto& row : rows)
    if (row.value(key, Json()) == value) found.push_back(row);
  return found;
}

Point timed(const std::string& operation, std::vector<Argument> arguments, double bytes, Regime regime) {
  Point point;
  point.measurement.operation = operation;
  point.measurement.name = operation;
  point.measurement.device = "cuda:0";
  point.measurement.arguments = std::move(arguments);
  point.measurement.work.bytes_read = bytes;
  point.measurement.make_primary().seconds = Summary{10, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 0, {0.9e-6, 1.1e-6}};
  point.verdict = Verdict{};
  point.verdict->regime = regime;
  return point;
}

/// Every layer of a specification, in all its panels.
template <typename Visit>
void each_layer(const Json& spec, const Visit& visit) {
  for (const auto* key : {"layer", "concat", "hconcat"})
    if (spec.contains(key))
      for (const auto& part : spec[key]) {
        if (part.contains("layer"))
          each_layer(part, visit);
        else
          visit(part);
      }
}

TEST(Charts, EverySpecificationNamesDataThatExist) {
  const auto run = synthetic_run();
  const auto sets = datasets(run);
  for (const auto& chart : all(run)) {
    EXPECT_FALSE(chart.description.empty());
    EXPECT_EQ(chart.spec.value("width", Json()) == "container", !chart.spec.contains("concat")) << chart.id;
    each_layer(chart.spec, [&](const Json& layer) {
      ASSERT_TRUE(layer["data"].contains("name") || layer["data"].contains("values")) << chart.id;
      if (layer["data"].contains("name")) {
        EXPECT_TRUE(sets.contains(layer["data"]["name"].get<std::string>())) << chart.id << " " << layer["data"];
      }
      EXPECT_TRUE(theme(false)["style"].contains(layer["mark"]["style"].get<std::string>())) << layer["mark"];
    });
  }
}

TEST(Charts, StandaloneHoldsItsDataAndShowsTheFirstOperation) {
  const auto run = synthetic_run();
  for (const auto& chart : all(run)) {
    const auto spec = standalone(chart, run);
    for (const auto& [name, rows] : spec["datasets"].items()) EXPECT_FALSE(rows.empty()) << chart.id << " " << name;
    if (spec["datasets"].contains("points")) {
      EXPECT_EQ(spec["datasets"]["points"].size(), run.points.size());
    }
    EXPECT_EQ(spec["params"][0]["value"], "cuda:0");
    EXPECT_EQ(spec["params"][1]["value"], chart.scope == "operation" ? "copy" : "") << chart.id;
    EXPECT_NE(spec.value("width", Json()), "container") << chart.id;
  }
}

TEST(Charts, RooflineIsLogarithmicAndColouredByRegime) {
  const auto spec = all({}).front().spec;
  const auto& points = *std::prev(spec["layer"].end(), 2);
  EXPECT_EQ(spec["layer"].back()["mark"]["style"], "anchor");
  EXPECT_EQ(points["encoding"]["x"]["scale"]["type"], "log");
  EXPECT_EQ(points["encoding"]["y"]["scale"]["type"], "log");
  EXPECT_EQ(points["encoding"]["color"]["field"], "regime");
  EXPECT_EQ(points["encoding"]["shape"]["field"], "regime");
}

TEST(Charts, RoofsAreTheMeasuredCeilings) {
  const auto run = synthetic_run();
  const auto roofs = datasets(run)["roofs"];
  for (const auto* resource : {"dram-read", "l2", "l1", "fp32", "fp64", "tensor-bf16"}) {
    const auto* ceiling = run.calibrations[0].find(resource);
    const auto rows = rows_where(roofs, "roof", resource);
    ASSERT_EQ(rows.size(), 2u) << resource;
    for (const auto& row : rows) {
      const double factor = row["kind"] == "memory" ? row["intensity"].get<double>() : 1.0;
      EXPECT_NEAR(row["rate"].get<double>() / (ceiling->value * factor), 1.0, 1e-4);
      EXPECT_NEAR(row["rate_low"].get<double>() / (ceiling->ci95.low * factor), 1.0, 1e-4);
      EXPECT_NEAR(row["rate_high"].get<double>() / (ceiling->ci95.high * factor), 1.0, 1e-4);
    }
  }
  EXPECT_TRUE(rows_where(roofs, "roof", "dram-write").empty()) << "one roof stands for DRAM";
  EXPECT_TRUE(rows_where(roofs, "roof", "launch").empty());
  EXPECT_EQ(rows_where(roofs, "roof", "fp32")[0]["used"], true);
  EXPECT_EQ(rows_where(roofs, "roof", "tensor-tf32")[0]["used"], false);
}

TEST(Charts, AMissingReadCeilingIsReplacedByTriadAndNoneByNothing) {
  auto run = synthetic_run();
  auto& ceilings = run.calibrations[0].ceilings;
  std::erase_if(ceilings, [](const Ceiling& ceiling) { return ceiling.resource == "dram-read"; });
  EXPECT_EQ(rows_where(datasets(run)["roofs"], "roof", "dram-triad").size(), 2u);
  ceilings.clear();
  EXPECT_TRUE(datasets(run)["roofs"].empty());
}

TEST(Charts, PointsCarryWhatIsKnownAndNothingElse) {
  const auto run = synthetic_run();
  const auto rows = datasets(run)["points"];
  ASSERT_EQ(rows.size(), run.points.size());
  const auto& copy = rows[0];
  EXPECT_EQ(copy["name"], "copy/4096");
  EXPECT_EQ(copy["size"], 4096);
  EXPECT_EQ(copy["axis"], "n");
  EXPECT_FALSE(copy.contains("intensity")) << "copy declares no FLOPs";
  EXPECT_FALSE(copy.contains("achieved")) << "an overhead point has none";
  const auto failed = rows_where(rows, "status", "failed");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_FALSE(failed[0].contains("seconds"));
  EXPECT_THAT(failed[0]["reason"].get<std::string>(), HasSubstr("200 GiB"));
  EXPECT_FALSE(copy.contains("counters")) << "none were asked for";
  const auto saxpy = rows_where(rows, "operation", "saxpy")[0];
  EXPECT_EQ(saxpy["intensity"], rounded(2.0 / 12.0));
  EXPECT_EQ(saxpy["counters"][1], Json({"occupancy", 87.5, "%"}));
  EXPECT_EQ(saxpy["not_counted"], "l1_bytes, l2_bytes: no counter for it");
  EXPECT_EQ(saxpy["work_differences"], "moves 3.0x the bytes it declares");
  EXPECT_FALSE(copy.contains("activity")) << "no check was asked for";
  EXPECT_THAT(saxpy["activity"].get<std::string>(), HasSubstr("in 31 executions by cupti activity"));
  EXPECT_EQ(saxpy["kernels"], "saxpy<float>(float*), 132 blocks of 256 threads, 32 registers");
}

TEST(Charts, CountedWorkOfAKernelReachesTheRoofline) {
  auto run = synthetic_run();
  Measurement& measurement = run.points[0].measurement;
  ASSERT_TRUE(measurement.seconds());
  measurement.work = {};
  measurement.counters = {{.name = "dram_read_bytes", .value = 100.0, .unit = "bytes", .source = "cupti range"},
                          {.name = "dram_write_bytes", .value = 20.0, .unit = "bytes", .source = "cupti range"},
                          {.name = "flops_fp32", .value = 60.0, .unit = "FLOP", .source = "cupti range"}};
  const Json row = datasets(run)["points"][0];
  EXPECT_EQ(row["intensity"], 0.5);
  EXPECT_TRUE(row.contains("flops_per_second"));
  EXPECT_TRUE(row.contains("bytes_per_second"));
}

TEST(Charts, CellsOfALineTouch) {
  const auto rows = rows_where(datasets(synthetic_run())["points"], "line", "copy");
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_NEAR(rows[i]["cell_from"].get<double>() / rows[i - 1]["cell_to"].get<double>(), 1.0, 1e-4);
}

TEST(Charts, PointsAtOnePlaceHaveOneCell) {
  gpubench::Run run;
  for (const int n : {64, 64, 128}) run.points.push_back(timed("fft", {{"n", n}}, n, Regime::memory));
  std::size_t cells = 0;
  const auto sets = datasets(run);
  for (const auto& row : sets["points"]) cells += row.contains("size_to") ? 1 : 0;
  EXPECT_EQ(cells, 2U) << "texts of two would lie on one another";
}

TEST(Charts, ASweepAtOneWorkingSetHasNoCells) {
  gpubench::Run run;
  for (int fma = 1; fma <= 64; fma *= 2) run.points.push_back(timed("intensity", {{"fma", fma}}, 1e8, Regime::memory));
  const auto sets = datasets(run);
  for (const auto& row : sets["points"]) EXPECT_FALSE(row.contains("cell_to")) << row;
}

TEST(Charts, BandsMeetAtTheBoundaryWhereThereIsOneAndElseHalfWay) {
  gpubench::Run run;
  for (const auto& [size, regime] :
       {std::pair{100, Regime::overhead}, {400, Regime::memory}, {1600, Regime::memory}, {6400, Regime::compute}})
    run.points.push_back(timed("op", {{"", size}}, size, regime));
  run.boundaries = {{"op", "cuda:0", "size", "launch", "dram", 250.0, std::nullopt}};
  const auto bands = datasets(run)["bands"];
  ASSERT_EQ(bands.size(), 3u);
  EXPECT_EQ(bands[0]["from"], 100);
  EXPECT_EQ(bands[0]["to"], 250);
  EXPECT_EQ(bands[1]["from"], 250);
  EXPECT_EQ(bands[1]["to"], 3200);
  EXPECT_EQ(bands[1]["regime"], "memory");
  EXPECT_EQ(bands[2]["to"], 6400);
}

TEST(Charts, ArgumentsThatVaryOnTheirOwnMakeLines) {
  gpubench::Run run;
  for (const int k : {1, 2})
    for (const int n : {64, 128}) run.points.push_back(timed("op", {{"n", n}, {"k", k}}, n, Regime::memory));
  for (const int n : {64, 128}) run.points.push_back(timed("square", {{"", n}, {"", n}}, n, Regime::memory));
  std::set<std::string> lines;
  const auto rows = datasets(run)["points"];
  for (const auto& row : rows) lines.insert(row["line"]);
  EXPECT_THAT(lines, ElementsAre("op  k=1", "op  k=2", "square"));
}

TEST(Charts, NumbersThatAreNotFiniteBecomeNull) {
  EXPECT_TRUE(rounded(std::numeric_limits<double>::quiet_NaN()).is_null());
  EXPECT_TRUE(rounded(std::numeric_limits<double>::infinity()).is_null());
  EXPECT_EQ(rounded(1.23456789e9), Json(1234570000.0));
}

TEST(Charts, LevelsEndInDram) {
  const auto run = synthetic_run();
  std::vector<std::string> labels;
  const auto levels = datasets(run)["levels"];
  for (const auto& row : levels)
    if (row.contains("rate")) labels.push_back(row["label"].get<std::string>().substr(0, 4));
  EXPECT_THAT(labels, ElementsAre("L1  ", "L2  ", "DRAM"));
}

TEST(Charts, ThemesHaveOneColourAndShapeForEachRegime) {
  for (const bool dark : {false, true}) {
    EXPECT_EQ(theme(dark)["range"]["category"].size(), regime_names.size());
    EXPECT_EQ(theme(dark)["range"]["symbol"].size(), regime_names.size());
  }
  EXPECT_EQ(theme(false)["style"].size(), theme(true)["style"].size());
}

TEST(Charts, CurvesOfFullCalibrations) {
  const auto run = synthetic_run();
  const auto sets = datasets(run);
  EXPECT_EQ(sets["latencies"].size(), run.calibrations[0].latency_curve.size());
  ASSERT_EQ(sets["latency_levels"].size(), 1u);
  EXPECT_EQ(sets["latency_levels"][0]["label"], "DRAM  330.0 ns");
  EXPECT_EQ(sets["intensities"].size(), run.calibrations[0].intensity_sweep.size());
  EXPECT_EQ(rows_where(sets["intensity_roofs"], "roof", "FP32").size(), 2u);
  EXPECT_EQ(rows_where(sets["intensity_roofs"], "roof", "DRAM read").size(), 3u);
}

TEST(Charts, WithoutCurvesThereAreNoChartsOfThem) {
  auto run = synthetic_run();
  EXPECT_EQ(all(run).size(), 10u);
  run.calibrations[0].latency_curve.clear();
  run.calibrations[0].intensity_sweep.clear();
  EXPECT_EQ(all(run).size(), 8u);
  EXPECT_TRUE(datasets(run)["latency_levels"].empty());
  EXPECT_TRUE(datasets(run)["intensity_roofs"].empty());
}

}  // namespace
}  // namespace gpubench::reports::charts
