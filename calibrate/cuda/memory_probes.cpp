// SPDX-License-Identifier: Apache-2.0
// Memory: DRAM by its mixes of reads and writes, caches, atomics, random places, and the commands that copy and fill.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/cuda/cuda_calibration.h"
#include "gpu/memory/memory.h"
#include "kernels/probes/access_order.h"
#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

using probes::MemoryPattern;

constexpr double max_memory_bytes = 12.0 * gibibyte;  ///< triad then has 4 GiB an array
constexpr double share_of_free_memory = 0.6;
constexpr const char* no_pool = "there was no memory for DRAM's probes either";

struct MemoryCandidate {
  std::string shape;
  std::function<void()> launch;
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

std::vector<MemoryCandidate> candidates_of(CudaCalibration& bench, const Pattern& what, std::size_t count) {
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
  return candidates;
}

/// `shape`: the only one to try, where there is such a one; empty for all.
void add_pattern(CudaCalibration& bench, const Pattern& what, const std::string& size, const std::string& caveat,
                 const std::string& shape = "") {
  const std::size_t granule = probes::memory_granule;
  const std::size_t count = bench.pool.size() / what.arrays / granule * granule;
  auto candidates = candidates_of(bench, what, count);
  if (const auto same = std::ranges::find(candidates, shape, &MemoryCandidate::shape); same != candidates.end())
    candidates = {*same};
  int tried = 0;
  std::vector<double> seconds(candidates.size());
  const std::size_t place = bench.fastest(candidates.size(), [&](std::size_t i) {
    candidates[i].launch();
    ++tried;
    seconds[i] = 0.5 * bench.timer.seconds([&] {
      for (int k = 0; k < 2; ++k) candidates[i].launch();
    });
    return 1.0 / seconds[i];
  });
  const MemoryCandidate& best = candidates[place];
  const int launches = static_cast<int>(std::clamp(std::ceil(sample_seconds / seconds[place]), 1.0, 1000.0));
  Probe probe;
  probe.ceiling = new_ceiling(what.resource, "B/s", CeilingGroup::memory,
                              fmt::format("{} in {}, the best of {} launch shapes; samples of {}", size,
                                          plural(what.arrays, "array"), tried, plural(launches, "launch", "launches")));
  probe.ceiling.shape = best.shape;
  probe.ceiling.conditions = what.pattern == MemoryPattern::write ? "values in [1, 2)" : "normal random data";
  probe.ceiling.work_per_run = launches * probes::memory_bytes(what.pattern, count);
  if (!caveat.empty()) probe.ceiling.caveats.push_back(caveat);
  probe.enqueue = [launch = best.launch, launches] {
    for (int i = 0; i < launches; ++i) launch();
  };
  probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{"dram_read_bytes", "dram_write_bytes"}};
  probe.sustained_seconds = 0.3;
  bench.probes.push_back(std::move(probe));
}

