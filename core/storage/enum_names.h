// SPDX-License-Identifier: Apache-2.0
// The names that enumerators have in files: for each enumeration its table, found by its type.
#pragma once

#include <array>
#include <string_view>

#include "core/model/run.h"

namespace gpubench::storage {

inline constexpr std::array device_kind_names = {std::string_view("cpu"), std::string_view("cuda")};

constexpr const auto& names_of(DeviceKind) { return device_kind_names; }
constexpr const auto& names_of(Clock) { return clock_names; }
constexpr const auto& names_of(StopReason) { return stop_reason_names; }
constexpr const auto& names_of(FailureKind) { return failure_kind_names; }
constexpr const auto& names_of(Ablation) { return ablation_names; }
constexpr const auto& names_of(Agreement) { return agreement_names; }
constexpr const auto& names_of(CeilingGroup) { return ceiling_group_names; }
constexpr const auto& names_of(Load) { return load_names; }
constexpr const auto& names_of(DriftOutcome) { return drift_outcome_names; }
constexpr const auto& names_of(Standing) { return standing_names; }
constexpr const auto& names_of(Regime) { return regime_names; }
constexpr const auto& names_of(Certainty) { return certainty_names; }
constexpr const auto& names_of(Outcome) { return outcome_names; }
constexpr const auto& names_of(AdviceCode) { return advice_code_names; }
constexpr const auto& names_of(Experiment) { return experiment_names; }
constexpr const auto& names_of(Placement) { return placement_names; }

}  // namespace gpubench::storage
