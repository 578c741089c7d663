// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

void count_pipes(const Measurement& measurement, CountedWork& counted) {
  const auto& declared = measurement.work.flops;
  for (const PipeCounter& each : pipe_counters()) {
    const auto count = counter(measurement, each.name);
    // A count of none where work is declared means that the chip counts it elsewhere.
    if (!count || *count <= 0.0) continue;
    if (each.pipes.size() == 1) {
      counted.flops[each.pipes.front()] = *count;
      continue;
    }
    std::vector<Pipe> used;
    for (const Pipe pipe : each.pipes)
      if (declared.contains(pipe)) used.push_back(pipe);
    if (used.size() > 1) continue;  // nobody knows what part is whose
    const Pipe pipe = used.empty() ? each.pipes.front() : used.front();
    const double said = used.empty() ? 0.0 : declared.at(pipe);
    if (said < each.min_share * *count || said > *count) counted.flops[pipe] = *count;
  }
}

/// A CPU has no matrix units: their work counts on the vector pipe of the same element type.
Pipe pipe_on(DeviceKind kind, Pipe pipe) {
  if (kind == DeviceKind::cpu && pipe == tensor_fp64) return fp64;
  if (kind == DeviceKind::cpu && pipe == tensor_tf32) return fp32;
  return pipe;
}

/// Bytes that count against a cache's ceiling, which is one of reading. In a CPU's caches lines come and go on paths of
/// their own, so the busier direction counts. In a GPU's L2 reads and writes share the slices.
double bytes_on_cache_path(DeviceKind kind, const Work& work) {
  return kind == DeviceKind::cpu ? std::max(work.bytes_read, work.bytes_written) : work.bytes();
}

/// The caches and DRAM in order, each with its seconds per declared byte; DRAM is left out when it has no ceiling.
void add_levels(const Work& work, const ModelInput& conditions, const Machine& machine, Prediction& prediction) {
  const double share = bytes_on_cache_path(machine.kind, work) / work.bytes();
  for (const auto& cache : machine.caches) {
    const double rate = cache.rate.per_second * clock_ratio(cache.resource, cache.rate, conditions.clock_hz);
    prediction.demand.levels.push_back({cache.capacity_bytes, cache.capacity_sigma, cache.hit_exponent, share / rate});
    prediction.resources.push_back({cache.resource, ResourceKind::memory, 0.0, cache.rate.sigma});
  }
  if (machine.dram.empty()) return;
  const auto [cost, sigma] = dram_seconds_per_byte(work.bytes_written / work.bytes(), machine.dram);
  MemoryDemand::Level dram;
  dram.seconds_per_byte = cost;
  prediction.demand.levels.push_back(dram);
  prediction.resources.push_back({resource::dram, ResourceKind::memory, 0.0, sigma});
}

/// A part of the work that needs no ceiling of its own.
constexpr double negligible_part = 0.01;

double footprint_of(const Work& work) {
  return work.footprint_bytes && *work.footprint_bytes > 0.0 ? *work.footprint_bytes : work.bytes();
}

/// Accesses at random places, on top of the bytes in order. The last cache serves those that it can hold.
void add_random(const RandomAccesses& random, const ModelInput& conditions, const Machine& machine,
                Prediction& prediction) {
  const bool fits = !machine.caches.empty() && !conditions.cold;
  const double hits =
      fits ? hit_fraction(random.bytes, machine.caches.back().capacity_bytes, machine.caches.back().hit_exponent.value)
           : 0.0;
  const auto add = [&](double count, const RandomRates& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double part = count * (i == 0 ? hits : 1.0 - hits);
      const auto& [resource, rate] = rates[i];
      if (!(part > 0.0)) continue;
      if (!rate) {
        // No CPU has such ceilings: there it is latency.
        if (machine.kind == DeviceKind::gpu && part > negligible_part * count) prediction.missing.push_back(resource);
        continue;
      }
      prediction.resources.push_back({resource, ResourceKind::memory,
                                      part / (rate->per_second * clock_ratio(resource, *rate, conditions.clock_hz)),
                                      rate->sigma});
    }
  };
  add(random.reads, machine.random_reads);
  add(random.updates, machine.random_updates);
}

