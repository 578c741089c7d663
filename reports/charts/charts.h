// SPDX-License-Identifier: Apache-2.0
// The charts of a run as Vega-Lite specifications, which name their data sets; `standalone` puts those in.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/model/run.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"

namespace gpubench::reports::charts {

using Json = nlohmann::json;

struct Chart {
  std::string id;           ///< "roofline": names the chart in the page and in file names
  std::string title;        ///< a few words
  std::string description;  ///< a sentence or two: what to see in it, also for who cannot see it
  /// What it shows: "device": all operations of one device; "operation": one operation on one device; "point": one
  /// point; "runs": all points of several runs; "runs-operation": one operation in several runs.
  std::string scope;
  Json spec;
};

/// All charts, in the order of the page; "samples" is not among them.
std::vector<Chart> all(const Run& run);
Chart samples_chart();  ///< of one point, on demand

/// Data sets by name. Numbers are rounded to six digits: the run's own file holds them in full.
///   points      one row a point, with everything known; `id` is its place in the run
///   roofs       lines of the roofline, two rows each
///   ceilings    memory ceilings of each device
///   bands       stretches of one regime along an operation's sizes; boundaries  where they meet
///   ladder      rungs of the working-set ladder; levels  its plateaus
///   latencies   points of the latency curve; latency_levels  the latency of each level
///   intensities points of the intensity sweep; intensity_roofs  memory and multiply-adds each alone
Json datasets(const Run& run);
/// The same in two parts: all sets but that of points, and its rows one by one.
Json datasets_beside_points(const Run& run);
void each_printable_row(const Run& run, const std::function<void(Json)>& take);

/// Vega-Lite's `config`: colours and shapes of regimes, fonts, lines, for light or dark paper.
Json theme(bool dark);
/// Likewise with fonts that a renderer without a browser has, and sizes for a page of paper.
Json paper_theme(bool dark);

/// The specification with its data sets and its theme inside, for paper and other tools.
/// Throws std::invalid_argument, one sentence, where the run has nothing of what is chosen or nothing to draw.
Json standalone(const Chart& chart, const Run& run, const Selection& choice = {}, const PictureStyle& style = {});

/// "rooflines", "changes" (of all points) and "times" (of one operation).
std::vector<Chart> overlays(const Several& several);

/// As `datasets` of the merged run, each row with its run's label as `run`; and `changes`, a row for each point of a
/// later run that the first has too: the ratio of the medians, and bounds from the far ends of both intervals.
Json datasets(const Several& several);

Json standalone(const Chart& chart, const Several& several, const Selection& choice = {},
                const PictureStyle& style = {});

}  // namespace gpubench::reports::charts
