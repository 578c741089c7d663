// SPDX-License-Identifier: Apache-2.0
// What is stored, reported and compared. Data go to Python as the JSON of files, so that there is one schema.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/counters/metrics.h"
#include "bench/google/google_runner.h"
#include "calibrate/calibrate.h"
#include "classifier/classifier.h"
#include "compare/comparability.h"
#include "compare/compare.h"
#include "compare/history/gate.h"
#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/model/resources.h"
#include "core/model/run.h"
#include "core/statistics/statistics.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/cli/options.h"
#include "python/src/module.h"
#include "reports/charts/picture.h"
#include "reports/comparisons.h"
#include "reports/reports.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gpubench::python {
namespace {

ConsoleStyle style_of(bool color, int width) { return {.color = color, .width = width}; }

std::optional<TimingMode> clock_of(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  const auto found = std::ranges::find(timing_mode_names, *name);
  if (found == timing_mode_names.end())
    throw UsageError("There is no clock '" + *name + "'. Give one of device, stream, latency, host, call and graph.");
  return static_cast<TimingMode>(found - timing_mode_names.begin());
}

std::vector<Run> copies_of(const std::vector<const Run*>& runs) {
  if (runs.empty()) throw UsageError("A comparison needs a run on each side, and got none.");
  std::vector<Run> copies;
  copies.reserve(runs.size());
  for (const Run* run : runs) copies.push_back(*run);
  return copies;
}

compare::Comparison compared(const std::vector<const Run*>& base, const std::vector<const Run*>& next,
                             double min_effect, std::optional<double> process_noise, bool force, bool paired,
                             const std::optional<std::string>& clock) {
  if (paired && (base.size() != next.size() || base.size() < 2))
    throw UsageError("A paired comparison needs as many base runs as new ones, and at least two.");
  return compare::compare(copies_of(base), copies_of(next),
                          {min_effect, process_noise, force, paired, clock_of(clock)});
}

int exit_code_of(const compare::Comparison& comparison, const std::string& fail_on) {
  constexpr auto names = std::to_array<std::string_view>({"regression", "inconclusive", "never"});
  const auto found = std::ranges::find(names, fail_on);
  if (found == names.end()) throw UsageError("fail_on takes regression, inconclusive or never, not '" + fail_on + "'.");
  return compare::exit_code(comparison, static_cast<compare::FailOn>(found - names.begin()));
}

constexpr std::size_t max_entries = 100;

/// Absent where the store has nothing of this machine.
std::optional<compare::Comparison> held_against(const std::string& store, const Run& run, double min_effect) {
  const auto entries = storage::BaselineStore(store).entries(compare::fingerprint_of(run), max_entries);
  if (entries.empty()) return std::nullopt;
  return compare::check_against(entries, {run}, {min_effect}, true);
}

std::string add_to_store(const std::string& store, const Run& run, const std::string& label) {
  storage::BaselineEntry entry;
  entry.label = label;
  entry.added_utc = utc_now();
  entry.fingerprint = compare::fingerprint_of(run);
  entry.runs.push_back(storage::slim(run));
  return storage::BaselineStore(store).add(entry).string();
}

/// A run of nothing but all devices.
std::string devices_json() {
  Run run;
  run.devices = bench::gpus();
  run.devices.push_back(bench::host_device());
  return storage::to_json(run);
}

/// Of the medians, base over new, with its 95 % interval (of the two medians' own, by MOVER: Zou and Donner, Statistics
/// in Medicine 27, 2008); absent below six samples a side, whose median has none.
std::optional<std::array<double, 3>> ratio_of_medians(const std::vector<double>& base,
                                                      const std::vector<double>& next) {
  constexpr auto fewest = static_cast<std::size_t>(compare::min_samples);
  if (std::min(base.size(), next.size()) < fewest) return std::nullopt;
  const Summary a = statistics::summarize(base), b = statistics::summarize(next);
  if (a.median_ci95.low <= 0.0 || b.median_ci95.low <= 0.0) return std::nullopt;
  const double ratio = a.median / b.median;
  const double down = std::hypot(std::log(a.median / a.median_ci95.low), std::log(b.median_ci95.high / b.median));
  const double up = std::hypot(std::log(a.median_ci95.high / a.median), std::log(b.median / b.median_ci95.low));
  return {{ratio, ratio * std::exp(-down), ratio * std::exp(up)}};
}

void bind_errors(nb::module_& module) {
  const nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "gpubench.Error", "What gpubench cannot do, in one sentence.", PyExc_RuntimeError, nullptr));
  module.attr("Error") = error;
  nb::exception<UsageError>(module, "UsageError", error);
  nb::exception<bench::GoogleFlagError>(module, "FlagError", module.attr("UsageError"));
  nb::exception<bench::MetricNameError>(module, "MetricNameError", module.attr("UsageError"));
  nb::exception<bench::NoSuchDevice>(module, "NoSuchDevice", error);
  nb::exception<storage::ReadError>(module, "ReadError", error);
  nb::exception<storage::WriteError>(module, "WriteError", error);
  nb::exception<reports::PictureError>(module, "ChartError", error);
  nb::exception<CudaError>(module, "CudaError", error);
  for (const auto& [name, what] :
       {std::pair{"UsageError", "Words, options or devices that mean nothing here."},
        {"FlagError", "A filter that is no regular expression, or a flag that Google Benchmark does not take."},
        {"MetricNameError", "Counters that no device here has."},
        {"NoSuchDevice", "A device that is not there; the message names those that are."},
        {"ReadError", "A file that is missing, damaged or of another kind."},
        {"WriteError", "A file that cannot be written."},
        {"ChartError", "A chart that has nothing to show, or that nothing here can draw."},
        {"CudaError", "A call of CUDA that failed, by its name and its reason."}})
    module.attr(name).attr("__doc__") = what;
}

