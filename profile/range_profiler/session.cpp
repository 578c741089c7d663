// SPDX-License-Identifier: Apache-2.0
// The one session of a process: a recording as that of a profiled program, in which ranges write themselves.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/base/environment.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "profile/range_profiler/range_reports.h"
#include "profile/range_profiler/range_results.h"
#include "profile/range_profiler/sources.h"

namespace gpubench::profile {

namespace detail {
namespace {
constexpr unsigned by_session = 1;
constexpr unsigned by_nvtx = 2;
constexpr unsigned counted = 4;  // of a range alone: what it has to undo
/// What makes CUDA's tools read NVTX.
unsigned nvtx_readers() {
  return environment({"NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID"}).empty() ? 0 : by_nvtx;
}
}  // namespace
std::atomic<unsigned> range_uses{nvtx_readers()};
}  // namespace detail

namespace {

using detail::by_nvtx;
using detail::by_session;
using detail::counted;

/// Of a session between two resets, on disk.
constexpr std::uint64_t max_recording_bytes = std::uint64_t{4} << 30U;

class Session {
 public:
  Status enable(const Options& options);
  void disable();
  void reset();
  Status status();
  std::vector<RangeResult> results(Reduction reduction);
  MemoryActivity memory_activity();
  void use(Sources sources) {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
  }
  /// The number of a new range, and what it has to undo.
  std::uint32_t begin(std::string_view name, RangeType type, unsigned& uses);
  void end(std::uint32_t number, bool is_counted);

 private:
  void open_recording();
  void open_records(bool memory);
  void open_counters(const std::vector<std::string>& names);
  [[nodiscard]] std::uint64_t now() const;
  [[nodiscard]] Status status_locked() const;
  [[nodiscard]] RangeSummary summary(Reduction reduction);

  std::mutex mutex_;
  Sources sources_;
  bool enabled_ = false;
  /// What ranges write to, and by which clock; null where they do not. Former ones live on: a range that is open when
  /// its session ends still ends.
  std::atomic<RecordingWriter*> writing_ = nullptr;
  std::atomic<RecordSource*> clock_ = nullptr;
  std::atomic<RangeCounters*> counting_ = nullptr;
  std::atomic<std::uint32_t> ranges_ = 0;
  std::unique_ptr<RecordingWriter> recording_;
  std::vector<std::unique_ptr<RecordSource>> records_;
  std::unique_ptr<RangeCounters> counters_;
  std::vector<std::unique_ptr<RangeCounters>> former_counters_;
  RangeSummary last_;  ///< without its ranges
  bool has_records_ = false;
  bool memory_wanted_ = true;
  std::string records_reason_ = not_enabled;
  std::string counters_reason_;
  std::string note_;

