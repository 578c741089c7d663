// SPDX-License-Identifier: Apache-2.0
// A phase after timing that goes over single points.
#pragma once

#include "bench/counters/counter_pass.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Takes one point through all rounds of a phase.
inline void go_over(PostTimingPass& phase, Measurement& measurement, const Replay& replay) {
  for (std::size_t round = 0; round < phase.rounds(); ++round) {
    phase.begin(round);
    phase.fill(measurement, replay);
  }
  phase.finish(replay.point, measurement);
}

}  // namespace gpubench::bench
