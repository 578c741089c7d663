// SPDX-License-Identifier: Apache-2.0
// The ceilings of an NVIDIA GPU: what is measured in which order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "bench/timing/launch_overhead.h"
#include "calibrate/check/health.h"
#include "calibrate/cuda/calibration_context.h"
#include "core/base/time.h"
#include "gpu/backend.h"
#include "kernels/probes/cuda/compute.h"

namespace gpubench::calibrate {
namespace {

/// How much is measured in each mode.
struct GpuPlan {
  int rounds;  ///< times that all probes are gone through; an independent repeat of each
  double warm_up_seconds;
  double counting_seconds;
};
constexpr GpuPlan quick_gpu_plan = {7, 0.2, 0.0};
constexpr GpuPlan full_gpu_plan = {9, 1.0, 5.0};
/// Where several processes measure it.
constexpr double warm_up_seconds_of_process = 0.1;
constexpr int launch_rounds_of_process = 2;

void note_conditions(GpuCalibrationContext& bench) {
  auto& warnings = bench.calibration.warnings;
  const auto readings = bench::backend_of(bench.device).readings(bench.device);
  // This process is one of them.
  if (const auto& processes = readings.processes.value; processes && processes->size() > 1)
    warnings.push_back(fmt::format("{} other process{} computed on this GPU; ceilings may be low",
                                   processes->size() - 1, processes->size() == 2 ? "" : "es"));
  if (readings.mig.value.value_or(false))
    warnings.emplace_back(
        "MIG is on: ceilings are those of a slice, theoretical limits of memory may be the whole GPU's");
  if (!readings.throttle.value)
    warnings.push_back("no throttling was read, and perhaps no power and temperature: " + readings.throttle.reason);
}

void measure_launch(GpuCalibrationContext& bench) {
  bench.attempt({"launch"}, [&] {
    Ceiling launch = bench.options.part == Part::all
                         ? bench::measure_launch_overhead(*bench.gpu)
                         : bench::measure_launch_overhead(*bench.gpu, launch_rounds_of_process);
    launch.group = CeilingGroup::overhead;
    bench.calibration.ceilings.push_back(std::move(launch));
  });
}

void sample_all(GpuCalibrationContext& bench, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    bench.step("ceilings", static_cast<double>(round) / rounds);
    for (auto& probe : bench.probes) bench.sample(probe);
  }
  for (const auto& probe : bench.probes) bench.conclude(probe);
}

/// After all that needs a cool GPU. Each load is visited twice, so that its interval holds what the others' heat does.
void sustain_all(GpuCalibrationContext& bench) {
  constexpr int visits = 2;
  std::vector<SustainedLoad> loads;
  for (const Probe& probe : bench.probes)
    if (probe.sustained_seconds > 0.0 && probe.failure.empty()) loads.emplace_back(probe);
  for (std::size_t i = 0; i < visits * loads.size(); ++i) {
    SustainedLoad& load = loads[i % loads.size()];
    if (!load.failure().empty()) continue;
    bench.step("sustained loads", static_cast<double>(i) / static_cast<double>(visits * loads.size()));
    load.visit(bench, 1.0 / visits);
  }
  for (const SustainedLoad& load : loads) {
    if (load.failure().empty())
      bench.calibration.ceilings.push_back(load.ceiling(bench.multiprocessors()));
    else
      bench.absent(load.resource(), load.failure());
  }
}

/// How a probe is counted.
struct Counting {
  std::size_t probe = 0;  ///< its place on the context
  std::string names;      ///< "dram_read_bytes + dram_write_bytes"
  std::vector<bench::ResolvedMetric::Term> terms;
  std::vector<std::string> counters;  ///< of the terms
};

/// By the first of its ways that this chip has; nothing, with the reason in `confirmation`, when it has none.
std::optional<Counting> counting_of(bench::MetricSource& source, const std::vector<Probe>& probes, std::size_t index,
                                    Confirmation& confirmation) {
  for (const auto& names : probes[index].counted) {
    const auto resolution =
        bench::resolve(names, source.chip(), [&](const std::string& counter) { return source.unit(counter); });
    if (!resolution.absent.empty()) {
      confirmation.reason = resolution.absent.front().reason;
      continue;
    }
    Counting counting{index, fmt::format("{}", fmt::join(names, " + ")), {}, {}};
    for (const auto& metric : resolution.metrics)
      for (const auto& term : metric.terms) {
        counting.terms.push_back(term);
        counting.counters.push_back(term.counter);
      }
    return counting;
  }
  return std::nullopt;
}

Confirmation confirmation_of(const Probe& probe, const Counting& counting, const bench::MetricValues& counted) {
  double sum = 0.0;
  for (const auto& [factor, counter] : counting.terms) {
    const auto value = counted.values.find(counter);
    if (value == counted.values.end()) {
      const auto why = counted.absent.find(counter);
      return {"", std::nullopt, why == counted.absent.end() ? "it was not counted" : why->second};
    }
    sum += factor * value->second;
  }
  return {counting.names, probe.counted_factor * sum / *probe.ceiling.work_per_run, ""};
}

void note(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  for (auto& ceiling : calibration.ceilings)
    if (ceiling.resource == resource || ceiling.resource == resource + "-sustained")
      ceiling.confirmation = confirmation;
}

/// For a probe whose declared work is a bound only.
void take_counted_work(Calibration& calibration, const std::string& resource, const Confirmation& confirmation) {
  const auto ceiling =
      std::ranges::find_if(calibration.ceilings, [&](const Ceiling& each) { return each.resource == resource; });
  if (ceiling == calibration.ceilings.end()) return;
  if (confirmation.ratio && *confirmation.ratio > 0.0 && *confirmation.ratio <= 1.0 + tolerated_count_difference) {
    ceiling->method += fmt::format("; bytes as {} counted them, {:.1f} % of those that threads asked for",
                                   confirmation.counter, 100.0 * *confirmation.ratio);
    for (double* const figure : {&ceiling->value, &ceiling->ci95.low, &ceiling->ci95.high})
      *figure *= *confirmation.ratio;
    for (auto* const figure : {&ceiling->work_per_run, &ceiling->rate_per_clock})
      if (*figure) **figure *= *confirmation.ratio;
    ceiling->confirmation = Confirmation{confirmation.counter, 1.0, ""};
    return;
  }
  calibration.absent.push_back(
      {resource, confirmation.ratio
                     ? fmt::format("rejected: {} counted {:.3f} times the bytes that threads ask for",
                                   confirmation.counter, *confirmation.ratio)
                     : "only counters tell which requests the GPU merged on their way: " + confirmation.reason});
  calibration.ceilings.erase(ceiling);
}

/// Counts probes that have one set of counters, and reads them out together. `counted`: how many were counted before.
void count(GpuCalibrationContext& bench, bench::MetricSource& source, const std::vector<Counting>& group,
           double deadline, std::size_t& counted, std::vector<Confirmation>& confirmations) {
  try {
    source.begin(group.front().counters);
  } catch (const bench::MetricsUnavailable& error) {
    for (const Counting& each : group) confirmations[each.probe].reason = error.what();
    return;
  }
  for (const Counting& each : group) {
    const std::size_t probe = each.probe;
    bench.step("counters", static_cast<double>(counted++) / static_cast<double>(bench.probes.size()));
    if (steady_seconds() > deadline) {
      confirmations[probe].reason = "the time for counting was over";
      continue;
    }
    bench::Replay replay = {probes::wait_for_gpu, [&bench, probe] {
                              bench.probes[probe].enqueue();
                              bench.gpu->wait();
                            }};
    replay.point = probe;
    try {
      source.count(probe, replay);
    } catch (const std::runtime_error& error) {  // MetricsUnavailable, GpuError
      confirmations[probe].reason = error.what();
    }
  }
  const auto values_of = source.read();
  for (const Counting& each : group)
    if (const auto values = values_of.find(each.probe); values != values_of.end())
      confirmations[each.probe] = confirmation_of(bench.probes[each.probe], each, values->second);
}

}  // namespace

