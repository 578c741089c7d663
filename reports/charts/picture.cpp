// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/picture.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/environment.h"
#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "reports/charts/charts.h"
#include "reports/charts/labels.h"

namespace gpubench::reports {
namespace {

const std::vector<std::string> names_of_several = {"rooflines", "times", "changes"};
const std::vector<std::string> all_names = {"overview", "roofline",  "map",       "strip",   "time",
                                            "rate",     "shares",    "kernels",   "samples", "ladder",
                                            "latency",  "intensity", "rooflines", "times",   "changes"};

std::string file_name(const std::filesystem::path& file) { return lower(file.filename().string()); }

/// Words of letters: "h200-roofline.svg" has "h", "roofline" and "svg".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c >= 'a' && c <= 'z')
      words.back() += c;
    else
      words.emplace_back();
  return words;
}

/// Paper shows none, and an SVG would spell each out as a description of its mark.
void drop_tooltips(charts::Json& value) {
  if (value.is_object()) value.erase("tooltip");
  if (value.is_structured())
    for (auto& [key, element] : value.items())
      if (key != "datasets") drop_tooltips(element);
}

constexpr double max_seconds = 120.0;
constexpr int without_package = 93;  ///< the script's exit code
constexpr auto how_to_get_it =
    "to draw PNG, SVG and PDF: python3 -m venv venv && venv/bin/pip install vl-convert-python, then set "
    "GPUBENCH_PYTHON=venv/bin/python; or write .html or .vl.json, which need no drawing";

/// Nothing from the working folder is imported; nothing is fetched, for all data are in the specification.
constexpr auto script = R"python(
import sys
sys.path[:] = [path for path in sys.path if path]
import re
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
options = {"scale": 2, "ppi": 96} if kind == "png" else {}
try:
    language = "vega_to_" if '"https://vega.github.io/schema/vega/' in spec[:200] else "vegalite_to_"
    def drawn(kind, **options):
        return getattr(vl_convert, language + kind)(spec, allowed_base_urls=[], **options)
    width_mm = float(sys.argv[2])
    if kind == "scene":
        import json
        picture = json.dumps(drawn("scenegraph")).encode()
    elif width_mm == 0:
        picture = drawn(kind, **options)
    else:
        picture = drawn("svg")
        size = re.search(r'(<svg[^>]*?) width="([0-9.]+)" height="([0-9.]+)"', picture)
        mm = width_mm / float(size[2])  # a pixel of the drawing
        def sized(unit, of_mm):
            sides = tuple(float(size[side]) * mm * of_mm for side in (2, 3))
            return picture[:size.start()] + size[1] + f' width="%g{unit}" height="%g{unit}"' % sides + picture[size.end():]
        if kind == "svg":
            picture = sized("mm", 1)
        elif kind == "pdf":  # in points
            picture = vl_convert.svg_to_pdf(sized("", 72 / 25.4))
        else:
            picture = drawn(kind, scale=mm / 25.4 * 72, ppi=300)  # which takes a pixel for 1/72 inch
except Exception as error:
    sys.exit(str(error))
sys.stdout.buffer.write(picture.encode() if kind == "svg" else picture)
)python";

