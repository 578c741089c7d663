// SPDX-License-Identifier: Apache-2.0
// What commands that run once for each rank of a fleet have in common: which rank this is, its device, and how it keeps
// step with the others.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/device.h"
#include "fleet/steps.h"
#include "main/cli/command.h"
#include "main/cli/terminal.h"

namespace gpubench {

enum class StepsBy { whatever, mpi, files };

struct FleetRankOptions {
  std::string device = "";
  std::string node = "";
  StepsBy steps = StepsBy::whatever;
  double max_step_seconds = 300.0;
  std::optional<int> rank, ranks, local_rank;
  std::string campaign;
};

/// --device, --steps, --max-step-seconds, --rank, --ranks, --local-rank, --campaign, --node: those of these flags.
OptionRows fleet_rank_rows(std::initializer_list<std::string_view> flags);

/// By the options, else by what the launcher tells. Throws UsageError.
fleet::Place place_from(const FleetRankOptions& options);

/// As the system has it; "unknown" where it has none.
std::string host_name();

/// The device of a local rank. A launcher may show each process one GPU alone. Throws bench::NoSuchDevice.
Device device_of(const FleetRankOptions& options, const fleet::Place& place);

/// Keeps this process on the processors beside its GPU, as the system tells them. Ranks of GPUs beside the same ones
/// share them out by cores, unless a launcher has: two that meet on a core slow each other down. Says why not.
void bind_beside(const Device& device, int rank, bool quiet);

/// On a terminal a line that is overwritten, else a line a step: a job's log.
class FleetProgress {
 public:
  explicit FleetProgress(bool quiet);
  void arrivals(std::string_view step, std::size_t come, std::size_t all);

 private:
  bool quiet_;
  ProgressLine line_;
  double start_;
};

/// By MPI under its launchers, else by files in `folder`; `place` is then what MPI tells. `reason`, where it is by
/// files under such a launcher, says why. Throws UsageError where it can be by neither.
std::unique_ptr<fleet::Steps> steps_for(const FleetRankOptions& options, const std::string& folder, fleet::Place& place,
                                        FleetProgress& progress, std::string& reason);

}  // namespace gpubench
