// SPDX-License-Identifier: Apache-2.0
// An operation's sweep along one argument: its sizes, its fit and its boundaries.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "classifier/model/fit.h"
#include "classifier/model/machine.h"
#include "classifier/verdict/rules.h"
#include "core/model/run.h"

namespace gpubench::classifier {

/// One size of a sweep: its work and every time taken of it.
struct SweepSize {
  double argument = 0.0;
  Work work;
  std::vector<const Measurement*> measurements;  ///< at least one
};

struct Sweep {
  std::string operation;
  std::string device;
  std::string argument;          ///< the name, "size" without one; others that vary follow: "n (k = 64)"
  std::vector<SweepSize> sizes;  ///< by growing argument, each once
};

/// The sweeps of all points that have a usable time and sound work, in the order of their first points. The argument is
/// the first number that varies; each combination of further ones makes a sweep. `run` must outlive the result.
std::vector<Sweep> sweeps_of(const Run& run);

Work work_between(const Work& below, const Work& above, double part);

/// A figure at a part of the way between two sizes, or beyond them: on the line in logarithms, or on the plain line,
/// never below zero, where one is zero.
double between(double below, double above, double part);

/// A machine with draws of it from its intervals, made once per calibration that sweeps are judged by.
struct MachineWithErrors {
  Machine machine;
  std::vector<Machine> draws;
};
MachineWithErrors with_errors(Machine machine);

/// Relative standard deviation of a time, with that of an even distribution over a launch step for stream times.
double sigma_beside_model(const Time& time, const Measurement& measurement, const Machine& machine);

/// A sweep with fewer sizes has neither fit nor boundaries.
inline constexpr std::size_t min_sizes = 3;

/// Why the times cannot be modelled from the work: fewer than three sizes, no launch ceiling, or times that differ
/// where the declared work does not. Absent where they can.
std::optional<std::string> why_no_model(const Sweep& sweep, const MachineWithErrors& machines);

/// The fit with its bootstrap; absent where there is no model or its residuals exceed 25 % rms.
std::optional<Fit> fit_of(const Sweep& sweep, const MachineWithErrors& machines);

}  // namespace gpubench::classifier
