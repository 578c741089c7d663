// SPDX-License-Identifier: Apache-2.0
// The clock of the core that this thread runs on.
#pragma once

#include <optional>

namespace gpubench::bench {

/// Hz, from the time of a chain of dependent integer additions, each of which takes one clock on every x86-64 and
/// AArch64 core: the best of three runs of some 5 us, so that an interrupt in one of them does not look like a slower
/// clock. Absent on other processors. Takes some 20 us.
std::optional<double> core_clock_hz();

}  // namespace gpubench::bench
