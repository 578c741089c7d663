// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "compare/comparability.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

/// A figure that differs by less is the same one, read twice.
constexpr double same_figure = 0.005;
/// Counters of one execution differ by about so much from the next.
constexpr double same_count = 0.02;
/// A part of the change that is not worth a line among others.
constexpr double small_share = 0.05;
/// A cause of less is none.
constexpr double least_share = 0.005;

/// What a kernel's name says of what it is for, in lower case.
constexpr std::pair<std::string_view, std::string_view> known_kernels[] = {
    {"nchwtonhwc", "a layout change"},      {"nhwctonchw", "a layout change"},
    {"transpose", "a layout change"},       {"permute", "a layout change"},
    {"vectorized_copy", "a layout change"}, {"contiguous", "a layout change"},
    {"reorder", "a layout change"},         {"cast", "a change of type"},
    {"convert", "a change of type"},        {"copy", "a copy, as of another layout or type"}};

std::string purpose_of(const std::string& kernel) {
  const std::string name = lower(kernel);
  for (const auto& [word, purpose] : known_kernels)
    if (name.find(word) != std::string::npos) return fmt::format(": {}", purpose);
  return {};
}

/// The same function, of whatever template arguments.
bool same_template(const std::string& one, const std::string& other) {
  return one == other || short_kernel_name(one) == short_kernel_name(other);
}

/// "many<32> -> many<160>", where that is short.
std::string template_names(const std::string& old, const std::string& now) {
  constexpr std::size_t short_enough = 24;
  const std::string name = short_kernel_name(now), was = kernel_arguments(old), is = kernel_arguments(now);
  if (was == is) return name;
  if (was.size() > short_enough || is.size() > short_enough) return name + " of other template arguments";
  const std::string word = name.substr(0, name.find('<'));
  return fmt::format("{0}<{1}> -> {0}<{2}>", word, was, is);
}

/// Environment that is no library, and what other causes tell of.
constexpr std::string_view no_libraries[] = {"host_code", "device_code", "build", "compiler", "compiler_flags", "cpu"};
constexpr std::string_view library_properties[] = {"driver", "cuda_driver", "cuda_runtime"};

/// Work that a counter tells, how it is called, and the kinds of limiter whose time goes with it.
struct WorkRow {
  CauseKind kind;
  std::string_view what;                    ///< "moves {} bytes of DRAM"
  std::vector<std::string_view> counters;   ///< added up
  std::vector<std::string_view> resources;  ///< that do it
};
const std::vector<WorkRow>& work_rows() {
  static const std::vector<WorkRow> rows = {
      {CauseKind::bytes, "moves {} bytes of DRAM", {"dram_read_bytes", "dram_write_bytes"}, {"dram", "queued-loads"}},
      {CauseKind::bytes, "moves {} bytes of L2", {"l2_bytes"}, {"l2", "l2-to-sm", "l2-fabric", "memory-latency"}},
      {CauseKind::bytes, "moves {} bytes of L1", {"l1_bytes"}, {"l1", "l1-data", "lsu"}},
      {CauseKind::arithmetic,
       "does {} arithmetic",
       {"flops_fp32", "flops_fp64", "flops_half"},
       {"fp32", "fp64", "half"}},
      {CauseKind::instructions,
       "executes {} instructions",
       {"instructions"},
       {"issue", "fp32", "fp64", "int32", "sfu", "dependency", "alu", "shared-latency"}}};
  return rows;
}

std::string times(double factor) { return fmt::format("{:.2f} times", factor); }

/// "1.40 times", or both amounts where a ratio says little: "420 MB, before 3.1 kB, of".
std::string grown(double old, double now, CauseKind kind) {
  constexpr double telling = 20.0;
  const double ratio = now / old;
  if (ratio < telling && ratio > 1.0 / telling) return fmt::format("{} the", times(ratio));
  const auto amount = [&](double value) { return format_value(value, kind == CauseKind::bytes ? "B" : ""); };
  return fmt::format("{}, before {}, of the", amount(now), amount(old));
}

