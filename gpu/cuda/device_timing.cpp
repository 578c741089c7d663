// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/device_timing.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>

#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {

std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream) {
  // Thread-local: only what this thread does on other streams breaks the capture, not what libraries do elsewhere.
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool threw = false;
  std::exception_ptr foreign;
  try {
    batch(stream, executions);
  } catch (const CudaError&) {
    threw = true;  // a call that capture forbids: the operation's own check says so
  } catch (...) {
    foreign = std::current_exception();  // so may a library's check, in its own words
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  Graph owned(graph);
  (void)cudaGetLastError();                                              // what capture forbids is not sticky
  if (foreign && error == cudaSuccess) std::rethrow_exception(foreign);  // nothing that capture forbids was called
  if (threw || error != cudaSuccess || graph == nullptr) {
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
    return std::nullopt;
  }
  return owned;
}

ChainTimer::Pair BlockedStreamTimer::time(std::int64_t short_length, std::int64_t long_length) {
  if (graph_nodes_ > 0) prepare(short_length, long_length);
  Event& second_start = chill_.flush ? second_start_ : middle_;
  blocker_.hold_while([&] {
    if (chill_.flush) chill_.flush();
    sm_clock_.begin();
    start_.record(stream_);
    enqueue(short_length);
    middle_.record(stream_);
    if (chill_.flush) {
      chill_.flush();
      second_start_.record(stream_);
    }
    enqueue(long_length);
    end_.record(stream_);
    sm_clock_.end();
  });
  GPUBENCH_CUDA_CHECK(cudaGetLastError());
  end_.wait();
  blocker_.check();
  return {seconds_between(start_, middle_), seconds_between(second_start, end_)};
}

std::int64_t BlockedStreamTimer::longest() const {
  constexpr std::int64_t max_nodes = 2000;
  // A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  constexpr std::int64_t max_executions = 100;
  const std::int64_t enqueued = graph_nodes_ > 0 ? std::max<std::int64_t>(max_nodes / graph_nodes_, 2) : max_executions;
  return std::min(enqueued, chill_.longest);
}

void BlockedStreamTimer::prepare(std::int64_t short_length, std::int64_t long_length) {
  for (const std::int64_t length : {short_length, long_length}) {
    if (length == 0 || graphs_.contains(length)) continue;
    // Lengths are tried out while the sampler looks for the best; only the short one and the last are needed again.
    std::erase_if(graphs_, [&](const auto& entry) { return entry.first != short_length; });
    auto graph = capture(batch_, length, stream_);
    if (!graph) throw CudaError("the operation could be captured once, and not again");
    const auto [place, added] = graphs_.try_emplace(length, *graph);
    (void)added;
    place->second.launch(stream_);  // a graph's first launch sets it up
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
}

void BlockedStreamTimer::enqueue(std::int64_t length) {
  if (length == 0) return;
  if (graph_nodes_ > 0)
    graphs_.at(length).launch(stream_);
  else
    batch_(stream_, length);
}

namespace {

using Shapes = std::vector<LaunchShape>;

/// A stream takes some 1000 launches before the host has to wait. Chains of so many nodes an execution fit twice.
constexpr std::int64_t max_held_nodes = 20;
constexpr std::int64_t max_held_launches = 800;

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
double idle_overstay_seconds(const std::vector<LaunchShape>& shapes, cudaStream_t stream) {
  // A few tens of cycles: a clock that is a tenth below the highest makes 2 ns of difference.
  const int kilohertz = device_attribute(cudaDevAttrClockRate);
  double cycles = 0.0;
  for (const LaunchShape& shape : shapes)
    cycles += 2.0 * overstay_cycles(shape, idle_cycles, stream) - overstay_cycles(shape, 2 * idle_cycles, stream);
  return cycles / (1e3 * kilohertz);
}

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

bool is_one_by_one(KernelOverheads::ChainKind kind) { return kind >= KernelOverheads::ChainKind::single; }

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
  EventTimer timer(stream);
  const auto once = [&] {
    return timer.seconds([&] {
      batch(stream, 1);
      GPUBENCH_CUDA_CHECK(cudaGetLastError());
    });
  };
  return std::min({once(), once(), once()});
}

/// CUDA events around executions that follow each other, less events around nothing.
class StreamClock final : public Timer {
 public:
  /// Batches of at most `longest` executions: enqueued while `blocker` holds the stream or, where it is null, launched
  /// as the host can. With `before`, executions are timed one by one, each behind that.
  StreamClock(DeviceBatch batch, std::function<void()> before, cudaStream_t stream, Blocker* blocker = nullptr,
              std::int64_t longest = 1'000'000)
      : stream_(stream),
        batch_(std::move(batch)),
        sm_clock_(stream),
        blocker_(blocker),
        before_(std::move(before)),
        longest_(before_ ? 1 : longest) {
    if (before_ || blocker_ != nullptr) time_nothing();
  }

  double time(std::int64_t executions) override { return run(executions) - nothing_seconds_; }
  /// An event pair around nothing costs 1 to 6 us, below 0.5 % of 2 ms. In a held stream some 0.1 us is left of it.
  [[nodiscard]] double min_batch_seconds() const override {
    return before_ ? 0.0 : blocker_ != nullptr ? 0.3e-3 : 2e-3;
  }
  [[nodiscard]] std::int64_t max_executions() const override { return longest_; }
  [[nodiscard]] bool may_be_negative() const override { return before_ || blocker_ != nullptr; }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return sm_clock_.hertz(); }
  [[nodiscard]] std::optional<double> host_seconds() override { return host_seconds_; }
  [[nodiscard]] TimingMode clock() const override { return TimingMode::stream; }
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
  Blocker* blocker_;
  std::function<void()> before_;
  std::int64_t longest_;
  Event start_;
  Event stop_;
  double host_seconds_ = 0.0;
  double nothing_seconds_ = 0.0;
};

}  // namespace

