// SPDX-License-Identifier: Apache-2.0
// Writes the page of a synthetic run, for the browser test and for looking at: write_page KIND FILE.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "classifier/run/findings.h"
#include "compare/compare.h"
#include "core/storage/storage.h"
#include "reports/charts/picture.h"
#include "reports/comparisons.h"
#include "reports/reports.h"
#include "reports/timelines.h"
#include "tests/reports/program_run.h"
#include "tests/reports_html/synthetic_run.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/statistics/difference.h"

namespace {

constexpr const char* hostile =
    "</script><img src=x onerror=\"document.documentElement.dataset.hacked=1\">\u2028\x1b[2J";

/// A step of a training program, over and over. `factor`: how long its large kernel takes.
gpubench::Sample trace_of(int steps, bool is_hostile = false, int factor = 1) {
  gpubench::Sample sample;
  if (is_hostile) sample.timeline.tracks[sample.thread].name = hostile;
  std::minstd_rand random;  // many steps differ, or they pack too well
  const auto jitter = [&](unsigned most) { return steps > 100 ? static_cast<std::int64_t>(random() % most) : 0; };
  for (int i = 0; i < steps; ++i) {
    const std::int64_t at = 100'000LL * i + jitter(9000);
    sample.slice(gpubench::SliceKind::range, sample.ranges, at, at + 90'000, "step");
    sample.slice(gpubench::SliceKind::other, sample.thread, at + 1'000, at + 40'000 + jitter(4000),
                 is_hostile ? hostile : "aten::linear");
    sample.kernel(at + 2'000, at + 6'000 - jitter(900), at + 8'000, at + 8'000 + 20'000 * factor + jitter(5000),
                  is_hostile ? hostile : "gemm<float>");
    sample.kernel(at + 7'000, at + 9'000, at + 50'000, at + 53'000 + jitter(5000), "saxpy");
    sample.slice(gpubench::SliceKind::synchronization, sample.thread, at + 45'000, at + 80'000 + jitter(5000),
                 "cudaDeviceSynchronize");
    sample.slice(gpubench::SliceKind::kernel, sample.other_stream, at + 20'000, at + 20'000, "empty");
  }
  sample.sorted();
  return sample;
}

/// Empty for a kind that is none.
std::string trace_page(const std::string& kind) {
  using namespace gpubench;
  const bool is_hostile = kind.starts_with("hostile-");
  const std::string plain = is_hostile ? kind.substr(8) : kind;
  const reports::AboutTrace about = {is_hostile ? hostile : "train.json.gz", "0", {"Something was left out."}};
  if (plain == "timeline" || plain == "large-timeline")
    return reports::timeline_html(trace_of(plain == "timeline" ? 5 : 125'000, is_hostile).timeline, about);
  if (plain == "empty-timeline") return reports::timeline_html({}, about);
  if (plain != "flame" && plain != "flame-diff") return {};
  timeline::FlameOptions options;
  options.by_thread = plain == "flame";
  const auto graph = timeline::flame(trace_of(5, is_hostile).timeline, options);
  if (plain == "flame") return reports::flame_html(graph, timeline::FlameWeight::gpu, about);
  const auto slower = timeline::flame(trace_of(5, is_hostile, 2).timeline, options);
  const auto difference = timeline::difference(trace_of(5, is_hostile).timeline, trace_of(5, is_hostile, 2).timeline);
  return reports::flame_html(timeline::diff(graph, slower, timeline::FlameWeight::gpu),
                             timeline::difference_tables(difference), about);
}

gpubench::Run slower(gpubench::Run run, double factor) {
  for (auto& point : run.points)
    if (auto& seconds = point.measurement.make_primary().seconds)
      for (double* value : {&seconds->median, &seconds->median_ci95.low, &seconds->median_ci95.high}) *value *= factor;
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[1] : "";
  if (const std::string page = trace_page(kind); !page.empty()) {
    std::ofstream file(argv[2], std::ios::binary);
    file << page;
    return file.flush() ? 0 : 1;
  }
  gpubench::Run run;
  if (kind.ends_with(".json")) {
    run = gpubench::storage::read_run(kind);
  } else if (kind == "one") {
    run = gpubench::synthetic_run();
  } else if (kind == "single") {
    run = gpubench::synthetic_run();
    run.points.erase(run.points.begin() + 1, run.points.end());
    run.boundaries.clear();
    run.findings = gpubench::classifier::findings_of(run);
  } else if (kind == "two") {
    run = gpubench::synthetic_run_two_devices();
  } else if (kind == "large" || kind == "large-json") {
    run = gpubench::synthetic_run_of(10000);
  } else if (kind == "hostile") {
    run = gpubench::synthetic_hostile_run();
  } else if (kind == "program") {
    run = gpubench::program_run();
  } else if (kind == "uncalibrated") {
    run = gpubench::synthetic_run();
    run.calibrations.clear();
    run.boundaries.clear();
    run.findings.clear();
    for (auto& point : run.points) point.verdict.reset();
  } else if (kind == "runs" || kind == "chart" || kind == "five" || kind == "comparison" || kind == "hostile-runs") {
    run = kind != "hostile-runs" ? gpubench::synthetic_run() : gpubench::synthetic_hostile_run();
  } else if (kind != "empty") {
    std::cerr << "usage: write_page "
                 "RUN.json|one|single|two|runs|five|comparison|large|large-json|program|hostile|hostile-runs|"
                 "uncalibrated|empty|"
                 "timeline|"
                 "flame|... FILE\n";
    return 64;
  }
  std::ofstream file(argv[2], std::ios::binary);
  using gpubench::reports::join;
  if (kind == "large-json") {
    file << gpubench::storage::to_json(run);
  } else if (kind == "runs") {
    file << gpubench::reports::html(join({{"old", run}, {"new", slower(run, 1.1)}}));
  } else if (kind == "comparison") {
    const auto next = slower(run, 1.1);
    file << gpubench::reports::html(gpubench::compare::compare(std::vector{run}, std::vector{next}, {}),
                                    join({{"old", run}, {"new", next}}));
  } else if (kind == "chart") {  // as a notebook gets it from Python
    const std::filesystem::path as = "roofline.vl.json";
    file << gpubench::reports::chart_html(gpubench::reports::picture(run, as, gpubench::reports::choice_of(as, "")));
  } else if (kind == "five") {
    std::vector<gpubench::reports::NamedRun> runs;
    for (int i = 0; i < 5; ++i) runs.push_back({"build " + std::to_string(i), slower(run, 1.0 + 0.04 * i)});
    file << gpubench::reports::html(join(runs));
  } else if (kind == "hostile-runs") {
    file << gpubench::reports::html(join(
        {{"</script><img src=x onerror=\"document.documentElement.dataset.hacked=1\">", run}, {"';alert(1)//", run}}));
  } else {
    file << gpubench::reports::html(run);
  }
  return file.flush() ? 0 : 1;
}
