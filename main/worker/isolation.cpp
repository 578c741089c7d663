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
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "gpu/memory/scrubbing.h"
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

/// The number at the head of an answer, and what stands behind it; absent where it is not below `count`.
std::optional<std::pair<std::size_t, std::string_view>> numbered(std::string_view text, std::size_t count) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const auto number = number_in<std::size_t>(text.substr(0, end));
  if (!number || *number >= count) return std::nullopt;
  return std::pair(*number, text.substr(std::min(end + 1, text.size())));
}

constexpr double longest_wait_seconds = 0.1;  // a process that closed its channel is looked after this often

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

/// This program, or the one that stands in for it, started in a process of its own.
class ChildProcess {
 public:
  /// Starts it with this command line, a job and a process group of its own. Throws std::system_error.
  explicit ChildProcess(const Job& job) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
    channel_ = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]), told = memory_file();
    fcntl(channel_.number(), F_SETFL, O_NONBLOCK);
    if (!told.open() || write_all(told, job_to_json(job)) != 0) fail(errno, "its job cannot be kept in memory");
    Spawn spawn("a worker process cannot be started");
    spawn.give(theirs.number(), theirs);
    spawn.give(told.number(), told);
    const std::vector<std::string>& worker = embedding().worker;
    process_.emplace(spawn.start(
        worker.empty() ? "/proc/self/exe" : worker.front().c_str(), worker.empty() ? own_command_line() : worker,
        Spawn::environment_with({{job_variable, fmt::format("{}:{}", theirs.number(), told.number())}})));
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
    std::array<char, 1 << 16> buffer{};
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
    const auto end = received_.find('\n', searched_);
    searched_ = end == std::string::npos ? received_.size() : 0;
    if (end == std::string::npos) {
      if (received_.size() > storage::max_file_bytes) received_.clear(), searched_ = 0;  // nothing of ours
      return std::nullopt;
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  Descriptor channel_;
  std::string received_;
  std::size_t searched_ = 0;  ///< of what was received, without an end of a line
  std::optional<Process> process_;
};

/// Runs a job about ceilings; `what`: "The calibration". An empty one after a signal.
Calibration run_ceilings_job(Job job, const std::string& what) {
  ChildProcess child(job);
  const double deadline = steady_seconds() + longest_calibration_seconds;
  std::string error, found;
  const auto hear = [&](std::string_view line) {
    if (line.starts_with("error ")) error = line.substr(6);
    if (line.starts_with("ceilings ")) found = line.substr(9);
  };
  while (!child.ended() && Interruption::noted() == 0 && steady_seconds() < deadline)
    if (const auto line = child.next_line(deadline - steady_seconds())) hear(*line);
  child.kill();
  while (const auto line = child.next_line(0.0)) hear(*line);
  if (job.task == Job::Task::calibrate || job.task == Job::Task::check_drift)
    bench::scrubbing().freed(calibrate::max_device_bytes, steady_seconds());
  if (Interruption::noted() != 0) return {};
  if (!error.empty()) throw std::runtime_error(error);
  if (!child.ended()->well())
    throw std::runtime_error(
        fmt::format("{} of {} failed: its process {}.", what, job.device, words_of(*child.ended())));
  if (found.empty()) throw std::runtime_error(fmt::format("{} of {} gave nothing.", what, job.device));
  return storage::calibration_from_json(found, what);
}

}  // namespace

Calibration calibrate_in_worker(const Device& device) {
  return run_ceilings_job({.task = Job::Task::calibrate, .device = device.id}, "The calibration");
}

Calibration overheads_in_worker(const Device& device, calibrate::Mode mode) {
  return run_ceilings_job(
      {.task = mode == calibrate::Mode::full ? Job::Task::overheads : Job::Task::launch, .device = device.id},
      "The measurement of overheads");
}

DriftCheck check_drift_in_worker(const Device& device, const Calibration& stored) {
  Job job{.task = Job::Task::check_drift, .device = device.id, .calibration = storage::to_json(stored)};
  return run_ceilings_job(std::move(job), "The drift check").drift.value_or(DriftCheck{});
}

namespace {

/// How one process fared with its points.
struct Attempt {
  std::vector<std::size_t> positions;  ///< in the plan
  std::set<std::size_t> done;          ///< indices into `positions`
  std::optional<std::size_t> current;  ///< begun and not finished
  std::string error;                   ///< why the process could not go on, by its own word
  std::vector<std::string> warnings;   ///< of the process
  bool timed_out = false;
  ProcessEnd end;

  void hear(std::string_view line, const Plan& plan, Checkpoint& kept, const Isolation::OnPoint& on_point) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
    if (word == "error") error = rest;
    if (word == "warning") warnings.emplace_back(rest);
    const auto point = word == "start" || word == "point" ? numbered(rest, positions.size()) : std::nullopt;
    if (!point) return;
    const std::size_t position = positions[point->first];
    if (word == "start") {
      current = point->first;
      if (on_point) on_point(plan, position);
      return;
    }
    Measurement measurement;
    try {
      measurement = std::move(storage::run_from_json(point->second, "its result").points.at(0).measurement);
    } catch (const std::exception& unreadable) {  // an operation that writes where it should not
      measurement = failed_point(plan, position, fmt::format("its result was lost: {}", unreadable.what()));
    }
    kept.put(plan.keys[position], named(std::move(measurement), plan.points[position]));
    done.insert(point->first);
    current.reset();
  }

  [[nodiscard]] std::string reason(double limit_seconds) const {
    if (timed_out)
      return fmt::format("took longer than {} s and was stopped{}", format_number(limit_seconds),
                         end.stuck ? "; its process could not be ended and was left behind" : "");
    return fmt::format("the process {}", words_of(end));
  }
};

void measure_in_worker(const Plan& plan, Checkpoint& kept, const Isolation::OnPoint& on_point, const Job& job,
                       double limit_seconds, Attempt& attempt) {
  ChildProcess child(job);
  double deadline = steady_seconds() + limit_seconds;
  while (!child.ended() && Interruption::noted() == 0) {
    const auto line = child.next_line(deadline - steady_seconds());
    if (line) {
      attempt.hear(*line, plan, kept, on_point);
      deadline = steady_seconds() + limit_seconds;
    } else if (!child.ended() && steady_seconds() >= deadline) {
      attempt.timed_out = true;
      child.kill();
    }
  }
  child.kill();  // on a signal; else it has ended
  while (const auto line = child.next_line(0.0)) attempt.hear(*line, plan, kept, on_point);
  attempt.end = *child.ended();
}

}  // namespace

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
    const Job job{.device = plan.device.id, .planned = plan.points.size(), .points = result.positions, .added = added_};
    measure_in_worker(plan, kept, on_point, job, limit_seconds_, result);
    for (const std::string& warning : result.warnings)
      if (!contains(warnings, warning)) warnings.push_back(warning);
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

}  // namespace gpubench
