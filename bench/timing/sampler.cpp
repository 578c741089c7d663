// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/sampler.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/timing/conditions.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr std::int64_t samples_in_any_case = 3;
constexpr std::size_t blocks_in_any_case = 2;

/// One operation under one clock.
class Channel {
 public:
  Channel(Timer& clock, const SamplingOptions& options) : clock_(clock), options_(options) {}

  /// Warm-up and batch length. `share_seconds`: of a block, by the budget.
  void begin(double share_seconds) {
    const double start = clock_.now();
    if (options_.brief) share_seconds = 0.0;
    const double wanted = std::max(std::min(clock_.min_batch_seconds(), share_seconds / batches_of_a_block),
                                   clock_.shortest_batch_seconds());
    executions_ = batch_length(warm_up(start), wanted);
    if (!options_.brief || !(clock_.warms_up() || is_on_gpu())) return;
    block_sizes_.push_back(0);
    keep();
  }

  /// The next block; `deadline` may end it early, after its first sample.
  void take_block(double deadline) {
    const std::int64_t wanted = next_block();
    if (wanted == 0) return;
    if (!(options_.brief && is_on_gpu()) && !clock_.warms_up() && batch_seconds_ < longest_settling_seconds) settle();
    block_sizes_.push_back(0);
    for (std::int64_t i = 0; i < wanted; ++i) {
      take();
      if (!options_.exact_samples && clock_.now() >= deadline) break;
    }
  }

  /// Looks whether sampling may end. `spent`: the budget is gone.
  void look(bool long_enough, bool spent) {
    if (done_) return;
    if (options_.exact_samples) {
      if (count() >= *options_.exact_samples) finish(StopReason::count);
      return;
    }
    if (long_enough && narrow_enough()) return finish(StopReason::interval);
    if (count() < samples_in_any_case || block_sizes_.size() < blocks_in_any_case) return;
    if (spent)
      finish(StopReason::budget);
    else if (count() >= options_.max_samples)
      finish(StopReason::count);
  }

  void fail(std::exception_ptr failure) {
    failure_ = std::move(failure);
    done_ = true;
  }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool is_of_calls() const { return clock_.warms_up(); }

  /// All but the throttled samples.
  [[nodiscard]] Samples kept() const {
    Samples result;
    result.executions_per_sample = executions_;
    result.stop_reason = stop_reason_;
    result.failure = failure_;
    if (failure_) return result;
    result.host_seconds = host_seconds_;
    const bool clocks_known = clocks_hz_.size() == seconds_.size();
    const auto dropped = clocks_known ? throttled(clocks_hz_) : std::vector<bool>(seconds_.size(), false);
    std::size_t next = 0;
    for (const std::int64_t size : block_sizes_) {
      std::int64_t left = 0;
      for (std::int64_t i = 0; i < size; ++i, ++next) {
        if (dropped[next]) continue;
        result.seconds.push_back(seconds_[next]);
        if (clocks_known) result.clocks_hz.push_back(clocks_hz_[next]);
        ++left;
      }
      if (left > 0) result.block_sizes.push_back(left);
    }
    result.dropped = static_cast<std::int64_t>(seconds_.size() - result.seconds.size());
    return result;
  }

