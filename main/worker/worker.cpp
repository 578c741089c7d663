// SPDX-License-Identifier: Apache-2.0
// The far side of isolation: what the process of an job does.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>

#include "bench/devices.h"
#include "bench/google/google_runner.h"
#include "calibrate/check/drift.h"
#include "core/base/files.h"
#include "core/storage/storage.h"
#include "main/commands/commands.h"
#include "main/commands/context.h"
#include "main/commands/post_timing.h"
#include "main/worker/isolation.h"

namespace gpubench {
namespace {

/// Lines to the process that gave the job.
class Channel {
 public:
  explicit Channel(int number) : channel_(number) {
    // A process that an operation starts has no business with it.
    fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  void tell(std::string line) const {
    std::replace(line.begin(), line.end(), '\n', ' ');
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t count = ::write(channel_.number(), rest.data(), rest.size());
      if (count <= 0) return;  // nobody listens any more
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }

 private:
  Descriptor channel_;
};

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

void measure_points(const Job& job, const Options& options, const Device& device, Run& run, const Channel& channel) {
  const std::string filter = filter_for(job.operation);
  if (!job.added.empty()) {
    const auto registered = bench::discover(device, filter);
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
    channel.tell(fmt::format("start {}", number->second));
    Measurement measurement = runner.run(call);
    if (last == position) run.points.pop_back();  // a longer measurement of the same
    last = position;
    run.points.push_back({named(measurement, plan.points.at(position)), std::nullopt});
    try {
      storage::write_file(job.result, storage::to_json(run));
    } catch (const storage::WriteError& error) {
      channel.tell(fmt::format("error {}", error.what()));
      leave(exit_codes::operation_failed);
    }
    channel.tell(fmt::format("done {}", number->second));
    // What is left has a better chance in a process of its own.
    if (measurement.failure && runner.gpu_lost()) leave(exit_codes::fine);
    return measurement;
  };
  // Only the reporters see a label that was set through Google Benchmark.
  const auto reported = bench::go_over(device, filter, visit);
  for (std::size_t i = 0; i < std::min(reported.size(), run.points.size()); ++i)
    run.points[i].measurement.label = reported[i].label;
  storage::write_file(job.result, storage::to_json(run));
  // Points are done once they are timed: a process that dies in a later phase loses what that adds alone. It tells that
  // it is alive, for the limit on time is that of one point.
  for (const PostTimingStep& phase : post_timing_steps(options)) {
    const PostTimingOutcome outcome =
        run_post_timing(phase, plan, filter, options, run.points, [&](std::size_t position, double) {
          channel.tell(fmt::format("{} {}", phase.doing, wanted.at(plan.keys.at(position))));
        });
    run.warnings.insert(run.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
    storage::write_file(job.result, storage::to_json(run));
  }
}

}  // namespace

int run_job(const TakenJob& taken, const Options& options, const std::string& program,
            const std::function<Calibration(const Device&)>& measure_ceilings) {
  const Job& job = taken.job;
  const Channel channel(taken.channel);
  die_with(job.parent);
  try {
    bench::initialize_google(program, options.google);
    bench::choose_arguments(options.arguments);
    const Device device = bench::choose_devices(job.device).front();
    Run run;
    run.context = gather_context(program, {});
    run.devices = {device};
    if (job.task == Job::Task::calibrate) {
      run.calibrations = {measure_ceilings(device)};
      storage::write_file(job.result, storage::to_json(run));
    } else if (job.task == Job::Task::launch || job.task == Job::Task::overheads) {
      calibrate::Options wanted;
      wanted.mode = job.task == Job::Task::overheads ? calibrate::Mode::full : calibrate::Mode::quick;
      wanted.part = calibrate::Part::of_process;
      run.calibrations = {calibrate::calibrate(device, wanted)};
      storage::write_file(job.result, storage::to_json(run));
    } else if (job.task == Job::Task::check_drift) {
      run.calibrations = {storage::read_calibration(job.input)};
      run.calibrations.front().drift = calibrate::check_drift(device, run.calibrations.front());
      storage::write_file(job.result, storage::to_json(run));
    } else {
      measure_points(job, options, device, run, channel);
    }
    return exit_codes::fine;
  } catch (const std::exception& error) {
    channel.tell(fmt::format("error {}", error.what()));
    return exit_codes::operation_failed;
  }
}

}  // namespace gpubench
