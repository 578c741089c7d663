// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/gpu_timing.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/timing/host_timer.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {

ChainTimer::Pair BlockedStreamTimer::time(std::int64_t short_length, std::int64_t long_length) {
  if (graph_nodes_ > 0) prepare(short_length, long_length);
  Event& second_start = cold_.flush ? *second_start_ : *middle_;
  gpu_.block_while([&] {
    if (cold_.flush) cold_.flush();
    clock_notes_.begin();
    start_->record(gpu_.stream());
    enqueue(short_length);
    middle_->record(gpu_.stream());
    if (cold_.flush) {
      cold_.flush();
      second_start_->record(gpu_.stream());
    }
    enqueue(long_length);
    end_->record(gpu_.stream());
    clock_notes_.end();
  });
  gpu_.check_launches();
  end_->wait();
  gpu_.check_blocked();
  return {middle_->seconds_since(*start_), end_->seconds_since(second_start)};
}

std::int64_t BlockedStreamTimer::longest() const {
  constexpr std::int64_t max_nodes = 2000;
  // A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  constexpr std::int64_t max_executions = 100;
  const std::int64_t enqueued = graph_nodes_ > 0 ? std::max<std::int64_t>(max_nodes / graph_nodes_, 2) : max_executions;
  return std::min(enqueued, cold_.longest);
}

void BlockedStreamTimer::prepare(std::int64_t short_length, std::int64_t long_length) {
  for (const std::int64_t length : {short_length, long_length}) {
    if (length == 0 || graphs_.contains(length)) continue;
    // Lengths are tried out while the sampler looks for the best; only the short one and the last are needed again.
    std::erase_if(graphs_, [&](const auto& entry) { return entry.first != short_length; });
    auto graph = gpu_.capture(batch_, length);
    if (!graph) throw GpuError("the operation could be captured once, and not again");
    graph->launch();  // a graph's first launch sets it up
    graphs_[length] = std::move(graph);
    gpu_.wait();
  }
}

void BlockedStreamTimer::enqueue(std::int64_t length) {
  if (length == 0) return;
  if (graph_nodes_ > 0)
    graphs_.at(length)->launch();
  else
    batch_(gpu_.stream(), length);
}

namespace {

using Shapes = std::vector<LaunchShape>;

/// A stream takes some 1000 launches before the host has to wait. Chains of so many nodes an execution fit twice.
constexpr std::int64_t max_held_nodes = 20;
constexpr std::int64_t max_held_launches = 800;

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

const Shapes one_block = {{{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}}};

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

/// What the idle kernels that stand for an operation are, and how that is said.
struct Substitute {
  Shapes shapes;  ///< empty when nothing can be taken off
  std::string note;
};

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

bool is_one_by_one(KernelOverheads::ChainKind kind) { return kind >= KernelOverheads::ChainKind::single; }

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
    if (before_ || blocked_) time_nothing();
  }

  /// Replays of a graph of so many launches.
  StreamTimer(Gpu& gpu, Batch replays, std::int64_t launches)
      : StreamTimer(gpu, std::move(replays), std::function<void()>()) {
    replayed_launches_ = launches;
  }

  double time(std::int64_t executions) override { return run(executions) - nothing_seconds_; }
  /// An event pair around nothing costs 1 to 6 us, below 0.5 % of 2 ms. In a held stream some 0.1 us is left of it.
  [[nodiscard]] double min_batch_seconds() const override { return before_ ? 0.0 : blocked_ ? 0.3e-3 : 2e-3; }
  [[nodiscard]] std::int64_t max_executions() const override { return longest_; }
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
        "CUDA events around {} back-to-back execution{} a sample, {}", executions, executions == 1 ? "" : "s",
        blocked_ ? "enqueued while the stream was held, less events around nothing" : "launched as the host can");
  }

 private:
  void time_nothing() {
    std::vector<double> seconds(9);
    for (double& each : seconds) each = run(0);
    nothing_seconds_ = statistics::median(seconds);
  }
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
  CallTimer(Gpu& gpu, Batch calls, TimingMode clock) : gpu_(gpu), calls_(std::move(calls)), clock_(clock) {}

  double time(std::int64_t executions) override {
    calls_(gpu_.stream(), 0);
    calls_(gpu_.stream(), executions);  // else the host's caches and clock are still those of what it did before
    const double single = seconds_of(1);
    return seconds_of(executions + 1) - single;
  }
  /// The waits differ by some microseconds.
  [[nodiscard]] double min_batch_seconds() const override { return 2e-3; }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  double now() override { return gpu_.now(); }
  [[nodiscard]] TimingMode clock() const override { return clock_; }
  [[nodiscard]] std::string method(std::int64_t executions) const override {
    return fmt::format(
        "steady clock of the host around {} a sample, back to back, less one that is waited for",
        clock_ == TimingMode::call ? plural(executions, "call") : plural(executions, "replay") + " of a CUDA graph");
  }

 private:
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
};

