// SPDX-License-Identifier: Apache-2.0
// Latency of a load by pointer chase: of each level, and a curve over working sets.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/cuda/workbench.h"
#include "calibrate/ladder.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/cuda_memory.h"

namespace gpubench::calibrate {
namespace {

using probes::ChaseCache;

constexpr int repeats = 9;
constexpr int curve_sweeps = 3;
constexpr int curve_rungs_per_octave = 3;
constexpr int curve_steps = 4096;
constexpr std::size_t host_bytes = std::size_t{64} << 20;

/// One chase through the start of some memory.
struct Chase {
  std::byte* memory = nullptr;
  std::size_t set_bytes = 0;
  ChaseCache cache = ChaseCache::all;
  bool warm = true;  ///< false: nothing of it lies in a cache when the chase begins
  int steps = 16384;
};

Ceiling latency(const std::string& resource, int steps, const std::string& method) {
  Ceiling ceiling =
      new_ceiling(resource, "s", CeilingGroup::latency,
                  fmt::format("{}; cycles and time read in the kernel; mean of {} accesses", method, steps));
  ceiling.shape = "one thread";
  ceiling.work_per_run = steps;
  return ceiling;
}

class GpuLatencies {
 public:
  explicit GpuLatencies(Workbench& bench) : bench_(bench), cache_(bench.cache_bytes()) {}

  void levels() {
    shared();
    auto* const pool = reinterpret_cast<std::byte*>(bench_.pool.data());
    const std::size_t room = bench_.pool.bytes();
    if (room == 0 || cache_ == 0)
      return bench_.absent({"latency-l1", "latency-l2-near", "latency-l2-far", "latency-dram"},
                           "too little memory is free, or the device declares no L2 cache");
    level("latency-l1", {pool, std::size_t{16} << 10, ChaseCache::all, true, 16384}, "16 KiB");
    level("latency-l2-near", {pool, cache_ / 8, ChaseCache::past_l1, true, 16384},
          "an eighth of the declared L2, loads past L1");
    far_half(pool);
    const std::size_t far = 4 * cache_;
    if (2 * far <= room)
      level("latency-dram", {pool, far, ChaseCache::past_l1, false, 16384},
            "four times the declared L2, of which nothing is in it: as much other memory was read before");
    else
      bench_.absent("latency-dram",
                    fmt::format("it needs {}, and {} are free", format_bytes(static_cast<double>(2 * far)),
                                format_bytes(static_cast<double>(room))));
  }

  /// What a thread read longest ago has left its own half of a divided L2: so a chase that goes on through more than a
  /// half meets only the other half.
  void far_half(std::byte* memory) {
    const std::size_t set_bytes = cache_ / 4 * 3;
    const auto lines = static_cast<std::uint32_t>(set_bytes / probes::line_bytes);
    constexpr int steps = 16384;
    Ceiling ceiling = latency(
        "latency-l2-far", steps,
        "pointer chase in a random cycle over lines of 128 bytes in three quarters of the declared L2, loads past "
        "L1, after two passes by the same thread: it always reads what it read longest ago, and more than one "
        "half holds");
    std::size_t place = 0;
    const auto go_on = [this, memory, &place](int count) {
      GPUBENCH_CUDA_CHECK(probes::launch_chase(ChaseCache::past_l1, memory, place, 0, count, bench_.sink.data(),
                                               bench_.clock.readings(), bench_.stream));
      const double last = bench_.sink.to_host().front();  // the address of the line that comes next
      place = static_cast<std::size_t>(std::bit_cast<std::byte*>(last) - memory) / probes::line_bytes;
    };
    const auto measure = [this, go_on] {
      go_on(steps);
      return reading_of(steps);
    };
    bench_.attempt({"latency-l2-far"}, [&] {
      GPUBENCH_CUDA_CHECK(probes::launch_chain(memory, lines, ++seed_, bench_.stream));
      go_on(static_cast<int>(2 * lines / probes::chase_unroll * probes::chase_unroll));
      bench_.measure_now(std::move(ceiling), measure, repeats);
    });
  }

