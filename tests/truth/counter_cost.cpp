// SPDX-License-Identifier: Apache-2.0
// What counting costs: a profiler set up once, then point after point of a copy of 1 MiB, as a run counts them. Prints
// a table in Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cuda/check.h"
#include "bench/gpu.h"
#include "bench/host_clock.h"
#include "bench/metrics/counter_phase.h"
#include "bench/metrics/inputs.h"
#include "bench/metrics/metric_names.h"
#include "gpubench/vectors.h"
#include "statistics/statistics.h"
#include "tests/truth/copy.h"

namespace gpubench {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;
constexpr int points = 50;

template <class Work>
double seconds_of(Work&& work) {
  const double start = bench::steady_seconds();
  work();
  return bench::steady_seconds() - start;
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
  /// Counts one point as the harness does.
  void count(bench::CounterPhase& phase, Measurement& measurement) {
    bench::Inputs inputs({{from_.data(), from_.bytes(), true}, {to_.data(), to_.bytes(), true}});
    const auto execute = [this] { once(); };
    const auto prepare = [&] {
      inputs.restore();
      once();
    };
    phase.fill(measurement, {prepare, execute, [&] { return inputs.keep(execute, 2); }});
  }
  [[nodiscard]] std::int64_t executions() const { return executions_; }

 private:
  bench::Gpu& gpu_;
  DeviceVector<float> from_{bytes / sizeof(float)};
  DeviceVector<float> to_{bytes / sizeof(float)};
  std::int64_t executions_ = 0;
};

/// Returns why nothing could be counted, if so.
std::optional<std::string> row(const Device& device, Copy& copy, const char* metrics) {
  const bench::MetricSource* source = nullptr;
  auto phase = std::make_unique<bench::CounterPhase>(device, bench::parse_metrics(metrics), [&](const Device& each) {
    auto opened = bench::open_metric_source(each);
    source = opened.get();
    return opened;
  });
  const double open = seconds_of([&] { (void)phase->unavailable(); });
  if (const std::string* const reason = phase->unavailable()) return *reason;
  Measurement measurement;
  const auto count = [&] { copy.count(*phase, measurement = {}); };
  const double first = seconds_of(count);
  const std::int64_t executions_before = copy.executions();
  std::vector<double> seconds;
  for (int i = 0; i < points; ++i) {
    seconds.push_back(seconds_of(count));
    if (measurement.counters.empty()) return "no counter has a value: " + measurement.absent_counters.at(0).reason;
  }
  const double executions = static_cast<double>(copy.executions() - executions_before) / points;
  const double execution = copy.seconds();  // the profiler is on, as it was while counting
  const double median = statistics::median(seconds);
  const auto effort = source->effort();
  for (const std::string& warning : phase->warnings()) fmt::print(stderr, "counter_cost: {}\n", warning);
  const double close = seconds_of([&] { phase.reset(); });
  fmt::print("| {} | {:.1f} | {:.2f} | **{:.3f}** | {:.3f} | {:.1f} | {:.1f} | **{:.3f}** | {} | {} | {} | {:.2f} |\n",
             metrics, open * 1e3, first * 1e3, median * 1e3, *std::max_element(seconds.begin(), seconds.end()) * 1e3,
             executions, execution * 1e6, (median - executions * execution) * 1e3, effort.ranges, effort.configured,
             effort.enabled, close * 1e3);
  return std::nullopt;
}

int run() {
  const auto gpus = bench::gpus();
  if (gpus.empty()) {
    fmt::print(stderr, "counter_cost: needs a CUDA device: {}\n", bench::why_no_gpu());
    return 77;
  }
  const auto gpu = bench::open_gpu(gpus.front());
  Copy copy(*gpu);
  fmt::print(
      "{}: {} points of a copy of 1 MiB; one execution with its launch and wait takes {:.1f} us without a profiler\n\n",
      gpus.front().name, points, copy.seconds() * 1e6);
  fmt::print(
      "| counters | open, ms | first point, ms | each further, ms | longest | executions a point | one, us "
      "| beyond executions, ms | ranges | configured | enabled | close, ms |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const char* metrics : {"core", "flops", "core,flops"})
    if (const auto reason = row(gpus.front(), copy, metrics)) {
      fmt::print(stderr, "counter_cost: {}\n", *reason);
      return 77;
    }
  return 0;
}

}  // namespace
}  // namespace gpubench

int main() {
  try {
    return gpubench::run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "counter_cost: {}\n", error.what());
    return 1;
  }
}
