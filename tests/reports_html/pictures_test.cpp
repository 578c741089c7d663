// SPDX-License-Identifier: Apache-2.0
// Single charts, samples, and several runs over one another: what goes into the specifications. Drawing is tested
// apart.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/charts/picture.h"
#include "reports/charts/rows.h"
#include "reports/reports.h"
#include "reports/timelines.h"
#include "tests/matchers.h"
#include "tests/reports_html/synthetic_run.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench::reports {
namespace {

using charts::Json;

Several two_runs() {
  auto later = synthetic_run();
  for (auto& point : later.points)
    if (auto& seconds = point.measurement.make_primary().seconds)
      for (double* value : {&seconds->median, &seconds->median_ci95.low, &seconds->median_ci95.high}) *value *= 1.25;
  return join({{"old", synthetic_run()}, {"new", later}});
}

TEST(Picture, TheNameOfTheFileSaysWhichChart) {
  EXPECT_EQ(choice_of("roofline.svg", "").chart, "roofline");
  EXPECT_EQ(choice_of("out/H200-Roofline.PNG", "").chart, "roofline");
  EXPECT_EQ(choice_of("map_2.vl.json", "").chart, "map");
  EXPECT_EQ(choice_of("x.png", "shares").chart, "shares");
  EXPECT_THAT(message_of<std::exception>([] { choice_of("x.png", ""); }),
              HasSubstr("holds no name of a chart. Give --chart=NAME"));
  EXPECT_THAT(message_of<std::exception>([] { choice_of("time-and-rate.png", ""); }), HasSubstr("more than one"));
  EXPECT_THAT(message_of<std::exception>([] { choice_of("times-table.png", "pie"); }),
              HasSubstr("no chart 'pie'. The charts are overview"));
}

TEST(Picture, AChartIsNamedWithItsOperationAndDevice) {
  const auto choice = parse_chart("samples:saxpy/n:1024@cuda:1");
  EXPECT_EQ(choice.chart, "samples");
  EXPECT_EQ(choice.of.line, "saxpy/n:1024");
  EXPECT_EQ(choice.of.device, "cuda:1");
  EXPECT_EQ(parse_chart("roofline@cpu").of.device, "cpu");
  EXPECT_EQ(parse_chart("time:gemm  k=64").of.line, "gemm  k=64");
}

TEST(Picture, SpecificationsAreOfWhatWasChosen) {
  const auto run = synthetic_run_two_devices();
  const auto spec = Json::parse(picture(run, "x.vl.json", parse_chart("time:saxpy@cuda:0")));
  EXPECT_EQ(spec["params"][1]["value"], "saxpy");
  EXPECT_THAT(spec["title"]["text"].get<std::string>(), HasSubstr("saxpy"));
  const auto cpu = Json::parse(picture(run, "x.vl.json", parse_chart("roofline@cpu")));
  EXPECT_EQ(cpu["params"][0]["value"], "cpu");
  EXPECT_FALSE(cpu["datasets"].contains("ladder")) << "no more than it draws";
}

TEST(Picture, WhatARunDoesNotHaveIsRefusedWithWhatItHas) {
  const auto run = synthetic_run();
  const auto of = [&](const char* chart) {
    return message_of<std::exception>([&] { (void)picture(run, "x.vl.json", parse_chart(chart)); });
  };
  EXPECT_THAT(of("time:nothing"), HasSubstr("no timed point of operation 'nothing' on cuda:0; it has copy, saxpy"));
  EXPECT_THAT(of("time@cuda:7"), HasSubstr("no device 'cuda:7' in this run; it has cuda:0"));
  EXPECT_THAT(of("times"), HasSubstr("two or more"));
  EXPECT_THAT(of("samples:nothing"), HasSubstr("no point 'nothing' with samples"));
  auto ceilings = run;
  ceilings.points.clear();
  ceilings.boundaries.clear();
  for (const auto* chart : {"overview", "map", "strip", "time", "rate", "shares"})
    EXPECT_THAT(message_of<std::exception>([&] { (void)picture(ceilings, "x.vl.json", parse_chart(chart)); }),
                HasSubstr("has no data for the chart"))
        << chart;
  for (const auto* chart : {"roofline", "ladder"})
    EXPECT_EQ(message_of<std::exception>([&] { (void)picture(ceilings, "x.vl.json", parse_chart(chart)); }), "");
}

TEST(Picture, LegendsNameWhatOccurs) {
  auto run = synthetic_run();
  for (auto& point : run.points)
    if (point.verdict) point.verdict->regime = Regime::memory;
  const auto text = picture(run, "x.vl.json", parse_chart("roofline"));
  const auto spec = Json::parse(text);
  EXPECT_EQ(std::prev(spec["layer"].end(), 2).value()["encoding"]["color"]["legend"]["values"],
            Json::array({"memory"}));
}

TEST(Map, CellsOfSizesTouchAndCarryTheProbability) {
  const auto run = synthetic_run();
  const auto rows = charts::datasets(run)["points"];
  std::vector<Json> copy;
  for (const auto& row : rows)
    if (row["line"] == "copy") copy.push_back(row);
  ASSERT_GT(copy.size(), 2U);
  for (std::size_t i = 1; i < copy.size(); ++i)
    EXPECT_NEAR(copy[i]["size_from"].get<double>() / copy[i - 1]["size_to"].get<double>(), 1.0, 1e-4);
  EXPECT_TRUE(copy[0].contains("confidence"));
}

TEST(Samples, ArePackedAndStayWithinAStepOfTheRange) {
  const auto run = synthetic_run();
  const auto packed = charts::packed_samples(run);
  EXPECT_EQ(packed.size(), run.points.size() - 2) << "two failed";
  const auto& samples = run.points[0].measurement.primary().samples_seconds;
  EXPECT_EQ(packed["0"][0], *std::min_element(samples.begin(), samples.end()));
  EXPECT_EQ(packed["0"][1], *std::max_element(samples.begin(), samples.end()));
  EXPECT_EQ(packed["0"][2], samples.size());
  EXPECT_EQ(packed["0"][4].get<std::string>().size(), (2 * samples.size() + 2) / 3 * 4);
  auto odd = run;
  odd.points[0].measurement.make_primary().samples_seconds = {1.0, 2.0};
  EXPECT_EQ(charts::packed_samples(odd)["0"][4], "AAD//w==") << "0 and 65535, little-endian";
  odd.points[0].measurement.make_primary().samples_seconds = {1.0, std::nan("")};
  EXPECT_FALSE(charts::packed_samples(odd).contains("0"));
  odd.points[0].measurement.make_primary().samples_seconds.clear();
  EXPECT_FALSE(charts::packed_samples(odd).contains("0"));
  odd.points[0].measurement.make_primary().samples_seconds.assign(5000, 1.0);
  EXPECT_EQ(charts::packed_samples(odd)["0"][2], 5000);
  EXPECT_EQ(charts::packed_samples(odd)["0"][4].get<std::string>().size(),
            (2 * charts::max_packed_samples + 2) / 3 * 4);
}

TEST(Several, LabelsDiffer) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels_of({"a/old.json", "b/new.json"}), (Labels{"old", "new"}));
  EXPECT_EQ(labels_of({"a/run.json", "b/run.json"}), (Labels{"a/run", "b/run"}));
  EXPECT_EQ(labels_of({"a/run.json", "a/run.json"}), (Labels{"a/run #1", "a/run #2"}));
}

