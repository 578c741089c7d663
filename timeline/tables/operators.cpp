// SPDX-License-Identifier: Apache-2.0
// Operators of a framework by the time of their work on the GPU; without any by that of the host.
#include "timeline/analyses/operators.h"

#include "core/base/units.h"
#include "timeline/analysis.h"

namespace gpubench::timeline {
namespace {

ResultTable operator_table(const Timeline& timeline, std::string_view /*by*/) {
  const auto operators = operator_times(timeline);
  std::int64_t all = 0, host = 0;
  for (const OperatorTime& one : operators) {
    all += one.gpu_self_ns;
    host += one.host_self_ns;
  }
  const bool gpu = all > 0;  // else the host's own time decides
  const auto shown = [&](const char* title) { return gpu ? title : ""; };
  ResultTable table{"operators",
                    {{"operator", "operator", ValueKind::text, "(no operator)"},
                     {"count", "calls", ValueKind::count},
                     {"gpu_self_seconds", shown("GPU self"), ValueKind::seconds},
                     {"share", shown("share"), ValueKind::share},
                     {"gpu_total_seconds", shown("GPU total"), ValueKind::seconds, "", 3},
                     {"works", shown("works"), ValueKind::count, "", 1},
                     {"host_self_seconds", "host self", ValueKind::seconds},
                     {"", gpu ? "" : "share", ValueKind::share},
                     {"host_total_seconds", "host total", ValueKind::seconds, "", 2}},
                    {}};
  for (const OperatorTime& one : operators) {
    const double whole = static_cast<double>(gpu ? all : host);
    const Value share =
        whole > 0.0 ? Value(static_cast<double>(gpu ? one.gpu_self_ns : one.host_self_ns) / whole) : Absent{"no time"};
    table.rows.push_back({timeline.names.text(one.name), one.count, seconds_of(one.gpu_self_ns), share,
                          seconds_of(one.gpu_ns), one.works, seconds_of(one.host_self_ns), share,
                          seconds_of(one.host_ns)});
  }
  return table;
}

}  // namespace

extern const Analysis operators_analysis{"operators", "Operators by the time of the work that they launched.",
                                         operator_table};

}  // namespace gpubench::timeline
