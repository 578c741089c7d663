// SPDX-License-Identifier: Apache-2.0
#include "classifier/model.h"

#include <algorithm>
#include <cmath>

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

bool is_tensor(Pipe pipe) { return name_of(pipe).starts_with("tensor-"); }

/// A vector pipe's rate follows its clock. A ratio beyond a factor of three is a clock misread at idle, and is not
/// followed. Matrix units run into the power limit: their clock swings within milliseconds, and one reading beside the
/// work says little about it. Their ceiling, taken from rest, is an upper limit as it stands.
double clock_ratio(Pipe pipe, const Rate& rate, const Conditions& conditions) {
  if (is_tensor(pipe)) return 1.0;
  if (!rate.clock_hz || !conditions.clock_hz || !usable(*rate.clock_hz) || !usable(*conditions.clock_hz)) return 1.0;
  const double ratio = *conditions.clock_hz / *rate.clock_hz;
  return ratio > 1.0 / 3.0 && ratio < 3.0 ? ratio : 1.0;
}

double hit_fraction(double footprint, double capacity) {
  return 1.0 / (1.0 + std::pow(footprint / capacity, hit_exponent));
}

/// Bytes that count against a cache's ceiling, which is one of reading. In a CPU's caches, lines come and go on paths
/// of their own, so the busier direction counts (an EPYC's saxpy in L2 moves 1.2 times what reading alone does). In a
/// GPU's L2, reads and writes share the slices (an H200's copy and saxpy reach 72 to 91 % of reading alone, both
/// counted).
double bytes_on_cache_path(DeviceKind kind, const Work& work) {
  return kind == DeviceKind::cpu ? std::max(work.bytes_read, work.bytes_written) : work.bytes();
}

/// Seconds per byte of each cache for this work and, last and where there is a ceiling, of DRAM.
std::vector<double> seconds_per_byte(const Work& work, const Machine& machine) {
  std::vector<double> result;
  const double share = bytes_on_cache_path(machine.kind, work) / work.bytes();
  for (const auto& cache : machine.caches) result.push_back(share / cache.rate.per_second);
  if (!machine.dram.empty())
    result.push_back(dram_seconds_per_byte(work.bytes_written / work.bytes(), machine.dram).first);
  return result;
}

/// Standard deviation of the memory time, in seconds, from where each cache ends: to first order bytes * m h (1 - h) *
/// dC / C go to the level beyond instead.
double split_seconds_sigma(const std::vector<double>& split, const std::vector<double>& seconds_per_byte,
                           double footprint, const std::vector<Cache>& caches) {
  double variance = 0.0;
  for (std::size_t i = 0; i < caches.size() && i + 1 < seconds_per_byte.size(); ++i) {
    const double misses = 1.0 - hit_fraction(footprint, caches[i].capacity_bytes);
    const double moved = split[i] * misses * hit_exponent * std::hypot(caches[i].capacity_sigma, model_sigma);
    variance += std::pow(moved * (seconds_per_byte[i + 1] - seconds_per_byte[i]), 2);
  }
  return std::sqrt(variance);
}

void add_memory(const Work& work, const Conditions& conditions, const Machine& machine, Prediction& prediction) {
  const double bytes = work.bytes();
  const double footprint = work.footprint_bytes && *work.footprint_bytes > 0.0 ? *work.footprint_bytes : bytes;
  const auto split = split_over_levels(bytes, footprint, conditions.cold, machine.caches);
  const auto costs = seconds_per_byte(work, machine);
  for (std::size_t i = 0; i < machine.caches.size(); ++i)
    prediction.resources.push_back(
        {machine.caches[i].resource, ResourceKind::memory, split[i] * costs[i], machine.caches[i].rate.sigma});
  if (!machine.dram.empty()) {
    const double sigma = dram_seconds_per_byte(work.bytes_written / bytes, machine.dram).second;
    prediction.resources.push_back({"dram", ResourceKind::memory, split.back() * costs.back(), sigma});
  } else if (split.back() > 0.01 * bytes) {
    prediction.missing.emplace_back("dram");
  }
  prediction.split_seconds_sigma = split_seconds_sigma(split, costs, footprint, machine.caches);
}

