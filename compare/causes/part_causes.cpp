// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/part_causes.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "compare/comparability.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::compare {
namespace {

/// A figure that differs by less is the same one, read twice.
constexpr double same_figure = 0.005;

/// Work that a counter tells, how it is called, and the kinds of limiter whose time goes with it.
struct WorkRow {
  CauseKind kind;
  std::string_view what;                    ///< "moves {} the bytes of DRAM"
  std::string_view memory;                  ///< of bytes: "DRAM"
  std::vector<std::string_view> counters;   ///< added up
  std::vector<std::string_view> resources;  ///< that do it
};
const std::vector<WorkRow>& work_rows() {
  static const std::vector<WorkRow> rows = {
      {CauseKind::bytes,
       "moves {} the bytes of DRAM",
       "DRAM",
       {"dram_read_bytes", "dram_write_bytes"},
       {"dram", "queued-loads"}},
      {CauseKind::bytes,
       "moves {} the bytes of L2",
       "L2",
       {"l2_bytes"},
       {"l2", "l2-to-sm", "l2-fabric", "memory-latency"}},
      {CauseKind::bytes, "moves {} the bytes of L1", "L1", {"l1_bytes"}, {"l1", "l1-data", "lsu"}},
      {CauseKind::arithmetic,
       "does {} the arithmetic",
       "",
       {"flops_fp32", "flops_fp64", "flops_half"},
       {"fp32", "fp64", "half"}},
      {CauseKind::instructions,
       "executes {} the instructions",
       "",
       {"instructions"},
       {"issue", "fp32", "fp64", "int32", "sfu", "dependency", "alu", "shared-latency"}}};
  return rows;
}

std::string times(double factor) { return fmt::format("{:.2f} times", factor); }

/// "moves 1.40 times the bytes of DRAM", or "moves 420 MB of DRAM, before 3.1 kB" where the ratio says little.
std::string grown(const WorkRow& row, double old, double now) {
  constexpr double telling = 20.0;
  const double ratio = now / old;
  if (row.memory.empty() || (ratio < telling && ratio > 1.0 / telling))
    return fmt::format(fmt::runtime(row.what), times(ratio));
  return fmt::format("moves {} of {}, before {}", format_value(now, "B"), row.memory, format_value(old, "B"));
}

std::optional<double> counted(const std::vector<Counter>& counters, std::string_view name) {
  for (const Counter& each : counters)
    if (each.name == name && each.value >= 0.0 && each.value <= max_figure) return each.value;
  return std::nullopt;
}

std::optional<double> counted(const std::vector<Counter>& counters, const std::vector<std::string_view>& names) {
  std::optional<double> sum;
  for (const std::string_view name : names)
    if (const auto value = counted(counters, name)) sum = sum.value_or(0.0) + *value;
  return sum;
}

class PartCauses {
 public:
  PartCauses(const CauseSide& base, const CauseSide& next, std::vector<Cause>& list)
      : base_(base), next_(next), old_(base.point.measurement), now_(next.point.measurement), list_(list) {}

  double explain(const Part& part) {
    Unexplained left{part.log_ratio, part.log_ratio, part.share};
    const std::size_t before = list_.size();
    launches(part, left);
    clocks(part, left);
    atomics(part, left);
    work(part, left);
    occupancy(part, left);
    spills(part);
    waits(part);
    if (list_.size() == before && !part.name.empty() && old_.kernels.size() > 1)
      add(CauseKind::kernel, fmt::format("{} takes {} as long", part.name, times(std::exp(part.log_ratio))),
          part.share);
    return part.share * left.of_part / left.whole;
  }

 private:
  void add(CauseKind kind, std::string text, std::optional<double> share) {
    add_cause(list_, kind, std::move(text), share);
  }

  [[nodiscard]] static std::string named(const Part& part, const std::string& text) {
    return part.name.empty() ? text : fmt::format("{}: {}", part.name, text);
  }

  void launches(const Part& part, Unexplained& left) {
    if (part.old_launches == part.new_launches || part.old_launches <= 0 || part.new_launches <= 0) return;
    const double log = std::log(static_cast<double>(part.new_launches) / static_cast<double>(part.old_launches));
    const bool by_launch = part.was != nullptr || (part.verdict != nullptr && part.verdict->regime == Regime::overhead);
    add(CauseKind::launches, named(part, arrow("launches", part.old_launches, part.new_launches)),
        by_launch ? std::optional(left.take(log)) : std::nullopt);
  }

  static std::optional<double> clock_of(const Measurement& measurement) {
    if (measurement.activity && measurement.activity->clock_hz && !measurement.clock_hz)
      return measurement.activity->clock_hz;
    return measurement.clock_hz;
  }

