// SPDX-License-Identifier: Apache-2.0
// What several writers say of points and calibrations. Raw text, not yet made safe for any format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/points.h"
#include "core/model/run.h"
#include "core/statistics/statistics.h"
#include "reports/export/tables.h"

namespace gpubench::reports {

/// "latency 12 %"; the regime alone where no draw fell to it; empty when there is none.
std::string runner_up_text(const Verdict& verdict);

/// "131 072", or "> 131 072" where the boundary lies above what was measured.
std::string boundary_at_text(const Boundary& boundary);

/// "2.3 to 2.7": the interval of an advice's gain; empty without one.
std::string gain_interval(const Advice& advice);
/// "batch the work (up to 3.5x, 3.3 to 3.7): 1.27 us of 2.10 us go to the launch"
std::string advice_text(const Advice& advice);
/// All of a verdict's, with semicolons; likewise
/// "batching agrees (overhead: 1.1 us each in a graph, 3.2 us launched one by one)".
std::string advice_text(const Verdict& verdict);
std::string votes_text(const Verdict& verdict);

/// Of a point that multiplies matrices on tensor cores: its rate over the library's best and over the instruction's.
struct ProductReach {
  double of_library = 0.0;      ///< of the ceiling "tensor-bf16", which cuBLASLt sets
  double of_instruction = 0.0;  ///< of "wgmma-bf16", else "mma-bf16"
  std::string_view instruction;
};
/// Absent for other points, and where one of the two ceilings is not known.
std::optional<ProductReach> product_reach(const Run& run, const Point& point);
/// What the limiter's share of its ceiling is a share of: "97 % of dram"; of a matrix product "94 % of cuBLASLt's best,
/// 81 % of wgmma". Empty where it is not known.
std::string of_ceiling_text(const Run& run, const Point& point);

/// Whether its clock was held down by what its conditions name.
bool is_held(const Measurement& measurement);
/// The clock of its samples and what held it down: "1.61 GHz (power cap)".
std::string clock_text(const Measurement& measurement);

/// Whether it has a time on the device besides its own.
bool has_time_on_device(const Measurement& measurement);
/// The time of a call in a loop, where it is over a tenth away from the point's; else null.
const Summary* time_as_called(const Measurement& measurement);

/// How its samples go on while they are taken.
statistics::Steadiness steadiness(const Measurement& measurement);
/// The same in words: "579 us at first, 659 us sustained (drift)"; empty where they keep one level.
std::string course_text(const statistics::Steadiness& found);
/// Half the interval of the median, "2.5 %"; "step", "drift" or "2 levels" where the samples do not keep one level.
std::string spread_text(const Measurement& measurement);

/// "by rows; 1.25 G items/s; matrix 128 bytes": label, items and counters of the operation; empty where it has none.
std::string own_figures(const Measurement& measurement);

/// The advice of an operation's points of one regime that gains most.
struct AdviceLine {
  Regime regime = Regime::unknown;
  const Point* at = nullptr;
  const Advice* advice = nullptr;
};
/// At most one for each regime, in the order of the enumeration.
std::vector<AdviceLine> advice_of(const Group& group);

/// A check that disagrees with an operation's verdicts.
struct Doubt {
  std::size_t points = 0;
  const Point* first = nullptr;
  const CrossCheck* check = nullptr;  ///< of the first
};
/// By check and what it says, in the order of first appearance.
std::vector<Doubt> doubts_of(const Group& group);

/// "a, b, c and 5 more"
std::string few_of(const std::vector<std::string>& names, std::size_t max = 3);

/// For Run::warnings: points whose kernels were not recorded, a line for each reason.
std::vector<std::string> activity_warnings(const Run& run);

/// "12 of 14 operations may be surer with --metrics=core,units": those of a GPU with a verdict that is not certain and
/// rests on no counters. Empty where there is none.
std::string counters_summary(const Run& run);
/// What was recorded, or why nothing was.
std::string activity_text(const ActivityCheck& check);
/// "2 x scale(float*), 132 blocks of 256 threads, 32 registers, 48 KiB shared"
std::string kernel_text(const KernelLaunch& kernel);

/// What one execution runs, the longest first, as cells: share of the time, time, regime with its sureness, limiter,
/// short name. Empty for operations of one kernel.
struct KernelRow {
  std::string share, time, regime, limiter, name;
  std::int64_t launches = 0;
  std::optional<Regime> color;  ///< that of the verdict
  double fraction = 0.0;
};
std::vector<KernelRow> kernel_rows(const Point& point);
/// "62 % DeviceRadixSortOnesweepKernel<\u2026>: 1.2 ms in 4 launches, memory by L2"
std::string text_of(const KernelRow& row);
/// "memory", "memory ~" where that is likely, "memory ?" near a boundary.
std::string regime_text(const Verdict& verdict);
/// "memory, DRAM".
std::string regime_and_limiter(const Verdict& verdict);

/// For Run::warnings: points whose device time is longer than the stream's, by likely cause.
std::vector<std::string> clock_warnings(const Run& run);

// Of calibrations.

/// The group of a ceiling; where its file tells none, by its unit and name.
CeilingGroup group_of(const Ceiling& ceiling);

Regime regime_of(CeilingGroup group);

/// The ceilings in the order of the groups, within them as measured. Groups without any are left out.
std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> ceilings_by_group(const Calibration& calibration);

/// A table of ceilings: raw text, the caveats beside the method.
std::vector<Heading> ceiling_headings();
Rows ceiling_rows(const std::vector<const Ceiling*>& ceilings);

/// The value over the theoretical limit, where there is one.
std::optional<double> share_of_limit(const Ceiling& ceiling);

/// "dram-copy 0.3 % above, fp32 0.1 % below the calibration; 0.5 s"
std::string drift_text(const DriftCheck& check);

/// "slower than its kind, NVIDIA H200: 6.0 % below in dram-read; like it in 20 more"
std::string health_text(const Health& health);
bool is_ill(const Health& health);

}  // namespace gpubench::reports
