// SPDX-License-Identifier: Apache-2.0
// One point as every step of its judgement sees it, and the steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "classifier/verdict/busiest_unit.h"
#include "classifier/verdict/latency_cause.h"
#include "classifier/verdict/rules.h"
#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// What was measured, what the model says of it, and what follows from both, each computed once. The measurement and
/// the machine outlive it.
struct PointAnalysis {
  /// `given` takes the place of the regime that the rules would decide.
  PointAnalysis(const Measurement& measurement, const Machine& machine, const Time& time, Prediction prediction,
                std::optional<Regime> given = std::nullopt);

  const Measurement& measurement;
  const Machine& machine;
  Time time;
  Prediction prediction;
  std::optional<BusiestUnit> busiest_unit;
  Figures figures;
  Binding binding;
  Decision decision;
  LatencyCause cause;  ///< where the limiter is latency
  /// Of the clock that the machine has when nothing holds it down; present where power is the limiter.
  std::optional<double> clock_under_power;
  bool is_contended = false;        ///< updates that meet at few addresses are the limiter
  bool lacks_atomics_rate = false;  ///< they may be, but how fast they are at one address is not known
  std::optional<std::string> update_queue = std::nullopt;  ///< what then shows that they are
  bool moves_whole_sectors = false;  ///< taken to move all that it touches, which it declares only a part of
  bool rests_on_unit = false;        ///< the binding is the busiest unit's, not the model's
  double overhead_seconds;           ///< what the launch takes of the time
  double beside_launch;              ///< what it leaves
  double memory_seconds;             ///< of all memory levels
  /// How far the work exceeds what its ceiling allows in this time, as a ratio (1.2: by 20 %). Absent within 5 % or
  /// within the uncertainty.
  std::optional<double> excess_over_ceiling;
  double stray_bytes = 0.0;  ///< of others, which its counters held
  bool is_below_launch;      ///< the time is below the launch ceiling by more than both uncertainties

 private:
  void ask_unit();
  void ask_atomics();
  void take(Regime regime);
};

/// Whether a ceiling is near enough to say what the time could become: it explains a quarter.
inline bool is_explained(const PointAnalysis& it) { return 4.0 * it.binding.seconds >= it.beside_launch; }

/// Whether launching its several kernels may take most of the time, which only a clock of the device could rule out.
bool launches_may_decide(const PointAnalysis& it);

/// The most that accesses of four bytes each may move beyond what they declare.
inline constexpr double max_waste = 8.0;

/// Below this, something else is likelier than a verdict.
inline constexpr double min_confidence = 0.5;
/// Makes a verdict below that unknown: without limiter and advice, its evidence says why.
void withhold_doubtful(Verdict& verdict);

/// No verdict, for this reason.
Verdict undecided(std::string reason);

/// As `classify`, doubtful or not; `calibrated_device` is the id of the device that `machine` was made from.
Verdict verdict_of(const Measurement& measurement, const Machine& machine, std::string_view calibrated_device);

/// The time that includes the launch: by the clock "stream" on a GPU, else "host". Null when there is none.
const Summary* judged_seconds(const Measurement& measurement);
/// Whether the classifier can use it: at least one sample, and a median within the bounds of a figure.
bool has_time(const Measurement& measurement);

/// That time, and the device's part of it where the clock "device" stands beside it. Needs `has_time`.
Time time_of(const Measurement& measurement);

/// Whether no declared figure is negative, not a number or beyond `max_figure`.
bool is_sound(const Work& work);

/// Shares of the time, exactly adding to 1: the launch, each resource by its part T_r^p of the modelled work time,
/// "tail", "block-start", and "unexplained" for the rest.
std::vector<Share> shares_of(const PointAnalysis& it);

}  // namespace gpubench::classifier
