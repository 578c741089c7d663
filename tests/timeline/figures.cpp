// SPDX-License-Identifier: Apache-2.0
// Prints what the analyses say of traces, for docs/results: trace_figures TRACE...
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/writers.h"

namespace {

using namespace gpubench;

/// From, to and whether it computes; ends are those of the slice, or of Meta's HTA 0.5: whole microseconds inwards.
struct Stretch {
  std::int64_t from, to;
  bool compute;
};

std::int64_t covered(const std::vector<Stretch>& stretches, bool compute_alone) {
  std::int64_t total = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const auto& [from, to, compute] : stretches) {
    if (compute_alone && !compute) continue;
    if (from > end)
      total += to - from, end = to;
    else if (to > end)
      total += to - end, end = to;
  }
  return total;
}

/// The temporal breakdown as HTA makes it: without the last step's work but for the kernel that it begins with.
void print_breakdown(const timeline::Timeline& timeline, bool rounded) {
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max() - 1;
  std::string name;
  for (const timeline::Slice& slice : timeline.slices) {
    const std::string& text = timeline.names.text(slice.name);
    if (slice.kind == timeline::SliceKind::other && text.starts_with("ProfilerStep#") && text >= name &&
        timeline.tracks[slice.track].kind == timeline::TrackKind::other) {
      if (text != name) last_step = slice.start_ns;
      name = text;
    }
  }
  const std::int64_t base = timeline.base_ns % 1000;
  std::vector<Stretch> stretches;
  for (const timeline::Slice& slice : timeline.slices) {
    if (!timeline::occupies_gpu(slice.kind) || slice.start_ns > last_step + 1) continue;
    const std::int64_t from = slice.start_ns + base, to = slice.end_ns() + base;
    stretches.push_back({rounded ? (from + 999) / 1000 * 1000 : from, rounded ? to / 1000 * 1000 : to,
                         slice.kind == timeline::SliceKind::kernel});
  }
  if (stretches.empty()) return;
  std::ranges::sort(stretches, {}, [](const Stretch& one) { return std::pair(one.from, one.to); });
  const std::int64_t busy = covered(stretches, false), compute = covered(stretches, true);
  const std::int64_t all = std::ranges::max(stretches, {}, &Stretch::to).to - stretches.front().from;
  fmt::print("  {}: idle {:.3f}, compute {:.3f}, other work {:.3f}, from first to last {:.3f} us\n",
             rounded ? "whole microseconds inwards, as HTA" : "the same work, exactly",
             static_cast<double>(all - busy) / 1e3, static_cast<double>(compute) / 1e3,
             static_cast<double>(busy - compute) / 1e3, static_cast<double>(all) / 1e3);
}

void print(const char* file) {
  const auto begin = std::chrono::steady_clock::now();
  const timeline::Timeline timeline = timeline::read_timeline(std::filesystem::path(file));
  const Program program = timeline::analyze(timeline);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {} slices, read and analysed in {}\n", file, timeline.slices.size(), format_seconds(took.count()));
  for (const GpuTime& gpu : program.gpus) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0, kernels = 0;
    std::map<timeline::SliceKind, std::int64_t> sums;
    for (const timeline::Slice& slice : timeline.slices) {
      if (!timeline::occupies_gpu(slice.kind)) continue;
      first = std::min(first, slice.start_ns);
      last = std::max(last, slice.end_ns());
      sums[slice.kind] += slice.duration_ns;
      kernels += slice.duration_ns;
    }
    fmt::print("  {}: first to last work {:.3f} us, all durations {:.3f} us\n", gpu.device,
               static_cast<double>(last - first) / 1e3, static_cast<double>(kernels) / 1e3);
    fmt::print("  busy {:.3f}, compute {:.3f}, memory {:.3f}, communication {:.3f}, of it under compute {:.3f} us\n",
               gpu.busy_seconds * 1e6, gpu.compute_seconds * 1e6, gpu.memory_seconds * 1e6,
               gpu.communication_seconds * 1e6, gpu.communication_overlap_seconds * 1e6);
    for (const Idle& idle : gpu.idle)
      fmt::print("  idle, {}: {:.3f} us in {} gaps\n", name_of(idle.cause), idle.seconds * 1e6, idle.gaps);
    fmt::print("  {} launches, {} a call\n", gpu.launches,
               gpu.launch_call_seconds ? format_seconds(*gpu.launch_call_seconds) : "not known");
  }
  print_breakdown(timeline, true);
  print_breakdown(timeline, false);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_name;
  for (const timeline::Slice& slice : timeline.slices)
    if (timeline::occupies_gpu(slice.kind)) {
      auto& [count, sum] = by_name[timeline.names.text(slice.name)];
      ++count;
      sum += slice.duration_ns;
    }
  std::vector<std::pair<std::int64_t, std::string>> top;
  for (const auto& [name, sum] : by_name) top.emplace_back(sum.second, name);
  std::ranges::sort(top, std::ranges::greater());
  for (std::size_t i = 0; i < std::min<std::size_t>(top.size(), 5); ++i)
    fmt::print("  {:>12.3f} us {:>5} x {:.70}\n", static_cast<double>(top[i].first) / 1e3, by_name[top[i].second].first,
               top[i].second);
  for (const Finding& finding : program.findings) fmt::print("  - {}\n", finding.text);
  for (const std::string& warning : timeline.warnings) fmt::print("  warning: {}\n", warning);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string_view(argv[1]) == "--write") {
      timeline::write(timeline::read_timeline(std::filesystem::path(argv[2])), argv[3]);
      return 0;
    }
    for (int i = 1; i < argc; ++i) print(argv[i]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
