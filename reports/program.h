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
/// Of each process: "start 2.10 s, weights 310 ms, warm-up 40.2 ms (3 steps), steady state 253 ms (60 steps)".
struct PhaseLine {
  std::string lead;  ///< "phases", "phases of python3 (rank 1)"
  std::string text;
};
std::vector<PhaseLine> phase_lines(const Program& program);
/// What of the program is judged: "The steady state: 60 steps (range step), 253 ms with 97 % of the kernels' time."
/// Empty where steps were not looked for.
std::string steady_text(const Program& program);
/// "60 steps (range step) of 4.21 ms: kernels at their roof 31 %, above the roof 22 %, launch gaps 47 %".
std::string step_text(const StepTime& step);
/// What it could take, and which kernels are above their roof; a sentence each.
std::vector<std::string> step_notes(const StepTime& step);
/// The parts by kind, those of kernels above the roof as one.
std::vector<StepPart> joined_parts(const StepTime& step);

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
