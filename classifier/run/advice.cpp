// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double min_gain = 1.05;

/// The advice on one point.
class List {
 public:
  explicit List(const PointAnalysis& it) : seconds_(it.time.seconds), sigma_(std::min(sigma_of(it), 1.0)) {}
  /// `seconds_left`: what the point would take.
  void add(AdviceCode code, std::string action, std::string evidence, double seconds_left) {
    const double gain = seconds_ / seconds_left;
    if (!std::isfinite(gain) || gain < min_gain) return;
    const double factor = std::exp(statistics::normal_975 * sigma_);
    // Work that a unit is relieved of may come onto others: then nothing is gained.
    const double least = code == AdviceCode::relieve_unit ? 1.0 : std::max(gain / factor, 1.0);
    advice_.push_back({std::move(action), std::move(evidence), gain, code, Interval{least, gain * factor}});
  }
  void add_without_gain(AdviceCode code, std::string action, std::string evidence) {
    advice_.push_back({std::move(action), std::move(evidence), std::nullopt, code});
  }
  [[nodiscard]] bool empty() const { return advice_.empty(); }
  std::vector<Advice> sorted() {
    std::ranges::stable_sort(advice_, std::greater<>(), [](const Advice& each) { return each.gain.value_or(0.0); });
    return std::move(advice_);
  }

 private:
  /// Relative standard deviation of a gain: of the two clocks, or of the time and the ceiling that it would come near.
  /// Samples under load may have any.
  static double sigma_of(const PointAnalysis& it) {
    if (is_launch(it.decision)) return std::hypot(it.time.sigma, it.time.device_sigma);
    const auto& resources = it.prediction.resources;
    const auto nearest = std::ranges::find(resources, it.binding.decision.limiter, &ResourceTime::resource);
    const double ceiling = nearest == resources.end() ? 0.0 : nearest->sigma;
    return std::hypot(it.time.sigma, ceiling, model_sigma);
  }

  double seconds_;
  double sigma_;
  std::vector<Advice> advice_;
};

/// What a device spends before and after the work of such kernels even inside a graph.
double kernel_overhead_seconds(const Measurement& measurement) {
  const Estimate* const fixed = kernel_overhead_of(measurement);
  return fixed != nullptr ? fixed->value : 0.0;
}

bool declares_work(const Work& work) { return work.bytes() > 0.0 || work.random || work.total_flops() > 0.0; }

void advise_on_overhead(const PointAnalysis& it, List& list) {
  const bool on_gpu = it.machine.kind == DeviceKind::gpu;
  const auto evidence = fmt::format("{} takes {} of {}", on_gpu ? "the launch" : empty_launch_of(it.machine),
                                    format_seconds(it.overhead_seconds), format_seconds(it.time.seconds));
  const std::string batch = on_gpu ? "launch less often: batch the work, or capture the launches in a CUDA graph"
                            : it.machine.one_core ? "do more in each call"
                                                  : "do more in each call, or start fewer parallel regions";
  const std::string fuse = "fuse it with the operation before or after it";
  // What is left without the launch is known by a clock of the device, or where the work is declared and the launch
  // does not hide it.
  if (it.time.device_seconds) {
    list.add(AdviceCode::batch_launches, batch, evidence,
             *it.time.device_seconds + kernel_overhead_seconds(it.measurement));
    list.add(AdviceCode::fuse, fuse, evidence, *it.time.device_seconds);
  } else if (!declares_work(it.measurement.work) || it.time.seconds <= min_gain * it.overhead_seconds) {
    list.add_without_gain(AdviceCode::batch_launches, batch, evidence);
  } else {
    list.add(AdviceCode::batch_launches, batch, evidence, it.time.seconds - it.overhead_seconds);
    list.add(AdviceCode::fuse, fuse, evidence, it.time.seconds - it.overhead_seconds);
  }
}

void advise_on_start(const PointAnalysis& it, List& list) {
  const double start = it.prediction.start_seconds();
  const auto evidence = fmt::format("starting blocks takes {} of {}", format_seconds(std::min(start, it.beside_launch)),
                                    format_seconds(it.time.seconds));
  const char* const action =
      "start fewer blocks that do more: larger blocks, more elements per thread, or a grid-stride loop";
  if (const double busy = it.prediction.busy_seconds(); busy > 0.0)
    list.add(AdviceCode::fewer_blocks, action, evidence,
             it.overhead_seconds + it.beside_launch * std::min(busy / start, 1.0));
  else
    list.add_without_gain(AdviceCode::fewer_blocks, action, evidence);
}

