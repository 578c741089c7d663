// SPDX-License-Identifier: Apache-2.0
// criterion.rs: sample.json or estimates.json of one benchmark, with benchmark.json beside it that names it
// (target/criterion/GROUP/FUNCTION/VALUE/new): src/connection.rs, src/estimate.rs and src/report.rs of
// github.com/bheisler/criterion.rs 0.3 to 0.7. Times are nanoseconds.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "core/storage/document.h"
#include "core/storage/other_tools.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

constexpr double nanosecond = 1e-9;

std::string criterion_name(const Node& root) {
  const std::filesystem::path folder = std::filesystem::path(root.origin()).parent_path();
  const auto beside = folder / "benchmark.json";
  std::error_code error;
  if (std::filesystem::is_regular_file(beside, error)) {
    const std::string origin = beside.string();
    const Document document = parse_document(read_text(beside), origin, run_schema);
    return document.root(origin, "give the folder that criterion wrote, whole and unchanged").at("full_id").text();
  }
  // The folders are called as the benchmark.
  const std::string own = folder.parent_path().filename().string();
  return own.empty() ? "benchmark" : own;
}

Run read_criterion(const Node& root) {
  Run run = run_on_cpu("criterion", "");
  Measurement& measurement = add_point(run, criterion_name(root));
  if (const auto times = root.find("times")) {
    const std::vector<double> iterations = root.at("iters").numbers(Domain::not_negative);
    std::vector<double> seconds = times->numbers(Domain::not_negative);
    if (seconds.empty() || seconds.size() != iterations.size())
      root.fail(fmt::format("has {} times of {} samples", seconds.size(), iterations.size()));
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (iterations[i] < 1.0) root.fail("has a sample of no iteration");
      seconds[i] *= nanosecond / iterations[i];
    }
    set_samples(measurement, std::move(seconds), 0, "criterion: a sample's time over its iterations");
    return run;
  }
  const Node median = root.at("median");
  const Node interval = median.at("confidence_interval");
  Statistics statistics;
  statistics.median = median.at("point_estimate").number(Domain::not_negative) * nanosecond;
  statistics.median_ci95 = Interval{interval.at("lower_bound").number(Domain::not_negative) * nanosecond,
                                    interval.at("upper_bound").number(Domain::not_negative) * nanosecond};
  statistics.mad = root.at("median_abs_dev").at("point_estimate").number(Domain::not_negative) * nanosecond;
  statistics.mean = root.at("mean").at("point_estimate").number(Domain::not_negative) * nanosecond;
  constexpr std::int64_t usual_samples = 100;  // the file does not say
  statistics.count = usual_samples;
  set_statistics(
      root, measurement, statistics, 0,
      "criterion: its estimates; the number of samples is taken to be its usual 100, quartiles and extremes to "
      "lie a MAD aside");
  return run;
}

}  // namespace

extern const OtherTool criterion_tool{"criterion",
                                      [](const Node& root) {
                                        const bool samples = root.has("iters") && root.has("times");
                                        return samples || (root.has("median") && root.has("median_abs_dev"));
                                      },
                                      read_criterion};

}  // namespace gpubench::storage
