// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

/// "a, b and c"
std::string and_list(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return parts.empty() ? "" : parts.front();
  return joined(std::span(parts).first(parts.size() - 1), ", ") + " and " + parts.back();
}

/// "DRAM's ceiling for this mix", or of all levels that carry a tenth of the memory time where no single one does.
std::string memory_ceiling(const PointAnalysis& it) {
  std::vector<std::string> names;
  for (const auto& resource : it.prediction.resources)
    if (resource.kind == ResourceKind::memory && resource.seconds > 0.1 * it.memory_seconds)
      names.emplace_back(label_of(resource.resource));
  if (names.size() == 1 && names.front().ends_with('s')) return "the ceiling of " + names.front();
  if (names.size() == 1)
    return names.front() + (names.front() == label_of(resource::dram) ? "'s ceiling for this mix" : "'s ceiling");
  return fmt::format("what {} allow together", and_list(names));
}

std::string ceiling_of(const PointAnalysis& it) {
  if (it.binding.decision.regime == Regime::memory) return memory_ceiling(it);
  if (it.binding.decision.limiter == block_start) return "the block-start ceiling";
  return fmt::format("the {} ceiling", label_of(it.binding.decision.limiter));
}

std::string start_sentence(const PointAnalysis& it) {
  return fmt::format("spends {} of {} on starting {}", format_seconds(it.prediction.start_seconds()),
                     format_seconds(it.time.seconds),
                     plural(it.measurement.launches ? it.measurement.launches->blocks : 0, "block"));
}

std::string overhead_sentence(const PointAnalysis& it) {
  const double launch = it.prediction.launch ? it.prediction.launch->seconds : 0.0;
  const Time& time = it.time;
  if (time.device_seconds && it.overhead_seconds != launch && it.overhead_seconds < time.seconds)
    return fmt::format("takes {}, but the device works for only {} of that; the rest is launch overhead",
                       format_seconds(time.seconds), format_seconds(*time.device_seconds));
  if (time.seconds > launch && it.machine.kind == DeviceKind::gpu)
    return fmt::format("spends {} of {} on the launch", format_seconds(launch), format_seconds(time.seconds));
  return fmt::format("takes {}, {} longer than {} ({})", format_seconds(time.seconds),
                     time.seconds > launch ? "little" : "no", empty_launch_of(it.machine), format_seconds(launch));
}

/// What keeps the multiprocessors idle, where that is known.
std::string idle_note(const PointAnalysis& it) {
  if (!it.measurement.grid || it.prediction.wave_factor < 1.1) return "";
  return fmt::format("; its {}, {} at a time on each multiprocessor, {} {:.0f} % of the multiprocessors idle",
                     plural(it.measurement.grid->blocks, "block"), it.measurement.grid->blocks_per_multiprocessor,
                     it.measurement.grid->blocks == 1 ? "leaves" : "leave",
                     100.0 * (1.0 - 1.0 / it.prediction.wave_factor));
}

constexpr const char* rate_is_unknown =
    "how fast numbers are added at one address only a full calibration knows (gpubench --calibrate=full)";

/// A unit of the hardware in words, with what its counter said.
std::string unit_clause(const PointAnalysis& it) {
  if (it.is_contended && it.busiest_unit->in_turn)
    return fmt::format(
        "floating-point numbers are added at one address, one after another: the atomic units of the busiest slice of "
        "L2 are at {} of their peak (counter {}), which is as fast as such additions go",
        format_percent(it.busiest_unit->busy), it.busiest_unit->counter);
  if (it.update_queue)
    return fmt::format("{}; {}; {}", contended_clause(it.measurement), *it.update_queue, rate_is_unknown);
  if (it.is_contended) return contended_clause(it.measurement);
  const BusiestUnit& unit = *it.busiest_unit;
  return fmt::format(
      "{} is at {} of its peak (counter {}){}", label_of(unit.decision.limiter), format_percent(unit.busy),
      unit.counter,
      unit.active ? fmt::format(", and at {} for the {} of the time that the mean multiprocessor works",
                                format_percent(std::min(unit.busy / *unit.active, 1.0)), format_percent(*unit.active))
                  : "");
}

