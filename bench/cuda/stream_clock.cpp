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

class StreamClock : public Timer {
 public:
  StreamClock(DeviceBatch batch, cudaStream_t stream) : stream_(stream), batch_(std::move(batch)), sm_clock_(stream) {}

  [[nodiscard]] std::optional<double> device_clock_hz() override { return sm_clock_.hertz(); }
  [[nodiscard]] std::optional<double> host_seconds() override { return host_seconds_; }
  double now() override { return steady_seconds(); }
  [[nodiscard]] Clock clock() const override { return Clock::stream; }

 protected:
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void enqueue(std::int64_t executions) {
    sm_clock_.begin();
    start_.record(stream_);
    const double before = steady_seconds();
    if (executions > 0) batch_(stream_, executions);
    host_seconds_ = steady_seconds() - before;
    stop_.record(stream_);
    sm_clock_.end();
  }
  /// Seconds between the events, once they have passed.
  double elapsed() {
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    stop_.wait();
    return seconds_between(start_, stop_);
  }

 private:
  cudaStream_t stream_;
  DeviceBatch batch_;
  SmClock sm_clock_;
  Event start_;
  Event stop_;
  double host_seconds_ = 0.0;
};

std::string executions_text(std::int64_t count) {
  return fmt::format("{} back-to-back execution{}", count, count == 1 ? "" : "s");
}

class FreeStreamClock final : public StreamClock {
 public:
  using StreamClock::StreamClock;
  double time(std::int64_t executions) override {
    enqueue(executions);
    return elapsed();
  }
  /// An event pair around nothing costs 1 to 6 us on current GPUs: below 0.5 % of two milliseconds.
  [[nodiscard]] double min_batch_seconds() const override { return 2e-3; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override {
    return fmt::format("CUDA events around {} a sample, launched as the host can",
                       executions_text(executions_per_sample));
  }
};

class HeldStreamClock final : public StreamClock {
 public:
  HeldStreamClock(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, std::int64_t longest)
      : StreamClock(std::move(batch), stream), blocker_(blocker), longest_(longest) {
    constexpr int samples = 9;
    std::vector<double> pairs(samples);
    for (double& pair : pairs) pair = held(0);
    nothing_seconds_ = statistics::median(pairs);
  }
  double time(std::int64_t executions) override { return held(executions) - nothing_seconds_; }
  /// What is left of the events' cost and quantum, some 0.1 us, is then below 0.05 %.
  [[nodiscard]] double min_batch_seconds() const override { return 0.3e-3; }
  [[nodiscard]] std::int64_t max_executions() const override { return longest_; }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override {
    return fmt::format("CUDA events around {} a sample, enqueued while the stream was held, less events around nothing",
                       executions_text(executions_per_sample));
  }

 private:
  double held(std::int64_t executions) {
    blocker_.hold_while([&] { enqueue(executions); });
    const double seconds = elapsed();
    blocker_.check();
    return seconds;
  }

  Blocker& blocker_;
  std::int64_t longest_;
  double nothing_seconds_ = 0.0;
};

/// For executions that follow something and that cannot be enqueued while the stream is held.
class FreeClockBehind final : public StreamClock {
 public:
  FreeClockBehind(DeviceBatch batch, std::function<void()> before, cudaStream_t stream)
      : StreamClock(std::move(batch), stream), before_(std::move(before)) {
    constexpr int samples = 9;
    std::vector<double> pairs(samples);
    for (double& pair : pairs) pair = behind(0);
    nothing_seconds_ = statistics::median(pairs);
  }
  double time(std::int64_t executions) override {
    double sum = 0.0;
    for (std::int64_t i = 0; i < executions; ++i) sum += behind(1) - nothing_seconds_;
    return sum;
  }
  [[nodiscard]] double min_batch_seconds() const override { return 0.0; }
  [[nodiscard]] std::int64_t max_executions() const override { return 1; }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  [[nodiscard]] std::string method(std::int64_t) const override {
    return "CUDA events around one execution, launched as the host can, less events around nothing; inputs reset "
           "before "
           "each, untimed";
  }

 private:
  double behind(std::int64_t executions) {
    before_();
    enqueue(executions);
    return elapsed();
  }

  std::function<void()> before_;
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
  if (!capture(both, 1, stream)) return std::make_unique<FreeClockBehind>(std::move(batch), std::move(before), stream);
  auto timer = std::make_unique<LaunchChains>(stream, blocker, std::move(batch), Chill{std::move(before), 1});
  return std::make_unique<DifferenceClock>(
      std::move(timer), 0, 0.0, "enqueued while the stream was held; inputs reset before each, untimed", Clock::stream);
}

std::unique_ptr<Timer> stream_clock(DeviceBatch batch, cudaStream_t stream, Blocker& blocker) {
  const auto graph = capture(batch, 1, stream);
  if (!graph) return std::make_unique<FreeStreamClock>(std::move(batch), stream);
  // A stream takes some 1000 launches before the host has to wait; 400 of nothing take half a millisecond.
  constexpr std::int64_t max_launches = 400;
  constexpr std::int64_t max_launches_of_one = 800;
  const GraphContent content = content_of(graph->get());
  const auto launches = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
  if (launches > max_launches_of_one) return std::make_unique<FreeStreamClock>(std::move(batch), stream);
  const std::int64_t longest = std::max<std::int64_t>(max_launches / std::max<std::int64_t>(launches, 1), 1);
  return std::make_unique<HeldStreamClock>(std::move(batch), stream, blocker, longest);
}

}  // namespace gpubench::bench
