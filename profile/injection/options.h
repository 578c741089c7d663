// SPDX-License-Identifier: Apache-2.0
// What the profiled program's side is told, in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpubench::profile {

struct InjectionOptions {
  std::uint64_t max_bytes = std::uint64_t{4} << 30U;  ///< of one process's recording
  double start_after_seconds = 0.0;                   ///< since CUDA was initialised
  double duration_seconds = 0.0;                      ///< 0: to the end
  bool capture_range = false;                         ///< only between cudaProfilerStart and cudaProfilerStop
  bool on_demand = false;                             ///< only when a trigger asks
  bool leave = false;                                 ///< have CUPTI leave the process after a trigger, where it can
  double counting_seconds = 0.0;                      ///< that counting may add; 0: as counting_allowance says
  std::uint32_t counted_launches = 20;                ///< of each kernel group by each set, before they grow rare
  bool torch_ranges = false;  ///< modules, backward passes and optimizers of PyTorch are ranges; not in the file
  std::vector<std::vector<std::string>> counter_sets;  ///< each counted in one pass; empty: no counters
};

std::string to_text(const InjectionOptions& options);
/// What the text or the file does not have has its default.
InjectionOptions options_from(const std::string& text);
InjectionOptions read_injection_options(const std::filesystem::path& file);

/// Of a distributed program, as torchrun, Open MPI, MPICH and Slurm tell them in the environment; empty where none
/// does.
std::string rank_of_process();
std::string local_rank_of_process();

}  // namespace gpubench::profile
