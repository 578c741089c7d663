// SPDX-License-Identifier: Apache-2.0
// Writes runs in the formats of other tools, for readers_test.py: write_for_readers FOLDER
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/statistics/statistics.h"
#include "reports/reports.h"
#include "tests/reports/sample_run.h"

namespace {

/// The same run with each time a fifth longer.
gpubench::Run slower_run() {
  gpubench::Run run = gpubench::sample_run();
  for (auto& point : run.points) {
    if (!point.measurement.seconds()) continue;
    gpubench::Timing& timing = point.measurement.make_primary();
    for (double& sample : timing.samples_seconds) sample *= 1.2;
    timing.seconds = gpubench::statistics::summarize(timing.samples_seconds);
  }
  return run;
}

/// One operation measured three times over, the second time in vain.
gpubench::Run repeated_run() {
  gpubench::Run run = gpubench::sample_run();
  run.points.assign(3, run.points.front());
  for (int i = 0; i < 3; ++i) run.points[static_cast<std::size_t>(i)].measurement.repetition = i;
  run.points[1].measurement.make_primary().seconds.reset();
  run.points[1].measurement.failure = gpubench::Failure{gpubench::FailureKind::wrong_result, "row 3 differs"};
  run.points[1].verdict.reset();
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
    for (const auto& [name, run] : {std::pair("sample", gpubench::sample_run()), std::pair("slower", slower_run()),
                                    std::pair("repeated", repeated_run()),
                                    std::pair("hostile", gpubench::hostile_run()), std::pair("empty", gpubench::Run{})})
      for (const char* extension : {".gbench.json", ".nvbench.json", ".prom", ".junit.xml"})
        gpubench::reports::write(run, folder / fmt::format("{}{}", name, extension));
    return 0;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
