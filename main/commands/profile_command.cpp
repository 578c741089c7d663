// SPDX-License-Identifier: Apache-2.0
// Any program, recorded as it is, and its kernels judged.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <optional>

#include "calibrate/calibrate.h"
#include "core/base/environment.h"
#include "core/base/files.h"
#include "core/base/pattern.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "gpu/backend.h"
#include "gpu/devices.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/run/context.h"
#include "main/run/run_ceilings.h"
#include "profile/recording_format.h"
#include "profile/run_recorded.h"
#include "profile/trigger.h"
#include "profile/verdicts.h"
#include "reports/reports.h"
#include "timeline/writers.h"

namespace gpubench {
namespace {

struct ProfileOptions : Options, CeilingOptions, PictureOptions, profile::InjectionOptions {
  std::vector<std::string> metrics;  ///< to be counted, by name; sets are spelt out
  int metrics_runs = 1;
  std::string kept_kernels;  ///< a regular expression
  std::string kept_range;
  bool whole = false;  ///< not the steady state alone
  int trigger = 0;     ///< a process that records on demand; 0: none
  std::optional<std::string> keep_folder;
  std::optional<std::string> recording_folder;  ///< of an earlier recording
};

/// Of a trigger, unless --duration says.
constexpr double default_trigger_seconds = 5.0;

void check(ProfileOptions& options) {
  const int sources =
      (options.program_arguments.empty() ? 0 : 1) + (options.recording_folder ? 1 : 0) + (options.trigger > 0 ? 1 : 0);
  if (sources != 1)
    throw UsageError(
        "profile takes a program after --, as in: gpubench profile -- python3 train.py. Or give --recording=DIR, "
        "the folder of an earlier recording, or --trigger=PID, a process that --on-demand started, instead.");
  if (options.on_demand && (options.program_arguments.empty() || !options.outputs.empty() || options.keep_folder))
    throw UsageError(
        "--on-demand starts a program and reports nothing: give --out and --keep to gpubench profile --trigger=PID.");
  if (options.leave && options.trigger == 0)
    throw UsageError("--leave belongs to a recording on demand: give it with --trigger=PID.");
  if (options.trigger == 0) return;
  if (!(options.duration_seconds > 0.0)) options.duration_seconds = default_trigger_seconds;
  // Counting slows a server down for seconds: only if it is asked for.
  const auto is_metrics = [](const std::string& word) { return word.starts_with("--metrics="); };
  if (std::ranges::none_of(options.words, is_metrics)) options.metrics.clear();
}

using KernelFilter = std::function<bool(const std::string&)>;

/// Null for an empty expression. Throws UsageError.
KernelFilter filter_of(const std::string& expression) {
  if (expression.empty()) return nullptr;
  try {
    return searcher(expression);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--kernels={} is no regular expression: {}.", expression, error.what()));
  }
}

/// What is to be counted, in sets of one pass. What cannot be is said, and left out.
std::vector<std::vector<std::string>> plan_counters(const ProfileOptions& options, std::vector<AbsentCounter>& absent) {
  if (options.metrics.empty()) return {};
  const std::vector<Device> gpus = bench::gpus();
  if (gpus.empty()) return {};
  try {
    const auto chip = bench::backend_of(gpus.front()).chip_metrics(gpus.front());
    auto resolution = bench::resolve(options.metrics, chip.chip, chip.unit_of);
    std::erase_if(resolution.metrics, [&](const bench::ResolvedMetric& metric) {
      if (!bench::is_by_kernel(metric)) return false;
      absent.push_back({metric.name, "it is over elapsed time, which a range around a launch makes longer"});
      return true;
    });
    absent.insert(absent.end(), resolution.absent.begin(), resolution.absent.end());
    return bench::single_pass_sets(resolution.metrics, chip.passes_of, absent);
  } catch (const bench::MetricsUnavailable& error) {
    say(fmt::format("No counters: {}.", error.what()));
    return {};
  }
}

/// Ceilings of the GPUs that are here; of others those of --calibration.
void find_program_ceilings(const ProfileOptions& options, const std::vector<Device>& here, Run& run) {
  const auto is_here = [&](const Device& device) { return contains(here, device); };
  const bool may_measure = options.trigger == 0;  // else the program runs on
  Run known;
  for (const Device& device : run.devices) {
    if (is_here(device)) {
      if (may_measure || options.calibration_file || calibrate::load_cached(device).calibration)
        known.devices.push_back(device);
      else
        run.warnings.push_back(
            fmt::format("There are no verdicts for {}: its ceilings are not known, and cannot be measured while a "
                        "program runs on it. Measure them once with gpubench --calibrate.",
                        device.id));
      continue;
    }
    if (!options.calibration_file) {
      run.warnings.push_back(
          fmt::format("There are no verdicts for {}: {} is not in this machine. Give its ceilings with --calibration.",
                      device.id, device.name));
      continue;
    }
    Calibration calibration = storage::read_calibration_for(*options.calibration_file, {device});
    calibration.device.id = device.id;
    run.calibrations.push_back(std::move(calibration));
  }
  if (known.devices.empty()) return;
  find_ceilings(options, options.quiet, false, nullptr, known);
  run.warnings.insert(run.warnings.end(), known.warnings.begin(), known.warnings.end());
  for (Calibration& calibration : known.calibrations) run.calibrations.push_back(std::move(calibration));
}

std::filesystem::path folder_of_run(const std::filesystem::path& folder, std::size_t run) {
  return run == 1 ? folder : folder / fmt::format("run-{}", run);
}

/// Those of --metrics-runs after the first.
std::vector<std::filesystem::path> further_folders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> folders;
  for (std::size_t run = 2; std::filesystem::is_directory(folder_of_run(folder, run)); ++run)
    folders.push_back(folder_of_run(folder, run));
  return folders;
}

/// The executable that a word of a command line names; empty where there is none.
std::filesystem::path executable_of(const std::string& word) {
  std::error_code error;
  if (contains(word, '/')) return std::filesystem::exists(word, error) ? word : "";
  const std::string path = environment("PATH");
  std::string_view rest = path;
  while (!rest.empty())
    if (auto file = std::filesystem::path(taken_until(':', rest)) / word; std::filesystem::is_regular_file(file, error))
      return file;
  return {};
}

/// Context of the program that was recorded, not of gpubench: its code where its kernels are part of its executable.
/// What an interpreter runs is not known.
void describe_program(const ProfileOptions& options, Context& context) {
  for (const char* const key : {"host_code", "device_code", "build", "compiler"}) context.environment.erase(key);
  if (options.program_arguments.empty()) return;
  try {
    if (auto code = code_identity(executable_of(options.program_arguments.front())); code.contains("device_code"))
      context.environment.merge(code);
  } catch (const std::exception&) {  // a script, or nothing that can be read
  }
}

std::string why_nothing(const ProfileOptions& options, const profile::Recordings& recordings,
                        const std::string& program) {
  if (recordings.timeline.processes.empty())
    return fmt::format(
        "{} did not use CUDA, or not as a program that can be recorded: nothing was recorded. A program that is no "
        "CUDA program, runs elsewhere or clears its environment leaves nothing.{}",
        program,
        options.torch_ranges ? " On a CPU `python3 -m gpubench.torch_cli profile SCRIPT` profiles PyTorch." : "");
  std::string text = fmt::format("{} ran no kernel, copy or fill on a GPU while it was recorded.", program);
  if (options.trigger > 0) text += " Trigger it again, or with a longer --duration.";
  for (const std::string& warning : recordings.timeline.warnings) text += " " + warning;
  return text;
}

/// Judges what was recorded, and reports on standard error: standard output is the program's.
void report_program(const ProfileOptions& options, const std::filesystem::path& folder, const std::string& ended,
                    const std::vector<AbsentCounter>& absent) {
  const profile::Recordings recordings = profile::read_recordings(folder);
  if (options.recording_folder && recordings.timeline.processes.empty()) {
    const auto& warnings = recordings.timeline.warnings;
    throw profile::RecordingError(warnings.empty() ? fmt::format("{} holds no recording.", folder.string())
                                                   : joined(warnings, " "));
  }
  const std::string program = options.program_arguments.empty() ? folder.string() : options.program_arguments.front();
  const std::vector<Device> here = bench::gpus();
  Run run;
  run.context = gather_context(options.program, options.words);
  run.context.program = std::filesystem::path(program).filename().string();
  describe_program(options, run.context);
  run.devices = profile::devices_of(recordings, here);
  if (run.devices.empty()) return say(why_nothing(options, recordings, program));
  find_program_ceilings(options, here, run);
  profile::GroupOptions groups;
  groups.keeps = filter_of(options.kept_kernels);
  groups.range = options.kept_range;
  groups.steady = true;
  groups.whole = options.whole;
  for (const std::filesystem::path& further : further_folders(folder))
    groups.further.push_back(profile::further_counters(profile::read_recordings(further), groups, run));
  groups.absent_metrics = absent;
  run = profile::verdicts_of(recordings, std::move(run), std::move(groups));
  run.program->command = options.program_arguments;
  run.program->ended = ended;
  if (run.points.empty())
    run.warnings.push_back("No kernel is left: --kernels and --range chose none of those that ran.");
  if (options.quiet)
    for (const std::string& warning : run.warnings) say(warning);
  else
    write_error_stream(without_log_commands(reports::console(run, stderr_style(options))));
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    if (file.ends_with(".perfetto-trace") || file.ends_with(".trace.json"))
      timeline::write(recordings.timeline, file);
    else
      reports::write(run, file, options.chart, options);
  });
}

