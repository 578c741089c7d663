// SPDX-License-Identifier: Apache-2.0
// One point as every step of its judgement sees it, and the steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "classifier/verdict/rules.h"
#include "classifier/verdict/busiest_unit.h"
#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// What was measured, what the model says of it, and what follows from both, each computed once. The measurement and
/// the machine outlive it.
struct PointAnalysis {
  /// `given` takes the place of what the rules would decide.
  PointAnalysis(const Measurement& measurement, const Machine& machine, const Time& time, Prediction prediction,
       const std::optional<Decision>& given = std::nullopt);

  const Measurement& measurement;
  const Machine& machine;
  Time time;
  Prediction prediction;
  std::optional<BusiestUnit> witness;
  Figures figures;
  Binding binding;
  Decision decision;
  LatencyCause cause;  ///< where the limiter is latency
  /// Of the clock that the machine has when nothing holds it down; present where power is the limiter.
  std::optional<double> clock_under_power;
  bool is_contended = false;         ///< updates that meet at few addresses are the limiter
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
};

/// Whether a ceiling is near enough to say what the time could become: it explains a quarter.
inline bool is_explained(const PointAnalysis& it) { return 4.0 * it.binding.seconds >= it.beside_launch; }

/// Which parts of the time on the device moving data and computing need, as counted or by the model, in an operation of
/// several kernels where each of the two may limit some of them. Absent else.
struct Sides {
  double memory = 0.0;
  double pipe = 0.0;
};
std::optional<Sides> limits_of_several_kernels(const PointAnalysis& it);

/// Whether launching its several kernels may take most of the time, which only a clock of the device could rule out.
bool launches_may_decide(const PointAnalysis& it);

/// Relative standard deviation of a summary's median, at least `unknown_sigma` below six samples.
double sigma_of(const Summary& summary);

/// The most that accesses of four bytes each may move beyond what they declare.
inline constexpr double max_waste = 8.0;

struct Confidence {
  double probability = 0.0;
  Regime runner_up = Regime::unknown;
  double runner_up_probability = 0.0;
};

/// The probability that the regime is right: the part of 2000 draws of all uncertain figures that agree, lowered for
/// what is missing and for contradictions. The runner-up has the next most draws; where all agree, it is the first that
/// shows with errors three, nine or 27 times as wide.
Confidence confidence_of(const PointAnalysis& it);

Certainty certainty_of(double probability);
/// The most that a verdict is worth which something speaks against: likely, never certain.
inline constexpr double never_certain = 0.94;

/// As `classify`; `calibrated_device` is the id of the device that `machine` was made from.
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

std::string evidence_of(const PointAnalysis& it);

/// Advice that follows from the decision, by falling gain; none that gains less than 5 %. A gain is an upper limit: the
/// time over what is left of it if that one thing cost nothing and all else stayed.
std::vector<Advice> advice_for(const PointAnalysis& it);

}  // namespace gpubench::classifier
