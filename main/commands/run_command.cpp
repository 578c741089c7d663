// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bench/counters/metrics.h"
#include "bench/google/google_runner.h"
#include "bench/memory/cold_cache.h"
#include "classifier/verdict/cross_checks.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpubench/version.h"
#include "main/cli/command.h"
#include "main/cli/help.h"
#include "main/cli/output.h"
#include "main/embedding.h"
#include "main/run/context.h"
#include "main/run/google_outputs.h"
#include "main/run/measuring.h"
#include "main/run/plan.h"
#include "main/run/run_ceilings.h"
#include "main/run/run_options.h"
#include "main/run/stored_runs.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

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

/// Those of the last run of this process, where it is less than ten seconds ago: to ask a driver for all that it knows
/// of them takes milliseconds.
std::vector<Device> devices_of(const RunOptions& options) {
  constexpr double valid_seconds = 10.0;
  Embedding::Known& known = embedding().known;
  const double now = steady_seconds();
  if (!embedding().finished || known.devices.empty() || known.devices_of != options.device ||
      now - known.devices_time > valid_seconds) {
    known.devices = bench::choose_devices(options.device);
    known.devices_of = options.device;
    known.devices_time = now;
  }
  return known.devices;
}

int run_operations(const RunOptions& options) {
  bench::initialize_google(options.program, options.google);
  bench::choose_arguments(options.arguments);
  const std::vector<Device> devices = devices_of(options);
  if (options.list) {
    list_points(devices, options.filter, !options.arguments.empty());
    return exit_codes::fine;
  }
  // Everything that can be refused is refused before anything is measured.
  if (options.google.out) storage::check_writable(*options.google.out);
  if (options.cache_state == "cold")
    for (const Device& device : devices)
      if (const auto reason = bench::why_not_cold(device)) throw UsageError(*reason + " Leave out --cache=cold.");
  Run run;
  run.context = gather_context(options.program, options.words);
  const auto limit = run.context.environment.find("core_limit");
  for (const Device& device : devices) {
    if (embedding().finished) break;  // it is in the run
    const std::string why = device.kind == DeviceKind::cpu && options.device.empty()
                                ? fmt::format(" ({}: measuring the CPU)", bench::why_no_gpu())
                                : std::string();
    const std::string threads =
        device.kind == DeviceKind::cpu && limit != run.context.environment.end()
            ? fmt::format(", with {}: a control group allows {} cores", plural(device.units, "thread"), limit->second)
            : std::string();
    say(fmt::format("device {}: {}{}{}", device.id, device.name, why, threads));
  }
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
  GoogleOutputs google(options.google);
  measure_all(options, plans, google, run);
  const int result = report(run, options, google);
  if (!embedding().finished) run_plain(options);
  return result;
}

/// "activity" is an old word: it records kernels, as --kernels does.
void use_checks(Options& options, const OptionRow& row, const std::string& value) {
  for (const std::string& name : split(value, ',')) {
    if (name != "activity" && name != "ncu-rule")
      throw UsageError(fmt::format("{} takes ncu-rule, not '{}'.", row.flag, name));
    dynamic_cast<RunOptions&>(options).checks.push_back(name);
  }
}

void use_times(Options& options, const OptionRow&, const std::string& value) {
  using enum TimingMode;
  auto& modes = dynamic_cast<RunOptions&>(options).modes;
  modes.clear();
  const std::vector<std::string> names = split(value, ',');
  if (contains(names, "all")) {
    modes = {stream, device, latency, call, graph};
    return;
  }
  for (const std::string& name : names) {
    const auto mode = static_cast<TimingMode>(std::ranges::find(timing_mode_names, name) - timing_mode_names.begin());
    if (!contains(modes, mode)) modes.push_back(mode);
  }
}

void add_missing_names(const std::vector<std::string>& names, std::vector<std::string>& to) {
  for (const std::string& name : names)
    if (!contains(to, name)) to.push_back(name);
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
  if (contains(options.checks, "ncu-rule"))
    add_missing_names({std::string(classifier::sm_throughput), std::string(classifier::memory_throughput)},
                      options.metrics);
  if (options.isolate_timeout_seconds && !options.isolate) throw UsageError("--isolate-timeout needs --isolate.");
}

