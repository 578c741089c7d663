// SPDX-License-Identifier: Apache-2.0
// What stands between the network and the server of pages: it passes on whole requests alone, one a connection, so that
// connections which send nothing, little or slowly, or read slowly, never keep others waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <mutex>
#include <string>

#include "core/base/files.h"

namespace gpubench::serve {

/// For all of a request's header, and without progress of an answer.
inline constexpr std::chrono::milliseconds max_header_time{3000};
inline constexpr std::chrono::milliseconds max_answer_pause{10000};
inline constexpr std::size_t max_header_bytes = 16384;
/// At once. One more takes the place of that which has waited longest for its header.
inline constexpr int max_connections = 64;

class Front {
 public:
  /// Listens on loopback; port 0 takes any that is free. `inside`: the Unix socket that whole requests go to. Throws
  /// std::system_error.
  Front(int port, std::filesystem::path inside);
  ~Front();
  Front& operator=(Front&&) = delete;  ///< not copied, not moved

  [[nodiscard]] int port() const;
  /// Takes what comes within this time, each connection on a thread of its own.
  void accept_for(std::chrono::milliseconds time);

 private:
  struct Connection {
    Descriptor socket;
    bool waits = true;     ///< for its header
    bool dropped = false;  ///< for another one
  };
  using Place = std::list<Connection>::iterator;
  void answer(Place connection);
  [[nodiscard]] std::string answer_to(const std::string& request) const;

  Descriptor listener_;
  std::filesystem::path inside_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> connections_;
};

}  // namespace gpubench::serve
