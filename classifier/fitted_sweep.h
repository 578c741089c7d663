// SPDX-License-Identifier: Apache-2.0
// Times, work and regimes at any place along a sweep, between its sizes and a little beyond them.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "classifier/rules.h"
#include "classifier/sweep_fit.h"

namespace gpubench::classifier {

/// How far a boundary has a figure beyond the sweep.
inline constexpr double farthest_figure = 2.0;

/// One draw of the machine's and the times' errors, or the figures as they are.
struct View {
  Machine machine;             ///< with the fitted figures
  Eigen::VectorXd parameters;  ///< of the fit; empty without one
  std::optional<std::size_t> draw;
};

/// Times and work along a sweep: by the fit, or without one on lines through the measured sizes, in logarithms.
class FittedSweep {
 public:
  /// `fit` may be null.
  FittedSweep(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines);

  [[nodiscard]] const View& view() const { return own_; }
  [[nodiscard]] const Sweep& sweep() const { return sweep_; }
  [[nodiscard]] std::size_t draws() const;
  [[nodiscard]] View drawn_view(std::size_t draw) const;

  // A place is the index of a size and the part of the way to the next; it goes on beyond the first and the last.
  [[nodiscard]] double last() const { return static_cast<double>(sweep_.sizes.size() - 1); }
  [[nodiscard]] double argument_at(double place) const;
  /// The place beyond the first or the last size where the argument has this ratio to theirs; that size itself where
  /// arguments have no logarithm.
  [[nodiscard]] double place_beyond(bool above, double ratio) const;

  /// Where boundaries have a figure: up to half and twice the sizes, and without a fit no further than they go.
  [[nodiscard]] double first_place() const { return fit_ == nullptr ? 0.0 : place_beyond(false, farthest_figure); }
  [[nodiscard]] double last_place() const { return fit_ == nullptr ? last() : place_beyond(true, farthest_figure); }

  [[nodiscard]] Decision decision_at(double place) const;
  [[nodiscard]] bool is_counted_at(double place) const { return conditions_at(place).counted.has_levels(); }
  [[nodiscard]] double margin_at(double place, const Decision& from, const Decision& to, const View& view) const;

 private:
  static bool has_device_time(const SweepSize& size);
  /// Memory, compute and the start of blocks: there the operation's own efficiencies decide, where its sweep shows
  /// them.
  [[nodiscard]] bool meets_ridge(const Decision& from, const Decision& to) const;
  [[nodiscard]] Prediction as_fitted(Prediction prediction, const View& view) const;
  [[nodiscard]] std::pair<std::size_t, double> split(double place) const;
  [[nodiscard]] Work work_at(double place) const;
  /// Clock, counters and blocks go from one size's to the next, so that times do not jump at a size. Beyond the sweep
  /// clocks stay, and counts keep their share of the declared work: two counts of little say nothing about a third.
  [[nodiscard]] ModelInput conditions_at(double place) const;
  [[nodiscard]] ModelInput conditions_beyond(std::size_t end, double place) const;
  /// A grid between two others is nobody's; what each of them leaves idle is, on the way from one to the other.
  [[nodiscard]] double wave_factor_at(std::size_t segment, double part) const;
  /// Of the fit: its figures rest on measured times and stay when a ceiling is drawn anew.
  [[nodiscard]] Time time_at(double place, const View& view) const;
  /// A measured time, or a draw of it from its interval.
  [[nodiscard]] Time drawn_time(std::size_t size, const View& view) const;

  const Sweep& sweep_;
  const Fit* fit_;
  const MachineWithErrors& machines_;
  View own_;
  std::vector<ModelInput> conditions_;  ///< of each size, with its wave factor in place of its grid
  bool has_device_ = false;
};

}  // namespace gpubench::classifier
