// SPDX-License-Identifier: Apache-2.0
// Operators of a framework by the time of their work on the GPU; without any by that of the host.
#include "timeline/operators.h"

#include "core/base/units.h"
#include "timeline/analysis.h"

namespace gpubench::timeline {
namespace {

std::vector<ResultTable> operator_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  const auto operators = operator_times(linked);
  std::int64_t all = 0, host = 0;
  for (const OperatorTime& one : operators) {
    all += one.gpu_self_ns;
    host += one.host_self_ns;
  }
  const bool gpu = all > 0;  // else the host's own time decides
  ResultTable table{
      "operators",
      columns_of(
          gpu ? "operator=operator|(no operator); count=calls; gpu_self_seconds=GPU self; share=share; "
                "gpu_total_seconds=GPU total~3; works:count=works~1; host_self_seconds=host self; :share; "
                "host_total_seconds=host total~2"
              : "operator=operator|(no operator); count=calls; gpu_self_seconds; share; gpu_total_seconds; works; "
                "host_self_seconds=host self; :share=share; host_total_seconds=host total~2")};
  for (const OperatorTime& one : operators) {
    const double whole = static_cast<double>(gpu ? all : host);
    const Value share =
        whole > 0.0 ? Value(static_cast<double>(gpu ? one.gpu_self_ns : one.host_self_ns) / whole) : Absent{"no time"};
    table.rows.push_back({timeline.names.text(one.name), one.count, seconds_of(one.gpu_self_ns), share,
                          seconds_of(one.gpu_ns), one.works, seconds_of(one.host_self_ns), share,
                          seconds_of(one.host_ns)});
  }
  return {table};
}

}  // namespace

extern const Analysis operators_analysis{
    "operators", "List a framework's operators by the time of the work that they launched", operator_tables};

}  // namespace gpubench::timeline