/// The folder of --keep, made where it is not there. Throws UsageError where it holds a recording already.
std::filesystem::path kept_folder(const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(name, error);
  if (error) throw UsageError(fmt::format("--keep={} cannot be made: {}.", name, error.message()));
  for (const auto& entry : std::filesystem::directory_iterator(name))
    if (profile::has_recording_extension(entry.path()))
      throw UsageError(fmt::format("--keep={} holds a recording already. Give another folder.", name));
  return std::filesystem::canonical(name);
}

/// Starts the program, which records nothing until it is asked to.
int run_on_demand(const ProfileOptions& options) {
  const PrivateFolder folder;
  const profile::ProgramEnd end =
      profile::run_recorded(options.program_arguments, folder.path(), options, [&](pid_t process) {
        if (!options.quiet)
          say(fmt::format("process {} waits for triggers: gpubench profile --trigger={} --duration=5", process,
                          process));
      });
  if (end.signal != 0) say(fmt::format("the program was ended by {}", end.words));
  return end.exit_code;
}

int run_trigger(const ProfileOptions& options) {
  profile::InjectionOptions injected = options;
  std::vector<AbsentCounter> absent;
  injected.counter_sets = plan_counters(options, absent);
  std::optional<PrivateFolder> temporary;
  const std::filesystem::path folder =
      options.keep_folder ? kept_folder(*options.keep_folder) : temporary.emplace().path();
  ProfileOptions reported = options;
  reported.drift_check = false;  // the program runs on
  reported.program_arguments = {profile::command_of(options.trigger)};
  try {
    const auto refusals = profile::trigger(options.trigger, folder, injected);
    for (const std::string& refusal : refusals) say(refusal);
    report_program(reported, folder, "", absent);
    return refusals.empty() ? exit_codes::fine : exit_codes::operation_failed;
  } catch (const profile::TriggerError& error) {
    throw UsageError(error.what());
  }
}