  void host() {
    PinnedMemory memory(host_bytes);
    level("latency-host", {memory.on_device(), host_bytes, ChaseCache::past_l1, false, 2048},
          "64 MiB of pinned host memory, read over the bus");
  }

  void curve() {
    if (bench_.pool.size() == 0 || cache_ == 0) return;
    auto* const pool = reinterpret_cast<std::byte*>(bench_.pool.data());
    const std::size_t largest = std::min(8 * cache_, bench_.pool.bytes()) / 4096 * 4096;
    const auto sizes = rungs(8192, largest, curve_rungs_per_octave, 1024);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      bench_.step("latency curve", 0.2 + 0.8 * static_cast<double>(i) / static_cast<double>(sizes.size()));
      std::vector<double> seconds;
      std::vector<double> cycles;
      for (int sweep = 0; sweep < curve_sweeps; ++sweep) {
        const Reading reading = chase({pool, sizes[i], ChaseCache::all, true, curve_steps});
        seconds.push_back(reading.value);
        cycles.push_back(*reading.cycles);
      }
      bench_.calibration.latency_curve.push_back(
          {static_cast<double>(sizes[i]), statistics::median(seconds), statistics::median(cycles)});
    }
  }

  /// A chase through memory of any kind that this GPU reaches.
  void level(const std::string& resource, const Chase& what, const std::string& where) {
    bench_.measure_now(
        latency(resource, what.steps,
                fmt::format("pointer chase in a random cycle over lines of 128 bytes, drawn anew each "
                            "time, in {}{}",
                            where, what.warm ? ", after two passes that fill the caches" : "")),
        [this, what] { return chase(what); }, repeats);
  }

 private:
  Reading reading_of(int steps) { return reading_over(bench_.clock.last(1).front(), steps); }

  Reading chase(const Chase& what) {
    const auto lines = static_cast<std::uint32_t>(what.set_bytes / probes::line_bytes);
    GPUBENCH_CUDA_CHECK(probes::launch_chain(what.memory, lines, ++seed_, bench_.stream));
    if (!what.warm) flush();
    // From another line each time, so that repeats on a large set meet other lines.
    const std::size_t from = static_cast<std::size_t>(seed_ * 2654435761U) % lines;
    GPUBENCH_CUDA_CHECK(probes::launch_chase(what.cache, what.memory, from, what.warm ? what.set_bytes : 0, what.steps,
                                             bench_.sink.data(), bench_.clock.readings(), bench_.stream));
    return reading_of(what.steps);
  }

  /// Reads four times the cache from the end of the pool, where no chase goes.
  void flush() {
    const std::size_t count =
        std::min(4 * cache_, bench_.pool.bytes() / 2) / sizeof(float) / probes::memory_granule * probes::memory_granule;
    if (count == 0) return;
    GPUBENCH_CUDA_CHECK(probes::launch_memory(probes::MemoryPattern::read, {256, 4, 1}, nullptr,
                                              bench_.pool.data() + (bench_.pool.size() - count), nullptr, count,
                                              bench_.float_sink(), bench_.stream));
  }

  void shared() {
    constexpr int steps = 16384;
    const auto measure = [this] {
      GPUBENCH_CUDA_CHECK(
          probes::launch_shared_chase(steps, bench_.sink.data(), bench_.clock.readings(), bench_.stream));
      return reading_of(steps);
    };
    bench_.measure_now(latency("latency-shared", steps, "chase of addresses through 4 KiB of shared memory"), measure,
                       repeats);
  }

  Workbench& bench_;
  std::size_t cache_;
  std::uint64_t seed_ = 0;
};

}  // namespace

void measure_latencies(Workbench& bench) {
  GpuLatencies latencies(bench);
  latencies.levels();
  bench.attempt({"latency-host"}, [&] { latencies.host(); });
  bench.attempt({"latency-curve"}, [&] { latencies.curve(); });
}

}  // namespace gpubench::calibrate
