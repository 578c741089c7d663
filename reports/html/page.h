// SPDX-License-Identifier: Apache-2.0
// The files that pages are made of, embedded at build time (cmake/GpubenchEmbed.cmake), and what they may run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::reports::page {

struct File {
  std::string_view text, hash;  ///< this as a Content-Security-Policy names it
};
File frame();        ///< the template of a run's page
File look();         ///< of pages that are one picture
File parts();        ///< of parts of pages (markup.h)
File charts();       ///< charts/charts.json
File style_sheet();  ///< without the colours of regimes
File vega();         ///< empty when built without the bundle
File chart();        ///< of one chart, for notebooks
File script_page();
File script_base();
File script_table();
File script_timeline();
File script_program();
File script_charts();
File script_trace();
File script_serve();
File script_flame();
File script_history();
File script_library();
File script_fleet();
File script_leaderboard();

/// The style sheet with the colours of regimes.
std::string style();

struct Scripts {
  std::string html, sources;  ///< the latter let a policy run them
};
Scripts scripts(const std::vector<File>& files);
/// Those that draw charts: the bundle, or links to pinned copies.
Scripts vega_scripts();
/// Up to the body. No scripts run but those of these sources, whatever text the page brings. Vega sets styles inline.
std::string head(const std::string& title, const std::string& version, const std::string& script_sources,
                 std::string_view further_policy = {});

/// What a page is about.
struct About {
  std::string title, version;
  std::vector<std::string> warnings;
};
/// A page that is one picture or a few tables.
struct LookPage {
  std::string summary, body;
  nlohmann::json data = nlohmann::json::array();  ///< what its scripts read: type, id and text
  std::vector<std::string> notices = {};
  std::vector<File> scripts = {};
  bool draws_charts = false;
  std::string_view further_policy = {};
};
std::string look_page(const About& about, LookPage page);
/// For `data`: JSON, where that is long compressed to a twelfth of the size, and bytes. Scripts unpack them by the id.
nlohmann::json json_data(nlohmann::json value, std::string_view id = "data");
nlohmann::json packed_data(std::string_view id, std::string_view bytes);

}  // namespace gpubench::reports::page
