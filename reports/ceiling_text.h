// SPDX-License-Identifier: Apache-2.0
// What several writers say of calibrations.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::reports {

/// The group of a ceiling; where its file tells none, by its unit and name.
CeilingGroup group_of(const Ceiling& ceiling);

/// The ceilings in the order of the groups, within them as measured. Groups without any are left out.
std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> ceilings_by_group(const Calibration& calibration);

/// The value over the theoretical limit, where there is one.
std::optional<double> share_of_limit(const Ceiling& ceiling);

/// "dram-copy 0.3 % above, fp32 0.1 % below the calibration; 0.5 s"
std::string drift_text(const DriftCheck& check);

/// "slower than its kind, NVIDIA H200: 6.0 % below in dram-read; like it in 20 more"
std::string health_text(const Health& health);
/// Whether some ceiling is slower than its kind.
bool is_ill(const Health& health);

}  // namespace gpubench::reports
