// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/base/base64.h"
#include "core/base/parallel.h"
#include "core/storage/storage.h"
#include "reports/html/markup.h"
#include "reports/regimes.h"

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

std::string style() {
  std::string light, dark, rules;
  for (std::size_t i = 0; i < regime_names.size(); ++i) {
    light += fmt::format("--{}:{};", regime_names[i], regime_looks[i].light);
    dark += fmt::format("--{}:{};", regime_names[i], regime_looks[i].dark);
    rules += fmt::format(".sign.{0}{{fill:var(--{0})}}.meter .{0},.bg-{0}{{background:var(--{0})}}\n", regime_names[i]);
  }
  return fmt::format(":root{{{0}}}:root[data-theme=dark]{{{1}}}@media print{{:root[data-theme=dark]{{{0}}}}}\n{2}{3}",
                     light, dark, rules, style_sheet().text);
}

Scripts scripts(const std::vector<File>& files) {
  Scripts made;
  for (const File& file : files) {
    made.html += markup::script(file.text);
    made.sources += fmt::format(" '{}'", file.hash);
  }
  return made;
}

Scripts vega_scripts() {
  Scripts made;
  if (!vega().text.empty()) {
    static const std::string packed = base64(storage::compressed(vega().text));
    made = scripts({script_library()});
    return {fmt::format("<script type=\"application/gzip\" id=\"library\">{}</script>\n{}", packed, made.html),
            fmt::format("{} '{}'", made.sources, vega().hash)};
  }
  for (const auto& [url, integrity] : remote_scripts) {
    made.html +=
        fmt::format("<script src=\"{}\" integrity=\"{}\" crossorigin=\"anonymous\"></script>\n", url, integrity);
    made.sources += fmt::format(" {}", url);
  }
  return made;
}

std::string head(const std::string& title, const std::string& version, const std::string& script_sources,
                 std::string_view further_policy) {
  const std::string policy = fmt::format(
      "default-src 'none'; script-src{}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action "
      "'none'{}",
      script_sources, further_policy);
  return markup::part("head", {{"policy", policy}, {"version", version}, {"title", title}, {"style", style()}});
}

std::string look_page(const About& about, LookPage page) {
  page.scripts.insert(page.scripts.begin(), script_page());
  auto [html, sources] = scripts(page.scripts);
  if (page.draws_charts) {
    const auto vega = vega_scripts();
    html = vega.html + html;
    sources += vega.sources;
  }
  auto notices = nlohmann::json::array();
  for (const std::string& notice : page.notices) notices.push_back({{"look", ""}, {"text", notice}});
  for (const std::string& warning : about.warnings) notices.push_back({{"look", "warn"}, {"text", warning}});
  return markup::fill(look().text, {{"head", head(about.title, about.version, sources, page.further_policy)},
                                    {"title", about.title},
                                    {"version", about.version},
                                    {"summary", page.summary},
                                    {"notices", std::move(notices)},
                                    {"body", page.body},
                                    {"charts", page.draws_charts},
                                    {"data", std::move(page.data)},
                                    {"scripts", html}});
}

nlohmann::json json_data(nlohmann::json value, std::string_view id) {
  constexpr std::size_t long_text = std::size_t{1} << 20;
  std::string text = markup::script_json(value);
  if (text.size() < long_text) return {{"type", "application/json"}, {"id", id}, {"text", std::move(text)}};
  nlohmann::json packed;
  for_each_in_parallel(2, 1, [&](std::size_t i) {
    if (i == 0)
      packed = packed_data(id, text);
    else
      value = nullptr;  // to take down millions of values takes as long
  });
  return packed;
}

nlohmann::json packed_data(std::string_view id, std::string_view bytes) {
  return {{"type", "application/gzip"}, {"id", id}, {"text", base64(storage::compressed(bytes))}};
}

}  // namespace gpubench::reports::page
