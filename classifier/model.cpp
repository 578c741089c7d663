// SPDX-License-Identifier: Apache-2.0
#include "classifier/model.h"

#include <algorithm>
#include <cmath>

#include "classifier/draws.h"
#include "classifier/fit.h"

namespace gpubench::classifier {
namespace {

constexpr double normal_975 = 1.959963984540054;

bool usable(double x) { return x >= least_figure && x <= largest_figure; }

std::optional<Rate> rate_of(const Calibration& calibration, std::string_view resource) {
  const Ceiling* ceiling = calibration.find(resource);
  if (ceiling == nullptr || !usable(ceiling->value)) return std::nullopt;
  return Rate{ceiling->value, sigma_of(ceiling->value, ceiling->ci95, ceiling->repeats), ceiling->clock_hz};
}

/// Where a pipe's work counts. A CPU has no matrix units: their work counts on the vector pipe of the same element
/// type.
Pipe pipe_on(DeviceKind kind, Pipe pipe) {
  if (kind == DeviceKind::cpu && pipe == tensor_fp64) return fp64;
  if (kind == DeviceKind::cpu && pipe == tensor_tf32) return fp32;
  return pipe;
}

/// Vector pipes and the caches beside the cores follow the clock. Matrix units run into the power limit: their clock
/// swings within milliseconds, and one reading beside the work says little about it. Their ceiling, taken from rest, is
/// an upper limit as it stands. Outer caches and DRAM have clocks of their own.
bool follows_clock(std::string_view resource) {
  if (resource.starts_with("tensor-")) return false;
  return resource == "l1" || resource == "l2" || (resource != "dram" && resource != "l3");
}

/// A ratio beyond a factor of three is a clock misread at idle, and is not followed.
double clock_ratio(std::string_view resource, const Rate& rate, const Conditions& conditions) {
  if (!follows_clock(resource)) return 1.0;
  if (!rate.clock_hz || !conditions.clock_hz || !usable(*rate.clock_hz) || !usable(*conditions.clock_hz)) return 1.0;
  const double ratio = *conditions.clock_hz / *rate.clock_hz;
  return ratio > 1.0 / 3.0 && ratio < 3.0 ? ratio : 1.0;
}

double hit_fraction(double footprint, double capacity, double exponent) {
  return 1.0 / (1.0 + std::pow(footprint / capacity, exponent));
}

/// Bytes that count against a cache's ceiling, which is one of reading. In a CPU's caches, lines come and go on paths
/// of their own, so the busier direction counts (an EPYC's saxpy in L2 moves 1.2 times what reading alone does). In a
/// GPU's L2, reads and writes share the slices (an H200's copy and saxpy reach 72 to 91 % of reading alone, both
/// counted).
double bytes_on_cache_path(DeviceKind kind, const Work& work) {
  return kind == DeviceKind::cpu ? std::max(work.bytes_read, work.bytes_written) : work.bytes();
}

/// The caches and DRAM in order, each with its seconds per declared byte; DRAM is left out when it has no ceiling.
void add_levels(const Work& work, const Conditions& conditions, const Machine& machine, Prediction& prediction) {
  const double share = bytes_on_cache_path(machine.kind, work) / work.bytes();
  for (const auto& cache : machine.caches) {
    const double rate = cache.rate.per_second * clock_ratio(cache.resource, cache.rate, conditions);
    prediction.demand.levels.push_back({cache.capacity_bytes, cache.capacity_sigma, cache.hit_exponent, share / rate});
    prediction.resources.push_back({cache.resource, ResourceKind::memory, 0.0, cache.rate.sigma});
  }
  if (machine.dram.empty()) return;
  const auto [cost, sigma] = dram_seconds_per_byte(work.bytes_written / work.bytes(), machine.dram);
  MemoryDemand::Level dram;
  dram.seconds_per_byte = cost;
  prediction.demand.levels.push_back(dram);
  prediction.resources.push_back({"dram", ResourceKind::memory, 0.0, sigma});
}

double footprint_of(const Work& work) {
  return work.footprint_bytes && *work.footprint_bytes > 0.0 ? *work.footprint_bytes : work.bytes();
}

void add_declared_memory(const Work& work, const Conditions& conditions, const Machine& machine,
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
  if (machine.dram.empty() && split.back() > 0.01 * bytes) prediction.missing.emplace_back("dram");
}

/// Each level with what was counted on it. A level whose traffic nobody counts takes no time of its own.
void add_counted_memory(const Work& work, const Conditions& conditions, const Machine& machine,
                        Prediction& prediction) {
  const Counted& counted = conditions.counted;
  const double dram = *counted.dram_read_bytes + *counted.dram_write_bytes;
  prediction.counted = true;
  const auto add_unit = [&](std::string_view name, const std::optional<Rate>& rate,
                            const std::optional<double>& bytes) {
    if (rate && bytes && *bytes > 0.0)
      prediction.resources.push_back({name, ResourceKind::memory,
                                      *bytes / (rate->per_second * clock_ratio(name, *rate, conditions)), rate->sigma});
  };
  add_unit("shared", machine.unit_shared, counted.shared_bytes);
  add_unit("l1", machine.unit_l1, counted.l1_bytes);
  for (const auto& cache : machine.caches) {
    const double rate = cache.rate.per_second * clock_ratio(cache.resource, cache.rate, conditions);
    const double bytes = cache.resource == "l2" ? std::max(counted.l2_bytes.value_or(0.0), dram) : 0.0;
    prediction.resources.push_back({cache.resource, ResourceKind::memory, bytes / rate, cache.rate.sigma});
    prediction.counted_cache = {cache.resource, cache.capacity_bytes, cache.hit_exponent, footprint_of(work)};
  }
  if (machine.dram.empty()) {
    if (dram > 0.0) prediction.missing.emplace_back("dram");
    return;
  }
  const auto [cost, sigma] = dram_seconds_per_byte(dram > 0.0 ? *counted.dram_write_bytes / dram : 0.0, machine.dram);
  prediction.resources.push_back({"dram", ResourceKind::memory, dram * cost, sigma});
}

void add_pipes(const Work& work, const Conditions& conditions, const Machine& machine, Prediction& prediction) {
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
    const double seconds = count / (rate->per_second * clock_ratio(name_of(pipe), *rate, conditions));
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
void add_issue(const Conditions& conditions, Prediction& prediction) {
  constexpr double clearly_more = 1.1;
  if (!conditions.counted.issue_seconds) return;
  const double issue = *conditions.counted.issue_seconds;
  const auto is_pipe = [](const ResourceTime& one) { return one.kind == ResourceKind::pipe; };
  double longest = 0.0;
  for (const ResourceTime& one : prediction.resources)
    if (is_pipe(one)) longest = std::max(longest, one.seconds);
  if (issue <= clearly_more * longest) return;
  std::erase_if(prediction.resources, is_pipe);
  prediction.resources.push_back({"issue", ResourceKind::pipe, issue, 0.0});
}

void add_block_start(const Conditions& conditions, const Machine& machine, Prediction& prediction) {
  if (!machine.block_start || !(conditions.later_blocks > 0.0)) return;
  const Rate& rate = *machine.block_start;
  const double per_second = rate.per_second * clock_ratio(block_start, rate, conditions);
  prediction.resources.push_back({block_start, ResourceKind::start, conditions.later_blocks / per_second, rate.sigma});
}

std::optional<double> counter(const Measurement& measurement, std::string_view name) {
  for (const Counter& each : measurement.counters)
    if (each.name == name && each.value >= 0.0 && each.value <= largest_figure) return each.value;
  return std::nullopt;
}

void count_pipes(const Measurement& measurement, Counted& counted) {
  static constexpr std::array<std::pair<std::string_view, Pipe>, 8> counters = {{{"flops_fp64", fp64},
                                                                                 {"flops_fp32", fp32},
                                                                                 {"flops_tensor_fp64", tensor_fp64},
                                                                                 {"flops_tensor_tf32", tensor_tf32},
                                                                                 {"flops_tensor_fp16", tensor_fp16},
                                                                                 {"flops_tensor_bf16", tensor_bf16},
                                                                                 {"flops_tensor_fp8", tensor_fp8},
                                                                                 {"flops_tensor_int8", tensor_int8}}};
  // A count of none where work is declared means that the chip counts it elsewhere.
  for (const auto& [name, pipe] : counters)
    if (const auto flops = counter(measurement, name); flops && *flops > 0.0) counted.flops[pipe] = *flops;
  const auto half = counter(measurement, "flops_half");
  const auto& declared = measurement.work.flops;
  const Pipe type = declared.contains(bf16) && !declared.contains(fp16) ? bf16 : fp16;
  if (!half || *half <= 0.0 || (declared.contains(bf16) && declared.contains(fp16))) return;
  const auto found = declared.find(type);
  const double said = found == declared.end() ? 0.0 : found->second;
  if (said < 0.5 * *half || said > *half) counted.flops[type] = *half;
}

/// p from the sweep, which reads DRAM and multiplies and adds in single precision, at the clock of each of its points.
void add_overlap(const Calibration& calibration, Machine& machine) {
  const auto& fp32_rate = machine.pipes[static_cast<std::size_t>(fp32)];
  if (!fp32_rate || machine.dram.empty() || machine.dram.front().write_fraction > 0.0) return;
  std::vector<SweptIntensity> points;
  for (const auto& point : calibration.intensity_sweep) {
    if (!usable(point.flops_per_byte) || !usable(point.bytes_per_second)) continue;
    Conditions conditions;
    conditions.clock_hz = point.clock_hz;
    const double rate = fp32_rate->per_second * clock_ratio(name_of(fp32), *fp32_rate, conditions);
    points.push_back(
        {machine.dram.front().seconds_per_byte, point.flops_per_byte / rate, 1.0 / point.bytes_per_second});
  }
  if (const auto fitted = fit_overlap(points)) {
    machine.overlap = *fitted;
    machine.overlap_points = points.size();
  }
}

}  // namespace

double sigma_of(double value, const Interval& ci95, std::int64_t repeats) {
  const double sigma = (ci95.high - ci95.low) / (2.0 * normal_975 * value);
  const bool says_something = repeats >= 2 && std::isfinite(sigma) && ci95.low <= value && value <= ci95.high;
  return says_something ? sigma : unknown_sigma;
}

Machine machine_of(const Calibration& calibration) {
  Machine machine;
  machine.kind = calibration.device.kind;
  machine.units = calibration.device.units;
  if (const auto launch = rate_of(calibration, "launch")) machine.launch = Launch{launch->per_second, launch->sigma};
  machine.block_start = rate_of(calibration, block_start);
  if (machine.block_start) machine.block_start->per_second = 1.0 / machine.block_start->per_second;  // it is in seconds
  for (const auto& level : calibration.levels) {
    const auto rate = rate_of(calibration, level.resource);
    if (!rate || !usable(level.capacity_bytes)) continue;
    // The capacity's interval rests on a ladder, not on a count of repeats.
    const double sigma = level.capacity_ci95.high > level.capacity_ci95.low
                             ? sigma_of(level.capacity_bytes, level.capacity_ci95, 2)
                             : unknown_sigma;
    machine.caches.push_back({level.resource, level.capacity_bytes, sigma, *rate, hit_prior});
  }
  std::ranges::stable_sort(machine.caches, {}, &Cache::capacity_bytes);
  const std::array<std::pair<std::string_view, double>, 4> mixes = {
      {{"dram-read", 0.0}, {"dram-triad", 1.0 / 3.0}, {"dram-copy", 0.5}, {"dram-write", 1.0}}};
  for (const auto& [resource, write_fraction] : mixes)
    if (const auto rate = rate_of(calibration, resource))
      machine.dram.push_back({write_fraction, 1.0 / rate->per_second, rate->sigma});
  // A GPU's L1 and shared memory are of each multiprocessor, so they are no level that a working set falls into.
  if (machine.kind == DeviceKind::cuda &&
      std::ranges::none_of(machine.caches, [](const Cache& cache) { return cache.resource == "l1"; })) {
    machine.unit_l1 = rate_of(calibration, "l1");
    machine.unit_shared = rate_of(calibration, "shared");
  }
  for (std::size_t i = 0; i < pipe_names.size(); ++i) machine.pipes[i] = rate_of(calibration, pipe_names[i]);
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {  // the ladder reads
    auto& cache = machine.caches[i];
    if (i + 1 == machine.caches.size() && machine.dram.empty()) break;
    const double beyond = i + 1 < machine.caches.size() ? 1.0 / machine.caches[i + 1].rate.per_second
                                                        : machine.dram.front().seconds_per_byte;
    cache.hit_exponent = hit_exponent_of(calibration.ladder, cache.capacity_bytes, 1.0 / cache.rate.per_second, beyond);
  }
  add_overlap(calibration, machine);
  return machine;
}

Machine drawn(const Machine& machine, std::size_t draw) {
  Machine result = machine;
  std::size_t column = 0;
  const auto factor = [&](double sigma) { return std::exp(sigma * normal_draws(column++)[draw % draw_count]); };
  if (result.launch) result.launch->seconds *= factor(result.launch->sigma);
  for (auto& cache : result.caches) {
    cache.capacity_bytes *= factor(cache.capacity_sigma);
    cache.rate.per_second *= factor(cache.rate.sigma);
    cache.hit_exponent.value *= factor(cache.hit_exponent.sigma);
  }
  // The mixes are runs of one memory system: their errors go together.
  const double z = normal_draws(column++)[draw % draw_count];
  for (auto& mix : result.dram) mix.seconds_per_byte *= std::exp(mix.sigma * z);
  for (auto& pipe : result.pipes)
    if (pipe) pipe->per_second *= factor(pipe->sigma);
  result.overlap.value *= factor(result.overlap.sigma);
  for (auto* const rate : {&result.unit_l1, &result.unit_shared, &result.block_start})
    if (*rate) (*rate)->per_second *= factor((*rate)->sigma);
  return result;
}

Counted counted_in(const Measurement& measurement) {
  Counted counted;
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

Conditions conditions_of(const Measurement& measurement) {
  Conditions conditions{measurement.clock_hz,
                        measurement.cache_state == "cold",
                        counted_in(measurement),
                        measurement.grid,
                        std::nullopt,
                        0.0,
                        std::nullopt};
  if (measurement.launches) conditions.later_blocks = static_cast<double>(measurement.launches->later_blocks);
  if (const Estimate* const fixed = fixed_seconds_of(measurement); fixed != nullptr && fixed->value <= largest_figure)
    conditions.fixed_seconds = std::max(fixed->value, 0.0);
  return conditions;
}

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

std::pair<double, double> dram_seconds_per_byte(double write_fraction, const std::vector<DramMix>& mixes) {
  const auto above =
      std::ranges::find_if(mixes, [&](const DramMix& mix) { return mix.write_fraction >= write_fraction; });
  if (above == mixes.end()) return {mixes.back().seconds_per_byte, mixes.back().sigma};
  if (above == mixes.begin()) return {above->seconds_per_byte, above->sigma};
  const auto below = above - 1;
  const double part = (write_fraction - below->write_fraction) / (above->write_fraction - below->write_fraction);
  return {std::lerp(below->seconds_per_byte, above->seconds_per_byte, part),
          std::lerp(below->sigma, above->sigma, part)};
}

double wave_factor(const std::optional<Grid>& grid, int units) {
  constexpr double most_uneven_waves = 4.0;
  if (!grid || units <= 0 || grid->blocks <= 0 || grid->blocks_per_multiprocessor <= 0) return 1.0;
  const double per_unit = static_cast<double>(grid->blocks) / units;
  const double waves = per_unit / static_cast<double>(grid->blocks_per_multiprocessor);
  if (waves < 1.0) return std::ceil(per_unit) / per_unit;
  return waves < most_uneven_waves ? std::ceil(waves) / waves : 1.0;
}

Exponent hit_exponent_of(const std::vector<LadderPoint>& ladder, double capacity_bytes, double seconds_per_byte_inside,
                         double seconds_per_byte_beyond) {
  std::vector<const LadderPoint*> rungs;
  for (const auto& rung : ladder)
    if (usable(rung.bytes_per_second) && rung.working_set_bytes >= 0.5 * capacity_bytes &&
        rung.working_set_bytes <= 2.0 * capacity_bytes)
      rungs.push_back(&rung);
  if (rungs.size() < 3 || !(seconds_per_byte_beyond > seconds_per_byte_inside)) return hit_prior;
  constexpr double rung_sigma = 0.02;
  const auto loss = [&](double exponent) {
    double sum = std::pow(std::log(exponent / hit_prior.value) / hit_prior.sigma * rung_sigma, 2);
    for (const auto* rung : rungs) {
      const double hits = hit_fraction(rung->working_set_bytes, capacity_bytes, exponent);
      const double cost = std::lerp(seconds_per_byte_beyond, seconds_per_byte_inside, hits);
      sum += std::pow(std::log(cost * rung->bytes_per_second), 2);
    }
    return sum;
  };
  // One figure with one minimum in practice: a scan over its logarithm is enough, and cannot go astray.
  constexpr double least = 2.0;
  constexpr int steps = 80;
  Exponent best = hit_prior;
  double least_loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= steps; ++i) {
    const double exponent = least * std::pow(25.0, static_cast<double>(i) / steps);
    if (const double found = loss(exponent); found < least_loss) {
      least_loss = found;
      best = {exponent, 0.5 * hit_prior.sigma};
    }
  }
  return best;
}

Prediction predict(const Work& work, const Conditions& conditions, const Machine& machine) {
  Prediction prediction;
  prediction.launch = machine.launch;
  prediction.fixed_seconds = conditions.fixed_seconds;
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
