// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/gpu_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/timing/blocked_stream_timer.h"
#include "bench/timing/host_timer.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// A stream takes some 1000 launches before the host has to wait. Chains of so many nodes an execution fit twice.
constexpr std::int64_t max_held_nodes = 20;
constexpr std::int64_t max_held_launches = 800;
/// What does not depend on the operation holds for so long: the host's clock may change.
constexpr double known_for_seconds = 10.0;

/// One execution behind each flush: what is left where buffers do not rotate.
bool is_single(const ColdExecutions* cold) { return cold != nullptr && cold->rotation.copies == 0; }

ColdStart cold_of(const ColdExecutions* cold) {
  if (cold == nullptr) return {};
  if (is_single(cold)) return {cold->flush, 1};
  return {cold->flush, cold->rotation.endless ? ColdStart{}.longest : cold->rotation.copies};
}

/// The short chain is long enough for the cache to come to write back as much as the operation writes.
std::int64_t short_length_of(const ColdExecutions* cold, double one_execution_seconds, std::int64_t longest) {
  if (is_single(cold)) return 0;
  const std::int64_t length = short_chain(one_execution_seconds);
  return cold == nullptr ? length : std::min(std::max(cold->rotation.settling, length), longest / 2);
}

/// Seconds of one execution by two events, the least of three: an estimate.
double about_seconds(Gpu& gpu, const Batch& batch) {
  EventTimer timer = event_timer(gpu);
  const auto once = [&] {
    return timer.seconds([&] {
      batch(gpu.stream(), 1);
      gpu.check_launches();
    });
  };
  return std::min({once(), once(), once()});
}

/// So many executions of `about_seconds` take `seconds`; one where that is not known.
std::int64_t executions_for(double seconds, double about_seconds, std::int64_t most) {
  if (!(about_seconds > 0.0)) return 1;
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds / about_seconds), 1.0, static_cast<double>(most)));
}

/// CUDA events around executions that follow each other, less events around nothing.
class StreamTimer final : public Timer {
 public:
  /// Batches of at most `longest` executions: enqueued while the stream is `blocked`, or launched as the host can. With
  /// `before`, executions are timed one by one, each behind that.
  StreamTimer(Gpu& gpu, Batch batch, std::function<void()> before, bool blocked = false,
              std::int64_t longest = 1'000'000)
      : gpu_(gpu),
        batch_(std::move(batch)),
        clock_notes_(gpu.clock_notes()),
        blocked_(blocked),
        before_(std::move(before)),
        longest_(before_ ? 1 : longest) {
    if (before_) nothing_seconds_ = seconds_of_nothing();
  }

  /// Replays of a graph of so many launches.
  StreamTimer(Gpu& gpu, Batch replays, std::int64_t launches)
      : StreamTimer(gpu, std::move(replays), std::function<void()>()) {
    replayed_launches_ = launches;
  }

