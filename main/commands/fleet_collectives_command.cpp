// SPDX-License-Identifier: Apache-2.0
// gpubench fleet collectives: how fast ranks exchange messages, by NCCL between GPUs or by MPI between hosts.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/device_collectives.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "fleet/collective_tables.h"
#include "fleet/steps.h"
#include "gpu/devices.h"
#include "gpubench/error.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/fleet_rank.h"
#include "main/commands/shared/watchdog.h"
#include "main/run/stored_runs.h"
#include "reports/result_table.h"

namespace gpubench {
namespace {

enum class ExchangeBy { whatever, nccl, mpi };

struct CollectivesOptions : Options, FleetRankOptions {
  ExchangeBy by = ExchangeBy::whatever;
  std::string folder;
  std::vector<Collective> collectives;  ///< none: all
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = 0;  ///< 0: by what exchanges them
  int iterations = 200;
  double max_point_seconds = 0.5;
  bool overlap = false;
  bool graph = false;
};

/// A message of more floats than MPI counts cannot be sent at once.
constexpr double largest_of_mpi = 8589934588.0;
constexpr double largest_message = 1e12;
constexpr std::int64_t usual_of_mpi = std::int64_t{1} << 26, usual_of_nccl = std::int64_t{1} << 32;

void choose_collectives(Options& options, const OptionRow&, const std::string& text) {
  auto& chosen = dynamic_cast<CollectivesOptions&>(options).collectives;
  chosen.clear();
  for (const std::string& name : split(text, ',')) {
    const auto found = std::ranges::find(collective_names, name);
    if (found == collective_names.end())
      throw UsageError(
          fmt::format("--collectives: '{}' is none of {}.", printable(name), joined(collective_names, ", ")));
    chosen.push_back(static_cast<Collective>(found - collective_names.begin()));
  }
}

/// What is to be timed, and by whom.
struct Work {
  std::vector<Collective> collectives;
  std::vector<std::int64_t> sizes;
};

Work work_of(const CollectivesOptions& options, std::int64_t max_bytes, int ranks) {
  Work work{options.collectives, {}};
  for (std::size_t i = 0; options.collectives.empty() && i < collective_names.size(); ++i)
    work.collectives.push_back(static_cast<Collective>(i));
  for (std::int64_t wanted = options.min_bytes; wanted <= max_bytes; wanted *= 2) {
    const std::int64_t bytes = fleet::message_bytes(wanted, ranks);
    if (bytes <= max_bytes && (work.sizes.empty() || work.sizes.back() != bytes)) work.sizes.push_back(bytes);
  }
  if (work.sizes.empty())
    throw UsageError(fmt::format("No message fits between {} and {} bytes: {} ranks need at least {}.",
                                 options.min_bytes, max_bytes, ranks, fleet::message_bytes(0, ranks)));
  return work;
}

/// Calls `time` of each message, with what it may be interrupted by.
template <class Time>
void time_all(const Work& work, int ranks, Watchdog& watchdog, ProgressLine& progress, fleet::CollectiveRun& run,
              Time&& time) {
  const double all = static_cast<double>(work.collectives.size() * work.sizes.size());
  for (const Collective collective : work.collectives)
    for (const std::int64_t bytes : work.sizes) {
      const std::string step = fmt::format("{} of {} bytes", name_of(collective), bytes);
      watchdog.begin(step);
      progress.step(step, static_cast<double>(run.rows.size()) / all);
      const calibrate::CollectiveSamples samples = time(collective, bytes);
      const auto in_a_row = samples.in_a_row_seconds > 0.0 ? std::optional(samples.in_a_row_seconds) : std::nullopt;
      run.rows.push_back({collective, bytes, static_cast<int>(samples.each_seconds.size()),
                          fleet::summarize(collective, bytes, ranks, samples.each_seconds, in_a_row)});
    }
}

void run_by_mpi(const CollectivesOptions& options, fleet::MpiLink& link, const fleet::Place& place, Watchdog& watchdog,
                ProgressLine& progress, fleet::CollectiveRun& run) {
  const std::int64_t max_bytes = options.max_bytes > 0 ? options.max_bytes : usual_of_mpi;
  if (static_cast<double>(max_bytes) > largest_of_mpi)
    throw UsageError(
        fmt::format("--max-bytes={} is more than MPI sends at once: at most {:.0f}.", max_bytes, largest_of_mpi));
  if (options.graph) throw UsageError("--graph takes GPUs and NCCL; MPI exchanges these messages.");
  run.library = "mpi";
  run.between = "hosts, by MPI";
  run.overhead_seconds = link.time_alone();
  if (options.overlap) run.overlap_absent = "it takes GPUs";
  time_all(work_of(options, max_bytes, place.ranks), place.ranks, watchdog, progress, run,
           [&](Collective collective, std::int64_t bytes) {
             // All ranks must agree on how often: by the time of a few, whose maximum all of them know.
             const std::vector<double> first = link.time_collective(collective, bytes, 3);
             const double once = *std::ranges::min_element(first);
             const int iterations =
                 std::clamp(static_cast<int>(options.max_point_seconds / std::max(once, 1e-9)), 5, options.iterations);
             return calibrate::CollectiveSamples{0.0, link.time_collective(collective, bytes, iterations)};
           });
}

void run_by_nccl(const CollectivesOptions& options, const Device& device, const bench::Nccl& nccl, fleet::Steps& steps,
                 const fleet::Place& place, Watchdog& watchdog, ProgressLine& progress, fleet::CollectiveRun& run) {
  run.library = "nccl";
  run.between =
      fmt::format("GPUs ({}), by NCCL {}{}", device.name, nccl.version(), options.graph ? " in CUDA graphs" : "");
  const std::string id = steps.share(place.rank == 0 ? nccl.new_id() : "");
  watchdog.begin("Starting NCCL");
  bind_beside(device, place.rank, options.quiet);
  calibrate::DeviceCollectives collectives(device, nccl, id, place.rank, place.ranks,
                                           options.max_bytes > 0 ? options.max_bytes : usual_of_nccl);
  const std::int64_t max_bytes = collectives.max_bytes();
  if (max_bytes < options.max_bytes && place.rank == 0)
    say(fmt::format("messages end at {} bytes: the GPU with least free memory has no room for more", max_bytes));
  if (!options.graph) run.overhead_seconds = collectives.launch_seconds();
  const Work work = work_of(options, max_bytes, place.ranks);
  time_all(work, place.ranks, watchdog, progress, run, [&](Collective collective, std::int64_t bytes) {
    return collectives.time(collective, bytes, options.iterations, options.max_point_seconds, options.graph);
  });
  if (!options.overlap) return;
  constexpr std::int64_t overlapped_bytes = std::int64_t{1} << 28;
  constexpr double overlapped_seconds = 0.1;
  for (const Collective collective : work.collectives) {
    const std::int64_t bytes = fleet::message_bytes(std::min(overlapped_bytes, work.sizes.back()), place.ranks);
    watchdog.begin(fmt::format("{} beside products", name_of(collective)));
    try {
      const auto times = collectives.overlap(collective, bytes, overlapped_seconds);
      run.overlaps.push_back(
          {collective,
           bytes,
           times.products,
           times.collectives,
           {times.products_alone, times.collectives_alone, times.products_together, times.collectives_together}});
    } catch (const std::runtime_error& error) {  // what was timed before stands
      run.overlap_absent = error.what();
      return;
    }
  }
}

/// The device for NCCL; absent, with a reason, where this rank has none, or no NCCL.
std::optional<Device> nccl_device(const CollectivesOptions& options, const fleet::Place& place, const bench::Nccl& nccl,
                                  std::string& reason) {
  if (options.by == ExchangeBy::mpi) return std::nullopt;
  reason = nccl.reason();
  if (!reason.empty()) return std::nullopt;
  try {
    Device device = device_of(options, place);
    if (device.kind == DeviceKind::gpu) return device;
    reason = "NCCL takes GPUs, and this rank has a CPU";
  } catch (const bench::NoSuchDevice& error) {
    reason = error.what();
  }
  return std::nullopt;
}

int fleet_collectives(const CollectivesOptions& options) {
  if (options.max_bytes > 0 && options.min_bytes > options.max_bytes)
    throw UsageError("--min-bytes must not be above --max-bytes.");
  fleet::Place place = place_from(options);
  FleetProgress arrivals(true);
  std::string reason, why_no_nccl;
  const auto steps = steps_for(options, options.folder, place, arrivals, reason);
  if (place.ranks < 2)
    throw UsageError("One rank alone exchanges nothing. Start several: mpirun -n 2 gpubench fleet collectives");
  Watchdog watchdog(options.max_step_seconds);
  const bench::Nccl nccl;
  const auto device = nccl_device(options, place, nccl, why_no_nccl);
  const bool all_have = steps->meet("NCCL", device ? 0 : 1) == 0;
  if (!steps->lost().empty()) throw fleet::OutOfStep(steps->lost().front() + " Collectives take all.");
  auto* const link = dynamic_cast<fleet::MpiLink*>(steps.get());
  fleet::CollectiveRun run;
  run.ranks = place.ranks;
  ProgressLine progress(options.quiet || place.rank != 0);
  if (all_have) {
    run_by_nccl(options, *device, nccl, *steps, place, watchdog, progress, run);
  } else if (options.by == ExchangeBy::nccl || link == nullptr) {
    throw UsageError(
        fmt::format("NCCL cannot be used: {}.", why_no_nccl.empty() ? "another rank lacks it" : why_no_nccl));
  } else {
    if (!why_no_nccl.empty() && place.rank == 0 && !options.quiet)
      say(fmt::format("between hosts, by MPI: {}", why_no_nccl));
    run_by_mpi(options, *link, place, watchdog, progress, run);
  }
  progress.clear();
  watchdog.end();  // steps have a limit of their own
  steps->meet("end", 0);
  if (place.rank != 0) {  // rank 0 writes for all
    written_files().insert(options.outputs.begin(), options.outputs.end());
    return exit_codes::fine;
  }
  const std::string schema = "gpubench fleet collectives";
  const auto tables = fleet::tables_of(run);
  show_tables(tables, schema, options);
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    storage::write_file(
        file, extension_of(file) == ".csv" ? reports::csv(tables.front()) : reports::json(tables, schema, {}));
  });
  return exit_codes::fine;
}

