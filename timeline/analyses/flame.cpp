// SPDX-License-Identifier: Apache-2.0
#include "timeline/views/flame.h"

#include "timeline/analysis.h"

namespace gpubench::timeline {
namespace {

std::vector<ResultTable> flame_tables(const Linked& linked, std::string_view by) {
  const FlameGraph graph = flame(linked);
  return {flame_table(graph, by == "any"   ? graph.natural_weight()
                             : by == "gpu" ? FlameWeight::gpu
                                           : FlameWeight::host)};
}

}  // namespace

extern const Analysis flame_analysis{
    "flame", "Draw what called what, and how long it took", flame_tables, "any|gpu|host",
    "Which time the frames show: that of the kernels, copies and fills they launched, or that of the host's threads."};

}  // namespace gpubench::timeline
