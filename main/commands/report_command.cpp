// SPDX-License-Identifier: Apache-2.0
// Stored runs, judged anew.
#include <fmt/format.h>

#include <optional>

#include "calibrate/check/health.h"
#include "classifier/classifier.h"
#include "classifier/run/findings.h"
#include "core/base/table.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/run/stored_runs.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

struct ReportOptions : Options, FilterOptions, CeilingFileOptions, PictureOptions {};

/// By this gpubench, whichever wrote the file, with the ceilings of the run or with those in another file.
void judge_anew(const std::optional<std::string>& file, Run& run) {
  if (!file) return classifier::classify(run);
  const Calibration calibration = storage::read_calibration_for(*file, run.devices);
  if (const auto reason = calibrate::why_not_acceptable(calibration))
    throw UsageError(fmt::format("{} is not used: {}. Give an unchanged file written by gpubench.", *file, *reason));
  if (!classifier::judge_by(calibration, *file, run))
    throw UsageError(fmt::format("{} has the ceilings of a {}, but the run has no such device.", *file,
                                 calibration.device.kind == DeviceKind::gpu ? "GPU" : "CPU"));
}

/// Verdicts and boundaries are those of the whole run; findings are of the points that are left.
void filter_findings(const std::string& filter, Run& run) {
  if (filter.empty()) return;
  keep_matching(filter, run);
  run.findings = classifier::findings_of(run);
}

/// Each run as a table, or all in one page or picture.
int run_report(const ReportOptions& options) {
  const bool several = options.inputs.size() > 1;
  for (const std::string& output : options.outputs)
    if (several && !reports::can_write_several(output))
      throw UsageError(
          fmt::format("--out={}: this format takes one run, not {}. Give one run, or write .html .png .svg .pdf "
                      ".vl.json. To see what changed between two: gpubench compare BASE NEW",
                      output, options.inputs.size()));
  const std::vector<std::filesystem::path> files(options.inputs.begin(), options.inputs.end());
  const std::vector<std::string> labels = reports::labels_of(files);
  const ConsoleStyle style = stdout_style(options);
  std::vector<reports::NamedRun> runs;
  for (std::size_t i = 0; i < files.size(); ++i) {
    runs.push_back({labels[i], read_whole_run(files[i])});
    judge_anew(options.calibration_file, runs.back().run);
    filter_findings(options.filter, runs.back().run);
    if (options.quiet || !options.outputs.empty()) continue;
    const std::string title = printable(fmt::format("{} ({})", labels[i], options.inputs[i]));
    if (several) show((i > 0 ? "\n" : "") + paragraph("", title, color::bold, style));
    show(reports::console(runs.back().run, style, options.kernels));
  }
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    if (several)
      reports::write(reports::join(runs), file, options.chart, options);
    else
      reports::write(runs.front().run, file, options.chart, options);
  });
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile report_command{
    60, [] {
      return std::vector{with(
          Command{
              "report",
              "Show stored runs, or write them in other formats",
              "gpubench report run.json\n"
              "gpubench report run.json --out=run.html\n"
              "gpubench report a.json b.json --out=both-roofline.svg",
              {"RUN...", "Run files. Each is judged anew. Several are drawn over one another.", 1, reports::max_runs},
              reports::known_extensions(),
              shared_rows({"--filter", "--calibration", "--kernels", "--chart", "--title", "--theme"})},
          run_report)};
    }};

}  // namespace gpubench