void add_declared_memory(const Work& work, const ModelInput& conditions, const Machine& machine,
                         Prediction& prediction) {
  const double bytes = work.bytes();
  auto& demand = prediction.demand;
  demand.footprint_bytes = footprint_of(work);
  demand.first_touch_bytes = conditions.cold ? std::min(bytes, demand.footprint_bytes) : 0.0;
  demand.other_bytes = bytes - demand.first_touch_bytes;
  add_levels(work, conditions, machine, prediction);
  std::vector<double> split;
  demand.split(split);
  for (std::size_t i = 0; i < demand.levels.size(); ++i)
    prediction.resources[i].seconds = split[i] * demand.levels[i].seconds_per_byte;
  if (work.random) add_random(*work.random, conditions, machine, prediction);
  if (machine.dram.empty() && split.back() > negligible_part * bytes) prediction.missing.emplace_back(resource::dram);
}

/// Each level with what was counted on it. A level whose traffic nobody counts takes no time of its own.
void add_counted_memory(const Work& work, const ModelInput& conditions, const Machine& machine,
                        Prediction& prediction) {
  const CountedWork& counted = conditions.counted;
  const double dram = counted.dram_bytes();
  prediction.counted = true;
  const auto add_unit = [&](std::string_view name, const std::optional<Rate>& rate) {
    const double bytes = counted.bytes_of(name);
    if (rate && bytes > 0.0)
      prediction.resources.push_back({name, ResourceKind::memory,
                                      bytes / (rate->per_second * clock_ratio(name, *rate, conditions.clock_hz)),
                                      rate->sigma});
  };
  add_unit(resource::shared, machine.unit_shared);
  add_unit(resource::l1, machine.unit_l1);
  for (const auto& cache : machine.caches) {
    const double rate = cache.rate.per_second * clock_ratio(cache.resource, cache.rate, conditions.clock_hz);
    prediction.resources.push_back(
        {cache.resource, ResourceKind::memory, counted.bytes_of(cache.resource) / rate, cache.rate.sigma});
    prediction.counted_cache = {cache.resource, cache.capacity_bytes, cache.hit_exponent, footprint_of(work)};
  }
  if (machine.dram.empty()) {
    if (dram > 0.0) prediction.missing.emplace_back(resource::dram);
    return;
  }
  const auto [cost, sigma] = dram_seconds_per_byte(dram > 0.0 ? *counted.dram_write_bytes / dram : 0.0, machine.dram);
  prediction.resources.push_back({resource::dram, ResourceKind::memory, dram * cost, sigma});
}

/// Of work that no ceiling was measured for: what it takes at most, as no GPU has a pipe that is slower than another by
/// more than FP64 of those made for graphics.
double most_seconds(double count, const Machine& machine) {
  constexpr double slowest_of_fastest = 1.0 / 64.0;
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& rate : machine.pipes)
    if (rate) slowest = std::min(slowest, rate->per_second);
  return std::isinf(slowest) ? slowest : count / (slowest_of_fastest * slowest);
}

void add_pipes(const Work& work, const ModelInput& conditions, const Machine& machine, Prediction& prediction) {
  auto flops = work.flops;
  for (const auto& [pipe, count] : conditions.counted.flops) flops[pipe] = count;
  std::vector<std::pair<Pipe, double>> without_ceiling;
  for (const auto& [declared, count] : flops) {
    if (count <= 0.0) continue;
    const Pipe pipe = pipe_on(machine.kind, declared);
    const auto& rate = machine.pipes[static_cast<std::size_t>(pipe)];
    if (!rate) {
      without_ceiling.emplace_back(pipe, count);
      continue;
    }
    double per_second = rate->per_second * clock_ratio(name_of(pipe), *rate, conditions.clock_hz);
    const auto& instruction = machine.instructions[static_cast<std::size_t>(pipe)];
    if (instruction && instruction->clock_hz && conditions.clock_hz)
      per_second = std::min(per_second, instruction->per_second * *conditions.clock_hz / *instruction->clock_hz);
    const double seconds = count / per_second;
    auto same = std::ranges::find(prediction.resources, name_of(pipe), &ResourceTime::resource);
    if (same != prediction.resources.end()) {
      same->seconds += seconds;
    } else {
      prediction.resources.push_back({name_of(pipe), ResourceKind::pipe, seconds, rate->sigma});
    }
  }
  double longest = conditions.counted.issue_seconds.value_or(0.0);
  for (const ResourceTime& one : prediction.resources) longest = std::max(longest, one.seconds);
  for (const auto& [pipe, count] : without_ceiling)
    if (most_seconds(count, machine) > negligible_part * longest) prediction.missing.push_back(name_of(pipe));
}

