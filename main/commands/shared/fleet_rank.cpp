// SPDX-License-Identifier: Apache-2.0
#include "main/commands/shared/fleet_rank.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "fleet/rank_file.h"
#include "gpu/devices.h"
#include "main/cli/output.h"

namespace gpubench {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

OptionRows fleet_rank_rows(std::initializer_list<std::string_view> flags) {
  using enum Rank;
  using Own = FleetRankOptions;
  const OptionRows rows = {
      {"--device", "DEVICE", "", common, "Measure this device alone, such as cpu or cuda:1.", use::text(&Own::device)},
      {"--steps", "auto|mpi|files", "auto", common,
       "How ranks wait for each other. auto: by MPI under its launchers where this gpubench has it, else by files in a "
       "folder that all see. With files the others go on when a rank dies.",
       use::choice(&Own::steps, std::vector{StepsBy::whatever, StepsBy::mpi, StepsBy::files})},
      {"--max-step-seconds", "SECONDS", "300", common,
       "A rank that comes later to a step is given up. It must be longer than a measurement.",
       use::number(&Own::max_step_seconds, 0.1, 86400.0)},
      {"--rank", "N", "", other, "This process's rank, from 0, where no launcher tells it (Slurm, MPI).",
       use::count(&Own::rank, 0, fleet::max_ranks)},
      {"--ranks", "N", "", other, "How many ranks there are.", use::count(&Own::ranks, 1, fleet::max_ranks)},
      {"--local-rank", "N", "", other, "Its rank on its node: the number of its GPU.",
       use::count(&Own::local_rank, 0, fleet::max_ranks)},
      {"--campaign", "TEXT", "", other,
       "What all ranks of this campaign share. Without it: the job's number, or the folder's name.",
       use::text(&Own::campaign)},
      {"--node", "NAME", "", other, "The node's name. Without it: the host name.", use::text(&Own::node)}};
  return chosen_rows(rows, flags);
}

fleet::Place place_from(const FleetRankOptions& options) {
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
Device device_of(const FleetRankOptions& options, const fleet::Place& place) {
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

namespace {

/// The processors beside a GPU, as the kernel writes them; empty where it does not.
std::string processors_beside(const Device& device) {
  return first_line(fmt::format("/sys/bus/pci/devices/{}/local_cpulist", lower(device.property("pci_bus_id"))))
      .value_or("");
}

/// The first processor of the same core.
int core_of(int processor) {
  const auto siblings = numbers_in_list(
      first_line(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor)).value_or(""));
  return siblings && !siblings->empty() ? siblings->front() : processor;
}

/// Returns why not; empty where it did.
std::string bind_to_share(const Device& device) {
  const std::string list = processors_beside(device);
  const auto beside = numbers_in_list(list);
  if (list.empty() || !beside) return "the system does not tell which processors are beside it";
  cpu_set_t allowed, wanted;
  CPU_ZERO(&wanted);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return "the system does not tell which processors are allowed";
  std::vector<fleet::Processor> usable;
  for (const int cpu : *beside)
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) usable.push_back({core_of(cpu), cpu});
  if (usable.empty()) return "none of the processors beside it is allowed to this process";
  std::size_t part = 0, parts = 1;
  if (usable.size() == beside->size()) {  // no launcher has shared them out
    parts = 0;
    for (const Device& gpu : bench::gpus()) {
      if (processors_beside(gpu) != list) continue;
      if (gpu.id == device.id) part = parts;
      ++parts;
    }
  }
  for (const int cpu : fleet::share_of(std::move(usable), part, parts)) CPU_SET(cpu, &wanted);
  return sched_setaffinity(0, sizeof(wanted), &wanted) == 0 ? "" : "the system refuses it";
}

}  // namespace

void bind_beside(const Device& device, int rank, bool quiet) {
  if (device.kind != DeviceKind::gpu) return;
  if (const std::string why = bind_to_share(device); !why.empty() && !quiet)
    say(fmt::format("rank {} is not bound to processors beside {}: {}", rank, device.id, why));
}

FleetProgress::FleetProgress(bool quiet) : quiet_(quiet), line_(quiet), start_(steady_seconds()) {}

void FleetProgress::arrivals(std::string_view step, std::size_t come, std::size_t all) {
  line_.step(fmt::format("{}: {} of {} ranks there", step, come, all),
             static_cast<double>(come) / static_cast<double>(std::max<std::size_t>(all, 1)));
  if (come < all || quiet_) return;
  line_.clear();
  say(fmt::format("{:.0f} s: {}, all {} ranks", steady_seconds() - start_, step, all));
}

std::unique_ptr<fleet::Steps> steps_for(const FleetRankOptions& options, const std::string& folder, fleet::Place& place,
                                        FleetProgress& progress, std::string& reason) {
  const bool by_launcher = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr ||
                           std::getenv("PMIX_RANK") != nullptr;
  const bool must = options.steps == StepsBy::mpi || folder.empty();
  if (options.steps != StepsBy::files && (must || (by_launcher && !options.rank))) {
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
  }
  if (folder.empty())
    throw UsageError(fmt::format("The ranks need MPI or a folder that all of them see (--steps-folder=DIR){}{}.",
                                 reason.empty() ? "" : ": ", reason));
  try {
    return fleet::file_steps(
        folder, place, options.max_step_seconds,
        [&](std::string_view step, std::size_t come, std::size_t all) { progress.arrivals(step, come, all); });
  } catch (const fleet::OutOfStep& error) {
    throw UsageError(error.what());
  }
}

}  // namespace gpubench
