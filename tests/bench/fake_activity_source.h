// SPDX-License-Identifier: Apache-2.0
// A device that runs what a test says, and records of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "bench/activity/activity_pass.h"

namespace gpubench::bench {

/// A GPU on which executions run one after another; outlives the source that an ActivityPass owns.
struct FakeGpu {
  bool recording = false;
  int executions = 0;  ///< in all
  int recorded = 0;    ///< executions
  std::uint64_t now = 1'000'000;
  ActivityRecords kept;
  std::string error;                 ///< thrown by record
  std::uint64_t recording_adds = 0;  ///< nanoseconds to each kernel

  /// Runs a kernel (or, without a name, a copy) that takes so long.
  void runs(const std::string& kernel, std::uint64_t nanoseconds) {
    ActivityRecord record;
    if (!kernel.empty()) {
      record.kernel.emplace();
      record.kernel->name = kernel;
      record.kernel->grid = record.kernel->block = {1, 1, 1};
    }
    record.start_nanoseconds = now;
    record.end_nanoseconds = now += nanoseconds + (recording && record.kernel ? recording_adds : 0);
    now += 1000;
    if (recording) kept.records.push_back(std::move(record));
  }
};

class FakeActivitySource final : public ActivitySource {
 public:
  explicit FakeActivitySource(FakeGpu& gpu) : gpu_(gpu) {}

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  ActivityRecords record(const std::function<void()>& run) override {
    if (!gpu_.error.empty()) throw MetricsUnavailable(gpu_.error);
    const int before = gpu_.executions;
    gpu_.recording = true;
    run();
    gpu_.recording = false;
    gpu_.recorded = gpu_.executions - before;
    return std::exchange(gpu_.kept, {});
  }

 private:
  FakeGpu& gpu_;
};

}  // namespace gpubench::bench