TEST(Several, JoiningKeepsRunsApart) {
  const auto several = two_runs();
  EXPECT_EQ(several.merged.points.size(), 2 * synthetic_run().points.size());
  EXPECT_EQ(several.merged.devices[0].id, "old / cuda:0");
  EXPECT_EQ(several.merged.devices[1].id, "new / cuda:0");
  EXPECT_NE(several.merged.calibration_of("new / cuda:0"), nullptr);
  EXPECT_EQ(several.run_of_device.at("new / cuda:0"), 1U);
  EXPECT_THROW(join({{"one", gpubench::Run{}}}), std::invalid_argument);
  EXPECT_THROW(join(std::vector<NamedRun>(max_runs + 1, {"x", gpubench::Run{}})), std::invalid_argument);
}

TEST(Several, ChangesAreRatiosToTheFirstRun) {
  const auto sets = charts::datasets(two_runs());
  std::size_t timed = 0;
  for (const auto& point : synthetic_run().points)
    if (point.measurement.seconds()) ++timed;
  ASSERT_EQ(sets["changes"].size(), timed);
  for (const auto& row : sets["changes"]) {
    EXPECT_NEAR(row["ratio"].get<double>(), 1.25, 1e-4);
    EXPECT_LE(row["ratio_low"], row["ratio"]);
    EXPECT_GE(row["ratio_high"], row["ratio"]);
    EXPECT_EQ(row["run"], "new");
  }
}

