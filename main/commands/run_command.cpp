// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>
#include <stop_token>
#include <thread>
#include <tuple>

#include "bench/counters/metrics.h"
#include "bench/google/google_runner.h"
#include "bench/memory/cold_cache.h"
#include "bench/timing/conditions.h"
#include "classifier/classifier.h"
#include "classifier/run/too_fast.h"
#include "classifier/verdict/cross_checks.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/completion.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/embedding.h"
#include "main/run/context.h"
#include "main/run/plan.h"
#include "main/run/post_timing.h"
#include "main/run/run_ceilings.h"
#include "main/run/run_options.h"
#include "main/run/stored_runs.h"
#include "main/worker/checkpoint.h"
#include "main/worker/isolation.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench {
namespace {

std::string nothing_to_measure(const std::vector<Device>& devices, const std::string& filter) {
  std::vector<std::string> operations;
  for (const Device& device : devices)
    for (const auto& point : bench::discover(device.kind, "")) operations.push_back(point.operation);
  if (operations.empty())
    return fmt::format("This program has no operation for {}. Choose another device with --device.",
                       devices.front().id);
  return fmt::format("No point matches the filter '{}' on {}.{} --list names them all.", filter, devices.front().id,
                     did_you_mean(filter, operations));
}

/// Puts the sizes of each operation, added ones too, in the order of their arguments. `point_of` gives an item's point.
template <typename Item, typename PointOf>
void sort_sizes(std::vector<Item>& items, PointOf point_of) {
  const auto family = [&](const Item& item) {
    const auto& point = point_of(item);
    if constexpr (requires { point.device; })
      return std::tie(point.operation, point.device);
    else
      return std::tie(point.operation);
  };
  const auto values = [&](const Item& item) {
    std::vector<std::int64_t> result;
    for (const Argument& argument : point_of(item).arguments) result.push_back(argument.value);
    return result;
  };
  for (auto first = items.begin(); first != items.end();) {
    const auto last =
        std::find_if(first, items.end(), [&](const Item& item) { return family(item) != family(*first); });
    std::ranges::stable_sort(first, last, {}, values);
    first = last;
  }
}

void list_points(const std::vector<Device>& devices, const std::string& filter, bool sorted) {
  bool any = false;
  for (const Device& device : devices) {
    std::string previous;
    auto points = bench::discover(device.kind, filter);
    if (sorted) sort_sizes(points, std::identity{});
    for (const auto& point : points) {
      const std::string& name = point.name;
      if (name != previous) show((devices.size() > 1 ? device.id + "  " : std::string()) + printable(name) + "\n");
      previous = name;
      any = true;
    }
  }
  for (const std::string& name : bench::plain_benchmarks(filter)) {
    show(printable(name) + "\n");
    any = true;
  }
  if (!any) throw UsageError(nothing_to_measure(devices, filter));
}

std::unique_ptr<benchmark::BenchmarkReporter> google_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
  if (format == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  }
  return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_Tabular);
}

/// Google Benchmark's own reporters, as its flags ask for them.
class GoogleOutputs {
 public:
  explicit GoogleOutputs(const bench::GoogleFlags& flags) : flags_(flags) {
    if (flags.format) add(*flags.format, display_, flags.report_aggregates_only || flags.display_aggregates_only);
    if (flags.out) add(flags.out_format, file_, flags.report_aggregates_only);
  }
  [[nodiscard]] const std::vector<bench::Sink>& sinks() const { return sinks_; }
  void print() const {
    if (flags_.format) show(sound(*flags_.format, display_.str()));
  }
  void write_file() const { storage::write_file(*flags_.out, sound(flags_.out_format, file_.str())); }

 private:
  /// Google Benchmark writes names, labels and numbers as they are.
  static std::string sound(const std::string& format, const std::string& text) {
    return format == "json" ? valid_json(text) : printable_lines(text);
  }

  void add(const std::string& format, std::ostringstream& stream, bool aggregates_only) {
    reporters_.push_back(google_reporter(format));
    reporters_.back()->SetOutputStream(&stream);
    reporters_.back()->SetErrorStream(&stream);
    sinks_.push_back({reporters_.back().get(), aggregates_only});
  }

