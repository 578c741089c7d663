// SPDX-License-Identifier: Apache-2.0
// DRAM: reading, writing and their mixes, each with the fastest of many launches.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/cuda/calibration_context.h"
#include "gpu/memory.h"
#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

using probes::MemoryPattern;

constexpr double max_memory_bytes = 12.0 * gibibyte;  ///< triad then has 4 GiB an array
constexpr double share_of_free_memory = 0.6;

struct MemoryCandidate {
  std::string shape;
  std::function<cudaError_t()> launch;
};

struct Pattern {
  const char* resource;
  MemoryPattern pattern;
  std::size_t arrays;
};
constexpr Pattern patterns[] = {{"dram-read", MemoryPattern::read, 1},
                                {"dram-write", MemoryPattern::write, 1},
                                {"dram-copy", MemoryPattern::copy, 2},
                                {"dram-triad", MemoryPattern::triad, 3}};

std::vector<MemoryCandidate> candidates_of(CudaCalibrationContext& bench, const Pattern& what, std::size_t count) {
  float* const a = bench.pool.data();
  const float* const b = what.arrays > 1 ? a + count : a;
  const float* const c = what.arrays > 2 ? a + 2 * count : a;
  const auto stream = bench.stream;
  std::vector<MemoryCandidate> candidates;
  for (const auto shape : probes::memory_shapes(what.pattern)) {
    std::string text =
        fmt::format("16-byte accesses, {} a thread for each array, {} threads a block, grid covers the arrays once",
                    shape.accesses, shape.threads);
    if (shape.folds > 1) text += fmt::format(" in {} places at a time", shape.folds);
    candidates.push_back({std::move(text), [=, sink = bench.float_sink(), pattern = what.pattern] {
                            return probes::launch_memory(pattern, shape, a, b, c, count, sink, stream);
                          }});
  }
  for (const auto shape : probes::bulk_shapes(what.pattern))
    candidates.push_back({fmt::format("bulk copies (TMA) of {} KiB, {} stages a block, {} on each multiprocessor",
                                      shape.bytes / 1024, shape.stages, plural(shape.blocks, "block")),
                          [=, pattern = what.pattern, multiprocessors = bench.multiprocessors()] {
                            return probes::launch_bulk(pattern, shape, a, b, count, multiprocessors, stream);
                          }});
  return candidates;
}

/// `shape`: the only one to try, where there is such a one; empty for all.
void add_pattern(CudaCalibrationContext& bench, const Pattern& what, const std::string& size, const std::string& caveat,
                 const std::string& shape = "") {
  const std::size_t granule = probes::memory_granule;
  const std::size_t count = bench.pool.size() / what.arrays / granule * granule;
  auto candidates = candidates_of(bench, what, count);
  if (const auto same = std::ranges::find(candidates, shape, &MemoryCandidate::shape); same != candidates.end())
    candidates = {*same};
  const MemoryCandidate* best = nullptr;
  double best_seconds = 0.0;
  std::size_t tried = 0;
  for (const auto& candidate : candidates) {
    if (const cudaError_t error = candidate.launch(); error == cudaErrorNotSupported) {
      (void)cudaGetLastError();
      continue;
    } else {
      check_cuda(error, "launching a memory probe");
    }
    ++tried;
    const double seconds = 0.5 * bench.timer.seconds([&] {
      for (int i = 0; i < 2; ++i) check_cuda(candidate.launch(), "launching a memory probe");
    });
    if (best != nullptr && seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = &candidate;
  }
  if (best == nullptr) throw CudaError("no memory probe runs on this GPU");
  const int launches = static_cast<int>(std::clamp(std::ceil(sample_seconds / best_seconds), 1.0, 1000.0));
  Probe probe;
  probe.ceiling = new_ceiling(
      what.resource, "B/s", CeilingGroup::memory,
      fmt::format("{} in {}, the best of {} launch shapes; samples of {} launch{}", size,
                  plural(static_cast<long long>(what.arrays), "array"), tried, launches, launches == 1 ? "" : "es"));
  probe.ceiling.shape = best->shape;
  probe.ceiling.conditions = what.pattern == MemoryPattern::write ? "values in [1, 2)" : "normal random data";
  probe.ceiling.work_per_run = launches * probes::memory_bytes(what.pattern, count);
  if (!caveat.empty()) probe.ceiling.caveats.push_back(caveat);
  probe.enqueue = [launch = best->launch, launches] {
    for (int i = 0; i < launches; ++i) check_cuda(launch(), "launching a memory probe");
  };
  probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{"dram_read_bytes", "dram_write_bytes"}};
  probe.sustained_seconds = 0.3;
  bench.probes.push_back(std::move(probe));
}

void make_pool(CudaCalibrationContext& bench, std::string& size, std::string& caveat) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  constexpr std::size_t granule = 6 * probes::memory_granule;  // whole granules for two and for three arrays
  const double wanted = std::min(max_memory_bytes, share_of_free_memory * static_cast<double>(free_bytes));
  const std::size_t count = static_cast<std::size_t>(wanted / 4.0) / granule * granule;
  if (count == 0)
    throw OutOfMemory(
        fmt::format("only {} of the GPU's memory are free", format_bytes(static_cast<double>(free_bytes))));
  bench.pool = DeviceVector<float>(count);
  detail::draw_device(bench.pool.data(), detail::ElementKind::float32, detail::Filling::normal, 4, count, 3);
  size = fmt::format("{} GiB", format_number(4.0 * static_cast<double>(count) / gibibyte));
  if (wanted < max_memory_bytes)
    caveat = "only 60 % of the free memory was taken; with less than 4 GiB an array the figure may be low";
}