void make_pool(CudaCalibration& bench, std::string& size, std::string& caveat) {
  const std::size_t free_bytes = detail::free_device_bytes();
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

Probe cache_probe(const std::string& resource, const std::string& method, double limit_for_clock,
                  std::vector<std::vector<std::string>> counted, double counted_factor = 1.0) {
  Probe probe;
  probe.ceiling = new_ceiling(resource, "B/s", CeilingGroup::memory, method);
  if (limit_for_clock > 0.0) probe.limit_for_clock = limit_for_clock;
  probe.counted = std::move(counted);
  probe.counted_factor = counted_factor;
  return probe;
}

void add_l2(CudaCalibration& bench) {
  if (bench.pool.size() == 0) throw OutOfMemory(no_pool);
  const std::size_t cache = bench.cache_bytes();
  // Well inside half of the cache: beyond that some multiprocessors' lines lie in the far half alone.
  const std::size_t set = std::min(near_set_bytes, cache / 3) / 16384 * 16384;
  if (set < probes::min_working_set() || set > bench.pool.bytes())
    throw GpuError(
        fmt::format("an L2 cache of {} is too small for a set that no two multiprocessors ask for at the same time",
                    format_bytes(static_cast<double>(cache))));
  Probe probe = cache_probe(
      "l2-near",
      fmt::format("16-byte loads past L1 of {}, read again and again", format_bytes(static_cast<double>(set))),
      l2_port_bytes, {{"lts__t_sectors_srcunit_tex.sum"}}, 32.0);
  probe.ceiling.conditions = "normal random data";
  probe.work_is_as_counted = true;  // a few are merged
  using Shape = probes::WorkingSetShape;
  const auto kernel = [&bench, set](Shape shape, const probes::LoopLaunch& launch) {
    return probes::launch_working_set(shape, bench.pool.data(), set,
                                      static_cast<double>(launch.loops) * near_pass_bytes, bench.float_sink(),
                                      launch.clock, launch.stream);
  };
  const auto text = [](Shape shape) {
    return fmt::format("{} loads in flight a thread, {} threads a block, all blocks side by side through the set",
                       shape.loads, shape.threads);
  };
  bench.add_fastest(std::move(probe), probes::working_set_shapes(), kernel, text);
}

void add_l1(CudaCalibration& bench) {
  const std::size_t bytes = l1_set_bytes * static_cast<std::size_t>(bench.multiprocessors());
  if (bytes > bench.pool.bytes()) throw OutOfMemory("too little memory is free");
  Probe probe = cache_probe("l1", "each multiprocessor reads 64 KiB of its own again and again",
                            probes::local_bytes_limit(bench.major, bench.minor), {{"l1_bytes"}});
  probe.ceiling.conditions = "normal random data";
  const auto kernel = [&bench](probes::CacheShape shape, const probes::LoopLaunch& launch) {
    return probes::launch_cache(shape, bench.pool.data(), l1_set_bytes, launch);
  };
  bench.add_fastest(std::move(probe), probes::cache_shapes(), kernel, probes::cache_shape_text);
}

constexpr const char* one_large_block = "one block of 1024 threads on each multiprocessor";

void add_shared(CudaCalibration& bench) {
  Probe probe =
      cache_probe("shared", "16-byte loads without bank conflicts", probes::local_bytes_limit(bench.major, bench.minor),
                  {{"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}}, 128.0);
  probe.ceiling.shape = one_large_block;
  bench.add_loops(std::move(probe), probes::launch_shared<false>);
}

void add_lsu(CudaCalibration& bench) {
  constexpr int load_bytes = 4;
  Probe probe = cache_probe("lsu",
                            "4-byte loads from shared memory, of one word by all threads of a warp; one operation for "
                            "each thread",
                            probes::local_bytes_limit(bench.major, bench.minor) / load_bytes,  // a thread a bank
                            {{"smsp__inst_executed_pipe_lsu.sum"}, {"sm__inst_executed_pipe_lsu.sum"}}, 32.0);
  probe.ceiling.unit = "op/s";
  probe.ceiling.shape = one_large_block;
  bench.add_loops(std::move(probe), probes::launch_shared<true>);
}

using probes::Contention;

constexpr std::pair<Contention, const char*> contentions[] = {{Contention::one_address, "all threads at one address"},
                                                              {Contention::one_per_warp, "one address for each warp"},
                                                              {Contention::spread, "one address for each thread"}};

// ---- Random places, and the commands that copy and fill

using probes::RandomAccess;

constexpr double share_of_l2 = 0.5;  ///< that the random accesses to L2 go over
constexpr double max_copied_bytes = 4.0 * gibibyte;

struct RandomProbe {
  const char* resource;
  RandomAccess access;
  bool in_l2;
};
constexpr RandomProbe random_probes[] = {{"l2-random-read", RandomAccess::read, true},
                                         {"dram-random-read", RandomAccess::read, false},
                                         {"l2-random-update", RandomAccess::update, true},
                                         {"dram-random-update", RandomAccess::update, false}};

void add_random(CudaCalibration& bench, const RandomProbe& what) {
  if (bench.pool.size() == 0) throw OutOfMemory(no_pool);
  const bool reads = what.access == RandomAccess::read;
  const auto half_of_l2 = static_cast<std::size_t>(share_of_l2 * static_cast<double>(bench.cache_bytes()));
  const std::size_t bytes = what.in_l2 ? half_of_l2 : bench.pool.bytes();
  if (bytes == 0) throw GpuError("the driver does not tell how large the L2 cache is");
  if (bytes > bench.pool.bytes()) throw OutOfMemory(no_memory);
  const double of_access = reads ? probes::sector_bytes : 1.0;
  const std::string set = format_bytes(static_cast<double>(bytes));
  Probe probe;
  probe.ceiling = reads
                      ? new_ceiling(what.resource, "B/s", CeilingGroup::memory,
                                    fmt::format("4-byte loads at random places of {}, 32 bytes counted for each", set))
                      : new_ceiling(what.resource, "op/s", CeilingGroup::atomics,
                                    fmt::format("64-bit additions without a result at random places of {}", set));
  if (reads && what.in_l2) probe.limit_for_clock = l2_port_bytes;
  if (reads && !what.in_l2) probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{reads ? "lts__t_sectors_srcunit_tex.sum" : "lts__t_sectors_srcunit_tex_op_red.sum"}};
  probe.counted_factor = of_access;
  using Shape = probes::RandomShape;
  const auto kernel = [&bench, access = what.access, bytes, of_access](Shape shape, const probes::LoopLaunch& launch) {
    probes::Launched launched = probes::launch_random(access, shape, bench.pool.data(), bytes, launch);
    launched.work *= of_access;
    return launched;
  };
  const auto text = [reads](Shape shape) {
    return fmt::format("{} accesses in flight a thread, {} threads a block, as many blocks as run at once{}",
                       shape.in_flight, shape.threads, reads && shape.past_l1 ? ", past L1" : "");
  };
  bench.add_fastest(std::move(probe), probes::random_shapes(what.access), kernel, text);
}

/// A command of the driver, which runs on an engine that the driver chooses.
struct Command {
  const char* resource;
  const char* what;
  bool copies;
};
constexpr Command commands[] = {{"copy-rate-device-to-device", "cudaMemcpyAsync in a stream", true},
                                {"fill-rate", "cudaMemsetAsync in a stream", false}};

/// `filled`: memory of `bytes` that no other probe reads.
void add_command(CudaCalibration& bench, const Command& what, std::byte* filled, std::size_t bytes) {
  auto* const pool = reinterpret_cast<std::byte*>(bench.pool.data());
  const auto work_of = [&](int times) {
    return [=, copies = what.copies, stream = bench.stream] {
      for (int i = 0; i < times; ++i)
        if (copies)
          probes::enqueue_copy(pool, pool + bytes, bytes, probes::Direction::within_gpu, stream);
        else
          probes::enqueue_fill(filled, 0x5A, bytes, stream);
    };
  };
  const auto once = work_of(1);
  once();  // sets up what the driver sets up once
  const int times = static_cast<int>(std::clamp(std::ceil(sample_seconds / bench.timer.seconds(once)), 1.0, 100.0));
  Probe probe;
  probe.ceiling = new_ceiling(what.resource, "B/s", CeilingGroup::memory,
                              fmt::format("{}, {} each, samples of {}", what.what,
                                          format_bytes(static_cast<double>(bytes)), plural(times, "command")));
  if (what.copies) probe.ceiling.method += "; bytes read and bytes written, both counted";
  probe.ceiling.conditions = what.copies ? "normal random data" : "one byte again and again";
  probe.ceiling.work_per_run = (what.copies ? 2.0 : 1.0) * static_cast<double>(times) * static_cast<double>(bytes);
  probe.enqueue = work_of(times);
  probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{"dram_read_bytes", "dram_write_bytes"}};
  bench.probes.push_back(std::move(probe));
}

}  // namespace

void add_memory_probes(CudaCalibration& bench) {
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

void add_memory_probe_like(CudaCalibration& bench, const Ceiling& stored) {
  std::string size;
  std::string caveat;
  make_pool(bench, size, caveat);
  for (const auto& pattern : patterns)
    if (pattern.resource == stored.resource) add_pattern(bench, pattern, size, caveat, stored.shape);
}

void add_cache_probes(CudaCalibration& bench) {
  bench.attempt({"l2-near"}, [&] { add_l2(bench); });
  bench.attempt({"l1"}, [&] { add_l1(bench); });
  bench.attempt({"shared"}, [&] { add_shared(bench); });
  bench.attempt({"lsu"}, [&] { add_lsu(bench); });
}

void add_atomics_probes(CudaCalibration& bench) {
  struct Kind {
    const char* name;
    const char* what;
    probes::Launched (*launch)(Contention, void*, const probes::LoopLaunch&);
  };
  constexpr Kind kinds[] = {
      {"atomic-global", "32-bit additions without a result", probes::launch_atomics<unsigned>},
      {"atomic-global-float", "additions in FP32 without a result", probes::launch_atomics<float>}};
  bench.attempt({kinds[0].name, kinds[1].name}, [&] {
    const std::size_t bytes = probes::atomics_bytes(bench.multiprocessors());
    std::byte* const counters = bench.keep(bytes);
    probes::enqueue_fill(counters, 0, bytes, bench.stream);
    for (const Kind& kind : kinds)
      for (const auto& [contention, where] : contentions) {
        const std::string resource = fmt::format("{}-{}", kind.name, name_of(contention));
        bench.attempt({resource}, [&, contention = contention, where = where] {
          Probe probe;
          probe.ceiling = new_ceiling(resource, "op/s", CeilingGroup::atomics, fmt::format("{}, {}", kind.what, where));
          probe.ceiling.shape = "8 blocks of 256 threads on each multiprocessor";
          bench.add_loops(std::move(probe),
                          [launch = kind.launch, contention, counters](const probes::LoopLaunch& how) {
                            return launch(contention, counters, how);
                          });
        });
      }
  });
}

void add_random_probes(CudaCalibration& bench) {
  for (const RandomProbe& what : random_probes) bench.attempt({what.resource}, [&] { add_random(bench, what); });
}

void add_copy_probes(CudaCalibration& bench) {
  std::vector<std::string> resources;
  for (const Command& what : commands) resources.emplace_back(what.resource);
  bench.attempt(resources, [&] {
    const auto bytes =
        static_cast<std::size_t>(std::min(max_copied_bytes, static_cast<double>(bench.pool.bytes()) / 3.0)) / 4096 *
        4096;
    if (bytes == 0) throw OutOfMemory(no_pool);
    std::byte* const filled = bench.keep(bytes);
    for (const Command& what : commands)
      bench.attempt({what.resource}, [&] { add_command(bench, what, filled, bytes); });
  });
}

}  // namespace gpubench::calibrate