  const bench::GoogleFlags& flags_;
  std::ostringstream display_;
  std::ostringstream file_;
  std::vector<std::unique_ptr<benchmark::BenchmarkReporter>> reporters_;
  std::vector<bench::Sink> sinks_;
};

/// Saves what is finished and ends the process by the signal that was noted.
[[noreturn]] void stop(Checkpoint& kept, ProgressLine& progress) {
  progress.clear();
  kept.write();
  const std::string how_to_go_on =
      kept.file().empty() ? std::string() : fmt::format("; to continue: --resume={}", kept.file());
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

/// Takes the points of a plan through Google Benchmark. Those that `kept` knows are not measured again, others only
/// where that is wanted.
void measure(const Plan& plan, bool measures_unknown, const Calibration& calibration, const RunOptions& options,
             GoogleOutputs& google, ProgressLine& progress, Checkpoint& kept, Run& run) {
  if (plan.points.empty()) return;
  const std::size_t before = run.points.size();
  std::optional<bench::PointRunner> runner;
  if (measures_unknown) runner.emplace(plan.device, runner_settings(options));
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
    std::jthread notice = hang_notice(planned ? plan.points[position].name : "a point",
                                      patience_seconds + options.time_budget_seconds + call.min_seconds, progress);
    Measurement measurement = runner->run(call);
    notice = {};
    if (in_order && planned) kept.put(plan.keys[position], named(measurement, plan.points[position]));
    if (in_order && Interruption::noted() != 0) stop(kept, progress);
    return measurement;
  };
  const auto regime_of = [&](const Measurement& measurement) {
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

int report(const Run& run, const RunOptions& options, const GoogleOutputs& google) {
  if (embedding().finished) {
    embedding().finished(run);
    return exit_codes::fine;
  }
  const auto since = options.since_last && !options.quiet ? changes_since_last(run) : std::nullopt;
  for (const std::string& warning : run.warnings) say(warning);
  google.print();
  if (!options.quiet && !options.google.format)
    show(reports::console(run, stdout_style(options), options.kernels, since ? &*since : nullptr));
  if (options.since_last) keep_as_last(run);
  std::vector<std::string> files = options.outputs;
  if (options.google.out) files.push_back(*options.google.out);
  write_each(files, options.quiet, [&](const std::string& file) {
    if (options.google.out && &file == &files.back()) return google.write_file();
    reports::write(run, file, options.chart, options);
  });
  int failed = 0;
  for (const Point& point : run.points)
    if (const auto& failure = point.measurement.failure) {
      ++failed;
      say(fmt::format("{} on {} failed ({}): {}", point.measurement.name, point.measurement.device,
                      failure_kind_names[static_cast<std::size_t>(failure->kind)], failure->message));
    }
  if (failed > 0) say(fmt::format("{} of {} points failed", failed, run.points.size()));
  return failed > 0 ? exit_codes::operation_failed : exit_codes::fine;
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
                  fmt::join(names, ", "), names.size() == 1 ? "was" : "were"));
}

