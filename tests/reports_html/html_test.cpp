// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "reports/charts/charts.h"
#include "reports/html/markup.h"
#include "reports/html/page.h"
#include "reports/reports.h"
#include "tests/matchers.h"
#include "tests/reports_html/synthetic_run.h"

namespace gpubench::reports {
namespace {

using nlohmann::json;

std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const auto from = text.find(open);
  if (from == std::string::npos) return {};
  const auto begin = from + open.size();
  return text.substr(begin, text.find(close, begin) - begin);
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

json data_of(const std::string& page) {
  return json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

/// The page without its own scripts, style and data: what the run put into markup.
std::string markup_of(const std::string& page) {
  std::string rest;
  std::size_t at = 0;
  while (at < page.size()) {
    const auto script = page.find("<script", at);
    rest += page.substr(at, script - at);
    if (script == std::string::npos) break;
    const auto end = page.find("</script>", script);
    if (end == std::string::npos) break;
    at = end + 9;
  }
  return rest;
}

TEST(Html, EscapesTextAndAttributes) {
  EXPECT_EQ(markup::escape("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
}

TEST(Html, JsonInAScriptHoldsNothingThatEndsIt) {
  const auto text = markup::script_json({{"name", "</script><!--&\u2028\u2029\xff"}});
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_EQ(json::parse(text)["name"], "</script><!--&\u2028\u2029\ufffd");
}

TEST(Html, FillsEachNameOnceAndRejectsUnknownOnes) {
  EXPECT_EQ(markup::fill("a {{x}} b {{&y}} c", {{"x", "{{y}}<"}, {"y", "<2"}}), "a {{y}}&lt; b <2 c");
  EXPECT_EQ(markup::fill("{{#list}}[{{.}}]{{/list}}{{^none}}no{{/none}}{{#set}}{{x}}{{/set}}",
                         {{"list", {1, 2}}, {"set", {{"x", "in"}}}, {"x", "out"}}),
            "[1][2]noin");
  EXPECT_EQ(
      markup::fill("{{^list}}none{{/list}}{{#off}}off{{/off}}", {{"list", nlohmann::json::array()}, {"off", false}}),
      "none");
  EXPECT_THROW(markup::fill("{{z}}", {}), std::logic_error);
  EXPECT_THROW(markup::fill("{{z", {}), std::logic_error);
}

TEST(Html, TableHasCaptionHeadingsAndEscapedCells) {
  const auto html = markup::render({"Caption <1>", {{"name"}, {"value", true}}, {{"<a>", "1"}}});
  EXPECT_THAT(html, HasSubstr("<caption>Caption &lt;1&gt;</caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">&lt;a&gt;</th><td class=\"number\" data-title=\"value\">1</td>"));
  EXPECT_EQ(markup::render({"Caption", {{"name"}}, {}}), "");
}

TEST(Html, HoldsEverySectionAndEveryPoint) {
  const auto run = synthetic_run();
  const auto page = html(run);
  for (const auto* id : {"charts", "operation", "points", "calibration", "boundaries", "environment", "chart-roofline",
                         "chart-strip", "chart-map", "chart-overview", "chart-time", "chart-rate", "chart-shares",
                         "chart-ladder", "chart-latency", "chart-intensity"})
    EXPECT_EQ(occurrences(markup_of(page), std::string("id=\"") + id + "\""), 1u) << id;
  for (const auto& ceiling : run.calibrations[0].ceilings)
    EXPECT_THAT(page, HasSubstr("<th scope=\"row\">" + ceiling.resource + "</th>"));
  EXPECT_THAT(page, HasSubstr("cuBLASLt found no algorithm for these types"));
  EXPECT_THAT(page, HasSubstr("4 samples were dropped."));
  EXPECT_THAT(page, HasSubstr("wanted 200 GiB"));
  EXPECT_THAT(page, HasSubstr("<noscript>"));
  const auto data = data_of(page);
  EXPECT_EQ(data["points"]["count"], run.points.size());
  EXPECT_EQ(data["points"]["columns"]["name"].size(), run.points.size());
  EXPECT_EQ(data["specs"].size(), 11u) << "ten charts, and that of a point's samples";
}

TEST(Html, TimesOfThePageAreThoseOfTheRun) {
  const auto run = synthetic_run();
  const auto column = data_of(html(run))["points"]["columns"]["seconds"];
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const auto& seconds = run.points[i].measurement.seconds();
    if (seconds)
      EXPECT_NEAR(column[i].get<double>() / seconds->median, 1.0, 1e-5);
    else
      EXPECT_TRUE(i >= column.size() || column[i].is_null()) << "a failed point has no time";
  }
}

TEST(Html, IsSelfContainedAndSmall) {
  const auto page = html(synthetic_run());
  EXPECT_LT(page.size() - between(page, "id=\"data\">", "</script>").size(), 600'000u);
  if (page::vega().text.empty()) {
    EXPECT_EQ(occurrences(page, "<script src=\"https://cdn.jsdelivr.net/npm/vega"), 3u);
    EXPECT_EQ(occurrences(page, " integrity=\"sha384-"), 3u);
  } else {
    EXPECT_THAT(page, Not(HasSubstr("<script src=")));
  }
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

TEST(Html, PolicyNamesEveryScriptOfThePage) {
  const auto page = html(synthetic_run());
  const auto policy = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe-eval")));
  EXPECT_THAT(between(policy, "script-src", ";"), Not(HasSubstr("unsafe-inline")));
  const auto packed = page::vega().text.empty() ? 0u : 1u;  // the library comes out of the page's own data
  EXPECT_EQ(occurrences(policy, "'sha256-"), 4u + 2u * packed);
  EXPECT_EQ(occurrences(page, "<script>"), 4u + packed);
}

TEST(Html, HostileTextStaysText) {
  const auto page = html(synthetic_hostile_run());
  EXPECT_EQ(occurrences(page, "</script>"), occurrences(page, "<script>") + occurrences(page, "<script "))
      << "a script was ended early";
  const auto markup = markup_of(page);
  EXPECT_THAT(markup, Not(HasSubstr("<img")));
  EXPECT_THAT(markup, Not(HasSubstr("<!-- <script>")));
  EXPECT_THAT(markup, HasSubstr("&lt;img src=x onerror=&quot;"));
  const auto names = data_of(page)["points"]["texts"].dump();
  EXPECT_THAT(names, HasSubstr("</script><img src=x"));
}

TEST(Html, OddRunsMakeAPage) {
  EXPECT_THAT(html(gpubench::Run{}), HasSubstr("No device of this run was calibrated"));
  auto run = synthetic_run();
  run.calibrations.clear();
  for (auto& point : run.points) point.verdict.reset();
  EXPECT_THAT(html(run), HasSubstr("211 without a verdict"));
}

TEST(Html, ColoursOfTheStyleAreThoseOfTheCharts) {
  const std::string style(page::style());
  for (const bool dark : {false, true})
    for (const auto& color : charts::theme(dark)["range"]["category"])
      EXPECT_THAT(style, HasSubstr(color.get<std::string>()));
}

}  // namespace
}  // namespace gpubench::reports