std::string unit_sentence(const PointAnalysis& it) {
  return fmt::format("takes {}; while the device works, {}", format_seconds(it.time.seconds), unit_clause(it));
}

std::string latency_sentence(const PointAnalysis& it) {
  const double rest = it.beside_launch;
  const char* const where = it.time.device_seconds ? " on the device" : it.machine.one_core ? "" : " beyond the launch";
  const std::string why = idle_note(it) + (it.cause.clause.empty() ? "" : "; " + it.cause.clause);
  if (it.rests_on_unit)
    return fmt::format("works for {} and keeps no unit busy: the busiest, {}{}", format_seconds(rest), unit_clause(it),
                       why);
  if (it.binding.decision.regime == Regime::unknown)
    return fmt::format("works for {}{}{}", format_seconds(rest), where, why);
  // Not counted, they may be more than is declared.
  const bool may_waste =
      !it.prediction.counted && it.memory_seconds > 0.0 && latency_ratio * max_waste * it.memory_seconds >= rest;
  return fmt::format("works for {}{} and reaches {} of {}; no resource reaches {:.0f} % of its ceiling{}{}",
                     format_seconds(rest), where, format_percent(it.binding.seconds / rest), ceiling_of(it),
                     100.0 / latency_ratio, why, may_waste ? "; its bytes are declared, not counted" : "");
}

std::string memory_sentence(const PointAnalysis& it) {
  const Work& work = it.measurement.work;
  if (work.bytes() <= 0.0)
    return fmt::format("takes {} for bytes that need {} at {}", format_seconds(it.time.seconds),
                       format_seconds(it.memory_seconds), memory_ceiling(it));
  if (it.moves_whole_sectors)
    return fmt::format(
        "declares {} of the {} that it touches; to move all of them takes {} of its {}, as where a few "
        "words of each sector are used",
        format_value(work.bytes(), "B"), format_value(work.footprint_bytes.value_or(0.0), "B"),
        format_seconds(it.memory_seconds), format_seconds(it.time.seconds));
  const char* verb = work.bytes_written <= 0.0 ? "reads" : work.bytes_read <= 0.0 ? "writes" : "reads and writes";
  return fmt::format("{} {} at {}, {} of {}", verb, format_value(work.bytes(), "B"),
                     format_value(work.bytes() / it.time.seconds, "B/s"),
                     format_percent(it.memory_seconds / it.time.seconds), memory_ceiling(it));
}

/// The FLOPs that counted on the pipe that binds.
double flops_on(std::string_view limiter, const Work& work) {
  double sum = 0.0;
  for (const auto& [pipe, count] : work.flops)
    if (name_of(pipe) == limiter) sum += count;
  return sum > 0.0 ? sum : work.total_flops();
}

std::string compute_sentence(const PointAnalysis& it) {
  const Work& work = it.measurement.work;
  if (it.binding.decision.limiter == resource::issue)
    return fmt::format("spends {} of {} on issuing instructions", format_seconds(it.binding.seconds),
                       format_seconds(it.time.seconds));
  const double flops = flops_on(it.binding.decision.limiter, work);
  const Resource* const pipe = find_resource(it.binding.decision.limiter);
  const bool whole_numbers = pipe != nullptr && pipe->unit == "op/s";
  return fmt::format("does {} at {}, {} of {}", format_value(flops, whole_numbers ? "op" : "FLOP"),
                     format_value(flops / it.time.seconds, whole_numbers ? "op/s" : "FLOP/s"),
                     format_percent(it.binding.seconds / it.time.seconds), ceiling_of(it));
}

