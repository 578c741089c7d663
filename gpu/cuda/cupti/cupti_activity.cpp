// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/model/measurement.h"
#include "gpu/cuda/cupti/cupti_buffers.h"
#include "gpu/cuda/cupti/cupti_records.h"
#include "gpu/cuda/cupti/cupti_sources.h"

namespace gpubench::bench {
namespace {

/// KERNEL without CONCURRENT runs kernels one by one, also those that belong together.
constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                              CUPTI_ACTIVITY_KIND_MEMSET};

/// Records are kept from construction to `stop`, or to destruction when a kind was refused or an execution threw.
class Recording {
 public:
  explicit Recording(const CuptiLibrary& library) : library_(library) {
    try {
      for (const CUpti_ActivityKind kind : kinds) {
        GPUBENCH_CUPTI_CALL(library_, cuptiActivityEnable, kind);
        enabled_.push_back(kind);
      }
    } catch (...) {
      abandon();
      throw;
    }
  }
  ~Recording() { abandon(); }
  Recording& operator=(Recording&&) = delete;  ///< not copied, not moved

  /// All buffers are handed over when this returns. Flushed before and after: records of a kind that is off already
  /// need not come any more, and some may come only then.
  void stop() {
    flush();
    while (!enabled_.empty()) {
      const CUpti_ActivityKind kind = enabled_.back();
      enabled_.pop_back();
      GPUBENCH_CUPTI_CALL(library_, cuptiActivityDisable, kind);
    }
    flush();
  }

 private:
  void flush() const { GPUBENCH_CUPTI_CALL(library_, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }
  void abandon() noexcept {
    if (enabled_.empty()) return;
    for (const CUpti_ActivityKind kind : enabled_) library_.cuptiActivityDisable(kind);
    enabled_.clear();
    library_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  const CuptiLibrary& library_;
  std::vector<CUpti_ActivityKind> enabled_;
};

class CuptiActivity final : public ActivitySource {
 public:
  explicit CuptiActivity(std::shared_ptr<const CuptiLibrary> library) : library_(std::move(library)) {
    register_activity_buffers(*library_);
  }

  [[nodiscard]] std::string_view name() const override { return "cupti activity"; }

  ActivityRecords record(const std::function<void()>& run) override {
    // Whatever a recording that broke off has left.
    std::size_t dropped_before = 0;
    (void)library_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped_before);
    (void)take_filled_buffers();
    Recording recording(*library_);
    run();
    recording.stop();
    ActivityRecords result;
    Seen seen;
    for (const FilledBuffer& buffer : take_filled_buffers()) read(buffer, seen, result);
    result.dropped = count_dropped();
    return result;
  }

 private:
  /// Since the last call.
  [[nodiscard]] std::int64_t count_dropped() const {
    std::size_t dropped = 0;
    GPUBENCH_CUPTI_CALL(*library_, cuptiActivityGetNumDroppedRecords, nullptr, 0, &dropped);
    return static_cast<std::int64_t>(dropped);
  }

  /// Start, end and correlation of works. Where another profiler has recorded in this process before (PyTorch's), CUPTI
  /// hands each record over twice.
  using Seen = std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>;

  void read(const FilledBuffer& buffer, Seen& seen, ActivityRecords& result) const {
    for_each_record(*library_, buffer.memory.get(), buffer.bytes, [&](const gpu::RecordedActivity& activity) {
      const bool is_new = std::visit(
          [&seen](const auto& record) {
            if constexpr (std::derived_from<std::remove_cvref_t<decltype(record)>, gpu::RecordedWork>)
              return seen.emplace(record.start_ns, record.end_ns, record.correlation).second;
            else
              return true;
          },
          activity);
      if (!is_new) return;
      const auto keep = [&](const gpu::RecordedWork& work, CommandKind kind, std::string_view name,
                            std::uint64_t bytes) {
        constexpr std::uint64_t max_bytes = std::numeric_limits<std::int64_t>::max();
        result.records.push_back({std::nullopt, work.start_ns, work.end_ns, kind, std::string(name),
                                  static_cast<std::int64_t>(std::min(bytes, max_bytes))});
      };
      std::visit(gpu::ByKind{
                     [&](const gpu::RecordedKernel& kernel) { result.records.push_back(of_kernel(kernel)); },
                     [&](const gpu::RecordedCopy& copy) { keep(copy, CommandKind::copy, copy.name, copy.bytes); },
                     [&](const gpu::RecordedMemset& memset) {
                       keep(memset, CommandKind::fill, command_name::fill, memset.bytes);
                     },
                     [](const auto&) {},
                 },
                 activity);
    });
  }

  static ActivityRecord of_kernel(const gpu::RecordedKernel& record) {
    if (!record.is_possible()) throw_unknown_layout();
    KernelLaunch kernel;
    std::ranges::copy(record.grid, kernel.grid.begin());
    std::ranges::copy(record.block, kernel.block.begin());
    kernel.name = record.name != nullptr ? demangled(record.name) : "a kernel without a name";
    kernel.registers = record.registers;
    kernel.static_shared_bytes = record.static_shared_bytes;
    kernel.dynamic_shared_bytes = record.dynamic_shared_bytes;
    kernel.local_bytes = record.local_bytes;
    return {std::move(kernel), record.start_ns, record.end_ns};
  }

  std::shared_ptr<const CuptiLibrary> library_;
};

}  // namespace

std::unique_ptr<ActivitySource> open_cupti_activity() { return std::make_unique<CuptiActivity>(load_cupti()); }

}  // namespace gpubench::bench