  static constexpr const char* not_enabled = "no session was started; call gpubench::profile::enable()";
};

/// Never destroyed: ranges may end while the process does.
Session& session() {
  static auto* const one = new Session;
  return *one;
}

std::uint64_t Session::now() const {
  if (const RecordSource* const source = clock_.load(std::memory_order_acquire)) return source->now();
  return static_cast<std::uint64_t>(utc_nanoseconds());
}

std::uint32_t Session::begin(std::string_view name, RangeType type, unsigned& uses) {
  thread_local const auto thread = static_cast<std::uint32_t>(gettid());
  RecordingWriter* const recording = writing_.load(std::memory_order_acquire);
  if (recording == nullptr) return 0;
  const std::uint32_t number = ++ranges_;
  uses |= by_session;
  if (RangeCounters* const counters = counting_.load(std::memory_order_acquire);
      counters != nullptr && counters->of_this_thread()) {
    uses |= counted;
    counters->open(number, name);
  }
  const auto lock = recording->lock();
  const std::uint32_t written = recording->name(type == RangeType::memory ? std::string(name) + memory_mark : name);
  recording->add(MarkerRecord{.number = number, .time = halves(now()), .thread = thread, .name = written});
  return number;
}

void Session::end(std::uint32_t number, bool is_counted) {
  RecordingWriter* const recording = writing_.load(std::memory_order_acquire);
  if (recording == nullptr) return;
  const std::uint64_t time = now();
  if (RangeCounters* const counters = counting_.load(std::memory_order_acquire); is_counted && counters != nullptr)
    counters->close(number);
  const auto lock = recording->lock();
  recording->add(MarkerRecord{.phase = MarkerPhase::end, .number = number, .time = halves(time)});
}

/// A file without a name, which is gone with the process.
void Session::open_recording() {
  const PrivateFolder folder;
  recording_ = std::make_unique<RecordingWriter>(
      folder.path() / "session",
      RecordingHeader{.start_ns = static_cast<std::int64_t>(now()), .process = static_cast<std::uint32_t>(getpid())},
      max_recording_bytes);
  writing_ = recording_.get();
  // A copy of this process must not write to its parent's recording, whose locks may be held.
  pthread_atfork(nullptr, nullptr, [] {
    detail::range_uses &= ~by_session;
    session().writing_ = nullptr;
  });
  // Registered after CUDA's own, so that it runs before.
  (void)std::atexit([] { session().disable(); });
}

void Session::open_records(bool memory) {
  has_records_ = false;
  records_reason_.clear();
  memory_wanted_ = memory;
  for (const char* variable : bench::profiler_variables)
    if (!environment(variable).empty())
      records_reason_ = fmt::format(
          "{} is set, so another profiler records this program and shows its ranges; run without it to record here",
          variable);
  if (!records_reason_.empty()) return;
  try {
    records_.push_back(sources_.records(*recording_, memory));
    clock_ = records_.back().get();
    has_records_ = true;
  } catch (const std::exception& error) {
    records_reason_ = error.what();
  }
}

void Session::open_counters(const std::vector<std::string>& names) {
  counters_reason_.clear();
  if (counters_) {
    counters_->clear();
    former_counters_.push_back(std::move(counters_));
  }
  if (names.empty()) return;
  if (!has_records_) {
    counters_reason_ = records_reason_;
    return;
  }
  try {
    counters_ = std::make_unique<RangeCounters>(sources_.counters(), names);
    counters_reason_ = counters_->reason();
    if (counters_->any()) counting_ = counters_.get();
  } catch (const std::exception& error) {
    counters_reason_ = error.what();
  }
}

Status Session::enable(const Options& options) {
  disable();
  const std::lock_guard lock(mutex_);
  if (recording_ == nullptr) open_recording();
  open_records(options.memory);
  detail::range_uses |= by_session;
  open_counters(options.metrics);
  enabled_ = true;
  return status_locked();
}

void Session::disable() {
  if (writing_ == nullptr) return;  // in a copy of the process its lock may be held
  const std::lock_guard lock(mutex_);
  if (!std::exchange(enabled_, false)) return;
  detail::range_uses &= ~by_session;
  counting_ = nullptr;
  if (counters_) counters_->finish();
  if (has_records_) records_.back()->stop();
}

void Session::reset() {
  const std::lock_guard lock(mutex_);
  if (enabled_ && has_records_) records_.back()->flush();
  if (recording_) {
    const auto recording_lock = recording_->lock();
    recording_->restart();
    if (!records_.empty()) records_.back()->forget_names();
  }
  if (counters_) counters_->clear();
  last_ = {};
  note_.clear();
}

Status Session::status_locked() const {
  Status status;
  status.enabled = enabled_;
  status.records = has_records_;
  status.records_reason = records_reason_;
  status.counters = counters_ != nullptr && counters_->any();
  status.counters_reason = counters_reason_;
  status.dropped = last_.dropped;
  status.kernels_outside = last_.kernels_outside;
  status.note = joined(last_.warnings, " ") + note_;
  return status;
}

Status Session::status() {
  const std::lock_guard lock(mutex_);
  return status_locked();
}

RangeSummary Session::summary(Reduction reduction) {
  if (recording_ == nullptr) return {};
  if (enabled_ && has_records_) records_.back()->flush();
  {
    const auto recording_lock = recording_->lock();
    recording_->flush();
  }
  Recordings recordings;
  try {
    read_recording(fmt::format("/proc/self/fd/{}", recording_->descriptor()), recordings, true);
  } catch (const RecordingError& error) {
    note_ = fmt::format("No results: {}", error.what());
    return {};
  }
  sort(recordings.timeline);
  RangeSummary summary = summarize(
      recordings.timeline,
      {.reduction = reduction, .records = has_records_, .memory = memory_wanted_, .counters = counters_.get()});
  last_ = summary;
  last_.ranges.clear();
  return summary;
}

std::vector<RangeResult> Session::results(Reduction reduction) {
  const std::lock_guard lock(mutex_);
  return summary(reduction).ranges;
}

MemoryActivity Session::memory_activity() {
  const std::lock_guard lock(mutex_);
  RangeSummary all = summary(Reduction::sum);
  std::erase_if(all.ranges, [](const RangeResult& range) { return range.type != RangeType::memory; });
  MemoryActivity activity{.kinds = std::move(all.memory), .ranges = std::move(all.ranges), .reason = {}};
  if (!has_records_)
    activity.reason = records_reason_;
  else if (!memory_wanted_)
    activity.reason = "the session was started without memory; set Options::memory";
  return activity;
}

}  // namespace

void use_sources(Sources sources) { session().use(std::move(sources)); }

std::optional<RangeType> range_type(std::string_view text) {
  if (text == "CONCURRENT_KERNEL") return RangeType::kernels;
  return text == "MEMORY" ? std::optional(RangeType::memory) : std::nullopt;
}

void Range::open(std::string_view name, RangeType type) noexcept {
  const unsigned uses = detail::range_uses.load(std::memory_order_relaxed);
  try {
    if ((uses & by_nvtx) != 0) {
      push_nvtx(std::string(name));
      uses_ |= by_nvtx;
    }
    if ((uses & by_session) != 0) number_ = session().begin(name, type, uses_);
  } catch (const std::bad_alloc&) {
    return;  // the range is not recorded, or not counted
  }
}

void Range::close() noexcept {
  if ((uses_ & by_session) != 0) session().end(number_, (uses_ & counted) != 0);
  if ((uses_ & by_nvtx) != 0) pop_nvtx();
}

Status enable(const Options& options) { return session().enable(options); }
void disable() { session().disable(); }
void reset() { session().reset(); }
Status status() { return session().status(); }
std::vector<RangeResult> results(Reduction reduction) { return session().results(reduction); }
MemoryActivity memory_activity() { return session().memory_activity(); }

std::string ranges_text(Reduction reduction) {
  const auto ranges = results(reduction);
  return text_of(ranges, reduction, status());
}
std::string ranges_csv(Reduction reduction) { return csv_of(results(reduction), reduction); }
std::string ranges_json(Reduction reduction) {
  const auto ranges = results(reduction);
  return json_of(ranges, reduction, status());
}
std::string memory_activity_text() { return text_of(memory_activity()); }
void print_ranges(Reduction reduction) { (void)std::fputs(ranges_text(reduction).c_str(), stdout); }
void print_memory_activity() { (void)std::fputs(memory_activity_text().c_str(), stdout); }

std::string write_ranges(const std::string& path, Reduction reduction) {
  const std::filesystem::path target(path);
  const bool csv = target.extension() == ".csv";
  if (!csv && target.extension() != ".json")
    return fmt::format("'{}' names no format; end it with .csv or .json", printable(path));
  try {
    storage::write_file(target, csv ? ranges_csv(reduction) : ranges_json(reduction));
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace gpubench::profile
