// SPDX-License-Identifier: Apache-2.0
// What a profiler sees of one execution.
#pragma once

#include <string>

namespace gpubench::bench {

/// While it lives: an NVTX range of this name, and a capture between cudaProfilerStart and cudaProfilerStop. Nothing in
/// a build without CUDA, or where no profiler looks.
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace gpubench::bench
