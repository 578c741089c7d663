// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/device_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bench/cuda/chains.h"
#include "bench/difference_clock.h"
#include "statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// The chains and the clock that reads them, together.
class OwningClock final : public Clock {
 public:
  OwningClock(std::unique_ptr<ChainTimer> timer, std::int64_t short_length, double fixed_seconds, std::string note)
      : timer_(std::move(timer)), clock_(*timer_, short_length, fixed_seconds, std::move(note)) {}
  double time(std::int64_t executions) override { return clock_.time(executions); }
  [[nodiscard]] double least_batch_seconds() const override { return clock_.least_batch_seconds(); }
  [[nodiscard]] std::int64_t most_executions() const override { return clock_.most_executions(); }
  [[nodiscard]] bool may_be_negative() const override { return clock_.may_be_negative(); }
  double now() override { return clock_.now(); }
  [[nodiscard]] std::string_view question() const override { return clock_.question(); }
  [[nodiscard]] std::string method(std::int64_t executions) const override { return clock_.method(executions); }

 private:
  std::unique_ptr<ChainTimer> timer_;
  DifferenceClock clock_;
};

/// What one link of a chain of empties costs: the median over differences of a long and a short chain.
Estimate cost_of_empties(ChainTimer& timer) {
  constexpr int samples = 31;
  const std::int64_t short_length = 10;
  const std::int64_t long_length = std::clamp<std::int64_t>(timer.longest(), short_length + 1, short_length + 200);
  std::vector<double> costs;
  for (int i = 0; i < samples + 1; ++i) {
    const auto pair = timer.time(short_length, long_length);
    if (i > 0)  // the first one warms up
      costs.push_back((pair.long_seconds - pair.short_seconds) / static_cast<double>(long_length - short_length));
  }
  std::sort(costs.begin(), costs.end());
  return {statistics::median(costs), statistics::median_ci95(costs)};
}

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

DeviceTiming device_timing(DeviceBatch batch, double one_execution_seconds, cudaStream_t stream, Blocker& blocker) {
  DeviceTiming timing;
  const std::int64_t short_length = short_chain(one_execution_seconds);
  const auto graph = capture(batch, 1, stream);
  std::unique_ptr<ChainTimer> timer;
  std::unique_ptr<ChainTimer> empties;
  std::string note;
  if (graph) {
    const GraphContent content = content_of(graph->get());
    const auto nodes = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
    if (nodes == 0) {
      timing.reason = "the operation enqueues nothing on its stream";
      return timing;
    }
    timer = std::make_unique<GraphChains>(stream, blocker, std::move(batch), nodes);
    if (!content.entangled.empty()) {
      note = content.entangled + ", so nothing is taken off";
    } else if (content.kernels.empty()) {
      note = "no kernels, so nothing is taken off";
    } else {
      std::vector<LaunchShape> shapes;
      for (const auto& shape : content.kernels) shapes.push_back(one_block_each(shape));
      for (const auto& shape : shapes) launch_empty(shape, stream);  // loads the kernel, and shows that it can be launched
      note = fmt::format("less as much for {} in place of its {}", shapes.size() == 1 ? "an empty kernel" : "empty kernels",
                         plural(shapes.size(), "kernel"));
      if (content.other_nodes > 0)
        note += fmt::format("; its {} have no empty counterpart",
                            plural(static_cast<std::size_t>(content.other_nodes), "copy, fill or host function"));
      const DeviceBatch empty_batch = [shapes](cudaStream_t on, std::int64_t executions) {
        for (std::int64_t i = 0; i < executions; ++i)
          for (const auto& shape : shapes) launch_empty(shape, on);
      };
      empties = std::make_unique<GraphChains>(stream, blocker, empty_batch, static_cast<std::int64_t>(shapes.size()));
    }
  } else {
    timer = std::make_unique<LaunchChains>(stream, blocker, std::move(batch));
    const LaunchShape one = {{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}};
    launch_empty(one, stream);
    note = "it cannot be captured in a graph; less as much for one empty kernel an execution";
    empties = std::make_unique<LaunchChains>(stream, blocker, [one](cudaStream_t on, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) launch_empty(one, on);
    });
  }
  if (empties) timing.fixed_seconds = cost_of_empties(*empties);
  timing.clock = std::make_unique<OwningClock>(std::move(timer), short_length,
                                               timing.fixed_seconds ? timing.fixed_seconds->value : 0.0, note);
  return timing;
}

}  // namespace gpubench::bench
