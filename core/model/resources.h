// SPDX-License-Identifier: Apache-2.0
// The resource table: all that is known of each resource by its name.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpubench/work.h"

namespace gpubench {

/// What a ceiling is a limit of.
enum class CeilingGroup { memory, latency, compute, overhead, link, atomics };
inline constexpr auto ceiling_group_names =
    std::to_array<std::string_view>({"memory", "latency", "compute", "overhead", "link", "atomics"});
constexpr const auto& names_of(CeilingGroup) { return ceiling_group_names; }

/// How a resource enters the time of an operation.
enum class ResourceKind {
  memory,  ///< moves bytes
  pipe,    ///< does arithmetic
  start,   ///< starts blocks
  launch,  ///< each launch pays it
  wait,    ///< the operation waits, and keeps no unit busy
  other    ///< no verdict names it as a limit of its own
};

/// One row of the table.
struct Resource {
  std::string_view name;        ///< "#" stands for a number: "l#"
  std::string_view label = {};  ///< what to call it in a sentence; empty: its name
  ResourceKind kind = ResourceKind::other;
  CeilingGroup group = CeilingGroup::overhead;
  std::string_view unit = {};    ///< of its ceiling: "B/s", "FLOP/s", "op/s" or "s"; empty where it has none
  std::string_view text = {};    ///< what it is and how it is measured
  std::string_view advice = {};  ///< what to do first when it limits an operation; empty where no verdict names it

  bool follows_clock = true;     ///< its rate goes with the clock of the multiprocessors or cores
  bool bound_by_power = false;   ///< the power limit, not the clock asked for, decides its rate
  bool depends_on_host = false;  ///< GPUs of one kind differ in it for reasons outside of them
  bool moves_sectors = false;    ///< moves whole sectors or lines, so it may move bytes that nobody asked for
  std::optional<double> write_fraction = std::nullopt;  ///< of DRAM's traffic in its probe
  std::optional<Pipe> pipe = std::nullopt;              ///< whose declared work it limits
  std::string_view counter = {};                        ///< portable metric that counts that work
  double min_counted_share = 1.0;                       ///< of what the counter tells, that was surely done
  std::string_view color = {};                          ///< in charts; empty: one of the shades of pipes
  std::array<std::string_view, 4> busy = {};  ///< portable metrics that tell how busy it is; those beyond are empty
};

/// What a name may end with, to mean the same resource measured in another way.
struct ResourceSuffix {
  std::string_view name;
  std::string_view text;
  bool bound_by_power = false;
};

std::span<const Resource> all_resources();
std::span<const ResourceSuffix> resource_suffixes();

/// The row of a name, with or without suffixes ("fp32-sustained" is a "fp32"); null for a name that is not known.
const Resource* find_resource(std::string_view name);

/// The row of exactly this name; null for a name with a suffix.
const Resource* find_plain_resource(std::string_view name);

/// Whether a rate goes with the clock of the multiprocessors or cores. Unknown names are taken to.
bool follows_clock(std::string_view name);
bool is_bound_by_power(std::string_view name);
/// "DRAM", "FP32", "tensor-bf16", "shared memory"; an unknown name as it is.
std::string_view label_of(std::string_view name);

/// A counter and the pipes whose operations it counts.
struct PipeCounter {
  std::string_view name;
  std::vector<Pipe> pipes;
  double min_share = 1.0;  ///< of the counted operations that were surely done
};
const std::vector<PipeCounter>& pipe_counters();

// Resources that code has to name.
namespace resource {
inline constexpr std::string_view launch = "launch";
inline constexpr std::string_view host = "host";
inline constexpr std::string_view page_faults = "page-faults";
inline constexpr std::string_view launch_step = "launch-step";
inline constexpr std::string_view block_start = "block-start";
inline constexpr std::string_view latency = "latency";
inline constexpr std::string_view few_blocks = "few-blocks";
inline constexpr std::string_view uneven_waves = "uneven-waves";
inline constexpr std::string_view one_block = "one-block";
inline constexpr std::string_view imbalance = "imbalance";
inline constexpr std::string_view dependency = "dependency";
inline constexpr std::string_view memory_latency = "memory-latency";
inline constexpr std::string_view shared_latency = "shared-latency";
inline constexpr std::string_view queued_loads = "queued-loads";
inline constexpr std::string_view remote_memory = "remote-memory";
inline constexpr std::string_view barriers = "barriers";
inline constexpr std::string_view contended_atomics = "contended-atomics";
inline constexpr std::string_view pageable_copy = "pageable-copy";
inline constexpr std::string_view l1 = "l1";
inline constexpr std::string_view l2 = "l2";
inline constexpr std::string_view dram = "dram";
inline constexpr std::string_view dram_read = "dram-read";
inline constexpr std::string_view shared = "shared";
inline constexpr std::string_view atomic_global = "atomic-global";
inline constexpr std::string_view issue = "issue";
inline constexpr std::string_view tail = "tail";
inline constexpr std::string_view unexplained = "unexplained";
inline constexpr std::string_view power = "power";
}  // namespace resource

}  // namespace gpubench
