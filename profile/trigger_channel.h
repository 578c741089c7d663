// SPDX-License-Identifier: Apache-2.0
// How a process that `profile --on-demand` started is asked to record: by a Unix socket that has its number for a name
// and no file, in packets. A request is a JSON object: the options of the recording, and "folder". Answers are texts;
// where the process ends, there are no more. Both sides ask the system who the other one is.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpubench::profile {

inline constexpr std::size_t max_packet_bytes = 65536;
inline constexpr std::string_view answer_recording = "recording", answer_done = "done", answer_refused = "refused: ";

/// Of the process's socket, and its length.
inline std::pair<sockaddr_un, socklen_t> trigger_address(pid_t process) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "gpubench-profile-" + std::to_string(process);  // behind a zero: in no folder
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

inline std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return peer;
}

/// The next packet; absent where the other side is gone, or an error or the socket's time limit ended the wait.
inline std::optional<std::string> received(int socket) {
  std::string packet(max_packet_bytes, '\0');
  const ssize_t bytes = ::recv(socket, packet.data(), packet.size(), 0);
  if (bytes <= 0) return std::nullopt;
  packet.resize(static_cast<std::size_t>(bytes));
  return packet;
}

inline bool sent(int socket, std::string_view packet) {
  return ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

}  // namespace gpubench::profile
