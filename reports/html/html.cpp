// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/comparisons.h"
#include "reports/html/page.h"
#include "reports/reports.h"

namespace gpubench::reports::markup {
namespace {

using Replacements = std::vector<std::pair<char, std::string_view>>;

std::string replaced(std::string_view text, const Replacements& replacements) {
  std::string result;
  for (const char c : text) {
    const auto known = std::ranges::find(replacements, c, &Replacements::value_type::first);
    if (known == replacements.end())
      result += c;
    else
      result += known->second;
  }
  return result;
}

}  // namespace

std::string escape(std::string_view text) {
  return replaced(printable(text), {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string script_json(const nlohmann::json& value) {
  // ensure_ascii turns U+2028 and U+2029 into escapes; the three characters left stand only inside strings.
  return replaced(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                  {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string render(const CaptionedTable& table) {
  if (table.rows.empty()) return {};
  const auto caption = escape(table.caption);
  std::string html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + caption +
                     "\"><table><caption>" + caption + "</caption><thead><tr>";
  for (const auto& column : table.columns)
    html +=
        std::string("<th scope=\"col\"") + (column.right ? " class=\"number\">" : ">") + escape(column.title) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool numeric = i < table.columns.size() && table.columns[i].right;
      const std::string open = i == 0 ? "<th scope=\"row\"" : numeric ? "<td class=\"number\"" : "<td";
      html += open + ">" + escape(row[i]) + (i == 0 ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string script(std::string_view text) { return "<script>" + std::string(text) + "</script>\n"; }

std::string fill(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
  std::string html;
  while (true) {
    const auto open = page.find("{{");
    html += page.substr(0, open);
    if (open == std::string_view::npos) return html;
    const auto close = page.find("}}", open);
    if (close == std::string_view::npos) throw std::logic_error("the page's template has {{ without }}");
    const auto name = page.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    if (value == values.end()) throw std::logic_error("the page's template asks for " + std::string(name));
    html += value->second;
    page.remove_prefix(close + 2);
  }
}

}  // namespace gpubench::reports::markup

namespace gpubench::reports::page {
namespace {

// Without the bundle. SHA-384 of the files that the wheel panel 1.9.4 (PyPI) took from these addresses.
constexpr std::array remote_scripts = {
    std::pair{"https://cdn.jsdelivr.net/npm/vega@6.1.2",
              "sha384-3Zeq0Gb8jqDivp2a+zwPu5uJJZV+yM0iuorzVFGDPuzChE4tO/3/TecDON0JtQEl"},
    std::pair{"https://cdn.jsdelivr.net/npm/vega-lite@6.3.0",
              "sha384-XvyB+gziheLKBtEFV41cTEJKMS0HanHcNPRSOEbYq1CvA5e5aYa1aPNc4hK5lTvU"},
    std::pair{"https://cdn.jsdelivr.net/npm/vega-embed@7.0.2",
              "sha384-MsH1NE1KRDpmMJCcJ8Ulqhadgiz4lT0GIaHN7DKB1POKAoBhSWywPDQ2sJDkP8M7"}};

}  // namespace

std::string vega_scripts() {
  if (!vega().empty()) return markup::script(vega());
  std::string html;
  for (const auto& [url, integrity] : remote_scripts)
    html += fmt::format("<script src=\"{}\" integrity=\"{}\" crossorigin=\"anonymous\"></script>\n", url, integrity);
  return html;
}

std::string vega_sources() {
  if (!vega().empty()) return fmt::format(" '{}'", vega_hash());
  std::string list;
  for (const auto& [url, integrity] : remote_scripts) list += fmt::format(" {}", url);
  return list;
}

std::string policy(const std::string& script_sources) {
  return fmt::format(
      "default-src 'none'; script-src{}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action "
      "'none'",
      script_sources);
}

}  // namespace gpubench::reports::page

namespace gpubench::reports {
namespace {

/// The sources of the report's scripts.
std::string sources(bool of_program) {
  std::string list;
  for (const auto hash : {page::script_page_hash(), page::script_base_hash(), page::script_table_hash(),
                          of_program ? page::script_timeline_hash() : std::string_view(),
                          of_program ? page::script_program_hash() : std::string_view(), page::script_charts_hash()})
    if (!hash.empty()) list += fmt::format(" '{}'", hash);
  return list + page::vega_sources();
}

std::string figure(const charts::Chart& chart) {
  const auto title = markup::escape(chart.title);
  return fmt::format(
      "<figure class=\"card chart\" id=\"chart-{0}\" data-scope=\"{1}\"><figcaption><h3>{2}</h3><p>{3}</p></figcaption>"
      "<div class=\"canvas\" role=\"img\" aria-label=\"{2}. {3}\"></div></figure>\n",
      chart.id, chart.scope, title, markup::escape(chart.description));
}

/// Rows as columns, each text once: a third of the size, and faster to read.
class Columns {
 public:
  void add(const charts::Json& row) {
    for (const auto& [key, value] : row.get_ref<const charts::Json::object_t&>()) {
      auto& column = columns_[key];
      column.resize(count_);
      if (!value.is_string()) {
        column.push_back(value);
        continue;
      }
      const auto [place, is_new] = places_.emplace(value.get_ref<const std::string&>(), places_.size());
      if (is_new) texts_.push_back(value);
      column.push_back(charts::Json::array({place->second}));  // in brackets: a text by number, not a number
    }
    ++count_;
  }
  charts::Json take() { return {{"count", count_}, {"columns", std::move(columns_)}, {"texts", std::move(texts_)}}; }

 private:
  std::size_t count_ = 0;
  std::map<std::string, charts::Json::array_t, std::less<>> columns_;
  charts::Json texts_ = charts::Json::array();
  std::unordered_map<std::string, std::size_t> places_;
};

/// As JSON; where that is long as compressed JSON, which base.js unpacks: a twelfth of the size.
std::string data_script(const charts::Json& data) {
  constexpr std::size_t long_text = std::size_t{1} << 20;
  const std::string text = markup::script_json(data);
  if (text.size() < long_text) return "<script type=\"application/json\" id=\"data\">" + text + "</script>";
  return "<script type=\"application/gzip\" id=\"data\">" + base64(storage::compressed(text)) + "</script>";
}

charts::Json data_of(const Run& run, const std::vector<charts::Chart>& list, charts::Json datasets, Columns points) {
  auto specs = charts::Json::object();
  specs["samples"] = charts::samples_chart().spec;
  for (const auto& chart : list) specs[chart.id] = chart.spec;
  auto devices = charts::Json::array();
  for (const auto& device : run.devices)
    devices.push_back({{"id", printable(device.id)}, {"name", printable(device.name)}});
  charts::Json data = {
      {"datasets", std::move(datasets)}, {"points", points.take()},
      {"specs", std::move(specs)},       {"themes", {{"light", charts::theme(false)}, {"dark", charts::theme(true)}}},
      {"devices", std::move(devices)},   {"embedded", !page::vega().empty()}};
  if (run.program) data["program"] = sections::overview_data(*run.program);
  return data;
}

std::string meta_of(const Context& context) {
  return fmt::format("<p class=\"meta\"><span>{}</span><span>{}</span><span>{}</span></p>",
                     markup::escape(context.created_utc), markup::escape(context.host),
                     markup::escape(sections::made_by(context)));
}

std::string environments(const Several& several) {
  std::string html;
  for (std::size_t i = 0; i < several.labels.size(); ++i) {
    Run own;
    own.context = several.contexts[i];
    own.devices = several.devices[i];
    html += "<h3 class=\"of-run\">" + markup::escape(several.labels[i]) + "</h3>\n" + sections::environment(own);
  }
  return html;
}

/// `several` is null for the page of one run.
std::string page_of(const Run& run, const std::vector<charts::Chart>& list, charts::Json datasets, Columns points,
                    const Several* several, const std::string& comparison = {}) {
  std::string device_charts;
  std::string operation_charts;
  std::string ladder;
  std::string overlays;
  for (const auto& chart : list) {
    const bool of_calibration = chart.id == "ladder" || chart.id == "latency" || chart.id == "intensity";
    auto& place = of_calibration                    ? ladder
                  : chart.scope == "operation"      ? operation_charts
                  : chart.scope == "runs"           ? overlays
                  : chart.scope.starts_with("runs") ? operation_charts
                                                    : device_charts;
    place += figure(chart);
  }
  const bool one = several == nullptr;
  return markup::fill(
      page::frame(),
      {{"policy", page::policy(sources(run.program.has_value()))},
       {"style", std::string(page::style())},
       {"title", markup::escape(sections::title(run))},
       {"devices", sections::devices(run)},
       {"meta", one ? meta_of(run.context) : ""},
       {"version", markup::escape(run.context.gpubench_version)},
       {"summary", markup::escape(sections::summary(run))},
       {"findings", sections::findings(run)},
       {"regimes", sections::regimes(run)},
       {"notices", sections::notices(run)},
       {"comparison", comparison},
       {"navigation", !comparison.empty() ? "<a href=\"#comparison\">Comparison</a><a href=\"#runs\">Runs</a>"
                      : !one              ? "<a href=\"#runs\">Runs</a>"
                      : run.program       ? "<a href=\"#program\">Program</a>"
                                          : ""},
       {"program", sections::program(run)},
       {"runs", one ? ""
                    : "<section id=\"runs\" aria-labelledby=\"runs-title\">\n<h2 id=\"runs-title\">The runs "
                      "together</h2>\n" +
                          sections::runs(*several) + overlays + "</section>\n"},
       {"device_charts", device_charts},
       {"operation_charts", operation_charts},
       {"ladder", ladder},
       {"boundaries", sections::phases(run) + sections::boundaries(run) + sections::own(run) + sections::checks(run)},
       {"calibrations", sections::calibrations(run)},
       {"environment", one ? sections::environment(run) : environments(*several)},
       {"data", data_script(data_of(run, list, std::move(datasets), std::move(points)))},
       {"samples", markup::script_json(charts::packed_samples(run))},
       {"script_base", markup::script(page::script_page()) + markup::script(page::script_base())},
       {"script_table", markup::script(page::script_table())},
       {"script_program",
        run.program ? markup::script(page::script_timeline()) + markup::script(page::script_program()) : ""},
       {"script_charts", markup::script(page::script_charts())},
       {"script_vega", page::vega_scripts()}});
}

}  // namespace

std::string html(const Run& run) {
  Columns points;
  charts::each_printable_row(run, [&](const charts::Json& row) { points.add(row); });
  return page_of(run, charts::all(run), charts::datasets_beside_points(run), std::move(points), nullptr);
}

static std::string html_of(const Several& several, const std::string& comparison) {
  auto list = charts::all(several.merged);
  for (auto& chart : charts::overlays(several)) list.push_back(std::move(chart));
  auto sets = charts::datasets(several);
  Columns points;
  for (const auto& row : sets["points"]) points.add(row);
  sets.erase("points");
  return page_of(several.merged, list, std::move(sets), std::move(points), &several, comparison);
}

std::string html(const Several& several) { return html_of(several, {}); }

std::string html(const compare::Comparison& comparison, const Several& several) {
  return html_of(several, sections::comparison(comparison));
}

}  // namespace gpubench::reports