constexpr std::size_t near_set_bytes = std::size_t{12} << 20;
constexpr double near_pass_bytes = 256.0 * mebibyte;  ///< read by each "loop" of the L2 probe
constexpr std::size_t l1_set_bytes = std::size_t{64} << 10;

Probe cache_probe(const std::string& resource, const std::string& method) {
  Probe probe;
  probe.ceiling = new_ceiling(resource, "B/s", CeilingGroup::memory, method);
  return probe;
}

void add_l2(CudaCalibrationContext& bench, std::size_t set, const char* resource,
            std::span<const probes::WorkingSetShape> shapes, const char* what) {
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

void add_l2(CudaCalibrationContext& bench) {
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

void add_l1(CudaCalibrationContext& bench) {
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

void add_shared(CudaCalibrationContext& bench, int conflicts) {
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

void add_lsu(CudaCalibrationContext& bench) {
  Probe probe;
  probe.ceiling =
      new_ceiling("lsu", "op/s", CeilingGroup::memory,
                  "4-byte loads from shared memory, of one word by all threads of a warp; one operation for "
                  "each thread");
  probe.ceiling.shape = "one block of 1024 threads on each multiprocessor";
  constexpr int load_bytes = 4;
  probe.limit_for_clock = probes::local_bytes_limit(bench.major, bench.minor) / load_bytes;  // a thread for each bank
  probe.counted = {{"smsp__inst_executed_pipe_lsu.sum"}, {"sm__inst_executed_pipe_lsu.sum"}};
  probe.counted_factor = 32.0;
  bench.add_loops(std::move(probe), [](const probes::LoopLaunch& launch, probes::Launched& launched) {
    const cudaError_t error = probes::launch_shared(0, launch, launched);
    launched.work /= load_bytes;
    return error;
  });
}

void add_constant(CudaCalibrationContext& bench) {
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

}  // namespace

void add_memory_probes(CudaCalibrationContext& bench) {
  std::string size;
  std::string caveat;
  std::vector<std::string> resources;
  for (const auto& pattern : patterns) resources.emplace_back(pattern.resource);
  bench.attempt(resources, [&] {
    make_pool(bench, size, caveat);
    for (const auto& pattern : patterns)
      bench.attempt({pattern.resource}, [&] { add_pattern(bench, pattern, size, caveat); });
  });
}

void add_memory_probe_like(CudaCalibrationContext& bench, const Ceiling& stored) {
  std::string size;
  std::string caveat;
  make_pool(bench, size, caveat);
  for (const auto& pattern : patterns)
    if (pattern.resource == stored.resource) add_pattern(bench, pattern, size, caveat, stored.shape);
}

void add_cache_probes(CudaCalibrationContext& bench) {
  if (bench.pool.size() == 0) {
    bench.absent({"l2-near", "l2-merged", "l1"}, "there was no memory for DRAM's probes either");
  } else {
    bench.attempt({"l2-near", "l2-merged"}, [&] { add_l2(bench); });
    bench.attempt({"l1"}, [&] { add_l1(bench); });
  }
  for (const int conflicts : {1, 2, 32})
    bench.attempt({conflicts == 1 ? "shared" : fmt::format("shared-conflict-{}", conflicts)},
                  [&] { add_shared(bench, conflicts); });
  bench.attempt({"lsu"}, [&] { add_lsu(bench); });
  bench.attempt({"constant"}, [&] { add_constant(bench); });
}

void add_atomics_probes(CudaCalibrationContext& bench) {
  const auto add = [&](const std::string& memory, const std::string& what, const char* shape, const auto& launch) {
    for (const auto& [contention, where] : contentions) {
      const std::string resource = fmt::format("atomic-{}-{}", memory, name_of(contention));
      Probe probe;
      probe.ceiling = new_ceiling(resource, "op/s", CeilingGroup::atomics, fmt::format("{}, {}", what, where));
      probe.ceiling.shape = shape;
      bench.attempt({resource}, [&, contention = contention] {
        bench.add_loops(std::move(probe), [launch, contention](const probes::LoopLaunch& how, probes::Launched& done) {
          return launch(contention, how, done);
        });
      });
    }
  };
  std::vector<std::string> global;
  for (const char* memory : {"global", "global-float", "global-float-returning"})
    for (const std::string_view name : probes::contention_names)
      global.push_back(fmt::format("atomic-{}-{}", memory, name));
  bench.attempt(global, [&] {
    const std::size_t bytes = probes::atomics_bytes(bench.multiprocessors());
    std::byte* const counters = bench.keep(bytes);
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(counters, 0, bytes, bench.stream));
    constexpr const char* full = "8 blocks of 256 threads on each multiprocessor";
    add("global", "32-bit additions without a result", full,
        [counters](Contention contention, const probes::LoopLaunch& launch, probes::Launched& launched) {
          return probes::launch_global_atomics(contention, counters, launch, launched);
        });
    for (const bool returning : {false, true})
      add(returning ? "global-float-returning" : "global-float",
          fmt::format("additions in FP32 with{} a result", returning ? "" : "out"), full,
          [counters, returning](Contention contention, const probes::LoopLaunch& launch, probes::Launched& launched) {
            return probes::launch_float_atomics(contention, returning, counters, launch, launched);
          });
  });
  add("shared", "32-bit additions without a result", "one block of 1024 threads on each multiprocessor",
      [](Contention contention, const probes::LoopLaunch& launch, probes::Launched& launched) {
        return probes::launch_shared_atomics(contention, nullptr, launch, launched);
      });
}

}  // namespace gpubench::calibrate
