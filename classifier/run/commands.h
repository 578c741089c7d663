// SPDX-License-Identifier: Apache-2.0
// Operations that are one copy or fill: no kernel runs, so their limits are a command's fixed cost and its engine's
// rate.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "classifier/model/machine.h"
#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// The ceilings of one kind of command, by the name that records give it.
struct CommandKindRow {
  std::string_view name;           ///< "copy, device to device"
  std::string_view fixed;          ///< the ceiling of a command of four bytes, s
  std::string_view rate;           ///< B/s
  std::string_view pageable = {};  ///< B/s of host memory that is not pinned; empty where there is none
};
std::span<const CommandKindRow> command_kinds();

/// The verdict of an operation that is one copy or fill; absent for any other, and where its ceilings are not known.
std::optional<Verdict> verdict_of_command(const Measurement& measurement, const Machine& machine);

}  // namespace gpubench::classifier
