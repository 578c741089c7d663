// SPDX-License-Identifier: Apache-2.0
// What traces say, as text for the console and as JSON (docs/reference/trace-json.md). Texts are printable and end with
// a newline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/work_verdicts.h"
#include "timeline/analyses/critical_path.h"
#include "timeline/analyses/difference.h"
#include "timeline/analyses/kernels.h"
#include "timeline/analyses/operators.h"
#include "timeline/analyses/summary.h"

namespace gpubench::reports {

/// What to do first, then where the time of each GPU went, its kernels, iterations, ranks and memory.
std::string trace_summary_text(const timeline::Timeline& timeline, const timeline::Summary& summary,
                               const ConsoleStyle& style);
/// Idle time by its cause, of each GPU and of each stream, and stretches in which the host's pace is the program's.
std::string trace_idle_text(const timeline::Timeline& timeline, const timeline::Summary& summary,
                            const ConsoleStyle& style);
/// By their time.
std::string work_verdicts_text(const WorkVerdicts& verdicts, const ConsoleStyle& style);

std::string trace_memory_text(const Program& program, const ConsoleStyle& style);

inline constexpr std::size_t shown_rows = 20;  ///< of a table on the console
std::string critical_path_text(const timeline::Timeline& timeline, const timeline::CriticalPath& path,
                               const ConsoleStyle& style);

/// What the console and the page say of a difference: sentences, tables of texts, and what `sure` means.
struct DifferenceTables {
  struct Row {
    std::string name, base, next, difference, interval, change, sure;
    int sign = 0;  ///< of a difference that is sure
  };
  struct Table {
    std::string header;
    std::vector<Row> rows;
    std::size_t left_out = 0;  ///< with smaller differences
  };
  std::vector<std::string> notes;
  std::vector<Table> tables;
  std::string footnote;
};
DifferenceTables difference_tables(const timeline::Difference& difference, std::size_t shown);
std::string difference_text(const timeline::Difference& difference, const ConsoleStyle& style);

/// `traces` are the files' names.
std::string trace_summary_json(const timeline::Timeline& timeline, const timeline::Summary& summary,
                               const std::vector<std::string>& traces, const WorkVerdicts* verdicts = nullptr);
std::string trace_idle_json(const timeline::Timeline& timeline, const timeline::Summary& summary);
std::string trace_memory_json(const timeline::Timeline& timeline, const Program& program);
/// What `gpubench trace COMMAND --json` prints of a table.
std::string table_json(const timeline::Timeline& timeline, std::string_view command, const ResultTable& table);
std::string critical_path_json(const timeline::Timeline& timeline, const timeline::CriticalPath& path);
std::string difference_json(const timeline::Difference& difference);

/// What `gpubench serve` gives at /api/profiler (docs/flame-graphs-and-timelines.md).
std::string api_timeline_json(const timeline::Timeline& timeline);
std::string api_kernels_json(const timeline::Timeline& timeline);
std::string api_hta_json(const timeline::Timeline& timeline);
std::string api_memory_json(const timeline::Timeline& timeline);

}  // namespace gpubench::reports