void warm_up(GpuCalibrationContext& bench, double seconds) {
  const double start = steady_seconds();
  while (steady_seconds() < start + seconds)
    bench.timer.seconds([&] {
      (void)probes::launch_vector(probes::VectorOperation::fp32, {256, 4}, bench.loops(1000));
    });
}

Calibration calibrate_gpu(const Device& device, const CalibrationOptions& options) {
  GpuCalibrationContext bench(device, options);
  const GpuPlan& plan = bench.full ? full_gpu_plan : quick_gpu_plan;
  bench.step("warm-up", 0.0);
  const bool for_process = options.part == Part::of_process;
  bench.attempt({"fp32"}, [&] { warm_up(bench, for_process ? warm_up_seconds_of_process : plan.warm_up_seconds); });
  note_conditions(bench);
  // Before links use other streams: from then on every kernel may cost more (gpu/cuda/handles.h).
  bench.step("launch", 0.02);
  measure_launch(bench);
  if (!for_process) measure_launch_step(bench);
  if (bench.full ? options.part != Part::all_but_of_process : !for_process) {
    bench.step("overheads", 0.03);
    measure_overheads(bench);
  }
  if (bench.full && options.part != Part::all_but_of_process) {
    bench.step("links", 0.03);
    measure_links_of_process(bench);
  }
  if (for_process) return std::move(bench.calibration);
  add_block_start_probe(bench);
  add_vector_probes(bench);
  bench.step("matrix products", 0.04);
  add_product_probes(bench);
  bench.step("memory", 0.12);
  add_memory_probes(bench);
  if (bench.full) {
    add_matrix_probes(bench);
    add_cache_probes(bench);
    add_atomics_probes(bench);
    add_random_probes(bench);
    add_copy_probes(bench);
  }
  bench.stage(0.16, bench.full ? 0.5 : 0.9);
  sample_all(bench, plan.rounds);
  bench.stage(bench.full ? 0.5 : 0.9, bench.full ? 0.54 : 1.0);
  measure_ladders(bench);
  if (bench.full) {
    bench.stage(0.54, 0.58);
    bench.step("latencies", 0.0);
    measure_latencies(bench);
    bench.stage(0.58, 0.64);
    bench.step("links", 0.6);
    measure_links(bench);
    bench.stage(0.64, 0.68);
    measure_intensities(bench);
    bench.stage(0.68, 0.93);
    sustain_all(bench);
    bench.stage(0.93, 1.0);
    confirm(bench, plan.counting_seconds);
  }
  return bench.finish();
}

