// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/interval_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::profile {
namespace detail {
namespace {

/// Events made at a time: about a microsecond each.
constexpr std::size_t events_at_a_time = 64;

}  // namespace

void IntervalStatistics::add(double milliseconds, double exclusive) {
  min_ = count_ == 0 ? milliseconds : std::min(min_, milliseconds);
  max_ = count_ == 0 ? milliseconds : std::max(max_, milliseconds);
  ++count_;
  total_ += milliseconds;
  exclusive_ += exclusive;
  const double from_mean = milliseconds - mean_;
  mean_ += from_mean / static_cast<double>(count_);
  squares_ += from_mean * (milliseconds - mean_);
  if (samples_.size() < max_samples) {
    samples_.push_back(static_cast<float>(milliseconds));
    return;
  }
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto place = static_cast<std::size_t>(random_ >> 11U) % static_cast<std::size_t>(count_);
  if (place < max_samples) samples_[place] = static_cast<float>(milliseconds);
}

Timing IntervalStatistics::timing() const {
  std::vector<double> sorted(samples_.begin(), samples_.end());
  std::ranges::sort(sorted);
  Timing timing;
  timing.count = count_;
  timing.total_ms = total_;
  timing.exclusive_ms = exclusive_;
  timing.mean_ms = total_ / static_cast<double>(count_);
  timing.min_ms = min_;
  timing.max_ms = max_;
  timing.p50_ms = statistics::quantile(sorted, 0.50);
  timing.p95_ms = statistics::quantile(sorted, 0.95);
  timing.p99_ms = statistics::quantile(sorted, 0.99);
  timing.deviation_ms = count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1)) : 0.0;
  return timing;
}

IntervalTimer::~IntervalTimer() {
  for (const auto& [device, events] : free_events_)
    for (const EventSource::Event event : events) events_->destroy(event);
  for (const auto& [id, interval] : intervals_)
    for (const EventSource::Event event : {interval.begin, interval.end}) events_->destroy(event);
}

std::size_t IntervalTimer::name_place(std::string_view name) {
  if (const auto found = places_.find(name); found != places_.end()) return found->second;
  names_.push_back({std::string(name), {}});
  return places_.emplace(std::string(name), names_.size() - 1).first->second;
}

void IntervalTimer::trouble(const std::string& reason, std::int64_t intervals) {
  if (trouble_.empty()) trouble_ = reason;
  lost_ += intervals;
}

/// With two events at least, unless there is trouble.
std::vector<EventSource::Event>& IntervalTimer::pool(int device) {
  auto& events = free_events_[device];
  if (events.size() >= 2) return events;
  resolve(false);
  if (events.size() >= 2) return events;
  if (const std::string reason = events_->create(events_at_a_time, events); !reason.empty()) {
    unusable_ = events.empty() && names_.empty();
    trouble(reason, 0);
  }
  return events;
}

std::uint64_t IntervalTimer::start(std::string_view name, Stream stream) {
  const std::lock_guard lock(mutex_);
  if (unusable_) return 0;
  const int device = events_->device();
  auto& events = pool(device);
  if (events.size() < 2) {
    ++lost_;
    return 0;
  }
  const auto thread = std::this_thread::get_id();
  const auto outer = std::find_if(open_.rbegin(), open_.rend(), [&](std::uint64_t id) {
    const Interval& it = intervals_.at(id);
    return it.stream == stream && it.thread == thread;
  });
  const Interval interval{.name = name_place(name),
                          .begin = events.back(),
                          .end = events[events.size() - 2],
                          .device = device,
                          .stream = stream,
                          .thread = thread,
                          .parent = outer == open_.rend() ? 0 : *outer};
  if (const std::string reason = events_->record(interval.begin, stream); !reason.empty()) {
    trouble(reason, 1);
    return 0;
  }
  events.resize(events.size() - 2);
  intervals_.emplace(++last_id_, interval);
  open_.push_back(last_id_);
  return last_id_;
}

void IntervalTimer::stop_interval(std::uint64_t interval) {
  const std::lock_guard lock(mutex_);
  if (const auto open = std::ranges::find(open_, interval); open != open_.end()) end(open);
}

void IntervalTimer::stop(std::string_view name, const Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (unusable_) return;
  const auto found = places_.find(name);
  auto newest = open_.end();  // of this thread, else of another one
  for (auto open = open_.begin(); found != places_.end() && open != open_.end(); ++open) {
    const Interval& interval = intervals_.at(*open);
    if (interval.name != found->second || (stream != nullptr && interval.stream != *stream)) continue;
    const auto this_thread = std::this_thread::get_id();
    if (newest == open_.end() || interval.thread == this_thread || intervals_.at(*newest).thread != this_thread)
      newest = open;
  }
  if (newest == open_.end())
    ++stops_without_start_;
  else
    end(newest);
}

void IntervalTimer::end(std::vector<std::uint64_t>::iterator open) {
  const std::uint64_t id = *open;
  const Interval interval = intervals_.at(id);
  open_.erase(open);
  // What began inside and ends later lies inside no longer.
  for (const std::uint64_t inner : open_)
    if (auto& parent = intervals_.at(inner).parent; parent == id) parent = interval.parent;
  if (const std::string reason = events_->record(interval.end, interval.stream); !reason.empty()) {
    trouble(reason, 1);
    return release(id);
  }
  stopped_.push_back(id);
}

void IntervalTimer::release(std::uint64_t id) {
  const Interval interval = intervals_.extract(id).mapped();
  auto& events = free_events_[interval.device];
  events.insert(events.end(), {interval.begin, interval.end});
}