int fleet_collectives_of_rank(const CollectivesOptions& options) {
  try {
    return fleet_collectives(options);
  } catch (const fleet::OutOfStep& error) {
    say(error.what());
  } catch (const GpuError& error) {
    say(error.what());
  } catch (const OutOfMemory& error) {
    say(error.what());
  }
  return exit_codes::operation_failed;
}

}  // namespace

extern const CommandFile fleet_collectives_command{
    58, [] {
      using enum Rank;
      using Own = CollectivesOptions;
      const OptionRows rows = joined_rows(
          {{{"--by", "auto|nccl|mpi", "auto", common,
             "What exchanges messages: NCCL between GPUs, MPI between hosts. auto: NCCL where all ranks have a GPU and "
             "NCCL. GPUBENCH_NCCL names its libnccl.so.2.",
             use::choice(&Own::by, std::vector{ExchangeBy::whatever, ExchangeBy::nccl, ExchangeBy::mpi})},
            {"--collectives", "NAME,...", "", common,
             "Only these of all-reduce, all-gather, reduce-scatter, broadcast, all-to-all and send-receive.",
             choose_collectives},
            {"--min-bytes", "BYTES", "8", common, "The smallest message; each is twice the one before.",
             use::number(&Own::min_bytes, 1.0, largest_message)},
            {"--max-bytes", "BYTES", "", common,
             "The largest message. Without it: 4 GiB by NCCL, or what the GPUs have room for, and 64 MiB by MPI.",
             use::number(&Own::max_bytes, 1.0, largest_message)},
            {"--overlap", "", "", common,
             "Say what collectives and products of matrices on the same GPUs cost each other.",
             use::set(&Own::overlap)},
            {"--graph", "", "", common,
             "Time rows as replays of a CUDA graph, as engines that capture their steps: the host then launches none, "
             "and short messages take what the GPUs need.",
             use::set(&Own::graph)},
            {"--steps-folder", "DIR", "", common,
             "A new folder that all ranks see, for steps by files where there is no MPI.", use::text(&Own::folder)},
            {"--iterations", "N", "200", other, "Iterations of each message, fewer where they take long.",
             use::count(&Own::iterations, 5, 1'000'000)},
            {"--max-point-seconds", "SECONDS", "0.5", other,
             "About how long a row of iterations of a message may take.",
             use::number(&Own::max_point_seconds, 0.001, 3600.0)}},
           fleet_rank_rows(
               {"--device", "--steps", "--max-step-seconds", "--rank", "--ranks", "--local-rank", "--campaign"})});
      return std::vector{with(
          Command{"fleet collectives",
                  "Time collectives between ranks: by NCCL between GPUs, by MPI between hosts",
                  "gpubench fleet collectives --collectives=all-reduce\n"
                  "gpubench fleet collectives --overlap --steps-folder=/shared/steps --rank=0 --ranks=2 --local-rank=0",
                  {},
                  ".json .csv",
                  rows},
          fleet_collectives_of_rank)};
    }};

}  // namespace gpubench
