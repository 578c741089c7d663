// SPDX-License-Identifier: Apache-2.0
// The regime rules, in one place for points and boundaries alike.
//
//   overhead   the launch takes at least half of the time
//   latency    else, the time beside the launch is over 1.5 times the longest resource time: under 67 % of every
//   ceiling memory     else, the memory levels together need longer than any pipe; the limiter is the slowest level
//   compute    else; the limiter is the slowest pipe
#pragma once

#include <string_view>

#include "classifier/model.h"
#include "gpubench/verdict.h"

namespace gpubench::classifier {

inline constexpr double overhead_share = 0.5;
inline constexpr double latency_ratio = 1.5;

struct Decision {
  Regime regime = Regime::unknown;
  std::string_view limiter;  ///< empty when unknown; lives as long as the machine
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// The time of the resource that binds among those with a ceiling, memory levels counted together.
struct Binding {
  Decision decision;  ///< memory or compute; unknown when no resource takes time
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative, `model_sigma` included
};
Binding binding_of(const Prediction& prediction);

/// The regime of a time in seconds, launch included. Unknown where the ceilings there are do not decide it.
Decision decide(double seconds, const Prediction& prediction);

/// The same once the launch is known not to bind, for the time beside it.
Decision decide_beside_launch(double seconds_beside_launch, const Prediction& prediction);

/// Zero where `from` and `to` meet, in logarithms of time: which of launch, latency and two resources it compares
/// follows from them.
double margin(const Decision& from, const Decision& to, double seconds, const Prediction& prediction);

}  // namespace gpubench::classifier
