// SPDX-License-Identifier: Apache-2.0
#include "timeline/writers/common.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "timeline/program/memory.h"

namespace gpubench::timeline {

std::vector<Process> processes_of(const Timeline& timeline) {
  std::vector<Process> result = timeline.processes;
  std::set<std::int64_t> used;
  for (std::size_t i = 0; i < result.size(); ++i) {
    Process& process = result[i];
    if (process.id <= 0 || process.id >= first_free_number || !used.insert(process.id).second)
      process.id = first_free_number + static_cast<std::int64_t>(i);
    if (process.rank) process.name += fmt::format(" (rank {})", *process.rank);
  }
  return result;
}

std::vector<CounterTrack> counters_of(const Timeline& timeline) {
  const MemoryChanges changes(timeline);
  std::map<std::pair<std::uint32_t, MemoryKind>, std::vector<CounterSample>> memory;
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemoryEvent& event = timeline.memory[i];
    if (event.process >= timeline.processes.size()) continue;
    auto& live = memory[{event.process, event.kind}];
    const double before = live.empty() ? 0.0 : live.back().value;
    live.push_back({event.time_ns, std::max(before + static_cast<double>(changes.bytes[i]), 0.0)});
  }
  std::vector<CounterTrack> result;
  for (auto& [of, live] : memory)
    result.push_back({.process = of.first,
                      .name = fmt::format("{} memory", memory_kind_names[static_cast<std::size_t>(of.second)]),
                      .unit = "bytes",
                      .samples = std::move(live)});
  const std::vector<CounterTrack> of_memory = result;
  std::ranges::copy_if(timeline.counters, std::back_inserter(result), [&](const CounterTrack& counter) {
    return std::ranges::none_of(of_memory, [&](const CounterTrack& one) {  // of a trace that we wrote
      return one.process == counter.process && one.name == counter.name;
    });
  });
  for (CounterTrack& counter : result)
    std::erase_if(counter.samples, [](const CounterSample& sample) { return !std::isfinite(sample.value); });
  return result;
}

std::string_view detail_text(const Timeline& timeline, const Slice& slice) {
  if (slice.detail < 0 || static_cast<std::size_t>(slice.detail) >= timeline.names.size()) return {};
  return slice.kind == SliceKind::other ? operator_inputs : slice.kind == SliceKind::launch ? launched_kernel : "";
}

}  // namespace gpubench::timeline
