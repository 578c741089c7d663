// SPDX-License-Identifier: Apache-2.0
// All that a summary of a timeline says, found in one go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/program.h"
#include "timeline/analyses/breakdown.h"
#include "timeline/analyses/iterations.h"
#include "timeline/analyses/kernels.h"
#include "timeline/analyses/launches.h"
#include "timeline/analyses/ranks.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

struct Summary {
  Program program;  ///< as `analyze` makes it: GPUs, findings, ranges, memory
  Activity activity;
  std::vector<Breakdown> gpus;
  std::vector<StreamIdle> idle;
  std::vector<KernelTime> kernels;  ///< by name
  std::vector<LaunchTimes> launches;
  std::vector<LaunchBound> launch_bound;
  std::vector<CopyTimes> copies;
  std::vector<Iterations> iterations;
  Stragglers stragglers;
};

/// Throws std::invalid_argument as `analyze`.
Summary summarize(const Timeline& timeline);

/// "cuda:0", "cuda:1 of python (rank 1)".
/// "NVIDIA H200", where the trace tells; else empty.
std::string gpu_model(const Timeline& timeline, std::uint32_t process, std::int64_t device);
/// "cuda:0 of rank 1"
std::string gpu_name(const Timeline& timeline, std::uint32_t process, std::int64_t device);

}  // namespace gpubench::timeline
