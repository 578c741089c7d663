// SPDX-License-Identifier: Apache-2.0
// Timelines as pages and pictures.
#pragma once

#include <string>
#include <vector>

#include "traces/flame.h"
#include "traces/timeline.h"

namespace gpubench::reports {

struct AboutTrace {
  std::string title;  ///< "train.json.gz"
  std::string version;
  std::vector<std::string> warnings;
};

/// Self-contained pages. What they leave out for want of room is said on them.
std::string timeline_html(const traces::Timeline& timeline, const AboutTrace& about);
std::string flame_html(const traces::FlameGraph& graph, traces::FlameWeight weight, const AboutTrace& about);
std::string flame_html(const traces::FlameDiff& diff, const AboutTrace& about);

/// For papers, drawn by vl-convert as pictures of charts are. Throws PictureError.
std::string flame_svg(const traces::FlameGraph& graph, traces::FlameWeight weight, const AboutTrace& about);
std::string flame_svg(const traces::FlameDiff& diff, const AboutTrace& about);

}  // namespace gpubench::reports