void add_pipes(const Work& work, const Conditions& conditions, const Machine& machine, Prediction& prediction) {
  for (const auto& [declared, count] : work.flops) {
    if (count <= 0.0) continue;
    const Pipe pipe = pipe_on(machine.kind, declared);
    const auto& rate = machine.pipes[static_cast<std::size_t>(pipe)];
    if (!rate) {
      prediction.missing.push_back(name_of(pipe));
      continue;
    }
    const double seconds = count / (rate->per_second * clock_ratio(pipe, *rate, conditions));
    auto same = std::ranges::find(prediction.resources, name_of(pipe), &ResourceTime::resource);
    if (same != prediction.resources.end()) {
      same->seconds += seconds;
    } else {
      prediction.resources.push_back({name_of(pipe), ResourceKind::pipe, seconds, rate->sigma});
    }
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
  if (const auto launch = rate_of(calibration, "launch")) machine.launch = Launch{launch->per_second, launch->sigma};
  for (const auto& level : calibration.levels) {
    const auto rate = rate_of(calibration, level.resource);
    if (!rate || !usable(level.capacity_bytes)) continue;
    // The capacity's interval rests on a ladder, not on a count of repeats.
    const double sigma = level.capacity_ci95.high > level.capacity_ci95.low
                             ? sigma_of(level.capacity_bytes, level.capacity_ci95, 2)
                             : unknown_sigma;
    machine.caches.push_back({level.resource, level.capacity_bytes, sigma, *rate});
  }
  std::ranges::stable_sort(machine.caches, {}, &Cache::capacity_bytes);
  const std::array<std::pair<std::string_view, double>, 4> mixes = {
      {{"dram-read", 0.0}, {"dram-triad", 1.0 / 3.0}, {"dram-copy", 0.5}, {"dram-write", 1.0}}};
  for (const auto& [resource, write_fraction] : mixes)
    if (const auto rate = rate_of(calibration, resource))
      machine.dram.push_back({write_fraction, 1.0 / rate->per_second, rate->sigma});
  for (std::size_t i = 0; i < pipe_names.size(); ++i) machine.pipes[i] = rate_of(calibration, pipe_names[i]);
  return machine;
}

std::vector<Machine> perturbed(const Machine& machine) {
  std::vector<Machine> result;
  const auto vary = [&](auto&& change) {
    result.push_back(machine);
    change(result.back());
  };
  if (machine.launch) vary([](Machine& m) { m.launch->seconds *= std::exp(m.launch->sigma); });
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    vary([i](Machine& m) { m.caches[i].capacity_bytes *= std::exp(m.caches[i].capacity_sigma); });
    vary([i](Machine& m) { m.caches[i].rate.per_second *= std::exp(m.caches[i].rate.sigma); });
  }
  // The mixes are runs of one memory system: their errors go together.
  if (!machine.dram.empty())
    vary([](Machine& m) {
      for (auto& mix : m.dram) mix.seconds_per_byte *= std::exp(mix.sigma);
    });
  for (std::size_t i = 0; i < machine.pipes.size(); ++i)
    if (machine.pipes[i]) vary([i](Machine& m) { m.pipes[i]->per_second *= std::exp(m.pipes[i]->sigma); });
  return result;
}

Conditions conditions_of(const Measurement& measurement) {
  return {measurement.clock_hz, measurement.cache_state == "cold"};
}

std::vector<double> split_over_levels(double bytes, double footprint, bool cold, const std::vector<Cache>& caches) {
  std::vector<double> result;
  const double first_touch = cold ? std::min(bytes, footprint) : 0.0;
  double rest = bytes - first_touch;
  for (const auto& cache : caches) {
    result.push_back(rest * hit_fraction(footprint, cache.capacity_bytes));
    rest -= result.back();
  }
  result.push_back(rest + first_touch);
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

Prediction predict(const Work& work, const Conditions& conditions, const Machine& machine) {
  Prediction prediction;
  prediction.launch = machine.launch;
  prediction.resources.reserve(machine.caches.size() + 1 + work.flops.size());
  if (work.bytes() > 0.0) add_memory(work, conditions, machine, prediction);
  add_pipes(work, conditions, machine, prediction);
  return prediction;
}

double Prediction::memory_seconds() const {
  double sum = 0.0;
  for (const auto& resource : resources)
    if (resource.kind == ResourceKind::memory) sum += resource.seconds;
  return sum;
}

double Prediction::memory_sigma() const {
  const double total = memory_seconds();
  if (total <= 0.0) return 0.0;
  double variance = std::pow(split_seconds_sigma / total, 2);
  for (const auto& resource : resources)
    if (resource.kind == ResourceKind::memory) variance += std::pow(resource.sigma * (resource.seconds / total), 2);
  return std::sqrt(variance);
}

const ResourceTime* Prediction::largest(ResourceKind kind) const {
  const ResourceTime* result = nullptr;
  for (const auto& resource : resources)
    if (resource.kind == kind && resource.seconds > (result != nullptr ? result->seconds : 0.0)) result = &resource;
  return result;
}

double Prediction::work_seconds() const {
  OverlapSum sum;
  sum.add(memory_seconds());
  for (const auto& resource : resources)
    if (resource.kind == ResourceKind::pipe) sum.add(resource.seconds);
  return sum.value();
}

void OverlapSum::add(double seconds) {
  if (seconds <= 0.0) return;
  if (seconds > largest_) {
    sum_ = sum_ * std::pow(largest_ / seconds, overlap_exponent) + 1.0;
    largest_ = seconds;
  } else {
    sum_ += std::pow(seconds / largest_, overlap_exponent);
  }
}

double OverlapSum::value() const { return largest_ * std::pow(sum_, 1.0 / overlap_exponent); }

}  // namespace gpubench::classifier
