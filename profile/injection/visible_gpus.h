// SPDX-License-Identifier: Apache-2.0
// The GPUs that a program sees, by its own numbers of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gpubench::profile {

struct VisibleGpu {
  std::uint8_t number = 0;
  std::string name;
  std::array<char, 16> uuid = {};
  std::int64_t memory_bytes = 0;
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;
  int l2_bytes = 0;
  // Of a multiprocessor:
  int max_threads = 0;
  int threads_of_a_warp = 0;
  int max_blocks = 0;
  int max_registers = 0;
  int max_shared_bytes = 0;
};

/// Asked of the driver that the program uses; empty until that is initialised. Not for a thread of CUPTI's.
std::vector<VisibleGpu> visible_gpus();

}  // namespace gpubench::profile
