// SPDX-License-Identifier: Apache-2.0
// gpubench fleet calibrate: one rank's part in a campaign.
#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "calibrate/calibrate.h"
#include "calibrate/check/brief.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "fleet/take_part.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/host_name.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

enum class Probes { brief, quick, full };
enum class StepsBy { whatever, mpi, files };

struct FleetCalibrateOptions : Options {
  std::string folder = "";
  std::string device = "";
  Probes probes = Probes::quick;
  StepsBy steps = StepsBy::whatever;
  int runs = 3;
  double max_step_seconds = 300.0;
  std::optional<int> rank, ranks, local_rank;
  std::string campaign, node;
  bool links = false;
};

fleet::Place place_from(const FleetCalibrateOptions& options) {
  std::optional<fleet::Place> told;
  if (options.rank.has_value() != options.ranks.has_value()) throw UsageError("--rank and --ranks go together.");
  try {
    if (!options.rank) told = fleet::place_of([](const char* name) { return std::getenv(name); });
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  fleet::Place place = told.value_or(fleet::Place{});
  if (options.rank) {
    place.rank = *options.rank;
    place.ranks = *options.ranks;
    if (place.rank >= place.ranks)
      throw UsageError(fmt::format("--rank={} must be below --ranks={}: ranks count from 0.", place.rank, place.ranks));
  }
  if (options.local_rank) place.local_rank = *options.local_rank;
  if (!options.campaign.empty()) place.campaign = options.campaign;
  return place;
}

/// The device of a local rank. A launcher may show each process one GPU alone.
Device device_of(const FleetCalibrateOptions& options, const fleet::Place& place) {
  if (options.device == "cpu") return bench::host_device();
  if (!options.device.empty()) return bench::choose_devices(options.device).front();
  const std::vector<Device> gpus = bench::gpus();
  const auto local = static_cast<std::size_t>(place.local_rank);
  if (gpus.size() == 1) return gpus.front();
  if (local < gpus.size()) return gpus[local];
  throw bench::NoSuchDevice(
      gpus.empty() ? fmt::format("there is no GPU for local rank {}: {}; --device=cpu measures the CPU", local,
                                 bench::why_no_gpu())
                   : fmt::format("there are {} GPUs, and none is left for local rank {}", gpus.size(), local));
}

/// Keeps this process on the processors beside its GPU, as the system tells them. Returns why not; empty where it did.
std::string bind_beside(const Device& device) {
  const auto bus = device.properties.find("pci_bus_id");
  if (bus == device.properties.end()) return "its place on the PCI bus is not known";
  const std::string path = fmt::format("/sys/bus/pci/devices/{}/local_cpulist", lower(bus->second));
  std::ifstream file(path);
  std::string list, part;
  if (!std::getline(file, list)) return fmt::format("{} cannot be read", path);
  cpu_set_t allowed, wanted;
  CPU_ZERO(&wanted);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return "the system does not tell which processors are allowed";
  std::istringstream parts(list);
  while (std::getline(parts, part, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = number_in<int>(std::string_view(part).substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_in<int>(std::string_view(part).substr(dash + 1));
    if (!first || !last) return fmt::format("{} is not understood", path);
    for (int cpu = *first; cpu <= *last && cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0) return "none of the processors beside it is allowed to this process";
  return sched_setaffinity(0, sizeof(wanted), &wanted) == 0 ? "" : "the system refuses it";
}

/// On a terminal a line that is overwritten, else a line a step: a job's log.
class FleetProgress {
 public:
  explicit FleetProgress(bool quiet) : quiet_(quiet), line_(quiet), start_(steady_seconds()) {}
  void arrivals(std::string_view step, std::size_t come, std::size_t all) {
    line_.step(fmt::format("{}: {} of {} ranks there", step, come, all),
               static_cast<double>(come) / static_cast<double>(std::max<std::size_t>(all, 1)));
    if (come < all || quiet_) return;
    line_.clear();
    say(fmt::format("{:.0f} s: {}, all {} ranks", steady_seconds() - start_, step, all));
  }

 private:
  bool quiet_;
  ProgressLine line_;
  double start_;
};

std::unique_ptr<fleet::Steps> steps_for(const FleetCalibrateOptions& options, fleet::Place& place,
                                        FleetProgress& progress) {
  std::string reason;
  const bool by_launcher = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr ||
                           std::getenv("PMIX_RANK") != nullptr;
  if (options.steps == StepsBy::mpi || (options.steps == StepsBy::whatever && by_launcher && !options.rank)) {
    fleet::Place found = place;
    auto steps = fleet::mpi_steps(found, options.max_step_seconds, reason);
    // An MPI that is not the launcher's makes each process the only one.
    if (steps && place.ranks > 1 && (found.rank != place.rank || found.ranks != place.ranks)) {
      reason = fmt::format("MPI calls this rank {} of {}, and its launcher {} of {}: they are not of one kind",
                           found.rank, found.ranks, place.rank, place.ranks);
      steps.reset();
    }
    if (steps) {
      place = found;
      return steps;
    }
    if (options.steps == StepsBy::mpi) throw UsageError(fmt::format("--steps=mpi: {}.", reason));
    if (place.rank == 0 && !options.quiet) say(fmt::format("steps are kept by files: {}", reason));
  }
  return fleet::file_steps(
      options.folder, place, options.max_step_seconds,
      [&](std::string_view step, std::size_t come, std::size_t all) { progress.arrivals(step, come, all); });
}

fleet::Measure measure_for(Probes probes, const Device& device) {
  if (probes == Probes::brief) return calibrate::brief_calibration(device);
  return [device, mode = probes == Probes::full ? calibrate::Mode::full : calibrate::Mode::quick] {
    return calibrate::calibrate(device, {.mode = mode, .part = calibrate::Part::all, .progress = {}});
  };
}

int fleet_calibrate(const FleetCalibrateOptions& options) {
  fleet::Part part;
  part.folder = options.folder;
  part.place = place_from(options);
  part.runs = options.runs;
  part.node = options.node.empty() ? host_name() : options.node;
  part.gpubench_version = std::string(version);
  part.links = options.links;
  storage::check_writable(part.folder / fleet::rank_file_name(part.place.rank));
  Device device;
  try {
    device = device_of(options, part.place);
  } catch (const bench::NoSuchDevice& error) {
    fleet::without_device(part, error.what());
    say(fmt::format("rank {} of {} on {}: {}", part.place.rank, part.place.ranks, part.node, error.what()));
    return exit_codes::operation_failed;
  }
  if (device.kind == DeviceKind::gpu)
    if (const std::string why = bind_beside(device); !why.empty() && !options.quiet)
      say(fmt::format("rank {} is not bound to processors beside {}: {}", part.place.rank, device.id, why));
  FleetProgress progress(options.quiet || part.place.rank != 0);
  std::unique_ptr<fleet::Steps> steps;
  try {
    steps = steps_for(options, part.place, progress);
  } catch (const fleet::OutOfStep& error) {
    throw UsageError(error.what());
  }
  if (options.links && steps->kind() != "MPI" && part.place.rank == 0)
    say("links between ranks are not measured: that takes MPI, and steps are kept by files");
  if (part.place.rank == 0 && !options.quiet)
    say(fmt::format("campaign {}: {} ranks, steps by {}, results in {}", printable(part.place.campaign),
                    part.place.ranks, steps->kind(), options.folder));
  const fleet::RankResult result = fleet::take_part(part, device, *steps, measure_for(options.probes, device), nullptr);
  for (const std::string& lost : result.lost) say(lost);
  if (!result.failure.empty()) say(fmt::format("rank {} on {}: {}", result.rank, result.node, result.failure));
  if (part.place.rank == 0 && !options.quiet)
    say(fmt::format("done. To see who is slow: gpubench fleet join {}", options.folder));
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
      const OptionRows rows = {
          {"--out", "DIR", "", "", common, once,
           "The folder for the results, which all ranks see. A new one for each campaign.", use::text(&Own::folder)},
          {"--probes", "brief|quick|full", "", "quick", common, once,
           "What each rank measures in each phase: two ceilings in a second, or a calibration.",
           use::choice(&Own::probes, std::vector{Probes::brief, Probes::quick, Probes::full})},
          {"--runs", "N", "", "3", common, once, "How often all phases are gone through. Findings need three.",
           use::count(&Own::runs, 1, 1000)},
          {"--device", "DEVICE", "", "", common, once,
           "Measure this device, such as cpu or cuda:1. Without it: the GPU of the local rank.",
           use::text(&Own::device)},
          {"--steps", "auto|mpi|files", "", "auto", common, once,
           "How ranks wait for each other. auto: by MPI under its launchers where this gpubench has it, else by files "
           "in "
           "the folder. With files the others go on when a rank dies.",
           use::choice(&Own::steps, std::vector{StepsBy::whatever, StepsBy::mpi, StepsBy::files})},
          {"--max-step-seconds", "SECONDS", "", "300", common, once,
           "A rank that comes later to a step is given up. It must be longer than a measurement.",
           use::number(&Own::max_step_seconds, 0.1, 86400.0)},
          {"--links", "", "", "", common, once,
           "Measure the links between all ranks, too: messages of 4 MiB from host to host by MPI, each way, in rounds "
           "of "
           "disjoint pairs.",
           use::set(&Own::links)},
          {"--rank", "N", "", "", other, once, "This process's rank, from 0, where no launcher tells it (Slurm, MPI).",
           use::count(&Own::rank, 0, fleet::max_ranks)},
          {"--ranks", "N", "", "", other, once, "How many ranks there are.",
           use::count(&Own::ranks, 1, fleet::max_ranks)},
          {"--local-rank", "N", "", "", other, once, "Its rank on its node: the number of its GPU.",
           use::count(&Own::local_rank, 0, fleet::max_ranks)},
          {"--campaign", "TEXT", "", "", other, once,
           "What all ranks of this campaign share. Without it: the job's number.", use::text(&Own::campaign)},
          {"--node", "NAME", "", "", other, once, "The node's name. Without it: the host name.",
           use::text(&Own::node)}};
      return std::vector{with(Command{"fleet calibrate",
                                      "Calibrate the GPU of this rank, in step with all others",
                                      "gpubench fleet calibrate --out=campaign\n"
                                      "gpubench fleet calibrate --out=campaign --rank=3 --ranks=16 --local-rank=3",
                                      {},
                                      "",
                                      false,
                                      rows},
                              fleet_calibrate, check_fleet_calibrate)};
    }};

}  // namespace gpubench
