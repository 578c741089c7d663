// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/base/text.h"

namespace gpubench::bench {
namespace {

struct TermOfChip {
  double factor;
  std::string counter;
  bool optional = false;  ///< of some chips only: counts nothing elsewhere
};
/// Instructions by thread with the predicate on.
std::string sass(std::string_view operation) {
  return fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum", operation);
}
/// Operations of the tensor pipes by source type (and destination type).
std::string tensor(std::string_view types) { return fmt::format("sm__ops_path_tensor_src_{}.sum", types); }
/// One way to count a metric. The first of an alias's ways whose counters the chip has is taken.
using Way = std::vector<TermOfChip>;

enum class Set : std::uint8_t { core, flops, units };
constexpr auto set_names = std::to_array<std::string_view>({"core", "flops", "units"});

struct Alias {
  const char* name;
  const char* unit;
  Set set;
  std::vector<Way> ways;
  const char* clock = nullptr;         ///< of a unit's busy share: the cycles per second that its peak is in
  const char* unit_counter = nullptr;  ///< whose peak that is, where it is not that of the first counter
};

// Domains of clocks.
constexpr const char* sm_cycles = "sm__cycles_elapsed.avg.per_second";
constexpr const char* l2_cycles = "lts__cycles_elapsed.avg.per_second";
constexpr const char* dram_cycles = "dram__cycles_elapsed.avg.per_second";

Alias flops(const char* name, std::vector<Way> ways) { return {name, "FLOP", Set::flops, std::move(ways)}; }
/// How busy a unit is: the mean count of its instances.
Alias busy(const char* name, const char* clock, const char* counter) {
  return {name, "%", Set::units, {{{1, fmt::format("{}.avg", counter)}}}, clock};
}
/// Warps that wait for a reason, at each instruction issued.
Alias stall(const char* name, const char* reason) {
  return {name,
          "warps",
          Set::units,
          {{{1, fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason)}}}};
}

/// Nothing here is over elapsed time (is_over_elapsed_time): cycles and shares are those of active SMs.
///
/// FADD, FMUL and FFMA are counted by thread with the predicate on. FADD2, FMUL2 and FFMA2 (Blackwell) do two each.
/// HADD2, HMUL2 and HFMA2 do two each as well, for __half and __nv_bfloat16 alike; scalar half code uses only one of
/// the two and counts double.
const std::vector<Alias>& aliases() {
  static const std::vector<Alias> table = {
      {"dram_read_bytes", "bytes", Set::core, {{{1, "dram__bytes_read.sum"}}, {{1, "dram__bytes_op_read.sum"}}}},
      {"dram_write_bytes", "bytes", Set::core, {{{1, "dram__bytes_write.sum"}}, {{1, "dram__bytes_op_write.sum"}}}},
      {"l2_bytes", "bytes", Set::core, {{{1, "lts__t_bytes.sum"}}}},
      {"l1_bytes", "bytes", Set::core, {{{1, "l1tex__t_bytes.sum"}}}},
      {"instructions", "warp instructions", Set::core, {{{1, "smsp__inst_executed.sum"}}}},
      {"issue_active", "%", Set::core, {{{1, "smsp__issue_active.avg.pct_of_peak_sustained_active"}}}},
      {"occupancy", "%", Set::core, {{{1, "sm__warps_active.avg.pct_of_peak_sustained_active"}}}},
      {"sm_active_cycles", "cycles", Set::core, {{{1, "sm__cycles_active.avg"}}}},
      {"sm_clock", "Hz", Set::core, {{{1, "sm__cycles_elapsed.avg.per_second"}}}},

      flops("flops_fp32", {{{1, sass("fadd")},
                            {1, sass("fmul")},
                            {2, sass("ffma")},
                            {2, sass("fadd2"), true},
                            {2, sass("fmul2"), true},
                            {4, sass("ffma2"), true}}}),
      flops("flops_fp64", {{{1, sass("dadd")}, {1, sass("dmul")}, {2, sass("dfma")}}}),
      flops("flops_half", {{{2, sass("hadd")}, {2, sass("hmul")}, {4, sass("hfma")}}}),
      flops("flops_tensor_fp64", {{{1, tensor("fp64")}}}),
      flops("flops_tensor_tf32", {{{1, tensor("tf32_dst_fp32")}}}),
      flops("flops_tensor_fp16", {{{1, tensor("fp16")}}, {{1, tensor("fp16_dst_fp16")}, {1, tensor("fp16_dst_fp32")}}}),
      flops("flops_tensor_bf16", {{{1, tensor("bf16_dst_fp32")}}}),
      // Datacentre Blackwell counts FP4, FP6 and FP8 together; gpubench has operations of the last alone.
      flops("flops_tensor_fp8", {{{1, tensor("fp8")}},
                                 {{1, tensor("fp8_dst_fp16")}, {1, tensor("fp8_dst_fp32")}},
                                 {{1, tensor("fp4_fp6_fp8_dst_fp16")}, {1, tensor("fp4_fp6_fp8_dst_fp32")}}}),
      flops("flops_tensor_int8", {{{1, tensor("int8")}}}),

      // What NVIDIA's throughput metrics are made of, as far as it saturates (Nsight Compute's breakdown of
      // sm__throughput and gpu__compute_memory_throughput).
      busy("dram_busy", dram_cycles, "dram__bytes"),
      busy("l2_sectors_busy", l2_cycles, "lts__t_sectors"),
      busy("l2_data_busy", l2_cycles, "lts__d_sectors"),
      busy("l2_tags_busy", l2_cycles, "lts__t_tag_requests"),
      busy("l2_atomics_busy", l2_cycles, "lts__d_atomic_input_cycles_active"),
      // Updates that meet at few addresses keep few slices of L2 at work: the mean shows nothing of them.
      {"l2_atomics_hottest_busy", "%", Set::units, {{{1, "lts__d_atomic_input_cycles_active.max"}}}, l2_cycles},
      // By its description the first reaches 100 % where the second stands at 50 %.
      {"l2_fabric_busy",
       "%",
       Set::units,
       {{{1, "lts__ltcfabric2ltc_cycles_active.avg"}}, {{1, "lts__ltcfabric2lts_cycles_active.avg"}}},
       l2_cycles},
      busy("l2_input_busy", l2_cycles, "lts__xbar2lts_cycles_active"),
      busy("l2_output_busy", l2_cycles, "lts__lts2xbar_cycles_active"),
      busy("sm_input_busy", sm_cycles, "l1tex__m_xbar2l1tex_read_sectors"),
      busy("sm_output_busy", sm_cycles, "l1tex__m_l1tex2xbar_req_cycles_active"),
      busy("l1_data_busy", sm_cycles, "l1tex__data_pipe_lsu_wavefronts"),
      busy("l1_banks_busy", sm_cycles, "l1tex__data_bank_reads"),
      // Of the same stage what shared memory alone takes.
      {"shared_busy",
       "%",
       Set::units,
       {{{1, "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg"}}},
       sm_cycles,
       "l1tex__data_pipe_lsu_wavefronts.avg"},
      busy("texture_busy", sm_cycles, "l1tex__f_wavefronts"),
      busy("lsu_input_busy", sm_cycles, "l1tex__lsuin_requests"),
      busy("lsu_busy", sm_cycles, "sm__inst_executed_pipe_lsu"),
      busy("special_busy", sm_cycles, "sm__inst_executed_pipe_xu"),
      busy("alu_busy", sm_cycles, "sm__pipe_alu_cycles_active"),
      busy("fma_busy", sm_cycles, "sm__pipe_fma_cycles_active"),
      busy("fma_heavy_busy", sm_cycles, "sm__pipe_fmaheavy_cycles_active"),
      busy("fp64_busy", sm_cycles, "sm__pipe_fp64_cycles_active"),
      busy("tensor_busy", sm_cycles, "sm__pipe_tensor_cycles_active"),
      busy("issue_busy", sm_cycles, "sm__issue_active"),
      {"l2_clock", "Hz", Set::units, {{{1, l2_cycles}}}},
      {"eligible_warps", "warps", Set::units, {{{1, "smsp__warps_eligible.avg.per_cycle_active"}}}},
      stall("stalled_by_memory", "long_scoreboard"),
      stall("stalled_by_shared", "short_scoreboard"),
      stall("stalled_by_barrier", "barrier"),
      stall("stalled_by_dependency", "wait"),
  };
  return table;
}

std::vector<std::string> names_of(Set set) {
  std::vector<std::string> names;
  for (const Alias& alias : aliases())
    if (alias.set == set) names.emplace_back(alias.name);
  return names;
}

const Alias* find_alias(std::string_view name) {
  const auto& table = aliases();
  const auto place = std::find_if(table.begin(), table.end(), [&](const Alias& alias) { return alias.name == name; });
  return place == table.end() ? nullptr : &*place;
}

bool is_profilers_own(std::string_view name) { return contains(name, "__"); }

void check_name(std::string_view name) {
  const auto plain = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.'; };
  if (name.empty())
    throw MetricNameError("--metrics has an empty name; give none, core, flops, units or names separated by commas.");
  if (!std::all_of(name.begin(), name.end(), plain))
    throw MetricNameError(fmt::format("--metrics: '{}' is not the name of a metric.", name));
  if (is_profilers_own(name) || find_alias(name) != nullptr) return;
  std::vector<std::string> known;
  for (const Alias& alias : aliases()) known.emplace_back(alias.name);
  throw MetricNameError(
      fmt::format("There is no metric '{}'.{} Give none, core, flops, units, a CUPTI name such as "
                  "lts__t_sectors.sum, or any of {}.",
                  name, did_you_mean(name, known), joined(known, ", ")));
}

/// The first way whose counters are all there, without the optional ones that are not.
std::optional<std::vector<ResolvedMetric::Term>> first_way(
    const Alias& alias, const std::function<std::optional<std::string>(const std::string&)>& unit_of) {
  for (const Way& way : alias.ways) {
    std::vector<ResolvedMetric::Term> terms;
    bool whole = true;
    for (const TermOfChip& term : way) {
      if (unit_of(term.counter))
        terms.push_back({term.factor, term.counter});
      else
        whole = whole && term.optional;
    }
    if (whole) return terms;
  }
  return std::nullopt;
}

std::string why_not_known(const std::string& name, std::string_view chip) {
  if (!contains(name, '.'))
    return fmt::format("the name does not say how to combine the chip's units; write {}.sum, .avg, .max or .min", name);
  return fmt::format("{} has no metric of this name", chip);
}

std::vector<std::string> with(std::vector<std::string> counters, const std::vector<std::string>& more) {
  for (const std::string& counter : more)
    if (!contains(counters, counter)) counters.push_back(counter);
  return counters;
}

std::vector<std::string> counters_of(const ResolvedMetric& metric) {
  std::vector<std::string> counters;
  for (const auto& term : metric.terms) counters.push_back(term.counter);
  if (metric.peak) counters.insert(counters.end(), {metric.peak->counter, metric.peak->clock});
  return counters;
}

/// All groups of several passes in one, the last, if that takes no more of them.
void merge_long_groups(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  const auto several = [](const PassGroup& group) { return group.passes > 1; };
  PassGroup together{{}, 0};
  std::size_t apart = 0;
  for (const PassGroup& group : groups)
    if (several(group)) {
      together.counters = with(std::move(together.counters), group.counters);
      apart += group.passes;
    }
  if (apart == 0) return;
  const auto needed = passes_of(together.counters);
  if (!needed || *needed < 2 || *needed > apart) return;
  together.passes = *needed;
  std::erase_if(groups, several);
  groups.push_back(std::move(together));
}

/// Short groups ride with the last one where that is long and they cost it nothing.
void join_last_group(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  for (std::size_t i = 1; i + 1 < groups.size();) {
    PassGroup& last = groups.back();
    auto joined = with(last.counters, groups[i].counters);
    if (last.passes > 1 && groups[i].passes == 1 && passes_of(joined) == last.passes) {
      last.counters = std::move(joined);
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool tells_instructions_apart(std::string_view counter) { return contains(counter, "__sass_"); }

void add_witness(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  for (PassGroup& group : groups) {
    if (std::ranges::none_of(group.counters, tells_instructions_apart)) continue;
    auto more = with(group.counters, {std::string(all_by_instruction)});
    if (passes_of(more) == group.passes) group.counters = std::move(more);
  }
}

/// Puts metrics that may all be counted together into groups, and into `plan` what cannot be counted.
std::vector<PassGroup> groups_of(const std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of,
                                 PassPlan& plan) {
  std::vector<PassGroup> groups;
  std::optional<PassGroup> units;
  for (const ResolvedMetric& metric : metrics) {
    const auto counters = with({}, counters_of(metric));
    const auto alone = passes_of(counters);
    if (!alone || *alone == 0) {
      plan.absent.push_back({metric.name, "the profiler refuses to count it"});
      continue;
    }
    if (*alone > max_passes_of_a_metric) {
      plan.absent.push_back(
          {metric.name, fmt::format("it takes {} executions to count, and the maximum for one metric is {}", *alone,
                                    max_passes_of_a_metric)});
      continue;
    }
    plan.metrics.push_back(metric);
    if (metric.of_units) {
      // A pass more of one group is cheaper than a round more over all points.
      if (!units) units.emplace();
      auto together = with(units->counters, counters);
      if (const auto passes = passes_of(together)) {
        *units = {std::move(together), *passes};
        continue;
      }
    }
    PassGroup* home = nullptr;
    if (*alone == 1)
      for (PassGroup& group : groups)
        if (home == nullptr && group.passes == 1 && passes_of(with(group.counters, counters)) == std::size_t{1})
          home = &group;
    if (home == nullptr) home = &groups.emplace_back(PassGroup{{}, *alone});
    home->counters = with(std::move(home->counters), counters);
  }
  merge_long_groups(groups, passes_of);
  join_last_group(groups, passes_of);
  add_witness(groups, passes_of);
  if (units && !units->counters.empty()) groups.push_back(*std::move(units));
  return groups;
}

}  // namespace

std::vector<std::string> parse_metrics(std::string_view text) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  };
  if (text == "none") return names;
  for (const std::string& name : split(text, ',')) {
    if (name == "none")
      throw MetricNameError("--metrics: 'none' cannot be combined with other names; give one or the other.");
    if (const auto set = std::ranges::find(set_names, name); set != set_names.end()) {
      for (const std::string& member : names_of(static_cast<Set>(set - set_names.begin()))) add(member);
    } else {
      check_name(name);
      add(name);
    }
  }
  return names;
}

Resolution resolve(const std::vector<std::string>& names, std::string_view chip,
                   const std::function<std::optional<std::string>(const std::string&)>& unit_of) {
  Resolution result;
  for (const std::string& name : names) {
    if (const Alias* alias = find_alias(name)) {
      if (auto terms = first_way(*alias, unit_of)) {
        ResolvedMetric metric{name, alias->unit, *std::move(terms)};
        metric.of_units = alias->set == Set::units;
        if (alias->clock != nullptr)
          metric.peak = {
              (alias->unit_counter != nullptr ? alias->unit_counter : metric.terms.front().counter) + ".peak_sustained",
              alias->clock, alias->clock == sm_cycles};
        result.metrics.push_back(std::move(metric));
      } else
        result.absent.push_back({name, fmt::format("{} has no counter for it", chip)});
    } else if (const auto unit = contains(name, '.') ? unit_of(name) : std::nullopt) {
      result.metrics.push_back({name, *unit, {{1.0, name}}, std::nullopt});
    } else {
      result.absent.push_back({name, why_not_known(name, chip)});
    }
  }
  return result;
}

bool is_by_instruction(const ResolvedMetric& metric) {
  return std::ranges::any_of(metric.terms, tells_instructions_apart, &ResolvedMetric::Term::counter);
}

bool is_by_kernel(const ResolvedMetric& metric) {
  return std::ranges::any_of(metric.terms, is_over_elapsed_time, &ResolvedMetric::Term::counter);
}

PassPlan plan_passes(const std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of) {
  std::vector<ResolvedMetric> of_operations;
  std::vector<ResolvedMetric> of_kernels;
  for (const ResolvedMetric& metric : metrics) (is_by_kernel(metric) ? of_kernels : of_operations).push_back(metric);
  PassPlan plan;
  plan.groups = groups_of(of_operations, passes_of, plan);
  for (PassGroup& group : groups_of(of_kernels, passes_of, plan)) plan.groups.push_back(std::move(group));
  return plan;
}

std::vector<std::vector<std::string>> single_pass_sets(std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of,
                                                       std::vector<AbsentCounter>& absent) {
  std::vector<std::vector<std::string>> sets;
  std::erase_if(metrics, [&](const ResolvedMetric& metric) {
    // A share needs its count, its peak and its clock of one and the same launch.
    const auto counters = with({}, counters_of(metric));
    for (auto& set : sets) {
      auto together = with(set, counters);
      if (together.size() == set.size() || passes_of(together) == std::size_t{1}) {
        set = std::move(together);
        return false;
      }
    }
    if (passes_of(counters) == std::size_t{1}) {
      sets.push_back(counters);
      return false;
    }
    if (!metric.peak) {  // a sum may be counted in parts
      std::vector<std::vector<std::string>> parts = sets;
      bool whole = true;
      for (const std::string& counter : counters) {
        const auto home = std::ranges::find_if(
            parts, [&](const auto& set) { return passes_of(with(set, {counter})) == std::size_t{1}; });
        if (home != parts.end())
          *home = with(std::move(*home), {counter});
        else if (passes_of({counter}) == std::size_t{1})
          parts.push_back({counter});
        else
          whole = false;
      }
      if (whole) {
        sets = std::move(parts);
        return false;
      }
    }
    absent.push_back({metric.name, "it takes several passes, and a program's launches run once"});
    return true;
  });
  return sets;
}

}  // namespace gpubench::bench
