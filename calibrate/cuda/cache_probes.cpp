// SPDX-License-Identifier: Apache-2.0
// On the chip: bandwidth of near L2, L1, shared and constant memory, and atomic additions by contention.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/cuda/workbench.h"
#include "kernels/probes/cuda_compute.h"
#include "kernels/probes/cuda_memory.h"

namespace gpubench::calibrate {
namespace {

constexpr std::size_t near_set_bytes = std::size_t{12} << 20;
constexpr double near_pass_bytes = 256.0 * mebibyte;  ///< read by each "loop" of the L2 probe
constexpr double l2_port_bytes = 64.0;                ///< that L2 sends a multiprocessor in a clock at most
constexpr std::size_t l1_set_bytes = std::size_t{64} << 10;

Probe cache_probe(const std::string& resource, const std::string& method) {
  Probe probe;
  probe.ceiling = new_ceiling(resource, "B/s", CeilingGroup::memory, method);
  return probe;
}

void add_l2(Workbench& bench, std::size_t set, const char* resource, std::span<const probes::WorkingSetShape> shapes,
            const char* what) {
  std::vector<LoopKernel> kernels;
  for (const auto shape : shapes)
    kernels.emplace_back([&bench, shape, set](const probes::LoopLaunch& launch, probes::Launched& launched) {
      return probes::launch_working_set(shape, bench.pool.data(), set,
                                        static_cast<double>(launch.loops) * near_pass_bytes, bench.float_sink(),
                                        launch.clock, launch.stream, launched);
    });
  const std::size_t best = bench.fastest(kernels);
  const auto shape = shapes[best];
  Probe probe = cache_probe(resource, fmt::format("16-byte loads past L1 of {}, read again and again{}",
                                                  format_bytes(static_cast<double>(set)), what));
  probe.ceiling.shape =
      fmt::format("{} loads in flight a thread, {} threads a block, {}", shape.loads, shape.threads,
                  shape.start == probes::WorkingSetStart::side_by_side
                      ? "all blocks side by side through the set"
                      : "one block a multiprocessor, each through the whole set from a start of its own");
  probe.ceiling.conditions = "normal random data";
  probe.limit_for_clock = l2_port_bytes;
  if (shape.start != probes::WorkingSetStart::neighbours) {  // of merged requests there are fewer
    probe.counted = {{"lts__t_sectors_srcunit_tex.sum"}};
    probe.counted_factor = 32.0;
    probe.work_is_as_counted = true;  // side by side a few are merged, too
  }
  bench.add_loops(std::move(probe), kernels[best]);
}

void add_l2(Workbench& bench) {
  const std::size_t cache = bench.cache_bytes();
  std::size_t smallest = 0;
  GPUBENCH_CUDA_CHECK(probes::min_working_set(smallest));
  // Well inside half of the cache: beyond that some multiprocessors' lines lie in the far half alone.
  const std::size_t set = std::min(near_set_bytes, cache / 3) / 16384 * 16384;
  if (set < smallest || set > bench.pool.bytes())
    return bench.absent(
        {"l2-near", "l2-merged"},
        fmt::format("an L2 cache of {} is too small for a set that no two multiprocessors ask for at the "
                    "same time",
                    format_bytes(static_cast<double>(cache))));
  add_l2(bench, set, "l2-near", probes::working_set_shapes(), "");
  add_l2(bench, set, "l2-merged", probes::merged_working_set_shapes(),
         ": bytes that multiprocessors receive; those that follow each other ask for the same lines within a "
         "microsecond, and their requests are merged on the way, so L2 itself delivers fewer");
}

void add_l1(Workbench& bench) {
  const std::size_t bytes = l1_set_bytes * static_cast<std::size_t>(bench.multiprocessors());
  if (bytes > bench.pool.bytes()) return bench.absent({"l1"}, "too little memory is free");
  std::vector<LoopKernel> kernels;
  for (const auto shape : probes::cache_shapes())
    kernels.emplace_back([&bench, shape](const probes::LoopLaunch& launch, probes::Launched& launched) {
      return probes::launch_cache(shape, bench.pool.data(), l1_set_bytes, launch, launched);
    });
  const std::size_t best = bench.fastest(kernels);
  Probe probe = cache_probe("l1", "each multiprocessor reads 64 KiB of its own again and again");
  probe.ceiling.shape = probes::cache_shape_text(probes::cache_shapes()[best]);
  probe.ceiling.conditions = "normal random data";
  probe.limit_for_clock = probes::local_bytes_limit(bench.major, bench.minor);
  probe.counted = {{"l1_bytes"}};
  bench.add_loops(std::move(probe), kernels[best]);
}

void add_shared(Workbench& bench, int conflicts) {
  Probe probe = cache_probe(conflicts == 1 ? "shared" : fmt::format("shared-conflict-{}", conflicts),
                            conflicts == 1 ? "16-byte loads without bank conflicts"
                                           : fmt::format("4-byte loads of which {} of a warp fall into one bank; bytes "
                                                         "that threads get",
                                                         conflicts));
  probe.ceiling.shape = "one block of 1024 threads on each multiprocessor";
  probe.limit_for_clock = static_cast<double>(probes::local_bytes_limit(bench.major, bench.minor)) / conflicts;
  probe.counted = {{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}};
  probe.counted_factor = 128.0 / conflicts;
  bench.add_loops(std::move(probe), [conflicts](const probes::LoopLaunch& launch, probes::Launched& launched) {
    return probes::launch_shared(conflicts, launch, launched);
  });
}

void add_constant(Workbench& bench) {
  Probe probe = cache_probe("constant",
                            "each warp reads one address of 4 KiB after the other, 16 bytes for all its "
                            "threads, counted once for the warp");
  probe.ceiling.shape = "4 blocks of 256 threads on each multiprocessor";
  bench.add_loops(std::move(probe), probes::launch_constant);
}

using probes::Contention;

constexpr std::pair<Contention, const char*> contentions[] = {{Contention::one_address, "all threads at one address"},
                                                              {Contention::one_per_warp, "one address for each warp"},
                                                              {Contention::spread, "one address for each thread"}};

Probe atomics_probe(const std::string& resource, const char* where) {
  Probe probe;
  probe.ceiling =
      new_ceiling(resource, "op/s", CeilingGroup::atomics, fmt::format("32-bit additions without a result, {}", where));
  return probe;
}

}  // namespace

void add_cache_probes(Workbench& bench) {
  if (bench.pool.size() == 0) {
    bench.absent({"l2-near", "l2-merged", "l1"}, "there was no memory for DRAM's probes either");
  } else {
    bench.attempt({"l2-near", "l2-merged"}, [&] { add_l2(bench); });
    bench.attempt({"l1"}, [&] { add_l1(bench); });
  }
  for (const int conflicts : {1, 2, 32})
    bench.attempt({conflicts == 1 ? "shared" : fmt::format("shared-conflict-{}", conflicts)},
                  [&] { add_shared(bench, conflicts); });
  bench.attempt({"constant"}, [&] { add_constant(bench); });
}

void add_atomics_probes(Workbench& bench) {
  bench.attempt({"atomic-global-one", "atomic-global-warp", "atomic-global-spread"}, [&] {
    const std::size_t bytes = probes::atomics_bytes(bench.multiprocessors());
    std::byte* const counters = bench.keep(bytes);
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(counters, 0, bytes, bench.stream));
    for (const auto& [contention, where] : contentions) {
      const std::string resource = fmt::format("atomic-global-{}", name_of(contention));
      Probe probe = atomics_probe(resource, where);
      probe.ceiling.shape = "8 blocks of 256 threads on each multiprocessor";
      bench.attempt({resource}, [&, contention = contention] {
        bench.add_loops(std::move(probe), [=](const probes::LoopLaunch& launch, probes::Launched& launched) {
          return probes::launch_global_atomics(contention, counters, launch, launched);
        });
      });
    }
  });
  for (const auto& [contention, where] : contentions) {
    const std::string resource = fmt::format("atomic-shared-{}", name_of(contention));
    Probe probe = atomics_probe(resource, where);
    probe.ceiling.shape = "one block of 1024 threads on each multiprocessor";
    bench.attempt({resource}, [&, contention = contention] {
      bench.add_loops(std::move(probe), [contention](const probes::LoopLaunch& launch, probes::Launched& launched) {
        return probes::launch_shared_atomics(contention, nullptr, launch, launched);
      });
    });
  }
}

}  // namespace gpubench::calibrate
