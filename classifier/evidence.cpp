// SPDX-License-Identifier: Apache-2.0
#include "classifier/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "classifier/confidence.h"
#include "core/model/resources.h"

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
std::string memory_ceiling(const Case& it) {
  std::vector<std::string> names;
  for (const auto& resource : it.prediction.resources)
    if (resource.kind == ResourceKind::memory && resource.seconds > 0.1 * it.memory_seconds)
      names.emplace_back(label_of(resource.resource));
  if (names.size() == 1)
    return names.front() + (names.front() == label_of(resource::dram) ? "'s ceiling for this mix" : "'s ceiling");
  return fmt::format("what {} together let through", joined(names, " and "));
}

std::string ceiling_of(const Case& it) {
  if (it.binding.decision.regime == Regime::memory) return memory_ceiling(it);
  if (it.binding.decision.limiter == block_start) return "the rate at which blocks start";
  return fmt::format("the {} ceiling", label_of(it.binding.decision.limiter));
}

std::string start_sentence(const Case& it) {
  return fmt::format("starts {} blocks, one after another, for {} of {}",
                     it.measurement.launches ? it.measurement.launches->blocks : 0,
                     with_unit(it.prediction.start_seconds(), "s"), with_unit(it.time.seconds, "s"));
}

std::string overhead_sentence(const Case& it) {
  const double launch = it.prediction.launch ? it.prediction.launch->seconds : 0.0;
  const Time& time = it.time;
  if (time.device_seconds && it.overhead_seconds != launch && it.overhead_seconds < time.seconds)
    return fmt::format("takes {}, of which the device works for {}; the rest goes to launching it",
                       with_unit(time.seconds, "s"), with_unit(*time.device_seconds, "s"));
  if (time.seconds > launch)
    return fmt::format("takes {} of {} to launch", with_unit(launch, "s"), with_unit(time.seconds, "s"));
  return fmt::format("takes {}, no more than a launch of nothing ({})", with_unit(time.seconds, "s"),
                     with_unit(launch, "s"));
}

/// What keeps the multiprocessors idle, where that is known.
std::string idle_note(const Case& it) {
  if (!it.measurement.grid || it.prediction.wave_factor < 1.1) return "";
  return fmt::format("; its {} blocks, {} at once on a multiprocessor, leave {:.0f} % of them idle",
                     it.measurement.grid->blocks, it.measurement.grid->blocks_per_multiprocessor,
                     100.0 * (1.0 - 1.0 / it.prediction.wave_factor));
}

std::string latency_sentence(const Case& it) {
  const double rest = it.beside_launch;
  // Not counted, they may be more than is declared.
  const bool may_waste =
      !it.prediction.counted && it.memory_seconds > 0.0 && latency_ratio * max_waste * it.memory_seconds >= rest;
  return fmt::format("takes {} {} and reaches {:.3g} % of {} in it, less than {:.0f} % of every ceiling{}{}",
                     with_unit(rest, "s"), it.time.device_seconds ? "on the device" : "beside the launch",
                     100.0 * it.binding.seconds / rest, ceiling_of(it), 100.0 / latency_ratio, idle_note(it),
                     may_waste ? "; by the bytes it declares, for none were counted" : "");
}

std::string memory_sentence(const Case& it) {
  const Work& work = it.measurement.work;
  if (work.bytes() <= 0.0)
    return fmt::format("moves what takes {} at {}, of {}", with_unit(it.memory_seconds, "s"), memory_ceiling(it),
                       with_unit(it.time.seconds, "s"));
  const char* verb = work.bytes_written <= 0.0 ? "reads" : work.bytes_read <= 0.0 ? "writes" : "reads and writes";
  return fmt::format("{} {} at {}, {:.3g} % of {}", verb, with_unit(work.bytes(), "B"),
                     with_unit(work.bytes() / it.time.seconds, "B/s"), 100.0 * it.memory_seconds / it.time.seconds,
                     memory_ceiling(it));
}

/// The FLOPs that counted on the pipe that binds.
double flops_on(std::string_view limiter, const Work& work) {
  double sum = 0.0;
  for (const auto& [pipe, count] : work.flops)
    if (name_of(pipe) == limiter) sum += count;
  return sum > 0.0 ? sum : work.total_flops();
}

std::string compute_sentence(const Case& it) {
  const Work& work = it.measurement.work;
  if (it.binding.decision.limiter == resource::issue)
    return fmt::format("issues instructions for {} of {}", with_unit(it.binding.seconds, "s"),
                       with_unit(it.time.seconds, "s"));
  const double flops = flops_on(it.binding.decision.limiter, work);
  const Resource* const pipe = find_resource(it.binding.decision.limiter);
  const bool whole_numbers = pipe != nullptr && pipe->unit == "op/s";
  return fmt::format("does {} at {}, {:.3g} % of {}", with_unit(flops, whole_numbers ? "op" : "FLOP"),
                     with_unit(flops / it.time.seconds, whole_numbers ? "op/s" : "FLOP/s"),
                     100.0 * it.binding.seconds / it.time.seconds, ceiling_of(it));
}

std::string unknown_sentence(const Case& it) {
  if (it.binding.decision.regime != Regime::unknown)
    return fmt::format("takes {}, of which the ceilings there are account for {}", with_unit(it.time.seconds, "s"),
                       with_unit(std::min(it.binding.seconds, it.time.seconds), "s"));
  if (it.prediction.missing.empty())
    return fmt::format("declares no bytes and no FLOPs, so its {} cannot be set against a ceiling",
                       with_unit(it.time.seconds, "s"));
  return fmt::format("takes {}, and none of its work has a ceiling", with_unit(it.time.seconds, "s"));
}

std::string sentence(const Case& it) {
  switch (it.decision.regime) {
    case Regime::overhead:
      return is_launch(it.decision) ? overhead_sentence(it) : start_sentence(it);
    case Regime::latency:
      return latency_sentence(it);
    case Regime::memory:
      return memory_sentence(it);
    case Regime::compute:
      return compute_sentence(it);
    case Regime::unknown:
      break;
  }
  return unknown_sentence(it);
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

std::string excess_note(const Case& it) {
  if (it.binding.decision.limiter == block_start)
    return fmt::format("; at {} its blocks need {:.3g} times that: the ceiling is too low", ceiling_of(it),
                       *it.excess_over_ceiling);
  const bool memory = it.binding.decision.regime == Regime::memory;
  return fmt::format("; the {} {} come to {:.3g} times {}: {}",
                     it.prediction.counted && memory ? "counted" : "declared", memory ? "bytes" : "operations",
                     *it.excess_over_ceiling, ceiling_of(it),
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

std::string evidence_of(const Case& it) {
  const Prediction& prediction = it.prediction;
  const auto& differences = it.measurement.work_differences;
  std::string text = sentence(it);
  if (!differences.empty()) text += "; counted, it " + joined(differences, " and ");
  if (it.decision.regime != Regime::overhead) text += overlap_note(prediction);
  if (it.is_below_launch) text += "; the launch ceiling does not fit this timing";
  if (it.excess_over_ceiling) text += excess_note(it);
  if (!prediction.missing.empty()) {
    std::vector<std::string> names;
    for (const auto resource : prediction.missing) names.emplace_back(label_of(resource));
    text += fmt::format("; no ceiling of {} was measured, so that work is left out", joined(names, " and "));
  }
  if (!prediction.launch) text += "; no launch ceiling was measured, so overhead is not told apart";
  return text;
}

}  // namespace gpubench::classifier
