// SPDX-License-Identifier: Apache-2.0
#include "main/run/measuring.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "bench/timing/conditions.h"
#include "classifier/classifier.h"
#include "classifier/run/too_fast.h"
#include "core/base/cores.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/embedding.h"
#include "main/run/google_outputs.h"
#include "main/run/post_timing.h"
#include "main/run/run_ceilings.h"
#include "main/run/run_options.h"
#include "main/worker/checkpoint.h"
#include "main/worker/isolation.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench {
namespace {

/// Saves what is finished and ends the process by the signal that was noted.
[[noreturn]] void stop(Checkpoint& kept, ProgressLine& progress) {
  progress.clear();
  kept.write();
  const std::string how_to_go_on =
      kept.file().empty() || kept.count() == 0 ? "" : fmt::format("; to continue: --resume={}", kept.file());
  say(fmt::format("stopped after {} of {} points{}", kept.count(), kept.planned(), how_to_go_on));
  Interruption::end();
}

/// While the thread lives, it says which point runs when that has not ended for long: it may hang.
std::jthread hang_notice(const std::string& name, double seconds, ProgressLine& progress) {
  return std::jthread([name, seconds, &progress](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    ended.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
    if (stop.stop_requested()) return;
    progress.clear();
    say(
        fmt::format("{} has run for {:.0f} s; if it hangs, stop it and add --isolate, which ends such a point and "
                    "goes on with the next",
                    name, seconds));
  });
}

/// Of an embedding, whose program has streams of its own: before its first point as it is after many.
std::shared_ptr<bench::OpenDevice> opened_beside_streams(const Device& device, bool cold) {
  auto open = std::make_shared<bench::OpenDevice>(device, cold);
  open->gpu()->use_several_streams();
  return open;
}

/// In an embedding a GPU stays open for the next run: its stream, memory, events and what launches on it cost.
std::shared_ptr<bench::OpenDevice> open_device(const Device& device, bool cold) {
  if (!embedding().finished || device.kind == DeviceKind::cpu) return std::make_shared<bench::OpenDevice>(device, cold);
  if (cold) return opened_beside_streams(device, cold);
  auto& kept = embedding().known.open[device.id];
  if (!kept || kept->device() != device || !kept->resume()) {
    kept.reset();  // before another takes its place
    kept = opened_beside_streams(device, cold);
  }
  return {kept.get(), [kept](bench::OpenDevice* open) { open->rest(); }};
}

/// Takes the points of a plan through Google Benchmark. Those that `kept` knows are not measured again, others only
/// where that is wanted.
void measure(const Plan& plan, bool measures_unknown, const Calibration& calibration, const RunOptions& options,
             GoogleOutputs& google, ProgressLine& progress, Checkpoint& kept, Run& run) {
  if (plan.points.empty()) return;
  const std::size_t before = run.points.size();
  std::optional<bench::PointRunner> runner;
  if (measures_unknown) {
    bench::RunnerSettings settings = runner_settings(options);
    runner.emplace(open_device(plan.device, settings.cold), std::move(settings));
  }
  const bool in_order = !options.google.interleaves_at_random();
  // As known before this run: what it measures itself may be measured again, for longer.
  std::vector<const Measurement*> known;
  for (const PointKey& key : plan.keys) known.push_back(in_order ? kept.find(key) : nullptr);
  const auto visit = [&](const bench::PointCall& call, std::size_t position) -> std::optional<Measurement> {
    const bool planned = position < plan.points.size();
    if (planned && known[position] != nullptr) return *known[position];
    if (!runner) return std::nullopt;
    progress.point(before + position, kept.planned(), planned ? std::string_view(plan.points[position].name) : "");
    constexpr double patience_seconds = 10.0;
    std::jthread notice;
    if (!(embedding().finished && options.brief))  // else it has returned before, and soon
      notice = hang_notice(planned ? plan.points[position].name : "a point",
                           patience_seconds + options.time_budget_seconds + call.min_seconds, progress);
    Measurement measurement = runner->run(call);
    notice = {};
    if (in_order && planned) kept.put(plan.keys[position], named(measurement, plan.points[position]));
    if (in_order && Interruption::noted() != 0) stop(kept, progress);
    return measurement;
  };
  bench::Labeller regime_of;
  if (!google.sinks().empty())  // to judge a point takes as long as some of its samples
    regime_of = [&](const Measurement& measurement) {
      return std::string(name_of(classifier::classify(measurement, calibration).regime));
    };
  for (auto& measurement : bench::go_over(plan.device, options.filter, visit, google.sinks(), regime_of))
    run.points.push_back({std::move(measurement), std::nullopt});
}

/// Checks and counts on every device, once all of them are timed.
void run_passes(const std::vector<Plan>& plans, const RunOptions& options, ProgressLine& progress, Run& run) {
  for (const PostTimingStep& pass : post_timing_steps(options))
    for (const Plan& plan : plans) {
      const auto is_here = [&](const Point& point) { return point.measurement.device == plan.device.id; };
      const auto first = std::find_if(run.points.begin(), run.points.end(), is_here);
      const auto last = std::find_if_not(first, run.points.end(), is_here);
      const auto outcome =
          run_post_timing(pass, plan, options.filter, options, {first, last}, [&](std::size_t position, double done) {
            progress.step(fmt::format("{} {}", pass.doing, plan.points.at(position).name), done);
          });
      run.warnings.insert(run.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
      if (outcome.points == 0 || options.quiet) continue;
      progress.clear();
      say(fmt::format("{} {} points on {} in {} s", pass.done, outcome.points, plan.device.id,
                      format_number(outcome.seconds)));
    }
}

/// Reads the run to go on with and makes sure that its points are comparable with new ones.
std::optional<Run> earlier_run(const RunOptions& options, const Context& context, const std::vector<Device>& devices) {
  if (!options.resume_file) return std::nullopt;
  Run earlier = storage::read_run(*options.resume_file);
  if (const auto reason = why_not_resumable(earlier, context, devices, options.cache_state))
    throw UsageError(
        fmt::format("{} cannot be resumed: {}. Start again without --resume.", *options.resume_file, *reason));
  return earlier;
}

void take_over(const Run& earlier, const RunOptions& options, Checkpoint& kept, Run& run) {
  const std::size_t left_out = kept.resume(earlier);
  if (left_out > 0)
    run.warnings.push_back(
        fmt::format("{} points of {} do not belong to this run and were left out.", left_out, *options.resume_file));
  run.context.environment["resumed"] =
      fmt::format("{} points from the run of {}", kept.count(), earlier.context.created_utc);
  say(fmt::format("{} of {} points are in {}", kept.count(), kept.planned(), *options.resume_file));
}

/// Measures what is not known yet before Google Benchmark's reporters see any: isolated, and with sizes that verdicts
/// ask for.
void measure_first(const RunOptions& options, std::optional<Isolation>& isolation, std::optional<AddedSizes>& added,
                   std::vector<Plan>& plans, Checkpoint& kept, ProgressLine& progress, Run& run) {
  const bench::GoogleFlags no_flags;
  do {
    kept.replan(plans);
    if (isolation && added) isolation->set_added(added->all());
    std::size_t before = 0;
    Run passed;
    try {
      for (std::size_t i = 0; i < plans.size() && Interruption::noted() == 0; before += plans[i++].points.size()) {
        if (!isolation) {
          GoogleOutputs none(no_flags);
          measure(plans[i], true, run.calibrations[i], options, none, progress, kept, passed);
          continue;
        }
        const auto warnings = isolation->measure(plans[i], kept, [&](const Plan& of, std::size_t position) {
          progress.point(before + position, kept.planned(), of.points[position].name);
        });
        run.warnings.insert(run.warnings.end(), warnings.begin(), warnings.end());
      }
    } catch (...) {  // the system allows no further process, say: what is finished must not go with it
      kept.write();
      throw;
    }
    if (Interruption::noted() != 0) stop(kept, progress);
    if (!added) return;
    Run known = kept.so_far();
    classifier::classify(known);
    if (added->add(known, plans) == 0) return;
  } while (true);
}

/// Code that its author compiled without -O, or with -G, is slow for no reason that a verdict could name.
void add_compiler_warnings(Run& run) {
  std::set<std::string> names;
  for (const Point& point : run.points)
    if (point.measurement.unoptimized_code.value_or(false)) names.insert(point.measurement.operation);
  if (names.empty()) return;
  run.warnings.push_back(
      fmt::format("{} {} compiled without optimisation: times say little about the optimised code. Build with "
                  "-DCMAKE_BUILD_TYPE=Release or -O3, and without -G.",
                  joined(names, ", "), names.size() == 1 ? "was" : "were"));
}

void add_condition_warnings(Run& run) {
  std::vector<const Measurement*> measurements;
  for (const Point& point : run.points) measurements.push_back(&point.measurement);
  const auto found = bench::condition_warnings(measurements);
  run.warnings.insert(run.warnings.end(), found.begin(), found.end());
}

/// Threads that take turns on cores wait for each other, and a team of OpenMP for its last one.
void add_thread_warnings(Run& run) {
  const int threads = omp_get_max_threads(), cores = usable_cores();
  if (threads <= cores) return;
  const auto points = std::ranges::count_if(run.points, [](const Point& point) {
    const auto& conditions = point.measurement.conditions;
    return conditions && conditions->threads_used.value_or(1.0) > 1.2;
  });
  if (points == 0) return;
  run.warnings.push_back(fmt::format(
      "{} on cpu ran with several threads, of which OpenMP starts {}: they {} {}. Set OMP_NUM_THREADS={}, "
      "in PyTorch torch.set_num_threads({}).",
      plural(points, "point"), threads,
      threads > affinity_cores() ? "take turns on" : "are paused, as a control group limits this process to",
      plural(cores, "core"), cores, cores));
}

/// What is faster than any ceiling of its device was not done.
void fail_the_impossible(Run& run) {
  for (Point& point : run.points)
    for (const Calibration& calibration : run.calibrations) {
      if (calibration.device.id != point.measurement.device) continue;
      if (const std::string why = classifier::why_too_fast(point.measurement, calibration); !why.empty())
        bench::fail(point.measurement, FailureKind::error, why);
    }
}

}  // namespace

void measure_all(const RunOptions& options, std::vector<Plan> plans, GoogleOutputs& google, Run& run) {
  const std::optional<Run> earlier = earlier_run(options, run.context, run.devices);
  // Held back where there is something to save first or to clean up.
  std::optional<Interruption> interruption;
  std::optional<Isolation> isolation;
  if (options.isolate) {
    interruption.emplace(nullptr);
    // One point may well take what its sampling is allowed; a limit the user gave stands.
    isolation.emplace(options.isolate_timeout_seconds.value_or(
        120.0 + 2.0 * std::max(options.time_budget_seconds, options.google.min_time_seconds.value_or(0.0))));
  }
  find_ceilings(options, options.quiet, options.isolate, earlier ? &*earlier : nullptr, run);
  std::optional<AddedSizes> added;
  if (options.adaptive_sizes > 0) added.emplace(options.filter, options.adaptive_sizes);
  if (added && earlier) added->take_over(*earlier, plans);
  Checkpoint kept(run, options.outputs, plans);
  if (earlier) take_over(*earlier, options, kept, run);

  {
    ProgressLine progress(options.quiet);
    if (!isolation && std::ranges::any_of(options.outputs, reports::writes_run))
      interruption.emplace("\ngpubench: stopping after this point; press again to stop at once\n");
    if (isolation || added) measure_first(options, isolation, added, plans, kept, progress, run);
    isolation.reset();
    const bool all_known = options.isolate || added;
    for (std::size_t i = 0; i < plans.size(); ++i)
      measure(plans[i], !all_known, run.calibrations[i], options, google, progress, kept, run);
    if (!options.isolate)
      run_passes(plans, options, progress, run);
    else if (auto warning = mark_uncounted(run.points, options))
      run.warnings.push_back(*std::move(warning));
  }
  if (interruption && Interruption::noted() != 0) {  // in the last point, or while the processes' points were gone over
    ProgressLine none(true);
    stop(kept, none);
  }
  interruption.reset();
  if (added || !options.arguments.empty())
    sort_sizes(run.points, [](const Point& point) -> const Measurement& { return point.measurement; });
  fail_the_impossible(run);
  classifier::classify(run);
  if (added) {
    run.context.environment["adaptive"] = added->summary(run);
    if (!options.quiet) say(run.context.environment["adaptive"]);
  }
  add_condition_warnings(run);
  add_thread_warnings(run);
  add_compiler_warnings(run);
  for (const auto& found : {reports::activity_warnings(run), reports::clock_warnings(run)})
    run.warnings.insert(run.warnings.end(), found.begin(), found.end());
}

}  // namespace gpubench
