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
#include "reports/reports.h"

namespace gpubench::reports {

/// A chart that does not exist, that the run has nothing for, or that vl-convert did not draw; what() is one sentence
/// with what there is, or what to do.
struct PictureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// ".png .svg .pdf .vl.json", which hold one chart; of the first three vl-convert has to draw.
bool is_picture(const std::filesystem::path& file);
bool needs_renderer(const std::filesystem::path& file);

/// Which chart, of what.
struct PictureChoice {
  std::string chart;
  charts::Selection of;
};

/// "NAME[:WHICH][@DEVICE]": a chart, an operation (of `samples` a point), a device's id. Throws PictureError.
PictureChoice parse_chart(std::string_view text);
/// The text if there is one; else the file's name has to hold the name of one chart as a word of its own:
/// "h200-roofline.svg". Throws PictureError.
PictureChoice choice_of(const std::filesystem::path& file, std::string_view text);
/// "overview roofline map ...", for messages and help.
std::string known_charts();

/// The file's bytes. Throws PictureError.
std::string picture(const Run& run, const std::filesystem::path& file, const PictureChoice& choice);
std::string picture(const Several& several, const std::filesystem::path& file, const PictureChoice& choice);

/// The bytes of a "png", "svg" or "pdf": PNG at 192 dots per inch, SVG and PDF with their text as text. Starts a Python
/// that has vl_convert, without a shell: that of GPUBENCH_PYTHON (environment), else that of venv/ beside the program,
/// as in the build folder, else python3. Ends it after two minutes. Throws PictureError.
std::string draw(std::string_view specification, const std::string& format);

/// Throws PictureError unless such a Python can be started: to be asked before something long.
void check_can_draw();

}  // namespace gpubench::reports
