// SPDX-License-Identifier: Apache-2.0
// gpubench fleet collectives: how fast ranks exchange messages, by MPI between hosts.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "fleet/steps.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "reports/result_table.h"

namespace gpubench {
namespace {

struct CollectivesOptions : Options {
  std::vector<fleet::Collective> collectives;  ///< none: all
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{1} << 26;
  int iterations = 200;
  double max_point_seconds = 2.0;
};

/// A message of more floats than MPI counts cannot be sent at once.
constexpr double largest_message = 8589934588.0;

void choose_collectives(Options& options, const OptionRow&, const std::string& text) {
  auto& chosen = dynamic_cast<CollectivesOptions&>(options).collectives;
  chosen.clear();
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const auto found = std::ranges::find(fleet::collective_names, rest.substr(0, end));
    if (found == fleet::collective_names.end())
      throw UsageError(fmt::format("--collectives: '{}' is none of {}.", printable(rest.substr(0, end)),
                                   joined(fleet::collective_names, ", ")));
    chosen.push_back(static_cast<fleet::Collective>(found - fleet::collective_names.begin()));
    if (end == rest.size()) return;
    rest.remove_prefix(end + 1);
  }
}

int fleet_collectives(const CollectivesOptions& options) {
  if (options.min_bytes > options.max_bytes) throw UsageError("--min-bytes must not be above --max-bytes.");
  fleet::Place place;
  std::string reason;
  const auto link = fleet::mpi_steps(place, options.max_point_seconds, reason);
  if (!link) throw UsageError(fmt::format("fleet collectives needs MPI: {}.", reason));
  if (place.ranks < 2)
    throw UsageError("One rank alone exchanges nothing. Start several: mpirun -n 2 gpubench fleet collectives");
  ResultTable table;
  table.name = "collectives";
  table.title = fmt::format("Collectives of {} ranks, by MPI between hosts", place.ranks);
  table.columns = columns_of(
      "collective=collective; bytes=message; iterations:count=iterations~1; median_seconds=p50; p99_seconds=p99; "
      "algorithm:rate=algorithm; bus:rate=bus");
  table.shown = 1000;
  table.notes = {
      "Each time is that of the slowest rank. Algorithm and bus bandwidth as nccl-tests defines them, by the p50."};
  std::vector<fleet::Collective> chosen = options.collectives;
  for (std::size_t i = 0; options.collectives.empty() && i < fleet::collective_names.size(); ++i)
    chosen.push_back(static_cast<fleet::Collective>(i));
  ProgressLine progress(options.quiet || place.rank != 0);
  for (const fleet::Collective collective : chosen)
    for (std::int64_t wanted = options.min_bytes; wanted <= options.max_bytes; wanted *= 4) {
      const std::int64_t bytes = fleet::message_bytes(wanted, place.ranks);
      progress.step(fmt::format("{} of {} bytes", name_of(collective), bytes), 0.0);
      // All ranks must agree on how often: by the time of a few, whose maximum all of them know.
      const std::vector<double> first = link->time_collective(collective, bytes, 3);
      const double once = *std::ranges::min_element(first);
      const int iterations =
          std::clamp(static_cast<int>(options.max_point_seconds / std::max(once, 1e-9)), 5, options.iterations);
      const auto seconds = link->time_collective(collective, bytes, iterations);
      const auto times = fleet::summarize(collective, bytes, place.ranks, seconds);
      table.add({std::string(name_of(collective)), bytes, std::int64_t{iterations}, times.median_seconds,
                 times.p99_seconds, times.algorithm_bytes_per_second, times.bus_bytes_per_second});
    }
  progress.clear();
  if (place.rank != 0) {  // rank 0 writes for all
    written_files().insert(options.outputs.begin(), options.outputs.end());
    return exit_codes::fine;
  }
  const std::string schema = "gpubench fleet collectives";
  if (!options.quiet) show(reports::console_text({table}, stdout_style(options)));
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    storage::write_file(file, file.ends_with(".csv") ? reports::csv(table) : reports::json({table}, schema, {}));
  });
  return exit_codes::fine;
}

/// Only rank 0 writes: what the others were asked for is no failure of theirs.
int fleet_collectives_of_rank(const CollectivesOptions& options) {
  try {
    return fleet_collectives(options);
  } catch (const fleet::OutOfStep& error) {
    say(error.what());
    return exit_codes::operation_failed;
  }
}

}  // namespace

extern const CommandFile fleet_collectives_command{
    58, [] {
      using enum Rank;
      using Own = CollectivesOptions;
      const OptionRows rows = {
          {"--collectives", "NAME,...", "", "", common, once,
           "Only these of all-reduce, all-gather, reduce-scatter, broadcast, all-to-all and send-receive.",
           choose_collectives},
          {"--min-bytes", "BYTES", "", "8", common, once, "The smallest message; each is four times the one before.",
           use::number(&Own::min_bytes, 1.0, largest_message)},
          {"--max-bytes", "BYTES", "", "67108864", common, once, "The largest message.",
           use::number(&Own::max_bytes, 1.0, largest_message)},
          {"--iterations", "N", "", "200", other, once, "Iterations of each message, fewer where they take long.",
           use::count(&Own::iterations, 5, 1'000'000)},
          {"--max-point-seconds", "SECONDS", "", "2", other, once,
           "About how long the iterations of a message may take.",
           use::number(&Own::max_point_seconds, 0.001, 3600.0)}};
      return std::vector{with(Command{"fleet collectives",
                                      "Time collectives between the ranks of an MPI job, on hosts",
                                      "gpubench fleet collectives --collectives=all-reduce",
                                      {},
                                      ".json .csv",
                                      false,
                                      rows},
                              fleet_collectives_of_rank)};
    }};

}  // namespace gpubench
