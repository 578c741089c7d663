// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "classifier/verdict/confidence.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr std::array<CommandKindRow, 4> kinds = {
    {{command_name::device_to_device, "copy-device-to-device", "copy-rate-device-to-device"},
     {command_name::host_to_device, "copy-host-to-device", "host-to-device-pinned", "host-to-device-pageable"},
     {command_name::device_to_host, "copy-device-to-host", "device-to-host-pinned", "device-to-host-pageable"},
     {command_name::fill, "memset", "fill-rate"}}};

const KernelGroup* only_command(const Measurement& measurement) {
  const bool one = measurement.kernels.size() == 1 && measurement.kernels.front().kind != CommandKind::kernel;
  return one && measurement.kernels.front().launch.launches >= 1 ? measurement.kernels.data() : nullptr;
}

/// The probability that a ratio is above one, from the standard deviation of its logarithm.
double probability_above_one(double ratio, double sigma) { return statistics::normal_below(std::log(ratio) / sigma); }

}  // namespace

std::span<const CommandKindRow> command_kinds() { return kinds; }

std::optional<Verdict> verdict_of_command(const Measurement& measurement, const Machine& machine) {
  const KernelGroup* const command = only_command(measurement);
  if (command == nullptr) return std::nullopt;
  const auto kind = std::ranges::find(kinds, command->launch.name, &CommandKindRow::name);
  if (kind == kinds.end()) return std::nullopt;
  const CommandCost& cost = machine.commands[static_cast<std::size_t>(kind - kinds.begin())];
  const Time time = time_of(measurement);
  const auto count = static_cast<double>(command->launch.launches);
  // A copy on the device reads and writes each byte.
  const double bytes = count * static_cast<double>(command->bytes.value_or(0)) * (kind == kinds.begin() ? 2.0 : 1.0);
  if (!cost.fixed) return std::nullopt;
  const double fixed = std::min(count * cost.fixed->seconds, time.seconds);
  const double moving = cost.rate ? std::min(bytes / cost.rate->per_second, time.seconds - fixed) : 0.0;
  const double sigma = std::hypot(time.sigma, cost.fixed->sigma, model_sigma);
  Verdict verdict;
  const double overhead = probability_above_one(fixed / (overhead_share * time.seconds), sigma);
  const bool is_overhead = overhead >= 0.5;
  if (!is_overhead && bytes > 0.0 && !cost.rate) return std::nullopt;  // a full calibration knows its engine's rate
  const double explained = (fixed + moving) / time.seconds;
  // Memory that is not pinned, or a link that others use, makes copies slower than their engine.
  // Records of a program tell of the memory; else the rate does.
  constexpr double alike = 1.25;
  const bool pageable = contains(measurement.arguments, "pageable", &Argument::text) ||
                        (cost.pageable && bytes <= alike * cost.pageable->per_second * (time.seconds - fixed));
  const double known = probability_above_one(latency_ratio * explained, sigma);
  const bool waits = !is_overhead && known < 0.5;
  verdict.regime = is_overhead ? Regime::overhead : waits ? Regime::latency : Regime::memory;
  verdict.limiter = is_overhead ? kind->fixed
                    : !waits    ? kind->rate
                    : pageable  ? resource::pageable_copy
                                : resource::latency;
  verdict.confidence = is_overhead ? overhead : (1.0 - overhead) * (waits ? 1.0 - known : known);
  verdict.certainty = certainty_of(verdict.confidence);
  verdict.runner_up = is_overhead ? Regime::memory : Regime::overhead;
  verdict.runner_up_probability = is_overhead ? 1.0 - overhead : overhead;
  verdict.model_seconds = count * cost.fixed->seconds + (cost.rate ? bytes / cost.rate->per_second : 0.0);
  verdict.shares = {{std::string(kind->fixed), fixed / time.seconds}};
  if (moving > 0.0) verdict.shares.push_back({std::string(kind->rate), moving / time.seconds});
  const double rest = 1.0 - verdict.shares.front().fraction - (moving > 0.0 ? verdict.shares.back().fraction : 0.0);
  if (rest > 1e-9) verdict.shares.push_back({std::string(resource::unexplained), rest});
  if (is_overhead) {
    verdict.evidence = fmt::format("is a command ({}) that spends {} of {} on its fixed cost", command->launch.name,
                                   format_seconds(fixed), format_seconds(time.seconds));
    verdict.advice = {{"copy or fill more at once", verdict.evidence, std::nullopt, AdviceCode::batch_launches}};
    return verdict;
  }
  if (waits) {
    verdict.evidence =
        fmt::format("is a command ({}) that takes {}, of which its fixed cost and its engine's rate explain {}{}",
                    command->launch.name, format_seconds(time.seconds), format_percent(explained),
                    pageable ? "; its host memory is not pinned, or as slow" : "");
    if (pageable)
      verdict.advice = {{"copy from and to pinned memory (cudaMallocHost), and not beside other copies",
                         "copies of pinned memory reach more", time.seconds / (fixed + moving),
                         AdviceCode::more_bytes_in_flight}};
    return verdict;
  }
  verdict.achieved = moving / time.seconds;
  verdict.evidence = fmt::format("is a command ({}) that moves {} at {}, {} of what such commands reach",
                                 command->launch.name, format_value(bytes, "B"),
                                 format_value(bytes / time.seconds, "B/s"), format_percent(*verdict.achieved));
  return verdict;
}

}  // namespace gpubench::classifier
