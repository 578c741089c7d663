// SPDX-License-Identifier: Apache-2.0
// A CPU's part of the drift check: the loops and kernels that calibrate it, on as much memory as fits a short check.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "calibrate/check/drift.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host_arithmetic.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_memory_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr int samples = 7;
constexpr int min_samples = 3;
constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double touch_seconds = 0.35;  ///< most time for bringing memory into being
constexpr double set_seconds = 0.25;    ///< most time for one set of samples
constexpr int windows = 3;              ///< a sample of a stream is the best of so many
constexpr int arithmetic_tries = 10;    ///< and one of arithmetic the best of so many runs
constexpr double run_seconds = 0.001;   ///< of each
constexpr double min_presence = 0.9;    ///< share of its cores that the team must have had

class HostDriftSampler {
 public:
  explicit HostDriftSampler(const Device& device) : device_(device) {}

  DriftSamples sample(const Ceiling& stored) {
    const probes::Presence presence;
    DriftSamples set = stored.unit == "B/s" ? stream(stored) : arithmetic();
    if (const double share = presence.share(); share < min_presence)
      set.disturbance = fmt::format("other processes ran on these cores; the threads had them for {:.0f} % of the time",
                                    100.0 * share);
    return set;
  }

 private:
  void open_memory() {
    if (memory_) return;
    const auto cache = static_cast<double>(device_.last_level_cache_bytes);
    const double wanted = std::max(4.0 * cache, 256.0 * mebibyte);
    const auto available = static_cast<double>(probes::available_memory_bytes());
    const double given = available > 0.0 ? std::min(wanted, available / 4.0) : wanted;
    try {
      memory_ = std::make_unique<probes::MemoryProbe>(static_cast<std::size_t>(given), isa_, touch_seconds);
    } catch (const std::bad_alloc&) {
      throw NoDriftSamples(fmt::format("{:.0f} MiB of memory could not be allocated", given / mebibyte));
    }
    // What stays in the caches would be faster than memory.
    if (const auto bytes = static_cast<double>(memory_->bytes()); bytes < std::min(wanted, 2.5 * cache)) {
      memory_.reset();
      throw NoDriftSamples(
          fmt::format("only {:.0f} MiB of memory could be had in {} s, too few beside caches of {:.0f}",
                      bytes / mebibyte, touch_seconds, cache / mebibyte));
    }
  }

  DriftSamples stream(const Ceiling& stored) {
    open_memory();
    std::vector<probes::StreamLoop> loops;
    for (const auto& loop : probes::stream_loops())
      if (loop.resource == stored.resource) loops.push_back(loop);
    const auto another = [&](const probes::StreamLoop& loop) {
      return !stored.shape.starts_with(fmt::format("{}, ", loop.how));
    };
    // The one that was best then, by the shape's own words; all of them where it does not tell.
    if (auto best = loops; std::erase_if(best, another) < loops.size()) loops = std::move(best);
    if (loops.empty()) throw NoDriftSamples("this version has no loop that measures it");
    DriftSamples result;
    double best_median = 0.0;
    for (const auto& loop : loops) {
      std::vector<double> rates;
      const double start = probes::now_seconds();
      const double limit = set_seconds / static_cast<double>(loops.size());
      while (rates.size() < samples && (rates.size() < min_samples || probes::now_seconds() < start + limit)) {
        memory_->stream_rate(loop);
        double best = 0.0;
        for (int window = 0; window < windows; ++window) best = std::max(best, memory_->stream_rate(loop));
        rates.push_back(best);
      }
      if (const double median = statistics::median(rates); median > best_median) {
        best_median = median;
        result.values = std::move(rates);
        result.method = fmt::format("median of {} samples, each the best of {} windows of {:.0f} MiB, {} threads: {}",
                                    result.values.size(), windows, memory_->window_bytes() / mebibyte,
                                    memory_->threads(), loop.how);
      }
    }
    return result;
  }

  DriftSamples arithmetic() {
    DriftSamples result;
    const auto loops = probes::arithmetic_loops(isa_);
    const auto loop = std::ranges::find(loops, "fp32", &probes::ArithmeticLoop::resource);
    if (loop == loops.end()) throw NoDriftSamples("this version has no loop that measures it");
    const double start = probes::now_seconds();
    const auto in_time = [&] { return probes::now_seconds() < start + set_seconds; };
    while (result.values.size() < samples && (result.values.size() < min_samples || in_time())) {
      double best = 0.0;
      // On a busy machine one run may take as long as twenty.
      for (int run = 0; run < arithmetic_tries && (run == 0 || in_time()); ++run)
        best = std::max(best, probes::arithmetic_sample(*loop, run_seconds).per_second);
      result.values.push_back(best);
    }
    result.method = fmt::format("median of {} samples, each the best of up to {} runs of {:g} ms, {} threads",
                                result.values.size(), arithmetic_tries, 1e3 * run_seconds, probes::team_size());
    return result;
  }

  Device device_;
  probes::Isa isa_ = probes::widest_isa();
  std::unique_ptr<probes::MemoryProbe> memory_;
};

}  // namespace

DriftSampler host_drift_sampler(const Device& device) {
  return
      [sampler = std::make_shared<HostDriftSampler>(device)](const Ceiling& stored) { return sampler->sample(stored); };
}

}  // namespace gpubench::calibrate
