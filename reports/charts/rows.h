// SPDX-License-Identifier: Apache-2.0
// From points to the rows that the charts and the page's table show.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/model/points.h"
#include "core/model/run.h"

namespace gpubench::reports::charts {

using Json = nlohmann::json;

/// To so many significant digits; null when not finite.
Json rounded(double value, int digits = 6);
void put(Json& row, const char* key, std::optional<double> value, int digits = 6);

/// How an operation was swept: its first argument that varies, else its first. The rest tell series apart.
struct SweepAxis {
  std::optional<std::size_t> axis;  ///< index of the argument; absent when there are no arguments
  std::string axis_name;            ///< "size" when it has no name
  std::vector<std::size_t> others;  ///< other arguments that vary
};
SweepAxis sweep_of(const Group& group);
/// The varying arguments beside the axis, as text; empty when there are none.
std::string series_of(const Measurement& measurement, const SweepAxis& sweep);

/// Working set of a point: its footprint, else its bytes; absent when none was declared.
std::optional<double> working_set(const Work& work);

/// A row a point, in the order of the run; `take` gets them one by one, for all of a long run take much memory.
/// Meanwhile the next are made: `finish` is called first, on several threads at once.
void each_point_row(const Run& run, const std::function<void(Json&)>& finish, const std::function<void(Json)>& take);
Json band_rows(const Run& run);
Json boundary_rows(const Run& run);

/// The memory ceiling that stands for DRAM: read, else triad, copy, write; null when there is none.
const Ceiling* dram_of(const Calibration& calibration);

/// The data sets of the calibrations: roofs, ceilings, ladder, levels, latencies, intensities (charts.h tells of each).
Json calibration_sets(const Run& run);

/// The most samples of a point that a page carries; the run's own file has them all.
inline constexpr std::size_t max_packed_samples = 512;

/// By a point's place in the run: [least, most, samples in all, sizes of blocks, text], in seconds. Points without
/// samples have no entry. The text is base64 of little-endian 16-bit numbers, 0 for the least and 65535 for the most.
Json packed_samples(const Run& run);

/// Data sets of the chart of samples for one point: samples, summary, blocks.
Json sample_sets(const Measurement& measurement);

}  // namespace gpubench::reports::charts