void IntervalTimer::resolve(bool wait) {
  while (!stopped_.empty()) {
    const std::uint64_t id = stopped_.front();
    const Interval interval = intervals_.at(id);
    const EventSource::Elapsed elapsed = events_->elapsed(interval.begin, interval.end, wait);
    if (elapsed.outcome == EventSource::Outcome::pending) return;
    stopped_.pop_front();
    release(id);
    if (elapsed.outcome == EventSource::Outcome::failed) {
      trouble(elapsed.reason, 1);
      continue;
    }
    names_[interval.name].times.add(elapsed.milliseconds, elapsed.milliseconds - interval.nested_ms);
    if (const auto outer = intervals_.find(interval.parent); outer != intervals_.end())
      outer->second.nested_ms += elapsed.milliseconds;
  }
}

std::optional<Timing> IntervalTimer::timing(std::string_view name) {
  const std::lock_guard lock(mutex_);
  resolve(true);
  const auto found = places_.find(name);
  if (found == places_.end() || names_[found->second].times.count() == 0) return std::nullopt;
  return names_[found->second].times.timing();
}

std::vector<std::string> IntervalTimer::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Name& name : names_) names.push_back(name.name);
  return names;
}

std::string IntervalTimer::problem() const {
  const std::lock_guard lock(mutex_);
  if (unusable_) return fmt::format("Nothing was timed: {}.", trouble_);
  std::string text;
  const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : "\n") + sentence; };
  if (!trouble_.empty()) add(fmt::format("{} not timed: {}.", plural(lost_, "interval"), trouble_));
  if (!open_.empty())
    add(fmt::format("{} without a stop, {} first.", plural(open_.size(), "start"),
                    printable(names_[intervals_.at(open_.front()).name].name)));
  if (stops_without_start_ > 0) add(fmt::format("{} without a start.", plural(stops_without_start_, "stop")));
  return text;
}

std::string IntervalTimer::report() {
  constexpr std::size_t width = 70;
  const std::string strong = std::string(width, '=').append(1, '\n');
  const std::string thin = std::string(width, '-').append(1, '\n');
  const auto row = [](std::string_view name, std::string_view calls, std::string_view total, std::string_view mean,
                      std::string_view min, std::string_view max) {
    std::string line = fmt::format("{} {:<8} {:<12} {:<12} {:<12} {:<12}", pad_right(shorten(printable(name), 30), 30),
                                   calls, total, mean, min, max);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  const auto number = [](double milliseconds) { return fmt::format("{:.3f}", milliseconds); };
  std::string text = strong + "GPU KERNEL TIMING REPORT\n" + strong +
                     row("Kernel", "Calls", "Total (ms)", "Mean (ms)", "Min (ms)", "Max (ms)") + thin;
  double exclusive = 0.0;
  {
    const std::lock_guard lock(mutex_);
    resolve(true);
    for (const Name& name : names_) {
      if (name.times.count() == 0) continue;
      const Timing timing = name.times.timing();
      exclusive += timing.exclusive_ms;
      text += row(name.name, std::to_string(timing.count), number(timing.total_ms), number(timing.mean_ms),
                  number(timing.min_ms), number(timing.max_ms));
    }
  }
  text += thin + row("TOTAL", "", number(exclusive), "", "", "") + strong;
  for (const std::string& sentence : {events_->note(), problem()})
    if (!sentence.empty()) text += sentence + "\n";
  return text;
}

void IntervalTimer::reset() {
  const std::lock_guard lock(mutex_);
  while (!intervals_.empty()) release(intervals_.begin()->first);
  open_.clear();
  stopped_.clear();
  names_.clear();
  places_.clear();
  lost_ = stops_without_start_ = 0;
  if (!unusable_) trouble_.clear();
}

}  // namespace detail

namespace {

class HostEvents final : public EventSource {
  using Clock = std::chrono::steady_clock;

 public:
  int device() override { return 0; }
  std::string create(std::size_t count, std::vector<Event>& events) override {
    for (std::size_t i = 0; i < count; ++i) events.push_back(new Clock::time_point);
    return "";
  }
  void destroy(Event event) override { delete time_of(event); }
  std::string record(Event event, Stream) override {
    *time_of(event) = Clock::now();
    return "";
  }
  Elapsed elapsed(Event start, Event stop, bool) override {
    return {Outcome::done, std::chrono::duration<double, std::milli>(*time_of(stop) - *time_of(start)).count(), {}};
  }
  [[nodiscard]] std::string note() const override { return "There is no GPU here: the times are those of the host."; }

 private:
  static Clock::time_point* time_of(Event event) { return static_cast<Clock::time_point*>(event); }
};

}  // namespace

std::unique_ptr<EventSource> open_host_events() { return std::make_unique<HostEvents>(); }

KernelTimer::KernelTimer() : intervals_(std::make_unique<detail::IntervalTimer>(open_events())) {}
KernelTimer::~KernelTimer() = default;
void KernelTimer::start(std::string_view name, Stream stream) { (void)intervals_->start(name, stream); }
void KernelTimer::stop(std::string_view name) { intervals_->stop(name, nullptr); }
void KernelTimer::stop(std::string_view name, Stream stream) { intervals_->stop(name, &stream); }
KernelTimer::Scope::Scope(KernelTimer& timer, std::string_view name, Stream stream)
    : timer_(&timer), interval_(timer.intervals_->start(name, stream)) {}
void KernelTimer::Scope::stop() noexcept { timer_->intervals_->stop_interval(interval_); }
std::optional<Timing> KernelTimer::timing(std::string_view name) { return intervals_->timing(name); }
std::vector<std::string> KernelTimer::names() const { return intervals_->names(); }
std::string KernelTimer::report() { return intervals_->report(); }
std::string KernelTimer::problem() const { return intervals_->problem(); }
void KernelTimer::reset() { intervals_->reset(); }

}  // namespace gpubench::profile