std::string arrow(std::string_view what, std::int64_t old, std::int64_t now) {
  return fmt::format("{} -> {} {}", old, now, what);
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

/// The logarithm of what grew, if it did so by more than `least` and can be told.
std::optional<double> growth(std::optional<double> old, std::optional<double> now, double least) {
  if (!old || !now || !(*old > 0.0) || !(*now > 0.0)) return std::nullopt;
  const double log = std::log(*now / *old);
  return std::abs(log) > least ? std::optional(log) : std::nullopt;
}

/// One kernel, command, or the whole point where nothing tells of its parts.
struct Part {
  std::string name;  ///< empty: the point
  const KernelLaunch* was = nullptr;
  const KernelLaunch* is = nullptr;
  std::int64_t old_launches = 0, new_launches = 0;
  const std::vector<Counter>* old_counters = nullptr;
  const std::vector<Counter>* new_counters = nullptr;
  std::optional<std::int64_t> old_blocks, new_blocks;  ///< of a multiprocessor at once
  const Verdict* verdict = nullptr;
  double share = 1.0;      ///< of the whole change
  double log_ratio = 0.0;  ///< of its own time
};

class Explaining {
 public:
  Explaining(const CauseSide& base, const CauseSide& next, double ratio)
      : base_(base),
        next_(next),
        old_(base.point.measurement),
        now_(next.point.measurement),
        log_ratio_(std::log(ratio)) {
    const auto& seconds = old_.seconds();
    difference_ = seconds ? seconds->median * (ratio - 1.0) : 0.0;
  }

  Causes all() {
    if (!std::isfinite(log_ratio_) || log_ratio_ == 0.0) return {};
    if (!parts_by_time()) {
      commands_without_times();
      whole();
    }
    loads();
    codes();
    builds();
    libraries();
    return finish();
  }

 private:
  void add(CauseKind kind, std::string text, std::optional<double> share) {
    if (share && std::abs(*share) < least_share) return;
    causes_.list.push_back({kind, std::move(text), share ? std::optional(std::clamp(*share, 0.0, 1.0)) : std::nullopt});
  }

  // Kernels, copies and fills, one by one.

  struct Matched {
    const KernelGroup* was = nullptr;
    const KernelGroup* is = nullptr;
  };

  enum class Likeness { shape, name, template_name };

  static bool alike(const KernelGroup& one, const KernelGroup& other, Likeness least) {
    if (one.kind != other.kind) return false;
    if (least == Likeness::template_name) return same_template(one.launch.name, other.launch.name);
    return one.launch.name == other.launch.name &&
           (least == Likeness::name || (one.launch.grid == other.launch.grid &&
                                        one.launch.block == other.launch.block && one.bytes == other.bytes));
  }

  /// By name and shape, by name, by the name less its template arguments, in their order; what is left stands alone.
  [[nodiscard]] std::vector<Matched> matched() const {
    std::vector<Matched> result;
    std::vector<bool> taken(now_.kernels.size());
    std::vector<const KernelGroup*> partner(old_.kernels.size());
    for (const Likeness least : {Likeness::shape, Likeness::name, Likeness::template_name})
      for (std::size_t i = 0; i < old_.kernels.size(); ++i)
        for (std::size_t j = 0; j < now_.kernels.size() && partner[i] == nullptr; ++j)
          if (!taken[j] && alike(old_.kernels[i], now_.kernels[j], least)) {
            partner[i] = &now_.kernels[j];
            taken[j] = true;
          }
    for (std::size_t i = 0; i < old_.kernels.size(); ++i) result.push_back({&old_.kernels[i], partner[i]});
    // One that is gone and a new one at its place, of the same kind: another in its place.
    for (std::size_t j = 0; j < now_.kernels.size(); ++j) {
      if (taken[j]) continue;
      const auto gone = std::ranges::find_if(result, [&](const Matched& each) {
        return each.is == nullptr && each.was != nullptr && each.was->kind == now_.kernels[j].kind;
      });
      if (gone != result.end() && old_.kernels.size() == now_.kernels.size())
        gone->is = &now_.kernels[j];
      else
        result.push_back({nullptr, &now_.kernels[j]});
    }
    return result;
  }

  /// Where all of both sides have times. Returns whether they do.
  bool parts_by_time() {
    const auto timed = [](const Measurement& measurement) {
      return !measurement.kernels.empty() && std::ranges::all_of(measurement.kernels, [](const KernelGroup& group) {
        return group.seconds && group.seconds->value > 0.0;
      });
    };
    if (!timed(old_) || !timed(now_) || difference_ == 0.0) return false;
    double told = 0.0;
    for (const Matched& each : matched()) {
      const double was = each.was != nullptr ? each.was->seconds->value : 0.0;
      const double is = each.is != nullptr ? each.is->seconds->value : 0.0;
      const double share = (is - was) / difference_;
      told += share;
      if (share < small_share) continue;
      if (each.was == nullptr || each.is == nullptr)
        lone(each.was != nullptr ? *each.was : *each.is, each.was != nullptr, share);
      else if (!same_template(each.was->launch.name, each.is->launch.name))
        replaced(*each.was, *each.is, share);
      else
        explain(part_of(each, share, std::log(is / was)));
    }
    if (const double rest = 1.0 - told; rest > 2.0 * small_share) beside_kernels(rest);
    return true;
  }

  /// What the kernels' own times leave: the host where it launches more slowly than they run, else the gaps between.
  void beside_kernels(double share) {
    const auto &was = old_.launch_seconds, &is = now_.launch_seconds;
    const auto launched = [](const Measurement& measurement) {
      std::int64_t sum = 0;
      for (const KernelGroup& group : measurement.kernels) sum += std::max<std::int64_t>(1, group.launch.launches);
      return sum;
    };
    const auto old = launched(old_), now = launched(now_);
    const auto* const slow = log_ratio_ > 0.0 ? &now_ : &old_;  // the side whose time the host could be
    const bool host = was && is && slow->launch_seconds->value > slow->seconds()->median &&
                      (is->value > was->value) == (log_ratio_ > 0.0);
    std::string text =
        fmt::format("the time between its kernels and copies is {}", log_ratio_ > 0.0 ? "longer" : "shorter");
    if (host)
      text = fmt::format("the host launches it in {}, before in {}", format_seconds(is->value),
                         format_seconds(was->value));
    if (old == now) return add(CauseKind::host, text, share);
    add(CauseKind::launches, fmt::format("{}: {}", arrow("launches", old, now), text), share);
  }

  void lone(const KernelGroup& group, bool gone, double share) {
    const bool kernel = group.kind == CommandKind::kernel;
    const std::int64_t count = std::max<std::int64_t>(1, group.launch.launches);
    const std::string name = kernel ? short_kernel_name(group.launch.name) : group.launch.name;
    std::string text = fmt::format("{} {}: {}, {}", kernel ? plural(count, "kernel") : plural(count, "command"),
                                   gone ? "less" : "more", name, format_seconds(group.seconds->value));
    if (group.bytes) text += fmt::format(" for {}", format_bytes(static_cast<double>(*group.bytes)));
    if (kernel) text += purpose_of(name);
    add(kernel ? CauseKind::kernel : CauseKind::copy, text, share);
  }

  void replaced(const KernelGroup& was, const KernelGroup& is, double share) {
    const std::string libraries = library_text();
    const std::string text = fmt::format("another kernel: {} -> {}, {} -> {}", short_kernel_name(was.launch.name),
                                         short_kernel_name(is.launch.name), format_seconds(was.seconds->value),
                                         format_seconds(is.seconds->value));
    if (libraries.empty()) return add(CauseKind::kernel, text, share);
    libraries_told_ = true;
    add(CauseKind::libraries, fmt::format("{} brings {}", libraries, text), share);
  }

  [[nodiscard]] Part part_of(const Matched& each, double share, double log_ratio) const {
    Part part;
    part.name = short_kernel_name(each.is->launch.name);
    if (each.was->launch.name != each.is->launch.name)
      part.name = template_names(each.was->launch.name, each.is->launch.name);
    if (each.is->kind != CommandKind::kernel) part.name = each.is->launch.name;
    part.was = &each.was->launch;
    part.is = &each.is->launch;
    part.old_launches = each.was->launch.launches;
    part.new_launches = each.is->launch.launches;
    const bool alone = old_.kernels.size() == 1 && now_.kernels.size() == 1;
    part.old_counters = each.was->counters.empty() && alone ? &old_.counters : &each.was->counters;
    part.new_counters = each.is->counters.empty() && alone ? &now_.counters : &each.is->counters;
    part.old_blocks = each.was->blocks_per_multiprocessor;
    part.new_blocks = each.is->blocks_per_multiprocessor;
    const auto place = static_cast<std::size_t>(each.is - now_.kernels.data());
    const auto& verdicts = next_.point.kernel_verdicts;
    if (place < verdicts.size() && verdicts[place])
      part.verdict = &*verdicts[place];
    else if (alone && next_.point.verdict)
      part.verdict = &*next_.point.verdict;
    part.share = share;
    part.log_ratio = log_ratio;
    return part;
  }

  // The point as one, where no record tells of its parts.

  void commands_without_times() {
    const auto &old = old_.activity, &now = now_.activity;
    if (old && now && old->copies != now->copies)
      add(CauseKind::copy, arrow("copies and fills", old->copies, now->copies), std::nullopt);
  }

  void whole() {
    Part part;
    const auto kernels = [](const Measurement& measurement) {
      return measurement.activity ? &measurement.activity->kernels : nullptr;
    };
    const auto *old = kernels(old_), *now = kernels(now_);
    const bool one = old != nullptr && now != nullptr && old->size() == 1 && now->size() == 1;
    if (one) {
      part.was = old->data();
      part.is = now->data();
      part.name = short_kernel_name(part.is->name);
      if (part.was->name != part.is->name)
        add(CauseKind::kernel, fmt::format("another kernel: {} -> {}", short_kernel_name(part.was->name), part.name),
            std::nullopt);
    }
    part.old_launches = old_.launches ? old_.launches->kernels : one ? part.was->launches : 0;
    part.new_launches = now_.launches ? now_.launches->kernels : one ? part.is->launches : 0;
    part.old_counters = &old_.counters;
    part.new_counters = &now_.counters;
    if (old_.grid && now_.grid && old_.grid->blocks_per_multiprocessor > 0 &&
        now_.grid->blocks_per_multiprocessor > 0) {
      part.old_blocks = old_.grid->blocks_per_multiprocessor;
      part.new_blocks = now_.grid->blocks_per_multiprocessor;
    }
    part.verdict = next_.point.verdict ? &*next_.point.verdict : base_.point.verdict ? &*base_.point.verdict : nullptr;
    part.log_ratio = log_ratio_;
    explain(part);
  }

  // What makes a part slower.

  /// What is still to be explained of a part, as a logarithm with the sign of its change.
  struct Left {
    double of_part;
    double whole;  ///< all of it
    double share;  ///< of the part in the change
    /// Takes what such a logarithm explains of it. Returns the share of the whole change.
    double take(double log) {
      const double direction = whole > 0.0 ? 1.0 : -1.0;
      const double taken = std::clamp(log * direction, 0.0, std::max(0.0, of_part * direction));
      of_part -= taken * direction;
      return share * taken * direction / whole;
    }
  };

  void explain(const Part& part) {
    Left left{part.log_ratio, part.log_ratio, part.share};
    const std::size_t before = causes_.list.size();
    launches(part, left);
    clocks(part, left);
    atomics(part, left);
    work(part, left);
    occupancy(part, left);
    spills(part);
    waits(part);
    left_ += part.share * left.of_part / left.whole;
    if (causes_.list.size() == before && !part.name.empty() && old_.kernels.size() > 1)
      add(CauseKind::kernel, fmt::format("{} takes {} as long", part.name, times(std::exp(part.log_ratio))),
          part.share);
  }

  [[nodiscard]] static std::string named(const Part& part, const std::string& text) {
    return part.name.empty() ? text : fmt::format("{}: {}", part.name, text);
  }

  void launches(const Part& part, Left& left) {
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

  void clocks(const Part& part, Left& left) {
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
      if (!old_.conditions ||
          std::ranges::find(old_.conditions->throttle_reasons, reason) == old_.conditions->throttle_reasons.end())
        fresh.push_back(reason);
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
  void atomics(const Part& part, Left& left) {
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

  void work(const Part& part, Left& left) {
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
      add(row.kind, named(part, fmt::format(fmt::runtime(row.what), grown(*was, *is, row.kind))),
          limits ? std::optional(left.take(*log)) : std::nullopt);
    }
    if (counted_bytes) return;
    const auto log = growth(old_.work.bytes(), now_.work.bytes(), same_count);
    if (!log || *log * left.whole < 0.0) return;
    const bool memory = part.verdict != nullptr && part.verdict->regime == Regime::memory;
    add(CauseKind::bytes, named(part, fmt::format("declares {} the bytes", times(std::exp(*log)))),
        memory ? std::optional(left.take(*log)) : std::nullopt);
  }

  void occupancy(const Part& part, Left& left) {
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
    const bool log_known = (counted_old && counted_new) || (part.old_blocks && part.new_blocks);
    if (counted_old && counted_new && std::abs(*counted_old - *counted_new) >= 1.0)
      clauses.push_back(fmt::format("occupancy {:.0f} -> {:.0f} %", *counted_old, *counted_new));
    const bool fits = log && *log * left.whole > 0.0;
    if (clauses.empty() || (log_known && !fits)) return;  // as many warps as before: the rest makes nothing slower
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

  // Of the whole program.

  void loads() {
    const auto was = share_under_load(old_).value_or(1.0), is = share_under_load(now_).value_or(1.0);
    const auto log = growth(is, was, same_count);
    if (!log || *log * log_ratio_ < 0.0) return;
    Left left{left_ * log_ratio_, log_ratio_, 1.0};
    add(CauseKind::load,
        fmt::format("it had {} -> {} of {}, because others ran there: not your change", format_percent(was),
                    format_percent(is), what_it_shared(now_)),
        left.take(*log));
    left_ = left.of_part / left.whole;
  }

  void codes() {
    std::vector<std::string> differ;
    if (old_.activity && now_.activity)
      for (const KernelLaunch& was : old_.activity->kernels)
        for (const KernelLaunch& is : now_.activity->kernels)
          if (was.name == is.name && !was.code.empty() && !is.code.empty() && was.code != is.code)
            if (const std::string name = short_kernel_name(is.name); std::ranges::find(differ, name) == differ.end())
              differ.push_back(name);
    constexpr std::size_t max_named = 3;
    if (differ.size() > max_named) differ.resize(max_named);
    if (!differ.empty())
      add(CauseKind::code, fmt::format("{}: its machine code differs", joined(differ, ", ")), std::nullopt);
    else if (code_change(base_.run, next_.run) == CodeChange::differs)
      add(CauseKind::code, "the program's machine code differs", std::nullopt);
  }

  [[nodiscard]] static std::string environment(const CauseSide& side, const std::string& key) {
    const auto& all = side.run.context.environment;
    const auto place = all.find(key);
    return place == all.end() ? "" : place->second;
  }

  /// What differs between two lists of words, as a shell would read them.
  static std::string words_that_differ(const std::string& old, const std::string& now) {
    const auto words = [](const std::string& text) {
      std::vector<std::string> result;
      std::string word;
      for (const char c : text + " ")
        if (c != ' ')
          word += c;
        else if (!word.empty())
          result.push_back(std::exchange(word, {}));
      return result;
    };
    const auto were = words(old), are = words(now);
    const auto without = [](const std::vector<std::string>& some, const std::vector<std::string>& others) {
      std::vector<std::string> result;
      for (const std::string& each : some)
        if (std::ranges::find(others, each) == others.end()) result.push_back(each);
      return result.empty() ? std::string("none") : joined(result, " ");
    };
    return fmt::format("{} -> {}", without(were, are), without(are, were));
  }

  void builds() {
    const auto differing = [&](const std::string& key) {
      const std::string old = environment(base_, key), now = environment(next_, key);
      return old.empty() || now.empty() || old == now ? std::optional<std::pair<std::string, std::string>>()
                                                      : std::pair(old, now);
    };
    if (const auto flags = differing("compiler_flags"))
      add(CauseKind::build, fmt::format("compiler flags: {}", words_that_differ(flags->first, flags->second)),
          std::nullopt);
    for (const auto* key : {"compiler", "build"})
      if (const auto texts = differing(key))
        add(CauseKind::build, fmt::format("{} {} -> {}", key, texts->first, texts->second), std::nullopt);
    if (old_.unoptimized_code && now_.unoptimized_code && *old_.unoptimized_code != *now_.unoptimized_code)
      add(CauseKind::build,
          *now_.unoptimized_code ? "compiled without optimisation now" : "compiled with optimisation now",
          std::nullopt);
  }

  [[nodiscard]] std::string library_text() const {
    std::vector<std::string> clauses;
    const auto compare = [&](const std::map<std::string, std::string>& old,
                             const std::map<std::string, std::string>& now, const auto& is_library) {
      for (const auto& [key, value] : now) {
        const auto place = old.find(key);
        if (place == old.end() || place->second == value || !is_library(key)) continue;
        clauses.push_back(key == "libraries" ? words_that_differ(place->second, value)
                                             : fmt::format("{} {} -> {}", key, place->second, value));
      }
    };
    compare(base_.run.context.environment, next_.run.context.environment,
            [](const std::string& key) { return std::ranges::find(no_libraries, key) == std::end(no_libraries); });
    for (const Device& old : base_.run.devices)
      for (const Device& now : next_.run.devices)
        if (old.id == now.id && now.id == now_.device)
          compare(old.properties, now.properties, [](const std::string& key) {
            return std::ranges::find(library_properties, key) != std::end(library_properties);
          });
    return joined(clauses, ", ");
  }

  void libraries() {
    if (const std::string text = library_text(); !text.empty() && !libraries_told_)
      add(CauseKind::libraries, text, std::nullopt);
  }

  Causes finish() {
    // Of those whose share cannot be told, what the user did stands before what follows from it.
    constexpr CauseKind order[] = {CauseKind::build,        CauseKind::copy,    CauseKind::kernel,
                                   CauseKind::launches,     CauseKind::atomics, CauseKind::spills,
                                   CauseKind::occupancy,    CauseKind::bytes,   CauseKind::arithmetic,
                                   CauseKind::instructions, CauseKind::waits,   CauseKind::libraries};
    const auto rank = [&](const Cause& cause) {
      const bool told = cause.share && *cause.share >= small_share;
      return std::pair(told ? -*cause.share : 0.0, told ? std::begin(order) : std::ranges::find(order, cause.kind));
    };
    std::ranges::stable_sort(causes_.list, {}, rank);
    double told = 0.0;
    for (const Cause& cause : causes_.list) told += cause.share.value_or(0.0);
    const double rest = std::clamp(1.0 - told, 0.0, 1.0);
    const bool counters = !now_.counters.empty() && !old_.counters.empty();
    const bool on_gpu = kind_of_id(now_.device) == DeviceKind::gpu;
    if (causes_.list.empty())
      causes_.rest = "nothing that both sides carry differs with it";
    else if (told < small_share)
      causes_.rest = "how much of the change this explains cannot be told";
    else if (rest > 2.0 * small_share)
      causes_.rest = fmt::format("{} of the change is left", format_percent(rest));
    if (on_gpu && !counters && !causes_.rest.empty())
      causes_.hint = now_.absent_counters.empty()
                         ? "Counters on both sides could tell more of why points changed: --metrics=core,units --check."
                         : fmt::format("Counters could tell more of why points changed, but there are none: {}.",
                                       now_.absent_counters.front().reason);
    return std::move(causes_);
  }

  const CauseSide &base_, &next_;
  const Measurement &old_, &now_;
  double log_ratio_;
  double difference_ = 0.0;  ///< of times, by the base's
  double left_ = 0.0;        ///< of the change, of parts that were looked into
  bool libraries_told_ = false;
  Causes causes_;
};

}  // namespace

Point typical_of(const std::vector<const Point*>& processes, bool in_turns) {
  const auto counted =
      std::ranges::find_if(processes, [](const Point* point) { return !point->measurement.counters.empty(); });
  Point typical = counted == processes.end() ? *processes.front() : **counted;
  const auto median_of = [&](const auto& value_of) {
    std::vector<double> values;
    for (const Point* point : processes)
      if (const std::optional<double> value = value_of(point->measurement)) values.push_back(*value);
    return values.empty() ? std::optional<double>() : statistics::median(values);
  };
  const auto of_conditions = [&](std::optional<double> DeviceConditions::*member) {
    return median_of([&](const Measurement& it) { return it.conditions ? (*it.conditions).*member : std::nullopt; });
  };
  typical.measurement.clock_hz = median_of([](const Measurement& it) { return it.clock_hz; });
  if (auto& conditions = typical.measurement.conditions) {
    conditions->core_share = in_turns ? std::nullopt : of_conditions(&DeviceConditions::core_share);
    conditions->gpu_share = in_turns ? std::nullopt : of_conditions(&DeviceConditions::gpu_share);
    std::erase_if(conditions->throttle_reasons, [&](const std::string& reason) {
      const auto with = std::ranges::count_if(processes, [&](const Point* point) {
        const auto& its = point->measurement.conditions;
        return its && std::ranges::find(its->throttle_reasons, reason) != its->throttle_reasons.end();
      });
      return 2 * with < std::ssize(processes);
    });
  }
  return typical;
}

void add_explanations(const Point& from, Point& to) {
  const Measurement& told = from.measurement;
  Measurement& measurement = to.measurement;
  if (measurement.counters.empty()) {
    measurement.counters = told.counters;
    measurement.absent_counters = told.absent_counters;
    if (from.verdict) to.verdict = from.verdict;  // it rests on them
  }
  if (measurement.kernels.empty()) {
    measurement.kernels = told.kernels;
    to.kernel_verdicts = from.kernel_verdicts;
  }
  if (!measurement.activity) measurement.activity = told.activity;
  if (!measurement.launches) measurement.launches = told.launches;
}

Causes causes_of(const CauseSide& base, const CauseSide& next, double ratio) {
  return Explaining(base, next, ratio).all();
}

}  // namespace gpubench::compare
