// SPDX-License-Identifier: Apache-2.0
// Collectives as operations: their bandwidths by the definitions of nccl-tests, what limits them at which size, and
// what they and other work cost each other. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/model/collective.h"
#include "core/model/estimate.h"

namespace gpubench::fleet {

/// The whole message, so that it divides into equal parts of whole floats for all ranks; at least one float each.
/// What nccl-tests calls the size: of all-gather what each rank receives, of reduce-scatter and all-to-all what it
/// sends.
std::int64_t message_bytes(std::int64_t wanted, int ranks);

struct CollectiveTimes {
  double seconds = 0.0;  ///< of one of many in a row, what bandwidths rest on
  double median_seconds = 0.0;
  double p99_seconds = 0.0;
  double algorithm_bytes_per_second = 0.0;  ///< message over `seconds`
  double bus_bytes_per_second = 0.0;
};
/// `each` has the times of all iterations, each that of its slowest rank; `in_a_row` the time of one of many back to
/// back, as nccl-tests takes it; absent: the median stands for it. Throws std::invalid_argument on none.
CollectiveTimes summarize(Collective collective, std::int64_t bytes, int ranks, std::span<const double> each,
                          std::optional<double> in_a_row = {});

// What limits a collective of n bytes: t(n) = a + n / B.

struct MessageTime {
  double bytes = 0.0;
  double seconds = 0.0;
};
/// Intervals are of 95 %, by a bootstrap over the messages.
struct MessageFit {
  Estimate fixed_seconds;     ///< a: what a message costs however short it is
  Estimate bytes_per_second;  ///< B: of the algorithm, for long messages
  Estimate boundary_bytes;    ///< a B: below it a message is bound by `a`, above it by the link
  double deviation = 0.0;     ///< of the times from the fit, as a fraction (median)
};
/// Least absolute deviations of logarithms: libraries change their algorithms with the size, so some sizes lie off any
/// line. Absent for fewer than five messages, and where none is 16 times as long as another.
std::optional<MessageFit> fit_messages(std::span<const MessageTime> times);

/// overhead: starting the work on the device or in the library; latency: the rest of what does not depend on the size;
/// link: the bytes.
enum class MessageLimit { overhead, latency, link };
inline constexpr auto message_limit_names = std::to_array<std::string_view>({"overhead", "latency", "link"});
constexpr const auto& names_of(MessageLimit) { return message_limit_names; }
/// The largest of the three parts. `overhead_seconds` is part of the fit's fixed time.
MessageLimit limit_of(const MessageFit& fit, double overhead_seconds, double bytes);

/// Two kinds of work, each alone and both begun together: seconds until each had ended.
struct OverlapTimes {
  double first_alone = 0.0, second_alone = 0.0;
  double first_together = 0.0, second_together = 0.0;
};
/// How many times as long each takes while the other runs. What the longer one did after the other had ended ran as it
/// does alone. 1: they cost each other nothing; with no overlap at all first + second share the time.
struct OverlapCost {
  double first = 1.0;
  double second = 1.0;
};
OverlapCost cost_of(const OverlapTimes& times);

}  // namespace gpubench::fleet
