// SPDX-License-Identifier: Apache-2.0
// The charts of a run as Vega-Lite specifications. Drawing is the library's; here is only what to draw. A specification
// names the data sets it needs; `standalone` puts them in, for whoever wants the specification alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"
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

Json roofline();                ///< FLOP/s against FLOP/byte under the measured roofs; data sets points, roofs
Json map();                     ///< regimes and how sure they are, operations x sizes; data sets points, boundaries
Json overview(const Run& run);  ///< time, throughput, bandwidth and regime in four panels; data set points
Json samples();  ///< samples of one point in their order, and how often; data sets samples, summary, blocks
Json strip();    ///< achieved share of the ceiling, operations x sizes; data set points
Json time();     ///< time against size of one operation; data sets points, bands, boundaries
Json rate();     ///< bytes/s of one operation under the memory ceilings; data sets points, bands, ceilings
Json shares(const Run& run);  ///< what the time of one operation goes into; data set points
Json ladder();                ///< bandwidth against working set; data sets ladder, levels
Json latency();               ///< latency against working set; data sets latencies, latency_levels
Json intensity();             ///< speed against intensity as measured; data sets intensities, intensity_roofs

/// Data sets by name. Numbers are rounded to six digits: the run's own file holds them in full.
///   points      one row a point, with everything known; `id` is its place in the run
///   roofs       lines of the roofline, two rows each
///   ceilings    memory ceilings of each device
///   bands       stretches of one regime along an operation's sizes; boundaries  where they meet
///   ladder      rungs of the working-set ladder; levels  its plateaus
///   latencies   points of the latency curve; latency_levels  the latency of each level
///   intensities points of the intensity sweep; intensity_roofs  memory and multiply-adds each alone
Json datasets(const Run& run);

/// Vega-Lite's `config`: colours and shapes of regimes, fonts, lines, for light or dark paper.
Json theme(bool dark);

/// What a picture shows of a run. Empty: the first that there is.
struct Selection {
  std::string device;  ///< its id
  std::string line;    ///< an operation, with its series where it has several: "gemm" or "gemm  k=64"; or a point
};

/// The specification with its data sets and the light theme inside, of a width of its own, for paper and other tools.
/// Throws std::invalid_argument, one sentence, where the run has nothing of what is chosen or nothing to draw.
Json standalone(const Chart& chart, const Run& run, const Selection& choice = {});

/// Colours of the regimes in the order of the enumeration; Okabe and Ito's palette (jfly.uni-koeln.de/color), the
/// orange darker and the blue lighter where the paper needs it.
std::vector<std::string> regime_colors(bool dark);

/// "rooflines", "changes" (of all points) and "times" (of one operation).
std::vector<Chart> overlays(const Several& several);

/// As `datasets` of the merged run, each row with its run's label as `run`; and `changes`, a row for each point of a
/// later run that the first has too: the ratio of the medians, and bounds from the far ends of both intervals.
Json datasets(const Several& several);

/// As `standalone` of one run.
Json standalone(const Chart& chart, const Several& several, const Selection& choice = {});

}  // namespace gpubench::reports::charts
