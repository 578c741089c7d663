// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cuda_l2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "bench/cuda/check.h"
#include "calibrate/ladder.h"
#include "kernels/probes/cuda_memory.h"

namespace gpubench::calibrate {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double rung_seconds = 1.5e-3;
constexpr std::size_t granularity = 16384;  // one block's tile in pass_shape
constexpr probes::MemoryShape pass_shape = {256, 4, 1};

class L2Measurement {
 public:
  L2Measurement(const Device& device, const L2Plan& plan, const DeviceVector<float>& pool, float* sink,
                cudaStream_t stream, Timer& timer, SmClock& clock)
      : plan_(plan),
        pool_(pool),
        sink_(sink),
        stream_(stream),
        timer_(timer),
        clock_(clock),
        cache_(static_cast<std::size_t>(std::max<std::int64_t>(device.last_level_cache_bytes, 0))) {}

  L2Result run() {
    L2Result result;
    std::size_t resident = 0;
    GPUBENCH_CUDA_CHECK(probes::smallest_working_set(resident));
    // A tenth more: in whole multiples of what is resident, each thread meets the same 16 bytes again and again.
    const std::size_t smallest = resident * 11 / 10 / granularity * granularity;
    const std::size_t largest =
        std::min(cache_ > 0 ? 8 * cache_ : std::size_t{1} << 30, pool_.bytes()) / granularity * granularity;
    if (largest < 4 * smallest) {
      result.reason = fmt::format("{:.0f} MiB are too little for a ladder of working sets",
                                  static_cast<double>(largest) / mebibyte);
      return result;
    }
    const auto sizes = rungs(smallest, largest, plan_.rungs_per_octave, granularity);

    Probe probe;  // for the clock under this load; its rates come from the ladder
    probe.resource = "l2";
    probe.unit = "B/s";
    probe.enqueue = [this, inside = std::max(smallest, cache_ / 2 / granularity * granularity)] {
      enqueue_passes(inside, 2.0 * rung_seconds * rate_);
    };
    Ladder ladder;
    for (const std::size_t size : sizes) ladder.working_set_bytes.push_back(static_cast<double>(size));
    for (int sweep = 0; sweep < plan_.sweeps; ++sweep) {
      if (plan_.progress) plan_.progress(static_cast<double>(sweep) / plan_.sweeps);
      auto& rates = ladder.sweeps.emplace_back();
      for (const std::size_t size : sizes)
        rates.push_back(rate_ = size > cache_ / 2 ? launches_rate(size) : passes_rate(size));
      sample(probe, timer_, clock_);
    }

    LevelFit fit = find_levels(ladder);
    result.ladder = std::move(fit.ladder);
    if (fit.levels.empty()) {
      result.reason = "the ladder of working sets shows no plateau above memory";
      return result;
    }
    // The level next to memory: the loads pass L1 by.
    Level level = std::move(fit.levels.back());
    level.level.resource = "l2";
    probe.rates = std::move(level.rates);
    probe.method = fmt::format(
        "16-byte loads past L1, all threads through a working set in order, again and again in one launch up to half "
        "of the declared cache, once a launch beyond with the launch taken off; at least {:.1f} ms each; the plateau "
        "before memory in a ladder of {} working sets from {:.1f} to {:.0f} MiB; a repeat is one sweep's median over "
        "the plateau; {}",
        1e3 * rung_seconds, sizes.size(), static_cast<double>(smallest) / mebibyte,
        static_cast<double>(largest) / mebibyte, clock_text(probe));
    result.level = std::move(level.level);
    result.ceiling = ceiling_of(probe);
    return result;
  }

 private:
  /// Passes over the set in one launch; the bytes they read in all.
  double enqueue_passes(std::size_t bytes, double least_bytes) {
    double read = 0.0;
    GPUBENCH_CUDA_CHECK(probes::launch_working_set(pool_.data(), bytes, least_bytes, sink_, stream_, read));
    return read;
  }

  double passes_rate(std::size_t bytes) {
    enqueue_passes(bytes, static_cast<double>(bytes));  // fills the cache
    double read = 0.0;
    const double seconds = timer_.seconds(
        [&] { read = enqueue_passes(bytes, std::max(4.0 * static_cast<double>(bytes), rung_seconds * rate_)); });
    return read / seconds;
  }

  double launches_rate(std::size_t bytes) {
    const auto pass = [&] {
      GPUBENCH_CUDA_CHECK(probes::launch_memory(probes::MemoryPattern::read, pass_shape, nullptr, pool_.data(), nullptr,
                                                bytes / sizeof(float), sink_, stream_));
    };
    const double expected = plan_.launch_seconds + static_cast<double>(bytes) / rate_;
    const int launches = static_cast<int>(std::clamp(std::ceil(rung_seconds / expected), 4.0, 400.0));
    pass();
    const double seconds = timer_.seconds([&] {
      for (int i = 0; i < launches; ++i) pass();
    }) / launches;
    // A pass never hides its launch altogether: at the very least its own half remains.
    return static_cast<double>(bytes) / std::max(seconds - plan_.launch_seconds, 0.5 * seconds);
  }

  const L2Plan& plan_;
  const DeviceVector<float>& pool_;
  float* sink_;
  cudaStream_t stream_;
  Timer& timer_;
  SmClock& clock_;
  std::size_t cache_;
  double rate_ = 1e12;  ///< bytes per second of the last rung
};

}  // namespace

L2Result measure_l2(const Device& device, const L2Plan& plan, const DeviceVector<float>& pool, float* sink,
                    cudaStream_t stream, Timer& timer, SmClock& clock) {
  return L2Measurement(device, plan, pool, sink, stream, timer, clock).run();
}

}  // namespace gpubench::calibrate
