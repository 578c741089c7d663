// SPDX-License-Identifier: Apache-2.0
// Which kernels follow one another within calls of one operator: what repeats may be fused, or captured into a graph.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/units.h"
#include "core/model/points.h"
#include "timeline/analysis.h"
#include "timeline/operators/operators.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t min_works = 3;          // of a sequence, as HTA's min_pattern_len
constexpr std::size_t max_ancestors = 64;     // of a work that have it in their sequences
constexpr std::size_t max_text_bytes = 4096;  // of a sequence in files

struct SequenceSums {
  std::int64_t count = 0, gpu_ns = 0, host_ns = 0;
};

/// "gemm, 2 x add": equal neighbours as one.
std::string text_of(const Timeline& timeline, const std::vector<std::uint32_t>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    const auto next = std::ranges::find_if(names.begin() + static_cast<std::ptrdiff_t>(i), names.end(),
                                           [&](std::uint32_t name) { return name != names[i]; });
    const auto end = static_cast<std::size_t>(next - names.begin());
    if (!text.empty()) text += ", ";
    if (text.size() > max_text_bytes) return text + std::to_string(names.size() - i) + " more";
    if (end - i > 1) text += std::to_string(end - i) + " x ";
    text += short_kernel_name(timeline.names.text(names[i]));
    i = end;
  }
  return text;
}

std::vector<ResultTable> sequence_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  const Operators found = operators(linked);
  const auto slice_of = [&](std::uint32_t operation) -> const Slice& {
    return timeline.slices[found.all[operation].slice];
  };
  // An operator within one of its name is part of that.
  std::vector<std::vector<std::uint32_t>> works(found.all.size());
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    if (!linked.works(timeline.slices[i])) continue;
    std::size_t depth = 0;
    for (std::uint32_t at = found.of_work(linked.links, i); at != none && ++depth <= max_ancestors;) {
      const std::uint32_t parent = found.all[at].parent;
      if (parent == none || slice_of(parent).name != slice_of(at).name) works[at].push_back(i);
      at = parent;
    }
  }
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, SequenceSums> sums;  // by operator and names
  // One that launches all that the operator around it does is told by that one.
  std::vector<std::size_t> sizes;
  for (const auto& of_one : works) sizes.push_back(of_one.size());
  const auto is_all_of_another = [&](std::uint32_t operation) {
    std::uint32_t at = found.all[operation].parent;
    while (at != none && sizes[at] == 0) at = found.all[at].parent;
    return at != none && sizes[at] == sizes[operation];
  };
  for (std::uint32_t i = 0; i < works.size(); ++i) {
    if (works[i].size() < min_works || is_all_of_another(i)) continue;
    std::vector<std::uint32_t> names;
    std::int64_t gpu_ns = 0;
    for (const std::uint32_t work : works[i]) {
      names.push_back(timeline.slices[work].name);
      gpu_ns += timeline.slices[work].duration_ns;
    }
    std::vector<std::uint32_t>().swap(works[i]);
    SequenceSums& sum = sums[{slice_of(i).name, std::move(names)}];
    ++sum.count;
    sum.gpu_ns += gpu_ns;
    if (linked.links.thread_of_track[slice_of(i).track] != none) sum.host_ns += slice_of(i).duration_ns;
  }
  using Entry = std::pair<const std::pair<std::uint32_t, std::vector<std::uint32_t>>, SequenceSums>;
  std::vector<const Entry*> order;
  for (const Entry& entry : sums) order.push_back(&entry);
  std::ranges::stable_sort(order, [](const Entry* a, const Entry* b) {
    return std::pair(-a->second.count, -a->second.gpu_ns) < std::pair(-b->second.count, -b->second.gpu_ns);
  });
  ResultTable table{"sequences", columns_of("operator=operator; sequence=kernels, copies and fills in order; "
                                            "count=calls; works:count=works each; gpu_seconds=GPU time; "
                                            "host_seconds=host time~1")};
  table.none = "No operator launched three or more kernels, copies or fills.";
  for (const Entry* const one : order)
    table.add({timeline.names.text(one->first.first), text_of(timeline, one->first.second), one->second.count,
               static_cast<std::int64_t>(one->first.second.size()), seconds_of(one->second.gpu_ns),
               seconds_of(one->second.host_ns)});
  return {std::move(table)};
}

}  // namespace

extern const Analysis sequences_analysis{.name = "sequences",
                                         .what = "List kernels that operators launch in the same order again and again",
                                         .tables = sequence_tables,
                                         .needs_gpu = true};

}  // namespace gpubench::timeline
