// SPDX-License-Identifier: Apache-2.0
#include "classifier/model.h"

#include <algorithm>
#include <cmath>

namespace gpubench::classifier {
namespace {

/// Where a pipe's work counts. A CPU has no matrix units: their work counts on the vector pipe of the same element
/// type.
Pipe pipe_on(DeviceKind kind, Pipe pipe) {
  if (kind == DeviceKind::cpu && pipe == tensor_fp64) return fp64;
  if (kind == DeviceKind::cpu && pipe == tensor_tf32) return fp32;
  return pipe;
}

/// Bytes that count against a cache's ceiling, which is one of reading. In a CPU's caches, lines come and go on paths
/// of their own, so the busier direction counts (an EPYC's saxpy in L2 moves 1.2 times what reading alone does). In a
/// GPU's L2, reads and writes share the slices (an H200's copy and saxpy reach 72 to 91 % of reading alone, both
/// counted).
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

double footprint_of(const Work& work) {
  return work.footprint_bytes && *work.footprint_bytes > 0.0 ? *work.footprint_bytes : work.bytes();
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
  if (machine.dram.empty() && split.back() > 0.01 * bytes) prediction.missing.emplace_back(resource::dram);
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

void add_pipes(const Work& work, const ModelInput& conditions, const Machine& machine, Prediction& prediction) {
  auto flops = work.flops;
  for (const auto& [pipe, count] : conditions.counted.flops) flops[pipe] = count;
  for (const auto& [declared, count] : flops) {
    if (count <= 0.0) continue;
    const Pipe pipe = pipe_on(machine.kind, declared);
    const auto& rate = machine.pipes[static_cast<std::size_t>(pipe)];
    if (!rate) {
      prediction.missing.push_back(name_of(pipe));
      continue;
    }
    const double seconds = count / (rate->per_second * clock_ratio(name_of(pipe), *rate, conditions.clock_hz));
    auto same = std::ranges::find(prediction.resources, name_of(pipe), &ResourceTime::resource);
    if (same != prediction.resources.end()) {
      same->seconds += seconds;
    } else {
      prediction.resources.push_back({name_of(pipe), ResourceKind::pipe, seconds, rate->sigma});
    }
  }
}

/// A pipe's instructions are issued, so its time and that of issuing them are one time seen twice, and do not overlap
/// as two resources would: taken for two, they move the boundary to memory by a sixth on an H200. The pipe stands for
/// both, unless so much else is issued that issuing is clearly what takes longest.
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

void MemoryDemand::split(std::vector<double>& bytes) const {
  bytes.clear();
  double rest = other_bytes;
  for (const auto& level : levels) {
    if (level.capacity_bytes == std::numeric_limits<double>::infinity()) break;
    bytes.push_back(rest * hit_fraction(footprint_bytes, level.capacity_bytes, level.hit_exponent.value));
    rest -= bytes.back();
  }
  bytes.push_back(rest + first_touch_bytes);
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
  prediction.overlap = machine.overlap;
  prediction.overlap_points = machine.overlap_points;
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

void OverlapSum::add(double seconds) {
  if (seconds <= 0.0) return;
  if (seconds > largest_) {
    sum_ = sum_ * std::pow(largest_ / seconds, exponent_) + 1.0;
    largest_ = seconds;
  } else {
    sum_ += std::pow(seconds / largest_, exponent_);
  }
}

double OverlapSum::value() const { return largest_ * std::pow(sum_, 1.0 / exponent_); }

}  // namespace gpubench::classifier
