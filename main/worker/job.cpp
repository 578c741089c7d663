// SPDX-License-Identifier: Apache-2.0
// Jobs as JSON, and what the process of a job does.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench/google/google_runner.h"
#include "calibrate/check/drift.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "main/cli/output.h"
#include "main/run/context.h"
#include "main/run/plan.h"
#include "main/run/post_timing.h"
#include "main/run/run_ceilings.h"
#include "main/worker/isolation.h"

namespace gpubench {
namespace {

constexpr auto task_names =
    std::to_array<std::string_view>({"measure", "calibrate", "check_drift", "launch", "overheads"});

/// A line to the process that gave the job. Whether anybody still listens does not matter.
void tell(const Descriptor& channel, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  (void)write_all(channel, line + '\n');
}

/// Ends this process when the one that gave the job ends, however that ends.
void die_with(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(exit_codes::operation_failed);  // it has ended already
}

/// Ends the process at once: within Google Benchmark there is no other way out, and a lost GPU makes destructors throw.
[[noreturn]] void leave(int code) {
  (void)std::fflush(nullptr);
  std::_Exit(code);
}

void measure_points(const Job& job, const RunOptions& options, const Device& device, Run& run,
                    const Descriptor& channel) {
  const std::string filter = filter_for(job.operation);
  if (!job.added.empty()) {
    const auto registered = bench::discover(device.kind, filter);
    for (const AddedSize& size : job.added) bench::add_arguments(registered, size.operation, size.arguments);
  }
  const Plan plan = plan_of(device, filter);
  std::map<PointKey, std::size_t> wanted;  // to their numbers in the job
  for (std::size_t i = 0; i < job.points.size(); ++i) wanted[job.points[i]] = i;
  bench::PointRunner runner(device, runner_settings(options));
  std::optional<std::size_t> last;
  const auto visit = [&](const bench::PointCall& call, std::size_t position) -> std::optional<Measurement> {
    const auto number = wanted.find(plan.keys.at(position));
    if (number == wanted.end()) return std::nullopt;
    tell(channel, fmt::format("start {}", number->second));
    Measurement measurement = runner.run(call);
    if (last == position) run.points.pop_back();  // a longer measurement of the same
    last = position;
    run.points.push_back({named(measurement, plan.points.at(position)), std::nullopt});
    try {
      storage::write_for_reading(job.result, storage::to_json(run));
    } catch (const storage::WriteError& error) {
      tell(channel, fmt::format("error {}", error.what()));
      leave(exit_codes::operation_failed);
    }
    tell(channel, fmt::format("done {}", number->second));
    // What is left has a better chance in a process of its own.
    if (measurement.failure && runner.gpu_lost()) leave(exit_codes::fine);
    return measurement;
  };
  // Only the reporters see a label and a reason that were set through Google Benchmark.
  const auto reported = bench::go_over(device, filter, visit);
  for (std::size_t i = 0; i < std::min(reported.size(), run.points.size()); ++i) {
    run.points[i].measurement.label = reported[i].label;
    run.points[i].measurement.failure = reported[i].failure;
  }
  storage::write_for_reading(job.result, storage::to_json(run));
  // Timed points are done: a process that dies later loses what a pass adds alone. It tells that it is alive.
  for (const PostTimingStep& pass : post_timing_steps(options)) {
    const PostTimingOutcome outcome =
        run_post_timing(pass, plan, filter, options, run.points, [&](std::size_t position, double) {
          tell(channel, fmt::format("{} {}", pass.doing, wanted.at(plan.keys.at(position))));
        });
    run.warnings.insert(run.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
    storage::write_for_reading(job.result, storage::to_json(run));
  }
}

Calibration ceilings_of(const Job& job, const Device& device, bool quiet) {
  if (job.task == Job::Task::calibrate) return measure_ceilings(device, calibrate::Mode::quick, quiet);
  if (job.task == Job::Task::check_drift) {
    Calibration stored = storage::read_calibration(job.input);
    stored.drift = calibrate::check_drift(device, stored);
    return stored;
  }
  calibrate::CalibrationOptions wanted;
  wanted.mode = job.task == Job::Task::overheads ? calibrate::Mode::full : calibrate::Mode::quick;
  wanted.part = calibrate::Part::of_process;
  return calibrate::calibrate(device, wanted);
}

/// Returns the exit code of this process.
int run_job(const TakenJob& taken, const Options& options) {
  const Job& job = taken.job;
  const Descriptor channel(taken.channel);
  fcntl(taken.channel, F_SETFD, FD_CLOEXEC);  // what an operation starts has no business with it
  die_with(job.parent);
  try {
    // Other commands have processes of their own too, for ceilings.
    const auto* const given = dynamic_cast<const RunOptions*>(&options);
    const RunOptions run_options = given != nullptr ? *given : RunOptions();
    bench::initialize_google(options.program, run_options.google);
    bench::choose_arguments(run_options.arguments);
    const Device device = bench::choose_devices(job.device).front();
    Run run;
    run.context = gather_context(options.program, {});
    run.devices = {device};
    if (job.task == Job::Task::measure) {
      measure_points(job, run_options, device, run, channel);
    } else {
      run.calibrations = {ceilings_of(job, device, options.quiet)};
      storage::write_for_reading(job.result, storage::to_json(run));
    }
    return exit_codes::fine;
  } catch (const std::exception& error) {
    tell(channel, fmt::format("error {}", words_of(error)));
    return exit_codes::operation_failed;
  }
}

}  // namespace

void to_json(nlohmann::json& json, const Argument& argument) {
  json = {{"name", argument.name}, {"value", argument.value}};
  if (argument.text) json["text"] = *argument.text;
}

void from_json(const nlohmann::json& json, Argument& argument) {
  argument = {json.at("name"), json.at("value"), std::nullopt};
  if (json.contains("text")) argument.text = json.at("text").get<std::string>();
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PointKey, device, name, repetition, occurrence)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AddedSize, operation, arguments)

void to_json(nlohmann::json& json, const Job::Task& task) { json = task_names[static_cast<std::size_t>(task)]; }

void from_json(const nlohmann::json& json, Job::Task& task) {
  const auto name = std::ranges::find(task_names, json.get<std::string>());
  if (name == task_names.end()) throw storage::ReadError("its task is unknown");
  task = static_cast<Job::Task>(name - task_names.begin());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, task, parent, device, operation, points, added, result, input)

std::string job_to_json(const Job& job) {
  return nlohmann::json(job).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Job job_from_json(const std::string& text, const std::string& origin) {
  try {
    return nlohmann::json::parse(text).get<Job>();
  } catch (const std::exception& error) {  // not JSON, not these fields, or no such task
    throw storage::ReadError(fmt::format("{}: not a gpubench job ({}); unset {}", origin, error.what(), job_variable));
  }
}

std::optional<TakenJob> take_job() {
  const char* const value = std::getenv(job_variable);
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  unsetenv(job_variable);
  const std::size_t colon = text.find(':');
  const int channel = number_in<int>(text.substr(0, colon)).value_or(-1);
  if (colon == std::string::npos || channel < 0)
    throw storage::ReadError(fmt::format("{} is '{}', which is not a gpubench job; unset it", job_variable, text));
  const std::string file = text.substr(colon + 1);
  std::string job;
  try {
    job = storage::read_text(file);
  } catch (const storage::ReadError& error) {
    throw storage::ReadError(
        fmt::format("{}, which {} names as this process's job; unset it", error.what(), job_variable));
  }
  return TakenJob{job_from_json(job, file), channel};
}

std::string filter_for(const std::string& operation) {
  // What a regular expression may read as its own stands for any character: points are chosen one by one afterwards.
  std::string filter = "^";
  for (const char c : operation) filter += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '.';
  return filter + "/";
}

int run_command_or_job(const Command& command, const Options& options) {
  if (const auto taken = take_job()) return run_job(*taken, options);
  return command.run(options);
}

}  // namespace gpubench
