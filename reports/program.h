// SPDX-License-Identifier: Apache-2.0
// What several writers say of a profiled program. Raw text, not yet made safe for any format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/program.h"
#include "core/model/run.h"

namespace gpubench::reports {

/// What an operation declares; of one that declares nothing, as a program's kernels, what was counted.
Work shown_work(const Measurement& measurement);

/// A kernel group of the program beside its point, which is null where the run has none of that name.
struct ProgramRow {
  const ProgramKernel* kernel = nullptr;
  const Point* point = nullptr;
  std::string name;          ///< short; with a few words of its template arguments where others are named alike
  std::string differs = {};  ///< in what, where rows still have one name: "grid 4096, in step/forward"
};
/// By falling time, as in the program. Refers into `run`; none where it is of no program.
std::vector<ProgramRow> program_rows(const Run& run);

/// Of one launch; absent where there is none.
std::optional<double> mean_seconds(const ProgramKernel& kernel);

/// "ended with exit code 0; 1.84 s recorded, 1 840 kernel launches, 40 of them with counters"
std::string ran_text(const Program& program);
/// "39 % busy of 16.4 ms: compute 35 %, copies and fills 3 % (12 % of it during kernels)"
/// "4.38 s", or "4.38 s (without the 2.10 s that the recording took)".
std::string wall_text(const GpuTime& gpu);
std::string busy_text(const GpuTime& gpu);
/// "61 % idle: late launches 50 %, host waiting for the GPU 8 %"
std::string idle_text(const GpuTime& gpu);
/// Of what is worth a line: a few bytes of pinned memory are not.
std::vector<ProgramMemory> shown_memory(const Program& program);
/// "peak 1.2 GiB at 3.20 s, 14 allocations, 12 MiB never freed"
std::string memory_text(const ProgramMemory& memory);
/// "device", "device of python3 (rank 1)"
std::string name_of(const ProgramMemory& memory);

}  // namespace gpubench::reports
