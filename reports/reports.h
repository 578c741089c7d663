// SPDX-License-Identifier: Apache-2.0
// A run in, text out. Writers never compute: what they show is in the run. Each is a file of console/, export/ or html/
// that is declared here; comparisons.h declares those of comparisons.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"
#include "core/base/table.h"
#include "core/model/calibration.h"
#include "core/model/run.h"

namespace gpubench::reports {

inline constexpr std::size_t max_runs = 8;  ///< as many as colours can be told apart

struct NamedRun {
  std::string label;
  Run run;
};

/// Names of runs by their files, all different: the file's without extension, with its folder, or a number.
std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& files);

/// All in one run, whose device ids begin with the run's label: "old / cuda:0". The context is that of the first.
struct Several {
  Run merged;
  std::vector<std::string> labels;
  std::map<std::string, std::size_t> run_of_device;  ///< by the merged run's ids
  std::vector<Context> contexts;
  std::vector<std::vector<Device>> devices;  ///< as each run names them
};
/// Throws std::invalid_argument for fewer than two or more than `max_runs`.
Several join(const std::vector<NamedRun>& runs);

/// The table of all points with their regimes, then boundaries, warnings and a summary. `kernels`: under each point
/// what it runs, where that is several kernels.
/// `since`: what changed since an earlier run, a column of its own.
std::string console(const Run& run, const ConsoleStyle& style, bool kernels = false,
                    const compare::Comparison* since = nullptr);
std::string console(const Calibration& calibration, const ConsoleStyle& style);
/// What GPUs of one kind differ by, the largest spread first; empty for none.
std::string console(const std::vector<GpuSpread>& spreads, const ConsoleStyle& style);
std::string csv(const Run& run);           ///< RFC 4180, one line a point, units in the column names
std::string kernels_csv(const Run& run);   ///< likewise, one line for each kernel, copy or fill of a point
std::string markdown(const Run& run);      ///< for a pull request
std::string html(const Run& run);          ///< one self-contained page
std::string html(const Several& several);  ///< likewise, with the runs laid over one another

std::string ceilings_csv(const Run& run);       ///< likewise, one line a ceiling of each device
std::string ceilings_markdown(const Run& run);  ///< a table for each group of each device

/// How a picture of one chart looks.
struct PictureStyle {
  std::string title;      ///< in place of the chart's own
  double width_mm = 0.0;  ///< of the whole picture on paper; 0: as wide as the chart is by itself
  bool dark = false;
  bool chosen() const { return !title.empty() || width_mm > 0.0 || dark; }
};

/// As the extension says, whole or not at all; of a run without points the ceilings. `chart`: as --chart; empty: the
/// file's name (reports/charts/picture.h). Throws storage::WriteError, and of pictures PictureError.
void write(const Run& run, const std::filesystem::path& file, std::string_view chart = {},
           const PictureStyle& style = {});
/// Several runs at once, where the format can show them.
void write(const Several& several, const std::filesystem::path& file, std::string_view chart = {},
           const PictureStyle& style = {});
bool can_write_several(const std::filesystem::path& file);
/// Whether its format is gpubench's own, which can be read again; "run.gbench.json" is not.
bool writes_run(const std::filesystem::path& file);
/// Whether its format belongs to another tool and is one of runs alone.
bool is_for_another_tool(const std::filesystem::path& file);
/// The extensions, for messages and help: ".json .csv .md .html .gbench.json ...".
std::string known_extensions();
/// Throws storage::WriteError where a run cannot be written under that name.
void check_extension(const std::filesystem::path& file);

// In the formats of other tools. All text is printable; numbers that are not known are left out.

/// Google Benchmark's JSON, one entry a point: the median in nanoseconds as real_time. "cpu_time_source" says what
/// cpu_time is. Points without time stand in "without_time", because compare.py needs real_time. Where points are of
/// several devices, names end in the device: "saxpy/1024/manual_time/cuda:1".
std::string google_benchmark_json(const Run& run);

/// nvbench's JSON 1.0.0: a benchmark an operation, a state a point; times under nv/cold/time/gpu, which it compares.
std::string nvbench_json(const Run& run);

/// Points and ceilings as gauges in OpenMetrics 1.0 text, for the textfile collector of Prometheus' node exporter.
std::string open_metrics(const Run& run);

/// JUnit XML: a suite an operation and device, a case a point; its time is the median of one execution (s).
std::string junit_xml(const Run& run);

}  // namespace gpubench::reports