void bind_run(nb::module_& module) {
  nb::class_<Run>(module, "Run", "A run as the engine holds it. gpubench.Run is what users have.")
      .def_static(
          "read", [](const std::string& file) { return storage::read_run(file); }, "file"_a, Release())
      .def_static(
          "from_json", [](const std::string& text) { return storage::run_from_json(text, "this text"); }, "text"_a,
          Release())
      .def(
          "to_json", [](const Run& run) { return storage::to_json(run); }, Release())
      .def(
          "points_to_json",
          [](const Run& run) {
            Run alone;
            alone.points = run.points;
            return storage::to_json(alone);
          },
          Release(), "A run of its points alone.")
      .def(
          "write",
          [](const Run& run, const std::string& file, const std::string& chart) { reports::write(run, file, chart); },
          "file"_a, "chart"_a = "", Release())
      .def(
          "html", [](const Run& run) { return reports::html(run); }, Release())
      .def(
          "console",
          [](const Run& run, bool color, int width, bool kernels) {
            return reports::console(run, style_of(color, width), kernels);
          },
          "color"_a = false, "width"_a = 120, "kernels"_a = false)
      .def(
          "chart",
          [](const Run& run, const std::string& chart) {
            const std::filesystem::path file = "chart.vl.json";
            return reports::picture(run, file, reports::choice_of(file, chart));
          },
          "chart"_a)
      .def("classify", [](Run& run) { classifier::classify(run); });
}

void bind_comparison(nb::module_& module) {
  nb::class_<compare::Comparison>(module, "Comparison", "Two sides of runs, point by point.")
      .def("to_json", [](const compare::Comparison& self) { return reports::json(self); })
      .def("markdown", [](const compare::Comparison& self) { return reports::markdown(self); })
      .def("csv", [](const compare::Comparison& self) { return reports::csv(self); })
      .def(
          "console",
          [](const compare::Comparison& self, bool color, int width) {
            return reports::console(self, style_of(color, width));
          },
          "color"_a = false, "width"_a = 120)
      .def("exit_code", &exit_code_of, "fail_on"_a = "regression");
  module.def("compare", &compared, "base"_a, "new"_a, "min_effect"_a = 0.01, "process_noise"_a = nb::none(),
             "force"_a = false, "paired"_a = false, "clock"_a = nb::none(), Release());
  module.def("ratio_of_medians", &ratio_of_medians, "base"_a, "new"_a,
             "Base over new with its 95 % interval: (ratio, low, high); None below six samples a side.");
  module.def(
      "printable",
      [](const nb::str& text) {  // names of files may be no Unicode
        const auto bytes = nb::cast<nb::bytes>(text.attr("encode")("utf-8", "surrogatepass"));
        return printable({bytes.c_str(), bytes.size()});
      },
      "text"_a, "On one line, with nothing that a terminal obeys.");
  module.def(
      "label_of", [](const std::string& resource) { return std::string(label_of(resource)); }, "resource"_a,
      "What to call it in a sentence.");
  module.def("student_quantile", &statistics::student_quantile, "tail"_a, "degrees"_a,
             "The t with P(T > t) = tail, of Student's distribution.");
  module.def(
      "write_file", [](const std::string& file, const std::string& text) { storage::write_file(file, text); }, "file"_a,
      "text"_a, "Whole or not at all. Throws WriteError.", Release());
  module.def(
      "check_extension", [](const std::string& file) { reports::check_extension(file); }, "file"_a,
      "Throws WriteError.");
  module.def("check_store", &held_against, "store"_a, "run"_a, "min_effect"_a = 0.01, Release());
  module.def("add_to_store", &add_to_store, "store"_a, "run"_a, "label"_a = "", Release());
}

}  // namespace

void bind_results(nb::module_& module) {
  module.attr("version") = nb::str(version.data(), version.size());
  bind_errors(module);
  bind_run(module);
  bind_comparison(module);
  module.def("devices", &devices_json, "All devices, as a run in JSON.");
  module.def(
      "stored_calibration",
      [](const std::string& device) -> std::pair<std::optional<std::string>, std::string> {
        auto cached = calibrate::load_cached(bench::choose_devices(device).front());
        if (!cached.calibration) return {std::nullopt, cached.reason};
        cached.calibration->device.id = device;
        return {storage::to_json(*cached.calibration), ""};
      },
      "device"_a, "The calibration of a device in the cache as JSON, or why there is none.");
  module.def(
      "calibrations_of",
      [](const std::string& file) {
        std::vector<std::string> texts;
        for (const Calibration& one : storage::read_calibrations(file)) texts.push_back(storage::to_json(one));
        return texts;
      },
      "file"_a, "The calibrations in a file, as JSON.");
  module.def(
      "calibration_table",
      [](const std::string& text, bool color, int width) {
        return reports::console(storage::calibration_from_json(text, "this calibration"), style_of(color, width));
      },
      "json"_a, "color"_a = false, "width"_a = 120);
  module.def(
      "chart_html", [](const std::string& specification) { return reports::chart_html(specification); },
      "specification"_a, Release(), "A Vega-Lite specification as a page that needs no network.");
  module.def(
      "leaderboard_html", [](const std::string& text) { return reports::leaderboard_html(text, std::string(version)); },
      "json"_a, Release(), "A table of verdicts with a chart as a page that needs no network.");
  module.def(
      "chart_svg", [](const std::string& specification) { return reports::draw(specification, "svg"); },
      "specification"_a, Release(), "A Vega-Lite specification as a picture, by vl-convert.");
}

}  // namespace gpubench::python