/// How much faster it gets is not known: memory is shared, and its steps may depend on one another.
void advise_on_threads(const PointAnalysis& it, List& list) {
  constexpr double worth_a_region = 4.0;
  if (!it.machine.one_core || it.machine.cores < 2) return;
  if (it.time.seconds < worth_a_region * it.machine.region_seconds.value_or(0.0)) return;
  list.add_without_gain(AdviceCode::more_threads, "spread the work over more threads",
                        fmt::format("one thread does it, and there are {} cores", it.machine.cores));
}

/// Bits of a vector extension, as Device::architecture names it; 0 where it has none of these names.
int bits_of_vectors(std::string_view extension) {
  return extension == "avx512" ? 512 : extension == "avx2" ? 256 : extension == "baseline" ? 128 : 0;
}

/// Arithmetic that was compiled for narrower vectors than the ceiling's. Not where it is faster than these could be, as
/// in a library that chooses its code at run time, nor where memory takes longer than they need, or so little of it is
/// done that one after the other would do.
void advise_on_vectors(const PointAnalysis& it, List& list) {
  constexpr double worth_vectors = 0.04, accuracy = 1.1;
  const int own = bits_of_vectors(it.measurement.compiled_vectors), widest = bits_of_vectors(it.machine.vectors);
  const ResourceTime* const pipe = it.prediction.largest(ResourceKind::pipe);
  if (own == 0 || own >= widest || pipe == nullptr || it.measurement.unoptimized_code.value_or(false)) return;
  const double reached = pipe->seconds / it.beside_launch, narrower = static_cast<double>(own) / widest;
  if (reached < worth_vectors || reached > accuracy * narrower || pipe->seconds < narrower * it.memory_seconds) return;
  list.add_without_gain(AdviceCode::wider_vectors, "compile it for this processor's vectors, with -march=native",
                        fmt::format("its source is compiled for vectors of {} bits, and the {} ceiling is of {}", own,
                                    label_of(pipe->resource), widest));
}

void advise_on_grid(const PointAnalysis& it, List& list) {
  const double factor = it.prediction.wave_factor;
  const auto waves = waves_of(it.measurement.grid, it.machine.units);
  if (!waves || factor < min_gain) return;
  const auto blocks = it.measurement.grid->blocks;
  const double left = it.overhead_seconds + std::max(it.beside_launch / factor, it.binding.seconds);
  if (*waves < 1.0)
    list.add(AdviceCode::larger_grid, "launch more or smaller blocks: the grid is too small",
             fmt::format("{} on {}", plural(blocks, "block"), plural(it.machine.units, "multiprocessor")), left);
  else
    list.add(AdviceCode::even_last_wave,
             "fill the last wave of blocks: another block size, or blocks that fetch their work (a persistent kernel)",
             fmt::format("{} {} {:.2f} waves; some of the {} multiprocessors get {:.0f} % more than the mean",
                         plural(blocks, "block"), blocks == 1 ? "makes" : "make", *waves, it.machine.units,
                         100.0 * (factor - 1.0)),
             left);
}

/// What the table of resources says to do, as part of a sentence.
std::string action_of(std::string_view limiter) {
  std::string action(find_resource(limiter)->advice);
  action.pop_back();
  action.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(action.front())));
  return action;
}

/// What to do about what its warps wait for; of the grid it has been said.
constexpr std::pair<std::string_view, AdviceCode> remedies[] = {
    {resource::one_block, AdviceCode::more_independent_work},
    {resource::imbalance, AdviceCode::even_last_wave},
    {resource::barriers, AdviceCode::fewer_barriers},
    {resource::dependency, AdviceCode::more_independent_work},
    {resource::shared_latency, AdviceCode::more_independent_work},
    {resource::memory_latency, AdviceCode::more_bytes_in_flight},
    {resource::queued_loads, AdviceCode::coalesce},
    {resource::remote_memory, AdviceCode::relieve_unit},
    {resource::contended_atomics, AdviceCode::combine_updates}};

