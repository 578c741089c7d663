// SPDX-License-Identifier: Apache-2.0
// The HTML page: its files, its sections, and how text gets into it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"
#include "core/model/run.h"
#include "reports/export/tables.h"
#include "reports/reports.h"

namespace gpubench::reports {

// Embedded at build time (cmake/GpubenchVega.cmake). The hashes are those a Content-Security-Policy names.
namespace page {

std::string_view frame();  ///< the template
std::string_view style();
std::string_view look();  ///< the template of pages that are one picture
std::string_view script_page();
std::string_view script_page_hash();
std::string_view script_base();
std::string_view script_base_hash();
std::string_view script_table();
std::string_view script_table_hash();
std::string_view script_timeline();
std::string_view script_timeline_hash();
std::string_view script_program();
std::string_view script_program_hash();
std::string_view script_charts();
std::string_view script_charts_hash();
std::string_view script_trace();
std::string_view script_trace_hash();
std::string_view script_serve();
std::string_view script_serve_hash();
std::string_view script_flame();
std::string_view script_flame_hash();
std::string_view vega();  ///< empty when built without the bundle
std::string_view vega_hash();

/// The scripts that draw charts: the bundle, or links to pinned copies; and what lets a policy run them.
std::string vega_scripts();
std::string vega_sources();
/// Of a page whose scripts have these sources: none else run, whatever text the page brings. Vega sets styles inline.
std::string policy(const std::string& script_sources);

}  // namespace page

// Hostile text on its way into a page, and the few shapes of HTML that the report is made of.
namespace markup {

/// Safe as HTML text and inside a quoted attribute. Invalid UTF-8 and control characters become visible text.
std::string escape(std::string_view text);

/// JSON for a <script type="application/json">: ASCII alone, and no character that HTML or old JavaScript could take
/// for its own ('<', '>', '&', U+2028, U+2029 are written as \uXXXX). Invalid UTF-8 becomes U+FFFD.
std::string script_json(const nlohmann::json& value);

std::string script(std::string_view text);

struct CaptionedTable {
  std::string caption;
  std::vector<Heading> columns;
  std::vector<std::vector<std::string>> rows;  ///< raw text
};
/// A table that scrolls sideways on its own where the page is narrow. Empty when there are no rows.
std::string render(const CaptionedTable& table);

/// The template with each {{name}} replaced once, not looked at again. An unknown name is a std::logic_error.
std::string fill(std::string_view page, const std::map<std::string, std::string, std::less<>>& values);

}  // namespace markup

// The parts of the page that need no script.
namespace sections {

std::string title(const Run& run);  ///< plain text: devices and date
/// Plain text, one line: "204 points of 12 operations: 120 memory, ..., 2 failed".
std::string summary(const Run& run);
std::string devices(const Run& run);  ///< names in the header, with what identifies them
/// "gpubench 0.2.0"; of another program "train.py, gpubench 0.2.0".
std::string made_by(const Context& context);
std::string runs(const Several& several);  ///< the table of several runs: what each is
std::string comparison(const compare::Comparison& comparison);
std::string findings(const Run& run);  ///< what to fix first, with links to the points
std::string regimes(const Run& run);   ///< the bar of regimes with its figures
std::string notices(const Run& run);   ///< failures and warnings, near the top because they qualify all else
std::string boundaries(const Run& run);
std::string own(const Run& run);     ///< what operations say of their points; empty when they say nothing
std::string phases(const Run& run);  ///< of kernels that were traced; empty where none was
std::string checks(const Run& run);  ///< empty when none disagrees
/// Of a profiled program, with all but the timeline, which program.js draws from `overview_data`. Else empty.
std::string program(const Run& run);
nlohmann::json overview_data(const Program& program);
std::string calibrations(const Run& run);
std::string environment(const Run& run);

}  // namespace sections

}  // namespace gpubench::reports
