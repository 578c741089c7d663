// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/activity_pass.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/time.h"
#include "gpu/backend.h"

namespace gpubench::bench {
namespace {

/// The GPU works for this long before anything is recorded, because clocks and power limits follow the load.
constexpr double warm_up_seconds = 20e-3;
constexpr int min_warm_up = 3;
/// Odd, so that the median is one of the durations; its interval leaves out the five at either end.
constexpr std::int64_t min_executions = 21;
constexpr std::int64_t max_executions = 201;
constexpr double executions_seconds = 10e-3;
/// The first recorded executions pay for the recording's preparations. A chain is first run to upload it, and again for
/// this long, because the GPU rested while it was made.
constexpr double chain_warm_up_seconds = 10e-3;
constexpr double max_chains = 5;
constexpr std::int64_t first_executions = 3;

/// Warms up, and returns what one execution takes on the host's clock.
double warm_up(const std::function<void()>& execute) {
  const double start = steady_seconds();
  double before = start;
  double one = 0.0;
  double now = start;
  for (int i = 0; i < min_warm_up || now - start < warm_up_seconds; ++i) {
    execute();
    now = steady_seconds();
    one = now - std::exchange(before, now);
  }
  return one;
}

/// So many records are kept of one chain, except that there are always a few executions.
constexpr std::int64_t max_records = 50'000;
constexpr std::int64_t few_executions = 5;

std::int64_t executions_for(double one_execution_seconds, const std::optional<Launches>& launches) {
  const double fitting = executions_seconds / std::max(one_execution_seconds, 1e-9);
  const std::int64_t kernels = std::max<std::int64_t>(launches ? launches->kernels : 1, 1);
  if (kernels * min_executions > max_records) return std::max(max_records / kernels, few_executions) | 1;
  return static_cast<std::int64_t>(
             std::clamp(fitting, static_cast<double>(min_executions), static_cast<double>(max_executions))) |
         1;
}

std::int64_t warm_up_chains_for(double chain_seconds) {
  return static_cast<std::int64_t>(std::clamp(chain_warm_up_seconds / std::max(chain_seconds, 1e-9), 1.0, max_chains));
}

}  // namespace

ActivityPass::ActivityPass(Device device, Opener open, CodeReader read_code)
    : device_(std::move(device)), open_(std::move(open)), read_code_(std::move(read_code)) {}

KernelCode ActivityPass::code_of_process(const Device& device) { return KernelCode::of_process(device.architecture); }

void ActivityPass::identify(std::vector<KernelLaunch>& kernels) {
  if (!code_) code_ = read_code_(device_);
  for (KernelLaunch& kernel : kernels) {
    CodeOfKernel known = code_->of(kernel.name);
    kernel.code = std::move(known.code);
    kernel.code_absent_reason = std::move(known.absent_reason);
  }
}

ActivitySource& ActivityPass::source() {
  if (unavailable_) throw MetricsUnavailable(*unavailable_);
  if (!source_) {
    try {
      source_ = open_(device_);
    } catch (const MetricsUnavailable& error) {
      unavailable_ = error.what();
      throw;
    }
  }
  return *source_;
}

namespace {

/// Where they are the kernels that were recorded.
void add_occupancy(const std::vector<Grid>& grids, Measurement& measurement) {
  const auto& order = measurement.kernel_order;
  if (grids.size() != order.size()) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    KernelGroup& group = measurement.kernels[static_cast<std::size_t>(order[i])];
    const auto [x, y, z] = group.launch.grid;
    if (x * y * z == grids[i].blocks && grids[i].blocks_per_multiprocessor > 0)
      group.blocks_per_multiprocessor = grids[i].blocks_per_multiprocessor;
  }
}

bool is_of_clock(const ActivityRecord& record) {
  return record.kernel && record.kernel->name.starts_with("gpubench::bench::") &&
         contains(record.kernel->name, "note_kernel(");
}

}  // namespace

