// SPDX-License-Identifier: Apache-2.0
#include "synthetic.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace gpubench::fleet {
namespace {

/// A number of [0, 1) that follows from what it is of: the same in any order and on any platform.
double uniform_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  std::uint64_t x = 0x9E3779B97F4A7C15U;
  for (const std::uint64_t part : {a, b, c, d}) {  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
    x += part * 0x9E3779B97F4A7C15U + 0x632BE59BD9B4E019U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    x ^= x >> 31U;
  }
  return static_cast<double>(x >> 11U) * 0x1p-53;
}

/// A standard normal number, by Box and Muller.
double normal_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  const double u = 1.0 - uniform_of(a, b, c, 2 * d), v = uniform_of(a, b, c, 2 * d + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

struct Family {
  const char* name;
  const char* unit;
  double value;
  double clock_slope;
};
constexpr std::array<Family, 5> families = {{{"dram", "B/s", 4.7e12, 0.0},
                                             {"tensor", "FLOP/s", 8e14, 1.0},
                                             {"fp", "FLOP/s", 6e13, 1.0},
                                             {"l2", "B/s", 1e13, 0.9},
                                             {"latency", "s", 6e-7, 0.6}}};
enum : std::uint64_t { of_gpu, of_reading, of_clock, of_node, of_link };

int stride(const SyntheticFleet& fleet) { return std::max(fleet.gpus / std::max(fleet.slow_gpus, 1), 1); }

}  // namespace

bool SyntheticFleet::is_slow(int rank) const {
  return slow_gpus > 0 && rank % stride(*this) == stride(*this) / 2 && rank / stride(*this) < slow_gpus;
}

std::string SyntheticFleet::slow_family(int rank) const {
  return families[static_cast<std::size_t>(rank / stride(*this)) % 3].name;
}

RankResult synthetic_rank(const SyntheticFleet& fleet, int rank) {
  const auto gpu = static_cast<std::uint64_t>(rank);
  const int node = rank / fleet.gpus_per_node, nodes = (fleet.gpus + fleet.gpus_per_node - 1) / fleet.gpus_per_node;
  RankResult result;
  result.campaign = fmt::format("synthetic-{}", fleet.week);
  result.rank = rank;
  result.ranks = fleet.gpus;
  result.local_rank = rank % fleet.gpus_per_node;
  result.node = fmt::format("node{:04}", node);
  result.gpubench_version = "0.2.0";
  result.started_utc = "2026-11-26T12:00:00Z";
  result.ended_utc = "2026-11-26T12:10:00Z";
  result.device.id = gpu_id(result.local_rank);
  result.device.kind = DeviceKind::gpu;
  result.device.name = "NVIDIA H200";
  result.device.properties = {{"uuid", fmt::format("GPU-{:08x}", rank)},
                              {"power_limit_w", "700"},
                              {"driver", "580.159.04"},
                              {"mig", "off"},
                              {"ecc", "on"}};
  const double hot = node >= nodes - fleet.hot_aisle_nodes ? -fleet.hot_aisle : 0.0;
  const double clock_of_gpu = hot + 0.0004 * normal_of(fleet.seed, of_clock, gpu, 0);
  const bool is_lower = uniform_of(fleet.seed, of_gpu, gpu, 1'000'000) < fleet.share_of_lower_dram;
  for (int run = 0; run < fleet.runs; ++run)
    for (std::size_t phase = 0; phase < fleet.phases.size(); ++phase)
      for (int resource = 0; resource < fleet.resources; ++resource) {
        const auto number = static_cast<std::size_t>(resource);
        const Family& family = families[number % families.size()];
        const std::string name =
            number == 0 ? "dram-read" : fmt::format("{}-{}", family.name, number / families.size());
        const auto which = static_cast<std::uint64_t>(fleet.week) * 1'000'000'000 +
                           static_cast<std::uint64_t>(run * 1'000'000 + static_cast<int>(phase) * 10'000 + resource);
        const double clock = clock_of_gpu + 0.0002 * normal_of(fleet.seed, of_clock, gpu, 1 + which);
        // Half of a GPU's difference is that of the family, half of the resource alone; the phase adds nothing.
        double log = fleet.between_gpus * std::sqrt(0.5) *
                     (normal_of(fleet.seed, of_gpu, gpu, number % families.size()) +
                      normal_of(fleet.seed, of_gpu, gpu, 1000 + number));
        const bool is_traffic = number % families.size() == 0;
        log += (is_traffic ? fleet.traffic_between_runs : fleet.between_runs) *
               normal_of(fleet.seed, of_reading, gpu, which);
        log += family.clock_slope * clock - 0.02 * static_cast<double>(phase);
        if (name == "dram-read" && is_lower) log -= fleet.lower_dram;
        if (is_traffic) log -= fleet.drift_per_week * fleet.week;
        if (fleet.is_slow(rank) && fleet.slow_family(rank) == family.name) log += std::log1p(-fleet.slow);
        const bool time = std::string_view(family.unit) == "s";
        const double value = family.value * std::exp(time ? -log : log);
        Reading reading{result.test_number({fleet.phases[phase], name, family.unit, {}}), run, {}, {}};
        reading.value = {value, {value * (1.0 - 5e-4), value * (1.0 + 5e-4)}};
        reading.clock_hz = 1.98e9 * std::exp(clock);
        result.readings.push_back(reading);
      }
  if (!fleet.links) return result;
  const int first = node * fleet.gpus_per_node, end = std::min(first + fleet.gpus_per_node, fleet.gpus);
  for (int run = 0; run < fleet.runs; ++run)
    for (int peer = first; peer < end; ++peer) {
      if (peer == rank) continue;
      double log =
          0.0005 * normal_of(fleet.seed, of_link, gpu, static_cast<std::uint64_t>(peer - first)) +
          0.0002 * normal_of(fleet.seed, of_link, gpu, static_cast<std::uint64_t>(100 + 10 * run + peer - first));
      if (node < fleet.slow_links && rank == first + 1 && peer == first + 2) log += std::log1p(-fleet.slow_link);
      const double value = 3.9e11 * std::exp(log);
      result.readings.push_back(
          {result.test_number({"node", "peer-write", "B/s", peer}), run, {value, {value, value}}, {}});
    }
  return result;
}

Campaign synthetic_campaign(const SyntheticFleet& fleet, const std::function<void(RankResult&)>& change) {
  std::vector<RankResult> results;
  std::vector<std::string> files;
  for (int rank = 0; rank < fleet.gpus; ++rank) {
    results.push_back(synthetic_rank(fleet, rank));
    files.push_back(rank_file_name(rank));
    if (change) change(results.back());
  }
  return join(std::move(results), std::move(files));
}

}  // namespace gpubench::fleet
