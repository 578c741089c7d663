// SPDX-License-Identifier: Apache-2.0
// Steps of a program, its steady state, and what a step is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/program.h"
#include "core/model/table.h"
#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

/// Steps of one process, each from where its first work could begin to where that of the next could. So work that runs
/// after the range that launched it counts to its step, and so does what the host does between two ranges.
struct Steps {
  std::uint32_t process = 0;
  std::string by;                   ///< as Iterations::by: "range step", "314 kernels, copies and fills that repeat"
  std::vector<TimeWindow> all;      ///< by time, without those of the warm-up and those held up
  std::vector<TimeWindow> warm_up;  ///< the first ones, where they took over 1.5 times the median
  std::vector<TimeWindow> held_up;  ///< by the recording, for over a twentieth; none where few others would be left
  /// `all` and `held_up`, by time.
  [[nodiscard]] std::vector<TimeWindow> steady() const;
  [[nodiscard]] Windows windows() const;
  [[nodiscard]] std::int64_t total_ns() const;
};

/// Of each process that has iterations, those (timeline/analyses/steps/iterations.h). Throws std::invalid_argument as
/// `link`.
std::vector<Steps> steps(const Linked& linked);
/// Ranges of this name, each to the end of the work launched in it; nothing of them is warm-up. Of no process where
/// there is none.
std::vector<Steps> steps_in_ranges(const Linked& linked, std::string_view name);

/// The steady state: of processes with steps these; of others all. Empty, with the reason, where no process has steps
/// or these have less than half of the time of all kernels. `asked`: as they are, and nothing of other processes.
struct SteadyWindows {
  WindowsOf windows;
  double kernel_share = 0.0;  ///< of the time of all kernels
  std::string why_not;        ///< one sentence
};
SteadyWindows steady_windows(const Linked& linked, const std::vector<Steps>& steps, bool asked = false);

/// What the time of this process was for, from its first to its last slice, without gaps; none where it has no step. A
/// phase before the steps that is shorter than a hundredth of the whole counts to its neighbour. Where steps and other
/// work alternate often, each is one phase, from its first time on.
std::vector<ProgramPhase> phases(const Linked& linked, const Steps& steps);

/// What a step is made of, of each GPU that worked in the steps. Where several things happen at once, the time counts
/// as kernels before collectives, and these before copies; of kernels that overlap to the one that began first.
///
/// What it would take otherwise is told by launching its work again: a piece of work begins when what it began after
/// has ended and its call has come; a call comes as long after the one before as it did, or, where the host had waited
/// for the GPU, as long after the GPU's work. Without `roofs` what depends on them is absent, with the
/// reason.
std::vector<StepTime> step_times(const Linked& linked, const std::vector<Steps>& steps, const Roofs* roofs);

/// What the analysis `steps` says; with a range of its ranges. Throws std::invalid_argument where there is none.
std::vector<ResultTable> step_tables(const Linked& linked, const std::string& range = {});
/// Steps and their parts as tables; phases as one.
std::vector<ResultTable> step_tables_of(const std::vector<StepTime>& steps);
ResultTable phase_table(const std::vector<ProgramPhase>& phases);

}  // namespace gpubench::timeline
