// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "bench/timing/launch_overhead.h"
#include "calibrate/host/calibration_context.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"

namespace gpubench::calibrate {
namespace {

/// How far one interval lies beyond the other, as a fraction of the stored value; 0 where they meet.
double beyond(const Estimate& stored, const Estimate& now) {
  if (now.ci95.low > stored.ci95.high) return (now.ci95.low - stored.ci95.high) / stored.value;
  if (now.ci95.high < stored.ci95.low) return (now.ci95.high - stored.ci95.low) / stored.value;
  return 0.0;
}

/// `difference`: as `beyond`.
bool is_far(std::string_view resource, double difference) {
  if (resource == resource::launch)
    return difference > tolerated_launch_drift || difference < 1.0 / (1.0 + tolerated_launch_drift) - 1.0;
  return std::abs(difference) > tolerated_drift;
}

/// Whether something else than the device explains the change. What else goes on makes things slower, never faster.
bool explained(const DriftReading& reading) {
  const bool slower = reading.unit == "s" ? reading.beyond > 0.0 : reading.beyond < 0.0;
  return slower && !reading.disturbance.empty();
}

/// What one thread brings back of each resource: a reading or a reason.
struct Result {
  std::optional<DriftReading> reading;
  std::string reason;
};

using Results = std::vector<Result>;

std::optional<DriftSamples> try_sample(const DriftSampler& sampler, const Ceiling& ceiling, std::string& reason) {
  try {
    return sampler(ceiling);
  } catch (const std::exception& error) {
    reason = error.what();
    return std::nullopt;
  }
}

/// One device's part. It comes to every meeting, whatever fails it.
void take_part(const Calibration& calibration, const OpenSampler& open, std::barrier<>& meeting, Results& results) {
  DriftSampler sampler;
  std::string closed;
  try {
    sampler = open(calibration.device);
  } catch (const std::exception& error) {
    closed = error.what();
  }
  for (std::size_t i = 0; i < std::size(drift_resources); ++i) {
    Result& result = results[i];
    const Ceiling* const alone = calibration.find(drift_resources[i]);
    result.reason = closed;
    if (alone == nullptr || !(alone->value > 0.0)) result.reason = "there is no such ceiling of it alone";
    // The first set finds the launch and brings the clocks up.
    const bool ready = result.reason.empty() && try_sample(sampler, *alone, result.reason);
    meeting.arrive_and_wait();
    if (ready)
      if (const auto samples = try_sample(sampler, *alone, result.reason))
        result.reading = judge_drift(*alone, {*samples});
    meeting.arrive_and_wait();
  }
}

constexpr int host_samples = 7;
constexpr int min_samples = 3;
constexpr double touch_seconds = 0.35;        ///< most time for bringing memory into being
constexpr double min_caches = 4.0;            ///< with three, copies ran at twice the speed of memory
constexpr double set_seconds = 0.25;          ///< most time for one set of samples
constexpr int windows = 3;                    ///< a sample of a stream is the best of so many
constexpr int arithmetic_tries = 10;          ///< and one of arithmetic the best of so many runs
constexpr double arithmetic_seconds = 0.001;  ///< of each

/// Empty where the threads had their cores since `before`.
std::string disturbance_since(const LoadReading& before) {
  const double share = core_share(before, read_load()).value_or(1.0);
  if (share >= min_core_share) return {};
  return fmt::format("other processes ran on these cores; the threads had them for {:.0f} % of the time",
                     100.0 * share);
}

class HostDriftSampler {
 public:
  explicit HostDriftSampler(const Device& device) : device_(device) {}

  DriftSamples sample(const Ceiling& stored) {
    const LoadReading before = read_load();
    DriftSamples set = stored.resource == resource::launch ? launch()
                       : stored.unit == "B/s"              ? stream(stored)
                                                           : arithmetic();
    set.disturbance = disturbance_since(before);
    return set;
  }

