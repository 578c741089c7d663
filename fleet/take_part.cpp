// SPDX-License-Identifier: Apache-2.0
#include "fleet/take_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "core/storage/storage.h"

namespace gpubench::fleet {
namespace {

constexpr std::size_t max_reason = 250;

RankResult result_of(const Part& part, const Device& device) {
  RankResult result;
  result.campaign = part.place.campaign;
  result.rank = part.place.rank;
  result.ranks = part.place.ranks;
  result.local_rank = part.place.local_rank;
  result.node = part.node;
  result.gpubench_version = part.gpubench_version;
  result.started_utc = utc_now();
  result.device = device;
  return result;
}

void write(const Part& part, const RankResult& result) {
  storage::write_file(part.folder / rank_file_name(result.rank), to_json_lines(result));
}

void add(const Calibration& calibration, std::string_view phase, int run, RankResult& result,
         std::optional<int> peer = {}) {
  for (const Ceiling& one : calibration.ceilings) {
    Reading reading{result.test_number({std::string(phase), one.resource, one.unit, peer}),
                    run,
                    {one.value, one.ci95},
                    one.clock_hz};
    result.readings.push_back(reading);
  }
  for (const AbsentCeiling& one : calibration.absent) {
    AbsentReading absent{std::string(phase), one.resource, shorten(printable(one.reason), max_reason), run};
    if (!contains(result.absent, absent)) result.absent.push_back(std::move(absent));
  }
}

/// What messages are between, and how large they are.
struct Messages {
  std::string_view resource;
  std::int64_t bytes;
  bool within_nodes;
};
constexpr Messages between_hosts = {host_link_resource, std::int64_t{4} << 20, true};
constexpr Messages between_devices = {device_message_resource, std::int64_t{64} << 20, false};

/// All pairs, each way. Those within a node are of its phase.
void measure_messages(const Messages& messages, const Place& place, int ranks_of_node, int run, const TimeLink& time,
                      Steps& steps, RankResult& result) {
  constexpr int iterations = 8;
  for (int round = 0; round < rounds_of(place.ranks); ++round) {
    steps.meet(fmt::format("{}, run {}, round {} of {}", messages.resource, run + 1, round + 1, rounds_of(place.ranks)),
               0);
    const auto peer = partner_of(place.rank, place.ranks, round);
    if (!peer) continue;
    const bool same_node = *peer / ranks_of_node == place.rank / ranks_of_node;
    if (same_node && !messages.within_nodes) continue;
    for (const bool first_way : {true, false}) {
      std::vector<double> rates;
      for (const double seconds : time(*peer, first_way == (place.rank < *peer), messages.bytes, iterations))
        rates.push_back(static_cast<double>(messages.bytes) / seconds);
      if (rates.empty()) continue;
      const Summary summary = statistics::summarize(rates);
      const Test test{std::string(phase_names[same_node ? 1 : 2]), std::string(messages.resource), "B/s", peer};
      result.readings.push_back({result.test_number(test), run, {summary.median, summary.median_ci95}, {}});
    }
  }
}

/// The result of a rank of this node as far as it is written. Throws storage::ReadError.
RankResult neighbour(const Part& part, int rank) {
  RankResult peer = read_rank(part.folder / rank_file_name(rank));
  if (peer.node != part.node)
    throw storage::ReadError(fmt::format("rank {} is on {}, not on {}: number the ranks node by node", rank,
                                         printable(peer.node), printable(part.node)));
  return peer;
}

/// Between the devices of each node: all pairs of it, one of a pair after the other.
void measure_device_links(const Part& part, int turns, int run, Steps& steps, RankResult& result) {
  const int first = part.place.rank / turns * turns, here = std::min(turns, part.place.ranks - first);
  const std::string_view phase = phase_names[1];
  for (int round = 0; round < rounds_of(turns); ++round)
    for (int turn = 0; turn < 2; ++turn) {
      steps.meet(fmt::format("links, run {}, round {} of {}, {} of 2", run + 1, round + 1, rounds_of(turns), turn + 1),
                 0);
      const auto partner = partner_of(part.place.rank - first, turns, round);
      if (!partner || *partner >= here || (part.place.rank - first < *partner) != (turn == 0)) continue;
      const int peer = first + *partner;
      try {
        const LinkMeasured measured = part.measure_link(neighbour(part, peer));
        add(measured.calibration, phase, run, result, peer);
        if (!measured.path.empty()) result.paths[peer] = printable(measured.path);
      } catch (const storage::ReadError& error) {
        Calibration none;
        none.absent = {{"peer", error.what()}};
        add(none, phase, run, result);
      }
    }
}

/// Between devices of several nodes.
void measure_between_nodes(const Part& part, int turns, Steps& steps, RankResult& result) {
  TimeLink send;
  try {
    send = part.open_messages(steps);
  } catch (const OutOfStep&) {
    throw;
  } catch (const std::runtime_error& error) {
    Calibration none;
    none.absent = {{std::string(device_message_resource), error.what()}};
    add(none, phase_names[2], 0, result);
  }
  for (int run = 0; send && run < part.runs; ++run) {
    measure_messages(between_devices, part.place, turns, run, send, steps, result);
    write(part, result);
  }
}

}  // namespace

RankResult take_part(const Part& part, const Device& device, Steps& steps, const Measure& measure) {
  RankResult result = result_of(part, device);
  write(part, result);
  try {
    const int local = part.place.local_rank;
    const int turns = steps.meet("start", local) + 1;
    const int node = part.place.rank / turns, last_node = (part.place.ranks - 1) / turns;
    // Nodes are halved by a digit of their number, another one in each run.
    const int digits = std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(last_node))));
    const auto take = [&](std::string_view phase, int run) { add(measure(), phase, run, result); };
    for (int run = 0; run < part.runs; ++run) {
      for (int turn = 0; turn < turns; ++turn) {
        steps.meet(fmt::format("alone, run {}, turn {} of {}", run + 1, turn + 1, turns), 0);
        if ((local + run) % turns == turn) take(phase_names[0], run);
      }
      write(part, result);
      for (int half = 0; half < 2; ++half) {
        steps.meet(fmt::format("node, run {}, half {}", run + 1, half + 1), 0);
        if (((node >> run % digits) & 1) == half) take(phase_names[1], run);
      }
      write(part, result);
      if (last_node == 0) continue;  // all GPUs of the one node have just worked at once
      steps.meet(fmt::format("fleet, run {}", run + 1), 0);
      take(phase_names[2], run);
      write(part, result);
    }
    // After all else: contexts and streams beside their own make kernels' launches slower.
    auto* const mpi = part.host_links ? dynamic_cast<MpiLink*>(&steps) : nullptr;
    const TimeLink send_by_mpi = [mpi](auto... words) { return mpi->time_link(words...); };
    for (int run = 0; run < part.runs; ++run) {
      if (part.measure_link) measure_device_links(part, turns, run, steps, result);
      if (mpi != nullptr) measure_messages(between_hosts, part.place, turns, run, send_by_mpi, steps, result);
      write(part, result);
    }
    if (last_node > 0 && part.open_messages) measure_between_nodes(part, turns, steps, result);
    // Whoever is told that all have come to the end finds all files whole.
    result.ended_utc = utc_now();
    write(part, result);
    steps.meet("end", 0);
  } catch (const storage::WriteError&) {
    steps.leave();
    throw;
  } catch (const std::exception& error) {
    steps.leave();
    result.failure = shorten(printable(error.what()), max_reason);
  }
  result.lost = steps.lost();
  if (result.ended_utc.empty()) result.ended_utc = utc_now();
  write(part, result);
  return result;
}

RankResult without_device(const Part& part, const std::string& reason) {
  RankResult result = result_of(part, {});
  result.failure = shorten(printable(reason), max_reason);
  result.ended_utc = utc_now();
  write(part, result);
  return result;
}

}  // namespace gpubench::fleet