TEST(Several, RoofsThatLieOnOneAnotherAreNamedOnce) {
  const auto sets = charts::datasets(two_runs());
  std::size_t dram = 0;
  for (const auto& row : sets["roofs"])
    if (row.contains("run_label") && row["kind"] == "memory") ++dram;
  EXPECT_EQ(dram, 1U);
}

TEST(Several, APictureSaysWhichRunsItShows) {
  const auto several = two_runs();
  const auto spec = Json::parse(picture(several, "x.vl.json", parse_chart("times:saxpy")));
  ASSERT_EQ(spec["title"]["subtitle"].size(), 2U);
  EXPECT_EQ(spec["title"]["subtitle"][1].get<std::string>().substr(0, 19), "new: Synthetic GPU,");
  EXPECT_EQ(spec["title"]["text"], "Time against size, by run \u00b7 saxpy");
}

TEST(Several, ThePageShowsEachRunAndItsContext) {
  const auto page = html(two_runs());
  for (const auto* part : {"id=\"chart-rooflines\"", "id=\"chart-changes\"", "id=\"chart-times\"",
                           "<th scope=\"row\">old</th>", "<th scope=\"row\">new</th>", "href=\"#runs\""})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(html(synthetic_run()).find("href=\"#runs\""), std::string::npos);
}

// Hostile text.

/// Strings in a specification that Vega evaluates; nothing of a run may be in one.
void find_expressions(const Json& value, std::vector<std::string>& found) {
  if (value.is_object()) {
    for (const auto& [key, element] : value.items()) {
      const bool evaluated = key == "expr" || key == "labelExpr" || key == "calculate" || key == "filter" ||
                             key == "test" || key == "signal" || key == "update" || key == "href" || key == "url";
      if (evaluated && element.is_string()) found.push_back(element.get<std::string>());
      if (key != "datasets") find_expressions(element, found);
    }
  } else if (value.is_array()) {
    for (const auto& element : value) find_expressions(element, found);
  }
}

std::set<std::string> expressions_of(const std::vector<charts::Chart>& list, const auto& runs) {
  std::vector<std::string> found;
  for (const auto& chart : list) find_expressions(charts::standalone(chart, runs), found);
  return {found.begin(), found.end()};
}

TEST(Hostile, NoTextOfARunIsEvaluated) {
  const auto tame = expressions_of(charts::all(synthetic_run()), synthetic_run());
  auto run = synthetic_hostile_run();
  for (const auto& expression : expressions_of(charts::all(run), run))
    EXPECT_TRUE(tame.count(expression) > 0) << "an expression that only this run has: " << expression;
  const auto several = join({{"<script>'\"+alert(1)", run}, {"\x1b[31m\u202e</script>", run}});
  const auto calm = two_runs();
  const auto known = expressions_of(charts::overlays(calm), calm);
  for (const auto& expression : expressions_of(charts::overlays(several), several))
    EXPECT_TRUE(known.count(expression) > 0) << expression;
}

TEST(Hostile, LabelsOfRunsStayTextInThePage) {
  const auto run = synthetic_hostile_run();
  const auto page =
      html(join({{"</script><script>alert(1)</script>", run}, {"\x1b[31m\u202e<img src=x onerror=alert(1)>", run}}));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("\u202e"), std::string::npos);
}