/// What each block takes so much of that few warps fit beside each other; empty where that is not the reason. Of one
/// kernel, as recorded.
std::string what_keeps_warps_out(const Measurement& measurement) {
  constexpr double few_warps = 30.0;     // percent of what a multiprocessor holds
  constexpr double registers = 65536.0;  // of a multiprocessor since Kepler (CUDA Programming Guide, table 21)
  constexpr double shared_bytes = 32.0 * 1024.0;
  const auto occupancy = counter(measurement, "occupancy");
  if (!occupancy || *occupancy > few_warps || !measurement.grid || !measurement.activity ||
      measurement.activity->kernels.size() != 1)
    return "";
  const KernelLaunch& kernel = measurement.activity->kernels.front();
  double threads = 1.0;
  for (const std::int64_t along : kernel.block) threads *= static_cast<double>(along);
  const auto fit = static_cast<double>(measurement.grid->blocks_per_multiprocessor);
  if (!(threads > 0.0) || !(fit > 0.0) || 100.0 * fit * threads / 2048.0 > few_warps) return "";
  if (static_cast<double>(kernel.registers) * threads * (fit + 1.0) > registers)
    return fmt::format("with {} registers a thread only {:.0f} threads fit on it at a time", kernel.registers,
                       fit * threads);
  const double bytes =
      static_cast<double>(kernel.static_shared_bytes) + static_cast<double>(kernel.dynamic_shared_bytes);
  if (bytes > shared_bytes)
    return fmt::format("with {} of shared memory a block only {:.0f} threads fit on it at a time",
                       format_value(bytes, "B"), fit * threads);
  return "";
}

/// Where the cause is not known, there is no advice.
void advise_on_latency(const PointAnalysis& it, List& list) {
  if (it.binding.decision.regime == Regime::overhead) return advise_on_start(it, list);
  const auto& [limiter, clause] = it.cause;
  if (is_by_grid(it.cause)) return;  // said of the grid
  if (limits_of_several_kernels(it))
    return list.add_without_gain(AdviceCode::look_at_kernels, "look at its kernels one by one, with --kernels",
                                 fmt::format("it runs {} kernels", it.measurement.launches->kernels));
  const auto* const remedy = std::ranges::find(remedies, limiter, &std::pair<std::string_view, AdviceCode>::first);
  if (remedy == std::end(remedies)) return;
  const bool by_warps = limiter == resource::barriers || limiter == resource::dependency ||
                        limiter == resource::shared_latency || limiter == resource::memory_latency;
  const std::string crowded = by_warps ? what_keeps_warps_out(it.measurement) : "";
  const std::string action =
      crowded.empty() ? action_of(limiter) : "let more warps run on each multiprocessor: " + crowded;
  if (limiter == resource::imbalance)
    list.add(remedy->second, action, clause,
             it.overhead_seconds + active_part(it.measurement).value_or(1.0) * it.beside_launch);
  else if (is_explained(it))
    list.add(remedy->second, action, clause, it.overhead_seconds + it.binding.seconds);
  else
    list.add_without_gain(remedy->second, action, clause);
}

/// What the operation would still take if its limiter cost nothing and all else stayed.
double seconds_without(const Resource& limiter, const PointAnalysis& it) {
  double left = it.busiest_unit ? busy_beside(it.measurement, limiter) * it.beside_launch : 0.0;
  for (const ResourceTime& each : it.prediction.resources)
    if (each.resource != limiter.name && !shares_unit(limiter, each.resource)) left = std::max(left, each.seconds);
  return it.overhead_seconds + std::min(left, it.beside_launch);
}

/// What the table of resources says of the limiter, with what is left when it is relieved where that is a gain.
void advise_by_table(const PointAnalysis& it, List& list, const std::string& evidence) {
  const Resource* const row = find_resource(it.binding.decision.limiter);
  if (row == nullptr || row->advice.empty()) return;
  // Combined updates still take a pass of their own: what is left if they cost nothing is no promise.
  if (it.is_contended) return list.add_without_gain(AdviceCode::relieve_unit, action_of(row->name), evidence);
  list.add(AdviceCode::relieve_unit, action_of(row->name), evidence, seconds_without(*row, it));
  if (list.empty()) list.add_without_gain(AdviceCode::relieve_unit, action_of(row->name), evidence);
}