 private:
  /// A batch of this length takes little of the budget.
  static constexpr double longest_settling_seconds = 5e-3;
  /// Where the budget is small: one that is not kept, and one that is.
  static constexpr double batches_of_a_block = 2.0;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(seconds_.size()); }
  /// Nothing sleeps between its blocks then.
  [[nodiscard]] bool is_on_gpu() const { return clock_.clock() != TimingMode::host; }

  [[nodiscard]] bool narrow_enough() const {
    const std::int64_t min_samples = options_.brief ? samples_in_any_case : options_.min_samples;
    const std::int64_t min_blocks = options_.brief ? samples_in_any_case : options_.min_blocks;
    if (count() < min_samples) return false;
    const Samples samples = kept();
    if (static_cast<std::int64_t>(samples.seconds.size()) < min_samples ||
        static_cast<std::int64_t>(samples.block_sizes.size()) < min_blocks)
      return false;
    const Summary summary = samples.summary();
    return options_.brief ? is_narrow_at_first(summary)
                          : statistics::relative_half_width(summary) <= options_.target_half_width;
  }

  /// Equal blocks until the interval is first looked at; then longer ones, so that a noisy operation is looked at often
  /// enough to stop early and seldom enough to cost nothing.
  [[nodiscard]] std::int64_t next_block() const {
    const std::int64_t blocks = std::max<std::int64_t>(options_.min_blocks, 1);
    if (options_.brief && !options_.exact_samples) return 1;
    if (options_.exact_samples) {
      const std::int64_t size = (*options_.exact_samples + blocks - 1) / blocks;
      return std::min(size, *options_.exact_samples - count());
    }
    const std::int64_t size = std::max<std::int64_t>((options_.min_samples + blocks - 1) / blocks, count() / 4);
    return std::clamp<std::int64_t>(options_.max_samples - count(), 1, size);
  }

  double timed(std::int64_t executions) {
    batch_seconds_ = clock_.time(executions);
    return batch_seconds_;
  }

  double warm_up(double start) {
    constexpr int max_runs = 100;
    constexpr double brief_seconds = 0.2e-3;
    const double longest = options_.brief ? brief_seconds : options_.budget_seconds / 10.0;
    executions_ = options_.brief ? clock_.first_executions() : 1;
    const bool one_is_enough = executions_ > 1;  // the length is not guessed from it, and its executions warm up
    double previous = timed(executions_);
    for (int run = 1;; ++run) {
      const double passed = clock_.now() - start;
      const bool long_enough =
          !(passed >= 0.0 && passed < options_.min_warm_up_seconds);  // a broken clock goes backwards
      if (long_enough && (one_is_enough || run >= max_runs || passed > longest)) break;
      const double current = timed(executions_);
      const bool steady = std::abs(current - previous) <= 0.1 * std::abs(previous);
      previous = current;
      if (long_enough && steady) break;
    }
    return previous;
  }

  std::int64_t batch_length(double took, double wanted) {
    // A single execution of a short operation is mostly the clock's own cost, so the length is found by growing.
    const std::int64_t max = options_.brief ? clock_.enough_executions() : clock_.max_executions();
    std::int64_t executions = executions_;
    while (took < wanted && executions < max) {
      const double growth = took > 0.0 ? std::min(1.1 * wanted / took, 10.0) : 10.0;
      const auto grown = static_cast<std::int64_t>(std::ceil(static_cast<double>(executions) * growth));
      executions = std::min(max, std::max(executions + 1, grown));
      took = timed(executions);
    }
    const std::int64_t least = std::min(max, clock_.min_executions(took / static_cast<double>(executions)));
    if (executions >= least) return executions;
    timed(least);
    return least;
  }

  void settle() { timed(executions_); }

  void take() {
    timed(executions_);
    keep();
  }

  /// The last batch as a sample.
  void keep() {
    const double seconds = batch_seconds_ / static_cast<double>(executions_);
    if (!std::isfinite(seconds) || (seconds < 0.0 && !clock_.may_be_negative()))
      throw std::runtime_error("the clock gave an invalid time: the operation's stream or the system clock is broken");
    seconds_.push_back(seconds);
    ++block_sizes_.back();
    if (const auto launched = clock_.host_seconds())
      host_seconds_.push_back(*launched / static_cast<double>(executions_));
    if (const auto hertz = clock_.device_clock_hz()) clocks_hz_.push_back(*hertz);
  }

  void finish(StopReason reason) {
    stop_reason_ = reason;
    done_ = true;
  }

  Timer& clock_;
  const SamplingOptions& options_;
  std::int64_t executions_ = 1;
  double batch_seconds_ = 0.0;  ///< of the last batch
  std::vector<double> seconds_;
  std::vector<double> clocks_hz_;
  std::vector<double> host_seconds_;
  std::vector<std::int64_t> block_sizes_;
  bool done_ = false;
  StopReason stop_reason_ = StopReason::interval;
  std::exception_ptr failure_;
};

/// Does something with each channel that is not done; what it throws ends that channel.
template <class Action>
void for_each_open(std::span<Channel* const> channels, Action&& action) {
  for (Channel* const channel : channels) {
    if (channel->done()) continue;
    try {
      action(*channel);
    } catch (...) {
      channel->fail(std::current_exception());
    }
  }
}

}  // namespace

bool is_narrow_at_first(const Summary& seconds) {
  constexpr double fraction = 0.05;
  constexpr double absolute_seconds = 0.5e-6;
  const auto& [low, high] = seconds.median_ci95;
  return std::max(high - seconds.median, seconds.median - low) <= std::max(fraction * seconds.median, absolute_seconds);
}

Summary Samples::summary() const { return statistics::summarize(seconds, block_sizes); }

std::vector<Samples> AdaptiveSampler::sample(std::span<Timer* const> clocks) const {
  std::vector<Channel> channels;
  channels.reserve(clocks.size());
  for (Timer* clock : clocks) channels.emplace_back(*clock, options_);
  if (channels.empty()) return {};
  const auto now = [&] { return clocks.front()->now(); };
  const auto pause = [&] {
    if (between_blocks_) between_blocks_();
  };
  std::vector<Channel*> turns[2];
  for (Channel& channel : channels) turns[options_.brief && channel.is_of_calls() ? 1 : 0].push_back(&channel);

  // A round of blocks is to take no more than its share of the budget, so that there are several.
  const double share = options_.budget_seconds / static_cast<double>(clocks.size()) /
                       static_cast<double>(std::max<std::int64_t>(options_.min_blocks, 1));
  const double start = now();
  double budget = 0.0;
  for (const std::vector<Channel*>& together : turns) {
    if (together.empty()) continue;
    budget += std::max(options_.budget_seconds, options_.min_seconds) * static_cast<double>(together.size()) /
              static_cast<double>(clocks.size());
    pause();
    for_each_open(together, [&](Channel& channel) { channel.begin(share); });
    const double first_sample = now();
    while (!std::ranges::all_of(together, &Channel::done)) {
      for_each_open(together, [&](Channel& channel) { channel.take_block(std::min(now() + share, start + budget)); });
      pause();
      const double passed = now();
      for_each_open(together, [&](Channel& channel) {
        channel.look(passed - first_sample >= options_.min_seconds, passed - start >= budget);
      });
    }
  }
  std::vector<Samples> results;
  results.reserve(channels.size());
  for (const Channel& channel : channels) results.push_back(channel.kept());
  return results;
}

Samples AdaptiveSampler::sample(Timer& clock) const {
  Timer* const one = &clock;
  Samples samples = std::move(sample(std::span(&one, 1)).front());
  if (samples.failure) std::rethrow_exception(samples.failure);
  return samples;
}

}  // namespace gpubench::bench