int run_profile(const ProfileOptions& options) {
  (void)filter_of(options.kept_kernels);
  if (options.on_demand) return run_on_demand(options);
  if (options.trigger > 0) return run_trigger(options);
  if (options.recording_folder) {
    try {
      report_program(options, *options.recording_folder, "", {});
      return exit_codes::fine;
    } catch (const profile::RecordingError& error) {
      throw UsageError(fmt::format("{} Give --recording the folder that --keep named.", error.what()));
    }
  }
  profile::InjectionOptions injected = options;
  std::vector<AbsentCounter> absent;
  const auto sets = plan_counters(options, absent);
  const std::size_t runs = std::clamp<std::size_t>(sets.size(), 1, static_cast<std::size_t>(options.metrics_runs));
  std::optional<PrivateFolder> temporary;
  const std::filesystem::path folder =
      options.keep_folder ? kept_folder(*options.keep_folder) : temporary.emplace().path();
  profile::ProgramEnd end;
  for (std::size_t run = 1; run <= runs && end.exit_code == 0; ++run) {
    injected.counter_sets.clear();
    for (std::size_t set = run - 1; set < sets.size(); set += runs) injected.counter_sets.push_back(sets[set]);
    if (run > 1)
      say(fmt::format("run {} of {} of {}, for more counters", run, runs, options.program_arguments.front()));
    std::filesystem::create_directories(folder_of_run(folder, run));
    end = profile::run_recorded(options.program_arguments, folder_of_run(folder, run), injected);
  }
  try {
    report_program(options, folder, end.words, absent);
  } catch (const std::exception& error) {
    // The program's own failure goes before that of its report.
    say(words_of(error));
    if (end.exit_code == 0) return exit_codes::operation_failed;
  }
  if (end.signal != 0) say(fmt::format("the program was ended by {}", end.words));
  return end.exit_code;
}

