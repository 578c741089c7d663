// SPDX-License-Identifier: Apache-2.0
// Specifications of charts drawn without a browser, by vl-convert (Vega-Lite's own renderer, a Python package).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace gpubench::reports {

enum class PictureFormat { png, svg, pdf };

/// vl-convert is not there, or did not draw; what() is one sentence that says what to do.
struct DrawingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The picture's bytes: PNG at 192 dots per inch, SVG and PDF with their text as text. Starts a Python that has
/// vl_convert, without a shell: that of GPUBENCH_PYTHON (environment), else that of venv/ beside the program, as in
/// the build folder, else python3. Ends it after two minutes. Throws DrawingError.
std::string draw(std::string_view specification, PictureFormat format);

/// Throws DrawingError unless such a Python can be started: to be asked before something long.
void check_can_draw();

}  // namespace gpubench::reports