 private:
  void open_memory() {
    if (memory_) return;
    const auto cache = static_cast<double>(device_.last_level_cache_bytes);
    const auto [wanted, given] = stream_memory(cache);
    try {
      memory_ = std::make_unique<probes::MemoryProbe>(static_cast<std::size_t>(given), isa_, touch_seconds);
    } catch (const std::bad_alloc&) {
      throw NoDriftSamples(fmt::format("{:.0f} MiB of memory could not be allocated", given / mebibyte));
    }
    // What stays in the caches would be faster than memory.
    if (const auto bytes = static_cast<double>(memory_->bytes()); bytes < std::min(wanted, min_caches * cache)) {
      memory_.reset();
      throw NoDriftSamples(
          fmt::format("only {:.0f} MiB of memory could be had in {} s, too few beside caches of {:.0f} MiB",
                      bytes / mebibyte, touch_seconds, cache / mebibyte));
    }
  }

  /// As many samples as the time allows, between few and enough.
  template <class Sample>
  static std::vector<double> samples_in(double seconds, const Sample& sample) {
    std::vector<double> values;
    const double end = probes::now_seconds() + seconds;
    while (values.size() < host_samples && (values.size() < min_samples || probes::now_seconds() < end))
      values.push_back(sample());
    return values;
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
      auto rates = samples_in(set_seconds / static_cast<double>(loops.size()), [&] {
        memory_->stream_rate(loop);
        double best = 0.0;
        for (int window = 0; window < windows; ++window) best = std::max(best, memory_->stream_rate(loop));
        return best;
      });
      const double median = statistics::median(rates);
      if (median <= best_median) continue;
      best_median = median;
      result.method =
          fmt::format("median of {} samples, each the best of {} windows of {:.0f} MiB, {} threads: {}", rates.size(),
                      windows, memory_->window_bytes() / mebibyte, memory_->threads(), loop.how);
      result.values = std::move(rates);
    }
    return result;
  }

  DriftSamples launch() {
    DriftSamples result;
    for (int i = 0; i < min_samples; ++i) {
      const Ceiling now = bench::measure_launch_overhead(device_, 1);
      result.values.push_back(now.value);
      result.method = now.method;
    }
    result.method += fmt::format(", {} times", min_samples);
    return result;
  }

  DriftSamples arithmetic() {
    DriftSamples result;
    const auto loops = probes::arithmetic_loops(isa_);
    const auto loop = std::ranges::find(loops, "fp32", &probes::ArithmeticLoop::resource);
    if (loop == loops.end()) throw NoDriftSamples("this version has no loop that measures it");
    const double end = probes::now_seconds() + set_seconds;
    result.values = samples_in(set_seconds, [&] {
      double best = 0.0;
      // On a busy machine one run may take as long as twenty.
      for (int run = 0; run < arithmetic_tries && (run == 0 || probes::now_seconds() < end); ++run)
        best = std::max(best, probes::arithmetic_sample(*loop, arithmetic_seconds).per_second);
      return best;
    });
    result.method = fmt::format("median of {} samples, each the best of up to {} runs of {:g} ms, {} threads",
                                result.values.size(), arithmetic_tries, 1e3 * arithmetic_seconds, probes::team_size());
    return result;
  }

  Device device_;
  probes::Isa isa_ = probes::widest_isa();
  std::unique_ptr<probes::MemoryProbe> memory_;
};

}  // namespace

DriftReading judge_drift(const Ceiling& stored, const std::vector<DriftSamples>& sets) {
  DriftReading reading;
  reading.resource = stored.resource;
  reading.unit = stored.unit;
  reading.stored = {stored.value, stored.ci95};
  reading.sets = static_cast<int>(sets.size());
  reading.method = sets.back().method;
  std::vector<double> differences;
  for (const DriftSamples& set : sets) {
    const Summary now = statistics::summarize(set.values);
    reading.now = {now.median, now.median_ci95};
    reading.samples += static_cast<int>(set.values.size());
    differences.push_back(beyond(reading.stored, reading.now));
    if (reading.disturbance.empty()) reading.disturbance = set.disturbance;
  }
  reading.change = reading.now.value / stored.value - 1.0;
  reading.beyond = differences.back();
  const bool one_side = std::ranges::all_of(
      differences, [&](double one) { return std::signbit(one) == std::signbit(differences.back()); });
  const auto far = std::ranges::count_if(differences, [&](double one) { return is_far(stored.resource, one); });
  if (far == 0)
    reading.outcome = DriftOutcome::agrees;
  else if (far < std::ssize(differences) || !one_side)
    reading.outcome = DriftOutcome::unsteady;
  else
    reading.outcome = explained(reading) ? DriftOutcome::disturbed : DriftOutcome::drifted;
  return reading;
}