/// A pipe's instructions are issued, so its time and that of issuing them are one time seen twice. The pipe stands for
/// both, unless issuing clearly takes longest.
void add_issue(const ModelInput& conditions, Prediction& prediction) {
  constexpr double clearly_more = 1.1;
  if (!conditions.counted.issue_seconds) return;
  const double issue = *conditions.counted.issue_seconds;
  const auto is_pipe = [](const ResourceTime& one) { return one.kind == ResourceKind::pipe; };
  double longest = 0.0;
  for (const ResourceTime& one : prediction.resources)
    if (is_pipe(one)) longest = std::max(longest, one.seconds);
  if (issue <= clearly_more * longest) return;
  std::erase_if(prediction.resources, is_pipe);
  prediction.resources.push_back({resource::issue, ResourceKind::pipe, issue, 0.0});
}

void add_block_start(const ModelInput& conditions, const Machine& machine, Prediction& prediction) {
  if (!machine.block_start || !(conditions.later_blocks > 0.0)) return;
  const Rate& rate = *machine.block_start;
  const double per_second = rate.per_second * clock_ratio(block_start, rate, conditions.clock_hz);
  prediction.resources.push_back({block_start, ResourceKind::start, conditions.later_blocks / per_second, rate.sigma});
}

}  // namespace

double CountedWork::bytes_of(std::string_view resource) const {
  if (resource == resource::dram) return dram_bytes();
  if (resource == resource::l2) return bytes_through_l2();
  if (resource == resource::l1) return l1_bytes.value_or(0.0);
  return resource == resource::shared ? shared_bytes.value_or(0.0) : 0.0;
}

