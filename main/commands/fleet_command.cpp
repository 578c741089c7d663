// SPDX-License-Identifier: Apache-2.0
// gpubench fleet: many GPUs on many nodes.
#include <fmt/format.h>

#include <array>

#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "fleet/campaign.h"
#include "fleet/findings.h"
#include "fleet/history.h"
#include "fleet/slow.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/run/stored_runs.h"
#include "reports/fleet.h"
#include "reports/result_table.h"
#include "reports/timelines.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

struct FleetOptions : Options, fleet::SlowOptions {};

/// What turns the store as CSV, by its name, into Parquet.
constexpr const char* parquet_script =
    "import sys\n"
    "import pyarrow as pa, pyarrow.csv as csv, pyarrow.parquet as parquet\n"
    "text, number, whole = pa.string(), pa.float64(), pa.int32()\n"
    "kinds = dict(campaign=text, started_utc=text, rank=whole, node=text, local_rank=whole, uuid=text, model=text,\n"
    "             driver=text, phase=text, run=whole, resource=text, unit=text, value=number, low=number, "
    "high=number,\n"
    "             clock_hz=number, deviation=number)\n"
    "table = csv.read_csv(sys.argv[1], convert_options=csv.ConvertOptions(column_types=kinds))\n"
    "parquet.write_table(table, sys.argv[2], compression='zstd')\n";
constexpr double max_parquet_seconds = 3600.0;

void write_parquet(const fs::path& file, const std::function<void(const storage::Sink&)>& fill) {
  storage::check_writable(file);
  const PrivateFolder folder;
  const fs::path csv = folder.path() / "store.csv", made = folder.path() / "store.parquet";
  storage::write_file(csv, fill);
  const ProgramResult result =
      run_program({"python3", "-c", parquet_script, csv.string(), made.string()}, {.max_seconds = max_parquet_seconds});
  if (!result.end.well() || result.timed_out)
    throw storage::WriteError(fmt::format(
        "{} was not written: python3 with pyarrow makes Parquet, and it failed ({}). Install it (python3 -m pip "
        "install pyarrow), or write .csv, which has the same columns.",
        file.string(), last_line(result.errors).substr(0, 200)));
  storage::write_file(file, storage::read_text(made));
}

/// Shows and writes what a campaign says; returns the exit code.
int report(fleet::Campaign campaign, const FleetOptions& options, const std::string& title, const std::string& schema) {
  fleet::add_derived(campaign);
  const fleet::Verdicts verdicts = fleet::find_slow(campaign, options);
  const auto tables = fleet::tables_of(campaign, verdicts);
  show_tables(tables, schema, options);
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const auto fill = [&](const storage::Sink& sink) { reports::write_fleet_store(campaign, verdicts, sink); };
    const std::string extension = options.json ? ".json" : extension_of(file);
    if (extension == ".csv") return storage::write_file(file, fill);
    if (extension == ".parquet") return write_parquet(file, fill);
    storage::write_file(file, extension == ".html"
                                  ? reports::fleet_html(campaign, verdicts, title, std::string(version))
                              : extension == ".prom" ? reports::open_metrics(campaign, verdicts)
                                                     : reports::json(tables, schema, {}));
  });
  constexpr std::array codes = {exit_codes::fine, 1, exit_codes::operation_failed, exit_codes::not_comparable,
                                exit_codes::inconclusive};  // by Outcome
  return codes.at(static_cast<std::size_t>(fleet::outcome_of(campaign, verdicts, options)));
}

int fleet_join(const FleetOptions& options) {
  const fs::path folder = options.inputs.front();
  return report(fleet::join_folder(folder), options,
                "Fleet: " + fs::absolute(folder).lexically_normal().filename().string(), "gpubench fleet join");
}

int fleet_diff(const FleetOptions& options) {
  fleet::Campaign base = fleet::join_folder(options.inputs[0]);
  return report(fleet::change_of(base, fleet::join_folder(options.inputs[1])), options,
                fmt::format("Fleet: {} to {}", options.inputs[0], options.inputs[1]), "gpubench fleet diff");
}

int fleet_history(const FleetOptions& options) {
  fleet::HistoryBuilder builder(options.inputs.front());
  ProgressLine progress(options.quiet);
  try {
    for (std::size_t i = 1; i < options.inputs.size(); ++i) {
      progress.step(options.inputs[i], static_cast<double>(i - 1) / static_cast<double>(options.inputs.size() - 1));
      fleet::Campaign campaign = fleet::join_folder(options.inputs[i]);
      fleet::add_derived(campaign);
      builder.add(campaign);
    }
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}.", error.what()));
  }
  progress.clear();
  const fleet::GpuHistory history = builder.take(options.min_effect);
  if (history.entries.empty())
    throw UsageError(
        fmt::format("No GPU of these campaigns has a UUID that begins with {}; fleet join names those that "
                    "are slow, and --out=FILE.csv all.",
                    printable(options.inputs.front())));
  const auto tables = fleet::tables_of(history);
  const std::string schema = "gpubench fleet history";
  show_tables(tables, schema, options);
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = options.json ? ".json" : extension_of(file);
    storage::write_file(file,
                        extension == ".html"
                            ? reports::tables_html(tables, {"History of " + history.uuid, std::string(version), {}})
                        : extension == ".csv" ? reports::csv(tables.back())
                                              : reports::json(tables, schema, {}));
  });
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile fleet_command{
    55, [] {
      using enum Rank;
      const OptionRows judging = {
          shared_rows({"--json"}).front(),
          {"--min-effect", "PERCENT", "2", common,
           "Smaller deficits are no findings: the 95 % interval must reach this.",
           use::number(&fleet::SlowOptions::min_effect, 0.0, 100.0, 0.01)},
          {"--false-discovery", "PERCENT", "1", other,
           "Expected share of false ones among the findings of a run (Benjamini and Hochberg).",
           use::number(&fleet::SlowOptions::false_discovery, 1e-6, 50.0, 0.01)},
          {"--min-runs", "N", "3", other, "A finding is confirmed in every run, and in at least so many.",
           use::count(&fleet::SlowOptions::min_runs, 1, 1000)}};
      const std::string formats = ".html .json .csv .parquet .prom";
      return std::vector{
          Command{"fleet", "Find slow GPUs, links and nodes among many that should be alike"},
          with(Command{"fleet join",
                       "Join the results of all ranks, and say which GPU or link is slow",
                       "gpubench fleet join campaign/\n"
                       "gpubench fleet join campaign/ --out=campaign.html --out=campaign.parquet",
                       {"DIR", "The folder that the ranks of fleet calibrate wrote to.", 1, 1},
                       formats,
                       judging},
               fleet_join),
          with(Command{"fleet diff",
                       "Say which GPUs changed otherwise than their peers from one campaign to another",
                       "gpubench fleet diff monday/ tuesday/",
                       {"BASE NEW", "Folders of two campaigns.", 2, 2},
                       formats,
                       judging},
               fleet_diff),
          with(Command{"fleet history",
                       "Say when a GPU changed over campaigns, and what its peers did then",
                       "gpubench fleet history GPU-8860d441 campaigns/*\n"
                       "gpubench fleet history GPU-8860d441 monday/ tuesday/ --out=gpu.html",
                       {"UUID DIR...", "The GPU, by its UUID or a beginning of it, and folders of campaigns.", 2,
                        10'000},
                       ".html .json .csv",
                       chosen_rows(judging, {"--json", "--min-effect"})},
               fleet_history)};
    }};

}  // namespace gpubench