/// After a warm-up, so that clocks are those of work, and a first chain or a few executions, which pay for what
/// recording prepares.
RecordedExecution ActivityPass::record(const Replay& replay, const std::optional<Launches>& launches) {
  const double one_execution_seconds = warm_up(replay.execute);
  const std::int64_t executions = executions_for(one_execution_seconds, launches);
  std::int64_t passed_over = first_executions;
  // What they allocate and read back must not be recorded.
  const ClockNotes clock = replay.clock_notes ? replay.clock_notes() : ClockNotes{[] {}, [] {}, nullptr};
  const auto measured = [&](const std::function<void()>& run) {
    clock.begin();
    run();
    clock.end();
  };
  ActivityRecords records = source().record([&] {
    if (!replay.chain) {
      for (std::int64_t i = 0; i < first_executions; ++i) replay.execute();
      measured([&] {
        for (std::int64_t i = 0; i < executions; ++i) replay.execute();
      });
      return;
    }
    const std::int64_t chains = warm_up_chains_for(one_execution_seconds * static_cast<double>(executions));
    const auto chain = replay.chain(executions);
    for (std::int64_t i = 0; i < chains; ++i) chain();
    measured(chain);
    passed_over = chains * executions;
  });
  std::erase_if(records.records, is_of_clock);
  RecordedExecution result = summarize(records, passed_over, executions);
  if (clock.hertz) result.check.clock_hz = clock.hertz();
  if (!replay.chain) result.check.gap_seconds.reset();  // the host launches each when one is done
  return result;
}

/// Once. Kernels that only wait would not do: their records have 0.15 us more than those of kernels that work.
void ActivityPass::measure_recording(const Replay& replay) {
  if (recording_) return;
  if (!replay.known_kernel) {
    recording_reason_ = "there is no kernel of known length here";
    return;
  }
  try {
    const KnownKernel known = replay.known_kernel();
    Replay own;
    own.execute = known.execute;
    own.chain = known.chain;
    const ActivityCheck recorded = record(own, Launches{1, 1, 0}).check;
    if (!recorded.seconds) throw MetricsUnavailable(recorded.reason);
    recording_ = {with_half_width(recorded.seconds->value - known.device_seconds.value,
                                  std::hypot(half_width(*recorded.seconds), half_width(known.device_seconds))),
                  recorded.gap_seconds};
    recording_reason_.clear();
  } catch (const std::exception& error) {
    recording_reason_ = error.what();
  }
}

void ActivityPass::take(RecordedExecution recorded, Measurement& measurement) {
  ActivityCheck& check = measurement.activity.emplace(std::move(recorded.check));
  check.source = std::string(source().name());
  if (check.seconds) check.recording_reason = recording_reason_;
  identify(check.kernels);
  measurement.kernels = std::move(recorded.kernels);
  measurement.kernel_order = std::move(recorded.kernel_order);
  measurement.kernel_order_reason = std::move(recorded.kernel_order_reason);
  if (!recording_) return;
  check.recording_seconds = recording_->excess;
  check.usual_gap_seconds = recording_->gap;
  for (KernelGroup& group : measurement.kernels) {
    if (group.kind != CommandKind::kernel) continue;
    const auto launches = static_cast<double>(group.launch.launches);
    group.seconds = with_half_width(group.seconds->value - launches * recording_->excess.value,
                                    std::hypot(half_width(*group.seconds), launches * half_width(recording_->excess)));
  }
}

void ActivityPass::fill(Measurement& measurement, const Replay& replay) {
  if (measurement.cache_state != "warm")
    return give_up(measurement, "activity records are taken with a warm cache, but the point was timed with a " +
                                    measurement.cache_state + " one");
  if (replay.resets) return give_up(measurement, "its inputs are reset before each execution, and records hold both");
  measurement.kernels.clear();  // a resumed run's point may have some
  measurement.kernel_order.clear();
  try {
    source();  // else nothing need be measured
    measure_recording(replay);
    take(record(replay, measurement.launches), measurement);
    if (replay.grids && measurement.kernels.size() > 1) add_occupancy(replay.grids(), measurement);
  } catch (const std::exception& error) {
    give_up(measurement, error.what());
  }
}

void ActivityPass::give_up(Measurement& measurement, const std::string& reason) {
  measurement.activity = ActivityCheck{};
  measurement.activity->reason = reason;
}

std::unique_ptr<ActivitySource> open_activity_source(const Device& device) {
  if (device.kind == DeviceKind::cpu) throw MetricsUnavailable("a CPU has no activity records; use --kernels on a GPU");
  return backend_of(device).activity();
}

}  // namespace gpubench::bench
