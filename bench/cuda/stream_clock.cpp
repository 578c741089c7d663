// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cuda/chains.h"
#include "bench/cuda/device_timing.h"
#include "bench/cuda/handles.h"
#include "bench/cuda/harness_kernels.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// CUDA events around executions that follow each other, less events around nothing.
class StreamClock final : public Timer {
 public:
  /// Enqueues batches while the stream is held, of at most `longest` executions.
  StreamClock(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, std::int64_t longest)
      : StreamClock(std::move(batch), stream) {
    blocker_ = &blocker;
    longest_ = longest;
    time_nothing();
  }
  /// Times executions one by one, each behind `before`, launched as the host can.
  StreamClock(DeviceBatch batch, cudaStream_t stream, std::function<void()> before)
      : StreamClock(std::move(batch), stream) {
    before_ = std::move(before);
    longest_ = 1;
    time_nothing();
  }
  /// Batches are launched as the host can.
  StreamClock(DeviceBatch batch, cudaStream_t stream) : stream_(stream), batch_(std::move(batch)), sm_clock_(stream) {}

  double time(std::int64_t executions) override { return run(executions) - nothing_seconds_; }
  /// An event pair around nothing costs 1 to 6 us, below 0.5 % of 2 ms. In a held stream some 0.1 us is left of it.
  [[nodiscard]] double min_batch_seconds() const override {
    return before_ ? 0.0 : blocker_ != nullptr ? 0.3e-3 : 2e-3;
  }
  [[nodiscard]] std::int64_t max_executions() const override { return longest_; }
  [[nodiscard]] bool may_be_negative() const override { return before_ || blocker_ != nullptr; }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return sm_clock_.hertz(); }
  [[nodiscard]] std::optional<double> host_seconds() override { return host_seconds_; }
  double now() override { return steady_seconds(); }
  [[nodiscard]] Clock clock() const override { return Clock::stream; }
  [[nodiscard]] std::string method(std::int64_t executions) const override {
    if (before_)
      return "CUDA events around one execution, launched as the host can, less events around nothing; inputs reset "
             "before each, untimed";
    return fmt::format("CUDA events around {} back-to-back execution{} a sample, {}", executions,
                       executions == 1 ? "" : "s",
                       blocker_ != nullptr ? "enqueued while the stream was held, less events around nothing"
                                           : "launched as the host can");
  }

 private:
  void time_nothing() {
    std::vector<double> seconds(9);
    for (double& each : seconds) each = run(0);
    nothing_seconds_ = statistics::median(seconds);
  }
  double run(std::int64_t executions) {
    if (before_) before_();
    if (blocker_ != nullptr)
      blocker_->hold_while([&] { enqueue(executions); });
    else
      enqueue(executions);
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    stop_.wait();
    const double seconds = seconds_between(start_, stop_);
    if (blocker_ != nullptr) blocker_->check();
    return seconds;
  }
  void enqueue(std::int64_t executions) {
    sm_clock_.begin();
    start_.record(stream_);
    const double before = steady_seconds();
    if (executions > 0) batch_(stream_, executions);
    host_seconds_ = steady_seconds() - before;
    stop_.record(stream_);
    sm_clock_.end();
  }

  cudaStream_t stream_;
  DeviceBatch batch_;
  SmClock sm_clock_;
  Blocker* blocker_ = nullptr;
  std::function<void()> before_;
  std::int64_t longest_ = 1'000'000;
  Event start_;
  Event stop_;
  double host_seconds_ = 0.0;
  double nothing_seconds_ = 0.0;
};

}  // namespace

std::unique_ptr<Timer> stream_clock_behind(DeviceBatch batch, std::function<void()> before, cudaStream_t stream,
                                           Blocker& blocker) {
  const auto both = [&](cudaStream_t on, std::int64_t executions) {
    before();
    batch(on, executions);
  };
  // What cannot be captured may wait for the GPU, and then the stream must not be held.
  if (!capture(both, 1, stream)) return std::make_unique<StreamClock>(std::move(batch), stream, std::move(before));
  auto timer = std::make_unique<HeldChains>(stream, blocker, std::move(batch), 0, Chill{std::move(before), 1});
  return std::make_unique<DifferenceClock>(
      std::move(timer), 0, 0.0, "enqueued while the stream was held; inputs reset before each, untimed", Clock::stream);
}

std::unique_ptr<Timer> stream_clock(DeviceBatch batch, cudaStream_t stream, Blocker& blocker) {
  const auto graph = capture(batch, 1, stream);
  if (!graph) return std::make_unique<StreamClock>(std::move(batch), stream);
  // A stream takes some 1000 launches before the host has to wait; 400 of nothing take half a millisecond.
  constexpr std::int64_t max_launches = 400;
  constexpr std::int64_t max_launches_of_one = 800;
  const GraphContent content = content_of(graph->get());
  const auto launches = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
  if (launches > max_launches_of_one) return std::make_unique<StreamClock>(std::move(batch), stream);
  const std::int64_t longest = std::max<std::int64_t>(max_launches / std::max<std::int64_t>(launches, 1), 1);
  return std::make_unique<StreamClock>(std::move(batch), stream, blocker, longest);
}

}  // namespace gpubench::bench