  /// What events around nothing show. To be taken off each time where the stream is held.
  double seconds_of_nothing() {
    std::vector<double> seconds(9);
    for (double& each : seconds) each = run(0);
    return statistics::median(seconds);
  }
  void take_off(double nothing_seconds) { nothing_seconds_ = nothing_seconds; }
  double time(std::int64_t executions) override { return run(executions) - nothing_seconds_; }
  /// An event pair around nothing costs 1 to 6 us, below 0.5 % of 2 ms. In a held stream some 0.1 us is left of it.
  [[nodiscard]] double min_batch_seconds() const override { return before_ ? 0.0 : blocked_ ? 0.3e-3 : 2e-3; }
  [[nodiscard]] double shortest_batch_seconds() const override { return blocked_ ? 0.05e-3 : min_batch_seconds(); }
  [[nodiscard]] std::int64_t max_executions() const override { return longest_; }
  /// What is left of the events is then 10 ns of each.
  [[nodiscard]] std::int64_t enough_executions() const override {
    return blocked_ ? std::min<std::int64_t>(longest_, 10) : longest_;
  }
  [[nodiscard]] std::int64_t first_executions() override {
    return before_ ? 1 : executions_for(2.0 * shortest_batch_seconds(), about_seconds_, enough_executions());
  }
  void expect(double about_seconds) { about_seconds_ = about_seconds; }
  [[nodiscard]] bool may_be_negative() const override { return before_ || blocked_; }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return clock_notes_.hertz(); }
  [[nodiscard]] std::optional<double> host_seconds() override {
    return replayed_launches_ > 0 ? std::nullopt : std::optional(host_seconds_);
  }
  double now() override { return gpu_.now(); }
  [[nodiscard]] TimingMode clock() const override { return TimingMode::stream; }
  [[nodiscard]] std::string method(std::int64_t executions) const override {
    if (before_)
      return "CUDA events around one execution, launched as the host can, less events around nothing; inputs reset "
             "before each, untimed";
    if (replayed_launches_ > 0)
      return fmt::format(
          "CUDA events around {} of a CUDA graph a sample: its {} launches are more than a held stream takes",
          plural(executions, "replay"), replayed_launches_);
    return fmt::format(
        "CUDA events around {} a sample, {}", plural(executions, "back-to-back execution"),
        blocked_ ? "enqueued while the stream was held, less events around nothing" : "launched as the host can");
  }

 private:
  double run(std::int64_t executions) {
    if (before_) before_();
    if (blocked_)
      gpu_.block_while([&] { enqueue(executions); });
    else
      enqueue(executions);
    gpu_.check_launches();
    stop_->wait();
    const double seconds = stop_->seconds_since(*start_);
    if (blocked_) gpu_.check_blocked();
    return seconds;
  }
  void enqueue(std::int64_t executions) {
    clock_notes_.begin();
    start_->record(gpu_.stream());
    const double before = gpu_.now();
    if (executions > 0) batch_(gpu_.stream(), executions);
    host_seconds_ = gpu_.now() - before;
    stop_->record(gpu_.stream());
    clock_notes_.end();
  }

  Gpu& gpu_;
  Batch batch_;
  ClockNotes clock_notes_;
  bool blocked_;
  std::function<void()> before_;
  std::int64_t longest_;
  std::int64_t replayed_launches_ = 0;
  std::unique_ptr<Event> start_ = gpu_.event();
  std::unique_ptr<Event> stop_ = gpu_.event();
  double host_seconds_ = 0.0;
  double nothing_seconds_ = 0.0;
  double about_seconds_ = 0.0;
};

/// The steady clock from before the launch until the stream has run dry. Asks how long one waits for a result.
class LatencyTimer final : public Timer {
 public:
  LatencyTimer(Gpu& gpu, Batch batch, std::function<void()> before)
      : gpu_(gpu), batch_(std::move(batch)), before_(std::move(before)) {}

  double time(std::int64_t executions) override {
    double sum = 0.0;
    for (std::int64_t i = 0; i < executions; ++i) {
      if (before_) {
        before_();
        gpu_.wait();
      }
      const double start = gpu_.now();
      batch_(gpu_.stream(), 1);
      gpu_.wait();
      sum += gpu_.now() - start;
    }
    gpu_.check_launches();
    return sum;
  }
  [[nodiscard]] double min_batch_seconds() const override { return 1000.0 * steady_quantum_seconds(); }
  double now() override { return gpu_.now(); }
  [[nodiscard]] TimingMode clock() const override { return TimingMode::latency; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override {
    return fmt::format("steady clock of the host from launch to synchronised stream, mean of {} a sample{}",
                       executions_per_sample, before_ ? "; inputs reset before each, untimed" : "");
  }

 private:
  Gpu& gpu_;
  Batch batch_;
  std::function<void()> before_;
};

/// The steady clock around calls in a loop that waits at its end, less that of one call and the wait for it: the way in
/// and out of the queue is no part of a call in a long loop.
class CallTimer final : public Timer {
 public:
  /// `is_short`: it takes little to find out how long one takes.
  CallTimer(Gpu& gpu, Batch calls, TimingMode clock, bool is_short = false)
      : gpu_(gpu), calls_(std::move(calls)), clock_(clock), is_short_(is_short) {}

