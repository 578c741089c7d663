// SPDX-License-Identifier: Apache-2.0
// The L2 by a ladder of working sets, and latencies by pointer chases.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "calibrate/calibration_context.h"
#include "calibrate/cuda/cuda_calibration.h"
#include "calibrate/ladder.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

constexpr double rung_seconds = 1.5e-3;
constexpr int rungs_per_octave = 4;
constexpr std::size_t granularity = 16384;  // one block's tile in pass_shape
constexpr probes::MemoryShape pass_shape = {256, 4, 1};
constexpr double far_from = 0.6;  ///< of the declared cache: sets of which each half of it can hold a part only
constexpr double far_to = 0.85;

/// Sets up to half of the declared cache are read again and again within one launch. Larger ones are read once a
/// launch, many launches after each other, and the launch is taken off. Passes within one launch drift apart: late
/// threads find what early ones have just fetched, and the cache seems twice its size.
class GpuLadder {
 public:
  GpuLadder(CudaCalibration& bench, double launch_seconds)
      : bench_(bench), launch_seconds_(launch_seconds), cache_(bench.cache_bytes()) {}

  void run(int sweeps) {
    const std::size_t resident = probes::min_working_set();
    // A tenth more: in whole multiples of what is resident, each thread meets the same 16 bytes again and again.
    const std::size_t smallest = resident * 11 / 10 / granularity * granularity;
    const std::size_t largest =
        std::min(cache_ > 0 ? 8 * cache_ : std::size_t{1} << 30, bench_.pool.bytes()) / granularity * granularity;
    if (largest < 4 * smallest)
      return bench_.absent({"l2"}, fmt::format("{} are too little for a ladder of working sets",
                                               format_bytes(static_cast<double>(largest))));
    sizes_ = rungs(smallest, largest, rungs_per_octave, granularity);
    Ladder ladder;
    for (const std::size_t size : sizes_) ladder.working_set_bytes.push_back(static_cast<double>(size));
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      bench_.step("L2 cache", static_cast<double>(sweep) / sweeps);
      auto& rates = ladder.sweeps.emplace_back();
      for (const std::size_t size : sizes_)
        rates.push_back(rate_ = size > cache_ / 2 ? launches_rate(size) : passes_rate(size));
    }
    if (!clocks_.empty()) clock_ = statistics::median(clocks_);
    method_ = fmt::format(
        "16-byte loads past L1, all threads in order through a working set: up to half of the declared cache again and "
        "again in one launch, beyond once a launch, with the launch taken off; at least {} each; a ladder of {} "
        "working sets from {} to {}; clock read in the kernels of the former",
        format_seconds(rung_seconds, 2), sizes_.size(), format_bytes(static_cast<double>(smallest)),
        format_bytes(static_cast<double>(largest)));
    conclude(ladder);
  }

 private:
  void conclude(const Ladder& ladder) {
    LevelFit fit = find_levels(ladder);
    bench_.calibration.ladder = std::move(fit.ladder);
    if (bench_.full) add_far(ladder);
    if (fit.levels.empty()) {
      bench_.absent("l2", "the ladder of working sets shows no plateau above memory");
      return;
    }
    // The level next to memory: the loads pass L1 by.
    FoundLevel level = std::move(fit.levels.back());
    level.level.resource = "l2";
    add("l2", level.rates, "the plateau before memory; a repeat is one sweep's median over the plateau");
    bench_.calibration.levels.push_back(std::move(level.level));
  }

  void add_far(const Ladder& ladder) {
    std::vector<double> rates;
    for (const auto& sweep : ladder.sweeps) {
      std::vector<double> inside;
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const double share = static_cast<double>(sizes_[i]) / static_cast<double>(cache_);
        if (share >= far_from && share <= far_to) inside.push_back(sweep[i]);
      }
      if (inside.empty()) {
        bench_.absent("l2-far", "the ladder has no working set between 60 and 85 % of the declared cache");
        return;
      }
      rates.push_back(statistics::median(inside));
    }
    add("l2-far", rates, "the median of the sets between 60 and 85 % of the declared cache in each sweep");
  }

  void add(const char* resource, std::vector<double> rates, const char* which) {
    Ceiling ceiling = new_ceiling(resource, "B/s", CeilingGroup::memory, fmt::format("{}; {}", method_, which));
    ceiling.work_unit.clear();  // the sets differ
    ceiling.conditions = "normal random data";
    ceiling.value = statistics::median(rates);
    std::sort(rates.begin(), rates.end());
    ceiling.ci95 = statistics::median_ci95(rates);
    ceiling.repeats = static_cast<int>(rates.size());
    ceiling.clock_hz = clock_;
    bench_.calibration.ceilings.push_back(std::move(ceiling));
  }

  /// Passes over the set in one launch.
  probes::Launched enqueue_passes(std::size_t bytes, double min_bytes) {
    return probes::launch_working_set(probes::WorkingSetShape{}, bench_.pool.data(), bytes, min_bytes,
                                      bench_.float_sink(), bench_.clock.readings(), bench_.stream);
  }

  double passes_rate(std::size_t bytes) {
    enqueue_passes(bytes, static_cast<double>(bytes));  // fills the cache
    probes::Launched launched;
    const double seconds = bench_.timer.seconds(
        [&] { launched = enqueue_passes(bytes, std::max(4.0 * static_cast<double>(bytes), rung_seconds * rate_)); });
    clocks_.push_back(bench_.clock.read(launched.clock_readings));
    return launched.work / seconds;
  }

  double launches_rate(std::size_t bytes) {
    const auto pass = [&] {
      probes::launch_memory(probes::MemoryPattern::read, pass_shape, nullptr, bench_.pool.data(), nullptr,
                            bytes / sizeof(float), bench_.float_sink(), bench_.stream);
    };
    const double expected = launch_seconds_ + static_cast<double>(bytes) / rate_;
    const int launches = static_cast<int>(std::clamp(std::ceil(rung_seconds / expected), 4.0, 400.0));
    pass();
    const double seconds = bench_.timer.seconds([&] {
      for (int i = 0; i < launches; ++i) pass();
    }) / launches;
    // A pass never hides its launch altogether: at the very least its own half remains.
    return static_cast<double>(bytes) / std::max(seconds - launch_seconds_, 0.5 * seconds);
  }

  CudaCalibration& bench_;
  double launch_seconds_;
  std::size_t cache_;
  std::vector<std::size_t> sizes_;
  std::vector<double> clocks_;  ///< of the sets that are read again and again
  std::optional<double> clock_;
  std::string method_;
  double rate_ = 1e12;  ///< bytes per second of the last rung
};

