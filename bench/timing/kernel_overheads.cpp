// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/kernel_overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/timing/blocked_stream_timer.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

using Shapes = std::vector<LaunchShape>;

Batch idle_batch(Gpu& gpu, Shapes shapes, long long cycles) {
  return [&gpu, shapes = std::move(shapes), cycles](Stream stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i)
      for (const auto& shape : shapes) gpu.launch_idle(shape, cycles, stream);
  };
}

/// Seconds that one more execution adds to a chain.
double slope(ChainTimer& timer, std::int64_t short_length) {
  const std::int64_t long_length = std::clamp<std::int64_t>(timer.longest(), short_length + 1, short_length + 100);
  const auto pair = timer.time(short_length, long_length);
  return (pair.long_seconds - pair.short_seconds) / static_cast<double>(long_length - short_length);
}

/// What kernels cost before and after their work. Idle kernels of c cycles add F + c to a chain and those of 2 c cycles
/// F + 2 c, so twice the one less the other is F, whatever the clock. Kernels that end at once would not do, because
/// the GPU prepares a launch while the kernel before works. What idle kernels overstay c and 2 c comes off.
Estimate kernel_overhead(ChainTimer& once, ChainTimer& twice, std::int64_t short_length, double overstay_seconds) {
  constexpr std::size_t min_samples = 15;
  constexpr std::size_t max_samples = 31;
  constexpr double narrow_seconds = 3e-9;  // of the interval: more samples would narrow no operation's own
  const auto cost = [&] { return 2.0 * slope(once, short_length) - slope(twice, short_length) - overstay_seconds; };
  cost();  // warms up
  std::vector<double> costs;
  Estimate estimate;
  do {
    const double next = cost();
    costs.insert(std::ranges::upper_bound(costs, next), next);
    if (costs.size() >= min_samples) estimate = {statistics::median(costs), statistics::median_ci95(costs)};
  } while (costs.size() < min_samples ||
           (costs.size() < max_samples && estimate.ci95.high - estimate.ci95.low > narrow_seconds));
  return estimate;
}

constexpr long long idle_cycles = 2000;  // about 1 us

/// By how much the overhead of kernels of these shapes comes out too large, because idle kernels overstay.
double idle_overstay_seconds(Gpu& gpu, const Shapes& shapes) {
  // A few tens of cycles: a clock that is a tenth below the highest makes 2 ns of difference.
  const double max_clock_hz = gpu.device().max_clock_hz.value_or(0.0);
  if (!(max_clock_hz > 0.0)) return 0.0;
  double cycles = 0.0;
  for (const LaunchShape& shape : shapes)
    cycles += 2.0 * gpu.overstay_cycles(shape, idle_cycles) - gpu.overstay_cycles(shape, 2 * idle_cycles);
  return cycles / max_clock_hz;
}

bool is_one_by_one(ChainKind kind) { return kind >= ChainKind::single; }

}  // namespace

std::vector<LaunchShape> one_block() { return {{{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}}}; }

Substitute substitute_for(const GraphContent& content, int multiprocessors) {
  if (!content.entangled.empty()) return {{}, content.entangled + ", so nothing is taken off"};
  if (content.kernels.empty()) return {{}, "no kernels, so nothing is taken off"};
  Substitute result;
  for (const auto& kernel : content.kernels) result.shapes.push_back(one_block_each(kernel.shape, multiprocessors));
  const std::size_t count = content.kernels.size();
  result.note = count == 1 ? "less the overhead of one kernel" : fmt::format("less the overhead of {} kernels", count);
  if (content.other_nodes > 0)
    result.note += fmt::format("; {} copies, fills or host functions are not taken off", content.other_nodes);
  return result;
}

std::unique_ptr<ChainTimer> KernelOverheads::idle_timer(const std::vector<LaunchShape>& shapes, ChainKind kind,
                                                        const std::function<void()>& flush, long long cycles) const {
  auto idle = idle_batch(gpu_, shapes, cycles);
  const auto nodes = kind == ChainKind::graphs ? static_cast<std::int64_t>(shapes.size()) : 0;
  return std::make_unique<BlockedStreamTimer>(gpu_, std::move(idle), nodes,
                                              is_one_by_one(kind) ? ColdStart{flush, 1} : ColdStart{});
}

void KernelOverheads::forget_if_changed() {
  constexpr double noticeable_seconds = 40e-9;
  constexpr int samples = 5;
  constexpr std::int64_t short_length = 10;
  constexpr double valid_seconds = 1.0;
  constexpr int looks = 4;
  const double time = gpu_.now();
  if (time - watched_time_ < valid_seconds) return;
  watched_time_ = time;
  if (!watched_) {
    idle_batch(gpu_, one_block(), 1)(gpu_.stream(), 1);  // loads the kernel
    watched_ = idle_timer(one_block(), ChainKind::graphs, nullptr, 1);
    slope(*watched_, short_length);
  }
  double now = 0.0;
  for (int look = 0; look < looks; ++look) {  // a GPU that was idle, or a busy host, differs for some milliseconds
    std::vector<double> seconds(samples);
    for (double& each : seconds) each = slope(*watched_, short_length);
    now = statistics::median(seconds);
    if (std::abs(now - watched_seconds_) <= noticeable_seconds) return;
  }
  known_.clear();
  watched_seconds_ = now;
}

Estimate KernelOverheads::of(const std::vector<LaunchShape>& shapes, ChainKind kind,
                             const std::function<void()>& flush) {
  forget_if_changed();
  const auto found =
      std::ranges::find_if(known_, [&](const Known& one) { return one.kind == kind && one.shapes == shapes; });
  if (found != known_.end()) return found->seconds;
  idle_batch(gpu_, shapes, 1)(gpu_.stream(), 1);  // loads the kernel, and shows that these shapes can be launched
  const auto once = idle_timer(shapes, kind, flush, idle_cycles);
  const auto twice = idle_timer(shapes, kind, flush, 2 * idle_cycles);
  const std::int64_t short_length = is_one_by_one(kind) ? 0 : 10;
  constexpr std::size_t max_known = 1000;  // a process may go on for days
  if (known_.size() >= max_known) known_.clear();
  known_.push_back({shapes, kind, kernel_overhead(*once, *twice, short_length, idle_overstay_seconds(gpu_, shapes))});
  return known_.back().seconds;
}

Estimate KernelOverheads::device_seconds(const Batch& batch) {
  constexpr int samples = 31;
  constexpr std::int64_t short_length = 10;
  batch(gpu_.stream(), 1);  // loads the kernels
  const auto graph = gpu_.capture(batch, 1);
  if (!graph) throw GpuError("kernels of the harness could not be captured in a graph");
  const Substitute substitute = substitute_for(graph->content(), gpu_.device().units);
  const Estimate overhead = of(substitute.shapes, ChainKind::graphs, nullptr);
  BlockedStreamTimer timer(gpu_, batch, static_cast<std::int64_t>(substitute.shapes.size()));
  slope(timer, short_length);  // warms up
  std::vector<double> seconds(samples);
  for (double& each : seconds) each = slope(timer, short_length) - overhead.value;
  std::sort(seconds.begin(), seconds.end());
  return {statistics::median(seconds), statistics::median_ci95(seconds)};
}

}  // namespace gpubench::bench
