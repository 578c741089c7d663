// SPDX-License-Identifier: Apache-2.0
#include "calibrate/node_links.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "calibrate/calibration_context.h"
#include "calibrate/cuda/peer_ways.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::calibrate {
namespace {

constexpr int repeats = 3;
constexpr std::size_t host_bytes = std::size_t{128} << 20;
constexpr int host_copies = 8;

/// The same rate a few times; the first one sets up what the driver sets up once.
template <class Rate>
void add(std::string resource, std::string method, Calibration& result, Rate&& rate) {
  try {
    std::vector<double> rates;
    for (int repeat = -1; repeat < repeats; ++repeat)
      if (const double value = rate(); repeat >= 0) rates.push_back(value);
    const Summary summary = statistics::summarize(rates);
    Ceiling ceiling = new_ceiling(resource, "B/s", CeilingGroup::link, std::move(method));
    ceiling.value = summary.median;
    ceiling.ci95 = summary.median_ci95;
    ceiling.repeats = repeats;
    result.ceilings.push_back(std::move(ceiling));
  } catch (const std::runtime_error& error) {
    result.absent.push_back({std::move(resource), error.what()});
  }
}

/// A NUMA node with memory, and what to call it.
struct HostNode {
  int number = 0;
  std::string name;
};

std::vector<HostNode> host_nodes(const Device& device) {
  const std::string folder = "/sys/devices/system/node/";
  const auto numbers = numbers_in_list(first_line(folder + "has_memory").value_or("")).value_or(std::vector<int>());
  const std::string bus = lower(device.property("pci_bus_id"));
  const auto beside = number_in<int>(first_line(fmt::format("/sys/bus/pci/devices/{}/numa_node", bus)).value_or(""));
  std::vector<HostNode> nodes;
  if (numbers.size() == 1) return {{numbers.front(), "near"}};
  if (!beside || !contains(numbers, *beside)) {
    for (const int number : numbers) nodes.push_back({number, fmt::format("node-{}", number)});
    return nodes;
  }
  nodes.push_back({*beside, "near"});
  // Distances stand in the order of all nodes, those without memory among them.
  const auto online = numbers_in_list(first_line(folder + "online").value_or("")).value_or(std::vector<int>());
  std::ifstream distances(fmt::format("{}node{}/distance", folder, *beside));
  std::optional<HostNode> far;
  int farthest = 0;
  for (const int number : online) {
    int distance = 0;
    if (!(distances >> distance)) break;
    if (number == *beside || distance <= farthest || !contains(numbers, number)) continue;
    farthest = distance;
    far = HostNode{number, "far"};
  }
  if (far) nodes.push_back(*far);
  return nodes;
}

}  // namespace

Calibration measure_host_links(const Device& device) {
  Calibration result;
  const auto gpu = bench::open_gpu(device);
  auto timer = bench::event_timer(*gpu);
  for (const HostNode& node : host_nodes(device)) {
    const std::string method = fmt::format("copies of 128 MiB of pinned memory on NUMA node {}, events", node.number);
    try {
      const probes::PinnedMemory memory(host_bytes, node.number);
      DeviceVector<std::byte> there(host_bytes);
      const auto rate = [&](probes::Direction direction) {
        const bool to = direction == probes::Direction::to_gpu;
        const double seconds = timer.seconds([&] {
          for (int copy = 0; copy < host_copies; ++copy)
            probes::enqueue_copy(to ? there.data() : memory.on_host(), to ? memory.on_host() : there.data(), host_bytes,
                                 direction, gpu->stream());
        });
        return static_cast<double>(host_bytes) * host_copies / seconds;
      };
      add("host-to-device-" + node.name, method, result, [&] { return rate(probes::Direction::to_gpu); });
      add("device-to-host-" + node.name, method, result, [&] { return rate(probes::Direction::from_gpu); });
    } catch (const std::runtime_error& error) {
      result.absent.push_back({"host-to-device-" + node.name, error.what()});
      result.absent.push_back({"device-to-host-" + node.name, error.what()});
    }
  }
  return result;
}

Calibration measure_peer_links(const Device& device, const Device& peer) {
  Calibration result;
  const auto gpu = bench::open_gpu(device);
  try {
    probes::PeerLink link(gpu_number(peer.id).value_or(0), peer_bytes);
    for (const PeerWay& way : peer_ways)
      add(std::string("peer") + way.suffix, way.method, result,
          [&] { return link.bytes_per_second(way.way, way.engine, peer_copies, gpu->stream()); });
  } catch (const std::runtime_error& error) {
    for (const PeerWay& way : peer_ways) result.absent.push_back({std::string("peer") + way.suffix, error.what()});
  }
  return result;
}

}  // namespace gpubench::calibrate
