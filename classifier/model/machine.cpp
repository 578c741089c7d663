// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/machine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "classifier/model/fit.h"
#include "classifier/run/commands.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

std::optional<Rate> rate_of(const Calibration& calibration, std::string_view resource) {
  const Ceiling* ceiling = calibration.find(resource);
  if (ceiling == nullptr || !is_figure(ceiling->value)) return std::nullopt;
  return Rate{ceiling->value, sigma_of(ceiling->value, ceiling->ci95, ceiling->repeats), ceiling->clock_hz};
}

/// p from the sweep, which reads DRAM and multiplies and adds in single precision, at the clock of each of its points.
void add_overlap(const Calibration& calibration, Machine& machine) {
  const auto& fp32_rate = machine.pipes[static_cast<std::size_t>(fp32)];
  if (!fp32_rate || machine.dram.empty() || machine.dram.front().write_fraction > 0.0) return;
  std::vector<SweptIntensity> points;
  for (const auto& point : calibration.intensity_sweep) {
    if (!is_figure(point.flops_per_byte) || !is_figure(point.bytes_per_second)) continue;
    const double rate = fp32_rate->per_second * clock_ratio(name_of(fp32), *fp32_rate, point.clock_hz);
    points.push_back(
        {machine.dram.front().seconds_per_byte, point.flops_per_byte / rate, 1.0 / point.bytes_per_second});
  }
  machine.overlap = fit_overlap(points).value_or(machine.overlap);
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same on every platform, unlike the standard's distributions.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// The standard normal number below which the probability is `p`, 0 < p < 1.
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1.0 - p);
  // Newton's method on ln Phi(z), which is concave: from the left of the root it never oversteps.
  double z = -std::sqrt(-2.0 * std::log(p));
  for (int i = 0; i < 60; ++i) {
    const double below = statistics::normal_below(z);
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    const double step = std::log(below / p) * below / density;
    z -= step;
    if (std::abs(step) < 1e-14) break;
  }
  return z;
}

/// Every fourth stratum makes a block of its own, so that the first quarter of a column is stratified as well.
constexpr std::array<std::size_t, 4> blocks = {2, 0, 3, 1};

std::vector<double> all_columns() {
  constexpr std::size_t length = draw_count / blocks.size();
  std::vector<double> result;
  result.reserve(draw_columns * draw_count);
  std::vector<double> quantiles(draw_count), block(length);
  for (std::size_t i = 0; i < draw_count; ++i)
    quantiles[i] = normal_quantile((static_cast<double>(i) + 0.5) / draw_count);
  std::uint64_t state = 1;
  for (std::size_t column = 0; column < draw_columns; ++column)
    for (const std::size_t first : blocks) {
      for (std::size_t i = 0; i < length; ++i) block[i] = quantiles[blocks.size() * i + first];
      for (std::size_t left = length; left > 1; --left) std::swap(block[left - 1], block[next_random(state) % left]);
      result.insert(result.end(), block.begin(), block.end());
    }
  return result;
}

}  // namespace

double sigma_of(double value, const Interval& ci95, std::int64_t repeats) {
  const double sigma = (ci95.high - ci95.low) / (2.0 * statistics::normal_975 * value);
  const bool says_something = repeats >= 2 && std::isfinite(sigma) && ci95.low <= value && value <= ci95.high;
  return says_something ? sigma : unknown_sigma;
}

double clock_ratio(std::string_view resource, const Rate& rate, const std::optional<double>& clock_hz) {
  if (!rate.clock_hz || !clock_hz || !is_figure(*rate.clock_hz) || !is_figure(*clock_hz)) return 1.0;
  if (*rate.clock_hz == *clock_hz || !follows_clock(resource)) return 1.0;
  const double ratio = *clock_hz / *rate.clock_hz;
  // A ratio beyond a factor of three is a clock misread at idle, and is not followed.
  return ratio > 1.0 / 3.0 && ratio < 3.0 ? ratio : 1.0;
}

double hit_fraction(double footprint_bytes, double capacity_bytes, double exponent) {
  return 1.0 / (1.0 + std::pow(footprint_bytes / capacity_bytes, exponent));
}