void add_condition_warnings(Run& run) {
  std::vector<const Measurement*> measurements;
  for (const Point& point : run.points) measurements.push_back(&point.measurement);
  const auto found = bench::condition_warnings(measurements);
  run.warnings.insert(run.warnings.end(), found.begin(), found.end());
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

int measure_all(const RunOptions& options, std::vector<Plan> plans, Run run) {
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

  GoogleOutputs google(options.google);
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
  add_compiler_warnings(run);
  for (const auto& found : {reports::activity_warnings(run), reports::clock_warnings(run)})
    run.warnings.insert(run.warnings.end(), found.begin(), found.end());
  return report(run, options, google);
}

/// Plain BENCHMARKs, as Google Benchmark times them: it knows nothing of their work, so that they have no verdict.
void run_plain(const RunOptions& options) {
  const auto names = bench::plain_benchmarks(options.filter);
  if (names.empty()) return;
  if (options.quiet || options.google.format)
    return say(
        fmt::format("{} of Google Benchmark left out; run without --quiet and --benchmark_format, or register "
                    "them with HOST_BENCHMARK",
                    plural(static_cast<long long>(names.size()), "BENCHMARK")));
  std::ostringstream table;
  std::ostringstream context;
  const auto reporter = google_reporter("console");
  reporter->SetOutputStream(&table);
  reporter->SetErrorStream(&context);
  bench::run_plain_benchmarks(names, options.google, *reporter);
  show("\nBENCHMARKs of Google Benchmark, by its own clock. They have no verdict and are not in files.\n" +
       printable_lines(table.str()));
}

int run_operations(const RunOptions& options) {
  bench::initialize_google(options.program, options.google);
  bench::choose_arguments(options.arguments);
  const std::vector<Device> devices = bench::choose_devices(options.device);
  if (options.list) {
    list_points(devices, options.filter, !options.arguments.empty());
    return exit_codes::fine;
  }
  // Everything that can be refused is refused before anything is measured.
  if (options.google.out) storage::check_writable(*options.google.out);
  if (options.cache_state == "cold")
    for (const Device& device : devices)
      if (const auto reason = bench::why_not_cold(device)) throw UsageError(*reason + " Leave out --cache=cold.");
  for (const Device& device : devices) {
    if (embedding().finished) break;  // it is in the run
    const std::string why = device.kind == DeviceKind::cpu && options.device.empty()
                                ? fmt::format(" ({}: measuring the CPU)", bench::why_no_gpu())
                                : std::string();
    say(fmt::format("device {}: {}{}", device.id, device.name, why));
  }
  Run run;
  run.context = gather_context(options.program, options.words);
  if (run.context.environment["build"] == "debug")
    run.warnings.push_back("This is a debug build. Measure an optimised one instead: its times differ.");
  if (options.calibrate) return calibrate_only(options, devices, std::move(run));

  std::vector<Plan> plans;
  plans.reserve(devices.size());
  for (const Device& device : devices) plans.push_back(plan_of(device, options.filter));
  if (std::all_of(plans.begin(), plans.end(), [](const Plan& plan) { return plan.points.empty(); })) {
    if (bench::plain_benchmarks(options.filter).empty()) throw UsageError(nothing_to_measure(devices, options.filter));
    run_plain(options);
    return exit_codes::fine;
  }
  if (options.once > 0) return run_points_once(plans, options);
  run.devices = devices;
  const int result = measure_all(options, plans, std::move(run));
  if (!embedding().finished) run_plain(options);
  return result;
}

/// "activity" is an old word: it records kernels, as --kernels does.
void use_checks(Options& options, const OptionRow& row, const std::string& value) {
  std::istringstream names(value + ",");
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "activity" && name != "ncu-rule")
      throw UsageError(fmt::format("{} takes ncu-rule, not '{}'.", row.flag, name));
    dynamic_cast<RunOptions&>(options).checks.push_back(name);
  }
}

void use_times(Options& options, const OptionRow&, const std::string& value) {
  using enum TimingMode;
  auto& modes = dynamic_cast<RunOptions&>(options).modes;
  modes.clear();
  if (("," + value + ",").find(",all,") != std::string::npos) {
    modes = {stream, device, latency, call, graph};
    return;
  }
  std::istringstream names(value + ",");
  for (std::string name; std::getline(names, name, ',');) {
    const auto mode = static_cast<TimingMode>(std::ranges::find(timing_mode_names, name) - timing_mode_names.begin());
    if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(mode);
  }
}

void add_missing_names(const std::vector<std::string>& names, std::vector<std::string>& to) {
  for (const std::string& name : names)
    if (std::ranges::find(to, name) == to.end()) to.push_back(name);
}