DriftCheck check_drift(const Calibration& stored, const DriftSampler& sampler) {
  DriftCheck check;
  check.calibration_utc = stored.created_utc;
  struct Subject {
    const Ceiling* ceiling;
    std::vector<DriftSamples> sets;
  };
  std::vector<Subject> subjects;
  subjects.reserve(std::size(drift_resources) + 1);
  const auto take = [&](Subject& subject) {
    try {
      subject.sets.push_back(sampler(*subject.ceiling));
    } catch (const NoDriftSamples& reason) {
      subject.sets.clear();
      check.not_checked.push_back(fmt::format("{}: {}", subject.ceiling->resource, reason.what()));
    }
  };
  for (const char* const resource : drift_resources) {
    const Ceiling* const ceiling = stored.find(resource);
    if (ceiling != nullptr && ceiling->value > 0.0)
      take(subjects.emplace_back(Subject{ceiling, {}}));
    else
      check.not_checked.push_back(fmt::format("{}: the calibration has no such ceiling", resource));
  }
  if (const Ceiling* const launch = stored.find(resource::launch);
      launch != nullptr && launch->value > 0.0 && stored.device.kind == DeviceKind::cpu)
    take(subjects.emplace_back(Subject{launch, {}}));
  // The other resource's first set lies between the two of one, and with it some time.
  for (Subject& subject : subjects)
    if (!subject.sets.empty() && judge_drift(*subject.ceiling, subject.sets).outcome != DriftOutcome::agrees)
      take(subject);
  for (const Subject& subject : subjects) {
    if (subject.sets.empty()) continue;
    check.readings.push_back(judge_drift(*subject.ceiling, subject.sets));
    check.outcome = std::max(check.outcome, check.readings.back().outcome);
  }
  return check;
}

DriftCheck check_drift(const Device& device, const Calibration& stored) {
  const double start = steady_seconds();
  const std::string now = utc_now();
  DriftCheck check;
  try {
    check =
        check_drift(stored, device.kind == DeviceKind::gpu ? gpu_drift_sampler(device) : host_drift_sampler(device));
  } catch (const NoDriftSamples& reason) {
    check.calibration_utc = stored.created_utc;
    check.not_checked = {reason.what()};
  }
  check.checked_utc = now;
  check.seconds_taken = steady_seconds() - start;
  return check;
}

Together measure_together(const std::vector<Calibration>& calibrations, const OpenSampler& open) {
  std::vector<Results> results(calibrations.size(), Results(std::size(drift_resources)));
  std::barrier<> meeting(static_cast<std::ptrdiff_t>(std::max<std::size_t>(calibrations.size(), 1)));
  {
    std::vector<std::jthread> threads;
    threads.reserve(calibrations.size());
    for (std::size_t i = 0; i < calibrations.size(); ++i)
      threads.emplace_back([&, i] { take_part(calibrations[i], open, meeting, results[i]); });
  }
  Together together;
  for (std::size_t resource = 0; resource < std::size(drift_resources); ++resource)
    for (std::size_t i = 0; i < calibrations.size(); ++i) {
      Result& result = results[i][resource];
      const std::string& device = calibrations[i].device.id;
      if (result.reading)
        together.readings.push_back({device, *std::move(result.reading)});
      else
        together.absent.push_back(fmt::format("{}, {}: {}", device, drift_resources[resource], result.reason));
    }
  return together;
}

Together measure_together(const std::vector<Calibration>& calibrations) {
  std::vector<Calibration> gpus;
  std::ranges::copy_if(calibrations, std::back_inserter(gpus),
                       [](const Calibration& one) { return one.device.kind == DeviceKind::gpu; });
  return gpus.size() > 1 ? measure_together(gpus, gpu_drift_sampler) : Together{};
}

DriftSampler host_drift_sampler(const Device& device) {
  return
      [sampler = std::make_shared<HostDriftSampler>(device)](const Ceiling& stored) { return sampler->sample(stored); };
}

}  // namespace gpubench::calibrate
