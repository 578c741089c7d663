// SPDX-License-Identifier: Apache-2.0
// gpubench fleet calibrate: one rank's part in a campaign.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "calibrate/calibrate.h"
#include "calibrate/check/brief.h"
#include "calibrate/device_collectives.h"
#include "calibrate/node_links.h"
#include "core/storage/storage.h"
#include "fleet/take_part.h"
#include "gpu/backend.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/commands/shared/fleet_rank.h"
#include "main/commands/shared/watchdog.h"
#include "main/run/run_ceilings.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

enum class Probes { brief, quick, full };

struct FleetCalibrateOptions : Options, FleetRankOptions {
  std::string folder = "";
  Probes probes = Probes::quick;
  int runs = 3;
  bool links = false;
};

/// What of the host's memory belongs to a GPU's links is measured with the rest.
fleet::Measure measure_for(const FleetCalibrateOptions& options, const Device& device) {
  fleet::Measure measure;
  if (options.probes == Probes::brief) {
    measure = calibrate::brief_calibration(device);
  } else if (options.probes == Probes::full || options.runs == 1) {
    const auto mode = options.probes == Probes::full ? calibrate::Mode::full : calibrate::Mode::quick;
    measure = [device, mode] { return measure_ceilings(device, mode, true); };
  } else {
    // The runs tell how costs differ, so other processes need not; they are rounds, too.
    calibrate::CalibrationOptions how;
    how.part = calibrate::Part::all_but_of_process;
    if (options.runs > 2) how.rounds = 3;
    measure = calibrate::repeated_calibration(device, how);
  }
  if (!options.links || device.kind != DeviceKind::gpu) return measure;
  return [measure = std::move(measure), device] {
    Calibration both = measure();
    Calibration links = calibrate::measure_host_links(device);
    std::ranges::move(links.ceilings, std::back_inserter(both.ceilings));
    std::ranges::move(links.absent, std::back_inserter(both.absent));
    return both;
  };
}

/// Between this GPU and one of another rank, which this process must see, too.
fleet::LinkMeasured measure_link(const Device& device, const fleet::RankResult& peer) {
  fleet::LinkMeasured measured;
  const std::string uuid = peer.device.property("uuid");
  const std::vector<Device> gpus = bench::gpus();
  const auto there =
      std::ranges::find_if(gpus, [&](const Device& gpu) { return !uuid.empty() && gpu.property("uuid") == uuid; });
  try {
    if (there == gpus.end())
      throw GpuError(
          fmt::format("this rank does not see the GPU of rank {} ({}): let all ranks see all GPUs of their node "
                      "(no CUDA_VISIBLE_DEVICES; srun --gpu-bind=none)",
                      peer.rank, uuid.empty() ? "it has none" : uuid));
    measured.path = bench::backend_of(device).path_between(device, *there).value.value_or("");
    measured.calibration = calibrate::measure_peer_links(device, *there);
  } catch (const std::runtime_error& error) {
    measured.calibration.absent.push_back({"peer", error.what()});
  }
  return measured;
}

/// Messages from GPU to GPU by NCCL, which all ranks have, or none uses.
fleet::TimeLink open_messages(const Device& device, const fleet::Place& place, fleet::Steps& steps,
                              double max_seconds) {
  const bool has_gpu = device.kind == DeviceKind::gpu;
  const bench::Nccl nccl;
  const bool lacks = !has_gpu || !nccl.reason().empty();
  const bool one_lacks = steps.meet("NCCL", lacks ? 1 : 0) != 0;
  const bool starts = place.rank == 0 && !one_lacks && steps.lost().empty();
  const std::string id = steps.share(starts ? nccl.new_id() : "");
  if (!has_gpu) return {};
  if (one_lacks) throw GpuError(lacks ? nccl.reason() : "another rank has no NCCL");
  if (id.empty()) throw GpuError("a rank was lost, and NCCL takes all");
  constexpr std::int64_t max_bytes = std::int64_t{64} << 20;
  const auto watchdog = std::make_shared<Watchdog>(max_seconds);
  watchdog->begin("Starting NCCL");
  // It rounds down to what all ranks can share.
  const auto collectives = std::make_shared<calibrate::DeviceCollectives>(device, nccl, id, place.rank, place.ranks,
                                                                          max_bytes + 4 * std::int64_t{place.ranks});
  if (collectives->max_bytes() < max_bytes) throw GpuError("a GPU has no room for two messages of 64 MiB");
  watchdog->end();
  return [watchdog, collectives](int peer, bool sends, std::int64_t bytes, int iterations) {
    watchdog->begin(fmt::format("A message {} rank {}", sends ? "to" : "from", peer));
    std::vector<double> seconds = collectives->time_link(peer, sends, bytes, iterations);
    watchdog->end();
    return seconds;
  };
}