std::unique_ptr<ChainTimer> KernelOverheads::idle_timer(const std::vector<LaunchShape>& shapes, ChainKind kind,
                                                        const std::function<void()>& flush, long long cycles) const {
  auto idle = idle_batch(shapes, cycles);
  const auto nodes = kind == ChainKind::graphs ? static_cast<std::int64_t>(shapes.size()) : 0;
  return std::make_unique<BlockedStreamTimer>(stream_, blocker_, std::move(idle), nodes,
                                      is_one_by_one(kind) ? Chill{flush, 1} : Chill{});
}

void KernelOverheads::forget_if_changed() {
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
  const std::int64_t short_length = is_one_by_one(kind) ? 0 : 10;
  known_.push_back(
      {shapes, kind, kernel_overhead(*once, *twice, short_length, idle_overstay_seconds(shapes, stream_))});
  return known_.back().seconds;
}

std::optional<double> KernelOverheads::anew(const DeviceBatch& batch) {
  const auto graph = capture(batch, 1, stream_);
  if (!graph) return std::nullopt;
  const GraphContent content = content_of(graph->get());
  const Substitute substitute = substitute_for(content);
  if (content.commands > 0 || substitute.shapes.empty()) return std::nullopt;
  known_.clear();
  return of(substitute.shapes, ChainKind::graphs, nullptr).value;
}

Estimate KernelOverheads::device_seconds(const DeviceBatch& batch) {
  constexpr int samples = 31;
  constexpr std::int64_t short_length = 10;
  batch(stream_, 1);  // loads the kernels
  const auto graph = capture(batch, 1, stream_);
  if (!graph) throw CudaError("kernels of the harness could not be captured in a graph");
  const Substitute substitute = substitute_for(content_of(graph->get()));
  const Estimate overhead = of(substitute.shapes, ChainKind::graphs, nullptr);
  BlockedStreamTimer timer(stream_, blocker_, batch, static_cast<std::int64_t>(substitute.shapes.size()));
  slope(timer, short_length);  // warms up
  std::vector<double> seconds(samples);
  for (double& each : seconds) each = slope(timer, short_length) - overhead.value;
  std::sort(seconds.begin(), seconds.end());
  return {statistics::median(seconds), statistics::median_ci95(seconds)};
}

DeviceTiming device_timing(DeviceBatch batch, cudaStream_t stream, Blocker& blocker, KernelOverheads& overheads,
                           const ColdExecutions* cold) {
  DeviceTiming timing;
  // Single executions need no estimate, and one that is reset before each must not run without that.
  const double one_execution_seconds = is_single(cold) ? 0.0 : about_seconds(batch, stream);
  const auto graph = capture(batch, 1, stream);
  bool in_graphs = graph && !is_single(cold);
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
    if (in_graphs && content.commands > 0 && nodes <= max_held_nodes) {
      in_graphs = false;
      substitute.note += "; no graph, because another engine may run its copies and fills there";
    }
  } else {
    substitute = {one_block, "it cannot be captured in a graph; less the overhead of a kernel of one block"};
  }
  if (cold != nullptr && !cold->note.empty()) substitute.note += "; " + cold->note;
  Chill chill = chill_of(cold);
  if (!in_graphs && nodes > 0) chill.longest = std::min(chill.longest, max_held_launches / nodes);
  auto timer = std::make_unique<BlockedStreamTimer>(stream, blocker, std::move(batch), in_graphs ? nodes : 0, std::move(chill));
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

std::unique_ptr<Timer> stream_clock(DeviceBatch batch, std::function<void()> before, cudaStream_t stream,
                                    Blocker& blocker) {
  const auto whole = [&](cudaStream_t on, std::int64_t executions) {
    if (before) before();
    batch(on, executions);
  };
  const auto graph = capture(whole, 1, stream);
  // What cannot be captured may wait for the GPU, and then the stream must not be held.
  if (!graph) return std::make_unique<StreamClock>(std::move(batch), std::move(before), stream);
  if (before) {
    auto timer = std::make_unique<BlockedStreamTimer>(stream, blocker, std::move(batch), 0, Chill{std::move(before), 1});
    return std::make_unique<DifferenceClock>(std::move(timer), 0, 0.0,
                                             "enqueued while the stream was held; inputs reset before each, untimed",
                                             TimingMode::stream);
  }
  // A stream takes some 1000 launches before the host has to wait; 400 of nothing take half a millisecond.
  constexpr std::int64_t max_launches = 400;
  constexpr std::int64_t max_launches_of_one = 800;
  const GraphContent content = content_of(graph->get());
  const auto launches = static_cast<std::int64_t>(content.kernels.size()) + content.other_nodes;
  if (launches > max_launches_of_one) return std::make_unique<StreamClock>(std::move(batch), nullptr, stream);
  const std::int64_t longest = std::max<std::int64_t>(max_launches / std::max<std::int64_t>(launches, 1), 1);
  return std::make_unique<StreamClock>(std::move(batch), nullptr, stream, &blocker, longest);
}

}  // namespace gpubench::bench