  void clocks(const Part& part, Unexplained& left) {
    const auto was = clock_of(old_), is = clock_of(now_);
    const auto log = growth(is, was, same_figure);  // a slower clock lengthens
    if (!log || *log * left.whole < 0.0) return;
    const std::string limiter = part.verdict != nullptr ? part.verdict->limiter : "";
    const bool follows = limiter.empty() || follows_clock(limiter);
    std::string text = fmt::format("clock {} -> {}", format_hertz(*was), format_hertz(*is));
    const auto reasons = new_throttling();
    if (!reasons.empty()) text += fmt::format(" ({})", reasons);
    if (same_code(part)) text = fmt::format("same code, {}: not your change", text);
    if (!follows) text += fmt::format("; {} does not follow it", label_of(limiter));
    add(reasons.empty() ? CauseKind::clock : CauseKind::throttling, named(part, text),
        follows ? std::optional(left.take(*log)) : std::nullopt);
  }

  [[nodiscard]] std::string new_throttling() const {
    if (!now_.conditions) return {};
    std::vector<std::string> fresh;
    for (const std::string& reason : now_.conditions->throttle_reasons)
      if (!old_.conditions || !contains(old_.conditions->throttle_reasons, reason)) fresh.push_back(reason);
    return joined(fresh, ", ");
  }

  [[nodiscard]] bool same_code(const Part& part) const {
    const std::string old = kernel_code(part.was, old_), now = kernel_code(part.is, now_);
    if (!old.empty() || !now.empty()) return old == now;
    return code_change(base_.run, next_.run) == CodeChange::same;
  }

  /// The hash of its machine code, which activity records have.
  [[nodiscard]] static std::string kernel_code(const KernelLaunch* launch, const Measurement& measurement) {
    if (launch == nullptr) return {};
    if (!launch->code.empty() || !measurement.activity) return launch->code;
    for (const KernelLaunch& each : measurement.activity->kernels)
      if (each.name == launch->name) return each.code;
    return {};
  }

  /// How much a unit of L2 that updates worked: how busy it was, for how long.
  void atomics(const Part& part, Unexplained& left) {
    const auto was = counted(*part.old_counters, "l2_atomics_hottest_busy");
    const auto is = counted(*part.new_counters, "l2_atomics_hottest_busy");
    constexpr double busy_percent = 10.0;
    const bool limits = part.verdict != nullptr && (part.verdict->limiter == resource::contended_atomics ||
                                                    part.verdict->limiter == resource::atomic_global);
    if (!was || !is || *is < busy_percent) return;
    const double floor_percent = 0.1;
    const double log = std::log(std::max(*is, floor_percent) / std::max(*was, floor_percent)) + part.log_ratio;
    if (log * left.whole <= 0.0 || std::abs(log) < std::abs(part.log_ratio) + same_count) return;
    add(CauseKind::atomics,
        named(part,
              fmt::format("updates of memory: the busiest unit of L2 that adds works {:.0f} -> {:.0f} % of the time",
                          *was, *is)),
        limits ? std::optional(left.take(log)) : std::nullopt);
  }

  void work(const Part& part, Unexplained& left) {
    const std::string_view limiter = part.verdict != nullptr ? std::string_view(part.verdict->limiter) : "";
    const Resource* const resource = find_resource(limiter);
    bool counted_bytes = false;
    for (const WorkRow& row : work_rows()) {
      const auto was = counted(*part.old_counters, row.counters), is = counted(*part.new_counters, row.counters);
      counted_bytes = counted_bytes || (row.kind == CauseKind::bytes && was && is);
      const auto log = growth(was, is, same_count);
      if (!log || *log * left.whole < 0.0) continue;
      const bool limits = std::ranges::any_of(row.resources, [&](std::string_view name) {
        return limiter == name || (resource != nullptr && resource->name == name);
      });
      // Without a verdict nothing says that its time goes with this work.
      add(row.kind, named(part, grown(row, *was, *is) + (row.kind == CauseKind::bytes ? local_memory() : "")),
          limits ? std::optional(left.take(*log)) : std::nullopt);
    }
    if (counted_bytes) return;
    const auto log = growth(old_.work.bytes(), now_.work.bytes(), same_count);
    if (!log || *log * left.whole < 0.0) return;
    const bool memory = part.verdict != nullptr && part.verdict->regime == Regime::memory;
    add(CauseKind::bytes, named(part, fmt::format("declares {} the bytes", times(std::exp(*log)))),
        memory ? std::optional(left.take(*log)) : std::nullopt);
  }

  /// What all threads of the point hold in local memory, where that grew much: it goes through all of memory.
  [[nodiscard]] std::string local_memory() const {
    constexpr double much = 1.5;
    const auto of = [](const Measurement& it) { return it.launches ? it.launches->local_bytes : std::nullopt; };
    const std::optional<double> was = of(old_), is = of(now_);
    if (!was || !is || *is < much * std::max(*was, 1.0)) return {};
    return fmt::format(", as spilt registers and arrays of its threads take {} of local memory, before {}",
                       format_value(*is, "B"), format_value(*was, "B"));
  }

