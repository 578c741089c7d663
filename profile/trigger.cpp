// SPDX-License-Identifier: Apache-2.0
#include "profile/trigger.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/text.h"
#include "profile/trigger_channel.h"

namespace gpubench::profile {
namespace {

/// Beside its duration: to load CUPTI, and to write.
constexpr double max_more_seconds = 60.0;

std::string text_of(pid_t process, const char* file) {
  std::ifstream stream(fmt::format("/proc/{}/{}", process, file), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// 0 where it is gone.
pid_t parent_of(pid_t process) {
  const std::string text = text_of(process, "stat");  // "42 (a name) S 1 ..."
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > text.size()) return 0;
  const std::string_view rest = std::string_view(text).substr(name_end + 4);
  return number_in<pid_t>(rest.substr(0, rest.find(' '))).value_or(0);
}

/// It and those that descend from it, as far as they are this user's.
std::vector<pid_t> family_of(pid_t process) {
  std::vector<std::pair<pid_t, pid_t>> all;  // parent and child
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
    if (const auto one = number_in<pid_t>(entry.path().filename().string())) all.emplace_back(parent_of(*one), *one);
  std::vector<pid_t> family = {process};
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const auto& [parent, child] : all)
      if (parent == family[i] && !contains(family, child)) family.push_back(child);
  return family;
}

/// Not open where it does not wait for triggers, or something else answers in its name.
Descriptor connection_to(pid_t process) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto [address, bytes] = trigger_address(process);
  if (!socket.open() || ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  const auto peer = peer_of(socket.number());
  if (!peer || peer->pid != process || peer->uid != geteuid()) return {};
  return socket;
}

void check(pid_t process) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}", process).c_str(), &status) != 0)
    throw TriggerError(fmt::format("There is no process {}. Give --trigger the number of one that runs.", process));
  if (status.st_uid != geteuid())
    throw TriggerError(
        fmt::format("Process {} is another user's. A trigger reaches processes of your own alone.", process));
}

}  // namespace

std::string command_of(pid_t process) {
  std::string text = text_of(process, "cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return printable(text);
}

std::vector<std::string> trigger(pid_t process, const std::filesystem::path& folder, const InjectionOptions& options) {
  check(process);
  auto request = nlohmann::json::parse(to_text(options));
  request["folder"] = std::filesystem::absolute(folder).string();
  const double seconds = options.duration_seconds + max_more_seconds;
  const timeval limit = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0};
  std::vector<std::pair<pid_t, Descriptor>> asked;
  for (const pid_t one : family_of(process)) {
    Descriptor socket = connection_to(one);
    if (!socket.open()) continue;
    (void)::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (sent(socket.number(), request.dump())) asked.emplace_back(one, std::move(socket));
  }
  if (asked.empty())
    throw TriggerError(
        fmt::format("Process {} waits for no trigger: start it with gpubench profile --on-demand, and let it use CUDA "
                    "before it is asked.",
                    process));
  std::vector<std::string> refusals;
  for (const auto& [one, socket] : asked) {
    errno = 0;
    while (const auto answer = received(socket.number())) {
      if (answer->starts_with(answer_refused))
        refusals.push_back(fmt::format("Process {}: {}", one, printable(answer->substr(answer_refused.size()))));
      if (*answer == answer_done || answer->starts_with(answer_refused)) break;
    }
    if (errno == EAGAIN) refusals.push_back(fmt::format("Process {} did not answer within {:.0f} s.", one, seconds));
  }
  return refusals;
}

}  // namespace gpubench::profile
