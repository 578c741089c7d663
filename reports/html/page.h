// SPDX-License-Identifier: Apache-2.0
// The files that pages are made of, embedded at build time (cmake/GpubenchVega.cmake), and what they may run.
#pragma once

#include <string>
#include <string_view>

namespace gpubench::reports::page {

std::string_view frame();        ///< the template of a run's page
std::string_view look();         ///< of pages that are one picture
std::string_view parts();        ///< of parts of pages (markup.h)
std::string_view charts();       ///< charts/charts.json
std::string_view style_sheet();  ///< without the colours of regimes
std::string_view vega();         ///< empty when built without the bundle
std::string_view chart();        ///< of one chart, for notebooks
std::string_view script_page();
std::string_view script_base();
std::string_view script_table();
std::string_view script_timeline();
std::string_view script_program();
std::string_view script_charts();
std::string_view script_trace();
std::string_view script_serve();
std::string_view script_flame();

// As a Content-Security-Policy names them.
std::string_view vega_hash();
std::string_view script_page_hash();
std::string_view script_base_hash();
std::string_view script_table_hash();
std::string_view script_timeline_hash();
std::string_view script_program_hash();
std::string_view script_charts_hash();
std::string_view script_trace_hash();
std::string_view script_serve_hash();
std::string_view script_flame_hash();

/// The style sheet with the colours of regimes.
std::string style();
/// The scripts that draw charts: the bundle, or links to pinned copies; and what lets a policy run them.
std::string vega_scripts();
std::string vega_sources();
/// Of a page whose scripts have these sources: none else run, whatever text the page brings. Vega sets styles inline.
std::string policy(const std::string& script_sources);

}  // namespace gpubench::reports::page
