// SPDX-License-Identifier: Apache-2.0
#include "core/model/resources.h"

#include <algorithm>
#include <unordered_map>

namespace gpubench {
namespace {

using enum ResourceKind;

// In the order in which charts and the reference page show them.
// clang-format off
constexpr Resource table[] = {
    // Overheads that verdicts use.
    {.name = "launch", .kind = launch, .unit = "s",
     .text = "An empty kernel (on a CPU an empty parallel region), timed as operations are timed.",
     .advice = "Launch less often: fuse operations, batch them, or capture them in a CUDA graph.", .color = "#D98F00"},
    {.name = "host", .kind = launch,
     .text = "The host's part of a call: the program, its libraries and the driver's launches. The GPU waits for it.",
     .advice = "Capture the calls in a CUDA graph, or give each of them more work: larger batches, compiled operators.",
     .color = "#B36B00"},
    {.name = "page-faults", .label = "page faults", .kind = launch,
     .text = "The system makes pages of memory for a CPU's operation when it first touches them, and takes them back.",
     .advice = "Allocate once and write into that: a buffer that is kept, `out=`, a pool, or an allocator that keeps what is freed.",
     .color = "#8C5A00"},
    {.name = "block-start", .label = "block start", .kind = start, .unit = "s",
     .text = "Time to start one more block while the multiprocessors are full.",
     .advice = "Start fewer blocks that do more each.", .color = "#F2C14E"},

    // Latency: what an operation waits for that keeps no unit busy.
    {.name = "latency", .kind = wait,
     .text = "Time in which no resource reaches two thirds of its ceiling, and nothing says what the operation waits for.",
     .color = "#CC79A7"},
    {.name = "few-blocks", .label = "too few blocks", .kind = wait,
     .text = "The grid leaves a third of the multiprocessors idle or more.", .advice = "Launch more or smaller blocks."},
    {.name = "uneven-waves", .label = "uneven last wave", .kind = wait,
     .text = "The last wave of blocks leaves a third of the multiprocessors idle or more.",
     .advice = "Fill the last wave of blocks: another block size, or blocks that fetch their work."},
    {.name = "one-block", .label = "one block long", .kind = wait,
     .text = "All blocks run at once, so the operation takes as long as one of them.",
     .advice = "Make the work of a block shorter: more threads or blocks, or more independent operations in each."},
    {.name = "imbalance", .label = "uneven blocks", .kind = wait, .text = "Some blocks take much longer than others.",
     .advice = "Give all blocks as much to do: smaller ones, or blocks that fetch their work (a persistent kernel)."},
    {.name = "dependency", .label = "dependent instructions", .kind = wait,
     .text = "Warps wait for the result of the instruction before.",
     .advice = "Give each thread more independent operations, or each multiprocessor more warps."},
    {.name = "memory-latency", .label = "memory latency", .kind = wait,
     .text = "Loads and stores wait for memory: too few bytes are in flight.",
     .advice = "Keep more bytes in flight: wider accesses, more loads before their first use, more threads."},
    {.name = "shared-latency", .label = "shared memory latency", .kind = wait,
     .text = "Warps wait for shared memory, indexed constants or special functions.",
     .advice = "Give each thread more independent operations, or each multiprocessor more warps."},
    {.name = "queued-loads", .label = "queued loads", .kind = wait,
     .text = "Loads wait for each other, several times as long as DRAM takes when it is idle.",
     .advice = "Touch fewer sectors: sort the accesses by place, pack what is used together, or keep the often used part "
               "where L2 holds it."},
    {.name = "remote-memory", .label = "remote memory", .kind = wait,
     .text = "Loads come from host memory or another GPU: they wait long while DRAM and L2 are idle.",
     .advice = "Copy what it reads from the host or another GPU into this GPU's memory first, in large pieces."},
    {.name = "barriers", .kind = wait, .text = "Warps wait for the others of their block.",
     .advice = "Wait at fewer barriers: smaller blocks, or synchronisation of warps."},
    // NVIDIA, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics".
    {.name = "contended-atomics", .label = "contended atomics", .kind = wait,
     .text = "Updates of few addresses wait for each other.",
     .advice = "Make fewer updates: add in registers or shared memory first, or sort them by place and add each run of "
               "one place up."},
    {.name = "pageable-copy", .label = "pageable memory", .kind = wait,
     .text = "A copy of host memory that is not pinned goes through a buffer of the driver.",
     .advice = "Copy from and to pinned memory (cudaMallocHost), and not beside other copies."},

    // Memory, from near to far.
    {.name = "l1", .label = "L1", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads that the first-level cache serves.", .advice = "Keep more in registers and in shared memory.",
     .color = "#9CD3F2", .busy = {"texture_busy"}},
    {.name = "l2", .label = "L2", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads that the second-level cache serves.",
     .advice = "Read each byte once and use it from shared memory or registers.", .moves_sectors = true,
     .color = "#56B4E9", .busy = {"l2_sectors_busy", "l2_data_busy", "l2_tags_busy"}},
    {.name = "l3", .label = "L3", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads that the third-level cache of a CPU serves.",
     .advice = "Work on blocks that fit into the second-level cache.", .follows_clock = false, .color = "#2E93CC"},
    {.name = "l4", .label = "L4", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads that the fourth-level cache of a CPU serves.",
     .advice = "Work on blocks that fit into a nearer cache.", .follows_clock = false},
    {.name = "dram", .label = "DRAM", .kind = memory, .group = CeilingGroup::memory,
     .text = "Device memory at an operation's own mix of reads and writes, between the ceilings dram-read, dram-triad, "
             "dram-copy and dram-write.",
     .advice = "Move fewer bytes: fuse operations, use a smaller number format, access neighbouring addresses.",
     .follows_clock = false, .moves_sectors = true, .color = "#0072B2", .busy = {"dram_busy"}},
    {.name = "shared", .label = "shared memory", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Shared memory without bank conflicts.", .advice = "Avoid bank conflicts and reuse operands in registers.",
     .color = "#BFE3F7", .busy = {"shared_busy"}},
    {.name = "l1-data", .label = "L1 data stage", .kind = memory, .group = CeilingGroup::memory,
     .text = "Wavefronts of 128 bytes for loads, stores and shared memory, as counted: bank conflicts and scattered "
             "accesses take several.",
     .advice = "Avoid bank conflicts and let a warp access neighbouring words; keep operands in registers.",
     .color = "#ACDDF6", .busy = {"l1_data_busy", "l1_banks_busy"}},
    {.name = "l2-fabric", .label = "link between L2 halves", .kind = memory, .group = CeilingGroup::memory,
     .text = "Sectors that one half of L2 gets from the other, as counted.",
     .advice = "Work on sets that fit into half of L2, and use all bytes of each sector.", .moves_sectors = true,
     .color = "#3E86B8", .busy = {"l2_fabric_busy"}},
    {.name = "l2-to-sm", .label = "L2-to-SM traffic", .kind = memory, .group = CeilingGroup::memory,
     .text = "Requests and sectors of 32 bytes between L2 and the multiprocessors, as counted.",
     .advice = "Use all bytes of each sector: let neighbouring threads access neighbouring addresses, or sort the "
               "accesses.",
     .moves_sectors = true, .color = "#7CC4EA",
     .busy = {"sm_input_busy", "sm_output_busy", "l2_input_busy", "l2_output_busy"}},
    {.name = "lsu", .label = "load-store unit", .kind = memory, .group = CeilingGroup::memory, .unit = "op/s",
     .text = "Instructions that load, store or use shared memory, however few bytes they move; one operation for each "
             "thread. Measured by loads of one word of shared memory by all threads of a warp.",
     .advice = "Load and store wider words with fewer instructions; keep operands in registers.", .color = "#A7D8F0",
     .busy = {"lsu_input_busy", "lsu_busy"}},
    {.name = "atomic-global", .label = "L2 atomics", .kind = memory, .group = CeilingGroup::atomics,
     .text = "The units of L2 that add, as counted: those of all slices, and of the slice that works most.",
     .advice = "Add in registers or shared memory first, and spread what is left over more addresses.",
     .color = "#5A7FC0", .busy = {"l2_atomics_busy", "l2_atomics_hottest_busy"}},
    {.name = "dram-read", .label = "DRAM read", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads of device memory.", .follows_clock = false, .write_fraction = 0.0},
    {.name = "dram-triad", .label = "DRAM triad", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Two reads and one write, all counted.", .follows_clock = false, .write_fraction = 1.0 / 3.0},
    {.name = "dram-copy", .label = "DRAM copy", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "One read and one write, both counted.", .follows_clock = false, .write_fraction = 0.5},
    {.name = "dram-write", .label = "DRAM write", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Writes to device memory. On a CPU the better of ordinary and non-temporal stores.",
     .follows_clock = false, .write_fraction = 1.0},
    {.name = "l2-near", .label = "near L2", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads of a working set small enough for the half of the L2 beside each multiprocessor."},
    {.name = "l2-far", .label = "far L2", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads of a working set that fills most of both halves of the L2."},
    {.name = "l2-random-read", .label = "random L2 reads", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "Reads at random places of half of the L2, each of them counted as the 32 bytes (a sector) that L2 sends.",
     .advice = "Sort the accesses by place, or keep the table in shared memory."},
    {.name = "dram-random-read", .label = "random DRAM reads", .kind = memory, .group = CeilingGroup::memory, .unit = "B/s",
     .text = "The same over several GiB of device memory. DRAM itself may fetch more than 32 bytes for each.",
     .advice = "Sort the accesses by place, or work on one part of the table after another, so that L2 holds each.",
     .follows_clock = false},
    {.name = "copy-rate-device-to-device", .label = "copy command", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "cudaMemcpyAsync within device memory: bytes read and bytes written, both counted.",
     .follows_clock = false},
    {.name = "fill-rate", .label = "fill command", .group = CeilingGroup::memory, .unit = "B/s",
     .text = "cudaMemsetAsync of device memory.", .follows_clock = false},

    // Latencies.
    {.name = "latency-shared", .label = "shared memory", .group = CeilingGroup::latency, .unit = "s",
     .text = "One load from shared memory that waits for the one before it."},
    {.name = "latency-l1", .label = "L1", .group = CeilingGroup::latency, .unit = "s",
     .text = "One load that L1 serves and that waits for the one before it."},
    {.name = "latency-l2-near", .label = "near L2", .group = CeilingGroup::latency, .unit = "s",
     .text = "The same from a working set of an eighth of the L2."},
    {.name = "latency-l2-far", .label = "far L2", .group = CeilingGroup::latency, .unit = "s",
     .text = "The same from the lines that lie in the far half of the L2."},
    {.name = "latency-l#", .group = CeilingGroup::latency, .unit = "s",
     .text = "The same from a cache of a CPU, numbered outwards from the core."},
    {.name = "latency-dram", .label = "DRAM", .group = CeilingGroup::latency, .unit = "s",
     .text = "The same from device memory, or a CPU's main memory.", .follows_clock = false},
    {.name = "latency-host", .label = "host memory", .group = CeilingGroup::latency, .unit = "s",
     .text = "A GPU's load from host memory over the link.", .follows_clock = false, .depends_on_host = true},
    {.name = "latency-curve", .group = CeilingGroup::latency,
     .text = "The latency of one access by working set; kept as a curve."},

    // Pipes.
    {.name = "fp64", .label = "FP64", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Fused multiply-adds in FP64, two operations each.",
     .advice = "Use FP32 where its digits suffice, or tensor cores for matrix products.", .pipe = fp64,
     .counter = "flops_fp64", .busy = {"fp64_busy"}},
    {.name = "fp32", .label = "FP32", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Fused multiply-adds in FP32, two operations each.",
     .advice = "Use FP16 or BF16 where their digits suffice, or tensor cores for matrix products.", .pipe = fp32,
     .counter = "flops_fp32", .busy = {"fma_busy"}},
    // Scalar half code uses one of the two lanes that are counted.
    {.name = "fp16", .label = "FP16", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Fused multiply-adds in FP16, two pairs in an instruction.",
     .advice = "Use tensor cores for matrix products.", .pipe = fp16, .counter = "flops_half",
     .min_counted_share = 0.5, .busy = {"fma_busy"}},
    {.name = "bf16", .label = "BF16", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Fused multiply-adds in BF16, two pairs in an instruction.",
     .advice = "Use tensor cores for matrix products.", .pipe = bf16, .counter = "flops_half",
     .min_counted_share = 0.5, .busy = {"fma_busy"}},
    {.name = "int32", .label = "INT32", .kind = pipe, .group = CeilingGroup::compute, .unit = "op/s",
     .text = "32-bit integers: multiply-adds of two operations each on a GPU, additions on a CPU.",
     .advice = "Compute addresses and counters less often.", .pipe = int32, .busy = {"fma_heavy_busy"}},
    {.name = "alu", .label = "ALU", .kind = pipe, .group = CeilingGroup::compute, .unit = "op/s",
     .text = "The ALU pipe: comparisons, logic, minima and maxima, conversions of integers; one operation for each thread. "
             "Measured by exclusive or and maximum in turn.",
     .advice = "Compare, shift and mask less often: move it out of loops, or compute on the FP32 pipe.",
     .busy = {"alu_busy"}},
    {.name = "tensor", .label = "tensor cores", .kind = pipe, .group = CeilingGroup::compute,
     .text = "Tensor cores, as counted, where the number format is not known.",
     .advice = "Use a smaller number format where its digits suffice.", .bound_by_power = true,
     .busy = {"tensor_busy"}},
    {.name = "tensor-fp64", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best FP64 matrix product of cuBLASLt.", .advice = "Use FP32 or TF32 where their digits suffice.",
     .follows_clock = false, .bound_by_power = true, .pipe = tensor_fp64, .counter = "flops_tensor_fp64", .busy = {"tensor_busy"}},
    {.name = "tensor-tf32", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best TF32 matrix product of cuBLASLt.", .advice = "Use BF16 where its digits suffice.",
     .follows_clock = false, .bound_by_power = true, .pipe = tensor_tf32, .counter = "flops_tensor_tf32", .busy = {"tensor_busy"}},
    {.name = "tensor-fp16", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best FP16 matrix product of cuBLASLt, accumulated in FP32.",
     .advice = "Use FP8 where its digits suffice.", .follows_clock = false, .bound_by_power = true, .pipe = tensor_fp16,
     .counter = "flops_tensor_fp16", .busy = {"tensor_busy"}},
    {.name = "tensor-bf16", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best BF16 matrix product of cuBLASLt, accumulated in FP32.",
     .advice = "Use FP8 where its digits suffice.", .follows_clock = false, .bound_by_power = true, .pipe = tensor_bf16,
     .counter = "flops_tensor_bf16", .busy = {"tensor_busy"}},
    {.name = "tensor-fp8", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best E4M3 matrix product of cuBLASLt, with a BF16 result.", .advice = "Do less arithmetic.",
     .follows_clock = false, .bound_by_power = true, .pipe = tensor_fp8, .counter = "flops_tensor_fp8", .busy = {"tensor_busy"}},
    {.name = "tensor-int8", .kind = pipe, .group = CeilingGroup::compute, .unit = "op/s",
     .text = "The best INT8 matrix product of cuBLASLt, with an INT32 result.", .advice = "Do less arithmetic.",
     .follows_clock = false, .bound_by_power = true, .pipe = tensor_int8, .counter = "flops_tensor_int8", .busy = {"tensor_busy"}},
    {.name = "special", .label = "special function", .kind = pipe, .group = CeilingGroup::compute, .unit = "op/s",
     .text = "Special functions in FP32, one instruction each, such as 2^x, 1/sqrt(x) or the sine; measured by 2^x.",
     .advice = "Compute fewer special functions: reuse results, or work one out of another.",
     .pipe = special, .busy = {"special_busy"}},
    {.name = "gemm-fp32", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best FP32 matrix product of a CPU.", .pipe = fp32},
    {.name = "gemm-fp64", .kind = pipe, .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "The best FP64 matrix product of a CPU.", .pipe = fp64},
    {.name = "issue", .label = "instruction issue", .kind = pipe, .group = CeilingGroup::compute,
     .text = "Issuing instructions, as counted: the schedulers are busy longer than any pipe.",
     .advice = "Execute fewer instructions: wider accesses, less address arithmetic, unrolled loops.", .busy = {"issue_busy"}},

    // Arithmetic that no verdict uses.
    {.name = "mma-*", .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Matrix instructions of a warp (mma.sync) on operands in registers; mma-int8 in op/s."},
    {.name = "wgmma-*", .group = CeilingGroup::compute, .unit = "FLOP/s",
     .text = "Matrix instructions of a warpgroup (Hopper) on operands in shared memory; wgmma-int8 in op/s."},

    // Other overheads.
    {.name = "launch-step", .unit = "s",
     .text = "Step in which the times of back-to-back launches climb; widens the intervals of a fit."},
    {.name = "graph-node", .unit = "s", .text = "One more empty kernel in a CUDA graph."},
    {.name = "copy-*", .unit = "s", .text = "A copy of four bytes that waits in the stream."},
    {.name = "memset", .unit = "s", .text = "A fill of four bytes that waits in the stream."},

    // Links.
    {.name = "host-to-device-*", .group = CeilingGroup::link, .unit = "B/s",
     .text = "Copies to a GPU from pinned or pageable host memory; payload."},
    {.name = "device-to-host-*", .group = CeilingGroup::link, .unit = "B/s",
     .text = "Copies from a GPU to pinned or pageable host memory; payload."},
    {.name = "host-both-ways-pinned", .group = CeilingGroup::link, .unit = "B/s",
     .text = "Copies in both directions at once, their sum; payload."},
    {.name = "peer-*", .group = CeilingGroup::link, .unit = "B/s",
     .text = "Reads, writes and copies of another GPU's memory, by its number."},

    // Atomics.
    {.name = "atomic-global-*", .group = CeilingGroup::atomics, .unit = "op/s",
     .text = "Atomic additions to global memory without a result, of integers or of FP32: all threads to one address, each warp "
             "to its own, or each thread."},
    {.name = "l2-random-update", .label = "random L2 updates", .kind = memory, .group = CeilingGroup::atomics, .unit = "op/s",
     .text = "Atomic 64-bit additions without a result at random places of half of the L2.",
     .advice = "Sort the updates by place, or add in shared memory first."},
    {.name = "dram-random-update", .label = "random DRAM updates", .kind = memory, .group = CeilingGroup::atomics, .unit = "op/s",
     .text = "The same over several GiB of device memory.",
     .advice = "Sort the updates by place, or work on one part of the table after another, so that L2 holds each.",
     .follows_clock = false},

    {.name = "power",
     .text = "The power limit held the clock down while the resource that draws the power was busy.",
     .advice = "Spend less energy on the work: a smaller number format, fewer bytes moved; or raise the power limit.",
     .bound_by_power = true, .color = "#B5364B"},

    // What is left of a measured time.
    {.name = "tail", .text = "Multiprocessors idle in an uneven last wave of blocks."},
    {.name = "unexplained", .text = "Time that no ceiling accounts for.", .color = "#9A9A9A"},
};
// clang-format on

constexpr ResourceSuffix suffixes[] = {
    {"-one-core", "One core of a CPU by itself; without it, all cores together."},
    {"-sustained", "After a second or so of load, when power and clocks have settled; without it, from rest.", true},
};

/// Whether a name is of the family: "#" stands for a number, "*" at the end for anything.
bool is_of(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  if (!pattern.ends_with('#')) return name == pattern;
  pattern.remove_suffix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return name.size() > pattern.size() && name.starts_with(pattern) &&
         std::ranges::all_of(name.substr(pattern.size()), is_digit);
}

const ResourceSuffix* suffix_of(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(suffixes, [&](const ResourceSuffix& each) { return name.ends_with(each.name); });
  return found == std::end(suffixes) ? nullptr : found;
}

}  // namespace

std::span<const Resource> all_resources() { return table; }
std::span<const ResourceSuffix> resource_suffixes() { return suffixes; }

const Resource* find_plain_resource(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Resource*> rows;
    for (const Resource& each : table) rows.emplace(each.name, &each);
    return rows;
  }();
  if (const auto row = by_name.find(name); row != by_name.end()) return row->second;
  if (suffix_of(name) != nullptr) return nullptr;
  const auto* const found = std::ranges::find_if(table, [&](const Resource& each) { return is_of(each.name, name); });
  return found == std::end(table) ? nullptr : found;
}

const Resource* find_resource(std::string_view name) {
  if (const Resource* const found = find_plain_resource(name)) return found;
  const ResourceSuffix* const suffix = suffix_of(name);
  return suffix == nullptr ? nullptr : find_resource(name.substr(0, name.size() - suffix->name.size()));
}

bool follows_clock(std::string_view name) {
  const Resource* const found = find_resource(name);
  return found == nullptr || found->follows_clock;
}

bool is_bound_by_power(std::string_view name) {
  if (const ResourceSuffix* const suffix = suffix_of(name))
    return suffix->bound_by_power || is_bound_by_power(name.substr(0, name.size() - suffix->name.size()));
  const Resource* const found = find_plain_resource(name);
  return found != nullptr && found->bound_by_power;
}

std::string_view label_of(std::string_view name) {
  const Resource* const found = find_plain_resource(name);
  return found == nullptr || found->label.empty() ? name : found->label;
}

const std::vector<PipeCounter>& pipe_counters() {
  static const std::vector<PipeCounter> counters = [] {
    std::vector<PipeCounter> result;
    for (const Resource& each : table) {
      if (each.counter.empty()) continue;
      auto same = std::ranges::find(result, each.counter, &PipeCounter::name);
      if (same == result.end()) same = result.insert(result.end(), {each.counter, {}, each.min_counted_share});
      same->pipes.push_back(*each.pipe);
    }
    return result;
  }();
  return counters;
}

}  // namespace gpubench
