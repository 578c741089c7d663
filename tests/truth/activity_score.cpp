// SPDX-License-Identifier: Apache-2.0
// activity_score RUN.json...: kept comparisons of --check=activity judged again by the rule as it is now, in Markdown:
// contradictions by the last look at each point, and device times 5 % too long and too short that this look would find.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/activity/agreement.h"
#include "core/storage/storage.h"

namespace gpubench::bench {
namespace {

constexpr std::array<double, 3> limits_us = {3.0, 6.0, 30.0};  // of a kernel

/// What the rule says of a kept recording, were the device time by this factor another.
Agreement judged_again(Measurement measurement, double factor) {
  for (Timing& timing : measurement.timings)
    if (timing.clock == Clock::device && timing.seconds) {
      Summary& seconds = *timing.seconds;
      for (double* each : {&seconds.median, &seconds.median_ci95.low, &seconds.median_ci95.high}) *each *= factor;
    }
  ActivityCheck& check = *measurement.activity;
  check.agreement = Agreement::not_compared;
  compare(check, measurement);
  if (!check.looks.empty() && check.looks.back().unrecorded_seconds)
    compare_unrecorded(check, measurement, with_half_width(*check.looks.back().unrecorded_seconds, 0.0), std::nullopt);
  return check.agreement;
}

struct Row {
  int compared = 0;
  int contradicted = 0;
  int found = 0;  ///< of twice those that agree
};

void print(const std::string& name, const Row& row) {
  const int planted = 2 * (row.compared - row.contradicted);
  const auto percent = [](int part, int whole) { return whole > 0 ? 100.0 * part / whole : 0.0; };
  fmt::print("| {} | {} | {} ({:.1f} %) | {} of {} ({:.1f} %) |\n", name, row.compared, row.contradicted,
             percent(row.contradicted, row.compared), row.found, planted, percent(row.found, planted));
}

int score(const std::vector<std::string>& files) {
  std::array<Row, limits_us.size() + 1> rows;
  std::vector<std::string> contradicted;
  for (const std::string& file : files)
    for (const Point& point : storage::read_run(file).points) {
      const Measurement& measurement = point.measurement;
      const Summary* const device = seconds_by(measurement, Clock::device);
      if (device == nullptr || !measurement.activity || measurement.activity->agreement == Agreement::not_compared)
        continue;
      std::int64_t kernels = 0;
      for (const KernelLaunch& kernel : measurement.activity->kernels) kernels += kernel.launches;
      std::size_t size = 0;
      while (size < limits_us.size() && 1e6 * device->median >= limits_us[size] * static_cast<double>(kernels)) ++size;
      Row& row = rows[size];
      ++row.compared;
      if (judged_again(measurement, 1.0) == Agreement::disagrees) {
        ++row.contradicted;
        contradicted.push_back(measurement.name);
        continue;
      }
      for (const double factor : {0.95, 1.05}) row.found += judged_again(measurement, factor) == Agreement::disagrees;
    }
  fmt::print("| kernels of, us | compared | contradicted | 5 % off, found |\n|---|---|---|---|\n");
  Row all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string from = i == 0 ? "0" : fmt::format("{}", limits_us[i - 1]);
    print(i < limits_us.size() ? fmt::format("{} to {}", from, limits_us[i]) : from + " and more", rows[i]);
    all = {all.compared + rows[i].compared, all.contradicted + rows[i].contradicted, all.found + rows[i].found};
  }
  print("all", all);
  for (const std::string& name : contradicted) fmt::print("\n- {}", name);
  fmt::print("\n");
  return all.compared > 0 ? 0 : 1;
}

}  // namespace
}  // namespace gpubench::bench

int main(int count, char** words) {
  try {
    return gpubench::bench::score({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "activity_score: {}\n", error.what());
    return 1;
  }
}
