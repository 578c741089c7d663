// SPDX-License-Identifier: Apache-2.0
#include "classifier/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace gpubench::classifier {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view last_separator) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += i + 1 == parts.size() ? last_separator : std::string_view(", ");
    result += parts[i];
  }
  return result;
}

/// "DRAM's ceiling for this mix", or of all levels that carry a tenth of the memory time where no single one does.
std::string memory_ceiling(const Prediction& prediction) {
  std::vector<std::string> names;
  for (const auto& resource : prediction.resources)
    if (resource.kind == ResourceKind::memory && resource.seconds > 0.1 * prediction.memory_seconds())
      names.emplace_back(label_of(resource.resource));
  if (names.size() == 1)
    return names.front() + (names.front() == label_of(resource::dram) ? "'s ceiling for this mix" : "'s ceiling");
  return fmt::format("what {} together let through", joined(names, " and "));
}

std::string ceiling_of(const Binding& binding, const Prediction& prediction) {
  if (binding.decision.regime == Regime::memory) return memory_ceiling(prediction);
  if (binding.decision.limiter == block_start) return "the rate at which blocks start";
  return fmt::format("the {} ceiling", label_of(binding.decision.limiter));
}

std::string start_sentence(const Time& time, const Measurement& measurement, const Prediction& prediction) {
  return fmt::format("starts {} blocks, one after another, for {} of {}",
                     measurement.launches ? measurement.launches->blocks : 0,
                     with_unit(prediction.start_seconds(), "s"), with_unit(time.seconds, "s"));
}

std::string overhead_sentence(const Time& time, const Prediction& prediction) {
  const double launch = prediction.launch ? prediction.launch->seconds : 0.0;
  const double overhead = overhead_seconds(time, prediction);
  if (time.device_seconds && overhead != launch && overhead < time.seconds)
    return fmt::format("takes {}, of which the device works for {}; the rest goes to launching it",
                       with_unit(time.seconds, "s"), with_unit(*time.device_seconds, "s"));
  if (time.seconds > launch)
    return fmt::format("takes {} of {} to launch", with_unit(launch, "s"), with_unit(time.seconds, "s"));
  return fmt::format("takes {}, no more than a launch of nothing ({})", with_unit(time.seconds, "s"),
                     with_unit(launch, "s"));
}

/// What keeps the multiprocessors idle, where that is known.
std::string idle_note(const Measurement& measurement, const Prediction& prediction) {
  if (!measurement.grid || prediction.wave_factor < 1.1) return "";
  return fmt::format("; its {} blocks, {} at once on a multiprocessor, leave {:.0f} % of them idle",
                     measurement.grid->blocks, measurement.grid->blocks_per_multiprocessor,
                     100.0 * (1.0 - 1.0 / prediction.wave_factor));
}

std::string latency_sentence(const Time& time, const Measurement& measurement, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  const double rest = figures_of(time, prediction).beside_launch();
  // Not counted, they may be more than is declared.
  const bool may_waste = !prediction.counted && prediction.memory_seconds() > 0.0 &&
                         latency_ratio * max_waste * prediction.memory_seconds() >= rest;
  return fmt::format("takes {} {} and reaches {:.3g} % of {} in it, less than {:.0f} % of every ceiling{}{}",
                     with_unit(rest, "s"), time.device_seconds ? "on the device" : "beside the launch",
                     100.0 * binding.seconds / rest, ceiling_of(binding, prediction), 100.0 / latency_ratio,
                     idle_note(measurement, prediction),
                     may_waste ? "; by the bytes it declares, for none were counted" : "");
}

std::string memory_sentence(const Time& time, const Work& work, const Prediction& prediction) {
  if (work.bytes() <= 0.0)
    return fmt::format("moves what takes {} at {}, of {}", with_unit(prediction.memory_seconds(), "s"),
                       memory_ceiling(prediction), with_unit(time.seconds, "s"));
  const char* verb = work.bytes_written <= 0.0 ? "reads" : work.bytes_read <= 0.0 ? "writes" : "reads and writes";
  return fmt::format("{} {} at {}, {:.3g} % of {}", verb, with_unit(work.bytes(), "B"),
                     with_unit(work.bytes() / time.seconds, "B/s"), 100.0 * prediction.memory_seconds() / time.seconds,
                     memory_ceiling(prediction));
}

/// The FLOPs that counted on the pipe that binds.
double flops_on(std::string_view limiter, const Work& work) {
  double sum = 0.0;
  for (const auto& [pipe, count] : work.flops)
    if (name_of(pipe) == limiter) sum += count;
  return sum > 0.0 ? sum : work.total_flops();
}