void confirm(GpuCalibrationContext& bench, double seconds) {
  const double deadline = steady_seconds() + seconds;
  std::unique_ptr<bench::MetricSource> source;
  std::string reason;
  try {
    source = bench::open_metric_source(bench.device);
  } catch (const bench::MetricsUnavailable& error) {
    reason = error.what();
  }
  const auto is_counted = [&](const Probe& probe) {
    return !probe.counted.empty() && probe.enqueue && bench.calibration.find(probe.ceiling.resource) != nullptr;
  };
  std::vector<Confirmation> confirmations(bench.probes.size(), Confirmation{"", std::nullopt, reason});
  // By passes and by what is counted: points of one pass cost a thirtieth of the others, so they come first.
  std::map<std::pair<std::size_t, std::vector<std::string>>, std::vector<Counting>> groups;
  for (std::size_t i = 0; source && i < bench.probes.size(); ++i)
    if (is_counted(bench.probes[i]))
      if (const auto counting = counting_of(*source, bench.probes, i, confirmations[i]))
        groups[{source->passes(counting->counters).value_or(0), counting->counters}].push_back(*counting);
  std::size_t counted = 0;
  for (const auto& [key, group] : groups) count(bench, *source, group, deadline, counted, confirmations);
  for (std::size_t i = 0; i < bench.probes.size(); ++i)
    if (is_counted(bench.probes[i])) {
      const auto record = bench.probes[i].work_is_as_counted ? take_counted_work : note;
      record(bench.calibration, bench.probes[i].ceiling.resource, confirmations[i]);
    }
}

}  // namespace gpubench::calibrate
