// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/cold_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/units.h"
#include "gpubench/state.h"

namespace gpubench::bench {
namespace {

/// Traffic between two uses of a copy. Even a cache that replaces lines at random keeps only exp(-3) = 5 %.
constexpr double caches_between_uses = 3.0;
/// Then a cache that replaces its oldest lines is full of the operation's own; at random, exp(-2) = 14 % are missing.
constexpr double caches_to_settle = 2.0;
constexpr std::int64_t max_to_settle = 1000;  // some milliseconds before each sample
constexpr std::int64_t max_copies = 16384;
constexpr double host_flush_caches = 2.0;
constexpr double usable_memory = 0.8;  // of what is free: the operation may still allocate, and others do
/// Memory of the operation's own counts when it is more than this fraction of what the operation declares.
constexpr double negligible_memory = 0.05;

/// A HostVector's elements can be had without data(), so one that was never asked for may well be used.
bool is_used(const detail::BufferUse& use) { return use.asked || (use.memory == detail::Memory::host && !use.kept); }

double used_bytes(std::span<const detail::BufferUse> uses) {
  double sum = 0.0;
  for (const auto& use : uses)
    if (is_used(use)) sum += static_cast<double>(use.bytes);
  return sum;
}

/// Why copies of the buffers would not be all that an execution touches; empty when they are.
std::string why_not_all(std::span<const detail::BufferUse> uses, const Work& declared) {
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i].kept && !uses[i].asked)
      return fmt::format("buffer {} of {} is not read through data() inside the operation", i + 1, uses.size());
  const double used = used_bytes(uses);
  const double needed = declared.footprint_bytes.value_or(std::max(declared.bytes_read, declared.bytes_written));
  if (!(used > 0.0)) return "it uses no memory of state.device_vector or state.host_vector";
  if (used < (1.0 - negligible_memory) * needed)
    return fmt::format("it declares {}, but its vectors hold {}", format_bytes(needed), format_bytes(used));
  return {};
}

}  // namespace

std::int64_t BufferRotation::max_executions() const {
  if (copies == 0) return 1;
  return endless ? std::numeric_limits<std::int64_t>::max() : copies - settling;
}

BufferRotation plan_rotation(std::span<const detail::BufferUse> uses, const Work& declared, double cache_bytes,
                             double free_bytes) {
  BufferRotation rotation;
  rotation.why_not = why_not_all(uses, declared);
  if (!rotation.why_not.empty()) return rotation;
  const double touched = std::min(used_bytes(uses), declared.footprint_bytes.value_or(used_bytes(uses)));
  double copy_bytes = 0.0;
  for (const auto& use : uses) copy_bytes += static_cast<double>(use.copy_stride);

  const auto times = [&](double caches) {
    return static_cast<std::int64_t>(std::ceil(std::min(caches * cache_bytes / touched, 1e9)));
  };
  const std::int64_t wanted = std::clamp<std::int64_t>(times(caches_between_uses), 2, max_copies);
  const auto fitting = 1 + static_cast<std::int64_t>(std::min(usable_memory * free_bytes / copy_bytes, 1e9));
  if (fitting < 2) {
    rotation.why_not = fmt::format("a copy of its {} does not fit into the {} of memory that are free",
                                   format_bytes(copy_bytes), format_bytes(free_bytes));
    return rotation;
  }
  rotation.copies = std::min(wanted, fitting);
  rotation.short_of_memory = rotation.copies < wanted;
  rotation.buffers = static_cast<std::size_t>(std::ranges::count_if(uses, is_used));
  rotation.endless = rotation.copies >= times(caches_between_uses);
  rotation.settling = std::min(times(caches_to_settle), max_to_settle);
  if (!rotation.endless) rotation.settling = std::min(rotation.settling, rotation.copies / 2);
  return rotation;
}

std::optional<std::string> why_not_cold(const Device& device) {
  if (device.last_level_cache_bytes > 0) return std::nullopt;
  return fmt::format("The system does not tell how large the caches of {} are, so that they cannot be kept cold.",
                     device.id);
}

ColdCache::ColdCache(detail::Buffers& buffers, const Work& declared, const std::function<void()>& once, Means means)
    : buffers_(buffers), means_(std::move(means)) {
  rotation_.why_not = means_.why_no_rotation;
  if (!rotation_.why_not.empty()) return;
  const auto uses = buffers_.uses_of(means_.memory, once);
  rotation_ = plan_rotation(uses, declared, means_.bytes, means_.free_bytes());
  try {
    buffers_.make_copies(means_.memory, rotation_.copies);
  } catch (const OutOfMemory& error) {
    rotation_ = {};
    rotation_.why_not = fmt::format("there is no memory for copies of its buffers ({})", error.what());
  }
}

ColdCache::~ColdCache() { buffers_.drop_copies(); }

void ColdCache::prepare() const {
  if (!means_.settle && rotation_.endless) return;
  means_.flush();
  if (means_.settle) means_.settle(rotation_.settling);
}

std::string ColdCache::method() const {
  if (rotation_.copies == 0)
    return fmt::format("cold: the {} flushed before each execution, because {}", means_.cache, rotation_.why_not);
  std::string text = fmt::format("cold: {} copies of its {} in turn", rotation_.copies,
                                 rotation_.buffers == 1 ? "buffer" : fmt::format("{} buffers", rotation_.buffers));
  if (rotation_.short_of_memory) text += " (memory holds no more)";
  if (!means_.settle && rotation_.endless) return text;
  text += fmt::format(", the {} flushed before each sample", means_.cache);
  if (means_.settle && rotation_.settling == 1) text += ", whose first execution does not count";
  if (means_.settle && rotation_.settling > 1)
    text += fmt::format(", whose first {} executions do not count", rotation_.settling);
  return text;
}

double ColdTimer::time(std::int64_t executions) {
  if (!flushes_itself_) cold_.prepare();
  return clock_->time(executions);
}

std::int64_t ColdTimer::max_executions() const {
  return std::min(clock_->max_executions(), cold_.rotation().max_executions());
}

std::string ColdTimer::method(std::int64_t executions_per_sample) const {
  return clock_->method(executions_per_sample) + "; " + cold_.method();
}

HostFlush::HostFlush(std::size_t cache_bytes)
    : memory_(static_cast<std::size_t>(host_flush_caches * static_cast<double>(cache_bytes)) / sizeof(std::int64_t)) {
  const auto values = memory_.span();
  const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i;
}

void HostFlush::operator()() const {
  const auto values = memory_.span();
  const auto count = static_cast<std::int64_t>(values.size());
  std::int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(^ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum ^= values[static_cast<std::size_t>(i)];
  keep(sum);
}

}  // namespace gpubench::bench
