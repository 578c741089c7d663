// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/activity_pass.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "bench/activity/agreement.h"
#include "bench/counters/metric_source.h"
#include "core/base/time.h"

namespace gpubench::bench {
namespace {

/// Executions are run before any is recorded until the GPU has worked for this long, as it has when it is timed: clocks
/// and power limits follow the load.
constexpr double warm_up_seconds = 20e-3;
constexpr int min_warm_up = 3;
/// Odd, so that the median is one of the durations; its interval leaves out the five at either end.
constexpr std::int64_t min_executions = 21;
constexpr std::int64_t max_executions = 201;
constexpr double executions_seconds = 10e-3;
/// The first ones that are recorded pay for the recording's own preparations. A chain is run as a whole before the run
/// that counts: the first time it has yet to be sent to the GPU, node by node; and again until this time has passed,
/// because the making of it let the GPU rest, which then starts with clocks higher than those of a kernel that is
/// timed.
constexpr double chain_warm_up_seconds = 10e-3;
constexpr double max_chains = 5;
constexpr std::int64_t first_executions = 3;

/// Warms up, and returns what one execution takes on the host's clock.
double warm_up(const Replay& replay) {
  const double start = steady_seconds();
  double before = start;
  double one = 0.0;
  double now = start;
  for (int i = 0; i < min_warm_up || now - start < warm_up_seconds; ++i) {
    replay.execute();
    now = steady_seconds();
    one = now - std::exchange(before, now);
  }
  return one;
}

std::int64_t executions_for(double one_execution_seconds) {
  const double fitting = executions_seconds / std::max(one_execution_seconds, 1e-9);
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

ActivityCheck ActivityPass::check(const Measurement& measurement, const Replay& replay) {
  ActivitySource& source = this->source();
  const double one_execution_seconds = warm_up(replay);
  const std::int64_t executions = executions_for(one_execution_seconds);
  std::int64_t passed_over = first_executions;
  const ActivityRecords records = source.record([&] {
    if (!replay.chain) {
      for (std::int64_t i = 0; i < first_executions + executions; ++i) replay.execute();
      return;
    }
    const std::int64_t chains = warm_up_chains_for(one_execution_seconds * static_cast<double>(executions));
    const auto chain = replay.chain(executions);
    for (std::int64_t i = 0; i < chains + 1; ++i) chain();
    passed_over = chains * executions;
  });
  ActivityCheck check = summarize(records, passed_over, executions);
  check.source = std::string(source.name());
  identify(check.kernels);
  compare(check, measurement);
  return check;
}

void ActivityPass::fill(Measurement& measurement, const Replay& replay) {
  if (measurement.cache_state != "warm")
    return give_up(measurement, "activity records are taken with a warm cache, but the point was timed with a " +
                                    measurement.cache_state + " one");
  if (replay.resets) return give_up(measurement, "its inputs are reset before each execution, and records hold both");
  try {
    measurement.activity = check(measurement, replay);
  } catch (const std::exception& error) {
    give_up(measurement, error.what());
  }
}

void ActivityPass::give_up(Measurement& measurement, const std::string& reason) {
  measurement.activity = ActivityCheck{};
  measurement.activity->reason = reason;
}

}  // namespace gpubench::bench
