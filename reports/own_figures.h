// SPDX-License-Identifier: Apache-2.0
// What an operation says of its points itself: its label, its items and its counters.
#pragma once

#include <string>

#include "core/model/measurement.h"

namespace gpubench::reports {

/// "by rows; 1.25 G items/s; matrix 128 bytes"; empty where it says nothing. Not made safe for any format.
std::string own_figures(const Measurement& measurement);

}  // namespace gpubench::reports
