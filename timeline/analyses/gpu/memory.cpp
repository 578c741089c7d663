// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/program/program.h"

namespace gpubench::timeline {

std::vector<ResultTable> memory_tables(const Program& program, const Allocator& allocator) {
  const bool many = std::ranges::any_of(program.memory, [](const auto& one) { return !one.process.empty(); });
  ResultTable memory{"memory",
                     columns_of(std::string(many ? "process=process" : "process") +
                                "; kind=memory; peak_bytes=peak; peak_seconds=at; allocations:count=allocations; "
                                "never_freed_bytes=never freed")};
  memory.none = "The trace tells nothing of a GPU's memory. PyTorch's profiler does with profile_memory=True.";
  ResultTable curve{"memory_over_time", columns_of("process; kind; time_seconds; bytes")};
  curve.shown = 0;
  double recorded = 0.0;
  for (const ProgramMemory& one : program.memory) {
    recorded += static_cast<double>(one.peak_bytes);
    memory.add({one.process, one.kind, one.peak_bytes, one.peak_seconds, one.allocations, one.never_freed_bytes});
    for (std::size_t i = 0; i < one.curve_seconds.size(); ++i)
      curve.add({one.process, one.kind, one.curve_seconds[i], one.curve_bytes[i]});
  }
  if (allocator.peak && *allocator.peak > recorded)
    memory.notes.push_back(fmt::format(
        "Counted since the recording began. With what it had before, PyTorch's allocator had handed out {} in all "
        "at its peak.",
        format_bytes(*allocator.peak)));
  ResultTable left{"never_freed", columns_of("source=never freed, by its source|not known by whom; kind=memory; "
                                             "allocations:count=allocations; bytes=bytes")};
  left.shown = 8;
  for (const NeverFreed& one : program.never_freed) left.add({one.source, one.kind, one.allocations, one.bytes});
  return {std::move(memory), std::move(left), std::move(curve)};
}

Allocator allocator_of(const Timeline& timeline) {
  Allocator all;
  const auto add = [](std::optional<double>& sum, double value) { sum = sum.value_or(0.0) + value; };
  for (const CounterTrack& counter : timeline.counters) {
    if (counter.samples.empty()) continue;
    if (counter.name.starts_with(allocated_counter)) {
      add(all.allocated, counter.samples.back().value);
      add(all.peak, std::ranges::max(counter.samples, {}, &CounterSample::value).value);
    } else if (counter.name.starts_with(reserved_counter)) {
      add(all.reserved, counter.samples.back().value);
    }
  }
  return all;
}

namespace {

std::vector<ResultTable> tables(const Linked& linked, std::string_view /*by*/) {
  const Allocator allocator = allocator_of(linked.timeline);
  std::vector<ResultTable> all = memory_tables(analyze(linked), allocator);
  all.push_back({"", columns_of("peak_bytes; allocated_bytes; reserved_bytes")});
  all.back().add({or_absent(allocator.peak, no_allocator), or_absent(allocator.allocated, no_allocator),
                  or_absent(allocator.reserved, no_allocator)});
  return all;
}

}  // namespace

extern const Analysis memory_analysis{"memory", "Show GPU memory over time, its peak, and what was never freed",
                                      tables};

}  // namespace gpubench::timeline
