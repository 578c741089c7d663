// SPDX-License-Identifier: Apache-2.0
#include "timeline/writers/common.h"

#include <map>
#include <set>

#include "timeline/program/memory.h"

namespace gpubench::timeline {

FlowEnds::FlowEnds(const Timeline& timeline) {
  for (std::uint32_t i = 0; i < timeline.flows.size(); ++i) {
    from_.emplace_back(timeline.flows[i].from, i);
    to_.emplace_back(timeline.flows[i].to, i);
  }
  std::ranges::sort(from_);
  std::ranges::sort(to_);
}

std::vector<std::int64_t> process_numbers(const Timeline& timeline) {
  std::vector<std::int64_t> numbers;
  std::set<std::int64_t> used;
  std::int64_t next = 1'000'000'000;
  for (const Process& process : timeline.processes) {
    std::int64_t number = process.id > 0 && process.id < next ? process.id : next++;
    while (!used.insert(number).second) number = next++;
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<LiveMemory> live_memory(const Timeline& timeline) {
  std::vector<LiveMemory> result;
  const MemoryChanges changes(timeline);
  std::map<std::pair<std::uint32_t, MemoryKind>, std::int64_t> live;
  for (std::size_t i = 0; i < timeline.memory.size(); ++i) {
    const MemoryEvent& event = timeline.memory[i];
    if (event.process >= timeline.processes.size()) continue;
    std::int64_t& bytes = live[{event.process, event.kind}];
    bytes = std::max<std::int64_t>(bytes + changes.bytes[i], 0);
    result.push_back({event.process, event.kind, event.time_ns, bytes});
  }
  return result;
}

}  // namespace gpubench::timeline
