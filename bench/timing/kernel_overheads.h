// SPDX-License-Identifier: Apache-2.0
// What launches cost beside the work of their kernels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/timing/difference_timer.h"
#include "core/model/estimate.h"
#include "gpu/device.h"

namespace gpubench::bench {

/// single: one execution behind each flush; behind_kernel: one behind an empty kernel.
enum class ChainKind { graphs, launches, single, behind_kernel };

/// The idle kernels that stand for an operation, and how that is said.
struct Substitute {
  std::vector<LaunchShape> shapes;  ///< empty when nothing can be taken off
  std::string note;
};
Substitute substitute_for(const GraphContent& content, int multiprocessors);
/// Where it is not known what an operation launches: one kernel of one block.
std::vector<LaunchShape> one_block();

/// What kernels of certain launch shapes cost before and after their work. Measured once for each set of shapes, and
/// again when the cost of one shape has changed, as it does once a process uses a second stream (gpu/cuda/handles.h).
class KernelOverheads {
 public:
  explicit KernelOverheads(Gpu& gpu) : gpu_(gpu) {}
  /// In seconds, for these kernels one after the other. `flush` is called for single ones. Throws GpuError.
  Estimate of(const std::vector<LaunchShape>& shapes, ChainKind kind, const std::function<void()>& flush);
  /// Of one execution of kernels that can be captured, without their overhead, as GpuTiming has it.
  Estimate device_seconds(const Batch& batch);

 private:
  [[nodiscard]] std::unique_ptr<ChainTimer> idle_timer(const std::vector<LaunchShape>& shapes, ChainKind kind,
                                                       const std::function<void()>& flush, long long cycles) const;
  void forget_if_changed();

  struct Known {
    std::vector<LaunchShape> shapes;
    ChainKind kind;
    Estimate seconds;
  };

  Gpu& gpu_;
  std::vector<Known> known_;
  std::unique_ptr<ChainTimer> watched_;  ///< kernels of one block that end at once
  double watched_seconds_ = 0.0;         ///< what one of them took when the known were measured
  double watched_time_ = -1e9;           ///< when that was last looked at, by the GPU's host clock
};

}  // namespace gpubench::bench
