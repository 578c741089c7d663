// SPDX-License-Identifier: Apache-2.0
// What the driver recorded of a point's executions, and the pass that has it record them.
#pragma once

#include "bench/activity/kernel_code.h"
#include "bench/counters/post_timing_pass.h"
#include "gpu/activity_source.h"

namespace gpubench::bench {

/// The source for a device. Throws MetricsUnavailable when there is none. Loads CUPTI.
std::unique_ptr<ActivitySource> open_activity_source(const Device& device);

/// What records say of one execution; the fields are those of Measurement.
struct RecordedExecution {
  ActivityCheck check;
  std::vector<KernelGroup> kernels;  ///< with times as recorded
  std::vector<std::int64_t> kernel_order;
  std::string kernel_order_reason;
};

/// The interquartile mean: records go by steps of 32 ns, so a mean sees what lies between, and the outer quarters are
/// what the system does to a few.
Estimate centre_of(std::vector<double> seconds);

/// Sums up the records of `warm_up + executions` executions that ran one after another, without the first `warm_up`.
/// Executions are told apart by their order, so all must run the same kernels and copies. Else the check's `reason`
/// says why there is nothing.
RecordedExecution summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions);

/// Fills `activity` and the kernels, point after point, on one device. Opens the source at the first point.
class ActivityPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<ActivitySource>(const Device&)>;

  using CodeReader = std::function<KernelCode(const Device&)>;

  /// Each point is recorded once. One that contradicts its device time is set up and recorded anew in the later rounds,
  /// until one agrees: where its data lie, and what else the GPU did, varies.
  static constexpr std::size_t attempts = 3;

  explicit ActivityPass(Device device, Opener open = open_activity_source, CodeReader read_code = code_of_process);

  [[nodiscard]] std::size_t rounds() override { return attempts; }
  void begin(std::size_t round) override { round_ = round; }
  [[nodiscard]] bool wants(std::size_t point, const Measurement& timed) override;
  void fill(Measurement& measurement, const Replay& replay) override;
  void give_up(Measurement& measurement, const std::string& reason) override;

 private:
  /// Of a kernel with a known device time: what its record has beyond that, and what lies between its records.
  struct Recording {
    Estimate excess;
    std::optional<Estimate> gap;
  };
  static KernelCode code_of_process(const Device& device);
  ActivitySource& source();
  void identify(std::vector<KernelLaunch>& kernels);
  RecordedExecution record(const Replay& replay, const std::optional<Launches>& launches, bool one_by_one);
  Recording recording_of(const Replay& replay, bool one_by_one);
  void take(RecordedExecution recorded, const Recording* recording, Measurement& measurement);
  void measure_recording(const Replay& replay);
  void attempt_one_by_one(Measurement& measurement, const Replay& replay);
  void attempt_without_records(Measurement& measurement, const Replay& replay);
  void check(Measurement& measurement, const Replay& replay);

  Device device_;
  Opener open_;
  CodeReader read_code_;
  std::size_t round_ = 0;
  std::set<std::size_t> contradicted_;  ///< points, by the last attempt
  std::unique_ptr<ActivitySource> source_;
  std::optional<KernelCode> code_;  ///< once it was asked for
  std::optional<std::string> unavailable_;
  std::optional<Recording> recording_;
  std::optional<Recording> one_by_one_;  ///< the same where kernels are recorded so
  std::string recording_reason_;         ///< why that is not known
};

}  // namespace gpubench::bench
