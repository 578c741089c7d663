// SPDX-License-Identifier: Apache-2.0
// The logic of KernelTimer: stacks, pools of events, exclusive sums, statistics. No CUDA.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "profile/range_profiler/sources.h"

namespace gpubench::profile::detail {

/// The times of one name, without the events. Of more than `max_samples` it keeps a uniform random sample (Vitter,
/// algorithm R, ACM Transactions on Mathematical Software 11, 1985) for quantiles; all else stays exact.
class IntervalStatistics {
 public:
  static constexpr std::size_t max_samples = std::size_t{1} << 17;
  void add(double milliseconds, double exclusive);
  [[nodiscard]] Timing timing() const;
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  std::vector<float> samples_;
  std::int64_t count_ = 0;
  double total_ = 0.0, exclusive_ = 0.0, min_ = 0.0, max_ = 0.0;
  double mean_ = 0.0, squares_ = 0.0;  // Welford
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

class IntervalTimer {
 public:
  explicit IntervalTimer(std::unique_ptr<EventSource> events) : events_(std::move(events)) {}
  ~IntervalTimer();
  IntervalTimer& operator=(IntervalTimer&&) = delete;  ///< not copied, not moved

  /// What `stop_interval` takes; 0 where nothing is timed.
  std::uint64_t start(std::string_view name, Stream stream);
  void stop_interval(std::uint64_t interval);
  /// `stream`: null for that of the newest start.
  void stop(std::string_view name, const Stream* stream);

  std::optional<Timing> timing(std::string_view name);
  [[nodiscard]] std::vector<std::string> names() const;
  std::string report();
  [[nodiscard]] std::string problem() const;
  void reset();

 private:
  struct Name {
    std::string name;
    IntervalStatistics times;
  };
  /// Open, or stopped and waiting for its events.
  struct Interval {
    std::size_t name = 0;
    EventSource::Event begin = nullptr, end = nullptr;
    int device = 0;
    Stream stream = nullptr;
    std::thread::id thread = {};
    std::uint64_t parent = 0;  ///< 0 for none
    double nested_ms = 0.0;    ///< of intervals inside, as far as they are known
  };

  [[nodiscard]] std::size_t name_place(std::string_view name);
  std::vector<EventSource::Event>& pool(int device);
  void end(std::vector<std::uint64_t>::iterator open);
  void resolve(bool wait);
  void release(std::uint64_t id);
  void trouble(const std::string& reason, std::int64_t intervals);

  mutable std::mutex mutex_;
  std::unique_ptr<EventSource> events_;
  std::map<int, std::vector<EventSource::Event>> free_events_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::deque<Name> names_;
  std::map<std::uint64_t, Interval> intervals_;  ///< by id, which counts from 1
  std::vector<std::uint64_t> open_;              ///< in the order of starts
  std::deque<std::uint64_t> stopped_;            ///< in the order of stops
  std::uint64_t last_id_ = 0;
  bool unusable_ = false;  ///< there are no events at all
  std::string trouble_;    ///< the first reason
  std::int64_t lost_ = 0;  ///< intervals with events but without a time
  std::int64_t stops_without_start_ = 0;
};

}  // namespace gpubench::profile::detail
