// SPDX-License-Identifier: Apache-2.0
#include "main/worker/job.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "calibrate/check/drift.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "main/cli/output.h"
#include "main/run/post_timing.h"
#include "main/run/run_ceilings.h"
#include "main/run/run_options.h"

namespace gpubench {
namespace {

constexpr auto task_names =
    std::to_array<std::string_view>({"measure", "calibrate", "check_drift", "launch", "overheads"});

/// A line to the process that gave the job. Whether anybody still listens does not matter.
void tell(const Descriptor& channel, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  (void)write_all(channel, line + '\n');
}

/// Ends the process at once: within Google Benchmark there is no other way out, and a lost GPU makes destructors throw.
[[noreturn]] void leave(int code) {
  (void)std::fflush(nullptr);
  std::_Exit(code);
}

/// The plan as the process that gave the job has it. Throws std::runtime_error where this one has another.
Plan whole_plan(const Job& job, const RunOptions& options, const Device& device) {
  if (!job.added.empty()) {
    const auto registered = bench::discover(device.kind, options.filter);
    for (const AddedSize& size : job.added) bench::add_arguments(registered, size.operation, size.arguments);
  }
  Plan plan = plan_of(device, options.filter);
  const bool fits = plan.points.size() == job.planned && (job.points.empty() || job.points.back() < job.planned);
  if (!fits)
    throw std::runtime_error(
        fmt::format("its process registers {} points, not {}: register the same operations in each process",
                    plan.points.size(), job.planned));
  return plan;
}

void measure_points(const Job& job, const RunOptions& options, const Device& device, const Descriptor& channel) {
  const Plan all = whole_plan(job, options, device);
  std::map<PointKey, std::size_t> wanted;  // to their numbers in the job
  std::vector<std::string> names;
  for (std::size_t i = 0; i < job.points.size(); ++i) {
    wanted[all.keys[job.points[i]]] = i;
    names.push_back(all.points[job.points[i]].name);
  }
  const std::string filter = filter_for(names);  // what is not wanted is not set up either
  const Plan plan = plan_of(device, filter);
  bench::PointRunner runner(device, runner_settings(options));
  Run run;
  std::vector<std::size_t> numbers;  // of the run's points
  const auto tell_point = [&](std::size_t index) {
    Run one;
    one.points = {run.points[index]};
    tell(channel, fmt::format("point {} {}", numbers[index], storage::to_json(one)));
  };
  const auto visit = [&](const bench::PointCall& call, std::size_t position) -> std::optional<Measurement> {
    const auto found = wanted.find(plan.keys.at(position));
    if (found == wanted.end()) return std::nullopt;
    tell(channel, fmt::format("start {}", found->second));
    Measurement measurement = runner.run(call);
    if (numbers.empty() || numbers.back() != found->second) {  // else a longer measurement of the same
      numbers.push_back(found->second);
      run.points.emplace_back();
    }
    run.points.back().measurement = named(measurement, plan.points.at(position));
    tell_point(numbers.size() - 1);
    // What is left has a better chance in a process of its own.
    if (measurement.failure && runner.gpu_lost()) leave(exit_codes::fine);
    return measurement;
  };
  // Only the reporters see a label and a reason that were set through Google Benchmark.
  const auto reported = bench::go_over(device, filter, visit);
  for (std::size_t i = 0; i < std::min(reported.size(), run.points.size()); ++i) {
    Measurement& measurement = run.points[i].measurement;
    if (measurement.label == reported[i].label && measurement.failure == reported[i].failure) continue;
    measurement.label = reported[i].label;
    measurement.failure = reported[i].failure;
    tell_point(i);
  }
  // Timed points are done: a process that dies later loses what a pass adds alone.
  for (const PostTimingStep& pass : post_timing_steps(options)) {
    const PostTimingOutcome outcome =
        run_post_timing(pass, plan, filter, options, run.points, [&](std::size_t, double) { tell(channel, "doing"); });
    for (const std::string& warning : outcome.warnings) tell(channel, "warning " + warning);
    for (std::size_t i = 0; i < run.points.size(); ++i) tell_point(i);
  }
}

Calibration ceilings_of(const Job& job, const Device& device, bool quiet) {
  if (job.task == Job::Task::calibrate) return measure_ceilings(device, calibrate::Mode::quick, quiet);
  if (job.task == Job::Task::check_drift) {
    Calibration stored = storage::calibration_from_json(job.calibration, "the job");
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
  try {
    // Other commands have processes of their own too, for ceilings.
    const auto* const given = dynamic_cast<const RunOptions*>(&options);
    const RunOptions run_options = given != nullptr ? *given : RunOptions();
    bench::initialize_google(options.program, run_options.google);
    bench::choose_arguments(run_options.arguments);
    const Device device = bench::choose_devices(job.device).front();
    if (job.task == Job::Task::measure)
      measure_points(job, run_options, device, channel);
    else
      tell(channel, "ceilings " + storage::to_json(ceilings_of(job, device, options.quiet)));
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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AddedSize, operation, arguments)

void to_json(nlohmann::json& json, const Job::Task& task) { json = task_names[static_cast<std::size_t>(task)]; }

void from_json(const nlohmann::json& json, Job::Task& task) {
  const auto name = std::ranges::find(task_names, json.get<std::string>());
  if (name == task_names.end()) throw storage::ReadError("its task is unknown");
  task = static_cast<Job::Task>(name - task_names.begin());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, task, device, planned, points, added, calibration)

std::string job_to_json(const Job& job) { return storage::json_text(nlohmann::json(job)); }

Job job_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<Job>();
  } catch (const std::exception& error) {  // not JSON, not these fields, or no such task
    throw storage::ReadError(fmt::format("{} gives no gpubench job ({}); unset it", job_variable, error.what()));
  }
}

std::optional<TakenJob> take_job() {
  const char* const value = std::getenv(job_variable);
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  unsetenv(job_variable);
  const std::size_t colon = std::min(text.find(':'), text.size());
  const int channel = number_in<int>(text.substr(0, colon)).value_or(-1);
  const Descriptor job(number_in<int>(std::string_view(text).substr(std::min(colon + 1, text.size()))).value_or(-1));
  if (channel < 0 || !job.open())
    throw storage::ReadError(fmt::format("{} is '{}', which is not a gpubench job; unset it", job_variable, text));
  return TakenJob{job_from_json(read_all(job)), channel};
}

std::string filter_for(const std::vector<std::string>& names) {
  std::string_view common = names.empty() ? std::string_view() : names.front();
  for (const std::string& name : names)
    common = common.substr(0, static_cast<std::size_t>(std::ranges::mismatch(common, name).in1 - common.begin()));
  common =
      common.substr(0, common.find("/threads:"));  // Google Benchmark's own names have the kind of time before that
  // What a regular expression may read as its own stands for any character: points are chosen one by one afterwards.
  std::string filter = "^";
  for (const char c : common) {
    if (c < ' ' || c > '~') break;  // what is no character everywhere
    filter += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '.';
  }
  return filter;
}

int run_command_or_job(const Command& command, const Options& options) {
  if (const auto taken = take_job()) return run_job(*taken, options);
  for (const std::string& output : options.outputs) storage::check_writable(output);
  return command.run(options);
}

}  // namespace gpubench
