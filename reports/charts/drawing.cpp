// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/drawing.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/process.h"
#include "core/base/text.h"

namespace gpubench::reports {
namespace {

constexpr double max_seconds = 120.0;
constexpr int without_package = 93;  ///< the script's exit code
constexpr auto how_to_get_it =
    "to draw PNG, SVG and PDF: python3 -m venv venv && venv/bin/pip install vl-convert-python, then set "
    "GPUBENCH_PYTHON=venv/bin/python; or write .html or .vl.json, which need no drawing";

/// Nothing from the working folder is imported; nothing is fetched, for all data are in the specification.
constexpr auto script = R"python(
import sys
sys.path[:] = [path for path in sys.path if path]
try:
    import vl_convert
except ImportError:
    sys.exit(93)
if not any(version.startswith("6") for version in vl_convert.get_vegalite_versions()):
    sys.exit("vl-convert " + vl_convert.__version__ + " has no Vega-Lite 6: upgrade vl-convert-python")
kind = sys.argv[1]
if kind == "check":
    sys.exit(0)
spec = sys.stdin.buffer.read().decode()
try:
    if kind == "svg":
        picture = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()
    elif kind == "pdf":
        picture = vl_convert.vegalite_to_pdf(spec, allowed_base_urls=[])
    else:
        picture = vl_convert.vegalite_to_png(spec, scale=2, ppi=96, allowed_base_urls=[])
except Exception as error:
    sys.exit(str(error))
sys.stdout.buffer.write(picture)
)python";

struct Outcome {
  bool missing = false;  ///< no such Python, or it has no vl_convert
  std::string picture;
};

Outcome run_python(const std::string& python, const char* kind, std::string_view specification) {
  ProgramOptions options;
  options.max_seconds = max_seconds;
  options.input = specification;
  ProgramResult result;
  try {
    result = run_program({python, "-c", script, kind}, options);
  } catch (const std::system_error& error) {
    const int number = error.code().value();
    if (number == ENOENT || number == EACCES || number == ENOTDIR) return {true, {}};
    throw DrawingError(fmt::format("{}: {}", printable(python), error.what()));
  }
  if (result.timed_out)
    throw DrawingError(fmt::format("{} did not finish in {} s and was stopped; write .html or .vl.json",
                                   printable(python), max_seconds));
  if (result.end.exit_code == without_package || result.end.exit_code == 127) return {true, {}};
  if (!result.end.well()) {
    std::string reason = result.errors.substr(0, 600);
    while (reason.ends_with('\n')) reason.pop_back();
    throw DrawingError(fmt::format("vl-convert by {} drew nothing: {}", printable(python),
                                   reason.empty() ? "it gave no reason" : printable(reason)));
  }
  return {false, std::move(result.output)};
}

/// Those to try, in their order; an environment variable that is set is the only one.
std::vector<std::string> pythons() {
  const char* const chosen = std::getenv("GPUBENCH_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<std::string> list;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto own = program.parent_path() / "venv" / "bin" / "python";
  if (!error && std::filesystem::exists(own, error)) list.push_back(own.string());
  list.emplace_back("python3");
  return list;
}

std::string run_any(const char* kind, std::string_view specification) {
  std::string tried;
  for (const auto& python : pythons()) {
    auto outcome = run_python(python, kind, specification);
    if (!outcome.missing) return std::move(outcome.picture);
    tried += (tried.empty() ? "" : ", ") + printable(python);
  }
  throw DrawingError(fmt::format("vl-convert is missing (tried {}); {}", tried, how_to_get_it));
}

}  // namespace

std::string draw(std::string_view specification, PictureFormat format) {
  constexpr std::array kinds = {"png", "svg", "pdf"};
  auto picture = run_any(kinds[static_cast<std::size_t>(format)], specification);
  if (picture.empty()) throw DrawingError("vl-convert drew an empty picture; write .html or .vl.json");
  return picture;
}

void check_can_draw() { (void)run_any("check", ""); }

}  // namespace gpubench::reports
