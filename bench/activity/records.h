// SPDX-License-Identifier: Apache-2.0
// Records of many executions summed up to those of one.
#pragma once

#include "core/model/measurement.h"
#include "gpu/profiling/activity_source.h"

namespace gpubench::bench {

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

}  // namespace gpubench::bench
