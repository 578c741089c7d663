// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr int timer_values = 512;
constexpr int event_pairs = 500;
constexpr int launches_a_round = 1000;
constexpr int rounds_of_launches = 9;
constexpr int synchronised_launches = 200;
constexpr int short_graph_nodes = 10;
constexpr int long_graph_nodes = 100;
constexpr int graph_launches = 50;

/// A graph of empty kernels, one after the other.
std::unique_ptr<Graph> empty_graph(Gpu& gpu, int nodes) {
  auto graph = gpu.capture(
      [&](Stream stream, std::int64_t executions) {
        for (std::int64_t i = 0; i < executions; ++i) gpu.launch_nothing(stream);
      },
      nodes);
  if (!graph) throw GpuError("a graph of empty kernels could not be captured");
  return graph;
}

/// The smallest distance between two different values; those within a picosecond are the same reading. Throws GpuError
/// with `none` where there are none.
double min_step(std::vector<double> seconds, const std::string& none) {
  std::ranges::sort(seconds);
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < seconds.size(); ++i)
    if (const double step = seconds[i] - seconds[i - 1]; step > 1e-12) smallest = std::min(smallest, step);
  if (std::isinf(smallest)) throw GpuError(none);
  return smallest;
}

double timer_step(Gpu& gpu) {
  std::vector<double> seconds;
  const auto readings = gpu.timer_readings(timer_values);
  for (const std::uint64_t reading : readings)
    if (reading != 0) seconds.push_back(1e-9 * static_cast<double>(reading - readings[0]));
  return min_step(std::move(seconds), "the timer did not move");
}

std::vector<double> event_pair_seconds(Gpu& gpu) {
  EventTimer timer = event_timer(gpu);
  std::vector<double> seconds(event_pairs);
  for (double& each : seconds) each = timer.seconds([] {});
  return seconds;
}

double event_quantum(Gpu& gpu) {
  return min_step(event_pair_seconds(gpu), fmt::format("all {} pairs read the same time", event_pairs));
}

/// The median of several rounds of empty-kernel launches and the wait for the last, in seconds a launch.
template <int rounds, int launches>
double launch_seconds(Gpu& gpu) {
  std::vector<double> seconds(rounds);
  for (double& each : seconds) {
    const double start = steady_seconds();
    for (int i = 0; i < launches; ++i) gpu.launch_nothing(gpu.stream());
    gpu.synchronize();
    each = (steady_seconds() - start) / launches;
  }
  return statistics::median(seconds);
}

double graph_node(Gpu& gpu) {
  const auto few = empty_graph(gpu, short_graph_nodes);
  const auto many = empty_graph(gpu, long_graph_nodes);
  EventTimer timer = event_timer(gpu);
  std::vector<double> differences;
  for (int i = 0; i < graph_launches; ++i) {  // in turns, so that a drift of the clock meets both alike
    const double longer = timer.seconds([&] { many->launch(); });
    const double shorter = timer.seconds([&] { few->launch(); });
    differences.push_back((longer - shorter) / (long_graph_nodes - short_graph_nodes));
  }
  const double seconds = statistics::median(differences);
  if (seconds <= 0.0) throw GpuError("the longer graph took no longer than the shorter one");
  return seconds;
}

}  // namespace

std::vector<Cost> measure_costs(Gpu& gpu) {
  // The first launches load the module and wake the clocks.
  for (int i = 0; i < launches_a_round; ++i) gpu.launch_nothing(gpu.stream());
  gpu.synchronize();
  const struct {
    const char* what;
    double (*seconds)(Gpu&);
    std::string method;
  } rows[] = {
      {"globaltimer step", timer_step,
       fmt::format("smallest distance of {} readings in a row by one thread", timer_values)},
      {"event pair", [](Gpu& on) { return statistics::median(event_pair_seconds(on)); },
       fmt::format("median of {} pairs around nothing, each waited for", event_pairs)},
      {"event quantum", event_quantum,
       fmt::format("smallest distance between the different times of {} pairs", event_pairs)},
      {"stream launch", launch_seconds<rounds_of_launches, launches_a_round>,
       fmt::format("host clock around {} empty kernels and the wait for the last; median of {} rounds",
                   launches_a_round, rounds_of_launches)},
      {"graph node", graph_node,
       fmt::format("difference of graphs of {} and {} empty kernels, event pairs; median of {}", long_graph_nodes,
                   short_graph_nodes, graph_launches)},
      {"launch + synchronise", launch_seconds<synchronised_launches, 1>,
       fmt::format("host clock around an empty kernel and the wait for it; median of {}", synchronised_launches)},
  };
  std::vector<Cost> costs;
  for (const auto& [what, seconds, method] : rows) {
    Cost& cost = costs.emplace_back(Cost{what, std::nullopt, method, ""});
    try {
      cost.seconds = seconds(gpu);
    } catch (const GpuError& error) {
      cost.reason = error.what();
    }
  }
  return costs;
}

}  // namespace gpubench::bench
