// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/device_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bench/clocks/difference_clock.h"
#include "bench/cuda/chains.h"
#include "bench/cuda/handles.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

using Shapes = std::vector<LaunchShape>;

DeviceBatch idle_batch(Shapes shapes, long long cycles) {
  return [shapes = std::move(shapes), cycles](cudaStream_t stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i)
      for (const auto& shape : shapes) launch_idle(shape, cycles, stream);
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
  constexpr int samples = 31;
  std::vector<double> costs;
  for (int i = 0; i < samples + 1; ++i) {
    const double cost = 2.0 * slope(once, short_length) - slope(twice, short_length) - overstay_seconds;
    if (i > 0) costs.push_back(cost);  // the first one warms up
  }
  std::sort(costs.begin(), costs.end());
  return {statistics::median(costs), statistics::median_ci95(costs)};
}

constexpr long long idle_cycles = 2000;  // about 1 us

/// What the idle kernels that stand for an operation are, and how that is said.
struct Substitute {
  Shapes shapes;  ///< empty when nothing can be taken off
  std::string note;
};

Substitute substitute_for(const GraphContent& content) {
  if (!content.entangled.empty()) return {{}, content.entangled + ", so nothing is taken off"};
  if (content.kernels.empty()) return {{}, "no kernels, so nothing is taken off"};
  Substitute result;
  for (const auto& kernel : content.kernels) result.shapes.push_back(one_block_each(kernel.shape));
  const std::size_t count = content.kernels.size();
  result.note = count == 1 ? "less the overhead of one kernel" : fmt::format("less the overhead of {} kernels", count);
  if (content.other_nodes > 0)
    result.note += fmt::format("; {} copies, fills or host functions are not taken off", content.other_nodes);
  return result;
}

/// One execution behind each flush: what is left where buffers do not take turns.
bool is_single(const ColdExecutions* cold) { return cold != nullptr && cold->turns.copies == 0; }

Chill chill_of(const ColdExecutions* cold) {
  if (cold == nullptr) return {};
  if (is_single(cold)) return {cold->flush, 1};
  return {cold->flush, cold->turns.endless ? Chill{}.longest : cold->turns.copies};
}

/// The short chain is long enough for the cache to come to write back as much as the operation writes.
std::int64_t short_length_of(const ColdExecutions* cold, double one_execution_seconds, std::int64_t longest) {
  if (is_single(cold)) return 0;
  const std::int64_t length = short_chain(one_execution_seconds);
  return cold == nullptr ? length : std::min(std::max(cold->turns.settling, length), longest / 2);
}

/// Seconds of one execution by two events, the least of three: an estimate.
double about_seconds(const DeviceBatch& batch, cudaStream_t stream) {
  Event start;
  Event stop;
  double min = 0.0;
  for (int i = 0; i < 3; ++i) {
    start.record(stream);
    batch(stream, 1);
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    stop.record(stream);
    stop.wait();
    const double seconds = seconds_between(start, stop);
    min = i == 0 ? seconds : std::min(min, seconds);
  }
  return min;
}

}  // namespace

double idle_overstay_seconds(const std::vector<LaunchShape>& shapes, cudaStream_t stream) {
  // A few tens of cycles: a clock that is a tenth below the highest makes 2 ns of difference.
  const int kilohertz = device_attribute(cudaDevAttrClockRate);
  double cycles = 0.0;
  for (const LaunchShape& shape : shapes)
    cycles += 2.0 * overstay_cycles(shape, idle_cycles, stream) - overstay_cycles(shape, 2 * idle_cycles, stream);
  return cycles / (1e3 * kilohertz);
}

std::unique_ptr<ChainTimer> KernelOverheads::idle_timer(const std::vector<LaunchShape>& shapes, ChainKind kind,
                                                        const std::function<void()>& flush, long long cycles) const {
  auto idle = idle_batch(shapes, cycles);
  const bool one_by_one = kind == ChainKind::single || kind == ChainKind::behind_kernel;
  const auto nodes = kind == ChainKind::graphs ? static_cast<std::int64_t>(shapes.size()) : 0;
  return std::make_unique<HeldChains>(stream_, blocker_, std::move(idle), nodes,
                                      one_by_one ? Chill{flush, 1} : Chill{});
}

