// SPDX-License-Identifier: Apache-2.0
// Operators of a framework by the time of their work on the GPU; without any by that of the host.
#include "timeline/operators/operators.h"

#include <fmt/format.h>

#include <set>

#include "core/base/units.h"
#include "timeline/analysis.h"

namespace gpubench::timeline {
namespace {

/// Of work on GPUs: the time of what an operator made, and that of graphs of which it is not known.
struct NamedWork {
  std::int64_t named_ns = 0, unnamed_graphs_ns = 0, launches = 0;
};
NamedWork named_work(const Linked& linked) {
  NamedWork result;
  const Operators found = operators(linked);
  std::set<std::uint32_t> launches;
  for (std::uint32_t i = 0; i < linked.timeline.slices.size(); ++i) {
    const Slice& work = linked.timeline.slices[i];
    if (!linked.works(work)) continue;
    if (found.of_work(linked.links, i) != none) {
      result.named_ns += work.duration_ns;
    } else if (work.in_graph) {
      result.unnamed_graphs_ns += work.duration_ns;
      launches.insert(linked.links.call_of[i]);
    }
  }
  result.launches = static_cast<std::int64_t>(launches.size());
  return result;
}

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
  table.none = "The trace has no operators and no functions.";
  for (const OperatorTime& one : operators) {
    const double whole = static_cast<double>(gpu ? all : host);
    const Value share =
        whole > 0.0 ? Value(static_cast<double>(gpu ? one.gpu_self_ns : one.host_self_ns) / whole) : Absent{"no time"};
    table.rows.push_back({timeline.names.text(one.name), one.count, seconds_of(one.gpu_self_ns), share,
                          seconds_of(one.gpu_ns), one.works, seconds_of(one.host_self_ns), share,
                          seconds_of(one.host_ns)});
  }
  if (!gpu) return {table};
  const auto [named, unnamed_graphs, launches] = named_work(linked);
  ResultTable facts{"", columns_of("named_share; graph_share_without_operator; graph_launches_without_operator")};
  const auto share = [&](std::int64_t ns) { return static_cast<double>(ns) / static_cast<double>(all); };
  facts.add({share(named), share(unnamed_graphs), launches});
  if (named < all)
    table.notes.push_back(fmt::format("Operators are known of {} of the GPU's time.", format_percent(share(named))));
  if (launches > 0)
    table.notes.push_back(
        fmt::format("{} lies in {} of CUDA graphs whose capture the trace does not have. Record from before "
                    "the capture on.",
                    format_percent(share(unnamed_graphs)), plural(launches, "launch", "launches")));
  return {table, facts};
}

}  // namespace

extern const Analysis operators_analysis{
    "operators", "List a framework's operators by the time of the work that they launched", operator_tables};

}  // namespace gpubench::timeline
