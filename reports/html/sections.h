// SPDX-License-Identifier: Apache-2.0
// The parts of a run's page that need no script.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "compare/compare.h"
#include "core/model/run.h"
#include "reports/reports.h"

namespace gpubench::reports::sections {

std::string title(const Run& run);  ///< plain text: devices and date
/// Plain text, one line: "204 points of 12 operations: 120 memory, ..., 2 failed".
std::string summary(const Run& run);
std::string devices(const Run& run);  ///< names in the header, with what identifies them
/// "gpubench 0.2.0"; of another program "train.py, gpubench 0.2.0".
std::string made_by(const Context& context);
std::string runs(const Several& several);  ///< the table of several runs: what each is
/// `base` and `later` name the two sides: their files.
std::string comparison(const compare::Comparison& comparison, const std::string& base, const std::string& later);
std::string findings(const Run& run);  ///< what to fix first, with links to the points
std::string regimes(const Run& run);   ///< the bar of regimes with its figures
std::string notices(const Run& run);   ///< failures and warnings, near the top because they qualify all else
std::string boundaries(const Run& run);
std::string own(const Run& run);     ///< what operations say of their points; empty when they say nothing
std::string phases(const Run& run);  ///< of kernels that were traced; empty where none was
std::string checks(const Run& run);  ///< empty when none disagrees
/// Of a profiled program, with all but the timeline, which program.js draws from `overview_data`. Else empty.
std::string program(const Run& run);
nlohmann::json overview_data(const Program& program);
std::string calibrations(const Run& run);

/// Of a share of a ceiling, in the colour of a regime; and a regime with its sign.
std::string meter(std::string_view regime, double share);
std::string regime(std::string_view name);

std::string environment(const Run& run);

}  // namespace gpubench::reports::sections
