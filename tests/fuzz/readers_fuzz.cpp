// SPDX-License-Identifier: Apache-2.0
// Feeds a reader any bytes. It may refuse them with a sentence; what it accepts must be written and read again alike,
// and every report of it must be made.
#include "classifier/classifier.h"
#include "core/storage/baseline_times.h"
#include "core/storage/baselines.h"
#include "core/storage/storage.h"
#include "fleet/findings.h"
#include "fleet/rank_file.h"
#include "reports/reports.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace gpubench;

[[maybe_unused]] void run(std::string_view text) {
  Run read = storage::run_from_json(text, "input");
  require(storage::run_from_json(storage::to_json(read), "again") == read);
  (void)storage::slim_run_from_json(std::string(text), "input");
  (void)reports::console(read, {});
  (void)reports::csv(read);
  (void)reports::html(read);
}

[[maybe_unused]] void calibration(std::string_view text) {
  const Calibration read = storage::calibration_from_json(text, "input");
  require(storage::calibration_from_json(storage::to_json(read), "again") == read);
  (void)reports::console(read, {});
}

[[maybe_unused]] void baseline(std::string_view text) {
  const storage::BaselineEntry read = storage::baseline_from_json(text, "input");
  (void)storage::baseline_times_from_json(text, "input");
  require(storage::baseline_from_json(storage::to_json(read), "again") == read);
}

[[maybe_unused]] void fleet_rank(std::string_view text) {
  const fleet::RankResult read = fleet::rank_from_json_lines(text, "input");
  fleet::RankResult again = fleet::rank_from_json_lines(fleet::to_json_lines(read), "again");
  again.damage = read.damage;
  // Readings come before what is absent, and tests by their first reading, once it was written.
  require(fleet::to_json_lines(again) == fleet::to_json_lines(read));
  const fleet::Campaign campaign = fleet::join({read, again}, {"a", "b"});
  (void)fleet::findings_of(campaign, fleet::find_slow(campaign, {}));
}

}  // namespace

FUZZ_TARGET(READER, gpubench::storage::ReadError)
