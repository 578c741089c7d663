// SPDX-License-Identifier: Apache-2.0
// Operations of a CPU that wait for the system to make the memory that they touch for the first time.
#pragma once

#include <optional>

#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// The verdict of an operation whose page faults take half of its time or more, shared by the threads that it uses;
/// absent for any other. Large pages take longer than is assumed, and threads wait for each other: it is a lower bound.
std::optional<Verdict> verdict_of_page_faults(const Measurement& measurement);

}  // namespace gpubench::classifier
