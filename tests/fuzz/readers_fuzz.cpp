// SPDX-License-Identifier: Apache-2.0
// Feeds a reader any bytes. It may refuse them with a sentence; what it accepts must be written and read again alike,
// and every report of it must be made.
#include "classifier/classifier.h"
#include "compare/history/history.h"
#include "core/storage/baseline_times.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "fleet/findings.h"
#include "fleet/history.h"
#include "fleet/rank_file.h"
#include "reports/comparisons.h"
#include "reports/fleet.h"
#include "tests/fuzz/written.h"

namespace {

using namespace gpubench;

void run(std::string_view text) {
  Run read = storage::run_from_json(text, "input");
  require(storage::run_from_json(storage::to_json(read), "again") == read);
  (void)storage::slim_run_from_json(std::string(text), "input");
  fuzz::write_all(std::move(read));
}

void calibration(std::string_view text) {
  const Calibration read = storage::calibration_from_json(text, "input");
  require(storage::calibration_from_json(storage::to_json(read), "again") == read);
  require(storage::calibrations_from_json(text, "input") == std::vector{read});
  fuzz::plain(reports::console(read, {}));
  Run run;
  run.devices = {read.device};
  run.calibrations = {read};
  fuzz::write_all(std::move(run));
}

void baseline(std::string_view text) {
  const storage::BaselineEntry read = storage::baseline_from_json(text, "input");
  (void)storage::baseline_times_from_json(text, "input");
  require(storage::baseline_from_json(storage::to_json(read), "again") == read);
  // As many entries as it takes to tell how updates differ, and a change.
  std::vector<storage::BaselineEntry> entries(12, read);
  int number = 0;
  for (storage::BaselineEntry& entry : entries) {
    entry.number = ++number;
    entry.label += fuzz::hostile;
    for (Run& run : entry.runs)
      for (Point& point : run.points) {
        point.measurement.name += fuzz::hostile;
        for (Timing& timing : point.measurement.timings)
          if (timing.seconds && number > 6) timing.seconds->median *= 0.75;
      }
  }
  const compare::History history = compare::history_of(entries, 0.01);
  fuzz::plain(reports::console(history, {}));
  fuzz::plain(reports::markdown(history));
  fuzz::plain(reports::csv(history));
  (void)fuzz::parsed(reports::json(history));
  fuzz::page(reports::html(history, {{fuzz::hostile, fuzz::hostile}}));
}

void fleet_rank(std::string_view text) {
  const fleet::RankResult read = fleet::rank_from_json_lines(text, "input");
  fleet::RankResult again = fleet::rank_from_json_lines(fleet::to_json_lines(read), "again");
  again.damage = read.damage;
  // Readings come before what is absent, and tests by their first reading, once it was written.
  require(fleet::to_json_lines(again) == fleet::to_json_lines(read));
  again.rank = read.rank == 0 ? 1 : read.rank - 1;
  again.node += fuzz::hostile;
  again.device.properties["uuid"] = fuzz::hostile;
  fleet::Campaign campaign = fleet::join({read, std::move(again)}, {"a", fuzz::hostile});
  fleet::add_derived(campaign);
  const fleet::Verdicts verdicts = fleet::find_slow(campaign, {});
  (void)fleet::findings_of(campaign, verdicts);
  fuzz::write_all(fleet::tables_of(campaign, verdicts));
  reports::write_fleet_store(campaign, verdicts, [](std::string_view part) { fuzz::plain(std::string(part)); });
  fuzz::plain(reports::open_metrics(campaign, verdicts));
  fuzz::page(reports::fleet_html(campaign, verdicts, fuzz::hostile, "0"));
  fleet::HistoryBuilder history(campaign.gpus.empty() ? fuzz::hostile : campaign.gpus.front().uuid());
  try {
    for (int i = 0; i < 3; ++i) history.add(campaign);
  } catch (const std::invalid_argument&) {  // several GPUs begin so
    return;
  }
  fuzz::write_all(fleet::tables_of(history.take(0.01)));
}

constexpr Target all[] = {{"run", refusing<run, storage::ReadError>},
                          {"calibration", refusing<calibration, storage::ReadError>},
                          {"baseline", refusing<baseline, storage::ReadError>},
                          {"fleet_rank", refusing<fleet_rank, storage::ReadError>}};
std::span<const Target> targets() { return all; }

}  // namespace
