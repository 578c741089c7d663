// SPDX-License-Identifier: Apache-2.0
// What the operating system and the threads' runtime take for themselves. All in seconds, each the mean over `times`.
#pragma once

#include <cstdint>

namespace gpubench::probes {

/// A barrier of the whole team.
double barrier_seconds(std::int64_t times);
/// Reading the steady clock.
double timer_read_seconds(std::int64_t times);
/// The smallest difference of two successive readings of the steady clock that is not zero, over `times` readings; 0
/// when all are equal.
double timer_step_seconds(std::int64_t times);
/// Making a thread that does nothing, and joining it.
double thread_seconds(std::int64_t times);
/// The least that a call into the kernel costs: getppid.
double system_call_seconds(std::int64_t times);

}  // namespace gpubench::probes