  double time(std::int64_t executions) override {
    calls_(gpu_.stream(), 0);
    if (is_long(executions)) return last_seconds_ = seconds_of(executions);
    // Else the host's caches are still those of what it did before: its first call then takes twice as long, the second
    // 6 % more, the third 2 % (Python and NumPy on an AMD EPYC).
    if (last_seconds_ < settled_seconds) calls_(gpu_.stream(), std::min<std::int64_t>((executions + 1) / 2, 4));
    const double single = seconds_of(1);
    return last_seconds_ = seconds_of(executions + 1) - single;
  }
  /// The waits differ by some microseconds.
  [[nodiscard]] double min_batch_seconds() const override { return 2e-3; }
  /// Then by 2 %; replays of a graph, which calls are compared with, by 3 %. Of longer batches more would be
  /// interrupted, on a busy host so many that their median was, too.
  [[nodiscard]] double shortest_batch_seconds() const override {
    return clock_ == TimingMode::graph ? 0.1e-3 : 0.15e-3;
  }
  /// Of two calls, the one that is taken off would be half of what is timed.
  [[nodiscard]] std::int64_t min_executions(double seconds_of_one) const override {
    return seconds_of_one < long_seconds ? 4 : 1;
  }
  [[nodiscard]] std::int64_t first_executions() override {
    if (!is_short_) return 1;
    constexpr std::int64_t more = 4;
    constexpr std::int64_t most = 200;  // more are found by growing, lest this was far too short
    calls_(gpu_.stream(), 1);
    const double single = seconds_of(1);
    const double several = seconds_of(1 + more) - single;
    return executions_for(1.2 * shortest_batch_seconds(), several > 0.0 ? several / more : single, most);
  }
  [[nodiscard]] bool warms_up() const override { return true; }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  double now() override { return gpu_.now(); }
  [[nodiscard]] TimingMode clock() const override { return clock_; }
  [[nodiscard]] std::string method(std::int64_t executions) const override {
    return fmt::format(
        "steady clock of the host around {} a sample, {}",
        clock_ == TimingMode::call ? plural(executions, "call") : plural(executions, "replay") + " of a CUDA graph",
        is_long(executions) ? "and the wait for its end" : "back to back, less one that is waited for");
  }

 private:
  /// The waits are nothing beside it, and to make more calls than one would take long.
  static constexpr double long_seconds = 20e-3;
  /// Of a batch: that its first calls take longer is nothing then.
  static constexpr double settled_seconds = 4e-3;

  [[nodiscard]] bool is_long(std::int64_t executions) const { return executions == 1 && last_seconds_ >= long_seconds; }

  double seconds_of(std::int64_t executions) {
    gpu_.wait_for_all();
    const double start = gpu_.now();
    calls_(gpu_.stream(), executions);
    gpu_.wait_for_all();
    const double seconds = gpu_.now() - start;
    gpu_.check_launches();
    return seconds;
  }

  Gpu& gpu_;
  Batch calls_;
  TimingMode clock_;
  bool is_short_;
  double last_seconds_ = 0.0;
};

/// Each execution is a launch of the graph.
Batch replays_of(std::shared_ptr<Graph> graph) {
  return [graph = std::move(graph)](Stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) graph->launch();
  };
}

}  // namespace

CapturedExecution GpuTiming::captured(const Batch& batch) {
  CapturedExecution result{capture(batch, 1), {}};
  if (result.graph) result.content = result.graph->content();
  return result;
}

void GpuTiming::estimate(const Batch& batch, CapturedExecution& captured) {
  captured.launched_seconds = captured.on_gpu_seconds = about_seconds(gpu_, batch);
  if (!captured.graph || !captured.is_short()) return;
  const Batch replays = replays_of(captured.graph);
  replays(gpu_.stream(), 1);  // sets the graph up
  captured.on_gpu_seconds = std::min(captured.on_gpu_seconds, about_seconds(gpu_, replays));
}

