// SPDX-License-Identifier: Apache-2.0
// Jobs as JSON, and what the process of a job does.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bench/devices.h"
#include "bench/google/google_runner.h"
#include "calibrate/check/drift.h"
#include "core/base/files.h"
#include "core/storage/storage.h"
#include "main/commands/commands.h"
#include "main/commands/plan.h"
#include "main/commands/run_ceilings.h"
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
  std::fflush(nullptr);
  std::_Exit(code);
}

void measure_points(const Job& job, const Options& options, const Device& device, Run& run, const Descriptor& channel) {
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
      storage::write_file(job.result, storage::to_json(run));
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
  storage::write_file(job.result, storage::to_json(run));
  // Points are done once they are timed: a process that dies in a later pass loses what that adds alone. It tells that
  // it is alive, for the limit on time is that of one point.
  for (const PostTimingStep& pass : post_timing_steps(options)) {
    const PostTimingOutcome outcome =
        run_post_timing(pass, plan, filter, options, run.points, [&](std::size_t position, double) {
          tell(channel, fmt::format("{} {}", pass.doing, wanted.at(plan.keys.at(position))));
        });
    run.warnings.insert(run.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
    storage::write_file(job.result, storage::to_json(run));
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

std::string job_to_json(const Job& job) {
  const nlohmann::json document = {{"task", task_names[static_cast<std::size_t>(job.task)]},
                                   {"parent", job.parent},
                                   {"device", job.device},
                                   {"operation", job.operation},
                                   {"points", job.points},
                                   {"added", job.added},
                                   {"result", job.result.string()},
                                   {"input", job.input.string()}};
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Job job_from_json(const std::string& text, const std::string& origin) {
  try {
    const auto document = nlohmann::json::parse(text);
    Job job;
    const auto task = std::find(task_names.begin(), task_names.end(), document.at("task").get<std::string>());
    if (task == task_names.end())
      throw storage::ReadError(
          fmt::format("{}: not a gpubench job (its task is unknown); unset {}", origin, job_variable));
    job.task = static_cast<Job::Task>(task - task_names.begin());
    document.at("parent").get_to(job.parent);
    document.at("device").get_to(job.device);
    document.at("operation").get_to(job.operation);
    document.at("points").get_to(job.points);
    document.at("added").get_to(job.added);
    job.result = document.at("result").get<std::string>();
    job.input = document.at("input").get<std::string>();
    return job;
  } catch (const nlohmann::json::exception& error) {
    throw storage::ReadError(fmt::format("{}: not a gpubench job ({}); unset {}", origin, error.what(), job_variable));
  }
}

std::optional<TakenJob> take_job() {
  const char* const value = std::getenv(job_variable);
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  unsetenv(job_variable);
  TakenJob taken;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, taken.channel);
  if (error != std::errc() || colon == end || *colon != ':' || taken.channel < 0)
    throw storage::ReadError(fmt::format("{} is '{}', which is not a gpubench job; unset it", job_variable, text));
  const std::string file(colon + 1, end);
  std::ifstream stream(file);
  taken.job = job_from_json({std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, file);
  return taken;
}

std::string filter_for(const std::string& operation) {
  // What a regular expression may read as its own stands for any character: points are chosen one by one afterwards.
  std::string filter = "^";
  for (const char c : operation) filter += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '.';
  return filter + "/";
}

int run_job(const TakenJob& taken, const Options& options) {
  const Job& job = taken.job;
  const Descriptor channel(taken.channel);
  fcntl(taken.channel, F_SETFD, FD_CLOEXEC);  // what an operation starts has no business with it
  die_with(job.parent);
  try {
    bench::initialize_google(options.program, options.google);
    bench::choose_arguments(options.arguments);
    const Device device = bench::choose_devices(job.device).front();
    Run run;
    run.context = gather_context(options.program, {});
    run.devices = {device};
    if (job.task == Job::Task::measure) {
      measure_points(job, options, device, run, channel);
    } else {
      run.calibrations = {ceilings_of(job, device, options.quiet)};
      storage::write_file(job.result, storage::to_json(run));
    }
    return exit_codes::fine;
  } catch (const std::exception& error) {
    tell(channel, fmt::format("error {}", words_of(error)));
    return exit_codes::operation_failed;
  }
}

}  // namespace gpubench
