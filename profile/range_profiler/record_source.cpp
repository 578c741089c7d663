// SPDX-License-Identifier: Apache-2.0
// Kernels and memory by CUPTI's activity records. Each thread notes when it enters and leaves a range; a record of
// CUDA's API has its thread and its time, so it finds its range, and kernels and memory name the call that made them.
// CUPTI's external correlation would tell the same, at twice the cost of a range.
#include "profile/range_profiler/record_source.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "gpu/cuda/cupti_buffers.h"
#include "gpu/cuda/cupti_records.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"

namespace gpubench::profile {
namespace {

using bench::CuptiLibrary;
using bench::MetricsUnavailable;

/// Beyond so many (16 MB), CUPTI is asked for all its records, so that the changes before them can go.
constexpr std::size_t max_kept_changes = std::size_t{1} << 20;

/// When a thread was in which range, by time.
class ThreadLog {
 public:
  struct Change {
    std::uint64_t time_ns = 0;
    std::uint32_t range = 0;  ///< from here on; 0: none
  };
  void push(std::uint64_t time_ns, std::uint32_t range) {
    const std::lock_guard lock(mutex_);
    open_.push_back(range);
    changes_.push_back({time_ns, range});
  }
  void pop(std::uint64_t time_ns) {
    const std::lock_guard lock(mutex_);
    if (!open_.empty()) open_.pop_back();
    changes_.push_back({time_ns, open_.empty() ? 0 : open_.back()});
  }
  /// What has come since the last call.
  std::vector<Change> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(changes_, {});
  }
  /// The thread's numbers that CUPTI may give in its records.
  [[nodiscard]] const std::array<std::uint32_t, 2>& threads() const { return threads_; }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> open_;
  std::vector<Change> changes_;
  std::array<std::uint32_t, 2> threads_ = {static_cast<std::uint32_t>(pthread_self()),
                                           static_cast<std::uint32_t>(gettid())};
};

class CuptiRecords final : public RecordSource {
 public:
  explicit CuptiRecords(bool memory) : library_(bench::load_cupti()) {
    bench::register_activity_buffers(*library_);
    (void)bench::take_filled_buffers();
    std::size_t before = 0;
    (void)library_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &before);
    try {
      for (const CUpti_ActivityKind kind :
           {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
        enable(kind);
      if (memory) enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    } catch (...) {
      disable();
      throw;
    }
  }
  ~CuptiRecords() override { disable(); }
  CuptiRecords& operator=(CuptiRecords&&) = delete;  ///< not copied, not moved

  void push(std::uint32_t range) noexcept override { log().push(now(), range); }
  void pop() noexcept override { log().pop(now()); }

  RecordBatch take(bool all) override {
    all = all || kept_changes_ > max_kept_changes;
    if (all) flush();
    RecordBatch batch;
    std::vector<gpu::RecordedCall> calls;
    for (const bench::FilledBuffer& buffer : bench::take_filled_buffers()) read(buffer, batch, calls);
    take_logs();
    for (const gpu::RecordedCall& call : calls)
      if (const std::uint32_t range = range_of(call); range != 0) batch.calls.push_back({call.correlation, range});
    if (all) forget_changes();
    std::size_t dropped = 0;
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityGetNumDroppedRecords, nullptr, 0, &dropped);
    batch.dropped = static_cast<std::int64_t>(dropped);
    return batch;
  }

  void stop() override {
    flush();
    disable();
  }

 private:
  void enable(CUpti_ActivityKind kind) {
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityEnable, kind);
    kinds_.push_back(kind);
  }
  void disable() noexcept {
    for (const CUpti_ActivityKind kind : std::exchange(kinds_, {})) (void)library_->cuptiActivityDisable(kind);
  }
  /// A GPU that failed has no more records, and its error belongs to the program.
  void flush() {
    (void)cudaDeviceSynchronize();
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  [[nodiscard]] std::uint64_t now() const noexcept {
    std::uint64_t time = 0;
    (void)library_->cuptiGetTimestamp(&time);
    return time;
  }

  /// This thread's.
  ThreadLog& log() {
    thread_local std::pair<std::uint64_t, std::shared_ptr<ThreadLog>> of_thread;
    if (of_thread.first != number_) {
      of_thread = {number_, std::make_shared<ThreadLog>()};
      const std::lock_guard lock(mutex_);
      logs_.push_back(of_thread.second);
    }
    return *of_thread.second;
  }

  /// After the records were read, so that no call in them is newer.
  void take_logs() {
    const std::lock_guard lock(mutex_);
    for (const auto& log : logs_) {
      const auto news = log->take();
      for (const std::uint32_t thread : log->threads()) {
        if (news.empty()) continue;
        auto& changes = changes_[thread];
        changes.insert(changes.end(), news.begin(), news.end());
        kept_changes_ += news.size();
      }
    }
    // The log of a thread that has ended has no other owner, and nothing more to say.
    std::erase_if(logs_, [](const auto& log) { return log.use_count() == 1; });
  }

  /// Of calls before now there are no more records. New vectors, because the old ones would keep their memory for as
  /// long as this object lives, and a session keeps those of former sessions.
  void forget_changes() {
    std::erase_if(changes_, [](const auto& of_thread) { return of_thread.second.back().range == 0; });
    for (auto& [thread, changes] : changes_) changes = std::vector{changes.back()};
    kept_changes_ = changes_.size();
  }

  [[nodiscard]] std::uint32_t range_of(const gpu::RecordedCall& call) const {
    const auto changes = changes_.find(call.thread);
    if (changes == changes_.end()) return 0;
    const auto after = std::ranges::upper_bound(changes->second, call.start_ns, {}, &ThreadLog::Change::time_ns);
    return after == changes->second.begin() ? 0 : std::prev(after)->range;
  }

  void read(const bench::FilledBuffer& buffer, RecordBatch& batch, std::vector<gpu::RecordedCall>& calls) const {
    const gpu::ByKind keep{
        [&](const gpu::RecordedCall& call) { calls.push_back(call); },
        [&](const gpu::RecordedKernel& kernel) {
          batch.kernels.push_back({kernel.correlation, kernel.is_timed() ? kernel.end_ns - kernel.start_ns : 0});
        },
        [&](const gpu::RecordedAllocation& event) {
          batch.memory.push_back({event.correlation, !event.is_release, event.is_stream_ordered,
                                  gpu::names_of(event.kind).name.data(), event.address, event.bytes, event.time_ns});
        },
        [](const auto&) {},  // what another session of this process left
    };
    bench::for_each_record(*library_, buffer.memory.get(), buffer.bytes,
                           [&](const gpu::RecordedActivity& activity) { std::visit(keep, activity); });
  }

  std::shared_ptr<const CuptiLibrary> library_;
  std::vector<CUpti_ActivityKind> kinds_;
  static inline std::atomic<std::uint64_t> count_ = 0;
  const std::uint64_t number_ = ++count_;  ///< tells a thread whether its log is this object's
  std::mutex mutex_;
  std::vector<std::shared_ptr<ThreadLog>> logs_;
  std::map<std::uint32_t, std::vector<ThreadLog::Change>> changes_;  ///< by thread
  std::size_t kept_changes_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> open_cupti_records(bool memory) { return std::make_unique<CuptiRecords>(memory); }

std::unique_ptr<RecordSource> open_records(bool memory) {
  if (const std::string why = bench::why_no_gpu(); !why.empty()) throw MetricsUnavailable(why);
  return open_cupti_records(memory);
}

}  // namespace gpubench::profile
