// SPDX-License-Identifier: Apache-2.0
// The regime rules, in one place for points, draws and boundaries alike.
//
//   overhead   the launch takes at least half of the time; the limiter is the launch
//   latency    else, the time beside the launch is over 1.5 times what memory, the slowest pipe and the start of blocks
//              need side by side, (T_memory^p + T_pipe^p + T_start^p)^(1/p): under 67 % of every ceiling
//   overhead   else, to start the blocks needs longest; that is the limiter
//   memory     else, the memory levels together need longer than any pipe; the limiter is the slowest level
//   compute    else; the limiter is the slowest pipe
//
// Where the hardware's units were counted, one that is busy for 80 % of its peak is the limiter instead; from 70 % on
// it is where the rules find latency or nothing. Units count as their peaks allow, so nothing need be declared. A unit
// of the multiprocessors is it from 80 % of the time on in which the mean multiprocessor works, if that is two thirds
// of the whole: the rest is the tail of a grid that does not come out even.
//
// What the launch takes is the calibrated empty-kernel launch. Where a clock of the device alone was read as well, it
// lies between that, for each kernel, and what the point takes beyond the device's work, which holds the first
// instructions of a kernel that is not empty, too: the rules take the middle, or, beyond twice the calibrated launch,
// all of it. And an empty-kernel launch that takes 90 % of the point is all that limits it, however busy the device is
// meanwhile (launches that the host cannot hand over any faster).
#pragma once

#include <optional>
#include <string_view>

#include "classifier/model/model.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

inline constexpr double overhead_share = 0.5;
inline constexpr double launch_floor_share = 0.9;
inline constexpr double latency_ratio = 1.5;
/// A unit that is so busy is the limiter, whatever the model says.
inline constexpr double busy_limiter = 0.8;
/// It is the limiter also from here on, where the model knows none.
inline constexpr double busy_suspect = 0.7;
/// A grid that leaves so many times more multiprocessors than it uses keeps no unit of the chip busy.
inline constexpr double idle_grid = 4.0;
/// Above, no latency is certain.
inline constexpr double busy_enough = 0.6;

/// A measured time with its relative standard deviation, and the device's own part of it where a clock read that.
struct Time {
  double seconds = 0.0;
  double sigma = 0.0;
  std::optional<double> device_seconds;
  double device_sigma = 0.0;
};

/// All that the rules look at.
struct Figures {
  double seconds = 0.0;
  std::optional<double> device_seconds;
  std::optional<double> launch_seconds;
  double kernels = 1.0;      ///< that one execution launches
  double launch_part = 0.5;  ///< where between the two figures of the launch it is taken to lie
  double memory_seconds = 0.0;
  double pipe_seconds = 0.0;   ///< of the slowest
  double start_seconds = 0.0;  ///< of the blocks that start while others work
  double overlap = overlap_prior.value;
  bool complete = true;  ///< every ceiling that the work needs is there
  double wave_factor = 1.0;
  std::optional<double> busy;  ///< of its peak, the busiest unit that the hardware counted
  Regime busy_regime = Regime::unknown;
  double suspect_from = busy_suspect;  ///< so busy it is the limiter where the model knows none
  bool is_contended = false;           ///< and waits for updates that meet at few addresses, however busy it is

  /// What the launches take of the time; absent when nothing is known of it.
  [[nodiscard]] std::optional<double> overhead_seconds() const;
  /// 1 where overhead begins to bind, more where it does; 0 when nothing is known of it.
  [[nodiscard]] double overhead_excess() const;
  /// What memory, the slowest pipe and the start of blocks need side by side.
  [[nodiscard]] double needed_seconds() const;
  /// Whether a time beside the launch is at most `latency_ratio` times that.
  [[nodiscard]] bool explains(double rest) const;
  /// The time beside the launch: the device's own, else what an empty-kernel launch leaves.
  [[nodiscard]] double beside_launch() const;
  [[nodiscard]] Regime regime() const;
  /// Nothing needs longer than to start the blocks.
  [[nodiscard]] bool starts_longest() const;
  /// Whether the busiest unit decides, the launch being no limit.
  [[nodiscard]] bool unit_decides() const;
  /// What the ceilings say, the launch being no limit.
  [[nodiscard]] Regime regime_by_model() const;
  /// The same once the launch is known not to bind.
  [[nodiscard]] Regime regime_beside_launch() const;
};
Figures figures_of(const Time& time, const Prediction& prediction);

struct Decision {
  Regime regime = Regime::unknown;
  std::string_view limiter;  ///< empty when unknown; lives as long as the machine
  friend bool operator==(const Decision&, const Decision&) = default;
};
/// The regime of a limiter by its name; unknown for a resource that no verdict names.
Regime regime_of(std::string_view limiter);

/// Whether it is overhead that each launch pays, rather than each block.
inline bool is_launch(const Decision& decision) {
  return decision.regime == Regime::overhead && decision.limiter != block_start;
}

/// The time of the resource that binds among those with a ceiling, memory levels counted together.
struct Binding {
  Decision decision;  ///< memory, compute, or overhead by block-start; unknown when no resource takes time
  double seconds = 0.0;
};
Binding binding_of(const Prediction& prediction);

/// The regime of a point. Unknown where the ceilings there are do not decide it.
Decision decide(const Time& time, const Prediction& prediction);

/// What the launch takes of the point's time, in seconds; 0 when nothing is known of it.
double overhead_seconds(const Time& time, const Prediction& prediction);

/// Zero where `from` and `to` meet, in logarithms of time.
double margin(const Decision& from, const Decision& to, const Time& time, const Prediction& prediction);

}  // namespace gpubench::classifier