/// At most as much faster as the clock could be higher.
void advise_on_power(const PointAnalysis& it, List& list) {
  list.add(
      AdviceCode::less_power, action_of(resource::power),
      fmt::format("the power limit holds the clock at {} of what it can be", format_percent(*it.clock_under_power)),
      it.overhead_seconds + it.beside_launch * *it.clock_under_power);
}

/// Tiles are read as often as the algorithm needs: coalescing is no advice for it.
bool is_matrix_product(const PointAnalysis& it) {
  const auto on_tensor = [](const auto& entry) {
    return entry.second > 0.0 && name_of(entry.first).starts_with("tensor");
  };
  return std::ranges::any_of(it.measurement.work.flops, on_tensor) ||
         std::ranges::any_of(counted_in(it.measurement).flops, on_tensor);
}

/// Whether local memory may explain bytes that nobody declared. What a thread has there is written and read at least
/// once, and loops come back to it (CUDA C++ Programming Guide, "Device Memory Accesses").
bool spills(const Measurement& measurement, double wasted_bytes) {
  constexpr double min_part = 0.02;
  return measurement.launches && 2.0 * measurement.launches->local_bytes.value_or(0.0) > min_part * wasted_bytes;
}

/// Bytes that L2 or DRAM, if it is the busiest memory level, moves and nobody asked for. Nothing is said where moving
/// them takes less than a third of the time.
void advise_on_waste(const PointAnalysis& it, List& list) {
  const ResourceTime* const level = it.prediction.largest(ResourceKind::memory);
  const double declared = it.measurement.work.bytes();
  if (!(it.prediction.counted || it.moves_whole_sectors) || level == nullptr || declared <= 0.0 ||
      3.0 * level->seconds < it.beside_launch)
    return;
  const Resource* const row = find_resource(level->resource);
  if (row == nullptr || !row->moves_sectors) return;
  const double moved = it.moves_whole_sectors ? *it.measurement.work.footprint_bytes
                                              : counted_in(it.measurement).bytes_of(level->resource);
  if (moved < 1.25 * declared) return;
  const double needed = declared / moved;
  double left = it.beside_launch - std::min(level->seconds, it.beside_launch) * (1.0 - needed);
  for (const ResourceTime& each : it.prediction.resources)
    left = std::max(left, each.kind == ResourceKind::memory ? each.seconds * needed : each.seconds);
  const auto evidence = fmt::format("it {} {} but declares {}", it.moves_whole_sectors ? "touches" : "moves",
                                    format_value(moved, "B"), format_value(declared, "B"));
  if (spills(it.measurement, moved - declared))
    return list.add(AdviceCode::fewer_spills,
                    "keep fewer values at a time in each thread, or allow it more registers (__launch_bounds__, "
                    "-maxrregcount); index arrays of a thread by constants",
                    fmt::format("{}, and its threads have {} of local memory", evidence,
                                format_value(*it.measurement.launches->local_bytes, "B")),
                    it.overhead_seconds + left);
  list.add(AdviceCode::coalesce,
           "coalesce: let neighbouring threads access neighbouring addresses, and read nothing twice", evidence,
           it.overhead_seconds + left);
}

bool is_random(const PointAnalysis& it, std::string_view limiter) {
  const auto has = [&](const RandomRates& rates) { return contains(rates, limiter, &RandomRate::resource); };
  return has(it.machine.random_reads) || has(it.machine.random_updates);
}