int fleet_calibrate(const FleetCalibrateOptions& options) {
  fleet::Part part;
  part.folder = options.folder;
  part.place = place_from(options);
  // All ranks see this folder, by whatever path.
  if (part.place.campaign.empty()) part.place.campaign = fs::weakly_canonical(part.folder).filename().string();
  part.runs = options.runs;
  part.node = options.node.empty() ? host_name() : options.node;
  part.gpubench_version = std::string(version);
  part.host_links = options.links;
  storage::check_writable(part.folder / fleet::rank_file_name(part.place.rank));
  Device device;
  try {
    device = device_of(options, part.place);
  } catch (const bench::NoSuchDevice& error) {
    fleet::without_device(part, error.what());
    if (options.steps != StepsBy::mpi) fleet::leave_file_steps(options.folder, part.place);
    say(fmt::format("rank {} of {} on {}: {}", part.place.rank, part.place.ranks, part.node, error.what()));
    return exit_codes::operation_failed;
  }
  bind_beside(device, part.place.rank, options.quiet);
  if (device.kind == DeviceKind::gpu) {
    for (const auto& [key, value] : bench::backend_of(device).connections(device)) device.properties[key] = value;
    if (options.links) part.measure_link = [&](const fleet::RankResult& peer) { return measure_link(device, peer); };
  }
  if (options.links)
    part.open_messages = [&](fleet::Steps& steps) {
      return open_messages(device, part.place, steps, options.max_step_seconds);
    };
  FleetProgress progress(options.quiet || part.place.rank != 0);
  std::string reason;
  const std::unique_ptr<fleet::Steps> steps = steps_for(options, options.folder, part.place, progress, reason);
  const bool speaks = part.place.rank == 0 && !options.quiet;
  if (speaks && !reason.empty()) say(fmt::format("steps are kept by files: {}", reason));
  if (speaks && options.links && steps->kind() != "MPI")
    say("links between hosts are not measured: that takes MPI, and steps are kept by files");
  if (speaks) say(fmt::format("{} ranks, steps by {}, results in {}", part.place.ranks, steps->kind(), options.folder));
  const std::string words =
      fmt::format("\ngpubench: rank {} stopped. What it measured in whole phases is in {}.\n", part.place.rank,
                  (part.folder / fleet::rank_file_name(part.place.rank)).string());
  const Interruption interruption(words.c_str(), true);
  const fleet::RankResult result = fleet::take_part(part, device, *steps, measure_for(options, device));
  for (const std::string& lost : result.lost) say(lost);
  if (!result.failure.empty()) say(fmt::format("rank {} on {}: {}", result.rank, result.node, result.failure));
  if (speaks) say(fmt::format("done. To see who is slow: gpubench fleet join {}", options.folder));
  return result.failure.empty() && result.lost.empty() ? exit_codes::fine : exit_codes::operation_failed;
}

void check_fleet_calibrate(FleetCalibrateOptions& options) {
  if (options.folder.empty() && !options.text)
    throw UsageError("fleet calibrate needs --out=DIR, a folder that all ranks see.");
}

}  // namespace

extern const CommandFile fleet_calibrate_command{
    56, [] {
      using enum Rank;
      using Own = FleetCalibrateOptions;
      const OptionRows rows = joined_rows(
          {{{"--out", "DIR", "", common,
             "The folder for the results, which all ranks see. A new one for each campaign.", use::text(&Own::folder)},
            {"--probes", "brief|quick|full", "quick", common,
             "What each rank measures in each phase: two ceilings in a second, or a calibration.",
             use::choice(&Own::probes, std::vector{Probes::brief, Probes::quick, Probes::full})},
            {"--runs", "N", "3", common, "How often all phases are gone through. Findings need three.",
             use::count(&Own::runs, 1, 1000)},
            {"--links", "", "", common,
             "Measure links, too: between the GPUs of a node, each way and both, by copies and by kernels; to the "
             "host's NUMA nodes; by MPI messages of 4 MiB between all hosts, and by NCCL of 64 MiB between GPUs of "
             "several nodes.",
             use::set(&Own::links)}},
           fleet_rank_rows({"--device", "--steps", "--max-step-seconds", "--rank", "--ranks", "--local-rank",
                            "--campaign", "--node"})});
      return std::vector{with(Command{"fleet calibrate",
                                      "Calibrate the GPU of this rank, in step with all others",
                                      "gpubench fleet calibrate --out=campaign\n"
                                      "gpubench fleet calibrate --out=campaign --rank=3 --ranks=16 --local-rank=3",
                                      {},
                                      "",
                                      rows},
                              fleet_calibrate, check_fleet_calibrate)};
    }};

}  // namespace gpubench
