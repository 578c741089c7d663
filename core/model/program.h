// SPDX-License-Identifier: Apache-2.0
// A whole program as it ran: where its time and its memory went. Its kernels are the points of the same run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/compiled_once.h"

namespace gpubench {

/// Why a GPU had nothing to do. `launch`: the host had not launched the next work yet. `host`: nor did it try for more
/// than a millisecond: it did other work. `synchronization`: it could not, because it had waited for the GPU. `copy`:
/// it had waited for a copy. `device`: the work was launched and did not start: it waited for an event, another stream
/// or another process. `recording`: the recording itself held the host up. `edges`: before the first and after the last
/// work.
enum class IdleCause { launch, host, synchronization, copy, device, recording, edges, unknown };
inline constexpr auto idle_cause_names = std::to_array<std::string_view>(
    {"launch", "host", "synchronization", "copy", "device", "recording", "edges", "unknown"});
constexpr const auto& names_of(IdleCause) { return idle_cause_names; }
/// In words: "late launches".
inline constexpr auto idle_cause_texts =
    std::to_array<std::string_view>({"late launches", "host at other work", "host waiting for the GPU",
                                     "host waiting for a copy", "launched but not started", "the recording itself",
                                     "before the first and after the last work", "cause not known"});
constexpr std::string_view text_of(IdleCause cause) { return idle_cause_texts[static_cast<std::size_t>(cause)]; }

/// A stretch of idle time, summed up by its cause.
struct Idle {
  IdleCause cause = IdleCause::unknown;
  double seconds = 0.0;
  std::int64_t gaps = 0;  ///< of which some part has this cause
  friend bool operator==(const Idle&, const Idle&) = default;
};

/// One GPU's wall time, in unions of intervals: nothing counts twice. busy = compute + memory + communication - what of
/// them overlaps; busy + idle = wall.
struct GpuTime {
  std::string device;   ///< "cuda:0"
  std::string process;  ///< "python3 (rank 1)"; empty where there is one
  double wall_seconds = 0.0;
  double busy_seconds = 0.0;
  double compute_seconds = 0.0;                 ///< any kernel that does not communicate
  double memory_seconds = 0.0;                  ///< any copy or fill
  double communication_seconds = 0.0;           ///< any of NCCL's kernels
  double memory_overlap_seconds = 0.0;          ///< of memory_seconds, the part under compute
  double communication_overlap_seconds = 0.0;   ///< of communication_seconds, the part under compute
  std::vector<Idle> idle;                       ///< by cause, the longest first; of all together wall - busy
  std::int64_t launches = 0;                    ///< of kernels and graphs by the host
  std::optional<double> launch_call_seconds;    ///< median of the host's call
  std::optional<double> launch_period_seconds;  ///< median from one launch call's start to the next on one thread
  friend bool operator==(const GpuTime&, const GpuTime&) = default;
};
/// The wall time without what the GPU was idle for the recording's sake: what shares are of.
inline double undisturbed_seconds(const GpuTime& gpu) {
  double seconds = gpu.wall_seconds;
  for (const Idle& idle : gpu.idle)
    if (idle.cause == IdleCause::recording) seconds -= idle.seconds;
  return std::max(seconds, gpu.busy_seconds);
}

/// "cuda:0 of python3 (rank 1)"
inline std::string name_of(const GpuTime& gpu) {
  return gpu.process.empty() ? gpu.device : gpu.device + " of " + gpu.process;
}

/// What an expert would say, and what it could gain.
struct Finding {
  std::string text;                    ///< what is, why, and what to do
  std::optional<double> gain_seconds;  ///< of the wall time, at most
  std::string code = {};               ///< which rule said it: "idle.launch"; empty in older runs, as the following
  std::string evidence = {};           ///< the part of the text that says what is
  std::string advice = {};             ///< the part that says what to do
  std::string threshold = {};          ///< beyond which the rule speaks
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Launches of one function with one shape in one range path: more than its point's measurement can say.
struct ProgramKernel {
  std::string point;  ///< name of its measurement
  std::string range;  ///< "step/forward"; empty outside of ranges
  std::int64_t launches = 0;
  std::int64_t counted = 0;    ///< of them around which counters were read; their times do not count
  double total_seconds = 0.0;  ///< of all launches, as recorded
  double p50_seconds = 0.0;    ///< of a launch, as recorded, as is the next
  double p95_seconds = 0.0;
  double share = 0.0;  ///< of all kernels' time, 0 to 1
  friend bool operator==(const ProgramKernel&, const ProgramKernel&) = default;
};

/// A node of the tree of ranges that the program's author named, in depth-first order.
struct ProgramRange {
  std::string process;  ///< as in GpuTime
  std::string path;     ///< "step/forward"
  std::int64_t depth = 0;
  std::int64_t count = 0;
  double host_seconds = 0.0;        ///< from its starts to its ends
  double kernel_seconds = 0.0;      ///< of all kernels launched in it and in the ranges within
  double own_kernel_seconds = 0.0;  ///< without those of the ranges within
  std::int64_t launches = 0;        ///< of these kernels, those of a graph each, inclusive
  std::int64_t allocations = 0;     ///< by calls in it and in the ranges within
  std::int64_t allocated_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< held at once of what was allocated there
  friend bool operator==(const ProgramRange&, const ProgramRange&) = default;
};

/// Memory of one kind in one process.
struct ProgramMemory {
  std::string process;
  std::string kind;  ///< "device", "pool", "managed", "pinned"
  std::int64_t allocations = 0;
  std::int64_t peak_bytes = 0;
  double peak_seconds = 0.0;  ///< since the start
  std::int64_t never_freed_bytes = 0;
  std::vector<double> curve_seconds;  ///< of the live bytes, at most 512 places
  std::vector<std::int64_t> curve_bytes;
  friend bool operator==(const ProgramMemory&, const ProgramMemory&) = default;
};

/// Memory that was not given back by the time the recording ended, by the library that took it.
struct NeverFreed {
  std::string source;  ///< "libtorch_cuda.so"; empty where it is not known
  std::string kind;
  std::int64_t allocations = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const NeverFreed&, const NeverFreed&) = default;
};

/// What a stretch of the overview is.
enum class WorkKind { compute, memory, communication, launch, wait, range };
inline constexpr auto work_kind_names =
    std::to_array<std::string_view>({"compute", "memory", "communication", "launch", "wait", "range"});

/// A track of the overview: stretches of work, those close together as one.
struct ProgramTrack {
  std::string name;  ///< "cuda:0 stream 7"
  std::vector<double> starts_seconds;
  std::vector<double> lengths_seconds;
  std::vector<WorkKind> kinds;
  std::vector<std::int64_t> names;  ///< in Program::overview_names; -1 where several were joined
  friend bool operator==(const ProgramTrack&, const ProgramTrack&) = default;
};

/// What a stretch of a program was for. `start`: before the first work on a GPU: imports, loading. `weights`: work on
/// the GPU that is mostly copies to it. `compilation`: the GPU had nothing to do for long, while code was loaded.
/// `setup`: other work before the steps. `warm_up`: the first steps, where they took longer. `steady`: the steps.
/// `between`: other work between steps. `end`: what comes after the last one.
enum class PhaseKind { start, weights, compilation, setup, warm_up, steady, between, end };
inline constexpr auto phase_kind_names = std::to_array<std::string_view>(
    {"start", "weights", "compilation", "setup", "warm-up", "steady", "between", "end"});
constexpr const auto& names_of(PhaseKind) { return phase_kind_names; }
/// In words: "steady state".
constexpr std::string_view text_of(PhaseKind kind) {
  constexpr std::array<std::string_view, phase_kind_names.size()> texts = {
      "start", "weights", "compilation", "set-up", "warm-up", "steady state", "other work", "end"};
  return texts[static_cast<std::size_t>(kind)];
}

struct ProgramPhase {
  PhaseKind kind = PhaseKind::start;
  std::string process;  ///< as in GpuTime
  double start_seconds = 0.0;
  double seconds = 0.0;
  std::int64_t steps = 0;  ///< of warm-up and steady state
  friend bool operator==(const ProgramPhase&, const ProgramPhase&) = default;
};

/// The part of a program that its report is of.
struct SteadyState {
  std::string by;           ///< "range step", "314 kernels, copies and fills that repeat"
  std::int64_t steps = 0;   ///< of all processes
  double seconds = 0.0;     ///< of the process in which it lasts longest
  double kernel_share = 0;  ///< of the time of all kernels of the program, 0 to 1
  friend bool operator==(const SteadyState&, const SteadyState&) = default;
};

/// What a step's time goes to. `roof`: what its kernels would take at their roofs, with the overhead of starting them.
/// `above_roof`: what they take beyond. `no_verdict`: kernels whose roof is not known. `collectives` and `copies`: what
/// of them no kernel hides. `launch`: the GPU waited for a launch, or started one queued kernel after another. `host`:
/// the host did other work. `waiting`: the host had waited for the GPU or a copy, or work that was launched waited.
enum class StepPartKind { roof, above_roof, no_verdict, collectives, copies, launch, host, waiting, unknown };
inline constexpr auto step_part_kind_names = std::to_array<std::string_view>(
    {"roof", "above-roof", "no-verdict", "collectives", "copies", "launch", "host", "waiting", "unknown"});
constexpr const auto& names_of(StepPartKind) { return step_part_kind_names; }
/// In words: "launch gaps".
inline constexpr auto step_part_kind_texts = std::to_array<std::string_view>(
    {"kernels at their roof", "above the roof", "kernels without a verdict", "collectives, not during kernels",
     "copies and fills, not during kernels", "launch gaps", "host at other work", "waiting", "cause not known"});
constexpr std::string_view text_of(StepPartKind kind) { return step_part_kind_texts[static_cast<std::size_t>(kind)]; }

struct StepPart {
  StepPartKind kind = StepPartKind::unknown;
  std::string name;      ///< of the kernel, above the roof; empty: several
  double seconds = 0.0;  ///< of a step, on average
  friend bool operator==(const StepPart&, const StepPart&) = default;
};

/// The mean step of one GPU, without what the recording took. Its parts add up to it.
struct StepTime {
  std::string device;  ///< as in GpuTime, as is the next
  std::string process;
  std::string by;  ///< as in SteadyState
  std::int64_t steps = 0;
  double seconds = 0.0;
  double recording_seconds = 0.0;             ///< that the recording took of a step, beside it
  std::vector<StepPart> parts;                ///< by kind, then by falling time
  std::optional<double> at_roof_seconds;      ///< of a step whose kernels run at their roofs; others as they do
  std::optional<double> free_launch_seconds;  ///< of a step without launch gaps
  std::optional<double> both_seconds;
  std::string roof_reason;  ///< why the first and the last are absent
  friend bool operator==(const StepTime&, const StepTime&) = default;
};

/// As of a GpuTime.
inline std::string name_of(const StepTime& step) {
  return step.process.empty() ? step.device : step.device + " of " + step.process;
}

/// What the recording itself cost.
struct SelfCost {
  std::string what;  ///< "a kernel launch, recorded"
  std::int64_t count = 0;
  std::optional<double> seconds_each;  ///< absent where it was not measured
  friend bool operator==(const SelfCost&, const SelfCost&) = default;
};

struct Program {
  GPUBENCH_DECLARE_VALUE(Program)
  std::vector<std::string> command;
  std::string ended;          ///< "exit code 0", "signal 9 (Killed)"
  double wall_seconds = 0.0;  ///< from the first to the last thing recorded, also where there is a steady state
  std::vector<GpuTime> gpus;
  std::vector<Finding> findings;       ///< by falling gain
  std::vector<ProgramKernel> kernels;  ///< by falling time
  std::vector<ProgramRange> ranges;
  std::vector<ProgramMemory> memory;
  std::vector<NeverFreed> never_freed;
  std::vector<ProgramTrack> overview;
  std::vector<std::string> overview_names;
  std::vector<SelfCost> self_cost;
  std::int64_t kernel_launches = 0;  ///< kernels that ran, those of graphs each
  std::int64_t counted_launches = 0;
  std::int64_t dropped_records = 0;
  std::string counters_reason;        ///< why kernels have no counters; empty where they have, or none were asked for
  std::vector<ProgramPhase> phases;   ///< by process, then by time; none where no steps were found
  std::optional<SteadyState> steady;  ///< absent: GPUs, findings, kernels and ranges are of the whole
  std::string steady_reason;          ///< why it is absent, where it was looked for
  std::vector<StepTime> steps;        ///< of each GPU that worked in steps
  friend bool operator==(const Program&, const Program&) = default;
};

/// Of its longest GPU: what shares are of.
inline double undisturbed_seconds(const Program& program) {
  double seconds = program.gpus.empty() ? program.wall_seconds : 0.0;
  for (const GpuTime& gpu : program.gpus) seconds = std::max(seconds, undisturbed_seconds(gpu));
  return seconds;
}

}  // namespace gpubench
