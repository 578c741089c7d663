// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/trigger_listener.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/time.h"
#include "profile/trigger_channel.h"

namespace gpubench::profile {
namespace {

constexpr int max_waiting_requests = 8;
constexpr timeval max_wait_for_request = {.tv_sec = 2, .tv_usec = 0};
constexpr double look_seconds = 0.1;

/// True after the time, false once the other side is gone.
bool stays(int client, double seconds) {
  pollfd wait{.fd = client, .events = POLLRDHUP, .revents = 0};
  return ::poll(&wait, 1, static_cast<int>(1e3 * seconds)) == 0;
}

void answer(int client, const TriggerListener::Record& record) {
  (void)::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &max_wait_for_request, sizeof max_wait_for_request);
  const auto text = received(client);
  const auto request = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!request.is_object() || !request.contains("folder") || !request["folder"].is_string()) return;
  const InjectionOptions options = options_from(*text);
  double end = 0.0;
  record(request["folder"].get<std::string>(), options,
         {.begun =
              [&] {  // to load and attach CUPTI may take longer than all of the time that is asked for
                end = steady_seconds() + options.duration_seconds;
                (void)sent(client, answer_recording);
              },
          .asks_on =
              [&] {
                const double left = end - steady_seconds();
                return left > 0.0 && stays(client, std::min(left, look_seconds));
              },
          .ended =
              [&](const std::string& why_not) {
                (void)sent(client, why_not.empty() ? std::string(answer_done) : std::string(answer_refused) + why_not);
              }});
}

}  // namespace

TriggerListener::TriggerListener() : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  const auto [address, bytes] = trigger_address(getpid());
  if (socket_ >= 0 && (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
                       ::listen(socket_, max_waiting_requests) != 0))
    close();
}

void TriggerListener::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void TriggerListener::serve(const Record& record) const {
  while (true) {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {  // too many open files, for a while
      std::this_thread::sleep_for(std::chrono::seconds(1));
      continue;
    }
    if (const auto peer = peer_of(client); peer && peer->uid == geteuid()) answer(client, record);
    ::close(client);
  }
}

}  // namespace gpubench::profile
