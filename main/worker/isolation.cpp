// SPDX-License-Identifier: Apache-2.0
#include "main/worker/isolation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "gpu/scrubbing.h"
#include "main/cli/terminal.h"
#include "main/embedding.h"

namespace gpubench {
namespace {

constexpr double longest_calibration_seconds = 900.0;

Measurement failed_point(const Plan& plan, std::size_t position, std::string message) {
  Measurement measurement;
  measurement.device = plan.device.id;
  measurement.failure = Failure{FailureKind::error, std::move(message)};
  return named(std::move(measurement), plan.points[position]);
}

/// The number after "start " or "done ", if it is one below `count`.
std::optional<std::size_t> index_in(std::string_view line, std::string_view head, std::size_t count) {
  if (!line.starts_with(head)) return std::nullopt;
  const auto index = number_in<std::size_t>(line.substr(head.size()));
  return index && *index < count ? index : std::nullopt;
}

constexpr double longest_wait_seconds = 0.1;  // a process that closed its channel is looked after this often
constexpr std::size_t longest_line = 1 << 16;

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), fmt::format("a worker process cannot be started: {}", what));
}

/// The command line as the system has it: what a program's own main has taken out is still there.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) fail(ENOENT, "/proc/self/cmdline cannot be read");
  return words;
}

std::vector<std::string> environment_with(const std::string& addition) {
  const std::string head = std::string(job_variable) + "=";
  std::vector<std::string> words = Spawn::environ_now();
  std::erase_if(words, [&](const std::string& word) { return word.starts_with(head); });
  words.push_back(head + addition);
  return words;
}

