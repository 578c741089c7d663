// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "reports/reports.h"
#include "storage/storage.h"

namespace gpubench::reports {
namespace {

struct Format {
  std::string_view extension;
  std::string (*text)(const Run&);
};

/// Of a run that measured ceilings and nothing else, a table of points would say nothing.
bool is_calibration_alone(const Run& run) { return run.points.empty() && !run.calibrations.empty(); }

constexpr std::array formats = {
    Format{".json", [](const Run& run) { return storage::to_json(run); }},
    Format{".csv", [](const Run& run) { return is_calibration_alone(run) ? ceilings_csv(run) : csv(run); }},
    Format{".md", [](const Run& run) { return is_calibration_alone(run) ? ceilings_markdown(run) : markdown(run); }},
    Format{".html", html}};

/// The extensions of other tools' formats, which end in one of ours: "run.gbench.json" must not become a run of
/// gpubench.
bool belongs_to_another_tool(const std::filesystem::path& file) {
  const auto inner = file.stem().extension();
  return inner == ".gbench" || inner == ".nvbench";
}

const Format* format_of(const std::filesystem::path& file) {
  if (belongs_to_another_tool(file)) return nullptr;
  std::string extension = file.extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto* const place =
      std::find_if(formats.begin(), formats.end(), [&](const Format& format) { return format.extension == extension; });
  return place == formats.end() ? nullptr : place;
}

}  // namespace

bool can_write(const std::filesystem::path& file) { return format_of(file) != nullptr; }

std::string known_extensions() {
  std::string text;
  for (const Format& format : formats) text += fmt::format("{}{}", text.empty() ? "" : " ", format.extension);
  return text;
}

void write(const Run& run, const std::filesystem::path& file) {
  const Format* format = format_of(file);
  if (format == nullptr)
    throw storage::WriteError(fmt::format("{}: cannot be written: no writer knows this extension; use one of {}",
                                          file.string(), known_extensions()));
  storage::write_file(file, format->text(run));
}

}  // namespace gpubench::reports
