// SPDX-License-Identifier: Apache-2.0
// Operators that can be called again outside their program.
#include "timeline/operators/replay.h"

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/operators/operator_work.h"

namespace gpubench::timeline {
namespace {

std::vector<ResultTable> replay_tables(const Linked& linked, std::string_view by) {
  ResultTable table{"replay", columns_of("operator=operator; shapes=shapes; types; count=calls; gpu_seconds=GPU time; "
                                         "mean_seconds=mean; why_not=not callable again~1")};
  table.none = "No operator that launched work has recorded inputs. Record with record_shapes=True.";
  const auto& names = linked.timeline.names;
  for (const ReplayCall& call : replay_calls(linked, by))
    table.add({names.text(call.name), std::string(inputs_list(names.text(call.inputs), 0)),
               std::string(inputs_list(names.text(call.inputs), 1)), call.count, seconds_of(call.gpu_ns),
               seconds_of(call.gpu_ns) / static_cast<double>(call.count), call.why_not});
  if (!table.rows.empty())
    table.notes.emplace_back("--out=FILE.py writes a program that calls the operator again and times it.");
  return {std::move(table)};
}

}  // namespace

extern const Analysis replay_analysis{
    .name = "replay",
    .what = "List operators to call again outside the program, and write that as Python",
    .tables = replay_tables,
    .by = Analysis::any_operator,
    .by_help = "This operator alone. Without it a program is of that with the most time.",
    .needs_gpu = true};

}  // namespace gpubench::timeline