/// The picture; absent without such a Python, or where it has no vl_convert.
std::optional<std::string> run_python(const std::string& python, const std::string& kind,
                                      std::string_view specification, double width_mm) {
  ProgramOptions options;
  options.max_seconds = max_seconds;
  options.input = specification;
  ProgramResult result;
  try {
    result = run_program({python, "-c", script, kind, fmt::format("{}", width_mm)}, options);
  } catch (const std::system_error& error) {
    const int number = error.code().value();
    if (number == ENOENT || number == EACCES || number == ENOTDIR) return std::nullopt;
    throw PictureError(fmt::format("{}: {}", printable(python), error.what()));
  }
  if (result.timed_out)
    throw PictureError(fmt::format("{} did not finish in {} s and was stopped; write .html or .vl.json",
                                   printable(python), max_seconds));
  if (result.end.exit_code == without_package || result.end.exit_code == 127) return std::nullopt;
  if (!result.end.well()) {
    // V8 reserves tens of GiB that it never uses.
    rlimit space{};
    if (result.end.signal && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
      throw PictureError(
          fmt::format("vl-convert drew nothing: the address space is limited to {} (ulimit -v), in which "
                      "it does not start. Raise the limit, or write .html or .vl.json",
                      format_bytes(static_cast<double>(space.rlim_cur))));
    std::string reason = result.errors.substr(0, 600);
    while (reason.ends_with('\n')) reason.pop_back();
    throw PictureError(fmt::format("vl-convert by {} drew nothing: {}", printable(python),
                                   reason.empty() ? "it gave no reason" : printable(reason)));
  }
  return std::move(result.output);
}

/// Those to try, in their order; an environment variable that is set is the only one.
std::vector<std::string> pythons() {
  if (std::string chosen = environment("GPUBENCH_PYTHON"); !chosen.empty()) return {std::move(chosen)};
  std::vector<std::string> list;
  std::error_code error;
  const auto here = program_folder(), own = here / "venv" / "bin" / "python";
  if (!here.empty() && std::filesystem::exists(own, error)) list.push_back(own.string());
  list.emplace_back("python3");
  return list;
}

std::string run_any(const std::string& kind, std::string_view specification, double width_mm) {
  const std::vector<std::string> known = pythons();
  for (const auto& python : known)
    if (auto picture = run_python(python, kind, specification, width_mm)) return *std::move(picture);
  throw PictureError(
      fmt::format("vl-convert is missing (tried {}); {}", joined(known, ", ", printable), how_to_get_it));
}

[[noreturn]] void refuse_output(std::size_t bytes, const std::string& format) {
  throw PictureError(
      fmt::format("what was to draw it printed {} bytes that are no .{} file; is GPUBENCH_PYTHON a Python with "
                  "vl-convert? Or write .html or .vl.json",
                  bytes, format));
}

/// Puts the labels beside their marks, where vl-convert puts these.
void put_labels(charts::Json& spec, const std::string& specification, const std::string& format) {
  const auto scene = run_any("scene", specification, 0.0);
  try {
    charts::place_labels(spec, storage::parsed_json(scene));
  } catch (const charts::Json::exception&) {
    refuse_output(scene.size(), format);
  }
}

template <typename Runs>
std::string picture_of(const std::vector<charts::Chart>& list, const Runs& runs, const std::filesystem::path& file,
                       const PictureChoice& choice, const PictureStyle& style) {
  const auto chart =
      std::find_if(list.begin(), list.end(), [&](const auto& known) { return known.id == choice.chart; });
  if (chart == list.end()) {
    throw PictureError(fmt::format(
        "{}: {}", file.string(),
        contains(names_of_several, choice.chart)
            ? fmt::format("the chart '{}' shows several runs. Give gpubench report two or more", choice.chart)
            : fmt::format("the run has no data for the chart '{}'. It needs a full calibration: --calibrate full",
                          choice.chart)));
  }
  const auto text_of = [](const charts::Json& spec, int indent) { return storage::json_text(spec, indent) + "\n"; };
  try {
    auto spec = charts::standalone(*chart, runs, choice.of, style);
    if (!needs_renderer(file)) return text_of(spec, 1);
    drop_tooltips(spec);
    const auto format = file_name(file).substr(file_name(file).rfind('.') + 1);
    if (charts::name_anchors(spec)) put_labels(spec, text_of(spec, -1), format);
    return draw(text_of(spec, -1), format, style.width_mm);
  } catch (const std::invalid_argument& error) {
    throw PictureError(fmt::format("{}: {}", file.string(), error.what()));
  } catch (const PictureError& error) {
    throw PictureError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

/// By how a file of the format begins.
bool is_drawn(std::string_view picture, const std::string& format) {
  return picture.starts_with(format == "svg" ? "<svg" : format == "pdf" ? "%PDF-" : "\x89PNG\r\n\x1a\n");
}

}  // namespace

bool needs_renderer(const std::filesystem::path& file) {
  const auto name = file_name(file);
  return name.ends_with(".png") || name.ends_with(".svg") || name.ends_with(".pdf");
}

bool is_picture(const std::filesystem::path& file) {
  return needs_renderer(file) || file_name(file).ends_with(".vl.json");
}

std::string known_charts() { return joined(all_names, " "); }

PictureChoice parse_chart(std::string_view text) {
  PictureChoice choice;
  const auto colon = text.find(':');
  // A device stands behind the last @, unless that is part of a name before any colon.
  const auto at = text.rfind('@');
  auto end = text.size();
  if (at != std::string_view::npos) {
    choice.of.device = text.substr(at + 1);
    end = at;
  }
  if (colon != std::string_view::npos && colon < end) {
    choice.of.line = text.substr(colon + 1, end - colon - 1);
    end = colon;
  }
  choice.chart = lower(std::string(text.substr(0, end)));
  if (!contains(all_names, choice.chart))
    throw PictureError(fmt::format("There is no chart '{}'.{} The charts are {}", printable(choice.chart),
                                   did_you_mean(choice.chart, all_names), known_charts()));
  return choice;
}

PictureChoice choice_of(const std::filesystem::path& file, std::string_view text) {
  if (!text.empty()) return parse_chart(text);
  std::vector<std::string> found;
  for (const auto& word : words_of(file_name(file)))
    if (contains(all_names, word)) found.push_back(word);
  if (found.size() != 1)
    throw PictureError(fmt::format(
        "{}: the file's name holds {} name of a chart. Give --chart=NAME, or name the file after one, as in "
        "h200-roofline.svg. The charts are {}",
        file.string(), found.empty() ? "no" : "more than one", known_charts()));
  return {found.front(), {}};
}

std::string picture(const Run& run, const std::filesystem::path& file, const PictureChoice& choice,
                    const PictureStyle& style) {
  auto list = charts::all(run);
  list.push_back(charts::samples_chart());
  return picture_of(list, run, file, choice, style);
}

std::string picture(const Several& several, const std::filesystem::path& file, const PictureChoice& choice,
                    const PictureStyle& style) {
  auto list = charts::all(several.merged);
  list.push_back(charts::samples_chart());
  for (auto& chart : charts::overlays(several)) list.push_back(std::move(chart));
  return picture_of(list, several, file, choice, style);
}

std::string draw(std::string_view specification, const std::string& format, double width_mm) {
  auto picture = run_any(format, specification, width_mm);
  if (!is_drawn(picture, format)) refuse_output(picture.size(), format);
  return picture;
}

void check_can_draw() { (void)run_any("check", "", 0.0); }

}  // namespace gpubench::reports
