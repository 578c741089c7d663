// SPDX-License-Identifier: Apache-2.0
// Waits in a process that records nothing until it is asked to.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "profile/injection/options.h"

namespace gpubench::profile {

class TriggerListener {
 public:
  /// The one that asks.
  struct Client {
    std::function<void()> begun;    ///< to be called once it is recorded
    std::function<bool()> asks_on;  ///< takes up to a tenth of a second; false once its time is over, or it is gone
    std::function<void(const std::string& why_not)> ended;  ///< to be called once the recording is whole
  };
  using Record = std::function<void(const std::filesystem::path& folder, const InjectionOptions&, const Client&)>;

  /// Not `is_open` where the system gives no socket.
  TriggerListener();
  TriggerListener& operator=(TriggerListener&&) = delete;  ///< not copied, not moved

  [[nodiscard]] bool is_open() const { return socket_ >= 0; }
  /// Answers one request after another, of this user's processes alone. Sleeps between them. Does not return.
  [[noreturn]] void serve(const Record& record) const;
  /// In a copy of this process.
  void close();

 private:
  int socket_ = -1;
};

}  // namespace gpubench::profile
