// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/cold_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpubench/state.h"

namespace gpubench::bench {

std::optional<std::string> why_not_cold(const Device& device) {
  if (device.last_level_cache_bytes > 0) return std::nullopt;
  return fmt::format("The system does not tell how large the caches of {} are, so that they cannot be kept cold.",
                     device.id);
}

ColdCache::ColdCache(detail::Buffers& buffers, const Work& declared, const std::function<void()>& once, Means means)
    : buffers_(buffers), means_(std::move(means)) {
  turns_.why_not = means_.why_no_turns;
  if (!turns_.why_not.empty()) return;
  const auto uses = buffers_.uses_of(means_.memory, once);
  turns_ = plan_rotation(uses, declared, means_.bytes, means_.free_bytes());
  try {
    buffers_.make_copies(means_.memory, turns_.copies);
  } catch (const OutOfMemory& error) {
    turns_ = {};
    turns_.why_not = fmt::format("there is no memory for copies of its buffers ({})", error.what());
  }
}

ColdCache::~ColdCache() { buffers_.drop_copies(); }

void ColdCache::prepare() const {
  if (!means_.settle && turns_.endless) return;
  means_.flush();
  if (means_.settle) means_.settle(turns_.settling);
}

std::string ColdCache::method() const {
  if (turns_.copies == 0)
    return fmt::format("cold: the {} flushed before each execution, because {}", means_.cache, turns_.why_not);
  std::string text = fmt::format("cold: {} copies of its {} in turn", turns_.copies,
                                 turns_.buffers == 1 ? "buffer" : fmt::format("{} buffers", turns_.buffers));
  if (turns_.short_of_memory) text += " (memory holds no more)";
  if (!means_.settle && turns_.endless) return text;
  text += fmt::format(", the {} flushed before each sample", means_.cache);
  if (means_.settle && turns_.settling == 1) text += ", whose first execution does not count";
  if (means_.settle && turns_.settling > 1)
    text += fmt::format(", whose first {} executions do not count", turns_.settling);
  return text;
}

double ColdClock::time(std::int64_t executions) {
  if (!flushes_itself_) cold_.prepare();
  return clock_->time(executions);
}

std::int64_t ColdClock::max_executions() const {
  return std::min(clock_->max_executions(), cold_.turns().max_executions());
}

std::string ColdClock::method(std::int64_t executions_per_sample) const {
  return clock_->method(executions_per_sample) + "; " + cold_.method();
}

namespace {
constexpr double host_flush_caches = 2.0;
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
