// SPDX-License-Identifier: Apache-2.0
// activity_score RUN.json...: device times of runs with --kernels held against the driver's own records, in Markdown:
// contradictions, and device times 5 % too long and too short that would be found; then the same by what all points of
// a run have in common, for whole runs and for some of their points at random.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/storage/storage.h"
#include "tests/truth/activity/common_error.h"

namespace gpubench::bench {
namespace {

constexpr std::array<double, 3> limits_us = {3.0, 6.0, 30.0};  // of a kernel

/// What is put into device times.
struct Planted {
  double factor = 1.0;
  double seconds_a_kernel = 0.0;
};
constexpr std::array<Planted, 4> errors = {{{1.0, 0.0}, {0.95, 0.0}, {1.05, 0.0}, {1.0, 150e-9}}};

/// A kept recording as the rule judges it, were the device time another by this.
ComparedPoint planted(Measurement measurement, const Planted& error) {
  const double offset = error.seconds_a_kernel * kernels_of(*measurement.activity, measurement);
  for (Timing& timing : measurement.timings)
    if (timing.clock == TimingMode::device && timing.seconds) {
      Summary& seconds = *timing.seconds;
      for (double* each : {&seconds.median, &seconds.median_ci95.low, &seconds.median_ci95.high})
        *each = *each * error.factor + offset;
    }
  const Comparison comparison = compare(*measurement.activity, measurement);
  return {std::move(measurement), comparison};
}

Agreement judged_again(const Measurement& measurement, const Planted& error) {
  return planted(measurement, error).comparison.agreement;
}

bool is_compared(const Measurement& measurement) {
  return seconds_by(measurement, TimingMode::device) != nullptr && measurement.activity &&
         judged_again(measurement, errors[0]) != Agreement::not_compared;
}

double seconds_a_kernel(const Measurement& measurement) {
  return seconds_by(measurement, TimingMode::device)->median / kernels_of(*measurement.activity, measurement);
}

/// Of a run with each of these errors: the same points at the same place.
using Versions = std::array<std::vector<ComparedPoint>, errors.size()>;
using Points = std::vector<std::size_t>;

Versions versions_of(const Run& run) {
  Versions versions;
  for (const Point& point : run.points)
    for (std::size_t i = 0; is_compared(point.measurement) && i < errors.size(); ++i)
      versions[i].push_back(planted(point.measurement, errors[i]));
  return versions;
}

std::optional<CommonError> common_error_of(const std::vector<ComparedPoint>& run, const Points& points) {
  std::vector<const ComparedPoint*> chosen;
  for (const std::size_t point : points) chosen.push_back(&run[point]);
  return common_error(chosen);
}

/// Sets of so many points at random, as often as this.
std::vector<Points> at_random(const Points& from, std::size_t count) {
  constexpr int sets = 1000;
  std::vector<Points> all;
  std::mt19937 random(1);
  for (int i = 0; i < sets && from.size() >= count; ++i)
    std::ranges::sample(from, std::back_inserter(all.emplace_back()), static_cast<std::ptrdiff_t>(count), random);
  return all;
}

struct Common {
  std::array<std::size_t, errors.size()> found = {};  ///< a share that is off; of the last an offset
  std::size_t offsets = 0;                            ///< an offset, of correct ones
  std::size_t sets = 0;
};

void count(const Versions& versions, const std::vector<Points>& sets, Common& common) {
  for (const Points& points : sets) {
    const auto correct = common_error_of(versions[0], points);
    if (!correct) continue;
    ++common.sets;
    common.offsets += correct->offset_is_off();
    common.found[0] += correct->share_is_off();
    for (std::size_t i = 1; i < versions.size(); ++i) {
      const auto wrong = common_error_of(versions[i], points);
      common.found[i] += errors[i].seconds_a_kernel > 0.0 ? wrong->offset_is_off() : wrong->share_is_off();
    }
  }
}

/// By what the points of each run have in common.
void score_common(const std::vector<std::string>& files) {
  fmt::print("\n| run | points | operations | share, % | offset, ns |\n|---|---|---|---|---|\n");
  std::vector<std::string> names;
  std::map<std::string, Common> rows;
  const auto add = [&](const std::string& name, const Versions& versions, const std::vector<Points>& sets) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    count(versions, sets, rows[name]);
  };
  for (const std::string& file : files) {
    const Versions versions = versions_of(storage::read_run(file));
    Points all;
    Points of_short;
    std::map<std::string, Points> operations;
    for (std::size_t i = 0; i < versions[0].size(); ++i) {
      all.push_back(i);
      if (1e6 * seconds_a_kernel(versions[0][i].measurement) < limits_us[1]) of_short.push_back(i);
      operations[versions[0][i].measurement.operation].push_back(i);
    }
    const auto whole = common_error_of(versions[0], all);
    if (!whole) continue;
    fmt::print("| {} | {} | {} | {:+.2f} ({:+.2f} to {:+.2f}) | {:+.0f} ({:+.0f} to {:+.0f}) |\n", file, whole->points,
               whole->operations, 100.0 * whole->share.value, 100.0 * whole->share.ci95.low,
               100.0 * whole->share.ci95.high, 1e9 * whole->seconds_a_kernel.value,
               1e9 * whole->seconds_a_kernel.ci95.low, 1e9 * whole->seconds_a_kernel.ci95.high);
    add("whole runs", versions, {all});
    std::vector<Points> each;
    for (const auto& [operation, points] : operations) each.push_back(points);
    add("one operation of five points or more", versions, each);
    for (const std::size_t size : {5U, 10U, 20U}) {
      add(fmt::format("{} points at random", size), versions, at_random(all, size));
      add(fmt::format("{} of kernels below {} us", size, limits_us[1]), versions, at_random(of_short, size));
    }
  }
  fmt::print("\n| of | sets | alarms: share | offset | 5 % shorter, found | 5 % longer | 150 ns longer |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const std::string& name : names) {
    const Common& row = rows[name];
    const auto share = [&](std::size_t part) {
      return fmt::format("{:.2f} %",
                         100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(row.sets, 1)));
    };
    fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", name, row.sets, share(row.found[0]), share(row.offsets),
               share(row.found[1]), share(row.found[2]), share(row.found[3]));
  }
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
      if (!is_compared(measurement)) continue;
      std::size_t size = 0;
      while (size < limits_us.size() && 1e6 * seconds_a_kernel(measurement) >= limits_us[size]) ++size;
      Row& row = rows[size];
      ++row.compared;
      if (judged_again(measurement, errors[0]) == Agreement::disagrees) {
        ++row.contradicted;
        contradicted.push_back(measurement.name);
        continue;
      }
      for (const Planted& error : {errors[1], errors[2]})
        row.found += judged_again(measurement, error) == Agreement::disagrees;
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
  score_common(files);
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
