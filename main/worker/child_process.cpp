// SPDX-License-Identifier: Apache-2.0
#include "main/worker/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/time.h"
#include "main/worker/job.h"

namespace gpubench {
namespace {

constexpr double longest_wait_seconds = 0.1;  // a process that closed its channel is looked after this often
constexpr std::size_t longest_line = 1 << 16;

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), fmt::format("a worker process cannot be started: {}", what));
}

/// The command line as the system has it: what a program's own main has taken out is still there.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.empty()) fail(ENOENT, "/proc/self/cmdline cannot be read");
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\0', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::vector<std::string> environment_with(const std::string& addition) {
  const std::string head = std::string(job_variable) + "=";
  std::vector<std::string> words = Spawn::environ_now();
  std::erase_if(words, [&](const std::string& word) { return word.starts_with(head); });
  words.push_back(head + addition);
  return words;
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& job) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
  channel_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  fcntl(channel_.number(), F_SETFL, O_NONBLOCK);
  Spawn spawn("a worker process cannot be started: posix_spawn");
  spawn.give(theirs.number(), theirs);
  process_.emplace(spawn.start("/proc/self/exe", own_command_line(),
                               environment_with(fmt::format("{}:{}", theirs.number(), job.string()))));
}

std::optional<std::string> ChildProcess::take_line() {
  const auto end = received_.find('\n');
  if (end == std::string::npos) {
    if (received_.size() > longest_line) received_.clear();  // nothing of ours
    return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

void ChildProcess::read_channel() {
  std::array<char, 4096> buffer{};
  while (channel_.open()) {
    const ssize_t count = ::read(channel_.number(), buffer.data(), buffer.size());
    if (count > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      if (count == 0) channel_.close();
      return;
    }
  }
}

std::optional<std::string> ChildProcess::next_line(double seconds) {
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

void ChildProcess::kill() {
  process_->kill();
  read_channel();
}

}  // namespace gpubench