Machine machine_of(const Calibration& calibration) {
  Machine machine;
  machine.kind = calibration.device.kind;
  machine.units = calibration.device.units;
  if (machine.kind == DeviceKind::cpu) machine.vectors = calibration.device.architecture;
  if (const auto launch = rate_of(calibration, resource::launch))
    machine.launch = Launch{launch->per_second, launch->sigma};
  if (const auto step = rate_of(calibration, resource::launch_step)) machine.launch_step_seconds = step->per_second;
  machine.block_start = rate_of(calibration, block_start);
  if (machine.block_start) machine.block_start->per_second = 1.0 / machine.block_start->per_second;  // it is in seconds
  for (const auto& level : calibration.levels) {
    const auto rate = rate_of(calibration, level.resource);
    if (!rate || !is_figure(level.capacity_bytes)) continue;
    // The capacity's interval rests on a ladder, not on a count of repeats.
    const double sigma = level.capacity_ci95.high > level.capacity_ci95.low
                             ? sigma_of(level.capacity_bytes, level.capacity_ci95, 2)
                             : unknown_sigma;
    machine.caches.push_back({level.resource, level.capacity_bytes, sigma, *rate, hit_prior});
  }
  std::ranges::stable_sort(machine.caches, {}, &Cache::capacity_bytes);
  for (const Resource& mix : all_resources()) {
    if (!mix.write_fraction) continue;
    if (const auto rate = rate_of(calibration, mix.name))
      machine.dram.push_back({*mix.write_fraction, 1.0 / rate->per_second, rate->sigma});
  }
  // A GPU's L1 and shared memory are of each multiprocessor, so they are no level that a working set falls into.
  if (machine.kind == DeviceKind::gpu &&
      std::ranges::none_of(machine.caches, [](const Cache& cache) { return cache.resource == resource::l1; })) {
    machine.unit_l1 = rate_of(calibration, resource::l1);
    machine.unit_shared = rate_of(calibration, resource::shared);
  }
  machine.float_atomics = rate_of(calibration, "atomic-global-float-one");
  if (const auto latency = rate_of(calibration, "latency-dram")) machine.dram_latency = latency->per_second;
  constexpr double sector_bytes = 32.0;  // as which the ceilings of random reads count each
  for (auto& [resource, rate] : machine.random_reads) {
    rate = rate_of(calibration, resource);
    if (rate) rate->per_second /= sector_bytes;
  }
  for (auto& [resource, rate] : machine.random_updates) rate = rate_of(calibration, resource);
  for (std::size_t i = 0; i < pipe_names.size(); ++i) {
    const std::string_view name = pipe_names[i];
    machine.pipes[i] = rate_of(calibration, name);
    if (machine.pipes[i] && machine.pipes[i]->clock_hz)
      machine.clock_hz = std::max(machine.clock_hz.value_or(0.0), *machine.pipes[i]->clock_hz);
    if (!is_bound_by_power(name)) continue;
    const std::string format(name.substr(name.find('-') + 1));
    machine.instructions[i] = rate_of(calibration, "wgmma-" + format);
    if (!machine.instructions[i]) machine.instructions[i] = rate_of(calibration, "mma-" + format);
  }
  for (std::size_t i = 0; i < machine.commands.size(); ++i) {
    const auto& kind = command_kinds()[i];
    if (const auto fixed = rate_of(calibration, kind.fixed))
      machine.commands[i].fixed = Launch{fixed->per_second, fixed->sigma};
    machine.commands[i].rate = rate_of(calibration, kind.rate);
    machine.commands[i].pageable = rate_of(calibration, kind.pageable);
  }
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

Machine one_core_of(const Calibration& calibration, const std::optional<Estimate>& empty_call_seconds) {
  constexpr std::string_view suffix = "-one-core";
  const auto strip = [&](std::string& name) { name.erase(name.size() - suffix.size()); };
  Calibration one = calibration;
  const auto is_of_all = [&](const auto& each) { return !each.resource.ends_with(suffix); };
  if (!std::ranges::all_of(one.ceilings, is_of_all)) {
    std::erase_if(one.ceilings, is_of_all);
    one.levels = one.unit_levels;
    one.ladder = one.unit_ladder;
    one.intensity_sweep.clear();
    std::erase_if(one.levels, is_of_all);
    for (Ceiling& each : one.ceilings) strip(each.resource);
    for (CacheLevel& each : one.levels) strip(each.resource);
  }
  std::erase_if(one.ceilings, [](const Ceiling& each) { return each.resource == resource::launch; });
  Machine machine = machine_of(one);
  machine.one_core = true;
  machine.cores = calibration.device.units;
  if (const auto region = rate_of(calibration, resource::launch)) machine.region_seconds = region->per_second;
  if (empty_call_seconds && is_figure(empty_call_seconds->value))
    machine.launch =
        Launch{empty_call_seconds->value, sigma_of(empty_call_seconds->value, empty_call_seconds->ci95, 2)};
  return machine;
}

Machine machine_of(const Calibration& calibration, const Measurement& measurement) {
  return uses_one_thread(measurement) ? one_core_of(calibration, measurement.empty_call_seconds)
                                      : machine_of(calibration);
}

std::string_view empty_launch_of(const Machine& machine) {
  if (machine.kind == DeviceKind::gpu) return "an empty kernel";
  return machine.one_core ? "an empty call" : "an empty parallel region";
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
  for (std::size_t i = 0; i < pipe_names.size(); ++i) {
    if (!result.pipes[i]) continue;
    const double error = factor(result.pipes[i]->sigma);
    result.pipes[i]->per_second *= error;
    if (result.instructions[i]) result.instructions[i]->per_second *= error;
  }
  result.overlap.value *= factor(result.overlap.sigma);
  for (auto* const rate : {&result.unit_l1, &result.unit_shared, &result.block_start})
    if (*rate) (*rate)->per_second *= factor((*rate)->sigma);
  for (auto* const rates : {&result.random_reads, &result.random_updates})
    for (auto& [resource, rate] : *rates)
      if (rate) rate->per_second *= factor(rate->sigma);
  return result;
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

Exponent hit_exponent_of(const std::vector<LadderPoint>& ladder, double capacity_bytes, double seconds_per_byte_inside,
                         double seconds_per_byte_beyond) {
  std::vector<const LadderPoint*> rungs;
  for (const auto& rung : ladder)
    if (is_figure(rung.bytes_per_second) && rung.working_set_bytes >= 0.5 * capacity_bytes &&
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
  constexpr double min = 2.0;
  constexpr int steps = 80;
  Exponent best = hit_prior;
  double min_loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= steps; ++i) {
    const double exponent = min * std::pow(25.0, static_cast<double>(i) / steps);
    if (const double found = loss(exponent); found < min_loss) {
      min_loss = found;
      best = {exponent, 0.5 * hit_prior.sigma};
    }
  }
  return best;
}

std::span<const double> normal_draws(std::size_t column) {
  static const std::vector<double> table = all_columns();
  return std::span<const double>(table).subspan((column % draw_columns) * draw_count, draw_count);
}

}  // namespace gpubench::classifier
