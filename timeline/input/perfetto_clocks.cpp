// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/perfetto_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "timeline/input/common.h"
#include "timeline/input/protobuf.h"

namespace gpubench::timeline {
namespace {

constexpr std::uint32_t boot_time = 6, real_time = 1;

}  // namespace

void PerfettoClocks::snapshot(std::string_view bytes, std::uint64_t sequence) {
  std::vector<std::pair<std::uint32_t, Clock>> clocks;
  std::uint32_t primary = 0;
  each_field(bytes, [&](const MessageField& field) {
    if (field.number == 2) primary = static_cast<std::uint32_t>(field.value);
    if (field.number != 1) return;
    auto& added = clocks.emplace_back();
    std::uint32_t& id = added.first;  // clang 14 captures no structured binding
    Clock& clock = added.second;
    each_field(field.bytes, [&](const MessageField& one) {
      if (one.number == 1) id = static_cast<std::uint32_t>(one.value);
      if (one.number == 2) clock.last = one.value;
      if (one.number == 3) clock.incremental = one.value != 0;
      if (one.number == 4) clock.unit = std::max<std::uint64_t>(one.value, 1);
    });
  });
  if (primary_ == 0) primary_ = primary != 0 ? primary : boot_time;
  const auto of_primary = std::ranges::find(clocks, primary_, [](const auto& one) { return one.first; });
  if (of_primary == clocks.end()) return;
  const auto now = static_cast<std::int64_t>(of_primary->second.last * of_primary->second.unit);
  for (auto& [id, clock] : clocks) {
    if (__builtin_sub_overflow(now, static_cast<std::int64_t>(clock.last * clock.unit), &clock.offset)) continue;
    if (id == real_time && !base_ns) base_ns = -clock.offset;
    clocks_[clock_key(id, sequence)] = clock;
  }
}

std::optional<std::int64_t> PerfettoClocks::time_of(std::uint64_t time, std::uint32_t id, std::uint64_t sequence) {
  if (id == 0) id = primary_ != 0 ? primary_ : boot_time;
  const auto known = clocks_.find(clock_key(id, sequence));
  std::int64_t offset = 0;
  if (known != clocks_.end()) {
    Clock& clock = known->second;
    if (clock.incremental) time = clock.last += time;
    if (__builtin_mul_overflow(time, clock.unit, &time)) return std::nullopt;
    offset = clock.offset;
  } else if (id != boot_time && id != primary_) {
    ++unknown;
  }
  std::int64_t sum = 0;
  if (time > static_cast<std::uint64_t>(max_time_ns) ||
      __builtin_add_overflow(static_cast<std::int64_t>(time), offset, &sum) || std::abs(sum) > max_time_ns)
    return std::nullopt;
  return sum;
}

}  // namespace gpubench::timeline