std::string unknown_sentence(const PointAnalysis& it) {
  if (it.lacks_atomics_rate)
    return fmt::format("takes {}; {}. That is latency, or memory ({}): {}", format_seconds(it.time.seconds),
                       contended_clause(it.measurement), label_of(resource::atomic_global), rate_is_unknown);
  if (it.binding.decision.regime != Regime::unknown)
    return fmt::format("takes {}; the measured ceilings account for {} of it", format_seconds(it.time.seconds),
                       format_seconds(std::min(it.binding.seconds, it.time.seconds)));
  if (it.prediction.missing.empty())
    return fmt::format("{}, so its {} cannot be compared with a ceiling",
                       it.measurement.work.random
                           ? "declares random accesses alone, and no ceiling of these was measured"
                           : "declares no bytes and no FLOPs",
                       format_seconds(it.time.seconds));
  return fmt::format("takes {}, but no ceiling was measured for its work", format_seconds(it.time.seconds));
}

std::string sentence(const PointAnalysis& it) {
  switch (it.decision.regime) {
    case Regime::overhead: return is_launch(it.decision) ? overhead_sentence(it) : start_sentence(it);
    case Regime::latency: return latency_sentence(it);
    case Regime::memory: return it.rests_on_unit ? unit_sentence(it) : memory_sentence(it);
    case Regime::compute: return it.rests_on_unit ? unit_sentence(it) : compute_sentence(it);
    case Regime::unknown: break;
  }
  return unknown_sentence(it);
}

std::string excess_note(const PointAnalysis& it) {
  if (it.binding.decision.limiter == block_start)
    return fmt::format("; its blocks need {}x that time at {}, so the ceiling is too low",
                       format_number(*it.excess_over_ceiling), ceiling_of(it));
  const bool memory = it.binding.decision.regime == Regime::memory;
  return fmt::format("; the {} {} need {}x that time at {}: {}",
                     it.prediction.counted && memory ? "counted" : "declared", memory ? "bytes" : "operations",
                     format_number(*it.excess_over_ceiling), ceiling_of(it),
                     memory ? "a nearer cache serves them, or it declares more than it moves"
                            : "it declares more than it does, or the ceiling is too low");
}

}  // namespace

std::string evidence_of(const PointAnalysis& it) {
  const Prediction& prediction = it.prediction;
  const auto& differences = it.measurement.work_differences;
  std::string text = sentence(it);
  if (!differences.empty()) text += "; by the counters it " + and_list(differences);
  // The rules go by the time without the launch, so that a share of the whole may look too small for them.
  const bool works = it.decision.regime == Regime::memory || it.decision.regime == Regime::compute;
  if (works && latency_ratio * it.binding.seconds < it.time.seconds)
    text += fmt::format("; without the launch it takes {} and reaches {}", format_seconds(it.beside_launch),
                        format_percent(it.binding.seconds / it.beside_launch));
  if (it.stray_bytes > 0.0)
    text += fmt::format(
        "; while it was counted, DRAM was written {} that it cannot have written: lines that others left in L2, or "
        "freed memory that the driver clears. So how busy DRAM and L2 were is not known",
        format_value(it.stray_bytes, "B"));
  if (it.clock_under_power)
    text += fmt::format("; the power limit held the clock at {}, {} of what it can be",
                        format_value(*it.measurement.clock_hz, "Hz"), format_percent(*it.clock_under_power));
  if (it.is_below_launch) text += "; it is faster than the launch ceiling, which does not fit this timing";
  if (it.excess_over_ceiling) text += excess_note(it);
  if (launches_may_decide(it))
    text += fmt::format("; launching its {:.0f} kernels may take {} of that: only a device time can tell",
                        prediction.kernels, format_seconds(prediction.kernels * prediction.launch->seconds));
  if (!prediction.missing.empty()) {
    std::vector<std::string> names;
    for (const auto resource : prediction.missing) names.emplace_back(label_of(resource));
    text += fmt::format("; no ceiling was measured for {}, so that work is left out", and_list(names));
  }
  if (const auto share = share_under_load(it.measurement))
    text +=
        fmt::format("; measured under load: it had {} of {}", format_percent(*share), what_it_shared(it.measurement));
  if (it.machine.one_core && it.machine.cores > 1 && !is_launch(it.decision) && it.decision.regime != Regime::unknown)
    text += fmt::format("; one thread works, so the ceilings are of one core of {}", it.machine.cores);
  if (!prediction.launch) text += "; no launch ceiling was measured, so overhead cannot be told apart";
  return text;
}

}  // namespace gpubench::classifier
