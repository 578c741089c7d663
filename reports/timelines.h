// SPDX-License-Identifier: Apache-2.0
// Timelines as pages and pictures, and the page of a folder.
#pragma once

#include <string>
#include <vector>

#include "core/model/run.h"
#include "core/model/table.h"
#include "timeline/timeline.h"
#include "timeline/views/flame.h"

namespace gpubench::reports {

struct AboutTrace {
  std::string title;  ///< "train.json.gz"
  std::string version;
  std::vector<std::string> warnings;
};

/// Self-contained pages. What they leave out for want of room is said on them. `tables` stand first.
std::string timeline_html(const timeline::Timeline& timeline, const AboutTrace& about,
                          const std::vector<ResultTable>& tables = {});
std::string flame_html(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about);
std::string flame_html(const timeline::FlameDiff& diff, const std::vector<ResultTable>& tables,
                       const AboutTrace& about);
/// What the work in a trace reaches of a GPU's ceilings, by its time; and what has no verdict, and why.
std::vector<ResultTable> verdict_tables(const WorkVerdicts& verdicts);
/// What an analysis says.
std::string tables_html(const std::vector<ResultTable>& tables, const AboutTrace& about);

/// The page of `gpubench serve`, which asks the server for the rest; and a page of lines as they are.
std::string folder_html(const std::string& folder, const std::string& version);
std::string text_html(const std::string& title, const std::string& lines, const std::string& version);

/// For papers: specifications that `draw` makes an SVG of.
std::string flame_picture(const timeline::FlameGraph& graph, timeline::FlameWeight weight, const AboutTrace& about);
std::string flame_picture(const timeline::FlameDiff& diff, const AboutTrace& about);

}  // namespace gpubench::reports
