// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr int timer_values = 512;
constexpr int event_pairs = 500;
constexpr int launches_a_round = 1000;
constexpr int rounds = 9;
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

/// The smallest distance between two different values, in seconds; those within a picosecond are the same reading.
std::optional<double> min_step(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::optional<double> smallest;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i] - values[i - 1];
    if (step > 1e-12 && (!smallest || step < *smallest)) smallest = step;
  }
  return smallest;
}

Cost timer_step(Gpu& gpu) {
  Cost cost{"globaltimer step", std::nullopt,
            fmt::format("smallest distance of {} readings in a row by one thread", timer_values), ""};
  std::vector<double> nanoseconds;
  const auto readings = gpu.timer_readings(timer_values);
  for (const std::uint64_t reading : readings)
    if (reading != 0) nanoseconds.push_back(static_cast<double>(reading - readings[0]));
  if (const auto step = min_step(std::move(nanoseconds)))
    cost.seconds = 1e-9 * *step;
  else
    cost.reason = "the timer did not move";
  return cost;
}

void add_event_costs(Gpu& gpu, std::vector<Cost>& costs) {
  EventTimer timer = event_timer(gpu);
  std::vector<double> seconds;
  seconds.reserve(event_pairs);
  for (int i = 0; i < event_pairs; ++i) seconds.push_back(timer.seconds([] {}));
  costs.push_back({"event pair", statistics::median(seconds),
                   fmt::format("median of {} pairs around nothing, each waited for", event_pairs), ""});
  Cost quantum{"event quantum", min_step(seconds),
               fmt::format("smallest distance between the different times of {} pairs", event_pairs), ""};
  if (!quantum.seconds) quantum.reason = fmt::format("all {} pairs read the same time", event_pairs);
  costs.push_back(std::move(quantum));
}

/// The median of several rounds of empty-kernel launches and the wait for the last, in seconds a launch.
double launch_seconds(Gpu& gpu, int rounds, int launches) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const double start = steady_seconds();
    for (int i = 0; i < launches; ++i) gpu.launch_nothing(gpu.stream());
    gpu.synchronize();
    seconds.push_back((steady_seconds() - start) / launches);
  }
  return statistics::median(seconds);
}

Cost stream_launch(Gpu& gpu) {
  return {"stream launch", launch_seconds(gpu, rounds, launches_a_round),
          fmt::format("host clock around {} empty kernels and the wait for the last; median of {} rounds",
                      launches_a_round, rounds),
          ""};
}

Cost graph_node(Gpu& gpu) {
  const auto few = empty_graph(gpu, short_graph_nodes);
  const auto many = empty_graph(gpu, long_graph_nodes);
  EventTimer timer = event_timer(gpu);
  std::vector<double> differences;
  for (int i = 0; i < graph_launches; ++i) {  // in turns, so that a drift of the clock meets both alike
    const double longer = timer.seconds([&] { many->launch(); });
    const double shorter = timer.seconds([&] { few->launch(); });
    differences.push_back((longer - shorter) / (long_graph_nodes - short_graph_nodes));
  }
  Cost cost{"graph node", statistics::median(differences),
            fmt::format("difference of graphs of {} and {} empty kernels, event pairs; median of {}", long_graph_nodes,
                        short_graph_nodes, graph_launches),
            ""};
  if (*cost.seconds <= 0.0) {
    cost.seconds.reset();
    cost.reason = "the longer graph took no longer than the shorter one";
  }
  return cost;
}

Cost launch_and_synchronise(Gpu& gpu) {
  return {"launch + synchronise", launch_seconds(gpu, synchronised_launches, 1),
          fmt::format("host clock around an empty kernel and the wait for it; median of {}", synchronised_launches),
          ""};
}

}  // namespace

std::vector<Cost> measure_costs(Gpu& gpu) {
  // The first launches load the module and wake the clocks.
  for (int i = 0; i < launches_a_round; ++i) gpu.launch_nothing(gpu.stream());
  gpu.synchronize();
  std::vector<Cost> costs;
  const auto attempt = [&](const char* what, const std::function<void()>& measure) {
    try {
      measure();
    } catch (const GpuError& error) {
      costs.push_back({what, std::nullopt, "", error.what()});
    }
  };
  attempt("globaltimer step", [&] { costs.push_back(timer_step(gpu)); });
  attempt("event pair", [&] { add_event_costs(gpu, costs); });
  attempt("stream launch", [&] { costs.push_back(stream_launch(gpu)); });
  attempt("graph node", [&] { costs.push_back(graph_node(gpu)); });
  attempt("launch + synchronise", [&] { costs.push_back(launch_and_synchronise(gpu)); });
  return costs;
}

}  // namespace gpubench::bench