/// What is asked for is written and done, or refused.
void check_pairs(const RunOptions& options) {
  using Given = std::pair<std::string_view, bool>;
  const Given out{"--out", !options.outputs.empty()}, google_out{"--benchmark_out", options.google.out.has_value()},
      isolate{"--isolate", options.isolate}, resume{"--resume", options.resume_file.has_value()},
      adaptive{"--adaptive", options.adaptive_sizes > 0}, calibrate{"--calibrate", options.calibrate.has_value()},
      once{"--once", options.once > 0}, metrics{"--metrics", !options.metrics.empty()},
      checks{"--check", !options.checks.empty()}, cold{"--cache=cold", options.cache_state != "warm"},
      at_random{"--benchmark_enable_random_interleaving", options.google.interleaves_at_random()};
  const std::pair<Given, std::vector<Given>> exclusive[] = {
      {{"--list", options.list}, {out, google_out}},
      {calibrate, {google_out, isolate, resume, adaptive, cold}},
      {once, {out, google_out, isolate, resume, adaptive, calibrate, metrics, checks}},
      {at_random, {isolate, resume, adaptive}}};
  for (const auto& [one, others] : exclusive)
    for (const Given& other : others)
      if (one.second && other.second)
        throw UsageError(fmt::format("{} and {} do not go together. Leave one of them out.", one.first, other.first));
}

void take_google_flags(RunOptions& options) {
  options.google = bench::parse_google_flags(options.google_words);
  static_assert(static_cast<std::size_t>(bench::max_exact_samples) == storage::max_array);
  if (options.google.exact_iterations.value_or(0) > bench::max_exact_samples)
    throw UsageError(fmt::format("--benchmark_min_time={}x: a run holds up to {} samples of a point. Ask for fewer.",
                                 *options.google.exact_iterations, bench::max_exact_samples));
  if (!options.filter.empty() && !options.google.filter.empty())
    throw UsageError("--filter and --benchmark_filter mean the same. Give one of them.");
  if (options.filter.empty()) options.filter = options.google.filter;
  options.list = options.list || options.google.list;
}

void check(RunOptions& options) {
  take_google_flags(options);
  check_pairs(options);
  if (options.kernels) add_missing_names({"activity"}, options.checks);
  if (options.kernels && !options.metrics.empty()) add_missing_names(bench::parse_metrics("units"), options.metrics);
  if (std::ranges::find(options.checks, "ncu-rule") != options.checks.end())
    add_missing_names({std::string(classifier::sm_throughput), std::string(classifier::memory_throughput)},
                      options.metrics);
  if (options.isolate_timeout_seconds && !options.isolate) throw UsageError("--isolate-timeout needs --isolate.");
}