using probes::ChaseCache;

constexpr int chase_repeats = 9;
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
  explicit GpuLatencies(CudaCalibration& bench) : bench_(bench), cache_(bench.cache_bytes()) {}

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
        "pointer chase in a random cycle over lines of 128 bytes in three quarters of the declared L2, loads past L1, "
        "after two passes by the same thread: it always reads what it read longest ago, and more than one half holds");
    std::size_t place = 0;
    const auto go_on = [this, memory, &place](int count) {
      probes::launch_chase(ChaseCache::past_l1, memory, place, 0, count, bench_.sink.data(), bench_.clock.readings(),
                           bench_.stream);
      const double last = bench_.sink.to_host().front();  // the address of the line that comes next
      place = static_cast<std::size_t>(std::bit_cast<std::byte*>(last) - memory) / probes::line_bytes;
    };
    const auto measure = [this, go_on] {
      go_on(steps);
      return reading_of(steps);
    };
    bench_.attempt({"latency-l2-far"}, [&] {
      probes::launch_chain(memory, lines, ++seed_, bench_.stream);
      go_on(static_cast<int>(2 * lines / probes::chase_unroll * probes::chase_unroll));
      bench_.measure_now(std::move(ceiling), measure, chase_repeats);
    });
  }

  void host() {
    probes::PinnedMemory memory(host_bytes);
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
                fmt::format("pointer chase in a random cycle over lines of 128 bytes, drawn anew each time, in {}{}",
                            where, what.warm ? ", after two passes that fill the caches" : "")),
        [this, what] { return chase(what); }, chase_repeats);
  }

 private:
  Reading reading_of(int steps) { return reading_over(bench_.clock.last(1).front(), steps); }

  Reading chase(const Chase& what) {
    const auto lines = static_cast<std::uint32_t>(what.set_bytes / probes::line_bytes);
    probes::launch_chain(what.memory, lines, ++seed_, bench_.stream);
    if (!what.warm) flush();
    // From another line each time, so that repeats on a large set meet other lines.
    const std::size_t from = static_cast<std::size_t>(seed_ * 2654435761U) % lines;
    probes::launch_chase(what.cache, what.memory, from, what.warm ? what.set_bytes : 0, what.steps, bench_.sink.data(),
                         bench_.clock.readings(), bench_.stream);
    return reading_of(what.steps);
  }

  /// Reads four times the cache from the end of the pool, where no chase goes.
  void flush() {
    const std::size_t count =
        std::min(4 * cache_, bench_.pool.bytes() / 2) / sizeof(float) / probes::memory_granule * probes::memory_granule;
    if (count == 0) return;
    probes::launch_memory(probes::MemoryPattern::read, {256, 4, 1}, nullptr,
                          bench_.pool.data() + (bench_.pool.size() - count), nullptr, count, bench_.float_sink(),
                          bench_.stream);
  }

  void shared() {
    constexpr int steps = 16384;
    const auto measure = [this] {
      probes::launch_shared_chase(steps, bench_.sink.data(), bench_.clock.readings(), bench_.stream);
      return reading_of(steps);
    };
    bench_.measure_now(latency("latency-shared", steps, "chase of addresses through 4 KiB of shared memory"), measure,
                       chase_repeats);
  }

  CudaCalibration& bench_;
  std::size_t cache_;
  std::uint64_t seed_ = 0;
};

}  // namespace

void measure_ladders(CudaCalibration& bench) {
  const Ceiling* launch = bench.calibration.find("launch");
  if (bench.pool.size() == 0) return bench.absent({"l2"}, "there was no memory for DRAM's probes either");
  if (launch == nullptr)
    bench.absent({"l2"}, "the launch, which is to be taken off, could not be measured");
  else
    bench.attempt({"l2"}, [&, seconds = launch->value] { GpuLadder(bench, seconds).run(bench.full ? 9 : 5); });
}

void measure_latencies(CudaCalibration& bench) {
  GpuLatencies latencies(bench);
  latencies.levels();
  bench.attempt({"latency-host"}, [&] { latencies.host(); });
  bench.attempt({"latency-curve"}, [&] { latencies.curve(); });
}

}  // namespace gpubench::calibrate
