// SPDX-License-Identifier: Apache-2.0
// Two sets of runs, point by point. Each run is one process, and the process is the unit: compare/noise/noise.h says
// why.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/causes/causes.h"
#include "compare/causes/programs.h"
#include "core/model/estimate.h"
#include "core/model/run.h"

namespace gpubench::compare {

/// slower, faster: beyond the least effect, by Holm's test over all points. same: the 95 % interval is within it.
enum class Change { faster, slower, same, inconclusive };
inline constexpr auto change_names = std::to_array<std::string_view>({"faster", "slower", "same", "inconclusive"});
constexpr std::string_view name_of(Change change) { return change_names[static_cast<std::size_t>(change)]; }
constexpr bool is_change(Change change) { return change == Change::slower || change == Change::faster; }

/// What the process-to-process noise of a point was taken from.
enum class NoiseSource {
  assumed,    ///< the usual noise of such a device (usual_process_deviation): one process a side cannot tell
  given,      ///< CompareOptions::process_deviation
  processes,  ///< the processes compared
  history,    ///< those and further runs of the same code
};
constexpr std::string_view name_of(NoiseSource source) {
  return std::array<std::string_view, 4>{"assumed", "given", "processes", "history"}[static_cast<std::size_t>(source)];
}

struct ComparedPoint {
  std::string name;
  std::string device;
  TimingMode clock = TimingMode::host;  ///< of both times
  double base_seconds = 0.0;            ///< median; of several processes the geometric mean of their medians
  double new_seconds = 0.0;
  bool by_fastest = false;  ///< times and ratio are of each process's fastest sample (compare/noise/noise.h, surer_of)
  /// New over base, its 95 % interval of this point alone: of logarithms' means; of eight pairs or more trimmed.
  Estimate ratio;
  Change change = Change::inconclusive;
  /// The one that decided, and that is shown. Of slower, faster and inconclusive points it holds for all points at
  /// once, as Holm's test does, and lies beyond the least effect or not; of same ones it is that of the point alone,
  /// and lies within. Absent with too few samples for any.
  std::optional<Interval> interval;
  double interval_confidence = 0.95;
  std::vector<std::string_view> interval_contains;  ///< what its width is from
  std::string base_regime;
  std::string new_regime;
  std::string base_bound;  ///< "DRAM-bound at 91 %", "launch-bound"; empty without a verdict
  std::string new_bound;
  int base_processes = 0;  ///< that timed this point
  int new_processes = 0;
  double p_value = 1.0;  ///< that nothing changed by more than the least effect, adjusted for all points
  /// The least slow-down that would be called slower in four of five such comparisons; 0.02 is 2 %.
  double min_seen = 0.0;
  std::string kernels;             ///< in what the kernels differ, as `kernels_text` says
  Causes causes;                   ///< of what changed
  double process_deviation = 0.0;  ///< standard deviation of a process's median, as a fraction
  NoiseSource noise = NoiseSource::assumed;
};

/// "gemm" of "gemm/n:64".
inline std::string_view operation_of(std::string_view point) { return point.substr(0, point.find('/')); }

/// Whether the code itself differs, as far as both sides know (Context::environment, "host_code" and "device_code").
enum class CodeChange { not_known, same, differs };
constexpr std::string_view name_of(CodeChange change) {
  return std::array<std::string_view, 3>{"not known", "same", "differs"}[static_cast<std::size_t>(change)];
}

/// A point of both sides without a ratio.
struct LeftOutPoint {
  std::string name;
  std::string reason;
};

/// The points of an operation together, or of all operations of a device: the mean of their logarithms' changes. The
/// points of a process share part of its noise, so each process counts as one value.
struct ComparedOperation {
  std::string operation;  ///< empty: all
  std::string device;
  std::size_t points = 0;
  Estimate ratio;  ///< new over base, with its 95 % interval
  Change change = Change::inconclusive;
  double p_value = 1.0;   ///< that nothing changed by more than the least effect, adjusted for all operations
  bool relative = false;  ///< one run a side: to what the other operations changed by
};

struct Comparison {
  std::vector<ComparedPoint> points;
  std::vector<ComparedOperation> operations;  ///< those that can be judged; they do not count for the exit code
  std::vector<LeftOutPoint> left_out;         ///< for want of a clock that both sides have
  std::vector<std::string> only_in_base;      ///< names of points
  std::vector<std::string> only_in_new;
  std::vector<std::string> failed_in_new;  ///< timed in the base, failed in a new run
  std::vector<std::string> differences;    ///< of device and settings, each a sentence
  std::vector<std::string> forbidding;     ///< those that make ratios meaningless
  std::vector<std::string> notes;          ///< on what the runs are: duplicates, where the noise is from
  bool comparable = true;                  ///< false: something forbids it, or there is nothing to compare
  bool forced = false;                     ///< compared although something forbids it
  bool unfinished = false;                 ///< a run of either side was stopped before its last point
  CodeChange code = CodeChange::not_known;
  CodeChange device_code = CodeChange::not_known;  ///< of a GPU's kernels alone
  bool updates = false;  ///< its units are updates of several processes each (compare/history/gate.h)
  bool cards = false;    ///< its units are cards of one model, each with the mean of its processes
  int base_processes = 1;
  int new_processes = 1;
  double min_effect = 0.01;
  std::optional<ProgramChange> program = {};  ///< of two profiles
  std::optional<double> min_seen_by_half;     ///< of the points, as ComparedPoint::min_seen; absent without points
  std::optional<double> min_seen_by_all;
};

struct CompareOptions {
  double min_effect = 0.01;                      ///< changes smaller than this fraction count as the same
  std::optional<double> process_deviation = {};  ///< standard deviation of a process's median, where it is known
  bool force = false;                            ///< go on where something forbids it
  bool paired = false;                           ///< the i-th runs of both sides ran next to each other
  std::optional<TimingMode> clock = {};  ///< absent: each point's primary one, or where the sides differ one of both
  bool updates = false;     ///< each run stands for an update, so that the noise has what changes between them
  bool programs = false;    ///< the points are kernel groups of whole programs; `compare` sets it
  bool same_model = false;  ///< other cards of one model forbid nothing; what cards differ by is part of the noise
};

/// The chance of one or more false alarms among all points of a comparison.
inline constexpr double family_significance = 0.05;
/// Below six samples no interval of a median covers 95 % (2 / 2^5 is outside): one such process decides nothing.
inline constexpr std::int64_t min_samples = 6;

/// `alike`: groups of further runs, each of one code on this machine, to learn the noise from. No side is empty.
Comparison compare(const std::vector<Run>& base, const std::vector<Run>& next, const CompareOptions& options,
                   const std::vector<std::vector<Run>>& alike = {});

enum class FailOn { regression, inconclusive, never };
/// 0 fine, 1 regression, 2 a point failed in the new run, 3 not comparable, or unfinished without a regression,
/// 4 inconclusive (only with FailOn::inconclusive; unfinished runs and points of the base alone are undecided).
int exit_code(const Comparison& comparison, FailOn fail_on);

}  // namespace gpubench::compare
