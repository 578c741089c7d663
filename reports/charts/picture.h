// SPDX-License-Identifier: Apache-2.0
// One chart as a file, PNG, SVG, PDF or the Vega-Lite specification, from the specification that the page draws.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/model/run.h"
#include "reports/reports.h"

namespace gpubench::reports {

/// A chart that does not exist, has no data or was not drawn; what() says what there is, or what to do.
struct PictureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// ".png .svg .pdf .vl.json", which hold one chart; of the first three vl-convert has to draw.
bool is_picture(const std::filesystem::path& file);
bool needs_renderer(const std::filesystem::path& file);

namespace charts {
/// What a picture shows of a run. Empty: the first that there is.
struct Selection {
  std::string device;  ///< its id
  std::string line;    ///< an operation, with its series where it has several: "gemm" or "gemm  k=64"; or a point
};
}  // namespace charts

struct PictureChoice {
  std::string chart;
  charts::Selection of;
};

/// "NAME[:WHICH][@DEVICE]": a chart, an operation (of `samples` a point), a device's id. Throws PictureError.
PictureChoice parse_chart(std::string_view text);
/// The text; without one the file's name must hold one chart as a word: "h200-roofline.svg". Throws PictureError.
PictureChoice choice_of(const std::filesystem::path& file, std::string_view text);
/// "overview roofline map ...", for messages and help.
std::string known_charts();

std::string picture(const Run& run, const std::filesystem::path& file, const PictureChoice& choice,
                    const PictureStyle& style = {});
std::string picture(const Several& several, const std::filesystem::path& file, const PictureChoice& choice,
                    const PictureStyle& style = {});

/// The bytes of a "png" (192 dots per inch, 300 of a width on paper), "svg" or "pdf". Starts a Python with vl_convert,
/// without a shell: that of GPUBENCH_PYTHON, of venv/ beside the program, or python3; ends it after two minutes. Throws
/// PictureError.
std::string draw(std::string_view specification, const std::string& format, double width_mm = 0.0);
/// A Vega-Lite specification as a page that draws it, for notebooks: without a network, where the program has the
/// bundle. Throws nlohmann::json::exception for what is no JSON.
std::string chart_html(std::string_view specification);
/// A table and a chart, in the look of all pages. `text` is JSON: title, summary, caption, columns (as `headings` reads
/// them; cells of * are verdicts), rows, chart (its caption), specification (Vega-Lite), notes. Throws
/// nlohmann::json::exception for what is none.
std::string leaderboard_html(std::string_view text, const std::string& version);

/// Throws PictureError unless such a Python can be started: to be asked before something long.
void check_can_draw();

}  // namespace gpubench::reports