OptionRows own_rows() {
  using enum Rank;
  return {
      {"--metrics", "none|core|flops|units|NAME,...", "core,units", common,
       "Hardware counters to read around launches of each kernel group, in the same run. core: bytes "
       "moved and occupancy. units: how busy each unit is; it takes six sets, each set up in 0.4 s "
       "and counted in launches of its own. none: times alone.",
       use::metrics(&ProfileOptions::metrics)},
      {"--metrics-launches", "N", "20", other,
       "Launches of each kernel group that are counted at first, in each set. Later ones are counted ever more rarely.",
       use::count(&profile::InjectionOptions::counted_launches, 1, 100'000)},
      {"--metrics-budget", "SECONDS", "", other,
       "Time that reading counters may add to the program. Unless given, 1.5 s to a program of less than 2 s, "
       "else 3 s and a tenth of its time.",
       use::number(&profile::InjectionOptions::counting_seconds, 0.1, 1e6)},
      {"--metrics-runs", "N", "1", other,
       "Runs the program so often, and counts another part of the metrics in each run. For programs "
       "whose kernels do not recur; the program must do the same each time.",
       use::count(&ProfileOptions::metrics_runs, 1, 16)},
      {"--kernels", "REGEX", "", common, "Judge only kernels whose name matches (an extended regular expression).",
       use::text(&ProfileOptions::kept_kernels)},
      {"--torch", "", "", common,
       "Of a program that uses PyTorch: each module's forward, its backward and each optimizer step is a range, so "
       "that kernels are told by the module that launched them. The program is not changed.",
       use::set(&profile::InjectionOptions::torch_ranges)},
      {"--range", "NAME", "", common,
       "Judge only what was launched in NVTX ranges of this name, as the steps of the program.",
       use::text(&ProfileOptions::kept_range)},
      {"--whole", "", "", common,
       "Judge all of the program: imports, compilation, weights and warm-up too. Else the report is of its steps, "
       "where it repeats itself.",
       use::set(&ProfileOptions::whole)},
      {"--start-after", "SECONDS", "", other, "Record from this long after CUDA was initialised.",
       use::number(&profile::InjectionOptions::start_after_seconds, 0.0, 1e6)},
      {"--duration", "SECONDS", "", other, "Record for this long; the program runs on.",
       use::number(&profile::InjectionOptions::duration_seconds, 0.001, 1e6)},
      {"--capture-range", "cudaProfilerApi", "", other, "Record only between cudaProfilerStart and cudaProfilerStop.",
       use::choice(&profile::InjectionOptions::capture_range, std::vector{true})},
      {"--on-demand", "", "", other,
       "Record nothing until gpubench profile --trigger=PID asks, then for its --duration, again and again.",
       use::set(&profile::InjectionOptions::on_demand)},
      {"--trigger", "PID", "", other,
       "Run no program: have this process, which --on-demand started, and those that descend from it record for "
       "--duration (5 s), and report. Without counters, unless --metrics asks for them.",
       use::count(&ProfileOptions::trigger, 1, std::numeric_limits<int>::max())},
      {"--leave", "", "", other,
       "With --trigger: have CUPTI leave the process afterwards, so that launches are as fast as before. Not where it "
       "used CUDA graphs, several threads or several GPUs, which would break: there it stays, idle, and the report "
       "says why.",
       use::set(&profile::InjectionOptions::leave)},
      {"--max-recording", "GIB", "4", other,
       "Maximum size of what one process leaves on disk. A kernel takes about 56 bytes. What is "
       "beyond is not recorded.",
       use::number(&profile::InjectionOptions::max_bytes, 0.001, 10'000.0, 1073741824.0)},
      {"--keep", "DIR", "", other, "Keep the recording there, for --recording.",
       use::text(&ProfileOptions::keep_folder)},
      {"--recording", "DIR", "", other, "Run no program: judge a recording that --keep kept.",
       use::text(&ProfileOptions::recording_folder)},
  };
}

}  // namespace

extern const CommandFile profile_command{
    30, [] {
      return std::vector{
          with(Command{"profile",
                       "Run any program, and say of each of its kernels what limits it",
                       "gpubench profile -- python3 train.py\n"
                       "gpubench profile --out=train.html --out=train.json -- ./simulation --steps=100\n"
                       "gpubench profile --metrics=core,units --kernels=gemm -- torchrun --nproc-per-node=2 train.py",
                       {"", "The program and its arguments follow after --.", 0, 0},
                       reports::known_extensions() + " .perfetto-trace .trace.json",
                       joined_rows({own_rows(),
                                    shared_rows({"--calibration", "--drift-check", "--chart", "--title", "--theme"})}),
                       true},
               run_profile, check)};
    }};

}  // namespace gpubench