OptionRows own_rows() {
  using enum Rank;
  return {
      {"--calibrate", "quick|full", "", common,
       "Measure the ceilings of the device, keep them and print them. Runs no operation. A bare --calibrate is quick.",
       use::choice(&RunOptions::calibrate, std::vector{calibrate::Mode::quick, calibrate::Mode::full}), "quick"},
      {"--device", "cpu|cuda:N|all", "", common, "Where to measure. Without it: cuda:0 if there is one, else cpu.",
       use::text(&RunOptions::device)},
      {"--filter", "REGEX", "", common, "Run only the points whose name matches. A leading '-' inverts the choice.",
       use::text(&FilterOptions::filter)},
      {"--list", "", "", common, "List the points that would run, and stop.", use::set(&RunOptions::list)},
      {"--arg", "NAME=VALUES", "", common,
       "Replace the registered values of an argument in every operation that has it: n=1024,4096 or n=2^10..2^26:4 or "
       "type=float. Repeatable.",
       [](Options& options, const OptionRow&, const std::string& value) {
         try {
           dynamic_cast<RunOptions&>(options).arguments.push_back(bench::parse_argument_choice(value));
         } catch (const bench::ArgumentError& error) {
           throw UsageError(error.what());
         }
       },
       "", repeatable},
      {"--once", "N", "", other,
       "Run each point once, or N times, untimed, for a profiler: in an NVTX range of its name, between "
       "cudaProfilerStart and cudaProfilerStop.",
       use::count(&RunOptions::once, 1, 100'000), "1"},
      {"--time", "stream|device|latency|call|graph|all,...", "stream,device", common,
       "Which times of a GPU operation to measure; the first is the point's. stream: launched back to back, the host "
       "kept ahead. device: the operation alone. latency: from launch to finished. call: a loop of calls as a program "
       "makes "
       "them, host included; verdicts are then of the call. graph: a loop that replays it as a CUDA graph. all: these.",
       use_times},
      {"--cache", "warm|cold", "warm", common,
       "What an execution finds in the caches. warm: its data, left there by the execution before. cold: none of it.",
       use::choice(&RunOptions::cache_state, std::vector{"warm", "cold"})},
      {"--verify", "changed|every", "changed", other,
       "When to check results that have a check. changed: before timing, and after it with other inputs, where "
       "state.inputs has them. every: after timing in any case, with each set of inputs.",
       use::choice(&RunOptions::verify_every, std::vector{false, true})},
      {"--metrics", "none|core|flops|units|NAME,...", "none", common,
       "Hardware counters to read after all timing. core: bytes moved and occupancy. flops: FLOPs by pipe. units: how "
       "busy each unit is, and what warps wait for. Or names, as CUPTI or gpubench call them.",
       use::metrics(&RunOptions::metrics)},
      {"--time-budget", "SECONDS", "0.25", other, "Maximum time to sample one point.",
       use::number(&RunOptions::time_budget_seconds, 0.001, 3600.0)},
      {"--brief", "", "", other,
       "Take samples as short as they can be, and stop at a point once its times are known within 5 % or 0.5 us.",
       use::set(&RunOptions::brief)},
      {"--adaptive", "SIZES", "", other,
       "Add sizes where the verdict changes or is unsure, by bisection, until the interval of each boundary is within "
       "5 %. SIZES is the maximum for one operation; a bare --adaptive is 16.",
       use::count(&RunOptions::adaptive_sizes, 1, 1000), "16"},
      {"--check", "ncu-rule,...", "", other,
       "ncu-rule: show what the SpeedOfLight rule of Nsight Compute says beside each verdict.", use_checks, "activity"},
      {"--accept-load", "", "", other,
       "Store a calibration that was measured while others used more than a tenth of its cores. Without it: not "
       "stored, and --calibrate ends with 4.",
       use::set(&RunOptions::accept_load)},
      {"--since", "last|off", "last", other,
       "Show what changed since the last run of this program on these devices, which the cache keeps.",
       use::choice(&RunOptions::since_last, std::vector{true, false})},
      {"--isolate", "", "", other,
       "Measure each operation in its own process, so that a crash, a hang or a lost GPU costs one point.",
       use::set(&RunOptions::isolate)},
      {"--isolate-timeout", "SECONDS", "", other,
       "With --isolate: maximum time of one point. Without it: 120, plus twice the time budget.",
       use::number(&RunOptions::isolate_timeout_seconds, 0.1, 86400.0)},
      {"--resume", "RUN.json", "", other, "Take the points that this run already has, and measure the others.",
       use::text(&RunOptions::resume_file)},
      {"--completion", "bash|zsh|fish", "", other, "Print the completion script of a shell, and stop.",
       [](Options& options, const OptionRow&, const std::string& shell) {
         options.text = completion_script(options.name(), shell);
       }},
      {"--version", "", "", other, "Print the version, and stop.",
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
                       joined_rows({own_rows(), shared_rows({"--calibration", "--drift-check", "--kernels", "--chart",
                                                             "--title", "--theme"})})},
               run_operations, check)};
    }};

}  // namespace gpubench
