// SPDX-License-Identifier: Apache-2.0
// What counting costs: 100 points of a copy of 1 MiB, as a run counts them, without what it takes to set an operation
// up. Prints a table in Markdown.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "bench/counting_runner.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "gpubench/vectors.h"
#include "tests/truth/counters/copy.h"
#include "tests/truth/gpu_main.h"

namespace gpubench {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;
constexpr std::size_t points = 100;

template <class Work>
double seconds_of(Work&& work) {
  const double start = steady_seconds();
  work();
  return steady_seconds() - start;
}

class Copy {
 public:
  explicit Copy(bench::Gpu& gpu) : gpu_(gpu) {}

  void once() {
    GPUBENCH_CUDA_CHECK(truth::launch_copy(to_.data(), from_.data(), bytes, gpu_.stream()));
    gpu_.synchronize();
    ++executions_;
  }
  /// One execution on the host's clock.
  double seconds() {
    constexpr int times = 200;
    std::vector<double> seconds;
    seconds.reserve(times);
    for (int i = 0; i < times; ++i) seconds.push_back(seconds_of([this] { once(); }));
    return statistics::median(seconds);
  }
  /// Gives a phase one point as the harness does.
  void fill(bench::CounterPass& phase, Measurement& measurement, std::size_t point) {
    bench::Inputs inputs({{from_.data(), from_.bytes(), true}, {to_.data(), to_.bytes(), true}});
    const auto execute = [this] { once(); };
    const auto prepare = [&] {
      inputs.restore();
      once();
    };
    if (!phase.wants(point, measurement)) return;
    bench::Replay replay = {{prepare, execute}, [&] { return inputs.keep(execute, 2); }};
    replay.point = point;
    phase.fill(measurement, replay);
  }
  [[nodiscard]] std::int64_t executions() const { return executions_; }

 private:
  bench::Gpu& gpu_;
  DeviceVector<float> from_{bytes / sizeof(float)};
  DeviceVector<float> to_{bytes / sizeof(float)};
  std::int64_t executions_ = 0;
};

/// Where the time went, ms a point by what was done, and how often a point.
std::string effort_text(const bench::CountingEffort& effort) {
  std::string text;
  for (const auto& [what, calls] : effort.calls)
    text += fmt::format("{}{} {:.2f} ({:.2f} x)", text.empty() ? "" : ", ", what,
                        calls.second / static_cast<double>(points) * 1e3,
                        static_cast<double>(calls.first) / static_cast<double>(points));
  return text;
}

/// `by_passes`: each pass goes over all points. Returns why nothing could be counted, if so.
std::optional<std::string> row(const Device& device, Copy& copy, const char* metrics, bool by_passes,
                               std::string& efforts) {
  const bench::MetricSource* source = nullptr;
  auto phase = std::make_unique<bench::CounterPass>(device, bench::parse_metrics(metrics), [&](const Device& each) {
    auto opened = bench::open_metric_source(each);
    source = opened.get();
    return opened;
  });
  std::size_t rounds = 0;
  if (by_passes) phase->expect(points);
  const double open = seconds_of([&] { rounds = phase->rounds(); });
  if (const std::string* const reason = phase->unavailable()) return *reason;
  std::vector<Measurement> measurements(points);
  const std::int64_t executions_before = copy.executions();
  const double all = seconds_of([&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      phase->begin(round);
      for (std::size_t i = 0; i < points; ++i) copy.fill(*phase, measurements[i], i);
    }
    for (std::size_t i = 0; i < points; ++i) phase->finish(i, measurements[i]);
  });
  for (const Measurement& measurement : measurements)
    if (measurement.counters.empty()) return "no counter has a value: " + measurement.absent_counters.at(0).reason;
  const double one = all / points;
  const double executions = static_cast<double>(copy.executions() - executions_before) / points;
  const double execution = copy.seconds();
  const auto effort = source->effort();
  const std::string name = fmt::format("{}{}", metrics, by_passes ? "" : ", a point at a time");
  efforts += fmt::format("| {} | {} |\n", name, effort_text(effort));
  for (const std::string& warning : phase->warnings()) fmt::print(stderr, "counter_cost: {}\n", warning);
  const double close = seconds_of([&] { phase.reset(); });
  fmt::print("| {} | {:.0f} | {} | {:.0f} | {:.2f} | {:.1f} | {:.1f} | **{:.2f}** | {} | {} | {:.0f} |\n", name,
             open * 1e3, rounds, all * 1e3, one * 1e3, executions, execution * 1e6,
             (one - executions * execution) * 1e3, effort.ranges, effort.enabled, close * 1e3);
  return std::nullopt;
}

int run() {
  const auto gpus = bench::gpus();
  const auto gpu = bench::open_gpu(gpus.front());
  Copy copy(*gpu);
  fmt::print(
      "{}: {} points of a copy of 1 MiB; one execution with its launch and wait takes {:.1f} us without a profiler\n\n",
      gpus.front().name, points, copy.seconds() * 1e6);
  fmt::print(
      "| counters | open, ms | rounds | all points, ms | one point, ms | executions a point | one, us "
      "| beyond executions, ms a point | ranges | enabled | close, ms |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::string efforts;
  for (const auto& [metrics, by_passes] : {std::pair("core", true),
                                           {"flops", false},
                                           {"flops", true},
                                           {"units", false},
                                           {"units", true},
                                           {"core,units", true}})
    if (const auto reason = row(gpus.front(), copy, metrics, by_passes, efforts)) {
      fmt::print(stderr, "counter_cost: {}\n", *reason);
      return 77;
    }
  fmt::print("\n| counters | ms a point in CUPTI (and how often) |\n|---|---|\n{}", efforts);
  return 0;
}

}  // namespace
}  // namespace gpubench

int main() { return gpubench::truth::gpu_main("counter_cost", gpubench::run); }
