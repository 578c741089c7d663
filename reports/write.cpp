// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "core/storage/storage.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

struct OutputFormat {
  std::string_view extension;
  std::string (*text)(const Run&);
};

/// Of a run that measured ceilings and nothing else, a table of points would say nothing.
bool is_calibration_alone(const Run& run) { return run.points.empty() && !run.calibrations.empty(); }

constexpr std::array formats = {
    OutputFormat{".json", [](const Run& run) { return storage::to_json(run); }},
    OutputFormat{".json.gz", [](const Run& run) { return storage::to_json(run); }},
    OutputFormat{".csv", [](const Run& run) { return is_calibration_alone(run) ? ceilings_csv(run) : csv(run); }},
    OutputFormat{".kernels.csv", kernels_csv},
    OutputFormat{".md",
                 [](const Run& run) { return is_calibration_alone(run) ? ceilings_markdown(run) : markdown(run); }},
    OutputFormat{".html", html}, OutputFormat{".gbench.json", google_benchmark_json},
    OutputFormat{".nvbench.json", nvbench_json}, OutputFormat{".prom", open_metrics},
    OutputFormat{".junit.xml", junit_xml},
    // One chart each, drawn by `picture`.
    OutputFormat{".png", nullptr}, OutputFormat{".svg", nullptr}, OutputFormat{".pdf", nullptr},
    OutputFormat{".vl.json", nullptr}};

/// The format whose extension is the longest that the name ends in. What is called after another tool and is not in its
/// format is in none: neither "run.gbench.csv" nor ".gbench.json" may become a run of gpubench.
const OutputFormat* format_of(const std::filesystem::path& file) {
  const std::string name = lower(file.filename().string());
  const OutputFormat* best = nullptr;
  for (const OutputFormat& format : formats)
    if (name.size() > format.extension.size() && name.ends_with(format.extension) &&
        (best == nullptr || best->extension.size() < format.extension.size()))
      best = &format;
  if (best == nullptr) return nullptr;
  const std::string_view stem = std::string_view(name).substr(0, name.size() - best->extension.size());
  return stem.ends_with(".gbench") || stem.ends_with(".nvbench") || stem.ends_with(".junit") || stem.ends_with(".vl")
             ? nullptr
             : best;
}

const OutputFormat& known_format_of(const std::filesystem::path& file) {
  if (const OutputFormat* format = format_of(file)) return *format;
  throw storage::WriteError(
      fmt::format("{}: cannot be written: the extension is unknown; use one of {}", file.string(), known_extensions()));
}

bool all_differ(const std::vector<std::string>& labels) {
  return std::set<std::string>(labels.begin(), labels.end()).size() == labels.size();
}

}  // namespace

bool writes_run(const std::filesystem::path& file) {
  const OutputFormat* format = format_of(file);
  return format != nullptr && (format->extension == ".json" || format->extension == ".json.gz");
}

bool is_for_another_tool(const std::filesystem::path& file) {
  const OutputFormat* format = format_of(file);
  return format != nullptr && !writes_run(file) &&
         (format->extension.find('.', 1) != std::string_view::npos || format->extension == ".prom" ||
          format->text == nullptr);
}

std::string known_extensions() { return joined(formats, " ", &OutputFormat::extension); }

void check_extension(const std::filesystem::path& file) { known_format_of(file); }

void write(const Run& run, const std::filesystem::path& file, std::string_view chart, const PictureStyle& style) {
  const auto text = known_format_of(file).text;
  if (writes_run(file.string())) return storage::write_for_reading(file, text(run));
  storage::write_file(file, text != nullptr ? text(run) : picture(run, file, choice_of(file, chart), style));
}

bool can_write_several(const std::filesystem::path& file) {
  const OutputFormat* format = format_of(file);
  return format != nullptr && (format->extension == ".html" || format->text == nullptr);
}

void write(const Several& several, const std::filesystem::path& file, std::string_view chart,
           const PictureStyle& style) {
  const OutputFormat& format = known_format_of(file);
  if (!can_write_several(file))
    throw storage::WriteError(
        fmt::format("{}: cannot be written: this format takes one run; give one, or use .html .png .svg .pdf .vl.json",
                    file.string()));
  storage::write_file(file,
                      format.text == nullptr ? picture(several, file, choice_of(file, chart), style) : html(several));
}

std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> labels;
  labels.reserve(files.size());
  for (const auto& file : files) labels.push_back(printable(file.stem().string()));
  if (all_differ(labels)) return labels;
  const auto stems = labels;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (std::count(stems.begin(), stems.end(), stems[i]) > 1)
      labels[i] = printable(std::filesystem::absolute(files[i]).parent_path().filename().string()) + "/" + stems[i];
  if (all_differ(labels)) return labels;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] += fmt::format(" #{}", i + 1);
  return labels;
}

Several join(const std::vector<NamedRun>& runs) {
  if (runs.size() < 2 || runs.size() > max_runs)
    throw std::invalid_argument(fmt::format("{} runs cannot be shown together; give 2 to {}", runs.size(), max_runs));
  Several several;
  several.merged.context = runs.front().run.context;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [label, run] = runs[i];
    const auto take = [&, &label = label](const auto& from, auto& to, const auto& id_of) {
      for (auto one : from) {
        std::string& id = std::invoke(id_of, one);
        id = fmt::format("{} / {}", label, id);
        several.run_of_device[id] = i;
        to.push_back(std::move(one));
      }
    };
    take(run.devices, several.merged.devices, &Device::id);
    take(
        run.calibrations, several.merged.calibrations, [](auto& one) -> auto& { return one.device.id; });
    take(
        run.points, several.merged.points, [](auto& one) -> auto& { return one.measurement.device; });
    take(run.boundaries, several.merged.boundaries, &Boundary::device);
    take(run.findings, several.merged.findings, &OperationFinding::device);
    several.labels.push_back(label);
    several.contexts.push_back(run.context);
    several.devices.push_back(run.devices);
    for (const auto& warning : run.warnings) several.merged.warnings.push_back(fmt::format("{}: {}", label, warning));
  }
  return several;
}

}  // namespace gpubench::reports
