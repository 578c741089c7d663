// SPDX-License-Identifier: Apache-2.0
#include "main/serve/front.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <thread>

namespace gpubench::serve {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether it happens before the deadline.
bool wait_for(const Descriptor& socket, short event, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd wanted{socket.number(), event, 0};
  return left > 0 && ::poll(&wanted, 1, static_cast<int>(left)) > 0;
}

/// Absent where it does not come whole, in time and short enough.
std::string read_header(const Descriptor& socket) {
  const auto deadline = Clock::now() + max_header_time;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= max_header_bytes && wait_for(socket, POLLIN, deadline)) {
    const ssize_t count = ::recv(socket.number(), part.data(), part.size(), MSG_DONTWAIT);
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
    if (const auto end = text.find("\r\n\r\n"); end != std::string::npos) return text.substr(0, end + 4);
  }
  return {};
}

void send_all(const Descriptor& socket, std::string_view text) {
  while (!text.empty() && wait_for(socket, POLLOUT, Clock::now() + max_answer_pause)) {
    const ssize_t count = ::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Front::Front(int port, std::filesystem::path inside)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), inside_(std::move(inside)) {
  const int yes = 1;
  (void)::setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0)
    throw std::system_error(errno, std::generic_category());
}

Front::~Front() {
  std::unique_lock lock(mutex_);
  for (const Connection& one : connections_) (void)::shutdown(one.socket.number(), SHUT_RDWR);
  changed_.wait(lock, [&] { return connections_.empty(); });
}

int Front::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  (void)::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void Front::accept_for(std::chrono::milliseconds time) {
  const auto until = Clock::now() + time;
  while (wait_for(listener_, POLLIN, until)) {
    Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {  // no number left for it, say: some will be free soon
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (std::ranges::count(connections_, false, &Connection::dropped) >= max_connections) {
      const auto oldest = std::ranges::find(connections_, true, &Connection::waits);
      if (oldest == connections_.end()) continue;
      (void)::shutdown(oldest->socket.number(), SHUT_RDWR);  // its thread ends with that
      oldest->waits = false;
      oldest->dropped = true;
    }
    const Place place = connections_.insert(connections_.end(), {std::move(socket)});
    try {
      std::thread([this, place] { answer(place); }).detach();
    } catch (const std::system_error&) {  // no thread for it
      connections_.erase(place);
    }
  }
}

void Front::answer(Place connection) {
  const std::string request = read_header(connection->socket);
  {
    const std::lock_guard lock(mutex_);
    connection->waits = false;
  }
  // All of it is taken before any is sent: who reads slowly keeps nobody inside busy.
  if (!request.empty()) send_all(connection->socket, answer_to(request));
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
  changed_.notify_all();
}

std::string Front::answer_to(const std::string& request) const {
  const Descriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  inside_.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(server.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  // The first of two such fields counts, and an answer ends with its connection.
  const std::size_t line = request.find("\r\n") + 2;
  send_all(server, request.substr(0, line) + "Connection: close\r\n" + request.substr(line));
  std::string text;
  std::array<char, 1 << 16> part{};
  for (ssize_t count = 0; (count = ::recv(server.number(), part.data(), part.size(), 0)) > 0;)
    text.append(part.data(), static_cast<std::size_t>(count));
  return text;
}

}  // namespace gpubench::serve