  void occupancy(const Part& part, Unexplained& left) {
    std::vector<std::string> clauses;
    const auto say = [&](std::string_view what, std::int64_t old, std::int64_t now) {
      if (old != now) clauses.push_back(arrow(what, old, now));
    };
    const auto size_of = [](const KernelLaunch& launch) { return launch.block[0] * launch.block[1] * launch.block[2]; };
    if (part.was != nullptr && part.is != nullptr && part.was->block[0] > 0) {
      say("registers a thread", part.was->registers, part.is->registers);
      say("bytes of shared memory a block", part.was->static_shared_bytes + part.was->dynamic_shared_bytes,
          part.is->static_shared_bytes + part.is->dynamic_shared_bytes);
      say("threads a block", size_of(*part.was), size_of(*part.is));
    }
    const auto counted_old = counted(*part.old_counters, "occupancy"),
               counted_new = counted(*part.new_counters, "occupancy");
    std::optional<double> log = growth(counted_new, counted_old, same_count);  // fewer warps lengthen
    if (part.old_blocks && part.new_blocks && *part.old_blocks > 0 && *part.new_blocks > 0) {
      say("blocks a multiprocessor", *part.old_blocks, *part.new_blocks);
      const auto threads = [&](std::int64_t blocks, const KernelLaunch* launch) {
        return static_cast<double>(blocks) *
               static_cast<double>(launch != nullptr && launch->block[0] > 0 ? size_of(*launch) : 1);
      };
      if (!log) log = growth(threads(*part.new_blocks, part.is), threads(*part.old_blocks, part.was), same_count);
    }
    const bool is_known = (counted_old && counted_new) || (part.old_blocks && part.new_blocks);
    if (counted_old && counted_new && std::abs(*counted_old - *counted_new) >= 1.0)
      clauses.push_back(fmt::format("occupancy {:.0f} -> {:.0f} %", *counted_old, *counted_new));
    const bool fits = log && *log * left.whole > 0.0;
    if (clauses.empty() || (is_known && !fits)) return;  // as many warps as before: the rest makes nothing slower
    add(CauseKind::occupancy, named(part, joined(clauses, ", ")), fits ? std::optional(left.take(*log)) : std::nullopt);
  }

  void spills(const Part& part) {
    if (part.was == nullptr || part.is == nullptr || !part.was->local_bytes || !part.is->local_bytes) return;
    if (*part.was->local_bytes != *part.is->local_bytes)
      add(CauseKind::spills,
          named(part, arrow("bytes of local memory a thread (spilt registers)", *part.was->local_bytes,
                            *part.is->local_bytes)),
          std::nullopt);
  }

  void waits(const Part& part) {
    constexpr std::pair<std::string_view, std::string_view> stalls[] = {
        {"stalled_by_memory", "memory"},
        {"stalled_by_shared", "shared memory"},
        {"stalled_by_barrier", "barriers"},
        {"stalled_by_dependency", "dependent instructions"}};
    constexpr double much = 0.25;
    for (const auto& [name, what] : stalls) {
      const auto log = growth(counted(*part.old_counters, name), counted(*part.new_counters, name), much);
      if (log && *log * part.log_ratio > 0.0)
        add(CauseKind::waits, named(part, fmt::format("{} as many warps wait for {}", times(std::exp(*log)), what)),
            std::nullopt);
    }
  }

  const CauseSide &base_, &next_;
  const Measurement &old_, &now_;
  std::vector<Cause>& list_;
};

}  // namespace

void add_cause(std::vector<Cause>& list, CauseKind kind, std::string text, std::optional<double> share) {
  constexpr double nothing_left = 1e-9, least_share = 0.005;  // a cause of less is none
  if (share && std::abs(*share) < nothing_left) share.reset();
  if (share && std::abs(*share) < least_share) return;
  list.push_back({kind, std::move(text), share ? std::optional(std::clamp(*share, 0.0, 1.0)) : std::nullopt});
}

std::string arrow(std::string_view what, std::int64_t old, std::int64_t now) {
  return fmt::format("{} -> {} {}", old, now, what);
}

std::optional<double> growth(std::optional<double> old, std::optional<double> now, double least) {
  if (!old || !now || !(*old > 0.0) || !(*now > 0.0)) return std::nullopt;
  const double log = std::log(*now / *old);
  return std::abs(log) > least ? std::optional(log) : std::nullopt;
}

double explain_part(const CauseSide& base, const CauseSide& next, const Part& part, std::vector<Cause>& list) {
  return PartCauses(base, next, list).explain(part);
}

}  // namespace gpubench::compare