/// Each execution is a launch of the graph.
Batch replays_of(std::shared_ptr<Graph> graph) {
  return [graph = std::move(graph)](Stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) graph->launch();
  };
}

}  // namespace

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
  if (!watched_) {
    idle_batch(gpu_, one_block, 1)(gpu_.stream(), 1);  // loads the kernel
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
  idle_batch(gpu_, shapes, 1)(gpu_.stream(), 1);  // loads the kernel, and shows that these shapes can be launched
  const auto once = idle_timer(shapes, kind, flush, idle_cycles);
  const auto twice = idle_timer(shapes, kind, flush, 2 * idle_cycles);
  const std::int64_t short_length = is_one_by_one(kind) ? 0 : 10;
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

DeviceTiming GpuTiming::device_timing(Batch batch, const ColdExecutions* cold) {
  DeviceTiming timing;
  if (!why_no_capture_.empty()) {  // a held stream would not let it return
    timing.reason = why_no_capture_;
    return timing;
  }
  // Single executions need no estimate, and one that is reset before each must not run without that.
  const double one_execution_seconds = is_single(cold) ? 0.0 : about_seconds(gpu_, batch);
  const auto graph = capture(batch, 1);
  bool in_graphs = graph && !is_single(cold);
  std::int64_t nodes = 0;  // of one execution
  Substitute substitute;
  if (graph) {
    const GraphContent content = graph->content();
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
    substitute = {one_block, "it cannot be captured in a graph; less the overhead of a kernel of one block"};
  }
  if (cold != nullptr && !cold->note.empty()) substitute.note += "; " + cold->note;
  ColdStart cold_start = cold_of(cold);
  if (!in_graphs && nodes > 0) cold_start.longest = std::min(cold_start.longest, max_held_launches / nodes);
  auto timer =
      std::make_unique<BlockedStreamTimer>(gpu_, std::move(batch), in_graphs ? nodes : 0, std::move(cold_start));
  if (!substitute.shapes.empty()) {
    using ChainKind = KernelOverheads::ChainKind;
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
      substitute.note);
  return timing;
}

std::unique_ptr<Timer> GpuTiming::stream_timer(Batch batch, std::function<void()> before) {
  const auto whole = [&](Stream on, std::int64_t executions) {
    if (before) before();
    batch(on, executions);
  };
  std::shared_ptr<Graph> graph = capture(whole, 1);
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
  const GraphContent content = graph->content();
  const auto launches = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
  if (launches > max_launches_of_one) return std::make_unique<StreamTimer>(gpu_, replays_of(graph), launches);
  const std::int64_t longest = std::max<std::int64_t>(max_launches / std::max<std::int64_t>(launches, 1), 1);
  return std::make_unique<StreamTimer>(gpu_, std::move(batch), nullptr, true, longest);
}

DeviceTiming GpuTiming::timing(TimingMode mode, TimedExecutions executions) {
  auto& [batch, before, rotation] = executions;
  DeviceTiming result;
  const bool is_loop = mode == TimingMode::call || mode == TimingMode::graph;
  if (is_loop && (before || rotation != nullptr)) {
    result.reason = before ? "its inputs are reset before each execution, which a loop of calls has no place for"
                           : "a loop of calls finds warm caches";
    return result;
  }
  if (mode == TimingMode::call) {
    result.timer = std::make_unique<CallTimer>(gpu_, std::move(batch), mode);
  } else if (mode == TimingMode::graph) {
    if (std::shared_ptr<Graph> graph = capture(batch, 1))
      result.timer = std::make_unique<CallTimer>(gpu_, replays_of(std::move(graph)), mode);
    else
      result.reason = !why_no_capture_.empty()
                          ? why_no_capture_
                          : "it cannot be captured in a CUDA graph: it allocates by the driver, or "
                            "works on other streams";
    return result;
  }
  if (mode == TimingMode::latency)
    result.timer = std::make_unique<LatencyTimer>(gpu_, std::move(batch), std::move(before));
  else if (mode == TimingMode::stream)
    result.timer = stream_timer(std::move(batch), std::move(before));
  if (result.timer) return result;
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
  return device_timing(std::move(batch), is_cold ? &cold : nullptr);
}

bool GpuTiming::waits_for_gpu(const Batch& batch) {
  constexpr double min_seconds = 1e-3;
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
  if (bare_launch_seconds_) return *bare_launch_seconds_;
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
  return bare_launch_seconds_.emplace(Estimate{summary.median, summary.median_ci95});
}

LaunchedKernels GpuTiming::launched_by(const Batch& batch) {
  const auto graph = capture(batch, 1);
  if (!graph) return {};
  const GraphContent content = graph->content();
  return {launches_of(content, gpu_.device().units), common_grid_of(content),
          content.kernels.empty() && content.other_nodes == 0, grids_of(content), content.only_command};
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

ClockNotes GpuTiming::clock_notes() {
  if (!clock_notes_) clock_notes_ = gpu_.clock_notes();
  return *clock_notes_;
}

}  // namespace gpubench::bench
