// SPDX-License-Identifier: Apache-2.0
// The fit of a whole sweep, where its times can be modelled at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "classifier/fit.h"
#include "classifier/machine.h"
#include "classifier/rules.h"
#include "classifier/sweeps.h"

namespace gpubench::classifier {

/// A machine with draws of it from its intervals, made once per calibration.
struct MachineWithErrors {
  Machine machine;
  std::vector<Machine> draws;
};
MachineWithErrors with_errors(Machine machine);

/// Relative standard deviation of a time about one that knows no steps: beside its own, that of an even distribution
/// over a step of launches, where it was taken of launches in a stream.
double sigma_beside_model(const Time& time, const Measurement& measurement, const Machine& machine);

/// A sweep with fewer sizes has neither fit nor boundaries.
inline constexpr std::size_t min_sizes = 3;

/// Why an operation's times cannot be modelled from its work: fewer than three sizes, no launch ceiling, or times that
/// differ where the declared work does not (an argument that is a duration, say). Absent where they can.
std::optional<std::string> why_no_model(const Sweep& sweep, const MachineWithErrors& machines);

/// The operation's fit with its bootstrap; absent where there is no model, and where the best leaves residuals of more
/// than 25 % rms.
std::optional<Fit> fit_of(const Sweep& sweep, const MachineWithErrors& machines);

}  // namespace gpubench::classifier
