// SPDX-License-Identifier: Apache-2.0
// One rank's part in a campaign: phases in step with the others, and its file after each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "fleet/rank_file.h"
#include "fleet/steps.h"

namespace gpubench::fleet {

/// Each GPU of a node by itself; all of a node, on half of the nodes at a time; all of the fleet, where it has several
/// nodes.
inline constexpr auto phase_names = std::to_array<std::string_view>({"alone", "node", "fleet"});

/// Measures this rank's device once. May throw std::exception: the rank ends then, and says why.
using Measure = std::function<Calibration()>;
/// What was measured of a link to the device of another rank of this node, and what lies between, where that is known.
struct LinkMeasured {
  Calibration calibration;
  std::string path;  ///< "18 NVLinks through switches"
};
/// Measures it, while that other rank waits. Must not throw.
using MeasureLink = std::function<LinkMeasured(const RankResult& peer)>;

/// Times messages to any other rank, which calls this at the same time with `sends` the other way, as MpiLink has it.
using TimeLink = std::function<std::vector<double>(int peer, bool sends, std::int64_t bytes, int iterations)>;

struct Part {
  std::filesystem::path folder;
  Place place;
  int runs = 3;
  std::string node;
  std::string gpubench_version;
  bool host_links = false;        ///< between all ranks, from host to host, where MPI keeps the steps
  MeasureLink measure_link = {};  ///< between the devices of a node; absent: these are not measured
  /// Begins messages between devices of several nodes, with steps of its own that all ranks make. Throws
  /// std::runtime_error with the reason where there are none; empty where a rank has no such device.
  std::function<TimeLink(Steps&)> open_messages = {};
};

/// What links of messages are called in results: between hosts, and between devices of several nodes.
inline constexpr std::string_view host_link_resource = "mpi-send", device_message_resource = "nccl-send";

/// Takes part to the end, links last, or as far as it goes: then `failure` says why. Writes the rank's file after each
/// phase. Throws storage::WriteError where the folder does not take it. Who works beside whom changes from run to run:
/// the turn of a GPU among those of its node, and the nodes that work at once.
RankResult take_part(const Part& part, const Device& device, Steps& steps, const Measure& measure);

/// The result of a rank that cannot take part at all, written.
RankResult without_device(const Part& part, const std::string& reason);

}  // namespace gpubench::fleet