TEST(Hostile, SpecificationsHoldNoControlCharacters) {
  const auto run = synthetic_hostile_run();
  for (const auto& chart : charts::all(run)) {
    const auto text = picture(run, "x.vl.json", {chart.id, {}});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << chart.id;
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << chart.id;
    EXPECT_EQ(text.find("\\u001b"), std::string::npos) << chart.id;
  }
}

// Drawing: with vl-convert, where it is there.

class Drawing : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      check_can_draw();
    } catch (const PictureError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(Drawing, EachFormatIsWhatItSays) {
  const auto run = synthetic_run();
  EXPECT_EQ(picture(run, "a.png", parse_chart("map")).substr(1, 3), "PNG");
  EXPECT_EQ(picture(run, "a.pdf", parse_chart("time")).substr(0, 5), "%PDF-");
  const auto svg = picture(run, "a.svg", parse_chart("roofline"));
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  for (const auto* text : {"Roofline", "Synthetic GPU", "arithmetic intensity", "FLOP/s", "overhead"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST_F(Drawing, EveryChartIsDrawn) {
  const auto several = two_runs();
  auto list = charts::all(several.merged);
  list.push_back(charts::samples_chart());
  for (auto& chart : charts::overlays(several)) list.push_back(std::move(chart));
  for (const auto& chart : list) {
    const auto svg = picture(several, "a.svg", {chart.id, {}});
    EXPECT_THAT(svg, HasSubstr("role=\"graphics-symbol\"")) << chart.id;
    EXPECT_THAT(svg, Not(HasSubstr("NaN"))) << chart.id;
  }
}

TEST_F(Drawing, HostileTextIsTextInAnSvg) {
  const auto run = synthetic_hostile_run();
  for (const auto* chart : {"roofline", "map", "time", "shares", "overview"}) {
    const auto svg = picture(run, "a.svg", parse_chart(chart));
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << chart;
    EXPECT_THAT(svg, Not(HasSubstr("<img"))) << chart;
    EXPECT_EQ(svg.find('\x1b'), std::string::npos) << chart;
  }
}

TEST_F(Drawing, FlameGraphsAndTheirDiffs) {
  Sample sample;
  sample.slice(timeline::SliceKind::range, sample.ranges, 0, 900, "step </text><script>");
  sample.kernel(10, 20, 30, 530, "gemm<float>");
  const auto graph = timeline::flame(sample.sorted());
  const AboutTrace about = {"train.json.gz", "0", {}};
  for (const std::string& picture : {flame_picture(graph, timeline::FlameWeight::gpu, about),
                                     flame_picture(timeline::diff(graph, graph, timeline::FlameWeight::gpu), about)}) {
    const std::string svg = draw(picture, "svg");
    EXPECT_THAT(svg, HasSubstr("train.json.gz"));
    EXPECT_THAT(svg, HasSubstr("gemm&lt;float&gt;"));
    EXPECT_THAT(svg, HasSubstr("500 ns"));
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(Drawing, SaysWhereTheAddressSpaceIsTooSmall) {
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit small = before;
  small.rlim_cur = rlim_t{4} << 30U;
  setrlimit(RLIMIT_AS, &small);
  const auto message = message_of<std::exception>([] { (void)draw("{}", "svg"); });
  setrlimit(RLIMIT_AS, &before);
  EXPECT_THAT(message, HasSubstr("4 GiB (ulimit -v)"));
}
#endif

TEST_F(Drawing, WhatIsNoSpecificationIsRefused) {
  EXPECT_THAT(message_of<std::exception>([] { (void)draw("not JSON", "svg"); }), HasSubstr("drew nothing: "));
}

TEST(DrawingWithoutPackage, SaysWhatToInstall) {
  setenv("GPUBENCH_PYTHON", "/nonexistent/python", 1);
  const auto message = message_of<std::exception>([] { check_can_draw(); });
  unsetenv("GPUBENCH_PYTHON");
  EXPECT_THAT(message, HasSubstr("vl-convert is missing (tried /nonexistent/python)"));
  EXPECT_THAT(message, HasSubstr("pip install vl-convert-python"));
}

}  // namespace
}  // namespace gpubench::reports
