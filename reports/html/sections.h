// SPDX-License-Identifier: Apache-2.0
// The parts of the page that need no script: header, calibration, boundaries, environment, warnings.
#pragma once

#include <string>

#include "core/model/run.h"
#include "reports/reports.h"

namespace gpubench::reports::sections {

std::string title(const Run& run);  ///< plain text: devices and date
std::string summary(
    const Run& run);  ///< plain text, one line: "204 points of 12 operations: 120 memory, ..., 2 failed"
std::string devices(const Run& run);       ///< names in the header, with what identifies them
std::string runs(const Several& several);  ///< the table of several runs: what each is
std::string regimes(const Run& run);       ///< the bar of regimes with its figures
std::string notices(const Run& run);       ///< failures and warnings, near the top because they qualify all else
std::string boundaries(const Run& run);
std::string own(const Run& run);     ///< what operations say of their points; empty when they say nothing
std::string checks(const Run& run);  ///< empty when none disagrees
std::string calibrations(const Run& run);
std::string environment(const Run& run);

}  // namespace gpubench::reports::sections