void KernelOverheads::forget_if_changed() {
  const std::vector<LaunchShape> one_block = {{{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}}};
  constexpr double noticeable_seconds = 40e-9;
  constexpr int samples = 5;
  constexpr std::int64_t short_length = 10;
  if (!watched_) {
    idle_batch(one_block, 1)(stream_, 1);  // loads the kernel
    watched_ = idle_timer(one_block, ChainKind::graphs, nullptr, 1);
    slope(*watched_, short_length);
  }
  std::vector<double> seconds(samples);
  for (double& each : seconds) each = slope(*watched_, short_length);
  const double now = statistics::median(seconds);
  if (std::abs(now - watched_seconds_) <= noticeable_seconds) return;
  known_.clear();
  watched_seconds_ = now;
}

Estimate KernelOverheads::of(const std::vector<LaunchShape>& shapes, ChainKind kind,
                             const std::function<void()>& flush) {
  forget_if_changed();
  const auto known =
      std::ranges::find_if(known_, [&](const Entry& entry) { return entry.kind == kind && entry.shapes == shapes; });
  if (known != known_.end()) return known->seconds;
  idle_batch(shapes, 1)(stream_, 1);  // loads the kernel, and shows that these shapes can be launched
  const auto once = idle_timer(shapes, kind, flush, idle_cycles);
  const auto twice = idle_timer(shapes, kind, flush, 2 * idle_cycles);
  const bool one_by_one = kind == ChainKind::single || kind == ChainKind::behind_kernel;
  const std::int64_t short_length = one_by_one ? 0 : 10;
  known_.push_back(
      {shapes, kind, kernel_overhead(*once, *twice, short_length, idle_overstay_seconds(shapes, stream_))});
  return known_.back().seconds;
}

std::function<void()> chain(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream) {
  const auto graph = capture(batch, executions, stream);
  const auto in_graph = graph ? std::make_shared<GraphExec>(*graph) : nullptr;
  return [batch, executions, stream, in_graph] {
    if (in_graph)
      in_graph->launch(stream);
    else
      batch(stream, executions);
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
  };
}

DeviceTiming device_timing(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, KernelOverheads& overheads,
                           const ColdExecutions* cold) {
  DeviceTiming timing;
  // Single executions need no estimate, and one that is reset before each must not run without that.
  const double one_execution_seconds = is_single(cold) ? 0.0 : about_seconds(batch, stream);
  const auto graph = capture(batch, 1, stream);
  const bool in_graphs = graph && !is_single(cold);
  std::int64_t nodes = 0;  // of one execution
  Substitute substitute;
  if (graph) {
    const GraphContent content = content_of(graph->get());
    nodes = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
    if (nodes == 0) {
      timing.reason = "the operation enqueues nothing on its stream";
      return timing;
    }
    substitute = substitute_for(content);
  } else {
    substitute = {{{{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}}},
                  "it cannot be captured in a graph; less the overhead of a kernel of one block"};
  }
  if (cold != nullptr && !cold->note.empty()) substitute.note += "; " + cold->note;
  auto timer = std::make_unique<HeldChains>(stream, blocker, std::move(batch), in_graphs ? nodes : 0, chill_of(cold));
  if (!substitute.shapes.empty()) {
    using ChainKind = KernelOverheads::ChainKind;
    const bool behind_kernel = cold != nullptr && cold->before_idle;
    const ChainKind kind = behind_kernel     ? ChainKind::behind_kernel
                           : is_single(cold) ? ChainKind::single
                           : in_graphs       ? ChainKind::graphs
                                             : ChainKind::launches;
    const auto before = behind_kernel ? cold->before_idle : cold != nullptr ? cold->flush : nullptr;
    timing.kernel_overhead_seconds = overheads.of(substitute.shapes, kind, before);
  }
  const std::int64_t short_length = short_length_of(cold, one_execution_seconds, timer->longest());
  timing.clock = std::make_unique<DifferenceClock>(
      std::move(timer), short_length, timing.kernel_overhead_seconds ? timing.kernel_overhead_seconds->value : 0.0,
      substitute.note);
  return timing;
}

}  // namespace gpubench::bench