/// This program, or the one that stands in for it, started in a process of its own.
class ChildProcess {
 public:
  /// Starts it with this command line, a job and a process group of its own. Throws std::system_error.
  explicit ChildProcess(const std::filesystem::path& job) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
    channel_ = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    fcntl(channel_.number(), F_SETFL, O_NONBLOCK);
    Spawn spawn("a worker process cannot be started: posix_spawn");
    spawn.give(theirs.number(), theirs);
    const std::vector<std::string>& worker = embedding().worker;
    process_.emplace(spawn.start(worker.empty() ? "/proc/self/exe" : worker.front().c_str(),
                                 worker.empty() ? own_command_line() : worker,
                                 environment_with(fmt::format("{}:{}", theirs.number(), job.string()))));
  }

  /// The next line that it reported; absent after its end, after `seconds`, or when a signal came.
  std::optional<std::string> next_line(double seconds) {
    const double until = steady_seconds() + seconds;
    for (;;) {
      if (auto line = take_line()) return line;
      process_->poll();
      // What it wrote before it ended is read after its end has been seen.
      read_channel();
      if (auto line = take_line()) return line;
      const double left = until - steady_seconds();
      if (ended() || left <= 0.0) return std::nullopt;
      const auto wait = std::chrono::duration<double>(std::min(left, longest_wait_seconds));
      if (channel_.open()) {
        pollfd wanted{channel_.number(), POLLIN, 0};
        if (poll(&wanted, 1, static_cast<int>(wait.count() * 1e3) + 1) < 0 && errno == EINTR) return std::nullopt;
      } else {  // its end is near, or it closed what is not its own
        std::this_thread::sleep_for(std::min(wait, std::chrono::duration<double>(0.001)));
      }
    }
  }
  [[nodiscard]] const std::optional<ProcessEnd>& ended() const { return process_->ended(); }
  /// Ends it and all of its group by force, and waits until it is gone, but not for ever.
  void kill() {
    process_->kill();
    read_channel();
  }

 private:
  void read_channel() {
    std::array<char, 4096> buffer{};
    while (channel_.open()) {
      const ssize_t count = ::read(channel_.number(), buffer.data(), buffer.size());
      if (count > 0) {
        received_.append(buffer.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        if (count == 0) channel_.close();
        return;
      }
    }
  }
  std::optional<std::string> take_line() {
    const auto end = received_.find('\n');
    if (end == std::string::npos) {
      if (received_.size() > longest_line) received_.clear();  // nothing of ours
      return std::nullopt;
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  Descriptor channel_;
  std::string received_;
  std::optional<Process> process_;
};

}  // namespace

/// How one process fared with its points.
struct Isolation::Attempt {
  std::vector<std::size_t> positions;  ///< in the plan
  std::filesystem::path result;
  std::vector<std::size_t> done;       ///< indices into `positions`, in the order finished
  std::optional<std::size_t> current;  ///< begun and not finished
  std::string error;                   ///< why the process could not go on, by its own word
  std::vector<std::string> warnings;   ///< of the process
  bool timed_out = false;
  ProcessEnd end;

  void hear(const std::string& line, const Plan& plan, const OnPoint& on_point) {
    if (const auto begun = index_in(line, "start ", positions.size())) {
      current = begun;
      if (on_point) on_point(plan, positions[*begun]);
    } else if (const auto finished = index_in(line, "done ", positions.size())) {
      if (done.empty() || done.back() != *finished) done.push_back(*finished);
      current.reset();
    } else if (line.starts_with("error ")) {
      error = line.substr(6);
    }
  }

  /// Takes what is finished into `kept`, in the result's order; a kept point may have got its counters since.
  void collect(const Plan& plan, Checkpoint& kept) {
    if (done.empty()) return;
    Run run;
    try {
      run = storage::read_run(result);
    } catch (const storage::ReadError& unreadable) {  // an operation that writes where it should not
      for (const std::size_t index : done)
        if (const PointKey& key = plan.keys[positions[index]]; kept.find(key) == nullptr)
          kept.put(key,
                   failed_point(plan, positions[index], fmt::format("its result was lost: {}", unreadable.what())));
      return;
    }
    for (std::size_t i = 0; i < done.size() && i < run.points.size(); ++i) {
      const PointKey& key = plan.keys[positions[done[i]]];
      const Measurement* const known = kept.find(key);
      if (known == nullptr || !(*known == run.points[i].measurement))
        kept.put(key, std::move(run.points[i].measurement));
    }
    warnings = std::move(run.warnings);
  }

  [[nodiscard]] std::string reason(double limit_seconds) const {
    if (timed_out)
      return fmt::format("took longer than {} s and was stopped{}", format_number(limit_seconds),
                         end.stuck ? "; its process could not be ended and was left behind" : "");
    return fmt::format("the process {}", words_of(end));
  }
};

std::filesystem::path Isolation::write_job(Job& job) {
  const int number = jobs_++;
  job.parent = static_cast<int>(getpid());
  job.result = folder_.path() / fmt::format("result-{}.json", number);
  auto file = folder_.path() / fmt::format("job-{}.json", number);
  storage::write_file(file, job_to_json(job));
  return file;
}

void Isolation::attempt(const Plan& plan, Checkpoint& kept, const OnPoint& on_point, Attempt& attempt) {
  Job job;
  job.device = plan.device.id;
  job.operation = plan.points[attempt.positions.front()].operation;
  for (const std::size_t position : attempt.positions) job.points.push_back(plan.keys[position]);
  for (const AddedSize& size : added_)
    if (size.operation == job.operation) job.added.push_back(size);
  ChildProcess child(write_job(job));
  attempt.result = job.result;
  double deadline = steady_seconds() + limit_seconds_;
  while (!child.ended() && Interruption::noted() == 0) {
    const auto line = child.next_line(deadline - steady_seconds());
    if (line) {
      attempt.hear(*line, plan, on_point);
      deadline = steady_seconds() + limit_seconds_;
      if (!attempt.current && kept.due()) attempt.collect(plan, kept);
    } else if (!child.ended() && steady_seconds() >= deadline) {
      attempt.timed_out = true;
      child.kill();
    }
  }
  child.kill();  // on a signal; else it has ended
  while (const auto line = child.next_line(0.0)) attempt.hear(*line, plan, on_point);
  attempt.end = *child.ended();
  attempt.collect(plan, kept);
}

std::vector<std::string> Isolation::measure(const Plan& plan, Checkpoint& kept, const OnPoint& on_point) {
  std::vector<std::string> warnings;
  std::vector<std::size_t> pending;
  for (std::size_t position = 0; position < plan.points.size(); ++position)
    if (kept.find(plan.keys[position]) == nullptr) pending.push_back(position);
  const auto give_up = [&](std::size_t position, const std::string& reason) {
    if (kept.find(plan.keys[position]) == nullptr) kept.put(plan.keys[position], failed_point(plan, position, reason));
  };
  while (!pending.empty() && Interruption::noted() == 0) {
    const std::string& operation = plan.points[pending.front()].operation;
    const auto others = std::find_if(pending.begin(), pending.end(), [&](std::size_t position) {
      return plan.points[position].operation != operation;
    });
    Attempt result;
    result.positions.assign(pending.begin(), others);
    attempt(plan, kept, on_point, result);
    for (const std::string& warning : result.warnings)
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    if (Interruption::noted() != 0) break;
    const std::string reason = result.reason(limit_seconds_);
    if (result.current) {
      give_up(result.positions[*result.current], reason);
    } else if (result.done.empty()) {  // a further process would fare no better
      const std::string why = result.error.empty() ? reason + " before its first point" : result.error;
      for (const std::size_t position : result.positions) give_up(position, why);
    } else if (result.done.size() == result.positions.size() && !result.end.well()) {
      warnings.push_back(fmt::format("{} on {}: {} after its last point.", operation, plan.device.id, reason));
    }
    std::erase_if(pending, [&](std::size_t position) { return kept.find(plan.keys[position]) != nullptr; });
  }
  return warnings;
}

Calibration Isolation::run_ceilings_job(Job::Task task, const Device& device, const std::string& what,
                                        const std::filesystem::path& input) {
  Job job;
  job.task = task;
  job.device = device.id;
  job.input = input;
  ChildProcess child(write_job(job));
  const double deadline = steady_seconds() + longest_calibration_seconds;
  std::string error;
  while (!child.ended() && Interruption::noted() == 0 && steady_seconds() < deadline)
    if (const auto line = child.next_line(deadline - steady_seconds()); line && line->starts_with("error "))
      error = line->substr(6);
  child.kill();
  if (task == Job::Task::calibrate || task == Job::Task::check_drift)
    bench::scrubbing().freed(calibrate::max_device_bytes, steady_seconds());
  if (Interruption::noted() != 0) return {};
  if (!error.empty()) throw std::runtime_error(error);
  if (!child.ended()->well())
    throw std::runtime_error(
        fmt::format("{} of {} failed: its process {}.", what, job.device, words_of(*child.ended())));
  const Run run = storage::read_run(job.result);
  if (run.calibrations.empty()) throw std::runtime_error(fmt::format("{} of {} gave nothing.", what, job.device));
  return run.calibrations.front();
}

Calibration Isolation::calibrate(const Device& device) {
  return run_ceilings_job(Job::Task::calibrate, device, "The calibration");
}

Calibration Isolation::overheads(const Device& device, calibrate::Mode mode) {
  return run_ceilings_job(mode == calibrate::Mode::full ? Job::Task::overheads : Job::Task::launch, device,
                          "The measurement of overheads");
}

DriftCheck Isolation::check_drift(const Device& device, const Calibration& stored) {
  const auto input = folder_.path() / "calibration.json";
  storage::write_file(input, storage::to_json(stored));
  return run_ceilings_job(Job::Task::check_drift, device, "The drift check", input).drift.value_or(DriftCheck{});
}

}  // namespace gpubench