DeviceTiming GpuTiming::device_timing(Batch batch, const CapturedExecution& captured, const ColdExecutions* cold) {
  DeviceTiming timing;
  if (!why_no_capture_.empty()) {  // a held stream would not let it return
    timing.reason = why_no_capture_;
    return timing;
  }
  // Single executions need no estimate, and one that is reset before each must not run without that.
  double one_execution_seconds = is_single(cold) ? 0.0 : captured.launched_seconds;
  if (!is_single(cold) && !(one_execution_seconds > 0.0)) one_execution_seconds = about_seconds(gpu_, batch);
  const auto& graph = captured.graph;
  const GraphContent& content = captured.content;
  bool in_graphs = graph && !is_single(cold);
  std::int64_t nodes = 0;  // of one execution
  Substitute substitute;
  if (graph) {
    nodes = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
    if (nodes == 0) {
      timing.reason = "the operation enqueues nothing on its stream";
      return timing;
    }
    substitute = substitute_for(content, gpu_.device().units);
    if (in_graphs && content.commands > 0 && nodes <= max_held_nodes) {
      in_graphs = false;
      substitute.note += "; no graph, because another engine may run its copies and fills there";
    }
  } else {
    substitute = {one_block(), "it cannot be captured in a graph; less the overhead of a kernel of one block"};
  }
  if (cold != nullptr && !cold->note.empty()) substitute.note += "; " + cold->note;
  ColdStart cold_start = cold_of(cold);
  if (!in_graphs && nodes > 0) cold_start.longest = std::min(cold_start.longest, max_held_launches / nodes);
  auto timer =
      std::make_unique<BlockedStreamTimer>(gpu_, std::move(batch), in_graphs ? nodes : 0, std::move(cold_start));
  if (!substitute.shapes.empty()) {
    const bool behind_kernel = cold != nullptr && cold->before_idle;
    const ChainKind kind = behind_kernel     ? ChainKind::behind_kernel
                           : is_single(cold) ? ChainKind::single
                           : in_graphs       ? ChainKind::graphs
                                             : ChainKind::launches;
    const auto before = behind_kernel ? cold->before_idle : cold != nullptr ? cold->flush : nullptr;
    timing.kernel_overhead_seconds = overheads_.of(substitute.shapes, kind, before);
  }
  const std::int64_t short_length = short_length_of(cold, one_execution_seconds, timer->longest());
  timing.timer = std::make_unique<DifferenceTimer>(
      std::move(timer), short_length, timing.kernel_overhead_seconds ? timing.kernel_overhead_seconds->value : 0.0,
      substitute.note, TimingMode::device,
      captured.on_gpu_seconds > 0.0 ? captured.on_gpu_seconds : one_execution_seconds);
  return timing;
}

std::unique_ptr<Timer> GpuTiming::stream_timer(Batch batch, const CapturedExecution& captured,
                                               std::function<void()> before) {
  const auto whole = [&](Stream on, std::int64_t executions) {
    before();
    batch(on, executions);
  };
  const std::shared_ptr<Graph> graph = before ? capture(whole, 1) : captured.graph;
  // What cannot be captured may wait for the GPU, and then the stream must not be held.
  if (!graph) return std::make_unique<StreamTimer>(gpu_, std::move(batch), std::move(before));
  if (before) {
    auto timer = std::make_unique<BlockedStreamTimer>(gpu_, std::move(batch), 0, ColdStart{std::move(before), 1});
    return std::make_unique<DifferenceTimer>(std::move(timer), 0, 0.0,
                                             "enqueued while the stream was held; inputs reset before each, untimed",
                                             TimingMode::stream);
  }
  // A stream takes some 1000 launches before the host has to wait; 400 of nothing take half a millisecond.
  constexpr std::int64_t max_launches = 400;
  constexpr std::int64_t max_launches_of_one = 800;
  const auto launches = static_cast<std::int64_t>(captured.content.kernels.size()) + captured.content.other_nodes;
  if (launches > max_launches_of_one) return std::make_unique<StreamTimer>(gpu_, replays_of(graph), launches);
  const std::int64_t longest = std::max<std::int64_t>(max_launches / std::max<std::int64_t>(launches, 1), 1);
  auto timer = std::make_unique<StreamTimer>(gpu_, std::move(batch), nullptr, true, longest);
  timer->take_off(nothing_seconds_.value(gpu_.now(), known_for_seconds, [&] { return timer->seconds_of_nothing(); }));
  timer->expect(captured.on_gpu_seconds);
  return timer;
}