CountedWork counted_in(const Measurement& measurement) {
  CountedWork counted;
  counted.dram_read_bytes = counter(measurement, "dram_read_bytes");
  counted.dram_write_bytes = counter(measurement, "dram_write_bytes");
  // lts__t_bytes also counts traffic between the halves of the L2 and fills; l1tex__t_bytes also counts what L1 serves.
  // What the multiprocessors ask of the L2, which is what its ceiling is of, is no more than either.
  const auto l2 = counter(measurement, "l2_bytes");
  const auto l1 = counter(measurement, "l1_bytes");
  // Loads by the tensor memory accelerator pass L1's counter by, which then shows less than must have moved.
  const bool l1_sees_all = l1 && *l1 > 0.0 && *l1 >= 0.9 * measurement.work.bytes();
  if (l2) counted.l2_bytes = l1_sees_all ? std::min(*l2, *l1) : *l2;
  // More written to DRAM than the multiprocessors moved at all are dirty lines that another operation left in L2.
  if (l1_sees_all && counted.dram_write_bytes) counted.dram_write_bytes = std::min(*counted.dram_write_bytes, *l1);
  counted.l1_bytes = l1;
  // What the calibration confirms its ceiling of shared memory with; 128 bytes each, on every chip so far.
  constexpr double bytes_in_wavefront = 128.0;
  if (const auto wavefronts = counter(measurement, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"))
    counted.shared_bytes = *wavefronts * bytes_in_wavefront;
  const auto issue = counter(measurement, "issue_active");
  const auto cycles = counter(measurement, "sm_active_cycles");
  const auto clock = counter(measurement, "sm_clock");
  if (issue && cycles && clock && *clock >= 1.0 && *issue <= 100.0)
    counted.issue_seconds = *issue / 100.0 * *cycles / *clock;
  count_pipes(measurement, counted);
  return counted;
}

ModelInput model_input_of(const Measurement& measurement) {
  ModelInput conditions;
  conditions.clock_hz = measurement.clock_hz;
  conditions.cold = measurement.cache_state == "cold";
  conditions.counted = counted_in(measurement);
  conditions.grid = measurement.grid;
  if (measurement.launches) {
    conditions.later_blocks = static_cast<double>(measurement.launches->later_blocks);
    conditions.kernels = std::max(1.0, static_cast<double>(measurement.launches->kernels));
  }
  if (const Estimate* const fixed = kernel_overhead_of(measurement); fixed != nullptr && fixed->value <= max_figure)
    conditions.kernel_overhead_seconds = std::max(fixed->value, 0.0);
  return conditions;
}

double CountedCache::near_fraction() const {
  return hit_fraction(footprint_bytes, 0.5 * capacity_bytes, hit_exponent.value);
}

std::optional<double> waves_of(const std::optional<Grid>& grid, int units) {
  if (!grid || units <= 0 || grid->blocks <= 0 || grid->blocks_per_multiprocessor <= 0) return std::nullopt;
  return static_cast<double>(grid->blocks) / units / static_cast<double>(grid->blocks_per_multiprocessor);
}

double wave_factor(const std::optional<Grid>& grid, int units) {
  constexpr double max_uneven_waves = 4.0;
  const auto waves = waves_of(grid, units);
  if (!waves) return 1.0;
  const double per_unit = static_cast<double>(grid->blocks) / units;
  return *waves < max_uneven_waves ? std::ceil(per_unit) / per_unit : 1.0;
}

Prediction predict(const Work& work, const ModelInput& conditions, const Machine& machine) {
  Prediction prediction;
  prediction.launch = machine.launch;
  prediction.kernel_overhead_seconds = conditions.kernel_overhead_seconds;
  prediction.kernels = conditions.kernels;
  prediction.overlap = machine.overlap;
  prediction.wave_factor = conditions.wave_factor.value_or(wave_factor(conditions.grid, machine.units));
  prediction.resources.reserve(machine.caches.size() + 2 + work.flops.size() + conditions.counted.flops.size());
  if (conditions.counted.has_levels())
    add_counted_memory(work, conditions, machine, prediction);
  else if (work.bytes() > 0.0)
    add_declared_memory(work, conditions, machine, prediction);
  add_pipes(work, conditions, machine, prediction);
  add_issue(conditions, prediction);
  add_block_start(conditions, machine, prediction);
  return prediction;
}

double Prediction::memory_seconds() const {
  double sum = 0.0;
  OverlapSum overlapping(overlap.value);
  for (const auto& resource : resources)
    if (resource.kind == ResourceKind::memory) {
      sum += resource.seconds;
      if (counted) overlapping.add(resource.seconds);
    }
  return counted ? overlapping.value() : sum;
}

const ResourceTime* Prediction::largest(ResourceKind kind) const {
  const ResourceTime* result = nullptr;
  for (const auto& resource : resources)
    if (resource.kind == kind && resource.seconds > (result != nullptr ? result->seconds : 0.0)) result = &resource;
  return result;
}

double Prediction::seconds_of(std::string_view resource) const {
  const auto found = std::ranges::find(resources, resource, &ResourceTime::resource);
  return found == resources.end() ? 0.0 : found->seconds;
}

double Prediction::start_seconds() const {
  const auto* const start = largest(ResourceKind::start);
  return start != nullptr ? start->seconds : 0.0;
}

double Prediction::busy_seconds() const {
  OverlapSum sum(overlap.value);
  sum.add(memory_seconds());
  for (const auto& resource : resources)
    if (resource.kind == ResourceKind::pipe) sum.add(resource.seconds);
  return wave_factor * sum.value();
}

double Prediction::work_seconds() const {
  OverlapSum sum(overlap.value);
  sum.add(busy_seconds());
  sum.add(start_seconds());
  return sum.value();
}

// Most of the time of judging a run goes to these powers: those whose result is known are left out.
void OverlapSum::add(double seconds) {
  if (!(seconds > 0.0)) return;
  if (largest_ == 0.0) {
    largest_ = seconds;
    sum_ = 1.0;
    return;
  }
  // A power below 2^-57 is lost in the rounding of a sum of one or more.
  const double negligible = exponent_ >= 32.0 ? 0.29 : exponent_ >= 8.0 ? 7e-3 : exponent_ >= 3.0 ? 1.9e-6 : 0.0;
  if (seconds > largest_) {
    const double ratio = largest_ / seconds;
    sum_ = ratio <= negligible ? 1.0 : sum_ * std::pow(ratio, exponent_) + 1.0;
    largest_ = seconds;
  } else if (const double ratio = seconds / largest_; ratio > negligible) {
    sum_ += std::pow(ratio, exponent_);
  }
}

double OverlapSum::value() const { return sum_ == 1.0 ? largest_ : largest_ * std::pow(sum_, 1.0 / exponent_); }

}  // namespace gpubench::classifier
