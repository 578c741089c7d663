// SPDX-License-Identifier: Apache-2.0
// Writes the page of a synthetic run, for the browser test and for looking at: write_page KIND FILE.
#include <fstream>
#include <iostream>
#include <string>

#include "reports/reports.h"
#include "tests/reports/program_run.h"
#include "tests/reports_html/synthetic_run.h"

int main(int argc, char** argv) {
  namespace testing = gpubench::testing;
  const std::string kind = argc == 3 ? argv[1] : "";
  gpubench::Run run;
  if (kind == "one") {
    run = testing::synthetic_run();
  } else if (kind == "two") {
    run = testing::synthetic_run_two_devices();
  } else if (kind == "large") {
    run = testing::synthetic_run_of(10000);
  } else if (kind == "hostile") {
    run = testing::synthetic_hostile_run();
  } else if (kind == "program") {
    run = testing::program_run();
  } else if (kind == "uncalibrated") {
    run = testing::synthetic_run();
    run.calibrations.clear();
    run.boundaries.clear();
    for (auto& point : run.points) point.verdict.reset();
  } else if (kind == "runs" || kind == "hostile-runs") {
    run = kind == "runs" ? testing::synthetic_run() : testing::synthetic_hostile_run();
  } else if (kind != "empty") {
    std::cerr << "usage: write_page one|two|runs|large|program|hostile|hostile-runs|uncalibrated|empty FILE\n";
    return 64;
  }
  std::ofstream file(argv[2], std::ios::binary);
  using gpubench::reports::join;
  if (kind == "runs") {
    auto later = run;
    for (auto& point : later.points)
      if (auto& seconds = point.measurement.make_primary().seconds)
        for (double* value : {&seconds->median, &seconds->median_ci95.low, &seconds->median_ci95.high}) *value *= 1.1;
    file << gpubench::reports::html(join({{"old", run}, {"new", later}}));
  } else if (kind == "hostile-runs") {
    file << gpubench::reports::html(join(
        {{"</script><img src=x onerror=\"document.documentElement.dataset.hacked=1\">", run}, {"';alert(1)//", run}}));
  } else {
    file << gpubench::reports::html(run);
  }
  return file.flush() ? 0 : 1;
}
