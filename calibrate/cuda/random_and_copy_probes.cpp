// SPDX-License-Identifier: Apache-2.0
// Memory at random places, and the commands that copy and fill it. All of it in full calibrations alone.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/cuda/calibration_context.h"
#include "kernels/probes/cuda/memory.h"
#include "kernels/probes/random_sector.h"

namespace gpubench::calibrate {
namespace {

using probes::RandomAccess;

constexpr const char* no_pool = "there was no memory for DRAM's probes either";
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

void add_random(CudaCalibrationContext& bench, const RandomProbe& what) {
  if (bench.pool.size() == 0) throw OutOfMemory(no_pool);
  const bool reads = what.access == RandomAccess::read;
  const auto half_of_l2 = static_cast<std::size_t>(share_of_l2 * static_cast<double>(bench.cache_bytes()));
  const std::size_t bytes = what.in_l2 ? half_of_l2 : bench.pool.bytes();
  if (bytes == 0) throw CudaError("the driver does not tell how large the L2 cache is");
  if (bytes > bench.pool.bytes()) throw OutOfMemory(no_memory);
  const double of_access = reads ? probes::sector_bytes : 1.0;
  const auto shapes = probes::random_shapes(what.access);
  std::vector<LoopKernel> kernels;
  for (const auto shape : shapes)
    kernels.emplace_back([&bench, access = what.access, shape, bytes, of_access](const probes::LoopLaunch& launch,
                                                                                 probes::Launched& launched) {
      const cudaError_t error = probes::launch_random(access, shape, bench.pool.data(), bytes, launch, launched);
      launched.work *= of_access;
      return error;
    });
  const std::size_t best = bench.fastest(kernels);
  const std::string set = format_bytes(static_cast<double>(bytes));
  Probe probe;
  probe.ceiling = reads
                      ? new_ceiling(what.resource, "B/s", CeilingGroup::memory,
                                    fmt::format("4-byte loads at random places of {}, 32 bytes counted for each", set))
                      : new_ceiling(what.resource, "op/s", CeilingGroup::atomics,
                                    fmt::format("64-bit additions without a result at random places of {}", set));
  probe.ceiling.shape =
      fmt::format("{} accesses in flight a thread, {} threads a block, as many blocks as run at once{}",
                  shapes[best].in_flight, shapes[best].threads, reads && shapes[best].past_l1 ? ", past L1" : "");
  if (reads && what.in_l2) probe.limit_for_clock = l2_port_bytes;
  if (reads && !what.in_l2) probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{reads ? "lts__t_sectors_srcunit_tex.sum" : "lts__t_sectors_srcunit_tex_op_red.sum"}};
  probe.counted_factor = of_access;
  bench.add_loops(std::move(probe), kernels[best]);
}

/// A command of the driver, which runs on an engine that the driver chooses.
struct Command {
  const char* resource;
  const char* what;
  bool copies;
  bool in_graph;
};
constexpr Command commands[] = {
    {"copy-rate-device-to-device", "cudaMemcpyAsync in a stream", true, false},
    {"copy-rate-device-to-device-graph", "copies of cudaMemcpyAsync in a CUDA graph", true, true},
    {"fill-rate", "cudaMemsetAsync in a stream", false, false},
    {"fill-rate-graph", "fills of cudaMemsetAsync in a CUDA graph", false, true}};

/// `filled`: memory of `bytes` that no other probe reads.
void add_command(CudaCalibrationContext& bench, const Command& what, std::byte* filled, std::size_t bytes) {
  auto* const pool = reinterpret_cast<std::byte*>(bench.pool.data());
  const auto work_of = [&](int times) -> std::function<void()> {
    const auto work = [=, copies = what.copies, stream = bench.stream] {
      for (int i = 0; i < times; ++i)
        if (copies)
          GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(pool, pool + bytes, bytes, cudaMemcpyDeviceToDevice, stream));
        else
          GPUBENCH_CUDA_CHECK(cudaMemsetAsync(filled, 0x5A, bytes, stream));
    };
    return what.in_graph ? bench.as_graph(work) : work;
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

void add_random_probes(CudaCalibrationContext& bench) {
  for (const RandomProbe& what : random_probes) bench.attempt({what.resource}, [&] { add_random(bench, what); });
}

void add_copy_probes(CudaCalibrationContext& bench) {
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