void advise_on_memory(const PointAnalysis& it, List& list) {
  if (is_random(it, it.decision.limiter)) {
    const auto& random = *it.measurement.work.random;
    list.add_without_gain(
        AdviceCode::coalesce, action_of(it.decision.limiter),
        fmt::format("it makes {} at random places of {}", format_value(random.reads + random.updates, "accesses"),
                    format_value(random.bytes, "B")));
    return;
  }
  const Work& work = it.measurement.work;
  const double spared = std::min(work.bytes_read, work.bytes_written);
  if (spared > 0.0)
    list.add(AdviceCode::fuse,
             "fuse it with the operation before or after it, so that data need not pass through memory",
             fmt::format("it reads {} and writes {}", format_value(work.bytes_read, "B"),
                         format_value(work.bytes_written, "B")),
             it.overhead_seconds + it.beside_launch * (1.0 - spared / work.bytes()));
  if (work.flops.contains(fp64))
    list.add(AdviceCode::smaller_format, "use FP32 instead of FP64 where its precision suffices",
             fmt::format("it moves {}, half of that in FP32", format_value(work.bytes(), "B")),
             it.overhead_seconds + 0.5 * it.beside_launch);
}

/// A pipe that could do the same work faster.
struct Faster {
  Pipe from;
  Pipe to;
  AdviceCode code;
  const char* action;
};
constexpr std::array<Faster, 9> faster_pipes = {
    {{fp32, tensor_tf32, AdviceCode::tensor_cores, "use tensor cores (TF32), if it is a matrix product"},
     {fp64, tensor_fp64, AdviceCode::tensor_cores, "use tensor cores (FP64), if it is a matrix product"},
     {fp16, tensor_fp16, AdviceCode::tensor_cores, "use tensor cores, if it is a matrix product"},
     {bf16, tensor_bf16, AdviceCode::tensor_cores, "use tensor cores, if it is a matrix product"},
     {fp64, fp32, AdviceCode::smaller_format, "compute in FP32 where its precision suffices"},
     {fp32, fp16, AdviceCode::smaller_format, "compute in FP16 where its precision and range suffice"},
     {tensor_tf32, tensor_bf16, AdviceCode::smaller_format, "multiply in BF16 where its precision suffices"},
     {tensor_fp16, tensor_fp8, AdviceCode::smaller_format, "multiply in FP8 where its precision suffices"},
     {tensor_bf16, tensor_fp8, AdviceCode::smaller_format, "multiply in FP8 where its precision suffices"}}};

void advise_on_compute(const PointAnalysis& it, List& list) {
  for (const auto& [from, to, code, action] : faster_pipes) {
    const auto& slow = it.machine.pipes[static_cast<std::size_t>(from)];
    const auto& fast = it.machine.pipes[static_cast<std::size_t>(to)];
    if (it.binding.decision.limiter != name_of(from) || !slow || !fast) continue;
    const double ratio = fast->per_second / slow->per_second;
    if (ratio <= 1.0) continue;
    list.add(code, action,
             fmt::format("the {} ceiling is {}x the {} ceiling", label_of(name_of(to)), format_number(ratio),
                         label_of(name_of(from))),
             it.overhead_seconds + std::max(it.beside_launch / ratio, it.memory_seconds));
  }
  if (list.empty() && it.machine.kind == DeviceKind::gpu)  // what the table says is of a GPU's pipes
    advise_by_table(
        it, list,
        fmt::format("it needs {} of {}", format_seconds(it.binding.seconds), format_seconds(it.time.seconds)));
}

}  // namespace

std::vector<Advice> advice_for(const PointAnalysis& it) {
  List list(it);
  if (it.decision.regime == Regime::overhead) {
    if (is_launch(it.decision))
      advise_on_overhead(it, list);
    else
      advise_on_start(it, list);
    return list.sorted();
  }
  if (it.decision.regime == Regime::unknown) return {};
  advise_on_grid(it, list);
  if (it.decision.regime != Regime::memory) advise_on_vectors(it, list);
  advise_on_threads(it, list);
  if (!is_matrix_product(it)) advise_on_waste(it, list);
  if (it.clock_under_power) advise_on_power(it, list);
  if (it.decision.regime == Regime::latency) advise_on_latency(it, list);
  if (it.rests_on_unit && it.decision.regime != Regime::latency) {
    advise_by_table(it, list,
                    fmt::format("{} is at {} of its peak", label_of(it.binding.decision.limiter),
                                format_percent(it.busiest_unit->busy)));
    return list.sorted();
  }
  if (it.decision.regime == Regime::memory) advise_on_memory(it, list);
  if (it.decision.regime == Regime::compute) advise_on_compute(it, list);
  return list.sorted();
}

}  // namespace gpubench::classifier
