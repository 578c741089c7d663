// SPDX-License-Identifier: Apache-2.0
// One chart as a file: PNG, SVG, PDF, or the Vega-Lite specification alone. All from the specification that the page
// draws.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/model/run.h"
#include "reports/charts/charts.h"
#include "reports/overlaid_runs.h"

namespace gpubench::reports {

/// A chart that does not exist, or one that the run has nothing for; what() is one sentence with what there is.
struct NoSuchChart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// ".png .svg .pdf .vl.json", which hold one chart; of the first three vl-convert has to draw.
bool is_picture(const std::filesystem::path& file);
bool needs_renderer(const std::filesystem::path& file);

/// Which chart, of what.
struct PictureChoice {
  std::string chart;
  charts::Choice of;
};

/// "NAME[:WHICH][@DEVICE]": a chart, an operation (of `samples` a point), a device's id. Throws NoSuchChart.
PictureChoice parse_chart(std::string_view text);
/// The text if there is one; else the file's name has to hold the name of one chart as a word of its own:
/// "h200-roofline.svg". Throws NoSuchChart.
PictureChoice choice_of(const std::filesystem::path& file, std::string_view text);
/// "overview roofline map ...", for messages and help.
std::string known_charts();

/// The file's bytes. Throws NoSuchChart and DrawingError.
std::string picture(const Run& run, const std::filesystem::path& file, const PictureChoice& choice);
std::string picture(const Several& several, const std::filesystem::path& file, const PictureChoice& choice);

}  // namespace gpubench::reports