DeviceTiming GpuTiming::timing(TimingMode mode, TimedExecutions executions) {
  auto& [batch, before, rotation, known] = executions;
  DeviceTiming result;
  const bool is_loop = mode == TimingMode::call || mode == TimingMode::graph;
  if (is_loop && (before || rotation != nullptr)) {
    result.reason = before ? "its inputs are reset before each execution, which a loop of calls has no place for"
                           : "a loop of calls finds warm caches";
    return result;
  }
  if (mode == TimingMode::call) {
    result.timer = std::make_unique<CallTimer>(gpu_, std::move(batch), mode, known && known->is_short());
    return result;
  }
  if (mode == TimingMode::latency) {
    result.timer = std::make_unique<LatencyTimer>(gpu_, std::move(batch), std::move(before));
    return result;
  }
  const CapturedExecution execution = known ? *std::move(known) : captured(batch);
  if (mode == TimingMode::graph) {
    if (execution.graph)
      result.timer = std::make_unique<CallTimer>(gpu_, replays_of(execution.graph), mode, execution.is_short());
    else
      result.reason = !why_no_capture_.empty()
                          ? why_no_capture_
                          : "it cannot be captured in a CUDA graph: it allocates by the driver, or "
                            "works on other streams";
    return result;
  }
  if (mode == TimingMode::stream) {
    result.timer = stream_timer(std::move(batch), execution, std::move(before));
    return result;
  }
  ColdExecutions cold;
  const bool is_cold = before || rotation != nullptr;
  if (before) {
    before();  // nothing is to be allocated or loaded while a stream is blocked
    gpu_.launch_nothing(gpu_.stream());
    cold.flush = std::move(before);
    cold.before_idle = [&gpu = gpu_] { gpu.launch_nothing(gpu.stream()); };
    cold.note = "inputs reset before each, untimed";
  } else if (rotation != nullptr) {
    gpu_.flush_cache();  // likewise
    cold.rotation = *rotation;
    cold.flush = [&gpu = gpu_] { gpu.flush_cache(); };
  }
  return device_timing(std::move(batch), execution, is_cold ? &cold : nullptr);
}

bool GpuTiming::waits_for_gpu(const Batch& batch) {
  constexpr double min_seconds = 0.1e-3;
  const auto host_seconds = [&] {
    const double start = gpu_.now();
    batch(gpu_.stream(), 1);
    return gpu_.now() - start;
  };
  const LaunchShape one_thread = {{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}};
  gpu_.launch_idle(one_thread, 1, gpu_.stream());  // loads the kernel
  gpu_.wait_for_all();
  bool waits = true;
  for (int attempt = 0; waits && attempt < 3; ++attempt) {  // a host that was held up once seems to wait, too
    const double kernel_seconds = std::max(3.0 * host_seconds(), min_seconds);
    gpu_.wait_for_all();
    gpu_.launch_idle(one_thread, static_cast<long long>(kernel_seconds * gpu_.device().max_clock_hz.value_or(2e9)),
                     gpu_.stream());
    waits = host_seconds() > 0.7 * kernel_seconds;
    gpu_.wait_for_all();
    gpu_.check_launches();
  }
  return waits;
}

Estimate GpuTiming::bare_launch_seconds() {
  return bare_launch_seconds_.value(gpu_.now(), known_for_seconds, [&] {
    CallTimer timer(
        gpu_,
        [&gpu = gpu_](Stream stream, std::int64_t executions) {
          for (std::int64_t i = 0; i < executions; ++i) gpu.launch_nothing(stream);
        },
        TimingMode::call);
    constexpr int launches = 500;
    std::vector<double> seconds(9);
    for (double& each : seconds) each = timer.time(launches) / launches;
    const Summary summary = statistics::summarize(seconds);
    return Estimate{summary.median, summary.median_ci95};
  });
}

LaunchedKernels GpuTiming::launched_by(const Batch& batch) {
  CapturedExecution execution = captured(batch);
  if (!execution.graph) return {};
  const GraphContent& content = execution.content;
  LaunchedKernels launched{launches_of(content, gpu_.device().units), common_grid_of(content),
                           content.kernels.empty() && content.other_nodes == 0, grids_of(content),
                           content.only_command};
  launched.captured = std::move(execution);
  return launched;
}

std::function<void()> GpuTiming::chain(const Batch& batch, std::int64_t executions) {
  const auto one = capture(batch, 1);
  const std::shared_ptr<Graph> graph = one && one->content().commands == 0 ? capture(batch, executions) : nullptr;
  return [batch, executions, graph, &gpu = gpu_] {
    if (graph)
      graph->launch();
    else
      batch(gpu.stream(), executions);
    gpu.synchronize();
  };
}

KnownKernel GpuTiming::known_kernel() {
  const Batch batch = gpu_.short_reads();
  return {[batch, &gpu = gpu_] {
            batch(gpu.stream(), 1);
            gpu.synchronize();
          },
          [batch, this](std::int64_t executions) { return chain(batch, executions); },
          overheads_.device_seconds(batch)};
}

}  // namespace gpubench::bench