OptionRows own_rows() {
  using enum Rank;
  return {
      {"--calibrate", "quick|full", "quick", "", common, once,
       "Measure the ceilings of the device, keep them and print them. Runs no operation. A bare --calibrate is quick.",
       use::choice(&RunOptions::calibrate, std::vector{calibrate::Mode::quick, calibrate::Mode::full})},
      {"--device", "cpu|cuda:N|all", "", "", common, once,
       "Where to measure. Without it: cuda:0 if there is one, else cpu.", use::text(&RunOptions::device)},
      {"--filter", "REGEX", "", "", common, once,
       "Run only the points whose name matches. A leading '-' inverts the choice.", use::text(&FilterOptions::filter)},
      {"--list", "", "", "", common, once, "List the points that would run, and stop.", use::set(&RunOptions::list)},
      {"--arg", "NAME=VALUES", "", "", common, repeatable,
       "Replace the registered values of an argument in every operation that has it: n=1024,4096 or n=2^10..2^26:4 or "
       "type=float. Repeatable.",
       [](Options& options, const OptionRow&, const std::string& value) {
         try {
           dynamic_cast<RunOptions&>(options).arguments.push_back(bench::parse_argument_choice(value));
         } catch (const bench::ArgumentError& error) {
           throw UsageError(error.what());
         }
       }},
      {"--once", "N", "1", "", other, once,
       "Run each point once, or N times, untimed, for a profiler: in an NVTX range of its name, between "
       "cudaProfilerStart and cudaProfilerStop.",
       use::count(&RunOptions::once, 1, 100'000)},
      {"--time", "stream|device|latency|call|graph|all,...", "", "stream,device", common, once,
       "Which times of a GPU operation to measure; the first is the point's. stream: launched back to back, the host "
       "kept "
       "ahead. device: the operation alone. latency: from launch to finished. call: a loop of calls as a program makes "
       "them, host included; verdicts are then of the call. graph: a loop that replays it as a CUDA graph. all: these.",
       use_times},
      {"--cache", "warm|cold", "", "warm", common, once,
       "What an execution finds in the caches. warm: its data, left there by the execution before. cold: none of it.",
       use::choice(&RunOptions::cache_state, std::vector{"warm", "cold"})},
      {"--verify", "changed|every", "", "changed", other, once,
       "When to check results that have a check. changed: before timing, and after it with other inputs, where "
       "state.inputs has them. every: after timing in any case, with each set of inputs.",
       use::choice(&RunOptions::verify_every, std::vector{false, true})},
      {"--metrics", "none|core|flops|units|NAME,...", "", "none", common, once,
       "Hardware counters to read after all timing. core: bytes moved and occupancy. flops: FLOPs by pipe. units: how "
       "busy each unit is, and what warps wait for. Or names, as CUPTI or gpubench call them.",
       use::metrics(&RunOptions::metrics)},
      {"--time-budget", "SECONDS", "", "0.25", other, once, "Maximum time to sample one point.",
       use::number(&RunOptions::time_budget_seconds, 0.001, 3600.0)},
      {"--adaptive", "SIZES", "16", "", other, once,
       "Add sizes where the verdict changes or is unsure, by bisection, until the interval of each boundary is within "
       "5 %. SIZES is the maximum for one operation; a bare --adaptive is 16.",
       use::count(&RunOptions::adaptive_sizes, 1, 1000)},
      {"--check", "ncu-rule,...", "activity", "", other, once,
       "ncu-rule: show what the SpeedOfLight rule of Nsight Compute says beside each verdict.", use_checks},
      {"--accept-load", "", "", "", other, once,
       "Store a calibration that was measured while others used more than a tenth of its cores. Without it: not "
       "stored, and --calibrate ends with 4.",
       use::set(&RunOptions::accept_load)},
      {"--since", "last|off", "", "last", other, once,
       "Show what changed since the last run of this program on these devices, which the cache keeps.",
       use::choice(&RunOptions::since_last, std::vector{true, false})},
      {"--isolate", "", "", "", other, once,
       "Measure each operation in its own process, so that a crash, a hang or a lost GPU costs one point.",
       use::set(&RunOptions::isolate)},
      {"--isolate-timeout", "SECONDS", "", "", other, once,
       "With --isolate: maximum time of one point. Without it: 120, plus twice the time budget.",
       use::number(&RunOptions::isolate_timeout_seconds, 0.1, 86400.0)},
      {"--resume", "RUN.json", "", "", other, once,
       "Take the points that this run already has, and measure the others.", use::text(&RunOptions::resume_file)},
      {"--completion", "bash|zsh|fish", "", "", other, once, "Print the completion script of a shell, and stop.",
       [](Options& options, const OptionRow&, const std::string& shell) {
         options.text = completion_script(options.name(), shell);
       }},
      {"--version", "", "", "", other, once, "Print the version, and stop.",
       [](Options& options, const OptionRow&, const std::string&) {
         options.text = fmt::format("gpubench {}\n", version);
       }},
  };
}

}  // namespace

extern const CommandFile run_command{
    0, [] {
      return std::vector{
          with(Command{"",
                       "Measure the operations of this program, say what limits each, and how sure that is",
                       "gpubench --filter='^copy' --out=run.json --out=run.html\n"
                       "gpubench --calibrate full\n"
                       "gpubench --device=cpu --list",
                       {},
                       reports::known_extensions(),
                       false,
                       joined_rows({own_rows(), shared_rows({"--calibration", "--drift-check", "--kernels", "--chart",
                                                             "--title", "--theme"})})},
               run_operations, check)};
    }};

}  // namespace gpubench