std::string compute_sentence(const Time& time, const Work& work, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  if (binding.decision.limiter == resource::issue)
    return fmt::format("issues instructions for {} of {}", with_unit(binding.seconds, "s"),
                       with_unit(time.seconds, "s"));
  const double flops = flops_on(binding.decision.limiter, work);
  const bool whole_numbers = binding.decision.limiter.find("int") != std::string_view::npos;
  return fmt::format("does {} at {}, {:.3g} % of {}", with_unit(flops, whole_numbers ? "op" : "FLOP"),
                     with_unit(flops / time.seconds, whole_numbers ? "op/s" : "FLOP/s"),
                     100.0 * binding.seconds / time.seconds, ceiling_of(binding, prediction));
}

std::string unknown_sentence(const Time& time, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  if (binding.decision.regime != Regime::unknown)
    return fmt::format("takes {}, of which the ceilings there are account for {}", with_unit(time.seconds, "s"),
                       with_unit(std::min(binding.seconds, time.seconds), "s"));
  if (prediction.missing.empty())
    return fmt::format("declares no bytes and no FLOPs, so its {} cannot be set against a ceiling",
                       with_unit(time.seconds, "s"));
  return fmt::format("takes {}, and none of its work has a ceiling", with_unit(time.seconds, "s"));
}

std::string sentence(const Decision& decision, const Time& time, const Measurement& measurement,
                     const Prediction& prediction) {
  switch (decision.regime) {
    case Regime::overhead:
      return is_launch(decision) ? overhead_sentence(time, prediction) : start_sentence(time, measurement, prediction);
    case Regime::latency:
      return latency_sentence(time, measurement, prediction);
    case Regime::memory:
      return memory_sentence(time, measurement.work, prediction);
    case Regime::compute:
      return compute_sentence(time, measurement.work, prediction);
    case Regime::unknown:
      break;
  }
  return unknown_sentence(time, prediction);
}

/// How memory and arithmetic share the time, where it matters: the smaller takes at least half of the larger.
std::string overlap_note(const Prediction& prediction) {
  const auto* pipe = prediction.largest(ResourceKind::pipe);
  const double memory = prediction.memory_seconds();
  if (pipe == nullptr || std::min(memory, pipe->seconds) < 0.5 * std::max(memory, pipe->seconds)) return "";
  const std::string origin =
      prediction.overlap_points > 0
          ? fmt::format("fitted to {} points of the calibration's intensity sweep", prediction.overlap_points)
          : std::string("assumed, for the calibration has no intensity sweep to fit it to");
  return fmt::format("; memory and {} overlap with exponent {:.1f}, {}", label_of(pipe->resource),
                     prediction.overlap.value, origin);
}

std::string excess_note(double excess, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  if (binding.decision.limiter == block_start)
    return fmt::format("; at {} its blocks need {:.3g} times that: the ceiling is too low",
                       ceiling_of(binding, prediction), excess);
  const bool memory = binding.decision.regime == Regime::memory;
  return fmt::format("; the {} {} come to {:.3g} times {}: {}", prediction.counted && memory ? "counted" : "declared",
                     memory ? "bytes" : "operations", excess, ceiling_of(binding, prediction),
                     memory ? "a nearer cache holds them, or more is declared than moved"
                            : "more is declared than done, or the ceiling is too low");
}

}  // namespace

std::string with_unit(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 11> prefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int none = 4;
  if (value == 0.0) return fmt::format("0 {}", unit);
  const bool divisible = unit == "s";  // bytes and operations have no milli
  int step = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3.0));
  if (std::abs(value) * std::pow(1000.0, -step) >= 999.5) ++step;  // 999.9 MB is 1.00 GB
  step = std::clamp(step, divisible ? -none : 0, divisible ? 0 : static_cast<int>(prefixes.size()) - 1 - none);
  const double scaled = value * std::pow(1000.0, -step);
  const double size = std::abs(scaled);
  const bool whole_count = !divisible && step == 0 && scaled == std::floor(scaled);
  const int digits = whole_count || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const int prefix = step + none;
  return fmt::format("{:.{}f} {}{}", scaled, digits, prefixes[static_cast<std::size_t>(prefix)], unit);
}

std::string evidence_of(const Decision& decision, const Time& time, const Measurement& measurement,
                        const Prediction& prediction) {
  std::string text = sentence(decision, time, measurement, prediction);
  if (!measurement.work_differences.empty()) text += "; counted, it " + joined(measurement.work_differences, " and ");
  if (decision.regime != Regime::overhead) text += overlap_note(prediction);
  if (is_below_launch(time, prediction)) text += "; the launch ceiling does not fit this timing";
  if (const auto excess = excess_over_ceiling(decision, time, prediction)) text += excess_note(*excess, prediction);
  if (!prediction.missing.empty()) {
    std::vector<std::string> names;
    for (const auto resource : prediction.missing) names.emplace_back(label_of(resource));
    text += fmt::format("; no ceiling of {} was measured, so that work is left out", joined(names, " and "));
  }
  if (!prediction.launch) text += "; no launch ceiling was measured, so overhead is not told apart";
  return text;
}

}  // namespace gpubench::classifier
